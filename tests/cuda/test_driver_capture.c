/* SPDX-License-Identifier: Apache-2.0 */
/* The driver stand-in: what is captured and replayed, and what capture refuses with which code. */
#include <pthread.h>

#include "driver_kit.h"

enum { N = 4 };

typedef struct fixture {
    tfr_cu_library *library;
    tfr_cu_function *scale, *add;
    tfr_cu_stream *stream, *side;
    tfr_cu_event *event;
    tfr_cu_ptr x, y;
    float *host;
} fixture;

static fixture begin(const char *switches)
{
    fixture f;
    kit_begin(switches);
    f.library = kit_library();
    f.scale = kit_kernel(f.library, "fake_scale");
    f.add = kit_kernel(f.library, "fake_add");
    f.stream = kit_stream();
    f.side = kit_stream();
    f.event = kit_event();
    f.x = kit_alloc(N * sizeof(float));
    f.y = kit_alloc(N * sizeof(float));
    f.host = kit_pinned(N * sizeof(float));
    for (int i = 0; i < N; i++)
        f.host[i] = 1;
    CHECK_INT(0, cu.cuMemcpyHtoDAsync_v2(f.x, f.host, N * sizeof(float), f.stream));
    CHECK_INT(0, cu.cuMemcpyHtoDAsync_v2(f.y, f.host, N * sizeof(float), f.stream));
    CHECK_INT(0, cu.cuStreamSynchronize(f.stream));
    return f;
}

static void end(const fixture *f)
{
    CHECK_INT(0, cu.cuMemFree_v2(f->x));
    CHECK_INT(0, cu.cuMemFree_v2(f->y));
    CHECK_INT(0, cu.cuMemFreeHost(f->host));
    CHECK_INT(0, cu.cuEventDestroy_v2(f->event));
    CHECK_INT(0, cu.cuStreamDestroy_v2(f->stream));
    CHECK_INT(0, cu.cuStreamDestroy_v2(f->side));
    CHECK_INT(0, cu.cuLibraryUnload(f->library));
    kit_end();
}

static void start(const fixture *f)
{
    REQUIRE_INT(0, cu.cuStreamBeginCapture_v2(f->stream, TFR_CU_CAPTURE_THREAD_LOCAL));
}

/* Ends a capture that must give this code. */
static tfr_cu_graph *finish(const fixture *f, tfr_cu_result expected)
{
    tfr_cu_graph *graph = NULL;
    unsigned status;
    CHECK_INT(expected, cu.cuStreamEndCapture(f->stream, &graph));
    CHECK(!graph == (expected != 0));
    CHECK_INT(0, cu.cuStreamIsCapturing(f->stream, &status));
    CHECK_INT(TFR_CU_CAPTURE_STATUS_NONE, status);
    return graph;
}

static float read_y(const fixture *f)
{
    CHECK_INT(0, cu.cuMemcpyDtoHAsync_v2(f->host, f->y, N * sizeof(float), f->stream));
    CHECK_INT(0, cu.cuStreamSynchronize(f->stream));
    return f->host[0];
}

