/* SPDX-License-Identifier: Apache-2.0 */
/* The driver stand-in: devices and errors as TFRUN_FAKE_CUDA orders them; leaks; the log. */
#include <sys/wait.h>
#include <unistd.h>

#include "driver_kit.h"

TEST(there_may_be_no_device)
{
    int n;
    REQUIRE(kit_open());
    cu.configure("nodevice");
    CHECK_INT(TFR_CU_NO_DEVICE, cu.cuInit(0));
    CHECK_INT(TFR_CU_NOT_INITIALIZED, cu.cuDeviceGetCount(&n));
}

TEST(nothing_goes_before_cuInit_but_the_version)
{
    int version = 0;
    const char *name;
    REQUIRE(kit_open());
    cu.configure("version=12040");
    CHECK_INT(0, cu.cuDriverGetVersion(&version));
    CHECK_INT(12040, version);
    CHECK_INT(TFR_CU_NOT_INITIALIZED, cu.cuDeviceGetCount(&version));
    CHECK_INT(0, cu.cuGetErrorName(46, &name));
    CHECK_STR("CUDA_ERROR_DEVICE_UNAVAILABLE", name);
    CHECK_INT(TFR_CU_INVALID_VALUE, cu.cuGetErrorString(12345, &name));
    CHECK(name == NULL);
}

TEST(devices_are_as_many_and_as_old_as_ordered)
{
    int n = 0, major = 0, minor = 0, can = -1;
    char first[16], second[16];
    tfr_cu_uuid a, b;
    kit_begin("devices=2 peers=0 capability=86 memory=123456");
    size_t bytes = 0;
    CHECK_INT(0, cu.cuDeviceGetCount(&n));
    CHECK_INT(2, n);
    CHECK_INT(0, cu.cuDeviceGetAttribute(&major, TFR_CU_ATTR_CAPABILITY_MAJOR, 1));
    CHECK_INT(0, cu.cuDeviceGetAttribute(&minor, TFR_CU_ATTR_CAPABILITY_MINOR, 1));
    CHECK_INT(86, 10 * major + minor);
    CHECK_INT(0, cu.cuDeviceTotalMem_v2(&bytes, 1));
    CHECK_UINT(123456, bytes);
    CHECK_INT(0, cu.cuDeviceGetUuid_v2(&a, 0));
    CHECK_INT(0, cu.cuDeviceGetUuid_v2(&b, 1));
    CHECK(memcmp(&a, &b, sizeof a) != 0);
    CHECK_INT(0, cu.cuDeviceGetPCIBusId(first, sizeof first, 0));
    CHECK_INT(0, cu.cuDeviceGetPCIBusId(second, sizeof second, 1));
    CHECK_STR("0000:01:00.0", first);
    CHECK_STR("0000:02:00.0", second);
    CHECK_INT(0, cu.cuDeviceCanAccessPeer(&can, 0, 1));
    CHECK_INT(0, can);
    CHECK_INT(TFR_CU_INVALID_DEVICE, cu.cuDeviceTotalMem_v2(&bytes, 2));
    kit_end();
}

static int count_visible(const char *list)
{
    int n = 0;
    cu.configure("devices=3");
    setenv("CUDA_VISIBLE_DEVICES", list, 1);
    tfr_cu_result result = cu.cuInit(0);
    unsetenv("CUDA_VISIBLE_DEVICES");
    if (result)
        return result == TFR_CU_NO_DEVICE ? 0 : -1;
    CHECK_INT(0, cu.cuDeviceGetCount(&n));
    return n;
}

TEST(visible_devices_are_counted_up_to_the_first_that_is_none)
{
    char id[16];
    REQUIRE(kit_open());
    CHECK_INT(0, count_visible(""));
    CHECK_INT(0, count_visible("-1"));
    CHECK_INT(2, count_visible("0,2"));
    CHECK_INT(1, count_visible("1,7,2"));
    CHECK_INT(0, count_visible("x"));
    CHECK_INT(1, count_visible("GPU-74667275-6e20-7374-616e-642d696e2031"));
    CHECK_INT(0, count_visible("GPU-74667275")); /* which of the three? */
    CHECK_INT(2, count_visible("2,1"));
    CHECK_INT(0, cu.cuDeviceGetPCIBusId(id, sizeof id, 0));
    CHECK_STR("0000:03:00.0", id);
}

