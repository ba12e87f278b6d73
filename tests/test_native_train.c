/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of training that the native backend compiles into one program, against the reference
 * backend node by node.
 */
#include "native_train_kit.h"

static tfr_graph *finish(tfr_net *net)
{
    tfr_graph *graph = NULL;
    REQUIRE_OK(tfr_net_graph(net, &graph, &err), &err);
    tfr_net_destroy(net);
    return graph;
}

static tfr_net *begin(void)
{
    const int64_t dims[] = {-1, 1, 28, 28};
    tfr_net *net = NULL;
    REQUIRE_OK(tfr_net_create("net", dims, 4, TFR_NET_KERAS, 5, &net, &err), &err);
    return net;
}

static tfr_graph *mnist_cnn(void)
{
    tfr_net *net = NULL;
    REQUIRE_OK(tfr_net_create_mnist_cnn(TFR_NET_KERAS, 1, &net, &err), &err);
    return finish(net);
}

/* Windows of 5 and 3, channels that fill no vector. */
static tfr_graph *other_cnn(void)
{
    tfr_net *net = begin();
    tfr_net_conv(net, 20, 5, "relu");
    tfr_net_max_pool(net, 3);
    tfr_net_conv(net, 24, 3, "tanh");
    tfr_net_flatten(net);
    tfr_net_dense(net, 10, NULL);
    return finish(net);
}

static tfr_graph *mlp(void)
{
    tfr_net *net = begin();
    tfr_net_flatten(net);
    tfr_net_dense(net, 100, "relu");
    tfr_net_dense(net, 37, "tanh");
    tfr_net_dense(net, 10, NULL);
    return finish(net);
}

static tfr_value constant(tfr_graph *graph, const char *name, tfr_dtype dtype, int64_t rows,
                          int64_t columns)
{
    const tfr_shape shape = {columns ? 2 : 1, {rows, columns}};
    tfr_tensor *t = NULL;
    tfr_value v;
    REQUIRE_OK(tfr_tensor_create(dtype, &shape, &t, &err), &err);
    for (int64_t i = 0; i < tfr_tensor_elements(t); i++)
        if (dtype == TFR_DTYPE_F32)
            ((float *)tfr_tensor_data(t))[i] = (float)(i * i % 41 - 20) / 200;
        else
            ((int64_t *)tfr_tensor_data(t))[i] = 0;
    REQUIRE_OK(tfr_graph_add_constant(graph, name, t, &v, &err), &err);
    tfr_tensor_release(t);
    return v;
}

static tfr_value op(tfr_graph *graph, const char *name, tfr_value a, tfr_value b)
{
    const tfr_value inputs[] = {a, b};
    tfr_attr transposed = {.size = sizeof transposed, .name = "transB", .type = TFR_ATTR_INT};
    const int64_t one = 1;
    tfr_node_desc node = {
        .size = sizeof node, .op = name, .name = name, .inputs = inputs, .n_inputs = 2};
    tfr_value out;
    node.n_outputs = 1;
    if (b == TFR_VALUE_NONE)
        node.n_inputs = 1;
    transposed.ints = &one;
    transposed.n = 1;
    if (strcmp(name, "Gemm") == 0) {
        node.attrs = &transposed;
        node.n_attrs = 1;
    }
    REQUIRE_OK(tfr_graph_add_node(graph, &node, &out, &err), &err);
    return out;
}

