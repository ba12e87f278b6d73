/* SPDX-License-Identifier: Apache-2.0 */
/* The driver stand-in: order in streams, events, copies that block and that do not, kernels. */
#include <stdatomic.h>

#include "driver_kit.h"

TEST(a_stream_keeps_its_order)
{
    kit_begin("");
    tfr_cu_library *library = kit_library();
    tfr_cu_function *scale = kit_kernel(library, "fake_scale");
    tfr_cu_stream *stream = kit_stream();
    tfr_cu_ptr y = kit_alloc(4 * sizeof(float));
    float *host = kit_pinned(4 * sizeof(float));
    for (int i = 0; i < 4; i++)
        host[i] = (float)i;
    CHECK_INT(0, cu.cuMemcpyHtoDAsync_v2(y, host, 16, stream));
    for (int i = 0; i < 10; i++)
        CHECK_INT(0, kit_scale(scale, stream, y, 2, 4));
    CHECK_INT(0, cu.cuMemcpyDtoHAsync_v2(host, y, 16, stream));
    CHECK_INT(0, cu.cuStreamSynchronize(stream));
    for (int i = 0; i < 4; i++)
        CHECK_NEAR(1024 * i, host[i], 0);
    CHECK_INT(0, cu.cuStreamQuery(stream));
    CHECK_INT(0, cu.cuMemFree_v2(y));
    CHECK_INT(0, cu.cuMemFreeHost(host));
    CHECK_INT(0, cu.cuStreamDestroy_v2(stream));
    CHECK_INT(0, cu.cuLibraryUnload(library));
    kit_end();
}

