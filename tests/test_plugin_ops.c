/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that plugins bring: what gets into the op table and what does not, inference by a stranger's
 * callback, decompositions and gradients, good ones and hostile ones. */
#include <tfrun/autodiff.h>
#include <tfrun/onnx.h>
#include <tfrun/op.h>
#include <tfrun/tfrun.h>

#include "tfr_test.h"

#include "fake/kit.h"

static tfr_err err = TFR_ERR_INIT;

/* A world with the fakes, and the backends of the build for what they lack. */
static tfr_runtime *begin(void)
{
    static char path[2 * PATH_MAX];
    const char *build = getenv("TFR_BUILDDIR");
    kit_begin();
    kit_add("brings", "brings");
    snprintf(path, sizeof path, "%s:%s/.libs", kit_path("plugins"), build ? build : ".");
    setenv("TFRUN_PLUGIN_PATH", path, 1);
    return kit_open(NULL);
}

static void end(tfr_runtime *runtime)
{
    tfr_runtime_release(runtime);
    kit_end();
}

/* y = OP(x), x a vector of 3 float32, or of an unknown number. */
static tfr_graph *graph_of(const char *op, bool known, tfr_value *x, tfr_value *y)
{
    tfr_value_type type = {.size = sizeof type, .dtype = TFR_DTYPE_F32, .rank_known = 1, .rank = 1};
    tfr_node_desc node = {.size = sizeof node,
                          .domain = "test.brings",
                          .op = op,
                          .name = "it",
                          .n_inputs = 1,
                          .n_outputs = 1,
                          .inputs = x};
    tfr_graph *graph;
    type.dims[0] = known ? 3 : -1;
    REQUIRE_OK(tfr_graph_create("g", &graph, &err), &err);
    REQUIRE_OK(tfr_graph_add_input(graph, "x", &type, x, &err), &err);
    REQUIRE_OK(tfr_graph_add_node(graph, &node, y, &err), &err);
    REQUIRE_OK(tfr_graph_add_output(graph, *y, "y", &err), &err);
    return graph;
}

/* Runs it on 1 2 3 into out. */
static tfr_status run(tfr_runtime *runtime, tfr_graph *graph, const tfr_session_options *options,
                      float *out, uint32_t n_outputs)
{
    const tfr_shape shape = {1, {3}};
    tfr_tensor *x, *y[2] = {NULL, NULL};
    tfr_session *session = NULL;
    tfr_status status = tfr_session_create(runtime, graph, options, &session, &err);
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &shape, &x, &err), &err);
    for (int i = 0; i < 3; i++)
        ((float *)tfr_tensor_data(x))[i] = (float)(i + 1);
    if (!status)
        status = tfr_session_run(session, &x, 1, y, n_outputs, &err);
    for (uint32_t i = 0; !status && i < n_outputs; i++)
        memcpy(out + 3 * i, tfr_tensor_data(y[i]), 3 * sizeof *out);
    tfr_tensor_release(x);
    tfr_tensor_release(y[0]);
    tfr_tensor_release(y[1]);
    tfr_session_destroy(session);
    return status;
}

static tfr_op_desc row_of(const char *op)
{
    tfr_op_desc row = {.size = sizeof row};
    int32_t i = tfr_op_find("test.brings", op);
    REQUIRE(i >= 0);
    REQUIRE_OK(tfr_op_describe((uint32_t)i, &row, &err), &err);
    return row;
}

TEST(what_a_plugin_brings_is_in_the_table_with_its_name)
{
    tfr_runtime *runtime = begin();
    tfr_op_desc times = row_of("Times"), head = row_of("Head");
    CHECK_STR("brings", times.plugin);
    CHECK_STR("k:f=2", times.attrs);
    CHECK(times.decomposition && times.gradient && !head.decomposition && !head.gradient);
    CHECK_INT(3, head.since_version);
    CHECK_INT(2, head.compat_version);
    CHECK_STATE("usable", kit_row(runtime, "brings")); /* not loaded */
    end(runtime);
}

