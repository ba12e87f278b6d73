/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps that compute values again: the same bits as without, in less memory, which is counted from
 * the plan.
 */
#include <stdlib.h>
#include <string.h>
#include <tfrun/train.h>

#include "tfr_test.h"

static tfr_err err = TFR_ERR_INIT;

enum { BATCH = 6 };

typedef void (*net_fn)(tfr_net *net);

static void cnn(tfr_net *net)
{
    for (int i = 0; i < 6; i++) {
        tfr_net_conv(net, 12, 3, "relu");
        tfr_net_batch_norm(net);
        if (i == 2)
            tfr_net_dropout(net, .25f);
        if (i == 2)
            tfr_net_max_pool(net, 2);
    }
    tfr_net_flatten(net);
    tfr_net_dense(net, 10, NULL);
}

static void mlp(tfr_net *net)
{
    tfr_net_flatten(net);
    for (int i = 0; i < 12; i++)
        tfr_net_dense(net, 64, i % 2 ? "tanh" : "sigmoid");
    tfr_net_dense(net, 10, NULL);
}

static const net_fn nets[] = {cnn, mlp};
#define N_NETS (sizeof nets / sizeof *nets)

static tfr_graph *make(net_fn fill)
{
    const int64_t dims[] = {-1, 1, 24, 24};
    tfr_net *net = NULL;
    tfr_graph *graph = NULL;
    REQUIRE_OK(tfr_net_create("net", dims, 4, TFR_NET_KERAS, 5, &net, &err), &err);
    fill(net);
    REQUIRE_OK(tfr_net_graph(net, &graph, &err), &err);
    tfr_net_destroy(net);
    return graph;
}

/* A block of two convolutions, and the sum with what it was given. */
static tfr_graph *residual(void)
{
    const tfr_value_type type = {.size = sizeof type,
                                 .kind = TFR_KIND_TENSOR,
                                 .dtype = TFR_DTYPE_F32,
                                 .rank_known = 1,
                                 .rank = 4,
                                 .dims = {-1, 1, 24, 24}};
    const tfr_shape first = {4, {8, 1, 3, 3}}, other = {4, {8, 8, 3, 3}}, last = {2, {8, 10}};
    const int64_t pads[] = {1, 1, 1, 1};
    const tfr_attr same = {
        .size = sizeof same, .name = "pads", .type = TFR_ATTR_INTS, .n = 4, .ints = pads};
    tfr_graph *graph = NULL;
    tfr_value x, y = TFR_VALUE_NONE, in[2];
    REQUIRE_OK(tfr_graph_create("residual", &graph, &err), &err);
    REQUIRE_OK(tfr_graph_add_input(graph, "x", &type, &x, &err), &err);
    for (int i = 0; i < 11; i++) {
        const tfr_shape *shape = i == 0 ? &first : &other;
        tfr_node_desc node = {.size = sizeof node,
                              .op = "Conv",
                              .inputs = in,
                              .n_inputs = 2,
                              .n_outputs = 1,
                              .attrs = &same,
                              .n_attrs = 1};
        tfr_tensor *w = NULL;
        char name[16] = {'w', (char)('a' + i), 0};
        REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, shape, &w, &err), &err);
        for (int64_t k = 0; k < tfr_tensor_elements(w); k++)
            ((float *)tfr_tensor_data(w))[k] = (float)((k * 37 + i * 11) % 61 - 30) / 200;
        in[0] = i % 2 || i == 0 ? x : y;
        REQUIRE_OK(tfr_graph_add_constant(graph, name, w, &in[1], &err), &err);
        tfr_tensor_release(w);
        REQUIRE_OK(tfr_graph_add_node(graph, &node, &y, &err), &err);
        node.n_attrs = 0;
        if (i && i % 2 == 0) {
            node.op = "Add";
            in[0] = x;
            in[1] = y;
            REQUIRE_OK(tfr_graph_add_node(graph, &node, &y, &err), &err);
        }
        node.op = "Relu";
        node.n_inputs = 1;
        in[0] = y;
        REQUIRE_OK(tfr_graph_add_node(graph, &node, &y, &err), &err);
        x = i % 2 == 0 ? y : x;
    }
    {
        tfr_node_desc node = {.size = sizeof node,
                              .op = "GlobalAveragePool",
                              .inputs = in,
                              .n_inputs = 1,
                              .n_outputs = 1};
        tfr_tensor *w = NULL;
        in[0] = x;
        REQUIRE_OK(tfr_graph_add_node(graph, &node, &in[0], &err), &err);
        node.op = "Flatten";
        REQUIRE_OK(tfr_graph_add_node(graph, &node, &in[0], &err), &err);
        REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &last, &w, &err), &err);
        for (int64_t k = 0; k < tfr_tensor_elements(w); k++)
            ((float *)tfr_tensor_data(w))[k] = (float)(k * 29 % 53 - 26) / 100;
        REQUIRE_OK(tfr_graph_add_constant(graph, "w", w, &in[1], &err), &err);
        tfr_tensor_release(w);
        node.op = "MatMul";
        node.n_inputs = 2;
        REQUIRE_OK(tfr_graph_add_node(graph, &node, &y, &err), &err);
    }
    REQUIRE_OK(tfr_graph_add_output(graph, y, "y", &err), &err);
    return graph;
}

