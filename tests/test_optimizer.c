/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of optimizers: each against its formula in double on a dense layer. */
#include "trainer_kit.h"

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

static const test_case cases[] = {
    CASE(sgd_with_momentum_is_that_of_keras),
    CASE(sgd_with_momentum_and_decay_is_that_of_pytorch),
    CASE(adam_is_that_of_keras),
    CASE(adamw_is_that_of_pytorch),
    CASE(gradients_are_clipped_by_norm_and_then_by_value),
    CASE(a_learning_rate_of_zero_is_not_the_default),
};
TEST_MAIN(cases)