/* CumSum, which native has not, parts the step, and what it reads has the samples behind a dim. */
static tfr_graph *with_a_whole_view(void)
{
    const tfr_value_type type = {.size = sizeof type,
                                 .kind = TFR_KIND_TENSOR,
                                 .dtype = TFR_DTYPE_F32,
                                 .rank = 4,
                                 .dims = {-1, 1, 28, 28}};
    tfr_graph *graph = NULL;
    tfr_value x, sums;
    REQUIRE_OK(tfr_graph_create("view", &graph, &err), &err);
    REQUIRE_OK(tfr_graph_add_input(graph, "x", &type, &x, &err), &err);
    x = op(graph, "Flatten", x, TFR_VALUE_NONE);
    x = op(graph, "Gemm", x, constant(graph, "w1", TFR_DTYPE_F32, 24, 784));
    x = op(graph, "Unsqueeze", x, constant(graph, "axes", TFR_DTYPE_I64, 1, 0));
    sums = op(graph, "CumSum", x, constant(graph, "axis", TFR_DTYPE_I64, 1, 0));
    x = op(graph, "Add", x, sums);
    x = op(graph, "Squeeze", x, constant(graph, "no_axes", TFR_DTYPE_I64, 1, 0));
    x = op(graph, "Gemm", x, constant(graph, "w2", TFR_DTYPE_F32, 10, 24));
    REQUIRE_OK(tfr_graph_add_output(graph, x, "y", &err), &err);
    return graph;
}

TEST(the_cnn_gets_the_weights_of_the_reference)
{
    check_like_reference(mnist_cnn, "adam", 8);
}

TEST(a_cnn_with_other_windows_gets_the_weights_of_the_reference)
{
    check_like_reference(other_cnn, "adam", 6);
    check_like_reference(other_cnn, "sgd", 4);
}

TEST(an_mlp_gets_the_weights_of_the_reference)
{
    check_like_reference(mlp, "adam", 12);
    check_like_reference(mlp, "adamw", 7);
}

TEST(views_that_have_no_samples_in_front_are_written_whole)
{
    check_like_reference(with_a_whole_view, "adam", 32);
}

TEST(steps_have_the_same_bits_whatever_the_units)
{
    check_bits(mnist_cnn);
    check_bits(other_cnn);
    check_bits(mlp);
}

TEST(the_gradients_and_the_update_are_one_program)
{
    tfr_runtime *runtime = new_runtime();
    tfr_trainer *trainer;
    tfr_graph *graph;
    uint32_t with = 0;
    if (!runtime)
        SKIP("there is no native backend");
    graph = mnist_cnn();
    trainer = new_trainer(runtime, graph, "native:0", "adam");
    train(trainer, 8, 1);
    for (uint32_t i = 0; i < tfr_session_n_placements(tfr_trainer_session(trainer)); i++) {
        tfr_placement p = {.size = sizeof p};
        REQUIRE_OK(tfr_session_placement(tfr_trainer_session(trainer), i, &p, &err), &err);
        if (n_nodes == 0 || strstr(p.op, "Conv") == NULL)
            continue;
        CHECK_INT(0, p.program);
        with++;
    }
    CHECK(n_nodes == 0 || with == 8);
    CHECK(n_nodes == 0 || n_nodes > 120);
    tfr_trainer_destroy(trainer);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(a_label_that_is_no_class_changes_nothing)
{
    tfr_runtime *runtime = new_runtime();
    tfr_trainer *trainer, *other;
    tfr_graph *graph;
    tfr_tensor *x = new_images(4), *y = new_labels(4);
    if (!runtime)
        SKIP("there is no native backend");
    graph = mlp();
    trainer = new_trainer(runtime, graph, "native:0", "adam");
    other = new_trainer(runtime, graph, "native:0", "adam");
    train(trainer, 4, 1);
    train(other, 4, 1);
    ((int64_t *)tfr_tensor_data(y))[3] = 10;
    CHECK_INT(TFR_EINVAL, tfr_trainer_step(trainer, x, y, &err));
    CHECK(strstr(err.text, "class 10") != NULL);
    CHECK(same_bits(trainer, other));
    tfr_trainer_destroy(trainer);
    tfr_trainer_destroy(other);
    tfr_tensor_release(x);
    tfr_tensor_release(y);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

static const test_case cases[] = {
    CASE(the_cnn_gets_the_weights_of_the_reference),
    CASE(a_cnn_with_other_windows_gets_the_weights_of_the_reference),
    CASE(an_mlp_gets_the_weights_of_the_reference),
    CASE(views_that_have_no_samples_in_front_are_written_whole),
    CASE(steps_have_the_same_bits_whatever_the_units),
    CASE(the_gradients_and_the_update_are_one_program),
    CASE(a_label_that_is_no_class_changes_nothing),
};
TEST_MAIN(cases)
