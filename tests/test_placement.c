/* SPDX-License-Identifier: Apache-2.0 */
/* What a session tells of where its nodes run. */
#include "session_kit.h"

TEST(a_placement_says_where_each_node_runs)
{
    tfr_value x, v;
    tfr_graph *graph = new_graph(1, &x);
    v = unary(graph, "Relu", x);
    output(graph, v);
    tfr_session *session = session_over(new_runtime(), graph, "naive:0");
    tfr_tensor *in = floats(2, two_by_three, six);
    REQUIRE_OK(tfr_session_prepare(session, &in, 1, &err), &err);
    REQUIRE_INT(1, tfr_session_n_placements(session));
    tfr_placement row = row_of(session, 0);
    CHECK_STR("Relu", row.op);
    CHECK_STR("CPU:0", row.device);
    CHECK_STR("naive:0", row.backend);
    CHECK_UINT(0, row.fallback);
    tfr_tensor_release(in);
    tfr_session_destroy(session);
}

/* One Dropout; mode is training_mode, TFR_VALUE_NONE = absent, or -2 = an input of the graph. */
static void check_dropout(uint32_t random, int mode)
{
    tfr_value x[2], in[3];
    tfr_graph *graph = new_graph(2, x);
    in[0] = x[0];
    in[1] = TFR_VALUE_NONE;
    in[2] = mode < -1 ? x[1] : TFR_VALUE_NONE;
    tfr_shape scalar = {0};
    tfr_tensor *flag = NULL, *data[2];
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_BOOL, &scalar, &flag, &err), &err);
    *(uint8_t *)tfr_tensor_data(flag) = mode == 1;
    if (mode >= 0)
        REQUIRE_OK(tfr_graph_add_constant(graph, "mode", flag, &in[2], &err), &err);
    output(graph, add(graph, "Dropout", in, 3));
    tfr_session *session = session_over(new_runtime(), graph, "naive:0");
    data[0] = floats(2, two_by_three, six);
    data[1] = flag;
    REQUIRE_OK(tfr_session_prepare(session, data, 2, &err), &err);
    tfr_placement row = row_of(session, 0);
    CHECK_UINT(random, row.random);
    tfr_tensor_release(data[0]);
    tfr_tensor_release(flag);
    tfr_session_destroy(session);
}

TEST(a_placement_says_that_a_node_draws_random_numbers)
{
    tfr_value x, v;
    tfr_graph *graph = new_graph(1, &x);
    v = unary(graph, "Bernoulli", x);
    v = unary(graph, "Relu", v);
    output(graph, v);
    tfr_session *session = session_over(new_runtime(), graph, "naive:0");
    tfr_tensor *in = floats(2, two_by_three, six);
    REQUIRE_OK(tfr_session_prepare(session, &in, 1, &err), &err);
    tfr_placement row = row_of(session, 0);
    CHECK_UINT(1, row.random);
    REQUIRE_OK(tfr_session_placement(session, 1, &row, &err), &err);
    CHECK_UINT(0, row.random);
    tfr_tensor_release(in);
    tfr_session_destroy(session);
}

TEST(a_row_without_a_size_is_refused)
{
    tfr_value x;
    tfr_graph *graph = new_graph(1, &x);
    tfr_placement row = {0};
    tfr_program_desc program = {0};
    output(graph, unary(graph, "Relu", x));
    tfr_session *session = session_over(new_runtime(), graph, "naive:0");
    CHECK_STATUS(TFR_EINVAL, tfr_session_placement(session, 0, &row, &err), &err);
    CHECK_CONTAINS("no size", err.text);
    CHECK_STATUS(TFR_EINVAL, tfr_session_program(session, 0, &program, &err), &err);
    CHECK_CONTAINS("no size", err.text);
    tfr_session_destroy(session);
}

TEST(dropout_draws_only_where_it_may_be_training)
{
    check_dropout(0, TFR_VALUE_NONE);
    check_dropout(0, 0);
    check_dropout(1, 1);
    check_dropout(1, -2);
}

TEST(strings_are_not_sent_to_a_device)
{
    const tfr_shape one = {1, {1}};
    tfr_value x;
    tfr_graph *graph = new_graph(1, &x);
    tfr_tensor *in = NULL;
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_STRING, &one, &in, &err), &err);
    output(graph, binary(graph, "StringConcat", x, x));
    tfr_session *session = session_over(accelerator_runtime(NULL, 0), graph, "NPU:0");
    REQUIRE_OK(tfr_session_prepare(session, &in, 1, &err), &err);
    tfr_placement row = row_of(session, 0);
    CHECK_STR("naive:0", row.backend);
    CHECK_INT(TFR_REASON_DTYPE, row.reason);
    CHECK_CONTAINS("fakeacc:0 says dtype: strings stay in the host's memory", row.text);
    tfr_tensor_release(in);
    tfr_session_destroy(session);
}

static const test_case cases[] = {
    CASE(a_placement_says_where_each_node_runs),
    CASE(a_placement_says_that_a_node_draws_random_numbers),
    CASE(a_row_without_a_size_is_refused),
    CASE(dropout_draws_only_where_it_may_be_training),
    CASE(strings_are_not_sent_to_a_device),
};
TEST_MAIN(cases)
