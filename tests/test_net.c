/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of networks that are described layer by layer: what they learn, drop and refuse. */
#include <math.h>
#include <tfrun/train.h>

#include "session_kit.h"

static tfr_trainer *trainer_of(tfr_graph *graph, const tfr_train_options *options)
{
    tfr_runtime *runtime = new_runtime();
    tfr_trainer *trainer = NULL;
    REQUIRE_OK(tfr_trainer_create(runtime, graph, options, &trainer, &err), &err);
    tfr_runtime_release(runtime);
    tfr_graph_release(graph);
    return trainer;
}

static void fill(float *data, int n, uint32_t seed)
{
    for (int i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        data[i] = (float)(seed >> 8) * 0x1p-23f - 1;
    }
}

static void read_floats(tfr_trainer *trainer, const char *name, double *out, int n)
{
    tfr_tensor *t = NULL;
    REQUIRE_OK(tfr_session_get_variable(tfr_trainer_session(trainer), name, &t, &err), &err);
    REQUIRE_INT(n, (int)tfr_tensor_elements(t));
    for (int i = 0; i < n; i++)
        out[i] = (double)((const float *)tfr_tensor_data(t))[i];
    tfr_tensor_release(t);
}

/* A net with normalization and dropout, on images of 6 x 6. */
static tfr_trainer *deep_trainer(float rate)
{
    const int64_t dims[] = {-1, 1, 6, 6};
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    tfr_net *net = NULL;
    tfr_graph *graph = NULL;
    REQUIRE_OK(tfr_net_create("deep", dims, 4, TFR_NET_KERAS, 3, &net, &err), &err);
    tfr_net_conv(net, 4, 3, NULL);
    tfr_net_batch_norm(net);
    tfr_net_max_pool(net, 2);
    tfr_net_flatten(net);
    tfr_net_dropout(net, rate);
    tfr_net_dense(net, 3, NULL);
    REQUIRE_OK(tfr_net_graph(net, &graph, &err), &err);
    tfr_net_destroy(net);
    o.learning_rate = .02;
    o.seed = 9;
    return trainer_of(graph, &o);
}

/* Class i % 3 has a bright row of its own. */
static void images(tfr_tensor **x, tfr_tensor **t)
{
    const tfr_shape pixels = {4, {12, 1, 6, 6}}, classes = {1, {12}};
    float noise[36];
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &pixels, x, &err), &err);
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_I64, &classes, t, &err), &err);
    for (int i = 0; i < 12; i++) {
        fill(noise, 36, (uint32_t)i);
        for (int k = 0; k < 36; k++)
            ((float *)tfr_tensor_data(*x))[i * 36 + k] = .3f * noise[k] + (k / 12 == i % 3);
        ((int64_t *)tfr_tensor_data(*t))[i] = i % 3;
    }
}

TEST(a_net_with_convolution_normalization_and_dropout_learns_its_classes)
{
    tfr_trainer *trainer = deep_trainer(.25f);
    tfr_train_metrics first = {.size = sizeof first}, last = first, tested = first;
    tfr_tensor *x, *t;
    double mean[4], variance[4];
    images(&x, &t);
    for (int i = 0; i < 60; i++) {
        REQUIRE_OK(tfr_trainer_step(trainer, x, t, &err), &err);
        if (i == 0 || i == 49 || i == 59)
            REQUIRE_OK(tfr_trainer_read_metrics(trainer, i ? &last : &first, &err), &err);
    }
    CHECK_INT(1, first.has_accuracy);
    CHECK_INT(12, first.samples);
    CHECK_INT(120, last.samples);
    CHECK(last.loss < first.loss / 4);
    read_floats(trainer, "batch_norm1.mean", mean, 4);
    read_floats(trainer, "batch_norm1.variance", variance, 4);
    for (int i = 0; i < 4; i++)
        CHECK(mean[i] != 0 && variance[i] != 1);
    REQUIRE_OK(tfr_trainer_evaluate(trainer, x, t, &tested, &err), &err);
    CHECK(tested.accuracy > .9);
    tfr_tensor_release(x);
    tfr_tensor_release(t);
    tfr_trainer_destroy(trainer);
}

TEST(dropout_draws_anew_in_each_step_and_not_in_evaluation)
{
    tfr_trainer *trainer = deep_trainer(.5f);
    tfr_train_metrics steps[2], tests[2];
    tfr_tensor *x, *t;
    images(&x, &t);
    REQUIRE_OK(tfr_trainer_set_learning_rate(trainer, 0, &err), &err);
    for (int i = 0; i < 2; i++) {
        steps[i] = tests[i] = (tfr_train_metrics){.size = sizeof *steps};
        REQUIRE_OK(tfr_trainer_step(trainer, x, t, &err), &err);
        REQUIRE_OK(tfr_trainer_read_metrics(trainer, &steps[i], &err), &err);
    }
    CHECK(steps[0].loss != steps[1].loss);
    for (int i = 0; i < 2; i++)
        REQUIRE_OK(tfr_trainer_evaluate(trainer, x, t, &tests[i], &err), &err);
    CHECK(tests[0].loss == tests[1].loss);
    tfr_tensor_release(x);
    tfr_tensor_release(t);
    tfr_trainer_destroy(trainer);
}

TEST(the_first_layer_that_does_not_fit_is_named)
{
    const int64_t dims[] = {-1, 1, 8, 8};
    tfr_net *net = NULL;
    tfr_graph *graph = NULL;
    REQUIRE_OK(tfr_net_create("small", dims, 4, TFR_NET_KERAS, 0, &net, &err), &err);
    tfr_net_conv(net, 4, 3, "relu");
    tfr_net_conv(net, 4, 9, "relu");
    tfr_net_dense(net, 10, NULL);
    CHECK_INT(TFR_EINVAL, tfr_net_graph(net, &graph, &err));
    CHECK_STR("layer conv2: its window does not fit into its input", err.text);
    tfr_net_destroy(net);
    net = NULL;
    REQUIRE_OK(tfr_net_create("odd", dims, 4, TFR_NET_KERAS, 0, &net, &err), &err);
    tfr_net_conv(net, 4, 3, "rleu");
    CHECK_INT(TFR_EINVAL, tfr_net_graph(net, &graph, &err));
    CHECK(strstr(err.text, "layer conv1: there is no activation \"rleu\"") != NULL);
    tfr_net_destroy(net);
}

static const test_case cases[] = {
    CASE(a_net_with_convolution_normalization_and_dropout_learns_its_classes),
    CASE(dropout_draws_anew_in_each_step_and_not_in_evaluation),
    CASE(the_first_layer_that_does_not_fit_is_named),
};
TEST_MAIN(cases)