static tfr_cu_graph_exec *instantiate(tfr_cu_graph *graph)
{
    tfr_cu_graph_exec *exec = NULL;
    REQUIRE_INT(0, cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
}

TEST(a_captured_launch_does_nothing_until_the_graph_is_launched)
{
    fixture f = begin("");
    size_t n = 0;
    start(&f);
    CHECK_INT(0, kit_scale(f.scale, f.stream, f.y, 3, N));
    tfr_cu_graph *graph = finish(&f, 0);
    CHECK_NEAR(1, read_y(&f), 0);
    CHECK_INT(0, cu.cuGraphGetNodes(graph, NULL, &n));
    CHECK_UINT(1, n);
    tfr_cu_graph_exec *exec = instantiate(graph);
    CHECK_INT(0, cu.cuGraphDestroy(graph));
    CHECK_INT(0, cu.cuGraphUpload(exec, f.stream));
    CHECK_INT(0, cu.cuGraphLaunch(exec, f.stream));
    CHECK_INT(0, cu.cuGraphLaunch(exec, f.stream));
    CHECK_NEAR(9, read_y(&f), 0);
    CHECK_INT(0, cu.cuGraphLaunch(exec, f.stream));
    CHECK_INT(0, cu.cuGraphExecDestroy(exec)); /* while it runs */
    CHECK_NEAR(27, read_y(&f), 0);
    end(&f);
}

TEST(a_fork_that_is_joined_runs_in_any_order_that_it_allows)
{
    fixture f = begin("");
    tfr_cu_event *joined = kit_event();
    start(&f);
    CHECK_INT(0, kit_scale(f.scale, f.stream, f.x, 5, N));
    CHECK_INT(0, cu.cuEventRecord(f.event, f.stream));
    CHECK_INT(0, cu.cuStreamWaitEvent(f.side, f.event, 0));
    CHECK_INT(0, kit_scale(f.scale, f.side, f.x, 7, N));
    CHECK_INT(0, cu.cuEventRecord(joined, f.side));
    CHECK_INT(0, cu.cuStreamWaitEvent(f.stream, joined, 0));
    CHECK_INT(0, kit_add(f.add, f.stream, f.y, f.x, N));
    tfr_cu_graph *graph = finish(&f, 0);
    tfr_cu_graph_exec *exec = instantiate(graph);
    CHECK_INT(0, cu.cuGraphLaunch(exec, f.stream));
    CHECK_NEAR(36, read_y(&f), 0);
    CHECK_INT(0, cu.cuGraphExecDestroy(exec));
    CHECK_INT(0, cu.cuGraphDestroy(graph));
    CHECK_INT(0, cu.cuEventDestroy_v2(joined));
    end(&f);
}

/* Two branches that share y and do not say so: the branch captured last runs first. */
TEST(a_missing_dependency_shows)
{
    fixture f = begin("");
    tfr_cu_event *joined = kit_event();
    start(&f);
    CHECK_INT(0, cu.cuEventRecord(f.event, f.stream));
    CHECK_INT(0, cu.cuStreamWaitEvent(f.side, f.event, 0));
    CHECK_INT(0, kit_scale(f.scale, f.stream, f.y, 10, N));
    CHECK_INT(0, kit_add(f.add, f.side, f.y, f.x, N));
    CHECK_INT(0, cu.cuEventRecord(joined, f.side));
    CHECK_INT(0, cu.cuStreamWaitEvent(f.stream, joined, 0));
    tfr_cu_graph *graph = finish(&f, 0);
    tfr_cu_graph_exec *exec = instantiate(graph);
    CHECK_INT(0, cu.cuGraphLaunch(exec, f.stream));
    CHECK_NEAR(20, read_y(&f), 0); /* in the order of the capture it would be 11 */
    CHECK_INT(0, cu.cuGraphExecDestroy(exec));
    CHECK_INT(0, cu.cuGraphDestroy(graph));
    CHECK_INT(0, cu.cuEventDestroy_v2(joined));
    end(&f);
}

TEST(an_update_takes_new_arguments_and_no_new_topology)
{
    fixture f = begin("");
    tfr_cu_update_info info;
    start(&f);
    CHECK_INT(0, kit_scale(f.scale, f.stream, f.y, 2, N));
    tfr_cu_graph *graph = finish(&f, 0);
    tfr_cu_graph_exec *exec = instantiate(graph);
    CHECK_INT(0, cu.cuGraphDestroy(graph));

    start(&f);
    CHECK_INT(0, kit_scale(f.scale, f.stream, f.y, 5, N));
    graph = finish(&f, 0);
    CHECK_INT(0, cu.cuGraphExecUpdate_v2(exec, graph, &info));
    CHECK_INT(0, cu.cuGraphDestroy(graph));
    CHECK_INT(0, cu.cuGraphLaunch(exec, f.stream));
    CHECK_NEAR(5, read_y(&f), 0);

    start(&f);
    CHECK_INT(0, cu.cuMemsetD8Async(f.y, 0, 4, f.stream));
    graph = finish(&f, 0);
    CHECK_INT(TFR_CU_GRAPH_EXEC_UPDATE_FAILURE, cu.cuGraphExecUpdate_v2(exec, graph, &info));
    CHECK_INT(TFR_CU_GRAPH_UPDATE_NODE_TYPE_CHANGED, info.result);
    CHECK_INT(0, cu.cuGraphDestroy(graph));
    CHECK_INT(0, cu.cuGraphExecDestroy(exec));
    end(&f);
}

/* 900, and what is left of the capture is 901. */
#define CHECK_BREAKS(code, call)                                                                   \
    do {                                                                                           \
        start(&f);                                                                                 \
        CHECK_INT(code, call);                                                                     \
        CHECK_INT(TFR_CU_CAPTURE_INVALIDATED, kit_scale(f.scale, f.stream, f.y, 1, N));            \
        finish(&f, TFR_CU_CAPTURE_INVALIDATED);                                                    \
    } while (0)

TEST(calls_that_wait_or_allocate_break_a_capture)
{
    fixture f = begin("");
    tfr_cu_ptr p;
    void *h;
    float pageable = 0;
    tfr_cu_library *other = NULL;
    tfr_cu_event *idle = kit_event();
    CHECK_BREAKS(900, cu.cuMemAlloc_v2(&p, 4));
    CHECK_BREAKS(900, cu.cuMemFree_v2(f.y));
    CHECK_BREAKS(900, cu.cuMemHostAlloc(&h, 4, 0));
    CHECK_BREAKS(900, cu.cuStreamSynchronize(f.stream));
    CHECK_BREAKS(900, cu.cuStreamSynchronize(f.side));
    CHECK_BREAKS(900, cu.cuStreamQuery(f.stream));
    CHECK_BREAKS(900, cu.cuCtxSynchronize());
    CHECK_BREAKS(900, cu.cuEventQuery(idle));
    CHECK_BREAKS(900, cu.cuEventSynchronize(idle));
    CHECK_BREAKS(900, cu.cuLibraryLoadData(&other, "tfrun", NULL, NULL, 0, NULL, NULL, 0));
    CHECK_BREAKS(900, cu.cuLibraryUnload(f.library));
    CHECK_BREAKS(900, cu.cuMemcpyDtoHAsync_v2(&pageable, f.y, 4, f.stream));
    CHECK_INT(0, cu.cuEventDestroy_v2(idle));
    end(&f);
}

TEST(a_kernel_that_was_never_loaded_cannot_be_captured)
{
    fixture f = begin("");
    tfr_cu_kernel *kernel;
    tfr_cu_function *wait;
    tfr_cu_ptr p = f.x;
    void *args[] = {&p};
    REQUIRE_INT(0, cu.cuLibraryGetKernel(&kernel, f.library, "fake_wait"));
    REQUIRE_INT(0, cu.cuKernelGetFunction(&wait, kernel));
    CHECK_BREAKS(900, cu.cuLaunchKernel(wait, 1, 1, 1, 1, 1, 1, 0, f.stream, args, NULL));
    end(&f);
}

TEST(a_relaxed_thread_may_allocate_while_it_captures)
{
    fixture f = begin("");
    unsigned mode = TFR_CU_CAPTURE_RELAXED;
    start(&f);
    CHECK_INT(0, cu.cuThreadExchangeStreamCaptureMode(&mode));
    CHECK_INT(TFR_CU_CAPTURE_GLOBAL, mode);
    tfr_cu_ptr p = kit_alloc(4);
    CHECK_INT(0, cu.cuThreadExchangeStreamCaptureMode(&mode));
    CHECK_INT(TFR_CU_CAPTURE_RELAXED, mode);
    CHECK_INT(0, cu.cuGraphDestroy(finish(&f, 0)));
    CHECK_INT(0, cu.cuMemFree_v2(p));
    end(&f);
}

TEST(two_captures_cannot_be_merged)
{
    fixture f = begin("");
    tfr_cu_graph *graph;
    REQUIRE_INT(0, cu.cuStreamBeginCapture_v2(f.side, TFR_CU_CAPTURE_THREAD_LOCAL));
    start(&f);
    CHECK_INT(0, cu.cuEventRecord(f.event, f.side));
    CHECK_INT(TFR_CU_CAPTURE_MERGE, cu.cuStreamWaitEvent(f.stream, f.event, 0));
    finish(&f, TFR_CU_CAPTURE_INVALIDATED);
    CHECK_INT(TFR_CU_CAPTURE_INVALIDATED, cu.cuStreamEndCapture(f.side, &graph));
    end(&f);
}

TEST(a_capture_ends_where_it_began)
{
    fixture f = begin("");
    tfr_cu_graph *graph;
    CHECK_INT(TFR_CU_ILLEGAL_STATE, cu.cuStreamEndCapture(f.stream, &graph));
    start(&f);
    CHECK_INT(TFR_CU_ILLEGAL_STATE,
              cu.cuStreamBeginCapture_v2(f.stream, TFR_CU_CAPTURE_THREAD_LOCAL));
    CHECK_INT(0, cu.cuEventRecord(f.event, f.stream));
    CHECK_INT(0, cu.cuStreamWaitEvent(f.side, f.event, 0));
    CHECK_INT(TFR_CU_CAPTURE_UNMATCHED, cu.cuStreamEndCapture(f.side, &graph));
    CHECK_INT(0, cu.cuGraphDestroy(finish(&f, 0)));
    end(&f);
}

TEST(a_side_stream_must_be_joined)
{
    fixture f = begin("");
    start(&f);
    CHECK_INT(0, cu.cuEventRecord(f.event, f.stream));
    CHECK_INT(0, cu.cuStreamWaitEvent(f.side, f.event, 0));
    CHECK_INT(0, kit_scale(f.scale, f.side, f.y, 2, N));
    finish(&f, TFR_CU_CAPTURE_UNJOINED);
    CHECK_INT(0, cu.cuStreamQuery(f.side)); /* it is free again */
    end(&f);
}

TEST(what_is_not_captured_cannot_be_waited_for_in_a_capture)
{
    fixture f = begin("");
    CHECK_INT(0, cu.cuEventRecord(f.event, f.side));
    CHECK_BREAKS(TFR_CU_CAPTURE_ISOLATION, cu.cuStreamWaitEvent(f.stream, f.event, 0));
    end(&f);
}

TEST(the_legacy_stream_cannot_take_part)
{
    fixture f = begin("");
    tfr_cu_stream *blocking = NULL;
    tfr_cu_graph *graph;
    CHECK_INT(TFR_CU_CAPTURE_UNSUPPORTED, cu.cuStreamBeginCapture_v2(NULL, 1));
    REQUIRE_INT(0, cu.cuStreamCreateWithPriority(&blocking, TFR_CU_STREAM_DEFAULT, 0));
    CHECK_INT(0, cu.cuStreamBeginCapture_v2(blocking, TFR_CU_CAPTURE_THREAD_LOCAL));
    CHECK_INT(TFR_CU_CAPTURE_IMPLICIT, cu.cuMemsetD8Async(f.y, 0, 4, NULL));
    CHECK_INT(TFR_CU_CAPTURE_INVALIDATED, cu.cuStreamEndCapture(blocking, &graph));
    CHECK_INT(0, cu.cuStreamDestroy_v2(blocking));
    end(&f);
}

TEST(a_captured_event_cannot_be_asked)
{
    fixture f = begin("");
    unsigned mode = TFR_CU_CAPTURE_RELAXED;
    start(&f);
    CHECK_INT(0, cu.cuEventRecord(f.event, f.stream));
    CHECK_INT(0, cu.cuThreadExchangeStreamCaptureMode(&mode));
    CHECK_INT(TFR_CU_CAPTURED_EVENT, cu.cuEventQuery(f.event));
    CHECK_INT(0, cu.cuThreadExchangeStreamCaptureMode(&mode));
    finish(&f, TFR_CU_CAPTURE_INVALIDATED);
    CHECK_INT(TFR_CU_CAPTURED_EVENT, cu.cuEventSynchronize(f.event));
    CHECK_INT(TFR_CU_CAPTURED_EVENT, cu.cuStreamWaitEvent(f.side, f.event, 0));
    CHECK_INT(0, cu.cuEventRecord(f.event, f.side)); /* and is an event again */
    CHECK_INT(0, cu.cuEventSynchronize(f.event));
    end(&f);
}

typedef struct elsewhere {
    const fixture *f;
    tfr_cu_context *ctx;
    tfr_cu_result ended, allocated;
} elsewhere;

static void *end_and_allocate(void *arg)
{
    elsewhere *e = arg;
    tfr_cu_graph *graph;
    tfr_cu_ptr p;
    cu.cuCtxPushCurrent_v2(e->ctx);
    e->ended = cu.cuStreamEndCapture(e->f->stream, &graph);
    e->allocated = cu.cuMemAlloc_v2(&p, 4);
    if (!e->allocated)
        cu.cuMemFree_v2(p);
    cu.cuCtxPopCurrent_v2(NULL);
    return NULL;
}

static elsewhere on_another_thread(const fixture *f)
{
    elsewhere e = {.f = f};
    pthread_t thread;
    CHECK_INT(0, cu.cuCtxGetCurrent(&e.ctx));
    REQUIRE_INT(0, pthread_create(&thread, NULL, end_and_allocate, &e));
    pthread_join(thread, NULL);
    return e;
}

TEST(another_thread_cannot_end_a_capture_but_allocate)
{
    fixture f = begin("");
    start(&f);
    elsewhere e = on_another_thread(&f);
    CHECK_INT(TFR_CU_CAPTURE_WRONG_THREAD, e.ended);
    CHECK_INT(0, e.allocated);
    CHECK_INT(0, cu.cuGraphDestroy(finish(&f, 0)));
    end(&f);
}

TEST(a_global_capture_stops_other_threads_from_allocating)
{
    fixture f = begin("");
    REQUIRE_INT(0, cu.cuStreamBeginCapture_v2(f.stream, TFR_CU_CAPTURE_GLOBAL));
    elsewhere e = on_another_thread(&f);
    CHECK_INT(TFR_CU_CAPTURE_UNSUPPORTED, e.allocated);
    finish(&f, TFR_CU_CAPTURE_INVALIDATED);
    end(&f);
}

static const test_case cases[] = {
    CASE(a_captured_launch_does_nothing_until_the_graph_is_launched),
    CASE(a_fork_that_is_joined_runs_in_any_order_that_it_allows),
    CASE(a_missing_dependency_shows),
    CASE(an_update_takes_new_arguments_and_no_new_topology),
    CASE(calls_that_wait_or_allocate_break_a_capture),
    CASE(a_kernel_that_was_never_loaded_cannot_be_captured),
    CASE(a_relaxed_thread_may_allocate_while_it_captures),
    CASE(two_captures_cannot_be_merged),
    CASE(a_capture_ends_where_it_began),
    CASE(a_side_stream_must_be_joined),
    CASE(what_is_not_captured_cannot_be_waited_for_in_a_capture),
    CASE(the_legacy_stream_cannot_take_part),
    CASE(a_captured_event_cannot_be_asked),
    CASE(another_thread_cannot_end_a_capture_but_allocate),
    CASE(a_global_capture_stops_other_threads_from_allocating),
};
TEST_MAIN(cases)