static void batch(int64_t n, tfr_tensor **x, tfr_tensor **y)
{
    const tfr_shape images = {4, {n, 1, 24, 24}}, labels = {1, {n}};
    float *p;
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &images, x, &err), &err);
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_I64, &labels, y, &err), &err);
    p = tfr_tensor_data(*x);
    for (int64_t i = 0; i < tfr_tensor_elements(*x); i++)
        p[i] = (float)((i * 7 + i / 576 % 10 * 131) % 97) / 97 + (float)(i * i % 89) / 445;
    for (int64_t i = 0; i < n; i++)
        ((int64_t *)tfr_tensor_data(*y))[i] = i % 10;
}

static void step(tfr_trainer *trainer, int64_t n)
{
    tfr_tensor *x = NULL, *y = NULL;
    batch(n, &x, &y);
    REQUIRE_OK(tfr_trainer_step(trainer, x, y, &err), &err);
    tfr_tensor_release(x);
    tfr_tensor_release(y);
}

static tfr_trainer *train(tfr_runtime *runtime, tfr_graph *graph, int32_t how, const char *device,
                          int steps)
{
    tfr_train_options options = TFR_TRAIN_OPTIONS_INIT;
    tfr_trainer *trainer = NULL;
    options.device = device;
    options.fallback = TFR_FALLBACK_ALLOW;
    options.no_programs = 1;
    options.seed = 3;
    options.recompute = how;
    REQUIRE_OK(tfr_trainer_create(runtime, graph, &options, &trainer, &err), &err);
    for (int i = 0; i < steps; i++)
        step(trainer, BATCH);
    return trainer;
}

static tfr_trainer *train_within(tfr_runtime *runtime, tfr_graph *graph, uint64_t limit)
{
    tfr_train_options options = TFR_TRAIN_OPTIONS_INIT;
    tfr_trainer *trainer = NULL;
    options.device = "naive:0";
    options.no_programs = 1;
    options.seed = 3;
    options.memory_limit = limit;
    REQUIRE_OK(tfr_trainer_create(runtime, graph, &options, &trainer, &err), &err);
    return trainer;
}

static bool same_bits(tfr_trainer *one, tfr_trainer *other)
{
    bool same = tfr_trainer_n_variables(one) == tfr_trainer_n_variables(other);
    for (uint32_t i = 0; i < tfr_trainer_n_variables(one); i++) {
        const char *name = tfr_trainer_variable(one, i);
        tfr_tensor *x = NULL, *y = NULL;
        REQUIRE_OK(tfr_trainer_get_variable(one, name, &x, &err), &err);
        REQUIRE_OK(tfr_trainer_get_variable(other, name, &y, &err), &err);
        same = same && memcmp(tfr_tensor_data(x), tfr_tensor_data(y), tfr_tensor_bytes(x)) == 0;
        tfr_tensor_release(x);
        tfr_tensor_release(y);
    }
    return same;
}

static uint64_t arena(tfr_trainer *trainer)
{
    tfr_session_stats stats = {.size = sizeof stats};
    REQUIRE_OK(tfr_session_get_stats(tfr_trainer_session(trainer), &stats, &err), &err);
    return stats.arena_bytes;
}

static void check_bits(const char *device)
{
    tfr_runtime *runtime = NULL;
    uint32_t number;
    int32_t backend;
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &err), &err);
    if (tfr_runtime_find(runtime, device, &number, &backend, &err)) {
        tfr_runtime_release(runtime);
        SKIP("the backend is not there");
    }
    for (size_t i = 0; i <= N_NETS; i++) {
        tfr_graph *graph = i < N_NETS ? make(nets[i]) : residual();
        tfr_trainer *plain = train(runtime, graph, TFR_RECOMPUTE_NONE, device, 2);
        for (int32_t how = TFR_RECOMPUTE_CHEAP; how <= TFR_RECOMPUTE_SEGMENTS; how++) {
            tfr_trainer *other = train(runtime, graph, how, device, 2);
            if (!same_bits(plain, other)) {
                printf("  net %d, way %d\n", (int)i, (int)how);
                CHECK(false);
            }
            tfr_trainer_destroy(other);
        }
        tfr_trainer_destroy(plain);
        tfr_graph_release(graph);
    }
    tfr_runtime_release(runtime);
}

TEST(the_reference_gets_the_same_bits)
{
    check_bits("naive:0");
}

TEST(native_gets_the_same_bits)
{
    check_bits("native:0");
}

