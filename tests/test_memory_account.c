/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a plugin takes of a device's memory for itself and says to the core, which keeps to the
 * limit then. The fake accelerator says it of every kernel.
 */
#include "graph_text.h"
#include "session_kit.h"

static tfr_status run_once(const char *limit, const char *own_bytes, int64_t n, int times)
{
    const tfr_option given[] = {{"fakeacc.own_bytes", own_bytes}, {"fakeacc.memory_limit", limit}};
    tfr_runtime *runtime = accelerator_runtime(given, 2);
    tfr_shape shape = {2, {n, n}};
    tfr_tensor *in = random_floats(&shape, 7, -1, 1);
    tfr_status status = TFR_OK;
    for (int i = 0; i < times && !status; i++) {
        tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
        tfr_value x;
        tfr_graph *graph = new_graph(1, &x);
        tfr_session *session = NULL;
        tfr_tensor *out = NULL;
        output(graph, unary(graph, "Relu", x));
        options.device = "NPU:0";
        REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
        status = tfr_session_run(session, &in, 1, &out, 1, &err);
        tfr_tensor_release(out);
        tfr_graph_release(graph);
        tfr_session_destroy(session);
    }
    tfr_tensor_release(in);
    tfr_runtime_release(runtime);
    CHECK_STR("", breaches);
    return status;
}

/* 16 KiB in and out would fit without the kernel's. */
TEST(what_a_plugin_takes_for_itself_counts_for_the_limit)
{
    CHECK_STATUS(TFR_OK, run_once("40000", "0", 64, 1), &err);
    CHECK_STATUS(TFR_ENOMEM, run_once("40000", "30000", 64, 1), &err);
    CHECK_CONTAINS("NPU:0 has no memory for ", err.text);
    CHECK_CONTAINS(" of intermediate values of graph \"test\" (no room for ", err.text);
    CHECK_CONTAINS("of memory_limit, 40000 bytes, 0 are allocated and 30000 are the plugin's own",
                   err.text);
}

TEST(what_a_plugin_may_not_take_is_told_with_its_purpose)
{
    CHECK_STATUS(TFR_ENOMEM, run_once("10000", "30000", 4, 1), &err);
    CHECK_CONTAINS("(Relu) on fakeacc:0: no room for 30000 bytes for packed weights: of "
                   "memory_limit, 10000 bytes, 0 are allocated and 0 are the plugin's own",
                   err.text);
}

TEST(what_a_plugin_gives_back_is_there_again)
{
    CHECK_STATUS(TFR_OK, run_once("40000", "30000", 4, 5), &err);
}

static const test_case cases[] = {
    CASE(what_a_plugin_takes_for_itself_counts_for_the_limit),
    CASE(what_a_plugin_may_not_take_is_told_with_its_purpose),
    CASE(what_a_plugin_gives_back_is_there_again),
};
TEST_MAIN(cases)
