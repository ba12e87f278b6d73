/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fake accelerator (tests/fake/accelerator.c): that it is as different from the host as it
 * claims, and that it sees what breaks the contract.
 */
#include "accelerator_kit.h"

TEST(it_shows_one_small_device_that_the_host_cannot_touch)
{
    tfr_device_info info = {.size = sizeof info};
    tfr_space_info space = {.size = sizeof space};
    uint32_t n = 1;
    tfr_plugin_device *device = open_device();
    CHECK_STR("fakeacc", plugin->name);
    CHECK_OK(plugin->enumerate(&info, sizeof info, &n, &err), &err);
    CHECK_STR("NPU", info.type);
    CHECK_STR("fake:0", info.identity);
    CHECK_UINT(1 << 20, info.memory_total);
    n = 0;
    CHECK_OK(memory->spaces(device, NULL, 0, &n, &err), &err);
    CHECK_INT(1, n);
    CHECK_OK(memory->spaces(device, &space, sizeof space, &n, &err), &err);
    CHECK_UINT(TFR_SPACE_DEVICE_ACCESS, space.flags);
    CHECK_UINT(256, space.alignment);
    plugin->close(device);
    CHECK_INT(0, take_logged_errors());
}

TEST(several_devices_have_memory_of_their_own)
{
    tfr_device_info infos[4] = {{.size = sizeof infos[0]}, {.size = sizeof infos[0]}};
    const tfr_option option = {"memory_limit", "4096"};
    const tfr_open_options little = {sizeof little, 1, &option};
    tfr_plugin_device *devices[2] = {NULL, NULL};
    void *p = NULL;
    uint32_t n = 2;
    load();
    set_options("devices", "2", NULL, NULL);
    REQUIRE_OK(plugin->enumerate(infos, sizeof infos[0], &n, &err), &err);
    REQUIRE_INT(2, n);
    CHECK_STR("fake:1", infos[1].identity);
    REQUIRE_OK(plugin->open(&infos[0], NULL, &devices[0], &err), &err);
    REQUIRE_OK(plugin->open(&infos[1], &little, &devices[1], &err), &err);
    CHECK_STATUS(TFR_ENOMEM, memory->alloc(devices[1], 0, 8192, NULL, &p, &err), &err);
    CHECK_OK(memory->alloc(devices[0], 0, 8192, NULL, &p, &err), &err);
    memory->free(devices[0], 0, p);
    plugin->close(devices[0]);
    plugin->close(devices[1]);
    set_options(NULL, NULL, NULL, NULL);
    CHECK_INT(0, take_logged_errors());
}

/* ---- it watches the host --------------------------------------------------------------------- */

#define CHECK_BREACH(part, call)                                                                   \
    do {                                                                                           \
        CHECK_STATUS(TFR_EPLUGIN, call, &err);                                                     \
        CHECK_CONTAINS("host broke the contract: ", err.text);                                     \
        CHECK_CONTAINS(part, err.text);                                                            \
        CHECK_INT(1, take_logged_errors());                                                        \
    } while (0)

TEST(copies_outside_of_allocations_are_breaches)
{
    rig r = new_rig();
    char host_bytes[512] = {0};
    char *a = new_memory(&r, 100);
    char *b = new_memory(&r, 100);
    tfr_copy copy = {
        .dst_space = 1, .src_space = TFR_SPACE_HOST, .dst = a, .src = host_bytes, .bytes = 4};
    CHECK_BREACH("101 bytes", copy_in(&r, a, host_bytes, 101));
    CHECK_BREACH("not inside one allocation", copy_in(&r, a - 1, host_bytes, 2));
    CHECK_BREACH("not inside one allocation", copy_in(&r, a, host_bytes, (uint64_t)(b - a) + 4));
    CHECK_BREACH("not inside one allocation", copy_in(&r, host_bytes, host_bytes, 4));
    CHECK_BREACH("host memory", copy_out(&r, b, a, 4));
    CHECK_BREACH("space 1", memory->copy(r.device, r.queue, &copy, 1, sizeof copy, &err));
    CHECK_BREACH("0 bytes", memory->alloc(r.device, 0, 0, NULL, (void **)&b, &err));
    memory->free(r.device, 0, a);
    CHECK_BREACH("not inside one allocation", copy_in(&r, a, host_bytes, 4));
    memory->free(r.device, 0, a);
    CHECK_INT(1, take_logged_errors());
    CHECK_STATUS(TFR_EPLUGIN, copy_in(&r, b, host_bytes, 4), &err);
    CHECK_CONTAINS("alloc did not give", err.text);
    memory->free(r.device, 0, b);
    end_rig(&r);
}