/* Bytes that each way takes at most, of the reference's plan. */
static void check_memory(tfr_runtime *runtime, tfr_graph *graph, const uint64_t most[3])
{
    uint64_t bytes[3];
    for (int32_t how = TFR_RECOMPUTE_NONE; how <= TFR_RECOMPUTE_SEGMENTS; how++) {
        tfr_trainer *trainer = train(runtime, graph, how, "naive:0", 1);
        bytes[how] = arena(trainer);
        tfr_trainer_destroy(trainer);
    }
    printf("  %llu bytes, cheap %llu, segments %llu\n", (unsigned long long)bytes[0],
           (unsigned long long)bytes[1], (unsigned long long)bytes[2]);
    for (int how = 0; how < 3; how++)
        CHECK(bytes[how] <= most[how]);
    tfr_graph_release(graph);
}

TEST(plans_need_less_memory)
{
    tfr_runtime *runtime = NULL;
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &err), &err);
    check_memory(runtime, make(cnn), (const uint64_t[]){909000, 671000, 655000});
    /* what is cheap has nothing to save here: Relu's gradient keeps its output alone */
    check_memory(runtime, residual(), (const uint64_t[]){1441000, 1441000, 895000});
    tfr_runtime_release(runtime);
}

/* Two steps within what this way takes are those of a step that computes nothing again. */
static void check_limit(tfr_runtime *runtime, tfr_graph *graph, int32_t how)
{
    tfr_trainer *plain = train(runtime, graph, TFR_RECOMPUTE_NONE, "naive:0", 2);
    tfr_trainer *one = train(runtime, graph, how, "naive:0", 1);
    tfr_trainer *other = train_within(runtime, graph, arena(one));
    for (int i = 0; i < 2; i++)
        step(other, BATCH);
    CHECK_INT(how, tfr_trainer_recompute(other));
    CHECK(same_bits(plain, other));
    tfr_trainer_destroy(plain);
    tfr_trainer_destroy(one);
    tfr_trainer_destroy(other);
    tfr_graph_release(graph);
}

TEST(a_limit_of_memory_chooses_the_way)
{
    tfr_runtime *runtime = NULL;
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &err), &err);
    check_limit(runtime, residual(), TFR_RECOMPUTE_NONE);
    check_limit(runtime, residual(), TFR_RECOMPUTE_SEGMENTS);
    /* One with random numbers, whose state goes along. */
    check_limit(runtime, make(cnn), TFR_RECOMPUTE_CHEAP);
    tfr_runtime_release(runtime);
}

TEST(a_larger_batch_chooses_anew)
{
    tfr_runtime *runtime = NULL;
    tfr_graph *graph = residual();
    tfr_trainer *one, *other;
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &err), &err);
    one = train(runtime, graph, TFR_RECOMPUTE_SEGMENTS, "naive:0", 1);
    other = train_within(runtime, graph, arena(one));
    step(other, 1);
    CHECK_INT(TFR_RECOMPUTE_NONE, tfr_trainer_recompute(other));
    step(other, BATCH);
    CHECK_INT(TFR_RECOMPUTE_SEGMENTS, tfr_trainer_recompute(other));
    tfr_trainer_destroy(one);
    tfr_trainer_destroy(other);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(a_limit_that_nothing_keeps_is_an_error_and_changes_nothing)
{
    tfr_runtime *runtime = NULL;
    tfr_graph *graph = make(mlp);
    tfr_trainer *plain, *other;
    tfr_tensor *x, *y;
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &err), &err);
    plain = train(runtime, graph, TFR_RECOMPUTE_NONE, "naive:0", 0);
    other = train_within(runtime, graph, 1000);
    batch(BATCH, &x, &y);
    CHECK_INT(TFR_ENOMEM, tfr_trainer_step(other, x, y, &err));
    CHECK(strstr(err.text, "the limit is 1000, make the batches smaller"));
    CHECK(same_bits(plain, other));
    tfr_tensor_release(x);
    tfr_tensor_release(y);
    tfr_trainer_destroy(plain);
    tfr_trainer_destroy(other);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(a_way_that_there_is_not_is_refused)
{
    tfr_train_options options = TFR_TRAIN_OPTIONS_INIT;
    tfr_runtime *runtime = NULL;
    tfr_trainer *trainer = NULL;
    tfr_graph *graph = make(mlp);
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &err), &err);
    options.recompute = 3;
    CHECK_INT(TFR_EINVAL, tfr_trainer_create(runtime, graph, &options, &trainer, &err));
    CHECK_STR("recompute 3; it is 0 to 2", err.text);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

static const test_case cases[] = {
    CASE(the_reference_gets_the_same_bits),
    CASE(native_gets_the_same_bits),
    CASE(plans_need_less_memory),
    CASE(a_limit_of_memory_chooses_the_way),
    CASE(a_larger_batch_chooses_anew),
    CASE(a_limit_that_nothing_keeps_is_an_error_and_changes_nothing),
    CASE(a_way_that_there_is_not_is_refused),
};
TEST_MAIN_WITHOUT_TSAN(cases, "its threads are those of test_train_graph")
