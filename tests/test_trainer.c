/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of trainers: each optimizer against its formula in double on a dense layer, what is
 * trained, metrics, evaluation, and the graph that comes out.
 */
#include <math.h>
#include <tfrun/train.h>

#include "session_kit.h"

enum { N_IN = 3, N_OUT = 2, N_WEIGHTS = N_IN * N_OUT, N_ALL = N_WEIGHTS + N_OUT, BATCH = 4 };

/* ---- the layer in double --------------------------------------------------------------------- */

typedef struct layer {
    double p[N_ALL]; /* weight [N_OUT, N_IN], bias */
    double m[N_ALL], v[N_ALL];
} layer;

static double value_of(const layer *l, const float *x, int j)
{
    double y = l->p[N_WEIGHTS + j];
    for (int k = 0; k < N_IN; k++)
        y += l->p[j * N_IN + k] * (double)x[k];
    return y;
}

/* The mean of squares over n samples, and its gradient. */
static double loss_of(const layer *l, const float *x, const float *t, int n, double *g)
{
    double loss = 0;
    memset(g, 0, N_ALL * sizeof *g);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < N_OUT; j++) {
            double d = value_of(l, x + i * N_IN, j) - (double)t[i * N_OUT + j];
            loss += d * d / (n * N_OUT);
            g[N_WEIGHTS + j] += 2 * d / (n * N_OUT);
            for (int k = 0; k < N_IN; k++)
                g[j * N_IN + k] += 2 * d * (double)x[i * N_IN + k] / (n * N_OUT);
        }
    return loss;
}

/* What the optimizers do, as their papers and frameworks write it. */
typedef void update_fn(layer *l, const double *g, int t);

static void sgd_keras(layer *l, const double *g, int t)
{
    (void)t;
    for (int i = 0; i < N_ALL; i++) {
        l->m[i] = .9 * l->m[i] - .1 * g[i];
        l->p[i] += l->m[i];
    }
}

static void sgd_torch(layer *l, const double *g, int t)
{
    for (int i = 0; i < N_ALL; i++) {
        double all = g[i] + .01 * l->p[i];
        l->m[i] = t > 1 ? .9 * l->m[i] + all : all;
        l->p[i] -= .1 * l->m[i];
    }
}

static void adam_keras(layer *l, const double *g, int t)
{
    double a = .001 * sqrt(1 - pow(.999, t)) / (1 - pow(.9, t));
    for (int i = 0; i < N_ALL; i++) {
        l->m[i] += (g[i] - l->m[i]) * (1 - .9);
        l->v[i] += (g[i] * g[i] - l->v[i]) * (1 - .999);
        l->p[i] -= a * l->m[i] / (sqrt(l->v[i]) + 1e-7);
    }
}

static void adamw_torch(layer *l, const double *g, int t)
{
    for (int i = 0; i < N_ALL; i++) {
        l->p[i] -= .001 * .01 * l->p[i];
        l->m[i] = .9 * l->m[i] + .1 * g[i];
        l->v[i] = .999 * l->v[i] + .001 * g[i] * g[i];
        l->p[i] -=
            .001 / (1 - pow(.9, t)) * l->m[i] / (sqrt(l->v[i]) / sqrt(1 - pow(.999, t)) + 1e-8);
    }
}

static void sgd_clipped(layer *l, const double *g, int t)
{
    double norm = 0;
    (void)t;
    for (int i = 0; i < N_ALL; i++)
        norm += g[i] * g[i];
    norm = sqrt(norm);
    for (int i = 0; i < N_ALL; i++) {
        double c = g[i] * .5 / fmax(norm, .5);
        l->p[i] -= .01 * fmin(fmax(c, -.2), .2);
    }
}

static void adam_gentle(layer *l, const double *g, int t)
{
    (void)l;
    (void)g;
    (void)t; /* a rate of 0 changes nothing */
}

/* ---- the same as a trainer ------------------------------------------------------------------- */

static tfr_graph *dense_graph(tfr_net_defaults defaults, uint64_t seed)
{
    const int64_t dims[] = {-1, N_IN};
    tfr_net *net = NULL;
    tfr_graph *graph = NULL;
    REQUIRE_OK(tfr_net_create("dense", dims, 2, defaults, seed, &net, &err), &err);
    tfr_net_dense(net, N_OUT, NULL);
    REQUIRE_OK(tfr_net_graph(net, &graph, &err), &err);
    tfr_net_destroy(net);
    return graph;
}