TEST(a_device_may_be_taken_by_another_process)
{
    tfr_cu_context *ctx;
    int mode = 0;
    REQUIRE(kit_open());
    cu.configure("exclusive");
    CHECK_INT(0, cu.cuInit(0));
    CHECK_INT(TFR_CU_DEVICE_UNAVAILABLE, cu.cuDevicePrimaryCtxRetain(&ctx, 0));
    cu.configure("prohibited");
    CHECK_INT(0, cu.cuInit(0));
    CHECK_INT(0, cu.cuDeviceGetAttribute(&mode, TFR_CU_ATTR_COMPUTE_MODE, 0));
    CHECK_INT(TFR_CU_COMPUTE_PROHIBITED, mode);
    CHECK_INT(TFR_CU_DEVICE_UNAVAILABLE, cu.cuDevicePrimaryCtxRetain(&ctx, 0));
}

TEST(the_nth_call_fails_as_ordered_and_does_nothing)
{
    tfr_cu_ptr p, q, r;
    kit_begin("fail=cuMemAlloc_v2:2:2 fail=cuEventCreate:0:999999");
    CHECK_INT(0, cu.cuMemAlloc_v2(&p, 4));
    CHECK_INT(TFR_CU_OUT_OF_MEMORY, cu.cuMemAlloc_v2(&q, 4));
    CHECK_INT(0, cu.cuMemAlloc_v2(&r, 4));
    CHECK_UINT(3, cu.calls("cuMemAlloc_v2"));
    tfr_cu_event *event;
    CHECK_INT(999999, cu.cuEventCreate(&event, 0));
    CHECK_INT(999999, cu.cuEventCreate(&event, 0));
    CHECK_INT(0, cu.cuMemFree_v2(p));
    CHECK_INT(0, cu.cuMemFree_v2(r));
    kit_end();
}

TEST(a_fatal_error_is_for_ever)
{
    char text[256];
    kit_begin("sticky=719:2");
    tfr_cu_stream *stream = kit_stream();
    tfr_cu_function *scale = kit_kernel(kit_library(), "fake_scale");
    tfr_cu_ptr y = kit_alloc(4);
    tfr_cu_context *again;
    CHECK_INT(0, kit_scale(scale, stream, y, 2, 1));
    CHECK_INT(0, cu.cuStreamSynchronize(stream));
    CHECK_INT(0, kit_scale(scale, stream, y, 2, 1));
    CHECK_INT(TFR_CU_LAUNCH_FAILED, cu.cuStreamSynchronize(stream));
    CHECK_STR("leaked: 1 pushed context", (cu.leaks(text, sizeof text), text));
    CHECK_INT(TFR_CU_LAUNCH_FAILED, cu.cuMemFree_v2(y));
    CHECK_INT(TFR_CU_LAUNCH_FAILED, cu.cuStreamDestroy_v2(stream));
    CHECK_INT(0, cu.cuCtxPopCurrent_v2(NULL));
    CHECK_INT(0, cu.cuDevicePrimaryCtxRelease_v2(0));
    CHECK_INT(TFR_CU_LAUNCH_FAILED, cu.cuDevicePrimaryCtxRetain(&again, 0));
    cu.leaks(text, sizeof text);
    CHECK_STR("leaked: nothing; after a fatal error: 2 calls, first cuMemFree_v2", text);
}

