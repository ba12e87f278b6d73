/* SPDX-License-Identifier: Apache-2.0 */
/* What the CUDA backend records of a traced run, over the driver stand-in, and that nothing is left
 * of it, nor any call made for it without a trace. */
#include <tfrun/trace.h>

#include "graph_text.h"
#include "training_kit.h"

typedef struct seen {
    unsigned n_records, n_kernels, n_swap;
    uint64_t begin, end; /* of all */
    bool is_ordered;
} seen;

static tfr_session *traced_session(bool traced)
{
    tfr_session_options o = TFR_SESSION_OPTIONS_INIT;
    tfr_runtime *runtime = cuda_runtime();
    tfr_graph *graph = graph_of_text("in x 40 50; out Softmax(Transpose(Neg(Exp(x))))");
    tfr_session *session = NULL;
    o.device = "cuda:0";
    o.passes = "none";
    REQUIRE_OK(tfr_session_create(runtime, graph, &o, &session, &err), &err);
    if (traced)
        REQUIRE_OK(tfr_trace_start(session, 1000, &err), &err);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    return session;
}

static void run(tfr_session *session)
{
    const tfr_shape shape = {2, {40, 50}};
    tfr_tensor *x = random_floats(&shape, 1, -1, 1), *y = NULL;
    REQUIRE_OK(tfr_session_run(session, &x, 1, &y, 1, &err), &err);
    tfr_tensor_release(x);
    tfr_tensor_release(y);
}

static seen look(tfr_session *session)
{
    seen s = {.begin = UINT64_MAX, .is_ordered = true};
    tfr_trace_stop(session);
    for (uint32_t i = 0; i < tfr_trace_count(session, NULL); i++) {
        tfr_trace_event e = {.size = sizeof e};
        REQUIRE_OK(tfr_trace_get(session, i, &e, &err), &err);
        if (e.kind != TFR_TRACE_RECORD)
            continue;
        s.n_records++;
        s.n_kernels += e.record == 1;
        s.n_swap += strcmp(e.text, "swap_32") == 0;
        s.is_ordered = s.is_ordered && e.begin_ns <= e.end_ns;
        s.begin = e.begin_ns < s.begin ? e.begin_ns : s.begin;
        s.end = e.end_ns > s.end ? e.end_ns : s.end;
    }
    return s;
}

TEST(a_trace_has_a_record_of_each_kernel)
{
    BEGIN("");
    tfr_session *session = traced_session(true);
    run(session);
    run(session);
    const seen s = look(session);
    CHECK_UINT(6, s.n_kernels); /* a chain, swap_32 and softmax, twice */
    CHECK_UINT(2, s.n_swap);
    CHECK(s.is_ordered);
    CHECK(s.end - s.begin < UINT64_C(60000000000));
    tfr_session_destroy(session);
    CHECK_STR("", logged);
    check_leaks("leaked: nothing");
}

TEST(without_a_trace_no_event_has_a_time)
{
    BEGIN("");
    tfr_session *session = traced_session(false);
    run(session);
    CHECK_UINT(0, calls_of("cuEventElapsedTime"));
    CHECK_UINT(0, look(session).n_records);
    tfr_session_destroy(session);
    check_leaks("leaked: nothing");
}

/* A run is as good as without a trace, whatever fails of its records. */
TEST(whichever_call_of_a_record_fails_the_run_goes_on_and_nothing_is_left)
{
    static const char *const names[] = {"cuEventCreate", "cuEventRecord", "cuEventElapsedTime"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (unsigned nth = 1; nth <= 12; nth++) {
            BEGIN("");
            tfr_session *session = traced_session(true);
            const tfr_shape shape = {2, {40, 50}};
            tfr_tensor *x = random_floats(&shape, 1, -1, 1), *y = NULL;
            fail_at(names[i], nth, 2);
            err = (tfr_err)TFR_ERR_INIT;
            const tfr_status status = tfr_session_run(session, &x, 1, &y, 1, &err);
            CHECK(status == TFR_OK || err.text[0]); /* a fence has events, too */
            tfr_tensor_release(x);
            tfr_tensor_release(y);
            fail_at(names[i], 0, 0);
            tfr_session_destroy(session);
            check_leaks("leaked: nothing");
        }
}

static const test_case cases[] = {
    CASE(a_trace_has_a_record_of_each_kernel),
    CASE(without_a_trace_no_event_has_a_time),
    CASE(whichever_call_of_a_record_fails_the_run_goes_on_and_nothing_is_left),
};
TEST_MAIN(cases)