static tfr_trainer *trainer_of(tfr_graph *graph, const tfr_train_options *options)
{
    tfr_runtime *runtime = new_runtime();
    tfr_trainer *trainer = NULL;
    REQUIRE_OK(tfr_trainer_create(runtime, graph, options, &trainer, &err), &err);
    tfr_runtime_release(runtime);
    tfr_graph_release(graph);
    return trainer;
}

static tfr_tensor *matrix(int64_t rows, int64_t columns, float *data)
{
    const tfr_shape shape = {2, {rows, columns}};
    tfr_tensor *t = NULL;
    REQUIRE_OK(tfr_tensor_wrap(TFR_DTYPE_F32, &shape, NULL, data, NULL, NULL, &t, &err), &err);
    return t;
}

static void fill(float *data, int n, uint32_t seed)
{
    for (int i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        data[i] = (float)(seed >> 8) * 0x1p-23f - 1;
    }
}

static void step(tfr_trainer *trainer, float *x, float *t, int n)
{
    tfr_tensor *in = matrix(n, N_IN, x), *target = matrix(n, N_OUT, t);
    REQUIRE_OK(tfr_trainer_step(trainer, in, target, &err), &err);
    tfr_tensor_release(in);
    tfr_tensor_release(target);
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

static void read_layer(tfr_trainer *trainer, layer *l)
{
    memset(l, 0, sizeof *l);
    read_floats(trainer, "dense1.weight", l->p, N_WEIGHTS);
    read_floats(trainer, "dense1.bias", l->p + N_WEIGHTS, N_OUT);
}

static void check_optimizer(const tfr_train_options *options, update_fn *update)
{
    tfr_trainer *trainer = trainer_of(dense_graph((tfr_net_defaults)options->defaults, 1), options);
    tfr_train_metrics metrics = {.size = sizeof metrics};
    float x[BATCH * N_IN], t[BATCH * N_OUT];
    double loss = 0;
    layer want, got;
    read_layer(trainer, &want);
    for (int i = 1; i <= 5; i++) {
        double g[N_ALL];
        fill(x, BATCH * N_IN, (uint32_t)i);
        fill(t, BATCH * N_OUT, 100 + (uint32_t)i);
        step(trainer, x, t, BATCH);
        loss += loss_of(&want, x, t, BATCH, g) / 5;
        update(&want, g, i);
    }
    read_layer(trainer, &got);
    for (int i = 0; i < N_ALL; i++)
        CHECK(fabs(got.p[i] - want.p[i]) < 2e-6);
    REQUIRE_OK(tfr_trainer_read_metrics(trainer, &metrics, &err), &err);
    CHECK(fabs(metrics.loss - loss) < 1e-6);
    tfr_trainer_destroy(trainer);
}

TEST(sgd_with_momentum_is_that_of_keras)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    o.loss = "mse";
    o.optimizer = "sgd";
    o.learning_rate = .1;
    o.momentum = .9;
    check_optimizer(&o, sgd_keras);
}

TEST(sgd_with_momentum_and_decay_is_that_of_pytorch)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    o.defaults = TFR_NET_TORCH;
    o.loss = "mse";
    o.optimizer = "sgd";
    o.learning_rate = .1;
    o.momentum = .9;
    o.weight_decay = .01;
    check_optimizer(&o, sgd_torch);
}

TEST(adam_is_that_of_keras)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    o.loss = "mse";
    check_optimizer(&o, adam_keras);
}

TEST(adamw_is_that_of_pytorch)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    o.defaults = TFR_NET_TORCH;
    o.loss = "mse";
    o.optimizer = "adamw";
    check_optimizer(&o, adamw_torch);
}

TEST(gradients_are_clipped_by_norm_and_then_by_value)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    o.loss = "mse";
    o.optimizer = "sgd";
    o.clip_norm = .5;
    o.clip_value = .2;
    check_optimizer(&o, sgd_clipped);
}

TEST(a_learning_rate_of_zero_is_not_the_default)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    o.loss = "mse";
    o.learning_rate = 0;
    check_optimizer(&o, adam_gentle);
}