TEST(another_device_goes_on_after_a_fatal_error)
{
    kit_begin("devices=2 fail=cuStreamSynchronize:1:700");
    tfr_cu_context *other = NULL;
    CHECK_INT(TFR_CU_ILLEGAL_ADDRESS, cu.cuStreamSynchronize(NULL));
    CHECK_INT(TFR_CU_ILLEGAL_ADDRESS, cu.cuCtxSynchronize());
    REQUIRE_INT(0, cu.cuDevicePrimaryCtxRetain(&other, 1));
    CHECK_INT(0, cu.cuCtxPushCurrent_v2(other));
    CHECK_INT(0, cu.cuMemFree_v2(kit_alloc(4)));
    CHECK_INT(0, cu.cuCtxPopCurrent_v2(NULL));
    CHECK_INT(0, cu.cuDevicePrimaryCtxRelease_v2(1));
    cu.configure("");
}

TEST(what_is_left_is_counted)
{
    char text[256];
    kit_begin("");
    kit_stream();
    kit_event();
    kit_event();
    kit_alloc(4);
    kit_pinned(4);
    kit_library();
    CHECK_UINT(8, cu.leaks(text, sizeof text));
    CHECK_STR("leaked: 1 context, 1 pushed context, 1 stream, 2 events, 1 allocation, "
              "1 pinned block, 1 library",
              text);
    cu.configure("");
}

TEST(the_log_has_the_calls_in_order)
{
    kit_begin("log");
    tfr_cu_stream *stream = kit_stream();
    tfr_cu_ptr y = kit_alloc(16);
    tfr_cu_library *library = kit_library();
    CHECK_INT(0, kit_scale(kit_kernel(library, "fake_scale"), stream, y, 2, 4));
    CHECK_INT(0, cu.cuMemFree_v2(y));
    char *log = cu.log();
    REQUIRE(log != NULL);
    CHECK_CONTAINS("cuInit = 0\ncuDevicePrimaryCtxRetain = 0\ncuCtxPushCurrent_v2 = 0\n", log);
    CHECK_CONTAINS("cuMemAlloc_v2 16 = 0\n", log);
    CHECK_CONTAINS("cuLaunchKernel fake_scale grid 1 1 1 block 64 1 1 shared 0 stream ", log);
    CHECK_CONTAINS(" = 0\ncuMemFree_v2 = 0\n", log);
    free(log);
    CHECK_INT(0, cu.cuLibraryUnload(library));
    CHECK_INT(0, cu.cuStreamDestroy_v2(stream));
    kit_end();
}

/* The driver cannot be used in a child of a process that has begun to use it. */
TEST(a_child_is_not_initialized)
{
    kit_begin("");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(cu.cuInit(0) == TFR_CU_NOT_INITIALIZED ? 0 : 1);
    int status = -1;
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    kit_end();
}

/* Functions are looked up by dlsym, in a library that is told what it lacks. */
static bool has_function(const char *switches, const char *name)
{
    setenv("TFRUN_FAKE_CUDA", switches, 1);
    bool found = dlsym(cu.so, name) != NULL;
    unsetenv("TFRUN_FAKE_CUDA");
    return found;
}

TEST(an_old_driver_lacks_functions)
{
    REQUIRE(kit_open());
    CHECK(has_function("", "cuFuncLoad"));
    CHECK(!has_function("absent=cuFuncLoad", "cuFuncLoad"));
    CHECK(has_function("absent=cuFuncLoad", "cuLibraryLoadData"));
    CHECK(!has_function("version=12020", "cuFuncLoad"));
    CHECK(has_function("version=12020", "cuLibraryLoadData"));
    CHECK(!has_function("version=11080", "cuLibraryLoadData"));
}

static const test_case cases[] = {
    CASE(there_may_be_no_device),
    CASE(nothing_goes_before_cuInit_but_the_version),
    CASE(devices_are_as_many_and_as_old_as_ordered),
    CASE(visible_devices_are_counted_up_to_the_first_that_is_none),
    CASE(a_device_may_be_taken_by_another_process),
    CASE(the_nth_call_fails_as_ordered_and_does_nothing),
    CASE(a_fatal_error_is_for_ever),
    CASE(another_device_goes_on_after_a_fatal_error),
    CASE(what_is_left_is_counted),
    CASE(the_log_has_the_calls_in_order),
    CASE(a_child_is_not_initialized),
    CASE(an_old_driver_lacks_functions),
};
TEST_MAIN(cases)
