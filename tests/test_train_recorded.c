/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests that training does what Keras and PyTorch do, to the rounding: losses, clipping, decay,
 * updates, normalization and the defaults of each, against what scripts/record-training has
 * recorded of them. Networks, weights and batches are those of that script.
 */
#include <math.h>
#include <tfrun/train.h>

#include "session_kit.h"
#include "train_recorded.h"

enum { BATCH = 4, CLASSES = 3, STEPS = 3 };

typedef enum which { MLP, SCORES, TINY, CNN, PIXELS } which;

static void fill(float *out, int64_t n, uint32_t seed)
{
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        out[i] = (float)(seed >> 8) * 0x1p-23f - 1;
    }
}

static tfr_graph *graph_of(which w, tfr_net_defaults defaults)
{
    static const int64_t flat[] = {-1, 6}, image[] = {-1, 2, 6, 6}, pixels[] = {-1, 1, 5, 5};
    tfr_net *net = NULL;
    tfr_graph *graph = NULL;
    REQUIRE_OK(tfr_net_create("recorded",
                              w == CNN      ? image
                              : w == PIXELS ? pixels
                                            : flat,
                              w < CNN ? 2 : 4, defaults, 0, &net, &err),
               &err);
    if (w == MLP || w == SCORES)
        tfr_net_dense(net, 5, "tanh");
    if (w == CNN) {
        tfr_net_conv(net, 3, 3, "relu");
        tfr_net_batch_norm(net);
        tfr_net_max_pool(net, 2);
        tfr_net_flatten(net);
    }
    if (w == PIXELS)
        tfr_net_conv(net, 3, 3, NULL);
    else
        tfr_net_dense(net, CLASSES, NULL);
    REQUIRE_OK(tfr_net_graph(net, &graph, &err), &err);
    tfr_net_destroy(net);
    return graph;
}

/* Names of the weights, in the order of the recording. */
static const char *const *weights_of(which w)
{
    static const char *const mlp[] = {"dense1.weight", "dense1.bias", "dense2.weight",
                                      "dense2.bias", NULL};
    static const char *const tiny[] = {"dense1.weight", "dense1.bias", NULL};
    static const char *const cnn[] = {
        "conv1.weight",     "conv1.bias",       "batch_norm1.scale",
        "batch_norm1.bias", "batch_norm1.mean", "batch_norm1.variance",
        "dense1.weight",    "dense1.bias",      NULL};
    static const char *const pixels[] = {"conv1.weight", "conv1.bias", NULL};
    return w == TINY ? tiny : w == CNN ? cnn : w == PIXELS ? pixels : mlp;
}

static tfr_tensor *variable(tfr_trainer *trainer, const char *name)
{
    tfr_tensor *t = NULL;
    REQUIRE_OK(tfr_trainer_get_variable(trainer, name, &t, &err), &err);
    return t;
}

static void set_weights(tfr_trainer *trainer, which w)
{
    const char *const *names = weights_of(w);
    for (uint32_t k = 0; names[k]; k++) {
        tfr_tensor *before = variable(trainer, names[k]), *t = NULL;
        const bool norm = strstr(names[k], "norm") != NULL;
        const float offset = strstr(names[k], "scale") || strstr(names[k], "variance") ? 1 : 0;
        float *data;
        REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, tfr_tensor_shape(before), &t, &err), &err);
        data = tfr_tensor_data(t);
        fill(data, tfr_tensor_elements(t), 1000 + k);
        for (int64_t i = 0; i < tfr_tensor_elements(t); i++)
            data[i] = data[i] * (w == TINY ? 1e-7f : norm ? .25f : .5f) + offset;
        REQUIRE_OK(tfr_trainer_set_variable(trainer, names[k], t, &err), &err);
        tfr_tensor_release(before);
        tfr_tensor_release(t);
    }
}

static void run_step(tfr_trainer *trainer, which w, uint32_t number)
{
    const tfr_shape inputs[] = {{2, {BATCH, 6}},
                                {2, {BATCH, 6}},
                                {2, {BATCH, 6}},
                                {4, {BATCH, 2, 6, 6}},
                                {4, {BATCH, 1, 5, 5}}};
    const tfr_shape targets[] = {
        {1, {BATCH}}, {2, {BATCH, 3}}, {2, {BATCH, 3}}, {1, {BATCH}}, {3, {BATCH, 3, 3}}};
    const bool classes = w != SCORES && w != TINY;
    float values[BATCH * 9];
    tfr_tensor *x, *t;
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &inputs[w], &x, &err), &err);
    REQUIRE_OK(tfr_tensor_create(classes ? TFR_DTYPE_I64 : TFR_DTYPE_F32, &targets[w], &t, &err),
               &err);
    fill(tfr_tensor_data(x), tfr_tensor_elements(x), 2 * number + 1);
    fill(values, tfr_tensor_elements(t), 2 * number + 2);
    for (int64_t i = 0; i < tfr_tensor_elements(t); i++)
        if (classes)
            ((int64_t *)tfr_tensor_data(t))[i] = (int64_t)((values[i] + 1) / 2 * CLASSES);
        else
            ((float *)tfr_tensor_data(t))[i] = w == TINY ? values[i] * 1e-7f : (values[i] + 1) / 2;
    REQUIRE_OK(tfr_trainer_step(trainer, x, t, &err), &err);
    tfr_tensor_release(x);
    tfr_tensor_release(t);
}

