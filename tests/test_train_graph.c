/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the graph of a step: that the gradient reads what the forward nodes give, and what batch
 * normalization keeps.
 */
#include <math.h>
#include "nn/train_graph.h"
#include "session_kit.h"

enum { N = 5, C = 3 };

static tfr_trainer *trainer_of(tfr_net *net, const tfr_train_options *options)
{
    tfr_runtime *runtime = new_runtime();
    tfr_trainer *trainer = NULL;
    tfr_graph *graph = NULL;
    REQUIRE_OK(tfr_net_graph(net, &graph, &err), &err);
    tfr_net_destroy(net);
    REQUIRE_OK(tfr_trainer_create(runtime, graph, options, &trainer, &err), &err);
    tfr_runtime_release(runtime);
    tfr_graph_release(graph);
    return trainer;
}

/* One step with pixels that differ, all of class 0. */
static void step(tfr_trainer *trainer, const tfr_shape *shape)
{
    const tfr_shape classes = {1, {shape->dims[0]}};
    tfr_tensor *x, *t;
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, shape, &x, &err), &err);
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_I64, &classes, &t, &err), &err);
    for (int64_t i = 0; i < tfr_tensor_elements(x); i++)
        ((float *)tfr_tensor_data(x))[i] = (float)(i * i % 11);
    memset(tfr_tensor_data(t), 0, tfr_tensor_bytes(t));
    REQUIRE_OK(tfr_trainer_step(trainer, x, t, &err), &err);
    tfr_tensor_release(x);
    tfr_tensor_release(t);
}

static uint32_t count(tfr_trainer *trainer, const char *op)
{
    tfr_session *session = tfr_trainer_session(trainer);
    uint32_t n = 0;
    for (uint32_t i = 0; i < tfr_session_n_placements(session); i++) {
        tfr_placement p = {.size = sizeof p};
        REQUIRE_OK(tfr_session_placement(session, i, &p, &err), &err);
        n += strcmp(p.op, op) == 0;
    }
    return n;
}

TEST(the_gradient_reads_what_forward_nodes_give_instead_of_making_it_again)
{
    const int64_t dims[] = {-1, 1, 6, 6};
    const tfr_shape shape = {4, {N, 1, 6, 6}};
    tfr_net *net = NULL;
    tfr_trainer *trainer;
    REQUIRE_OK(tfr_net_create("all", dims, 4, TFR_NET_KERAS, 3, &net, &err), &err);
    tfr_net_conv(net, 4, 3, "relu");
    tfr_net_batch_norm(net);
    tfr_net_max_pool(net, 2);
    tfr_net_flatten(net);
    tfr_net_dense(net, C, NULL);
    trainer = trainer_of(net, NULL);
    step(trainer, &shape);
    CHECK_UINT(1, count(trainer, "MaxPool"));
    CHECK_UINT(1, count(trainer, "BatchNormTrain"));
    CHECK_UINT(0, count(trainer, "BatchNormalization"));
    CHECK_UINT(1, count(trainer, "SoftmaxCrossEntropyLoss"));
    CHECK_UINT(0, count(trainer, "LogSoftmax"));
    tfr_trainer_destroy(trainer);
}

/* Outputs of the only pool of a step; it stands before or behind a convolution. */
static uint32_t pool_outputs(bool behind)
{
    const int64_t dims[] = {-1, 1, 8, 8};
    const tfr_train_options options = TFR_TRAIN_OPTIONS_INIT;
    tfr__train_model model;
    tfr__optimizer optimizer;
    tfr_net *net = NULL;
    tfr_graph *graph = NULL, *made = NULL;
    uint32_t n = 0;
    REQUIRE_OK(tfr_net_create("pool", dims, 4, TFR_NET_KERAS, 3, &net, &err), &err);
    if (behind)
        tfr_net_conv(net, 2, 3, NULL);
    tfr_net_max_pool(net, 2);
    if (!behind)
        tfr_net_conv(net, 2, 3, NULL);
    REQUIRE_OK(tfr_net_graph(net, &graph, &err), &err);
    REQUIRE_OK(tfr__optimizer_init(&optimizer, &options, &err), &err);
    REQUIRE_OK(tfr__train_model_init(&model, graph, &options, &err), &err);
    REQUIRE_OK(tfr__train_step_graph(&model, &optimizer, &made, &err), &err);
    for (uint32_t i = 0; i < tfr_graph_n_nodes(made); i++) {
        tfr_node_view node = {.size = sizeof node};
        REQUIRE_OK(tfr_graph_node(made, i, &node, &err), &err);
        n = strcmp(node.op, "MaxPool") == 0 ? node.n_outputs : n;
    }
    tfr_graph_release(made);
    tfr__train_model_finish(&model);
    tfr_graph_release(graph);
    tfr_net_destroy(net);
    return n;
}

TEST(a_pool_gives_indices_only_where_a_gradient_reads_them)
{
    CHECK_UINT(2, pool_outputs(true));
    CHECK_UINT(1, pool_outputs(false));
}

static double after(double running, double momentum, double batch)
{
    return running * momentum + batch * (1 - momentum);
}

/* What a batch normalization of the input keeps after a step. */
static void check_running(tfr_net_defaults defaults, double momentum, double divisor)
{
    const int64_t dims[] = {-1, C};
    const tfr_shape shape = {2, {N, C}};
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    tfr_net *net = NULL;
    tfr_trainer *trainer;
    tfr_tensor *mean, *variance;
    o.defaults = (int32_t)defaults;
    REQUIRE_OK(tfr_net_create("norm", dims, 2, defaults, 3, &net, &err), &err);
    tfr_net_batch_norm(net);
    tfr_net_dense(net, C, NULL);
    trainer = trainer_of(net, &o);
    step(trainer, &shape);
    REQUIRE_OK(tfr_trainer_get_variable(trainer, "batch_norm1.mean", &mean, &err), &err);
    REQUIRE_OK(tfr_trainer_get_variable(trainer, "batch_norm1.variance", &variance, &err), &err);
    for (int c = 0; c < C; c++) {
        double sum = 0, squares = 0;
        for (int i = c; i < N * C; i += C)
            sum += i * i % 11 / (double)N;
        for (int i = c; i < N * C; i += C)
            squares += pow(i * i % 11 - sum, 2);
        CHECK(fabs((double)((const float *)tfr_tensor_data(mean))[c] - after(0, momentum, sum)) <
              1e-6);
        CHECK(fabs((double)((const float *)tfr_tensor_data(variance))[c] -
                   after(1, momentum, squares / divisor)) < 1e-5);
    }
    tfr_tensor_release(mean);
    tfr_tensor_release(variance);
    tfr_trainer_destroy(trainer);
}

TEST(the_running_variance_of_keras_is_that_of_the_batch)
{
    check_running(TFR_NET_KERAS, .99, N);
}

TEST(the_running_variance_of_pytorch_is_unbiased)
{
    check_running(TFR_NET_TORCH, .9, N - 1);
}

static const test_case cases[] = {
    CASE(the_gradient_reads_what_forward_nodes_give_instead_of_making_it_again),
    CASE(a_pool_gives_indices_only_where_a_gradient_reads_them),
    CASE(the_running_variance_of_keras_is_that_of_the_batch),
    CASE(the_running_variance_of_pytorch_is_unbiased),
};
TEST_MAIN(cases)
