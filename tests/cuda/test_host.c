/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host half of the CUDA backend over the driver stand-in: memory and its limits, errors of the
 * driver, devices that get lost, captured runs. What holds for every plugin is checked by
 * `tfrun certify` (host.sh).
 */
#include "host_kit.h"

#define MIB (UINT64_C(1) << 20)

TEST(what_is_opened_is_closed)
{
    BEGIN("log");
    rig r = rig_of(open_with(0, NULL, NULL));
    memory->free(r.device, 0, new_memory(&r, 0, TFR_ALLOC_ARENA, 1000));
    memory->free(r.device, 0, new_memory(&r, 0, 0, 1000));
    memory->free(r.device, 1, new_memory(&r, 1, TFR_ALLOC_STAGING, 1000));
    CHECK_OK(finish(&r), &err);
    end_rig(&r);
    check_leaks("leaked: nothing");
    CHECK_UINT(1, calls_of("cuDevicePrimaryCtxRelease_v2"));
}

TEST(what_the_core_leaves_behind_is_given_back_when_the_device_is_closed)
{
    BEGIN("log");
    rig r = rig_of(open_with(0, NULL, NULL));
    (void)new_memory(&r, 0, TFR_ALLOC_ARENA, 1000);
    (void)new_memory(&r, 0, 0, 1000);
    (void)new_memory(&r, 1, TFR_ALLOC_STAGING, 1000);
    end_rig(&r);
    check_leaks("leaked: nothing");
}

