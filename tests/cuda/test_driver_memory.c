/* SPDX-License-Identifier: Apache-2.0 */
/* The driver stand-in: memory that the host cannot touch, pinned memory, pools, addresses. */
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver_kit.h"

/* A child that follows the address dies, or a sanitizer ends it. */
static bool can_be_read(tfr_cu_ptr p)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        close(STDERR_FILENO);
        volatile int value = *(volatile int *)(uintptr_t)p;
        (void)value;
        _exit(0);
    }
    int status = -1;
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(the_host_cannot_follow_an_address_of_the_device)
{
    kit_begin("");
    tfr_cu_ptr device = kit_alloc(4096);
    int *pinned = kit_pinned(4096);
    CHECK(!can_be_read(device));
    CHECK(can_be_read((uintptr_t)pinned));
    CHECK_INT(0, cu.cuMemFree_v2(device));
    CHECK_INT(0, cu.cuMemFreeHost(pinned));
    kit_end();
}

TEST(new_memory_is_not_a_number)
{
    kit_begin("");
    tfr_cu_stream *stream = kit_stream();
    tfr_cu_ptr p = kit_alloc(8);
    float seen[2] = {0, 0};
    CHECK_INT(0, cu.cuMemcpyDtoHAsync_v2(seen, p, 8, stream));
    CHECK(isnan(seen[0]) && isnan(seen[1]));
    CHECK_INT(0, cu.cuMemFree_v2(p));
    CHECK_INT(0, cu.cuStreamDestroy_v2(stream));
    kit_end();
}

TEST(what_does_not_fit_is_refused)
{
    kit_begin("memory=1000000");
    size_t left, total;
    tfr_cu_ptr p, more;
    CHECK_INT(TFR_CU_OUT_OF_MEMORY, cu.cuMemAlloc_v2(&p, 1000001));
    CHECK_INT(0, cu.cuMemAlloc_v2(&p, 900000));
    CHECK_INT(TFR_CU_OUT_OF_MEMORY, cu.cuMemAlloc_v2(&more, 100001));
    CHECK_INT(0, cu.cuMemGetInfo_v2(&left, &total));
    CHECK_UINT(100000, left);
    CHECK_UINT(1000000, total);
    CHECK_INT(TFR_CU_INVALID_VALUE, cu.cuMemFree_v2(p + 4));
    CHECK_INT(0, cu.cuMemFree_v2(p));
    CHECK_INT(TFR_CU_INVALID_VALUE, cu.cuMemFree_v2(p));
    CHECK_INT(0, cu.cuMemAlloc_v2(&p, 1000000));
    CHECK_INT(0, cu.cuMemFree_v2(p));
    kit_end();
}

TEST(copies_beyond_the_end_are_refused)
{
    kit_begin("");
    tfr_cu_stream *stream = kit_stream();
    tfr_cu_ptr p = kit_alloc(100);
    char host[200] = {0};
    CHECK_INT(0, cu.cuMemcpyHtoDAsync_v2(p, host, 100, stream));
    CHECK_INT(1, cu.cuMemcpyHtoDAsync_v2(p, host, 101, stream));
    CHECK_INT(1, cu.cuMemcpyDtoHAsync_v2(host, p + 50, 51, stream));
    CHECK_INT(1, cu.cuMemsetD8Async(p, 0, 101, stream));
    CHECK_INT(1, cu.cuMemsetD32Async(p + 2, 0, 1, stream));
    CHECK_INT(1, cu.cuMemcpyHtoDAsync_v2((uintptr_t)host, host, 4, stream));
    CHECK_INT(0, cu.cuMemFree_v2(p));
    CHECK_INT(1, cu.cuMemcpyHtoDAsync_v2(p, host, 4, stream));
    CHECK_INT(0, cu.cuStreamDestroy_v2(stream));
    kit_end();
}

