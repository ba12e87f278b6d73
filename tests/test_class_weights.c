/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of classes: a step of plain gradient descent on a dense layer, against it in double. */
#include <math.h>
#include <tfrun/train.h>

#include "session_kit.h"

enum { N_IN = 2, N_CLASSES = 3, BATCH = 4 };

static const float x[BATCH * N_IN] = {.5f, -1, .25f, 2, -.75f, 1, 1.5f, .125f};
static const int64_t labels[BATCH] = {0, 2, 2, 1};
static const float weights[N_CLASSES] = {1, 0, 2.5f};

static tfr_graph *dense(void)
{
    const int64_t dims[] = {-1, N_IN};
    tfr_net *net = NULL;
    tfr_graph *graph = NULL;
    REQUIRE_OK(tfr_net_create("dense", dims, 2, TFR_NET_KERAS, 7, &net, &err), &err);
    tfr_net_dense(net, N_CLASSES, NULL);
    REQUIRE_OK(tfr_net_graph(net, &graph, &err), &err);
    tfr_net_destroy(net);
    return graph;
}

static void read_weight(tfr_trainer *trainer, double *out)
{
    tfr_tensor *t = NULL;
    REQUIRE_OK(tfr_trainer_get_variable(trainer, "dense1.weight", &t, &err), &err);
    for (int i = 0; i < N_CLASSES * N_IN; i++)
        out[i] = (double)((const float *)tfr_tensor_data(t))[i];
    tfr_tensor_release(t);
}

/* Of the scores W x, which have no bias yet. */
static void probabilities(const double *w, const float *sample, double *p)
{
    double sum = 0;
    for (int c = 0; c < N_CLASSES; c++) {
        p[c] = 0;
        for (int k = 0; k < N_IN; k++)
            p[c] += w[c * N_IN + k] * (double)sample[k];
        p[c] = exp(p[c]);
        sum += p[c];
    }
    for (int c = 0; c < N_CLASSES; c++)
        p[c] /= sum;
}

/* The loss; w goes down its gradient by a rate of 1. */
static double descend(double *w, double by)
{
    double p[N_CLASSES], before[N_CLASSES * N_IN], loss = 0;
    memcpy(before, w, sizeof before);
    for (int i = 0; i < BATCH; i++) {
        const double weight = (double)weights[labels[i]] / by;
        probabilities(before, x + i * N_IN, p);
        loss -= weight * log(p[labels[i]]);
        for (int c = 0; c < N_CLASSES; c++)
            for (int k = 0; k < N_IN; k++)
                w[c * N_IN + k] -= weight * (p[c] - (c == labels[i])) * (double)x[i * N_IN + k];
    }
    return loss;
}

/* by: what the sum of losses is divided by. */
static void check(tfr_net_defaults defaults, double by)
{
    const int64_t dims[] = {BATCH, N_IN};
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    tfr_train_metrics m = {.size = sizeof m};
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = dense();
    tfr_trainer *trainer = NULL;
    tfr_tensor *in = floats(2, dims, x), *out = new_tensor(TFR_DTYPE_I64, 1, dims, labels);
    double want[N_CLASSES * N_IN], got[N_CLASSES * N_IN], loss;
    o.defaults = defaults;
    o.optimizer = "sgd";
    o.learning_rate = 1;
    o.class_weights = weights;
    o.n_class_weights = N_CLASSES;
    REQUIRE_OK(tfr_trainer_create(runtime, graph, &o, &trainer, &err), &err);
    read_weight(trainer, want);
    loss = descend(want, by);
    REQUIRE_OK(tfr_trainer_step(trainer, in, out, &err), &err);
    REQUIRE_OK(tfr_trainer_read_metrics(trainer, &m, &err), &err);
    CHECK_NEAR(loss, m.loss, 1e-6);
    read_weight(trainer, got);
    for (int i = 0; i < N_CLASSES * N_IN; i++)
        CHECK_NEAR(want[i], got[i], 1e-6);
    tfr_trainer_destroy(trainer);
    tfr_tensor_release(in);
    tfr_tensor_release(out);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(the_loss_is_divided_by_the_samples)
{
    check(TFR_NET_KERAS, BATCH);
}

TEST(the_loss_of_torch_is_divided_by_the_weights)
{
    check(TFR_NET_TORCH, 1 + 2.5 + 2.5);
}

TEST(weights_that_do_not_fit_are_refused)
{
    static const float bad[N_CLASSES] = {1, -1, 1};
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = dense();
    tfr_trainer *trainer = NULL;
    o.class_weights = weights;
    o.n_class_weights = 2;
    CHECK_INT(TFR_EINVAL, tfr_trainer_create(runtime, graph, &o, &trainer, &err));
    CHECK_STR("2 weights of classes for scores of 3 classes", err.text);
    o.n_class_weights = N_CLASSES;
    o.class_weights = bad;
    CHECK_INT(TFR_EINVAL, tfr_trainer_create(runtime, graph, &o, &trainer, &err));
    CHECK_STR("weight 1 of classes is -1, want 0 or more", err.text);
    o.class_weights = weights;
    o.label_smoothing = .1;
    CHECK_INT(TFR_EINVAL, tfr_trainer_create(runtime, graph, &o, &trainer, &err));
    CHECK_STR("weights of classes and label smoothing at once", err.text);
    o.label_smoothing = 0;
    o.loss = "mse";
    CHECK_INT(TFR_EINVAL, tfr_trainer_create(runtime, graph, &o, &trainer, &err));
    CHECK_STR("the loss \"mse\" has no classes to weigh", err.text);
    CHECK(trainer == NULL);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

static const test_case cases[] = {
    CASE(the_loss_is_divided_by_the_samples),
    CASE(the_loss_of_torch_is_divided_by_the_weights),
    CASE(weights_that_do_not_fit_are_refused),
};
TEST_MAIN(cases)