TEST(a_row_that_cannot_be_read_is_refused_and_the_row_of_the_plugin_says_why)
{
    tfr_runtime *runtime = begin();
    char name[16];
    for (int i = 1; i <= 18; i++) {
        snprintf(name, sizeof name, "Bad%d", i);
        CHECK_INT(-1, tfr_op_find("test.brings", name));
    }
    CHECK_INT(-1, tfr_op_find("test.brings", "Bad 8"));
    CHECK_INT(-1, tfr_op_find("", "Bad15"));
    CHECK_INT(-1, tfr_op_find("ai.onnx.mine", "Bad16"));
    CHECK_INT(-1, tfr_op_find("Org.example", "Bad17"));
    CHECK_INT(-1, tfr_op_find("tfrun", "Bad18"));
    CHECK_CONTAINS(
        "brings an op \"Bad1\" that is refused: its attributes \"k:f=two\" cannot be read",
        kit_row(runtime, "brings").reason);
    end(runtime);
}

TEST(an_equal_row_of_another_plugin_is_fine_and_a_different_one_is_refused_with_its_kernels)
{
    tfr_runtime *runtime = begin(), *both;
    tfr_plugin_desc row;
    bool plain = false, times = false;
    tfr_runtime_release(runtime);
    kit_add("brings_again", "brings_again");
    both = kit_open(NULL);
    row = kit_row(both, "brings_again");
    CHECK_CONTAINS("\"Times\" that is refused: this process has another Times of domain "
                   "test.brings, version 1, by plugin brings",
                   row.reason);
    for (uint32_t b = 0; b < 8; b++) {
        plain =
            plain || tfr_runtime_claims(both, 0, b, (uint32_t)tfr_op_find("test.brings", "Plain"));
        times =
            times || tfr_runtime_claims(both, 0, b, (uint32_t)tfr_op_find("test.brings", "Times"));
    }
    CHECK(plain);
    CHECK(!times);
    CHECK_STR("k:f=2", row_of("Times").attrs);
    end(both);
}

TEST(a_row_that_came_after_a_runtime_is_not_claimed_in_it)
{
    tfr_runtime *before, *after;
    kit_begin();
    before = kit_open(NULL);
    kit_end();
    after = begin();
    CHECK(!tfr_runtime_claims(before, 0, 0, (uint32_t)tfr_op_find("test.brings", "Times")));
    tfr_runtime_release(before);
    end(after);
}

/* What is known of y. */
static tfr_value_type inferred(tfr_graph *graph, tfr_value y, tfr_status expected)
{
    tfr_graph_types *types = NULL;
    tfr_value_type type = {.size = sizeof type};
    CHECK_STATUS(expected, tfr_graph_infer(graph, &types, &err), &err);
    if (types)
        REQUIRE_OK(tfr_graph_types_get(types, NULL, y, &type, &err), &err);
    tfr_graph_types_release(types);
    return type;
}

TEST(inference_gives_types_and_keeps_dims_that_are_not_known)
{
    tfr_runtime *runtime = begin();
    tfr_value x, y;
    tfr_graph *graph = graph_of("Plain", true, &x, &y);
    tfr_value_type type = inferred(graph, y, TFR_OK), of_x;
    tfr_graph_types *types;
    CHECK_INT(TFR_DTYPE_F32, type.dtype);
    CHECK_INT(3, type.dims[0]);
    tfr_graph_release(graph);
    graph = graph_of("Plain", false, &x, &y);
    REQUIRE_OK(tfr_graph_infer(graph, &types, &err), &err);
    of_x = type;
    REQUIRE_OK(tfr_graph_types_get(types, NULL, y, &type, &err), &err);
    REQUIRE_OK(tfr_graph_types_get(types, NULL, x, &of_x, &err), &err);
    CHECK(type.rank_known && type.rank == 1 && type.dims[0] < 0);
    CHECK_INT(of_x.dims[0], type.dims[0]); /* the same one */
    tfr_graph_types_release(types);
    tfr_graph_release(graph);
    end(runtime);
}