/* A stream whose first kernel runs until *go is set. */
static tfr_cu_stream *blocked_stream(tfr_cu_library *library, atomic_int **go)
{
    tfr_cu_stream *stream = kit_stream();
    tfr_cu_function *wait = kit_kernel(library, "fake_wait");
    *go = kit_pinned(sizeof **go);
    atomic_store(*go, 0);
    tfr_cu_ptr at = (uintptr_t)*go;
    void *args[] = {&at};
    REQUIRE_INT(0, cu.cuLaunchKernel(wait, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
    return stream;
}

TEST(an_event_is_reached_after_what_stands_before_it)
{
    kit_begin("");
    atomic_int *go;
    tfr_cu_library *library = kit_library();
    tfr_cu_stream *stream = blocked_stream(library, &go);
    tfr_cu_event *event = kit_event();
    CHECK_INT(0, cu.cuEventQuery(event)); /* never recorded */
    CHECK_INT(0, cu.cuEventRecord(event, stream));
    CHECK_INT(TFR_CU_NOT_READY, cu.cuEventQuery(event));
    CHECK_INT(TFR_CU_NOT_READY, cu.cuStreamQuery(stream));
    atomic_store(go, 1);
    CHECK_INT(0, cu.cuEventSynchronize(event));
    CHECK_INT(0, cu.cuEventQuery(event));
    CHECK_INT(0, cu.cuStreamSynchronize(stream));
    CHECK_INT(0, cu.cuEventDestroy_v2(event));
    CHECK_INT(0, cu.cuStreamDestroy_v2(stream));
    CHECK_INT(0, cu.cuMemFreeHost(go));
    CHECK_INT(0, cu.cuLibraryUnload(library));
    kit_end();
}

TEST(a_stream_waits_for_an_event_of_another)
{
    kit_begin("");
    atomic_int *go;
    tfr_cu_library *library = kit_library();
    tfr_cu_stream *first = blocked_stream(library, &go);
    tfr_cu_stream *second = kit_stream();
    tfr_cu_event *event = kit_event();
    tfr_cu_ptr data = kit_alloc(4);
    int *seen = kit_pinned(4);
    CHECK_INT(0, cu.cuMemsetD32Async(data, 7, 1, first));
    CHECK_INT(0, cu.cuEventRecord(event, first));
    CHECK_INT(0, cu.cuStreamWaitEvent(second, event, 0));
    CHECK_INT(0, cu.cuMemcpyDtoHAsync_v2(seen, data, 4, second));
    CHECK_INT(TFR_CU_NOT_READY, cu.cuStreamQuery(second));
    atomic_store(go, 1);
    CHECK_INT(0, cu.cuStreamSynchronize(second));
    CHECK_INT(7, *seen);
    CHECK_INT(0, cu.cuEventDestroy_v2(event));
    CHECK_INT(0, cu.cuMemFree_v2(data));
    CHECK_INT(0, cu.cuMemFreeHost(seen));
    CHECK_INT(0, cu.cuMemFreeHost(go));
    CHECK_INT(0, cu.cuStreamDestroy_v2(first));
    CHECK_INT(0, cu.cuStreamDestroy_v2(second));
    CHECK_INT(0, cu.cuLibraryUnload(library));
    kit_end();
}

TEST(waiting_for_an_unrecorded_event_does_nothing)
{
    kit_begin("");
    tfr_cu_stream *stream = kit_stream();
    tfr_cu_event *event = kit_event();
    CHECK_INT(0, cu.cuStreamWaitEvent(stream, event, 0));
    CHECK_INT(0, cu.cuStreamSynchronize(stream));
    CHECK_INT(0, cu.cuEventSynchronize(event));
    CHECK_INT(0, cu.cuEventDestroy_v2(event));
    CHECK_INT(0, cu.cuStreamDestroy_v2(stream));
    kit_end();
}

TEST(a_wait_is_for_the_record_made_before_it)
{
    kit_begin("");
    atomic_int *go;
    tfr_cu_library *library = kit_library();
    tfr_cu_stream *quick = kit_stream();
    tfr_cu_stream *slow = blocked_stream(library, &go);
    tfr_cu_stream *third = kit_stream();
    tfr_cu_event *event = kit_event();
    CHECK_INT(0, cu.cuEventRecord(event, quick));
    CHECK_INT(0, cu.cuStreamWaitEvent(third, event, 0));
    CHECK_INT(0, cu.cuEventRecord(event, slow));
    CHECK_INT(0, cu.cuStreamSynchronize(third)); /* would never return */
    CHECK_INT(TFR_CU_NOT_READY, cu.cuEventQuery(event));
    atomic_store(go, 1);
    CHECK_INT(0, cu.cuCtxSynchronize());
    CHECK_INT(0, cu.cuEventQuery(event));
    CHECK_INT(0, cu.cuEventDestroy_v2(event));
    CHECK_INT(0, cu.cuStreamDestroy_v2(quick));
    CHECK_INT(0, cu.cuStreamDestroy_v2(slow));
    CHECK_INT(0, cu.cuStreamDestroy_v2(third));
    CHECK_INT(0, cu.cuMemFreeHost(go));
    CHECK_INT(0, cu.cuLibraryUnload(library));
    kit_end();
}

TEST(pageable_copies_are_over_when_they_return_and_pinned_ones_are_not)
{
    kit_begin("lazy");
    tfr_cu_stream *stream = kit_stream();
    tfr_cu_ptr data = kit_alloc(4);
    int *pinned = kit_pinned(4);
    int pageable = 0;
    *pinned = 1;
    CHECK_INT(0, cu.cuMemsetD32Async(data, 5, 1, stream));
    CHECK_INT(0, cu.cuMemcpyDtoHAsync_v2(pinned, data, 4, stream));
    CHECK_INT(1, *pinned);
    CHECK_INT(0, cu.cuMemcpyDtoHAsync_v2(&pageable, data, 4, stream));
    CHECK_INT(5, pageable);
    CHECK_INT(5, *pinned);
    CHECK_INT(0, cu.cuMemFree_v2(data));
    CHECK_INT(0, cu.cuMemFreeHost(pinned));
    CHECK_INT(0, cu.cuStreamDestroy_v2(stream));
    kit_end();
}

/* A lazy stream runs what an event of another stream is waited for with. */
TEST(lazy_streams_run_what_somebody_waits_for)
{
    kit_begin("lazy");
    tfr_cu_stream *a = kit_stream(), *b = kit_stream();
    tfr_cu_event *event = kit_event();
    tfr_cu_ptr data = kit_alloc(4);
    int *seen = kit_pinned(4);
    *seen = 0;
    CHECK_INT(0, cu.cuMemsetD32Async(data, 9, 1, a));
    CHECK_INT(0, cu.cuEventRecord(event, a));
    CHECK_INT(0, cu.cuStreamWaitEvent(b, event, 0));
    CHECK_INT(0, cu.cuMemcpyDtoHAsync_v2(seen, data, 4, b));
    CHECK_INT(0, *seen);
    CHECK_INT(0, cu.cuStreamSynchronize(b));
    CHECK_INT(9, *seen);
    CHECK_INT(0, cu.cuEventDestroy_v2(event));
    CHECK_INT(0, cu.cuMemFree_v2(data));
    CHECK_INT(0, cu.cuMemFreeHost(seen));
    CHECK_INT(0, cu.cuStreamDestroy_v2(a));
    CHECK_INT(0, cu.cuStreamDestroy_v2(b));
    kit_end();
}

TEST(the_legacy_stream_waits_for_blocking_streams_alone)
{
    kit_begin("lazy");
    tfr_cu_stream *blocking = NULL, *other = kit_stream();
    tfr_cu_ptr data = kit_alloc(8);
    int seen[2] = {0, 0};
    REQUIRE_INT(0, cu.cuStreamCreateWithPriority(&blocking, TFR_CU_STREAM_DEFAULT, 0));
    CHECK_INT(0, cu.cuMemsetD32Async(data, 0, 2, NULL));
    CHECK_INT(0, cu.cuStreamSynchronize(NULL));
    CHECK_INT(0, cu.cuMemsetD32Async(data, 1, 1, blocking));
    CHECK_INT(0, cu.cuMemsetD32Async(data + 4, 1, 1, other));
    CHECK_INT(0, cu.cuMemcpyDtoHAsync_v2(seen, data, 8, NULL));
    CHECK_INT(1, seen[0]);
    CHECK_INT(0, seen[1]);
    CHECK_INT(0, cu.cuStreamDestroy_v2(blocking));
    CHECK_INT(0, cu.cuStreamDestroy_v2(other));
    CHECK_INT(0, cu.cuMemFree_v2(data));
    kit_end();
}

TEST(launches_that_cannot_be_are_refused)
{
    kit_begin("");
    tfr_cu_library *library = kit_library();
    tfr_cu_function *scale = kit_kernel(library, "fake_scale");
    tfr_cu_stream *stream = kit_stream();
    tfr_cu_kernel *kernel;
    tfr_cu_ptr y = kit_alloc(16);
    float a = 1;
    int n = 4, value = 0;
    void *args[] = {&y, &a, &n};
    CHECK_INT(TFR_CU_NOT_FOUND, cu.cuLibraryGetKernel(&kernel, library, "no_such_kernel"));
    CHECK_INT(0, cu.cuFuncGetAttribute(&value, TFR_CU_FUNC_MAX_THREADS_PER_BLOCK, scale));
    CHECK_INT(256, value);
    CHECK_INT(1, cu.cuLaunchKernel(scale, 0, 1, 1, 64, 1, 1, 0, stream, args, NULL));
    CHECK_INT(1, cu.cuLaunchKernel(scale, 1, 65536, 1, 64, 1, 1, 0, stream, args, NULL));
    CHECK_INT(1, cu.cuLaunchKernel(scale, 1, 1, 1, 257, 1, 1, 0, stream, args, NULL));
    /* 48 KiB with the kernel's own 1 KiB, and more only after it was asked for. */
    CHECK_INT(0, cu.cuLaunchKernel(scale, 1, 1, 1, 64, 1, 1, 48128, stream, args, NULL));
    CHECK_INT(1, cu.cuLaunchKernel(scale, 1, 1, 1, 64, 1, 1, 48129, stream, args, NULL));
    CHECK_INT(0, cu.cuFuncSetAttribute(scale, TFR_CU_FUNC_MAX_DYNAMIC_SHARED_BYTES, 100000));
    CHECK_INT(0, cu.cuLaunchKernel(scale, 1, 1, 1, 64, 1, 1, 100000, stream, args, NULL));
    CHECK_INT(1, cu.cuFuncSetAttribute(scale, TFR_CU_FUNC_MAX_DYNAMIC_SHARED_BYTES, 232448));
    CHECK_INT(0, cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, scale, 256, 0));
    CHECK_INT(8, value);
    CHECK_INT(TFR_CU_COOPERATIVE_LAUNCH_TOO_LARGE,
              cu.cuLaunchCooperativeKernel(scale, 8 * 132 + 1, 1, 1, 256, 1, 1, 0, stream, args));
    CHECK_INT(TFR_CU_INVALID_IMAGE,
              cu.cuLibraryLoadData(&library, "nonsense", NULL, NULL, 0, NULL, NULL, 0));
    CHECK_INT(0, cu.cuMemFree_v2(y));
    CHECK_INT(0, cu.cuStreamDestroy_v2(stream));
    CHECK_INT(0, cu.cuLibraryUnload(library));
    kit_end();
}

TEST(arguments_are_copied_at_the_launch)
{
    kit_begin("lazy");
    tfr_cu_library *library = kit_library();
    tfr_cu_function *scale = kit_kernel(library, "fake_scale");
    tfr_cu_stream *stream = kit_stream();
    tfr_cu_ptr y = kit_alloc(4);
    float seen = 3, a = 2;
    int n = 1;
    void *args[] = {&y, &a, &n};
    CHECK_INT(0, cu.cuMemcpyHtoDAsync_v2(y, &seen, 4, stream));
    CHECK_INT(0, cu.cuLaunchKernel(scale, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
    a = 100;
    CHECK_INT(0, cu.cuMemcpyDtoHAsync_v2(&seen, y, 4, stream));
    CHECK_NEAR(6, seen, 0);
    CHECK_INT(0, cu.cuMemFree_v2(y));
    CHECK_INT(0, cu.cuStreamDestroy_v2(stream));
    CHECK_INT(0, cu.cuLibraryUnload(library));
    kit_end();
}

/* Nothing of these is kept: the work goes on, and what it needs goes with it. */
TEST(what_is_destroyed_while_it_is_needed_does_its_work)
{
    kit_begin("");
    atomic_int *go;
    tfr_cu_library *library = kit_library();
    tfr_cu_function *scale = kit_kernel(library, "fake_scale");
    tfr_cu_stream *first = blocked_stream(library, &go), *second = kit_stream();
    tfr_cu_event *event = kit_event();
    tfr_cu_ptr y = kit_alloc(4);
    float seen = 2;
    CHECK_INT(0, cu.cuMemcpyHtoDAsync_v2(y, &seen, 4, second));
    CHECK_INT(0, kit_scale(scale, first, y, 3, 1));
    CHECK_INT(0, cu.cuEventRecord(event, first));
    CHECK_INT(0, cu.cuStreamWaitEvent(second, event, 0));
    CHECK_INT(0, kit_scale(scale, second, y, 7, 1));
    CHECK_INT(0, cu.cuEventDestroy_v2(event));
    CHECK_INT(0, cu.cuStreamDestroy_v2(first));
    CHECK_INT(0, cu.cuLibraryUnload(library));
    CHECK_INT(TFR_CU_INVALID_HANDLE, cu.cuStreamSynchronize(first));
    atomic_store(go, 1);
    CHECK_INT(0, cu.cuMemcpyDtoHAsync_v2(&seen, y, 4, second));
    CHECK_NEAR(42, seen, 0);
    CHECK_INT(0, cu.cuStreamDestroy_v2(second));
    CHECK_INT(0, cu.cuMemFree_v2(y));
    CHECK_INT(0, cu.cuMemFreeHost(go));
    kit_end();
}

static const test_case cases[] = {
    CASE(a_stream_keeps_its_order),
    CASE(an_event_is_reached_after_what_stands_before_it),
    CASE(a_stream_waits_for_an_event_of_another),
    CASE(waiting_for_an_unrecorded_event_does_nothing),
    CASE(a_wait_is_for_the_record_made_before_it),
    CASE(pageable_copies_are_over_when_they_return_and_pinned_ones_are_not),
    CASE(lazy_streams_run_what_somebody_waits_for),
    CASE(the_legacy_stream_waits_for_blocking_streams_alone),
    CASE(launches_that_cannot_be_are_refused),
    CASE(arguments_are_copied_at_the_launch),
    CASE(what_is_destroyed_while_it_is_needed_does_its_work),
};
TEST_MAIN(cases)