TEST(wrong_launches_are_breaches)
{
    rig r = new_rig();
    tfr_kernel *relu = new_relu(&r, 4);
    char *x = new_memory(&r, 64);
    float host_floats[4] = {0};
    CHECK_BREACH("1 args", launch(&r, relu, 1, x, NULL, NULL, NULL));
    CHECK_BREACH("arg 0", launch(&r, relu, 2, host_floats, x, NULL, NULL));
    CHECK_BREACH("arg 1", launch(&r, relu, 2, x, x + 52, NULL, NULL));
    CHECK_BREACH("arg 1", launch(&r, relu, 2, x, NULL, NULL, NULL));
    CHECK_BREACH("aligned", launch(&r, relu, 2, x, x + 18, NULL, NULL));
    CHECK_BREACH("overlaps input 0", launch(&r, relu, 2, x, x + 4, NULL, NULL));
    CHECK_BREACH("prepare did not give",
                 launch(&r, (tfr_kernel *)(void *)host_floats, 2, x, x, NULL, NULL));
    CHECK_OK(launch(&r, relu, 2, x, x + 16, NULL, NULL), &err);
    CHECK_OK(finish(&r), &err);
    const tfr_launch l = {.size = sizeof l};
    CHECK_BREACH("without a queue", kernels->launch(r.device, NULL, relu, &l, &err));
    kernels->drop(r.device, relu);
    memory->free(r.device, 0, x);
    end_rig(&r);
}

TEST(calls_that_the_core_should_have_checked_are_breaches)
{
    rig r = new_rig();
    tfr_kernel *kernel = NULL;
    tfr_answer answer = {.size = sizeof answer};
    tfr_operand o[3] = {operand(1, DIMS(3)), operand(1, DIMS(4)), operand(1, DIMS(4))};
    tfr_call call = call_of("Add", o, 2);
    CHECK_BREACH("dim 0", kernels->supports(r.device, &call, &answer, &err));
    o[0] = operand(1, DIMS(4));
    call.n_inputs = 1;
    CHECK_BREACH("1 inputs", kernels->supports(r.device, &call, &answer, &err));
    call.n_inputs = 2;
    o[1].dtype = TFR_DTYPE_I32;
    CHECK_BREACH("types", kernels->supports(r.device, &call, &answer, &err));
    o[0].dtype = o[2].dtype = TFR_DTYPE_I32;
    tfr_kernel_info info = {.size = sizeof info};
    CHECK_BREACH("got no yes", kernels->prepare(r.device, &call, NULL, &kernel, &info, &err));
    end_rig(&r);
}

TEST(taking_away_what_is_in_use_is_a_breach)
{
    rig r = new_rig();
    tfr_kernel *relu = new_relu(&r, 4);
    void *x = new_memory(&r, 16);
    const gate g = close_gate(&r);
    CHECK_OK(launch(&r, relu, 2, x, x, NULL, NULL), &err);
    CHECK_OK(queues->signal(r.device, r.queue, r.fence, ++r.value, &err), &err);
    kernels->drop(r.device, relu);
    CHECK_INT(1, take_logged_errors());
    memory->free(r.device, 0, x);
    CHECK_INT(1, take_logged_errors());
    queues->fence_destroy(r.device, r.fence);
    CHECK_INT(1, take_logged_errors());
    queues->destroy(r.device, r.queue);
    CHECK_INT(1, take_logged_errors());
    plugin->close(r.device);
    CHECK_INT(1, take_logged_errors());
    /* The first one is told by the next call that can; then all is as if nothing had been said. */
    CHECK_STATUS(TFR_EPLUGIN, finish(&r), &err);
    CHECK_CONTAINS("whose launch is under way", err.text);
    open_gate(&r, &g);
    CHECK_OK(finish(&r), &err);
    remove_gate(&r, &g);
    kernels->drop(r.device, relu);
    memory->free(r.device, 0, x);
    end_rig(&r);
}

TEST(a_fence_that_goes_back_is_a_breach)
{
    rig r = new_rig();
    CHECK_OK(queues->signal(r.device, r.queue, r.fence, 7, &err), &err);
    CHECK_BREACH("signal 7 after 7", queues->signal(r.device, r.queue, r.fence, 7, &err));
    CHECK_BREACH("create did not give",
                 queues->host_wait(r.device, (tfr_fence *)(void *)&r, 1, 0, &err));
    CHECK_BREACH("is not open", queues->host_wait(NULL, r.fence, 1, 0, &err));
    CHECK_OK(queues->host_wait(r.device, r.fence, 7, TFR_WAIT_FOREVER, &err), &err);
    end_rig(&r);
}

TEST(host_memory_that_changes_under_a_queued_copy_is_a_breach)
{
    rig r = new_rig();
    char bytes[16] = "before";
    void *x = new_memory(&r, 16);
    const gate g = close_gate(&r);
    CHECK_OK(copy_in(&r, x, bytes, 16), &err);
    memcpy(bytes, "after", sizeof "after");
    open_gate(&r, &g);
    CHECK_STATUS(TFR_EPLUGIN, finish(&r), &err);
    CHECK_CONTAINS("changed 16 bytes", err.text);
    CHECK_INT(1, take_logged_errors());
    remove_gate(&r, &g);
    memory->free(r.device, 0, x);
    end_rig(&r);
}

static const test_case cases[] = {
    CASE(it_shows_one_small_device_that_the_host_cannot_touch),
    CASE(several_devices_have_memory_of_their_own),
    CASE(copies_outside_of_allocations_are_breaches),
    CASE(wrong_launches_are_breaches),
    CASE(calls_that_the_core_should_have_checked_are_breaches),
    CASE(taking_away_what_is_in_use_is_a_breach),
    CASE(a_fence_that_goes_back_is_a_breach),
    CASE(host_memory_that_changes_under_a_queued_copy_is_a_breach),
};
TEST_MAIN(cases)
