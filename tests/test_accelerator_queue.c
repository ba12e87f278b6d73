/* SPDX-License-Identifier: Apache-2.0 */
/* Queues of the fake accelerator, and how work on them fails (tests/fake/accelerator_queue.c). */
#include "accelerator_kit.h"

TEST(a_queue_runs_later_and_in_order)
{
    rig r = new_rig();
    const char in[4] = "abc";
    char out[4] = "xyz";
    void *a = new_memory(&r, 4);
    const gate g = close_gate(&r);
    CHECK_OK(copy_in(&r, a, in, 4), &err);
    CHECK_OK(copy_out(&r, out, a, 4), &err);
    CHECK_OK(queues->signal(r.device, r.queue, r.fence, 5, &err), &err);
    CHECK_STATUS(TFR_ETIMEOUT, queues->host_wait(r.device, r.fence, 5, 0, &err), &err);
    CHECK_STATUS(TFR_ETIMEOUT, queues->host_wait(r.device, r.fence, 5, 1000000, &err), &err);
    CHECK_CONTAINS("1000000 ns", err.text);
    open_gate(&r, &g);
    CHECK_OK(queues->host_wait(r.device, r.fence, 5, UINT64_C(60000000000), &err), &err);
    remove_gate(&r, &g);
    CHECK_STR("abc", out);
    CHECK_OK(queues->host_wait(r.device, r.fence, 3, 0, &err), &err);
    memory->free(r.device, 0, a);
    end_rig(&r);
}

TEST(a_queue_waits_for_another)
{
    rig r = new_rig();
    const char in[4] = "abc";
    char out[4] = "xyz";
    tfr_queue *second = NULL;
    tfr_fence *done = NULL;
    void *a = new_memory(&r, 4);
    REQUIRE_OK(queues->create(r.device, NULL, &second, &err), &err);
    REQUIRE_OK(queues->fence_create(r.device, NULL, &done, &err), &err);
    /* The reader is told to wait before the writer has anything to do. */
    tfr_copy read = {.dst_space = TFR_SPACE_HOST, .dst = out, .src = a, .bytes = 4};
    CHECK_OK(queues->wait(r.device, second, r.fence, 1, &err), &err);
    CHECK_OK(memory->copy(r.device, second, &read, 1, sizeof read, &err), &err);
    CHECK_OK(queues->signal(r.device, second, done, 1, &err), &err);
    CHECK_OK(copy_in(&r, a, in, 4), &err);
    CHECK_OK(queues->signal(r.device, r.queue, r.fence, 1, &err), &err);
    CHECK_OK(queues->host_wait(r.device, done, 1, TFR_WAIT_FOREVER, &err), &err);
    CHECK_STR("abc", out);
    queues->destroy(r.device, second);
    queues->fence_destroy(r.device, done);
    memory->free(r.device, 0, a);
    end_rig(&r);
}

TEST(a_failed_launch_is_on_every_later_fence_of_its_queue)
{
    set_options("fail_after", "1", NULL, NULL);
    rig r = new_rig();
    tfr_queue *other = NULL;
    tfr_kernel *relu = new_relu(&r, 1);
    tfr_fence *late = NULL;
    void *x = new_memory(&r, 4);
    REQUIRE_OK(queues->create(r.device, NULL, &other, &err), &err);
    REQUIRE_OK(queues->fence_create(r.device, NULL, &late, &err), &err);
    CHECK_OK(launch(&r, relu, 2, x, x, NULL, NULL), &err);
    CHECK_OK(finish(&r), &err);
    CHECK_OK(launch(&r, relu, 2, x, x, NULL, NULL), &err);
    CHECK_STATUS(TFR_EDEVICE, finish(&r), &err);
    CHECK_CONTAINS("launch 1 failed", err.text);
    CHECK_STATUS(TFR_EDEVICE, finish(&r), &err);
    /* It spreads to a queue that waits for this one, and to no other. */
    CHECK_OK(queues->signal(r.device, other, late, 1, &err), &err);
    CHECK_OK(queues->host_wait(r.device, late, 1, TFR_WAIT_FOREVER, &err), &err);
    CHECK_OK(queues->wait(r.device, other, r.fence, 1, &err), &err);
    CHECK_OK(queues->signal(r.device, other, late, 2, &err), &err);
    CHECK_STATUS(TFR_EDEVICE, queues->host_wait(r.device, late, 2, TFR_WAIT_FOREVER, &err), &err);
    queues->destroy(r.device, other);
    queues->fence_destroy(r.device, late);
    kernels->drop(r.device, relu);
    memory->free(r.device, 0, x);
    end_rig(&r);
}