TEST(a_copy_of_two_dimensions_takes_pitches)
{
    kit_begin("");
    tfr_cu_stream *stream = kit_stream();
    const unsigned char host[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    unsigned char seen[8];
    tfr_cu_ptr p = kit_alloc(8);
    /* Rows 1 and 2, columns 1 to 3 of a 3x4 matrix, into rows of 4 bytes. */
    tfr_cu_copy_2d copy = {.src_memory = TFR_CU_MEMORY_HOST,
                           .src_host = host,
                           .src_pitch = 4,
                           .src_x_bytes = 1,
                           .src_y = 1,
                           .dst_memory = TFR_CU_MEMORY_DEVICE,
                           .dst_device = p,
                           .dst_pitch = 4,
                           .width_bytes = 3,
                           .height = 2};
    CHECK_INT(0, cu.cuMemsetD8Async(p, 0, 8, stream));
    CHECK_INT(0, cu.cuMemcpy2DAsync_v2(&copy, stream));
    CHECK_INT(0, cu.cuMemcpyDtoHAsync_v2(seen, p, 8, stream));
    const unsigned char expected[8] = {6, 7, 8, 0, 10, 11, 12, 0};
    CHECK_MEM(expected, seen, 8);
    copy.height = 3;
    CHECK_INT(1, cu.cuMemcpy2DAsync_v2(&copy, stream));
    CHECK_INT(0, cu.cuMemFree_v2(p));
    CHECK_INT(0, cu.cuStreamDestroy_v2(stream));
    kit_end();
}

TEST(memory_of_the_host_is_registered_once)
{
    kit_begin("");
    char *own = malloc(64);
    CHECK_INT(0, cu.cuMemHostRegister_v2(own, 64, 0));
    CHECK_INT(TFR_CU_HOST_MEMORY_ALREADY_REGISTERED, cu.cuMemHostRegister_v2(own + 8, 8, 0));
    CHECK_INT(0, cu.cuMemHostUnregister(own));
    CHECK_INT(TFR_CU_HOST_MEMORY_NOT_REGISTERED, cu.cuMemHostUnregister(own));
    CHECK_INT(TFR_CU_INVALID_VALUE, cu.cuMemFreeHost(own));
    free(own);
    kit_end();
}

TEST(an_address_tells_where_it_is)
{
    kit_begin("");
    tfr_cu_ptr device = kit_alloc(64), start = 0;
    char *pinned = kit_pinned(64), pageable[8];
    unsigned type = 9;
    int ordinal = 9;
    unsigned attrs[] = {TFR_CU_POINTER_MEMORY_TYPE, TFR_CU_POINTER_DEVICE_ORDINAL,
                        TFR_CU_POINTER_RANGE_START};
    void *values[] = {&type, &ordinal, &start};
    CHECK_INT(0, cu.cuPointerGetAttributes(3, attrs, values, device + 10));
    CHECK_UINT(TFR_CU_MEMORY_DEVICE, type);
    CHECK_INT(0, ordinal);
    CHECK_UINT(device, start);
    CHECK_INT(0, cu.cuPointerGetAttributes(2, attrs, values, (uintptr_t)pinned));
    CHECK_UINT(TFR_CU_MEMORY_HOST, type);
    CHECK_INT(0, cu.cuPointerGetAttributes(2, attrs, values, (uintptr_t)pageable));
    CHECK_UINT(0, type);
    CHECK_INT(-2, ordinal);
    CHECK_INT(0, cu.cuMemFree_v2(device));
    CHECK_INT(0, cu.cuMemFreeHost(pinned));
    kit_end();
}

static tfr_cu_pool *make_pool(size_t max_bytes)
{
    tfr_cu_pool *pool = NULL;
    const tfr_cu_pool_props props = {.allocation = TFR_CU_ALLOCATION_PINNED,
                                     .location = {TFR_CU_LOCATION_DEVICE, 0},
                                     .max_bytes = max_bytes};
    REQUIRE_INT(0, cu.cuMemPoolCreate(&pool, &props));
    return pool;
}

static unsigned long long pool_value(tfr_cu_pool *pool, unsigned attr)
{
    unsigned long long value = 0;
    CHECK_INT(0, cu.cuMemPoolGetAttribute(pool, attr, &value));
    return value;
}

TEST(a_pool_has_a_limit_and_keeps_what_it_may)
{
    kit_begin("");
    tfr_cu_stream *stream = kit_stream();
    tfr_cu_pool *pool = make_pool(1000);
    tfr_cu_ptr p, more;
    unsigned long long threshold = 500;
    CHECK_INT(0, cu.cuMemPoolSetAttribute(pool, TFR_CU_POOL_RELEASE_THRESHOLD, &threshold));
    CHECK_INT(TFR_CU_OUT_OF_MEMORY, cu.cuMemAllocFromPoolAsync(&p, 1001, pool, stream));
    CHECK_INT(0, cu.cuMemAllocFromPoolAsync(&p, 900, pool, stream));
    CHECK_INT(TFR_CU_OUT_OF_MEMORY, cu.cuMemAllocFromPoolAsync(&more, 101, pool, stream));
    CHECK_UINT(900, pool_value(pool, TFR_CU_POOL_USED_CURRENT));
    CHECK_INT(0, cu.cuMemFreeAsync(p, stream));
    CHECK_INT(0, cu.cuStreamSynchronize(stream));
    CHECK_UINT(0, pool_value(pool, TFR_CU_POOL_USED_CURRENT));
    CHECK_UINT(500, pool_value(pool, TFR_CU_POOL_RESERVED_CURRENT));
    CHECK_UINT(900, pool_value(pool, TFR_CU_POOL_USED_HIGH));
    CHECK_INT(0, cu.cuMemPoolTrimTo(pool, 0));
    CHECK_UINT(0, pool_value(pool, TFR_CU_POOL_RESERVED_CURRENT));
    CHECK_INT(0, cu.cuMemPoolDestroy(pool));
    CHECK_INT(0, cu.cuStreamDestroy_v2(stream));
    kit_end();
}

/* What pools have reserved is not there for others, until it is trimmed. */
TEST(reserved_memory_is_missing_elsewhere)
{
    kit_begin("memory=1000");
    tfr_cu_stream *stream = kit_stream();
    tfr_cu_pool *pool = make_pool(0);
    unsigned long long threshold = UINT64_MAX;
    tfr_cu_ptr p;
    CHECK_INT(0, cu.cuMemPoolSetAttribute(pool, TFR_CU_POOL_RELEASE_THRESHOLD, &threshold));
    CHECK_INT(0, cu.cuMemAllocFromPoolAsync(&p, 600, pool, stream));
    CHECK_INT(0, cu.cuMemFreeAsync(p, stream));
    CHECK_INT(0, cu.cuStreamSynchronize(stream));
    CHECK_INT(TFR_CU_OUT_OF_MEMORY, cu.cuMemAlloc_v2(&p, 600));
    CHECK_INT(0, cu.cuMemPoolTrimTo(pool, 0));
    CHECK_INT(0, cu.cuMemAlloc_v2(&p, 600));
    CHECK_INT(0, cu.cuMemFree_v2(p));
    CHECK_INT(0, cu.cuMemPoolDestroy(pool));
    CHECK_INT(0, cu.cuStreamDestroy_v2(stream));
    kit_end();
}

TEST(memory_of_a_pool_is_there_in_the_order_of_its_stream)
{
    kit_begin("lazy");
    tfr_cu_stream *stream = kit_stream(), *other = kit_stream();
    tfr_cu_pool *pool = make_pool(0);
    tfr_cu_library *library = kit_library();
    tfr_cu_function *scale = kit_kernel(library, "fake_scale");
    tfr_cu_ptr p;
    CHECK_INT(0, cu.cuMemAllocFromPoolAsync(&p, 4, pool, stream));
    CHECK_INT(0, kit_scale(scale, stream, p, 2, 1));
    CHECK_INT(0, cu.cuMemFreeAsync(p, stream));
    CHECK_INT(0, cu.cuStreamSynchronize(stream));
    CHECK_INT(0, cu.cuMemAllocFromPoolAsync(&p, 4, pool, stream));
    CHECK_INT(0, kit_scale(scale, other, p, 2, 1)); /* has not waited for the allocation */
    CHECK_INT(TFR_CU_ILLEGAL_ADDRESS, cu.cuStreamSynchronize(other));
    cu.configure("");
}

TEST(a_pool_may_be_destroyed_before_its_memory_is_freed)
{
    kit_begin("lazy memory=1000");
    tfr_cu_stream *stream = kit_stream();
    tfr_cu_pool *pool = make_pool(0);
    tfr_cu_ptr p;
    size_t left, total;
    CHECK_INT(0, cu.cuMemAllocFromPoolAsync(&p, 600, pool, stream));
    CHECK_INT(0, cu.cuMemFreeAsync(p, stream));
    CHECK_INT(0, cu.cuMemPoolDestroy(pool));
    CHECK_INT(0, cu.cuMemGetInfo_v2(&left, &total));
    CHECK_UINT(400, left);
    CHECK_INT(0, cu.cuStreamSynchronize(stream));
    CHECK_INT(0, cu.cuMemGetInfo_v2(&left, &total));
    CHECK_UINT(1000, left);
    CHECK_INT(TFR_CU_INVALID_VALUE, cu.cuMemAllocFromPoolAsync(&p, 4, pool, stream));
    CHECK_INT(0, cu.cuStreamDestroy_v2(stream));
    kit_end();
}

TEST(devices_copy_between_each_other_but_see_only_what_is_enabled)
{
    tfr_cu_context *first = kit_begin("devices=2"), *second = NULL;
    tfr_cu_stream *stream = kit_stream();
    tfr_cu_ptr here = kit_alloc(4), there;
    tfr_cu_library *library = kit_library();
    tfr_cu_function *add = kit_kernel(library, "fake_add");
    float seen = 0;
    REQUIRE_INT(0, cu.cuDevicePrimaryCtxRetain(&second, 1));
    CHECK_INT(0, cu.cuCtxPushCurrent_v2(second));
    there = kit_alloc(4);
    CHECK_INT(0, cu.cuCtxPopCurrent_v2(NULL));
    CHECK_INT(0, cu.cuMemsetD32Async(here, 0x40000000, 1, stream));
    CHECK_INT(0, cu.cuMemcpyPeerAsync(there, second, here, first, 4, stream));
    CHECK_INT(0, cu.cuCtxEnablePeerAccess(second, 0));
    CHECK_INT(TFR_CU_PEER_ACCESS_ALREADY_ENABLED, cu.cuCtxEnablePeerAccess(second, 0));
    CHECK_INT(0, kit_add(add, stream, here, there, 1));
    CHECK_INT(0, cu.cuMemcpyDtoHAsync_v2(&seen, here, 4, stream));
    CHECK_NEAR(4, seen, 0);
    CHECK_INT(0, cu.cuMemFree_v2(there));
    CHECK_INT(0, cu.cuMemFree_v2(here));
    CHECK_INT(0, cu.cuStreamDestroy_v2(stream));
    CHECK_INT(0, cu.cuLibraryUnload(library));
    CHECK_INT(0, cu.cuDevicePrimaryCtxRelease_v2(1));
    kit_end();
}

TEST(a_kernel_that_reaches_into_another_device_without_access_fails)
{
    kit_begin("devices=2");
    tfr_cu_context *second = NULL;
    tfr_cu_stream *stream = kit_stream();
    tfr_cu_ptr here = kit_alloc(4), there;
    tfr_cu_function *add = kit_kernel(kit_library(), "fake_add");
    REQUIRE_INT(0, cu.cuDevicePrimaryCtxRetain(&second, 1));
    CHECK_INT(0, cu.cuCtxPushCurrent_v2(second));
    there = kit_alloc(4);
    CHECK_INT(0, cu.cuCtxPopCurrent_v2(NULL));
    CHECK_INT(0, kit_add(add, stream, here, there, 1));
    CHECK_INT(TFR_CU_ILLEGAL_ADDRESS, cu.cuStreamSynchronize(stream));
    cu.configure("");
}

static const test_case cases[] = {
    CASE(the_host_cannot_follow_an_address_of_the_device),
    CASE(new_memory_is_not_a_number),
    CASE(what_does_not_fit_is_refused),
    CASE(copies_beyond_the_end_are_refused),
    CASE(a_copy_of_two_dimensions_takes_pitches),
    CASE(memory_of_the_host_is_registered_once),
    CASE(an_address_tells_where_it_is),
    CASE(a_pool_has_a_limit_and_keeps_what_it_may),
    CASE(reserved_memory_is_missing_elsewhere),
    CASE(memory_of_a_pool_is_there_in_the_order_of_its_stream),
    CASE(a_pool_may_be_destroyed_before_its_memory_is_freed),
    CASE(devices_copy_between_each_other_but_see_only_what_is_enabled),
    CASE(a_kernel_that_reaches_into_another_device_without_access_fails),
};
TEST_MAIN(cases)