TEST(inference_reads_the_value_of_a_shape_argument)
{
    tfr_runtime *runtime = begin();
    const tfr_shape scalar = {0, {0}};
    tfr_value_type type = {.size = sizeof type, .dtype = TFR_DTYPE_F32, .rank_known = 1, .rank = 1};
    tfr_value in[2], y;
    tfr_node_desc node = {.size = sizeof node,
                          .domain = "test.brings",
                          .op = "Head",
                          .n_inputs = 2,
                          .n_outputs = 1,
                          .inputs = in};
    tfr_tensor *n;
    tfr_graph *graph;
    type.dims[0] = 9;
    REQUIRE_OK(tfr_graph_create("g", &graph, &err), &err);
    REQUIRE_OK(tfr_graph_add_input(graph, "x", &type, &in[0], &err), &err);
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_I64, &scalar, &n, &err), &err);
    *(int64_t *)tfr_tensor_data(n) = 5;
    REQUIRE_OK(tfr_graph_add_constant(graph, "n", n, &in[1], &err), &err);
    tfr_tensor_release(n);
    REQUIRE_OK(tfr_graph_add_node(graph, &node, &y, &err), &err);
    REQUIRE_OK(tfr_graph_add_output(graph, y, "y", &err), &err);
    CHECK_INT(5, inferred(graph, y, TFR_OK).dims[0]);
    tfr_graph_release(graph);
    end(runtime);
}

TEST(an_inference_that_answers_nonsense_fails_the_model_by_the_name_of_its_plugin)
{
    static const struct {
        const char *op, *says;
        tfr_status status;
    } rows[] = {
        {"SaysRank", "plugin brings says that output 0 has rank 99", TFR_EPLUGIN},
        {"SaysDim", "plugin brings says that output 0 has dim -7000", TFR_EPLUGIN},
        {"SaysType", "plugin brings says that output 0 has element type 77", TFR_EPLUGIN},
        {"SaysOther", "would be a tensor of string", TFR_EDTYPE},
        {"SaysStatus", "the slot infer of plugin brings returned 12345", TFR_EPLUGIN},
        {"SaysNo", "dim 0 is 3", TFR_ESHAPE},
    };
    tfr_runtime *runtime = begin();
    tfr_value x, y;
    tfr_graph *graph;
    float out[3];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        graph = graph_of(rows[i].op, true, &x, &y);
        inferred(graph, y, rows[i].status);
        CHECK_CONTAINS(rows[i].says, err.text);
        CHECK(run(runtime, graph, NULL, out, 1) != TFR_OK);
        tfr_graph_release(graph);
    }
    graph = graph_of("SaysNothing", true, &x, &y);
    CHECK_INT(0, inferred(graph, y, TFR_OK).rank_known);
    CHECK_STATUS(TFR_EPLUGIN, run(runtime, graph, NULL, out, 1), &err);
    tfr_graph_release(graph);
    graph = graph_of("SaysSymbol", true, &x, &y);
    CHECK(inferred(graph, y, TFR_OK).dims[0] < 0);
    CHECK_STATUS(TFR_EPLUGIN, run(runtime, graph, NULL, out, 1), &err);
    tfr_graph_release(graph);
    end(runtime);
}

TEST(an_op_without_a_kernel_is_computed_by_its_decomposition_and_that_is_a_fallback)
{
    tfr_runtime *runtime = begin();
    tfr_session_options strict = TFR_SESSION_OPTIONS_INIT;
    tfr_value x, y;
    tfr_graph *graph = graph_of("Times", true, &x, &y);
    float out[3];
    CHECK_OK(run(runtime, graph, NULL, out, 1), &err);
    CHECK(out[0] == 2 && out[1] == 4 && out[2] == 6);
    strict.fallback = TFR_FALLBACK_ERROR;
    CHECK_STATUS(TFR_EFALLBACK, run(runtime, graph, &strict, out, 1), &err);
    CHECK_CONTAINS("its decomposition could, which fallback \"error\" forbids", err.text);
    tfr_graph_release(graph);
    end(runtime);
}