/*
 * The loss of each step and all weights, against `want`. Keras computes 1 - beta^t in float32,
 * which is off by 1.3e-5 for .999; TINY's weights are nothing but updates, so its losses show it.
 */
static void check(which w, tfr_train_options *options, const float *want, uint32_t n)
{
    static const char *const losses[] = {NULL, "binary_cross_entropy", "mse", NULL, NULL};
    const char *const *names = weights_of(w);
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = graph_of(w, (tfr_net_defaults)options->defaults);
    tfr_trainer *trainer = NULL;
    const double close = w == TINY ? 1e-7 : 4e-7;
    const double part = w == TINY && options->defaults == TFR_NET_KERAS ? 3e-5 : 2e-6;
    uint32_t at = STEPS;
    options->loss = losses[w];
    REQUIRE_OK(tfr_trainer_create(runtime, graph, options, &trainer, &err), &err);
    set_weights(trainer, w);
    for (uint32_t i = 0; i < STEPS; i++) {
        tfr_train_metrics metrics = {.size = sizeof metrics};
        run_step(trainer, w, i);
        REQUIRE_OK(tfr_trainer_read_metrics(trainer, &metrics, &err), &err);
        CHECK(fabs(metrics.loss - (double)want[i]) <= part * fabs((double)want[i]));
    }
    for (; *names; names++) {
        tfr_tensor *t = variable(trainer, *names);
        for (int64_t i = 0; i < tfr_tensor_elements(t); i++, at++) {
            REQUIRE(at < n);
            CHECK(fabs((double)((const float *)tfr_tensor_data(t))[i] - (double)want[at]) <= close);
        }
        tfr_tensor_release(t);
    }
    CHECK_UINT(n, at);
    tfr_trainer_destroy(trainer);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

#define N(values) values, sizeof(values) / sizeof *(values)

/* ---- Keras ----------------------------------------------------------------------------------- */

TEST(plain_sgd_is_that_of_keras)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    o.optimizer = "sgd";
    check(MLP, &o, N(keras_sgd));
}

TEST(sgd_with_momentum_is_that_of_keras)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    o.optimizer = "sgd";
    o.learning_rate = .1;
    o.momentum = .9;
    check(MLP, &o, N(keras_sgd_momentum));
}

TEST(sgd_with_decay_is_that_of_keras)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    o.optimizer = "sgd";
    o.learning_rate = .1;
    o.momentum = .9;
    o.weight_decay = .05;
    check(SCORES, &o, N(keras_sgd_decay));
}

TEST(clipping_is_that_of_keras)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT, value, each, norm;
    o.optimizer = "sgd";
    o.learning_rate = .1;
    value = each = norm = o;
    value.clip_value = .05;
    each.clip_norm_each = .1;
    norm.clip_norm = .2;
    check(MLP, &value, N(keras_sgd_clip_value));
    check(MLP, &each, N(keras_sgd_clip_each));
    check(MLP, &norm, N(keras_sgd_clip_norm));
}

TEST(adam_with_batch_normalization_is_that_of_keras)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    check(CNN, &o, N(keras_adam));
}

TEST(adam_with_decay_is_that_of_keras)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    o.weight_decay = .1;
    check(SCORES, &o, N(keras_adam_decay));
}

TEST(the_epsilon_of_adam_is_that_of_keras)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    check(TINY, &o, N(keras_adam_tiny));
}

TEST(the_loss_of_many_targets_a_sample_is_that_of_keras)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    check(PIXELS, &o, N(keras_adam_pixels));
}

TEST(adamw_is_that_of_keras)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    o.optimizer = "adamw";
    check(MLP, &o, N(keras_adamw));
}

TEST(label_smoothing_is_that_of_keras)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    o.optimizer = "sgd";
    o.learning_rate = .1;
    o.label_smoothing = .2;
    check(MLP, &o, N(keras_smooth));
    check(SCORES, &o, N(keras_smooth_scores));
}

/* ---- PyTorch --------------------------------------------------------------------------------- */

static tfr_train_options torch_options(const char *optimizer)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    o.defaults = TFR_NET_TORCH;
    o.optimizer = optimizer;
    return o;
}

TEST(plain_sgd_is_that_of_pytorch)
{
    tfr_train_options o = torch_options("sgd");
    check(MLP, &o, N(torch_sgd));
}

TEST(sgd_with_batch_normalization_and_decay_is_that_of_pytorch)
{
    tfr_train_options o = torch_options("sgd");
    o.learning_rate = .1;
    o.momentum = .9;
    o.weight_decay = .05;
    check(CNN, &o, N(torch_sgd_decay));
}

