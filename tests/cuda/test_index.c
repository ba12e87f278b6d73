/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Indices that are outside of their axis, and lengths of sequences that are too long, which only
 * the device sees: the reference's error, in plain runs and in captured ones, and right runs after
 * it.
 */
#include "training_kit.h"

enum { ROWS = 5, COLUMNS = 4, PICKED = 3, RUNS = 8 };

/* op (x [5 4], indices), where the dims of the indices end with those of `columns`; scatters have
 * updates, all ones, too. */
typedef struct indexed {
    const char *op, *says;
    int64_t index_dims[2], update_dims[2];
    int64_t good[PICKED * COLUMNS], bad[PICKED * COLUMNS];
} indexed;

static const indexed ops[] = {
    {"Gather",
     "gather index 7 at position 1 is outside [-5, 5)",
     {PICKED, 1},
     {0, 0},
     {4, -5, 0},
     {4, 7, -6}},
    {"GatherElements",
     "gather index -6 at position 5 is outside [-5, 5)",
     {PICKED, COLUMNS},
     {0, 0},
     {0, 1, 2, 3, 4, -1, -2, -3, -4, -5, 0, 1},
     {0, 1, 2, 3, 4, -6, -2, -3, 5, -5, 0, 9}},
    {"GatherND",
     "gather index 4 at position 3 is outside [-4, 4)",
     {PICKED, 2},
     {0, 0},
     {4, 3, 0, -4, -5, 1},
     {4, 3, 0, 4, -9, 1}},
    {"ScatterElements",
     "scatter index 5 at position 3 is outside [-5, 5)",
     {2, COLUMNS},
     {2, COLUMNS},
     {0, 1, 2, 3, 4, -1, -2, -3},
     {0, 1, 2, 5, 4, -6, -2, -3}},
    {"ScatterND",
     "scatter index -6 at position 2 is outside [-5, 5)",
     {PICKED, 1},
     {PICKED, COLUMNS},
     {4, 0, 4},
     {4, 0, -6}},
    {"ReverseSequence",
     "sequence length 6 of batch 2 is outside [0, 5]",
     {COLUMNS, 0},
     {0, 0},
     {5, 0, 3, 1},
     {5, 0, 6, -1}},
};
enum { N_OPS = sizeof ops / sizeof ops[0] };

static tfr_tensor *index_of(const indexed *op, bool is_bad)
{
    return new_tensor(TFR_DTYPE_I64, op->index_dims[1] ? 2 : 1, op->index_dims,
                      is_bad ? op->bad : op->good);
}

typedef struct bench {
    const indexed *op;
    tfr_session *session;
} bench;

static bench new_bench(const indexed *op, tfr_runtime *runtime, const char *device)
{
    const bool has_updates = op->update_dims[0] != 0;
    tfr_value in[3], out = TFR_VALUE_NONE;
    tfr_graph *graph = new_graph(has_updates ? 3 : 2, in);
    in[0] = unary(graph, "Neg", in[0]);
    const tfr_node_desc node = {.size = sizeof node,
                                .op = op->op,
                                .name = "picked",
                                .inputs = in,
                                .n_inputs = has_updates ? 3 : 2,
                                .n_outputs = 1};
    REQUIRE_OK(tfr_graph_add_node(graph, &node, &out, &err), &err);
    output(graph, unary(graph, "Neg", out));
    return (bench){op, session_over(runtime, graph, device)};
}

/* The output's elements, or what is wrong. */
static tfr_status run(const bench *b, bool is_bad, float *y)
{
    static const int64_t dims[] = {ROWS, COLUMNS};
    static const float ones[ROWS * COLUMNS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                               1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const bool has_updates = b->op->update_dims[0] != 0;
    float x[ROWS * COLUMNS];
    tfr_tensor *in[3], *out = NULL;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        x[i] = (float)i;
    err = (tfr_err)TFR_ERR_INIT;
    in[0] = floats(2, dims, x);
    in[1] = index_of(b->op, is_bad);
    in[2] = has_updates ? floats(2, b->op->update_dims, ones) : NULL;
    const tfr_status status = tfr_session_run(b->session, in, has_updates ? 3 : 2, &out, 1, &err);
    if (!status)
        memcpy(y, tfr_tensor_data(out), tfr_tensor_bytes(out));
    tfr_tensor_release(out);
    for (int i = 0; i < 3; i++)
        tfr_tensor_release(in[i]);
    return status;
}

/* The second run is captured, and later ones run what it has recorded. */
static void check_op(const indexed *op, const char *switches)
{
    static const bool is_bad[RUNS] = {false, true, false, false, true, false, true, true};
    float want[ROWS * COLUMNS] = {0}, got[ROWS * COLUMNS];
    if (!begin(switches))
        SKIP("the driver stand-in or its kernels are not built");
    const bench reference = new_bench(op, new_runtime(), "naive:0");
    const bench b = new_bench(op, cuda_runtime(), "cuda:0");
    REQUIRE_OK(run(&reference, false, want), &err);
    CHECK_STATUS(TFR_EINVAL, run(&reference, true, got), &err);
    CHECK_CONTAINS(op->says, err.text);
    for (int i = 0; i < RUNS; i++) {
        memset(got, 0, sizeof got);
        if (is_bad[i]) {
            CHECK_STATUS(TFR_EINVAL, run(&b, true, got), &err);
            CHECK_CONTAINS(op->says, err.text);
            CHECK_CONTAINS("node \"picked\"", err.text);
            CHECK_CONTAINS("on cuda:0", err.text);
        } else {
            REQUIRE_OK(run(&b, false, got), &err);
            CHECK(memcmp(want, got, sizeof want) == 0);
        }
    }
    CHECK_UINT(0, stats_of(b.session).n_fallbacks);
    CHECK(calls_of("cuGraphLaunch") >= RUNS - 2);
    tfr_session_destroy(reference.session);
    tfr_session_destroy(b.session);
    check_leaks("leaked: nothing");
    CHECK_STR("", logged);
}

TEST(an_index_outside_of_its_axis_is_the_references_error_and_other_runs_are_right)
{
    for (int i = 0; i < N_OPS; i++) {
        check_op(&ops[i], "");
        check_op(&ops[i], "lazy"); /* nothing happens before somebody waits */
    }
}

static const test_case cases[] = {
    CASE(an_index_outside_of_its_axis_is_the_references_error_and_other_runs_are_right),
};
TEST_MAIN(cases)