TEST(what_a_decomposition_computes_says_so_in_its_placement)
{
    tfr_runtime *runtime = begin();
    const tfr_shape shape = {1, {3}};
    tfr_placement row = {.size = sizeof row};
    tfr_value x, y;
    tfr_graph *graph = graph_of("Times", true, &x, &y);
    tfr_session *session;
    tfr_tensor *in, *out = NULL;
    REQUIRE_OK(tfr_session_create(runtime, graph, NULL, &session, &err), &err);
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &shape, &in, &err), &err);
    memset(tfr_tensor_data(in), 0, 12);
    REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    REQUIRE_OK(tfr_session_placement(session, 0, &row, &err), &err);
    CHECK_STR("Mul", row.op);
    CHECK_INT(1, row.fallback);
    CHECK_CONTAINS("it is of the decomposition of Times of domain test.brings", row.text);
    tfr_tensor_release(in);
    tfr_tensor_release(out);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    end(runtime);
}

TEST(without_kernel_and_decomposition_the_error_names_op_domain_and_plugin)
{
    tfr_runtime *runtime = begin();
    tfr_value x, y;
    tfr_graph *graph = graph_of("Plain", true, &x, &y);
    float out[3];
    CHECK_STATUS(TFR_EUNSUPPORTED, run(runtime, graph, NULL, out, 1), &err);
    CHECK_CONTAINS("(Plain of domain test.brings, by plugin brings): no backend has a kernel",
                   err.text);
    tfr_graph_release(graph);
    end(runtime);
}

TEST(functions_that_are_garbage_endless_or_too_large_are_errors)
{
    static const char *const ops[] = {"Garbage", "Itself", "Huge"};
    static const char *const says[] = {"the function of Garbage of domain test.brings",
                                       "decompositions are more than 16 deep", "65536"};
    tfr_runtime *runtime = begin();
    tfr_value x, y, dx;
    tfr_graph *graph;
    float out[3];
    for (int i = 0; i < 3; i++) {
        graph = graph_of(ops[i], true, &x, &y);
        CHECK(run(runtime, graph, NULL, out, 1) != TFR_OK);
        CHECK_CONTAINS(says[i], err.text);
        tfr_graph_release(graph);
    }
    graph = graph_of("Garbage", true, &x, &y);
    CHECK(tfr_graph_gradient(graph, y, &x, 1, &dx, &err) != TFR_OK);
    CHECK_CONTAINS("the function of Garbage", err.text);
    tfr_graph_release(graph);
    end(runtime);
}

TEST(the_gradient_is_the_function_that_the_plugin_brings)
{
    tfr_runtime *runtime = begin();
    tfr_value x, y, dx;
    tfr_graph *graph = graph_of("Times", true, &x, &y);
    float out[6];
    REQUIRE_OK(tfr_graph_gradient(graph, y, &x, 1, &dx, &err), &err);
    REQUIRE_OK(tfr_graph_add_output(graph, dx, "dx", &err), &err);
    CHECK_OK(run(runtime, graph, NULL, out, 2), &err);
    CHECK(out[2] == 6 && out[3] == 2 && out[4] == 2 && out[5] == 2);
    tfr_graph_release(graph);
    graph = graph_of("Plain", true, &x, &y);
    CHECK_STATUS(TFR_EUNSUPPORTED, tfr_graph_gradient(graph, y, &x, 1, &dx, &err), &err);
    CHECK_CONTAINS("its op has no rule", err.text);
    tfr_graph_release(graph);
    end(runtime);
}

/* Gathers what is written. */
static tfr_status gather(void *user, const void *bytes, size_t n, tfr_err *e)
{
    struct {
        char bytes[4096];
        size_t n;
    } *to = user;
    (void)e;
    REQUIRE(n <= sizeof to->bytes - to->n);
    memcpy(to->bytes + to->n, bytes, n);
    to->n += n;
    return TFR_OK;
}

TEST(a_model_with_such_an_op_is_written_and_read_again)
{
    tfr_runtime *runtime = begin();
    struct {
        char bytes[4096];
        size_t n;
    } file = {.n = 0};
    tfr_value x, y;
    tfr_graph *graph = graph_of("Times", true, &x, &y), *again = NULL;
    float out[3];
    REQUIRE_OK(tfr_onnx_write(graph, gather, &file, &err), &err);
    tfr_graph_release(graph);
    REQUIRE_OK(tfr_onnx_parse(file.bytes, file.n, &again, &err), &err);
    CHECK_OK(run(runtime, again, NULL, out, 1), &err);
    CHECK(out[2] == 6);
    tfr_graph_release(again);
    end(runtime);
}