TEST(a_lost_device_fails_every_later_call_and_can_be_closed)
{
    set_options("lose_after", "2", NULL, NULL);
    rig r = new_rig();
    tfr_kernel *relu = new_relu(&r, 1);
    tfr_kernel *never = NULL;
    void *x = new_memory(&r, 4);
    void *p = NULL;
    float out = 0;
    const tfr_operand o[2] = {operand(1, DIMS(1)), operand(1, DIMS(1))};
    const tfr_call call = call_of("Relu", o, 1);
    for (int i = 0; i < 2; i++)
        CHECK_OK(launch(&r, relu, 2, x, x, NULL, NULL), &err);
    CHECK_OK(finish(&r), &err);
    CHECK_OK(launch(&r, relu, 2, x, x, NULL, NULL), &err);
    CHECK_STATUS(TFR_ELOST, finish(&r), &err);
    CHECK_CONTAINS("lost after 2 launches", err.text);
    CHECK_STATUS(TFR_ELOST, launch(&r, relu, 2, x, x, NULL, NULL), &err);
    CHECK_STATUS(TFR_ELOST, copy_out(&r, &out, x, 4), &err);
    CHECK_STATUS(TFR_ELOST, finish(&r), &err);
    CHECK_STATUS(TFR_ELOST, queues->host_wait(r.device, r.fence, 1, 0, &err), &err);
    CHECK_STATUS(TFR_ELOST, queues->host_wait(r.device, r.fence, 99, TFR_WAIT_FOREVER, &err), &err);
    CHECK_STATUS(TFR_ELOST, memory->alloc(r.device, 0, 4, NULL, &p, &err), &err);
    tfr_kernel_info info = {.size = sizeof info};
    CHECK_STATUS(TFR_ELOST, kernels->prepare(r.device, &call, NULL, &never, &info, &err), &err);
    CHECK(p == NULL && never == NULL);
    kernels->drop(r.device, relu);
    memory->free(r.device, 0, x);
    end_rig(&r);
}

/* Work that is queued when the device is lost does not keep its things for ever. */
TEST(a_device_lost_with_work_queued_can_be_closed_at_once)
{
    set_options("lose_after", "0", "delay_us", "1000");
    rig r = new_rig();
    tfr_kernel *relu = new_relu(&r, 1);
    void *x = new_memory(&r, 4);
    int32_t status = TFR_OK;
    for (int i = 0; i < 20 && !status; i++)
        status = launch(&r, relu, 2, x, x, NULL, NULL);
    CHECK(status == TFR_OK || status == TFR_ELOST);
    CHECK_STATUS(TFR_ELOST, finish(&r), &err);
    queues->destroy(r.device, r.queue);
    queues->fence_destroy(r.device, r.fence);
    kernels->drop(r.device, relu);
    memory->free(r.device, 0, x);
    plugin->close(r.device);
    CHECK_INT(0, take_logged_errors());
    set_options(NULL, NULL, NULL, NULL);
}

/* Waits until the fence has the value, with or without a failure. */
static int32_t wait_for(rig *r, uint64_t value)
{
    return queues->host_wait(r->device, r->fence, value, TFR_WAIT_FOREVER, &err);
}

TEST(a_hung_launch_ends_when_it_is_given_up)
{
    set_options("hang_after", "0", NULL, NULL);
    rig r = new_rig();
    tfr_kernel *relu = new_relu(&r, 1);
    void *x = new_memory(&r, 4);
    const tfr_arg args[2] = {{.address = x}, {.address = x}};
    const tfr_launch l = {.size = sizeof l, .n_args = 2, .args = args, .id = 7};
    CHECK_OK(kernels->launch(r.device, r.queue, relu, &l, &err), &err);
    CHECK_OK(queues->signal(r.device, r.queue, r.fence, ++r.value, &err), &err);
    CHECK_STATUS(TFR_ETIMEOUT, queues->host_wait(r.device, r.fence, 1, 10000000, &err), &err);
    CHECK_UINT(7, err.launch); /* what it waits for */
    CHECK_OK(queues->abort(r.device, r.queue, &err), &err);
    CHECK_STATUS(TFR_EDEVICE, wait_for(&r, 1), &err);
    CHECK_CONTAINS("given up", err.text);
    CHECK_UINT(7, err.launch);
    kernels->drop(r.device, relu);
    memory->free(r.device, 0, x);
    end_rig(&r);
}

/* One of two devices, with a queue and a fence. */
static rig rig_of(uint32_t ordinal)
{
    tfr_device_info infos[2] = {{.size = sizeof infos[0]}, {.size = sizeof infos[0]}};
    uint32_t n = 2;
    rig r = {0};
    load();
    REQUIRE_OK(plugin->enumerate(infos, sizeof infos[0], &n, &err), &err);
    REQUIRE_INT(2, n);
    REQUIRE_OK(plugin->open(&infos[ordinal], NULL, &r.device, &err), &err);
    REQUIRE_OK(queues->create(r.device, NULL, &r.queue, &err), &err);
    REQUIRE_OK(queues->fence_create(r.device, NULL, &r.fence, &err), &err);
    return r;
}

