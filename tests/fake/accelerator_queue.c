/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accelerator_queue.c: the fake accelerator's queues, a thread each, and its fences. A queue whose
 * work failed skips what follows and puts the failure on every fence it signals; a lost device is
 * the same for all queues at once. A queue that waits for another device's fence takes its failure
 * over, but a loss only as a failure. An item leaves its queue, and its fence gets its value, under
 * one hold of the lock, so that whoever has seen the value may destroy the queue.
 */
#include "accelerator.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- the thread ------------------------------------------------------------------------------ */

static void nap(uint64_t ns)
{
    struct timespec left = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    while (ns > 0 && nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

static void fail_queue(tfr_queue *queue, const fake_failure *failure)
{
    if (!queue->failure.code && failure->code)
        queue->failure = *failure;
}

/* With the lock held: a lost device, or a lost peer of a copy, fails the queue. */
static void notice_loss(tfr_queue *queue, const fake_item *item)
{
    tfr_err err = TFR_ERR_INIT;
    fake_failure lost = {0};
    const tfr_plugin_device *device = queue->device;
    if (!device->is_lost && item->peer)
        device = item->peer;
    if (!device->is_lost)
        return;
    lost.code = fake_carried(device, queue->device, fake_lost(device, &err));
    memcpy(lost.text, err.text, sizeof lost.text - 1);
    fail_queue(queue, &lost);
}

/* With the lock held: this launch may be the one that goes wrong. */
static void count_launch(tfr_queue *queue, const fake_item *item)
{
    tfr_plugin_device *device = queue->device;
    const int64_t n = device->n_launches++;
    if (device->lose_after >= 0 && n >= device->lose_after) {
        device->is_lost = true;
        notice_loss(queue, item);
        queue->failure.launch = item->id;
    } else if (device->fail_after >= 0 && n == device->fail_after) {
        fake_failure failure = {.code = TFR_EDEVICE, .native = -700, .launch = item->id};
        snprintf(failure.text, sizeof failure.text, "launch %lld failed, as the option asked",
                 (long long)n);
        fail_queue(queue, &failure);
    }
}

static struct timespec deadline_in(uint64_t ns);

/* With the lock held. */
static void notice_abort(tfr_queue *queue, uint64_t launch)
{
    const fake_failure failure = {
        .code = TFR_EDEVICE, .launch = launch, .text = "the work was given up"};
    if (queue->aborted)
        fail_queue(queue, &failure);
}

/* With the lock held: a launch that does not end before it is given up. */
static void hang(tfr_queue *queue, uint64_t launch)
{
    const struct timespec deadline = deadline_in(queue->device->hang_ns);
    int result = 0;
    while (!queue->aborted && result != ETIMEDOUT) {
        if (!queue->device->hang_ns)
            pthread_cond_wait(&queue->device->changed, &fake_lock);
        else
            result = pthread_cond_timedwait(&queue->device->changed, &fake_lock, &deadline);
    }
    notice_abort(queue, launch);
}

/* Called and returns with the lock held; lets go of it while it works. */
static void run_item(tfr_queue *queue, const fake_item *item)
{
    tfr_plugin_device *device = queue->device;
    fake_failure failure = {0};
    notice_loss(queue, item);
    notice_abort(queue, item->id);
    if (item->kind == FAKE_WAIT) {
        while (item->fence->value < item->value && !device->ignores_waits && !device->is_lost &&
               !queue->aborted)
            pthread_cond_wait(&device->changed, &fake_lock);
        notice_loss(queue, item);
        notice_abort(queue, 0);
        failure = item->fence->failure;
        failure.code = fake_carried(item->fence->device, device, failure.code);
        fail_queue(queue, &failure);
        return;
    }
    if (queue->failure.code)
        return;
    const uint64_t began = fake_now_ns();
    pthread_mutex_unlock(&fake_lock);
    nap(device->delay_ns);
    pthread_mutex_lock(&fake_lock);
    notice_loss(queue, item);
    if (item->kind == FAKE_LAUNCH && !queue->failure.code) {
        if (device->hang_after == device->n_launches) {
            device->n_launches++;
            hang(queue, item->id);
        }
        if (!queue->failure.code)
            count_launch(queue, item);
    }
    if (item->kind == FAKE_SIGNAL || queue->failure.code)
        return;
    pthread_mutex_unlock(&fake_lock);
    if (item->kind == FAKE_LAUNCH)
        fake_compute(item);
    else
        fake_move(item, &failure);
    pthread_mutex_lock(&fake_lock);
    fail_queue(queue, &failure);
    fake_record(queue, item, began);
}

/* With the lock held. */
static void finish_item(tfr_queue *queue)
{
    fake_item *item = queue->first;
    for (int i = 0; i < FAKE_MAX_BLOCKS; i++)
        if (item->blocks[i])
            item->blocks[i]->n_pending--;
    if (item->kernel)
        item->kernel->n_pending--;
    if (item->kind == FAKE_SIGNAL) {
        if (item->fence->value < item->value)
            item->fence->value = item->value;
        if (!item->fence->failure.code && !queue->device->loses_errors)
            item->fence->failure = queue->failure;
    }
    if (item->fence)
        item->fence->n_pending--;
    item->via->n_pending--;
    if (item->executable)
        item->executable->n_pending--;
    queue->first = item->next;
    if (!queue->first)
        queue->end = &queue->first;
    free(item);
    fake_wake_all();
}

static void *queue_main(void *argument)
{
    tfr_queue *queue = argument;
    tfr_plugin_device *device = queue->device;
    pthread_mutex_lock(&fake_lock);
    for (;;) {
        while (!queue->first && !queue->stop)
            pthread_cond_wait(&device->changed, &fake_lock);
        if (!queue->first)
            break;
        run_item(queue, queue->first);
        finish_item(queue);
    }
    pthread_mutex_unlock(&fake_lock);
    return NULL;
}

void fake_queue_drain(tfr_plugin_device *device, tfr_queue *queue)
{
    while (queue->real->first)
        pthread_cond_wait(&device->changed, &fake_lock);
}

void fake_push(tfr_plugin_device *device, tfr_queue *queue, fake_item *item)
{
    item->next = NULL;
    item->via = queue;
    item->node = -1;
    if (queue->id) {
        item->id = queue->id;
        item->node = queue->node;
    }
    if (queue->capture) {
        *queue->capture->end = item;
        queue->capture->end = &item->next;
        queue->capture->n_items++;
        return;
    }
    for (int i = 0; i < FAKE_MAX_BLOCKS; i++)
        if (item->blocks[i])
            item->blocks[i]->n_pending++;
    if (item->kernel)
        item->kernel->n_pending++;
    if (item->fence)
        item->fence->n_pending++;
    queue->n_pending++;
    *queue->real->end = item;
    queue->real->end = &item->next;
    pthread_cond_broadcast(&device->changed);
}

/* ---- queues ---------------------------------------------------------------------------------- */

/* The queue that another one is to be made of; NULL = a new one. */
static int32_t find_native(tfr_plugin_device *device, const tfr_queue_options *options,
                           tfr_queue **out, tfr_err *err)
{
    *out = NULL;
    if (!options || !TFR_HAS(options, tfr_queue_options, native) || !options->native_kind)
        return TFR_OK;
    if (strcmp(options->native_kind, FAKE_NAME ".queue") != 0)
        return fake_breach(err, "create of a queue of kind %s, which is not listed",
                           options->native_kind);
    pthread_mutex_lock(&fake_lock);
    for (*out = device->queues; *out && *out != options->native; *out = (*out)->next)
        ;
    if (*out) {
        *out = (*out)->real;
        (*out)->n_imports++;
    }
    pthread_mutex_unlock(&fake_lock);
    return *out ? TFR_OK
                : tfr_fail(err, TFR_EINVAL, "%p is no queue of device %u", options->native,
                           device->ordinal);
}

static bool has_all_queues(const tfr_plugin_device *device)
{
    int64_t n = 0;
    pthread_mutex_lock(&fake_lock);
    for (const tfr_queue *q = device->queues; q; q = q->next)
        n++;
    pthread_mutex_unlock(&fake_lock);
    return device->queue_limit && n >= device->queue_limit;
}

static int32_t fake_queue_create(tfr_plugin_device *device, const tfr_queue_options *options,
                                 tfr_queue **out, tfr_err *err)
{
    tfr_queue *real;
    int32_t status = fake_enter(device, err);
    if (status)
        return status;
    status = find_native(device, options, &real, err);
    if (!status && has_all_queues(device))
        status = tfr_fail(err, TFR_ENOMEM, "device %u has %lld queues, which is all",
                          device->ordinal, (long long)device->queue_limit);
    if (status) {
        fake_leave(device);
        return status;
    }
    tfr_queue *queue = calloc(1, sizeof *queue);
    if (queue) {
        queue->device = device;
        queue->end = &queue->first;
        queue->real = real ? real : queue;
        if (!real && pthread_create(&queue->thread, NULL, queue_main, queue) != 0) {
            free(queue);
            queue = NULL;
        }
    }
    if (queue) {
        pthread_mutex_lock(&fake_lock);
        queue->next = device->queues;
        device->queues = queue;
        pthread_mutex_unlock(&fake_lock);
        *out = queue;
    } else {
        status = tfr_fail(err, TFR_ENOMEM, "no host memory or thread for a queue");
    }
    fake_leave(device);
    return status;
}

static void fake_queue_destroy(tfr_plugin_device *device, tfr_queue *queue)
{
    tfr_queue **at;
    bool is_busy = false;
    if (!fake_enter_void(device, "queue destroy"))
        return;
    pthread_mutex_lock(&fake_lock);
    for (at = &device->queues; *at && *at != queue; at = &(*at)->next)
        ;
    const bool is_known = *at != NULL;
    /* A lost device is through with its work at once, and nobody can wait for it. */
    while (is_known && queue->n_pending && device->is_lost)
        pthread_cond_wait(&device->changed, &fake_lock);
    is_busy = is_known && (queue->first || queue->n_pending || queue->n_imports);
    if (is_known && !is_busy) {
        for (at = &device->queues; *at != queue; at = &(*at)->next)
            ;
        *at = queue->next;
        queue->stop = true;
        if (queue->real != queue)
            queue->real->n_imports--;
        pthread_cond_broadcast(&device->changed);
    }
    pthread_mutex_unlock(&fake_lock);
    if (!is_known) {
        fake_breach_later(device, "destroy of queue %p, which create did not give", (void *)queue);
    } else if (is_busy) {
        fake_breach_later(device,
                          "destroy of a queue that is not idle, or that others are made of");
    } else {
        if (queue->real == queue)
            pthread_join(queue->thread, NULL);
        free(queue);
    }
    fake_leave(device);
}

/* ---- fences ---------------------------------------------------------------------------------- */

static bool is_own_fence(const tfr_plugin_device *device, const tfr_fence *fence)
{
    return fake_is_fence(fence) && fence->device == device;
}

static int32_t fake_fence_create(tfr_plugin_device *device, const tfr_fence_options *options,
                                 tfr_fence **out, tfr_err *err)
{
    (void)options;
    int32_t status = fake_enter(device, err);
    if (status)
        return status;
    tfr_fence *fence = calloc(1, sizeof *fence);
    if (fence) {
        fence->device = device;
        pthread_mutex_lock(&fake_lock);
        fence->next = device->fences;
        device->fences = fence;
        pthread_mutex_unlock(&fake_lock);
        *out = fence;
    } else {
        status = tfr_fail(err, TFR_ENOMEM, "no host memory for a fence");
    }
    fake_leave(device);
    return status;
}

static void fake_fence_destroy(tfr_plugin_device *device, tfr_fence *fence)
{
    tfr_fence **at;
    const char *breach = NULL;
    if (!fake_enter_void(device, "fence destroy"))
        return;
    pthread_mutex_lock(&fake_lock);
    for (at = &device->fences; *at && *at != fence; at = &(*at)->next)
        ;
    while (*at && fence->n_pending > 0 && device->is_lost)
        pthread_cond_wait(&device->changed, &fake_lock);
    if (!*at) {
        breach = "which create did not give";
    } else if (fence->n_pending > 0) {
        breach = "which a queue or a thread still uses";
    } else {
        *at = fence->next;
        free(fence);
    }
    pthread_mutex_unlock(&fake_lock);
    if (breach)
        fake_breach_later(device, "destroy of fence %p, %s", (void *)fence, breach);
    fake_leave(device);
}

/* With the lock held: what is wrong with a signal or a wait. */
static int32_t check_fence(fake_kind kind, const tfr_plugin_device *device, const tfr_queue *queue,
                           const tfr_fence *fence, uint64_t value, tfr_err *err)
{
    const unsigned long long v = value;
    if (!fake_is_fence(fence))
        return fake_breach(err, "%s of fence %p, which create did not give",
                           kind == FAKE_SIGNAL ? "signal" : "wait", (const void *)fence);
    if (kind == FAKE_WAIT && value > fence->promised && !device->early_waits)
        return fake_breach(err, "wait for %llu before its signal: it was put up to %llu", v,
                           (unsigned long long)fence->promised);
    if (kind == FAKE_WAIT)
        return TFR_OK;
    if (fence->device != device)
        return fake_breach(err, "signal of a fence of device %u on a queue of device %u",
                           fence->device->ordinal, device->ordinal);
    if (fence->signaller && fence->signaller != queue)
        return fake_breach(err, "signal of a fence that another queue signals");
    if (value <= fence->promised)
        return fake_breach(err, "signal %llu after %llu: a fence only grows", v,
                           (unsigned long long)fence->promised);
    return TFR_OK;
}

/* Signal and wait: both put a fence and a value on a queue. */
static int32_t push_fence(fake_kind kind, tfr_plugin_device *device, tfr_queue *queue,
                          tfr_fence *fence, uint64_t value, tfr_err *err)
{
    if (!queue)
        return fake_breach(err, "%s without a queue", kind == FAKE_SIGNAL ? "signal" : "wait");
    int32_t status = fake_enter_queue(device, queue, err);
    if (status)
        return status;
    fake_item *item = calloc(1, sizeof *item);
    pthread_mutex_lock(&fake_lock);
    if (queue->capture)
        status = fake_breach(err, "%s on a queue that captures",
                             kind == FAKE_SIGNAL ? "signal" : "wait");
    else if (item)
        status = check_fence(kind, device, queue, fence, value, err);
    else
        status = tfr_fail(err, TFR_ENOMEM, "no host memory for a piece of work");
    if (!status) {
        if (kind == FAKE_SIGNAL) {
            fence->promised = value;
            fence->signaller = queue;
        }
        item->kind = kind;
        item->fence = fence;
        item->value = value;
        fake_push(device, queue, item);
        item = NULL;
    }
    pthread_mutex_unlock(&fake_lock);
    free(item);
    fake_leave_queue(device, queue);
    return status;
}

static int32_t fake_signal(tfr_plugin_device *device, tfr_queue *queue, tfr_fence *fence,
                           uint64_t value, tfr_err *err)
{
    return push_fence(FAKE_SIGNAL, device, queue, fence, value, err);
}

static int32_t fake_wait(tfr_plugin_device *device, tfr_queue *queue, tfr_fence *fence,
                         uint64_t value, tfr_err *err)
{
    return push_fence(FAKE_WAIT, device, queue, fence, value, err);
}

static struct timespec deadline_in(uint64_t ns)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    /* More than a century would overflow and is as good as for ever. */
    if (ns > UINT64_C(4000000000) * 1000000000)
        ns = UINT64_C(4000000000) * 1000000000;
    ns += (uint64_t)at.tv_nsec;
    at.tv_sec += (time_t)(ns / 1000000000);
    at.tv_nsec = (long)(ns % 1000000000);
    return at;
}

/* What the queue is at that will signal the fence; 0 = no launch. With the lock held. */
static uint64_t launch_before(const tfr_plugin_device *device, const tfr_fence *fence)
{
    for (const tfr_queue *q = device->queues; q; q = q->next)
        for (const fake_item *item = q->first; item; item = item->next)
            if (item->kind == FAKE_SIGNAL && item->fence == fence)
                return q->first->id;
    return 0;
}

/*
 * Waits for the value even if the fence has failed already: the queue still uses the fence until
 * then. On a lost device only values that a queue holds will come.
 */
static int32_t await_value(tfr_plugin_device *device, tfr_fence *fence, uint64_t value,
                           uint64_t timeout_ns, tfr_err *err)
{
    const struct timespec deadline = deadline_in(timeout_ns);
    int result = 0;
    while (fence->value < value && result != ETIMEDOUT) {
        if (device->is_lost && value > fence->promised)
            return fake_lost(device, err);
        if (timeout_ns == TFR_WAIT_FOREVER)
            pthread_cond_wait(&device->changed, &fake_lock);
        else
            result = pthread_cond_timedwait(&device->changed, &fake_lock, &deadline);
    }
    if (fence->value < value) {
        tfr_fail(err, TFR_ETIMEOUT, "fence is at %llu and not at %llu after %llu ns",
                 (unsigned long long)fence->value, (unsigned long long)value,
                 (unsigned long long)timeout_ns);
        if (device->names_launch)
            tfr_err_set_launch(err, launch_before(device, fence));
        return TFR_ETIMEOUT;
    }
    if (fence->failure.code)
        return fake_tell(device, &fence->failure, err);
    return device->is_lost ? fake_lost(device, err) : TFR_OK;
}

static int32_t fake_host_wait(tfr_plugin_device *device, tfr_fence *fence, uint64_t value,
                              uint64_t timeout_ns, tfr_err *err)
{
    int32_t status = fake_check_device(device, err);
    if (!status)
        status = fake_check_capture(NULL, "host_wait", err);
    if (status)
        return status;
    pthread_mutex_lock(&fake_lock);
    if (is_own_fence(device, fence)) {
        fence->n_pending++;
        status = await_value(device, fence, value, timeout_ns, err);
        fence->n_pending--;
        pthread_cond_broadcast(&device->changed);
    } else {
        status = fake_breach(err, "wait for fence %p, which create did not give", (void *)fence);
    }
    pthread_mutex_unlock(&fake_lock);
    return status;
}

static int32_t fake_abort(tfr_plugin_device *device, tfr_queue *queue, tfr_err *err)
{
    const tfr_queue *q;
    int32_t status = fake_check_device(device, err);
    if (status)
        return status;
    if (!device->may_abort)
        return tfr_fail(err, TFR_EUNSUPPORTED, "the option abort is 0");
    pthread_mutex_lock(&fake_lock);
    for (q = device->queues; q && q != queue; q = q->next)
        ;
    if (q && q->real == q) {
        queue->aborted = true;
        pthread_cond_broadcast(&device->changed);
    }
    pthread_mutex_unlock(&fake_lock);
    if (q && q->real != q)
        return fake_breach(err, "abort of a queue that belongs to somebody else");
    return q ? TFR_OK
             : fake_breach(err, "abort of queue %p, which create did not give", (void *)queue);
}

const tfr_queue_facet fake_queue_facet = {
    .size = sizeof fake_queue_facet,
    .create = fake_queue_create,
    .destroy = fake_queue_destroy,
    .fence_create = fake_fence_create,
    .fence_destroy = fake_fence_destroy,
    .signal = fake_signal,
    .wait = fake_wait,
    .host_wait = fake_host_wait,
    .abort = fake_abort,
};

/* ---- native ---------------------------------------------------------------------------------- */

/* A queue is its own handle. The table lets a test call the plugin itself. */
static int32_t fake_native(tfr_plugin_device *device, tfr_queue *queue, const char *kind,
                           void **out, tfr_err *err)
{
    int32_t status = fake_check_device(device, err);
    if (status)
        return status;
    if (queue && strcmp(kind, FAKE_NAME ".queue") == 0)
        *out = queue->real;
    else if (!queue && strcmp(kind, FAKE_NAME ".device") == 0)
        *out = device;
    else if (!queue && strcmp(kind, FAKE_NAME ".table") == 0)
        *out = (void *)(uintptr_t)&fake_plugin;
    else
        return fake_breach(err, "native of kind %s, which is not listed", kind);
    return TFR_OK;
}

const tfr_native_facet fake_native_facet = {
    .size = sizeof fake_native_facet,
    .device_kinds = FAKE_NAME ".device " FAKE_NAME ".table",
    .queue_kinds = FAKE_NAME ".queue",
    .import_kinds = FAKE_NAME ".queue",
    .get = fake_native,
};