/* What reading a model with one node of this op gives. */
static tfr_status read_again(const char *op, tfr_graph **again)
{
    struct {
        char bytes[4096];
        size_t n;
    } file = {.n = 0};
    tfr_value x, y;
    tfr_graph *graph = graph_of(op, true, &x, &y);
    tfr_status status;
    REQUIRE_OK(tfr_onnx_write(graph, gather, &file, &err), &err);
    tfr_graph_release(graph);
    *again = NULL;
    status = tfr_onnx_parse(file.bytes, file.n, again, &err);
    CHECK(!status == (*again != NULL));
    return status;
}

TEST(a_call_that_is_written_out_becomes_nodes_while_a_model_is_read)
{
    tfr_runtime *runtime = begin();
    tfr_node_view node = {.size = sizeof node};
    tfr_value x, y;
    tfr_graph *graph = graph_of("WrittenTwice", true, &x, &y), *again;
    float out[3];
    CHECK_INT(4, row_of("WrittenTwice").decomposition);
    CHECK_STATUS(TFR_EUNSUPPORTED, run(runtime, graph, NULL, out, 1), &err);
    CHECK_CONTAINS("WrittenTwice is written out", err.text);
    tfr_graph_release(graph);
    REQUIRE_OK(read_again("WrittenTwice", &again), &err);
    CHECK_INT(1, tfr_graph_n_nodes(again));
    REQUIRE_OK(tfr_graph_node(again, 0, &node, &err), &err);
    CHECK_STR("Add", node.op);
    CHECK_OK(run(runtime, again, NULL, out, 1), &err);
    CHECK(out[0] == 2 && out[1] == 4 && out[2] == 6);
    tfr_graph_release(again);
    end(runtime);
}

TEST(calls_whose_text_is_garbage_endless_too_long_or_refused_are_errors)
{
    static const char *const ops[] = {"Garbage", "Itself", "Long", "No", "Needs"};
    static const char *const says[] = {"written out: ", "more than 32 deep",
                                       "plugin brings writes 1099511627776 bytes", "X has rank 1",
                                       "attribute \"k\" is missing"};
    tfr_runtime *runtime = begin();
    tfr_graph *again;
    char name[32];
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        snprintf(name, sizeof name, "Written%s", ops[i]);
        CHECK(read_again(name, &again) != TFR_OK);
        CHECK_CONTAINS(says[i], err.text);
        tfr_graph_release(again);
    }
    end(runtime);
}

static const test_case cases[] = {
    CASE(what_a_plugin_brings_is_in_the_table_with_its_name),
    CASE(a_row_that_cannot_be_read_is_refused_and_the_row_of_the_plugin_says_why),
    CASE(an_equal_row_of_another_plugin_is_fine_and_a_different_one_is_refused_with_its_kernels),
    CASE(a_row_that_came_after_a_runtime_is_not_claimed_in_it),
    CASE(inference_gives_types_and_keeps_dims_that_are_not_known),
    CASE(inference_reads_the_value_of_a_shape_argument),
    CASE(an_inference_that_answers_nonsense_fails_the_model_by_the_name_of_its_plugin),
    CASE(an_op_without_a_kernel_is_computed_by_its_decomposition_and_that_is_a_fallback),
    CASE(what_a_decomposition_computes_says_so_in_its_placement),
    CASE(without_kernel_and_decomposition_the_error_names_op_domain_and_plugin),
    CASE(functions_that_are_garbage_endless_or_too_large_are_errors),
    CASE(the_gradient_is_the_function_that_the_plugin_brings),
    CASE(a_model_with_such_an_op_is_written_and_read_again),
    CASE(a_call_that_is_written_out_becomes_nodes_while_a_model_is_read),
    CASE(calls_whose_text_is_garbage_endless_too_long_or_refused_are_errors),
};
TEST_MAIN(cases)