TEST(a_learning_rate_can_be_set_between_steps)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    float x[BATCH * N_IN], t[BATCH * N_OUT];
    tfr_trainer *trainer;
    layer before, after;
    int64_t steps = -1;
    o.loss = "mse";
    trainer = trainer_of(dense_graph(TFR_NET_KERAS, 1), &o);
    fill(x, BATCH * N_IN, 1);
    fill(t, BATCH * N_OUT, 2);
    step(trainer, x, t, BATCH);
    read_layer(trainer, &before);
    REQUIRE_OK(tfr_trainer_set_learning_rate(trainer, 0, &err), &err);
    step(trainer, x, t, BATCH);
    read_layer(trainer, &after);
    CHECK(memcmp(before.p, after.p, sizeof before.p) == 0);
    REQUIRE_OK(tfr_trainer_steps(trainer, &steps, &err), &err);
    CHECK_INT(2, steps);
    CHECK_INT(TFR_EINVAL, tfr_trainer_set_learning_rate(trainer, -1, &err));
    tfr_trainer_destroy(trainer);
}

TEST(metrics_weigh_samples_alike_whatever_the_batch_and_begin_anew_when_read)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    tfr_train_metrics metrics = {.size = sizeof metrics};
    float x[BATCH * N_IN], t[BATCH * N_OUT];
    double g[N_ALL], loss;
    tfr_trainer *trainer;
    layer l;
    o.loss = "mse";
    o.learning_rate = 0;
    trainer = trainer_of(dense_graph(TFR_NET_KERAS, 1), &o);
    read_layer(trainer, &l);
    fill(x, BATCH * N_IN, 1);
    fill(t, BATCH * N_OUT, 2);
    step(trainer, x, t, BATCH);
    step(trainer, x, t, 1);
    loss = (loss_of(&l, x, t, BATCH, g) * BATCH + loss_of(&l, x, t, 1, g)) / (BATCH + 1);
    REQUIRE_OK(tfr_trainer_read_metrics(trainer, &metrics, &err), &err);
    CHECK_INT(BATCH + 1, metrics.samples);
    CHECK_INT(0, metrics.has_accuracy);
    CHECK(fabs(metrics.loss - loss) < 1e-6);
    REQUIRE_OK(tfr_trainer_read_metrics(trainer, &metrics, &err), &err);
    CHECK_INT(0, metrics.samples);
    tfr_trainer_destroy(trainer);
}

TEST(the_evaluation_has_the_weights_as_they_are)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    float x[BATCH * N_IN], t[BATCH * N_OUT];
    tfr_tensor *in = matrix(BATCH, N_IN, x), *target = matrix(BATCH, N_OUT, t);
    tfr_trainer *trainer;
    o.loss = "mse";
    o.learning_rate = .1;
    trainer = trainer_of(dense_graph(TFR_NET_KERAS, 1), &o);
    fill(x, BATCH * N_IN, 1);
    fill(t, BATCH * N_OUT, 2);
    for (int i = 0; i < 3; i++) {
        tfr_train_metrics metrics = {.size = sizeof metrics};
        double g[N_ALL];
        layer l;
        step(trainer, x, t, BATCH);
        read_layer(trainer, &l);
        for (int k = 0; k < 2; k++)
            REQUIRE_OK(tfr_trainer_evaluate(trainer, in, target, &metrics, &err), &err);
        CHECK_INT(2 * BATCH, metrics.samples);
        CHECK(fabs(metrics.loss - loss_of(&l, x, t, BATCH, g)) < 1e-6);
    }
    tfr_tensor_release(in);
    tfr_tensor_release(target);
    tfr_trainer_destroy(trainer);
}

TEST(the_trained_graph_gives_what_the_weights_give)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    float x[BATCH * N_IN], t[BATCH * N_OUT];
    tfr_tensor *in = matrix(BATCH, N_IN, x), *out = NULL;
    tfr_runtime *runtime = new_runtime();
    tfr_session *session = NULL;
    tfr_graph *graph = NULL;
    tfr_trainer *trainer;
    layer l;
    o.loss = "mse";
    o.learning_rate = .1;
    trainer = trainer_of(dense_graph(TFR_NET_KERAS, 1), &o);
    fill(x, BATCH * N_IN, 1);
    fill(t, BATCH * N_OUT, 2);
    step(trainer, x, t, BATCH);
    read_layer(trainer, &l);
    REQUIRE_OK(tfr_trainer_graph(trainer, &graph, &err), &err);
    tfr_trainer_destroy(trainer);
    CHECK_STR("output", tfr_graph_output_name(graph, 0));
    REQUIRE_OK(tfr_session_create(runtime, graph, NULL, &session, &err), &err);
    REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    for (int i = 0; i < BATCH; i++)
        for (int j = 0; j < N_OUT; j++)
            CHECK(fabs((double)((const float *)tfr_tensor_data(out))[i * N_OUT + j] -
                       value_of(&l, x + i * N_IN, j)) < 1e-6);
    tfr_tensor_release(in);
    tfr_tensor_release(out);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(frozen_weights_stay)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    float x[BATCH * N_IN], t[BATCH * N_OUT];
    tfr_trainer *trainer;
    uint32_t n_weights = 0;
    double bias[N_OUT];
    o.loss = "mse";
    o.freeze = "conv*,*.weight";
    trainer = trainer_of(dense_graph(TFR_NET_KERAS, 1), &o);
    fill(x, BATCH * N_IN, 1);
    fill(t, BATCH * N_OUT, 2);
    step(trainer, x, t, BATCH);
    for (uint32_t i = 0; i < tfr_trainer_n_variables(trainer); i++)
        n_weights += strstr(tfr_trainer_variable(trainer, i), "dense1.weight") != NULL;
    CHECK_UINT(0, n_weights);
    read_floats(trainer, "dense1.bias", bias, N_OUT);
    CHECK(fabs(bias[0]) > 1e-4);
    tfr_trainer_destroy(trainer);
}