TEST(clipping_is_that_of_pytorch)
{
    tfr_train_options o = torch_options("sgd"), value, norm;
    o.learning_rate = .1;
    value = norm = o;
    value.clip_value = .05;
    norm.clip_norm = .2;
    check(MLP, &value, N(torch_sgd_clip_value));
    check(MLP, &norm, N(torch_sgd_clip_norm));
}

TEST(adam_with_batch_normalization_is_that_of_pytorch)
{
    tfr_train_options o = torch_options("adam");
    check(CNN, &o, N(torch_adam));
}

TEST(adam_with_decay_is_that_of_pytorch)
{
    tfr_train_options o = torch_options("adam");
    o.weight_decay = .1;
    check(SCORES, &o, N(torch_adam_decay));
}

TEST(the_epsilon_of_adam_is_that_of_pytorch)
{
    tfr_train_options o = torch_options("adam");
    check(TINY, &o, N(torch_adam_tiny));
}

TEST(the_loss_of_many_targets_a_sample_is_that_of_pytorch)
{
    tfr_train_options o = torch_options("adam");
    check(PIXELS, &o, N(torch_adam_pixels));
}

TEST(adamw_is_that_of_pytorch)
{
    tfr_train_options o = torch_options("adamw");
    check(MLP, &o, N(torch_adamw));
}

TEST(label_smoothing_is_that_of_pytorch)
{
    tfr_train_options o = torch_options("sgd");
    o.learning_rate = .1;
    o.label_smoothing = .2;
    check(MLP, &o, N(torch_smooth));
    check(PIXELS, &o, N(torch_smooth_pixels));
}

/* ---- initial weights ------------------------------------------------------------------------- */

/* The greatest of 100 draws comes close to where the distribution ends, and stays within. */
static void check_initial(tfr_net_defaults defaults, const float *want)
{
    static const char *const names[] = {"conv1.weight", "conv1.bias", "dense1.weight",
                                        "dense1.bias"};
    const int64_t dims[] = {-1, 2, 6, 6};
    float greatest[4] = {0, 0, 0, 0};
    for (uint64_t seed = 0; seed < 100; seed++) {
        tfr_net *net = NULL;
        tfr_graph *graph = NULL;
        REQUIRE_OK(tfr_net_create("initial", dims, 4, defaults, seed, &net, &err), &err);
        tfr_net_conv(net, 8, 3, NULL);
        tfr_net_flatten(net);
        tfr_net_dense(net, 20, NULL);
        REQUIRE_OK(tfr_net_graph(net, &graph, &err), &err);
        for (uint32_t v = 0; v < tfr_graph_n_values(graph); v++)
            for (int k = 0; k < 4; k++) {
                tfr_value_view view = {.size = sizeof view};
                if (strcmp(tfr_graph_value_name(graph, (tfr_value)v), names[k]) != 0)
                    continue;
                REQUIRE_OK(tfr_graph_value(graph, (tfr_value)v, &view, &err), &err);
                for (int64_t i = 0; i < tfr_tensor_elements(view.tensor); i++)
                    greatest[k] =
                        fmaxf(greatest[k], fabsf(((const float *)tfr_tensor_data(view.tensor))[i]));
            }
        tfr_graph_release(graph);
        tfr_net_destroy(net);
    }
    for (int k = 0; k < 4; k++)
        CHECK(fabsf(greatest[k] - want[k]) <= .005f * want[k]);
}

TEST(initial_weights_are_spread_as_those_of_keras)
{
    check_initial(TFR_NET_KERAS, keras_bounds);
}

TEST(initial_weights_are_spread_as_those_of_pytorch)
{
    check_initial(TFR_NET_TORCH, torch_bounds);
}

static const test_case cases[] = {
    CASE(plain_sgd_is_that_of_keras),
    CASE(sgd_with_momentum_is_that_of_keras),
    CASE(sgd_with_decay_is_that_of_keras),
    CASE(clipping_is_that_of_keras),
    CASE(adam_with_batch_normalization_is_that_of_keras),
    CASE(adam_with_decay_is_that_of_keras),
    CASE(the_epsilon_of_adam_is_that_of_keras),
    CASE(the_loss_of_many_targets_a_sample_is_that_of_keras),
    CASE(adamw_is_that_of_keras),
    CASE(label_smoothing_is_that_of_keras),
    CASE(plain_sgd_is_that_of_pytorch),
    CASE(sgd_with_batch_normalization_and_decay_is_that_of_pytorch),
    CASE(clipping_is_that_of_pytorch),
    CASE(adam_with_batch_normalization_is_that_of_pytorch),
    CASE(adam_with_decay_is_that_of_pytorch),
    CASE(the_epsilon_of_adam_is_that_of_pytorch),
    CASE(the_loss_of_many_targets_a_sample_is_that_of_pytorch),
    CASE(adamw_is_that_of_pytorch),
    CASE(label_smoothing_is_that_of_pytorch),
    CASE(initial_weights_are_spread_as_those_of_keras),
    CASE(initial_weights_are_spread_as_those_of_pytorch),
};
TEST_MAIN(cases)