TEST(a_copy_comes_back_as_it_went)
{
    char out[64] = "", in[64] = "there and back again";
    BEGIN("");
    rig r = rig_of(open_with(0, NULL, NULL));
    char *x = new_memory(&r, 0, 0, 64), *y = new_memory(&r, 0, TFR_ALLOC_ARENA, 64);
    char *pinned = new_memory(&r, 1, TFR_ALLOC_STAGING, 64);
    memcpy(pinned, in, sizeof in);
    CHECK_OK(copy(&r, r.queue, 0, x, 1, pinned, 64), &err);
    CHECK_OK(copy(&r, r.queue, 0, y, 0, x, 64), &err);
    CHECK_OK(finish(&r), &err);
    CHECK_OK(copy(&r, NULL, TFR_SPACE_HOST, out, 0, y + 0, 64), &err);
    CHECK_STR(in, out);
    memset(pinned, 0, 64);
    CHECK_OK(copy(&r, r.queue, 1, pinned, 0, y, 64), &err);
    CHECK_OK(finish(&r), &err);
    CHECK_STR(in, pinned);
    end_rig(&r);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void check_limit(const char *switches, const char *key, const char *value, uint64_t limit)
{
    void *address = NULL;
    BEGIN(switches);
    rig r = rig_of(open_with(0, key, value));
    CHECK_STATUS(TFR_ENOMEM, memory->alloc(r.device, 0, limit + 1, NULL, &address, &err), &err);
    CHECK_CONTAINS("of the limit", err.text);
    CHECK_OK(memory->alloc(r.device, 0, limit, NULL, &address, &err), &err);
    CHECK_STATUS(TFR_ENOMEM, memory->alloc(r.device, 0, 1, NULL, &address, &err), &err);
    memory->free(r.device, 0, address);
    CHECK_OK(memory->alloc(r.device, 0, 1, NULL, &address, &err), &err);
    end_rig(&r);
}

TEST(memory_can_be_limited_to_bytes)
{
    check_limit("memory=1073741824", "memory_limit", "4096", 4096);
}

TEST(memory_can_be_limited_to_a_fraction)
{
    check_limit("memory=67108864", "memory-fraction", "0.25", 16 * MIB);
}

TEST(a_fraction_over_1_is_refused)
{
    BEGIN("");
    CHECK(open_with(0, "memory-fraction", "1.5") == NULL);
    CHECK_CONTAINS("over 0 and at most 1", err.text);
    check_leaks("leaked: nothing");
}

TEST(without_a_limit_a_reserve_is_left)
{
    check_limit("memory=536870912", NULL, NULL, (512 - 225) * MIB);
}

TEST(logical_devices_have_a_limit_each)
{
    void *address[2] = {NULL, NULL};
    BEGIN("memory=1073741824");
    n_logical = "2";
    rig a = rig_of(open_with(0, "memory_limit", "4096"));
    rig b = rig_of(open_with(1, "memory_limit", "8192"));
    CHECK_OK(memory->alloc(a.device, 0, 4096, NULL, &address[0], &err), &err);
    CHECK_OK(memory->alloc(b.device, 0, 8192, NULL, &address[1], &err), &err);
    CHECK_STATUS(TFR_ENOMEM, memory->alloc(a.device, 0, 1, NULL, &address[0], &err), &err);
    end_rig(&a);
    end_rig(&b);
    check_leaks("leaked: nothing");
}

/* ---- out of memory --------------------------------------------------------------------------- */

TEST(out_of_memory_trims_the_pool_and_is_tried_once_more)
{
    BEGIN("fail=cuMemAlloc_v2:1:2");
    rig r = rig_of(open_with(0, NULL, NULL));
    (void)new_memory(&r, 0, TFR_ALLOC_ARENA, 1000);
    CHECK_UINT(2, calls_of("cuMemAlloc_v2"));
    CHECK_UINT(1, calls_of("cuMemPoolTrimTo"));
    end_rig(&r);
}

TEST(out_of_memory_is_told_with_its_numbers)
{
    const tfr_alloc_options arena = {.size = sizeof arena, .flags = TFR_ALLOC_ARENA};
    void *address = NULL;
    BEGIN("fail=cuMemAlloc_v2:0:2");
    rig r = rig_of(open_with(0, NULL, NULL));
    CHECK_STATUS(TFR_ENOMEM, memory->alloc(r.device, 0, 1000, &arena, &address, &err), &err);
    CHECK_CONTAINS("no 1000 bytes", err.text);
    CHECK_CONTAINS("CUDA_ERROR_OUT_OF_MEMORY", err.text);
    CHECK_INT(2, err.native);
    CHECK_UINT(2, calls_of("cuMemAlloc_v2"));
    CHECK_OK(finish(&r), &err);
    end_rig(&r);
}

/* ---- errors ---------------------------------------------------------------------------------- */

TEST(each_error_of_the_driver_has_a_status)
{
    static const struct {
        int code;
        int32_t status;
    } rows[] = {
        {1, TFR_EPLUGIN},        {3, TFR_EDEVICE},        {46, TFR_EBUSY},
        {200, TFR_EUNSUPPORTED}, {209, TFR_EUNSUPPORTED}, {214, TFR_ELOST},
        {220, TFR_ELOST},        {222, TFR_EUNSUPPORTED}, {304, TFR_EDEVICE},
        {500, TFR_ENOTFOUND},    {700, TFR_ELOST},        {701, TFR_EPLUGIN},
        {702, TFR_ELOST},        {710, TFR_ELOST},        {714, TFR_ELOST},
        {715, TFR_ELOST},        {716, TFR_ELOST},        {717, TFR_ELOST},
        {718, TFR_ELOST},        {719, TFR_ELOST},        {720, TFR_EDEVICE},
        {800, TFR_EPERM},        {801, TFR_EUNSUPPORTED}, {802, TFR_EDEVICE},
        {803, TFR_EDEVICE},      {999, TFR_ELOST},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tfr_alloc_options arena = {.size = sizeof arena, .flags = TFR_ALLOC_ARENA};
        char switches[64];
        void *address = NULL;
        snprintf(switches, sizeof switches, "fail=cuMemAlloc_v2:1:%d", rows[i].code);
        BEGIN(switches);
        rig r = rig_of(open_with(0, NULL, NULL));
        CHECK_STATUS(rows[i].status, memory->alloc(r.device, 0, 8, &arena, &address, &err), &err);
        CHECK_INT(rows[i].code, err.native);
        /* What does not concern the context leaves the device as it was. */
        err = (tfr_err)TFR_ERR_INIT;
        CHECK_STATUS(rows[i].status == TFR_ELOST ? TFR_ELOST : TFR_OK, finish(&r), &err);
        end_rig(&r);
    }
}

TEST(a_launch_that_is_refused_is_told_at_once)
{
    const int64_t n = 4;
    BEGIN("fail=cuLaunchKernel:1:701");
    rig r = rig_of(open_with(0, NULL, NULL));
    float *x = new_memory(&r, 0, 0, 16), *y = new_memory(&r, 0, 0, 16);
    tfr_kernel *k = new_add(&r, &n);
    CHECK_STATUS(TFR_EPLUGIN, launch(&r, k, x, x, y, 7), &err);
    CHECK_CONTAINS("launch of fake_add", err.text);
    CHECK_UINT(7, err.launch);
    CHECK_OK(finish(&r), &err);
    kernels->drop(r.device, k);
    end_rig(&r);
}

TEST(a_device_whose_context_dies_is_lost_and_left_alone)
{
    const int64_t n = 4;
    void *address = NULL;
    BEGIN("sticky=700:1 log");
    rig r = rig_of(open_with(0, NULL, NULL));
    float *x = new_memory(&r, 0, 0, 16), *y = new_memory(&r, 0, 0, 16);
    tfr_kernel *k = new_add(&r, &n);
    (void)launch(&r, k, x, x, y, 9);
    CHECK_STATUS(TFR_ELOST, finish(&r), &err);
    CHECK_INT(700, err.native);
    CHECK_CONTAINS("CUDA_ERROR_ILLEGAL_ADDRESS", err.text);
    CHECK_STATUS(TFR_ELOST, memory->alloc(r.device, 0, 8, NULL, &address, &err), &err);
    CHECK_STATUS(TFR_ELOST, launch(&r, k, x, x, y, 10), &err);
    CHECK_STATUS(TFR_ELOST, queues->host_wait(r.device, r.fence, 99, TFR_WAIT_FOREVER, &err), &err);
    memory->free(r.device, 0, x);
    kernels->drop(r.device, k);
    end_rig(&r);
    char text[512] = "";
    leaks(text, sizeof text);
    CHECK(strstr(text, "after a fatal error") == NULL);
}

TEST(the_loss_of_one_device_fails_the_queues_of_others_that_wait_for_it)
{
    const int64_t n = 4;
    BEGIN("devices=2 sticky=719:1");
    rig a = rig_of(open_with(0, NULL, NULL)), b = rig_of(open_with(1, NULL, NULL));
    float *x = new_memory(&a, 0, 0, 16), *y = new_memory(&a, 0, 0, 16);
    float *z = new_memory(&b, 0, 0, 16);
    tfr_kernel *k = new_add(&a, &n), *other = new_add(&b, &n);
    (void)launch(&a, k, x, x, y, 1);
    CHECK_STATUS(TFR_ELOST, finish(&a), &err);
    CHECK_OK(queues->wait(b.device, b.queue, a.fence, a.value, &err), &err);
    CHECK_STATUS(TFR_EDEVICE, finish(&b), &err);
    CHECK_CONTAINS("CUDA_ERROR_LAUNCH_FAILED", err.text);
    rig c = {.device = b.device};
    REQUIRE_OK(queues->create(c.device, NULL, &c.queue, &err), &err);
    REQUIRE_OK(queues->fence_create(c.device, NULL, &c.fence, &err), &err);
    CHECK_OK(launch(&c, other, z, z, z, 2), &err);
    CHECK_OK(finish(&c), &err);
    queues->destroy(c.device, c.queue);
    queues->fence_destroy(c.device, c.fence);
    kernels->drop(a.device, k);
    kernels->drop(b.device, other);
    end_rig(&a);
    end_rig(&b);
}

/* ---- captured runs, streams of others -------------------------------------------------------- */

TEST(a_captured_launch_computes_when_it_is_replayed)
{
    const int64_t n = 4;
    float values[4] = {1, 2, 3, 4}, sums[4] = {0};
    tfr_executable *executable = NULL;
    BEGIN("log");
    rig r = rig_of(open_with(0, NULL, NULL));
    float *x = new_memory(&r, 0, 0, 16), *y = new_memory(&r, 0, 0, 16);
    tfr_kernel *k = new_add(&r, &n);
    CHECK_OK(copy(&r, NULL, 0, x, TFR_SPACE_HOST, values, 16), &err);
    CHECK_OK(copy(&r, NULL, 0, y, TFR_SPACE_HOST, sums, 16), &err);
    CHECK_OK(captures->begin(r.device, r.queue, &err), &err);
    CHECK_OK(launch(&r, k, x, x, y, 1), &err);
    REQUIRE_OK(captures->end(r.device, r.queue, &executable, &err), &err);
    CHECK_OK(copy(&r, NULL, TFR_SPACE_HOST, sums, 0, y, 16), &err);
    CHECK_NEAR(0, sums[3], 0);
    CHECK_OK(captures->launch(r.device, r.queue, executable, &err), &err);
    CHECK_OK(finish(&r), &err);
    CHECK_OK(copy(&r, NULL, TFR_SPACE_HOST, sums, 0, y, 16), &err);
    CHECK_NEAR(8, sums[3], 0);
    captures->drop(r.device, executable);
    kernels->drop(r.device, k);
    end_rig(&r);
    check_leaks("leaked: nothing");
}

TEST(a_capture_that_fails_leaves_the_queue_as_it_was)
{
    const int64_t n = 4;
    tfr_executable *executable = NULL;
    BEGIN("fail=cuStreamEndCapture:1:901");
    rig r = rig_of(open_with(0, NULL, NULL));
    float *x = new_memory(&r, 0, 0, 16), *y = new_memory(&r, 0, 0, 16);
    tfr_kernel *k = new_add(&r, &n);
    CHECK_OK(captures->begin(r.device, r.queue, &err), &err);
    CHECK_OK(launch(&r, k, x, x, y, 1), &err);
    CHECK_STATUS(TFR_EUNSUPPORTED, captures->end(r.device, r.queue, &executable, &err), &err);
    CHECK_OK(launch(&r, k, x, x, y, 2), &err);
    CHECK_OK(finish(&r), &err);
    kernels->drop(r.device, k);
    end_rig(&r);
}

TEST(a_stream_of_the_users_becomes_a_queue_and_stays_his)
{
    void *stream = NULL, *same = NULL;
    BEGIN("");
    rig r = rig_of(open_with(0, NULL, NULL));
    REQUIRE_OK(natives->get(r.device, r.queue, "cuda.stream", &stream, &err), &err);
    const tfr_queue_options options = {
        .size = sizeof options, .native_kind = "cuda.stream", .native = stream};
    tfr_queue *queue = NULL;
    REQUIRE_OK(queues->create(r.device, &options, &queue, &err), &err);
    CHECK_OK(natives->get(r.device, queue, "cuda.stream", &same, &err), &err);
    CHECK(stream == same);
    queues->destroy(r.device, queue);
    CHECK_OK(finish(&r), &err);
    end_rig(&r);
    check_leaks("leaked: nothing");
}

/* ---- files of kernels (host_blob.c) ---------------------------------------------------------- */

TEST(the_driver_is_given_the_file_alone_that_names_the_kernel)
{
    const int64_t n = 4;
    BEGIN("log");
    rig r = rig_of(open_with(0, NULL, NULL));
    CHECK_UINT(0, calls_of("cuLibraryLoadData"));
    tfr_kernel *k = new_add(&r, &n), *again = new_add(&r, &n);
    CHECK_UINT(1, calls_of("cuLibraryLoadData"));
    kernels->drop(r.device, k);
    kernels->drop(r.device, again);
    end_rig(&r);
    check_leaks("leaked: nothing");
}

TEST(a_kernel_that_is_not_in_that_file_is_looked_for_in_those_that_name_none)
{
    const int64_t n = 4;
    BEGIN("fail=cuLibraryGetKernel:1:500 log");
    rig r = rig_of(open_with(0, NULL, NULL));
    tfr_kernel *k = new_add(&r, &n);
    CHECK_UINT(2, calls_of("cuLibraryLoadData"));
    kernels->drop(r.device, k);
    end_rig(&r);
    check_leaks("leaked: nothing");
}

TEST(a_kernel_that_no_file_has_is_told)
{
    const int64_t n = 4;
    BEGIN("fail=cuLibraryGetKernel:0:500 log");
    rig r = rig_of(open_with(0, NULL, NULL));
    CHECK_STATUS(TFR_ENOTFOUND, prepare_add(&r, &n, &(tfr_kernel *){NULL}), &err);
    CHECK_CONTAINS("the kernel fake_add", err.text);
    CHECK_UINT(2, calls_of("cuLibraryLoadData"));
    end_rig(&r);
    check_leaks("leaked: nothing");
}

TEST(a_file_without_code_for_the_GPU_is_told_with_its_name)
{
    const int64_t n = 4;
    BEGIN("fail=cuLibraryLoadData:1:209");
    rig r = rig_of(open_with(0, NULL, NULL));
    CHECK_STATUS(TFR_EUNSUPPORTED, prepare_add(&r, &n, &(tfr_kernel *){NULL}), &err);
    CHECK_CONTAINS("the kernels of fake.cu", err.text);
    CHECK_CONTAINS("CUDA_ERROR_NO_BINARY_FOR_GPU", err.text);
    end_rig(&r);
}

static const test_case cases[] = {
    CASE(what_is_opened_is_closed),
    CASE(what_the_core_leaves_behind_is_given_back_when_the_device_is_closed),
    CASE(a_copy_comes_back_as_it_went),
    CASE(memory_can_be_limited_to_bytes),
    CASE(memory_can_be_limited_to_a_fraction),
    CASE(a_fraction_over_1_is_refused),
    CASE(without_a_limit_a_reserve_is_left),
    CASE(logical_devices_have_a_limit_each),
    CASE(out_of_memory_trims_the_pool_and_is_tried_once_more),
    CASE(out_of_memory_is_told_with_its_numbers),
    CASE(each_error_of_the_driver_has_a_status),
    CASE(a_launch_that_is_refused_is_told_at_once),
    CASE(a_device_whose_context_dies_is_lost_and_left_alone),
    CASE(the_loss_of_one_device_fails_the_queues_of_others_that_wait_for_it),
    CASE(a_captured_launch_computes_when_it_is_replayed),
    CASE(a_capture_that_fails_leaves_the_queue_as_it_was),
    CASE(a_stream_of_the_users_becomes_a_queue_and_stays_his),
    CASE(the_driver_is_given_the_file_alone_that_names_the_kernel),
    CASE(a_kernel_that_is_not_in_that_file_is_looked_for_in_those_that_name_none),
    CASE(a_kernel_that_no_file_has_is_told),
    CASE(a_file_without_code_for_the_GPU_is_told_with_its_name),
};
TEST_MAIN(cases)