TEST(initial_weights_follow_from_the_seed)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    layer l[3];
    double limit = sqrt(6. / (N_IN + N_OUT)), most = 0;
    o.loss = "mse";
    for (int i = 0; i < 3; i++) {
        tfr_trainer *trainer = trainer_of(dense_graph(TFR_NET_KERAS, i == 2 ? 8 : 7), &o);
        read_layer(trainer, &l[i]);
        tfr_trainer_destroy(trainer);
    }
    CHECK(memcmp(&l[0], &l[1], sizeof *l) == 0);
    CHECK(memcmp(&l[0], &l[2], sizeof *l) != 0);
    for (int i = 0; i < N_WEIGHTS; i++)
        most = fmax(most, fabs(l[0].p[i]));
    CHECK(most <= limit && most > limit / 4);
    CHECK(l[0].p[N_WEIGHTS] == 0);
}

TEST(wrong_options_are_named_with_the_right_ones)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = dense_graph(TFR_NET_KERAS, 1);
    tfr_trainer *trainer = NULL;
    o.loss = "hinge";
    CHECK_INT(TFR_EINVAL, tfr_trainer_create(runtime, graph, &o, &trainer, &err));
    CHECK_STR("there is no loss \"hinge\"; softmax_cross_entropy, binary_cross_entropy, mse",
              err.text);
    o.loss = "mse";
    o.label_smoothing = .1;
    CHECK_INT(TFR_EINVAL, tfr_trainer_create(runtime, graph, &o, &trainer, &err));
    CHECK_STR("the loss \"mse\" has no labels to smooth", err.text);
    o.label_smoothing = 1;
    CHECK_INT(TFR_EINVAL, tfr_trainer_create(runtime, graph, &o, &trainer, &err));
    CHECK_STR("a label smoothing of 1, want 0 up to below 1", err.text);
    o.label_smoothing = 0;
    o.optimizer = "lion";
    CHECK_INT(TFR_EINVAL, tfr_trainer_create(runtime, graph, &o, &trainer, &err));
    CHECK_STR("there is no optimizer \"lion\"; adam, adamw, sgd", err.text);
    o.optimizer = NULL;
    o.freeze = "*";
    CHECK_INT(TFR_EINVAL, tfr_trainer_create(runtime, graph, &o, &trainer, &err));
    CHECK_STR("graph \"dense\" has no float32 weights to train that are not frozen", err.text);
    CHECK(trainer == NULL);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

static const test_case cases[] = {
    CASE(sgd_with_momentum_is_that_of_keras),
    CASE(sgd_with_momentum_and_decay_is_that_of_pytorch),
    CASE(adam_is_that_of_keras),
    CASE(adamw_is_that_of_pytorch),
    CASE(gradients_are_clipped_by_norm_and_then_by_value),
    CASE(a_learning_rate_of_zero_is_not_the_default),
    CASE(a_learning_rate_can_be_set_between_steps),
    CASE(metrics_weigh_samples_alike_whatever_the_batch_and_begin_anew_when_read),
    CASE(the_evaluation_has_the_weights_as_they_are),
    CASE(the_trained_graph_gives_what_the_weights_give),
    CASE(frozen_weights_stay),
    CASE(initial_weights_follow_from_the_seed),
    CASE(wrong_options_are_named_with_the_right_ones),
};
TEST_MAIN(cases)