TEST(a_wait_before_its_signal_is_a_breach)
{
    set_options("early_waits", "0", NULL, NULL);
    rig r = new_rig();
    tfr_queue *other = NULL;
    REQUIRE_OK(queues->create(r.device, NULL, &other, &err), &err);
    CHECK_OK(queues->signal(r.device, r.queue, r.fence, 3, &err), &err);
    CHECK_OK(queues->wait(r.device, other, r.fence, 2, &err), &err);
    CHECK_OK(queues->wait(r.device, other, r.fence, 3, &err), &err);
    CHECK_STATUS(TFR_EPLUGIN, queues->wait(r.device, other, r.fence, 4, &err), &err);
    CHECK_CONTAINS("host broke the contract: wait for 4 before its signal", err.text);
    CHECK_INT(1, take_logged_errors());
    CHECK_STATUS(TFR_EPLUGIN, queues->signal(r.device, other, r.fence, 4, &err), &err);
    CHECK_CONTAINS("another queue signals", err.text);
    CHECK_INT(1, take_logged_errors());
    tfr_fence *done = NULL;
    REQUIRE_OK(queues->fence_create(r.device, NULL, &done, &err), &err);
    CHECK_OK(queues->signal(r.device, other, done, 1, &err), &err);
    CHECK_OK(queues->host_wait(r.device, done, 1, TFR_WAIT_FOREVER, &err), &err);
    queues->fence_destroy(r.device, done);
    queues->destroy(r.device, other);
    end_rig(&r);
}

TEST(a_queue_waits_for_a_fence_of_another_device)
{
    set_options("devices", "2", NULL, NULL);
    rig a = rig_of(0), b = rig_of(1);
    const char in[4] = "abc";
    char out[4] = "xyz";
    void *there = new_memory(&a, 4), *here = new_memory(&b, 4);
    const gate g = close_gate(&a);
    const tfr_copy over = {.dst = here, .src = there, .bytes = 4, .src_device = a.device};
    CHECK_OK(copy_in(&a, there, in, 4), &err);
    CHECK_OK(queues->signal(a.device, a.queue, a.fence, ++a.value, &err), &err);
    CHECK_OK(queues->wait(b.device, b.queue, a.fence, a.value, &err), &err);
    CHECK_OK(memory->copy(b.device, b.queue, &over, 1, sizeof over, &err), &err);
    CHECK_OK(copy_out(&b, out, here, 4), &err);
    CHECK_OK(queues->signal(b.device, b.queue, b.fence, ++b.value, &err), &err);
    CHECK_STATUS(TFR_ETIMEOUT, queues->host_wait(b.device, b.fence, b.value, 1000000, &err), &err);
    /* It is signalled by a queue of its own device alone, and stays as long as it is waited for. */
    CHECK_STATUS(TFR_EPLUGIN, queues->signal(b.device, b.queue, a.fence, 99, &err), &err);
    CHECK_CONTAINS("a fence of device 0 on a queue of device 1", err.text);
    CHECK_INT(1, take_logged_errors());
    open_gate(&a, &g);
    CHECK_OK(queues->host_wait(b.device, b.fence, b.value, TFR_WAIT_FOREVER, &err), &err);
    CHECK_STR("abc", out);
    remove_gate(&a, &g);
    memory->free(a.device, 0, there);
    memory->free(b.device, 0, here);
    end_rig(&a);
    end_rig(&b);
}

TEST(a_failure_is_carried_to_another_device_and_a_loss_as_a_failure)
{
    static const char *const ways[][2] = {{"fail_after", "launch 0 failed"},
                                          {"lose_after", "device 0 is lost"}};
    for (int i = 0; i < 2; i++) {
        set_options("devices", "2", ways[i][0], "0");
        rig a = rig_of(0), b = rig_of(1);
        tfr_kernel *relu = new_relu(&a, 1);
        void *x = new_memory(&a, 4);
        CHECK_OK(launch(&a, relu, 2, x, x, NULL, NULL), &err);
        CHECK_OK(queues->signal(a.device, a.queue, a.fence, ++a.value, &err), &err);
        CHECK_OK(queues->wait(b.device, b.queue, a.fence, a.value, &err), &err);
        CHECK_STATUS(TFR_EDEVICE, finish(&b), &err);
        CHECK_CONTAINS(ways[i][1], err.text);
        CHECK_STATUS(i ? TFR_ELOST : TFR_EDEVICE, finish(&a), &err);
        CHECK_CONTAINS(ways[i][1], err.text);
        kernels->drop(a.device, relu);
        memory->free(a.device, 0, x);
        end_rig(&a);
        end_rig(&b);
    }
}

static const test_case cases[] = {
    CASE(a_queue_runs_later_and_in_order),
    CASE(a_queue_waits_for_another),
    CASE(a_wait_before_its_signal_is_a_breach),
    CASE(a_queue_waits_for_a_fence_of_another_device),
    CASE(a_failure_is_carried_to_another_device_and_a_loss_as_a_failure),
    CASE(a_failed_launch_is_on_every_later_fence_of_its_queue),
    CASE(a_lost_device_fails_every_later_call_and_can_be_closed),
    CASE(a_device_lost_with_work_queued_can_be_closed_at_once),
    CASE(a_hung_launch_ends_when_it_is_given_up),
};
TEST_MAIN(cases)
