/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fence.c: fences on events. Each signal is a point of the fence: its value and an event that was
 * recorded behind the work. A point is taken off when its event has happened, and the event goes
 * back to the device, which keeps those that nobody uses.
 *
 * The driver has no wait with a time limit, and none for one of several things, so that host_wait
 * asks again and again: at once for a while, for most work is short, then with pauses.
 */
#include "fence.h"
#include "finding.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SPINS         256
#define FIRST_PAUSE   20000  /* ns */
#define LONGEST_PAUSE 200000 /* ns */

/* ---- events ---------------------------------------------------------------------------------- */

static tfr_cu_result take_event(tfr_plugin_device *device, tfr_cu_event **out)
{
    tfr_cu_event *event = NULL;

    pthread_mutex_lock(&device->lock);
    if (device->n_events)
        event = device->events[--device->n_events];
    pthread_mutex_unlock(&device->lock);
    *out = event;
    return event ? TFR_CU_SUCCESS : cuda_driver.cuEventCreate(out, TFR_CU_EVENT_DISABLE_TIMING);
}

static void give_event(tfr_plugin_device *device, tfr_cu_event *event)
{
    pthread_mutex_lock(&device->lock);
    if (device->n_events == device->capacity) {
        const size_t capacity = device->capacity * 2 + 16;
        tfr_cu_event **events = realloc(device->events, capacity * sizeof(tfr_cu_event *));
        if (events) {
            device->events = events;
            device->capacity = capacity;
        }
    }
    if (device->n_events < device->capacity) {
        device->events[device->n_events++] = event;
        event = NULL;
    }
    pthread_mutex_unlock(&device->lock);
    if (event && !device->is_dead)
        (void)cuda_driver.cuEventDestroy_v2(event);
}

void cuda_events_close(tfr_plugin_device *device)
{
    while (device->n_events)
        (void)cuda_driver.cuEventDestroy_v2(device->events[--device->n_events]);
}

/* ---- points ---------------------------------------------------------------------------------- */

/* Values from this point on carry what the work before it has found wrong. With the lock held. */
static void take_finding(tfr_fence *fence, const cuda_point *point)
{
    cuda_failure failure;

    if ((fence->failure.code && fence->failed_at <= point->value) ||
        !cuda_finding_tell(fence->findings, point->n_findings, &failure))
        return;
    fence->failure = failure;
    fence->failed_at = point->value;
}

/* Takes off what has happened. With the fence's lock held, and the context current. */
static int32_t advance(tfr_fence *fence, tfr_err *err)
{
    size_t n = 0;
    int32_t status = TFR_OK;

    while (n < fence->n_points) {
        const cuda_point *point = &fence->points[n];
        const tfr_cu_result result = cuda_driver.cuEventQuery(point->event);
        if (result == TFR_CU_NOT_READY)
            break;
        status = cuda_check_launch(fence->device, result, point->launch, err,
                                   "waiting for a queue of %s", fence->device->facts.name);
        if (status != TFR_OK)
            break;
        fence->value = point->value;
        take_finding(fence, point);
        give_event(fence->device, point->event);
        n++;
    }
    fence->n_points -= n;
    if (n > 0)
        memmove(fence->points, fence->points + n, fence->n_points * sizeof fence->points[0]);
    return status;
}

static bool has_room(tfr_fence *fence)
{
    const size_t capacity = fence->capacity * 2 + 8;
    cuda_point *points;

    if (fence->n_points < fence->capacity)
        return true;
    points = realloc(fence->points, capacity * sizeof fence->points[0]);
    if (!points)
        return false;
    fence->points = points;
    fence->capacity = capacity;
    return true;
}

/* ---- the slots ------------------------------------------------------------------------------- */

int32_t cuda_fence_create(tfr_plugin_device *device, const tfr_fence_options *options,
                          tfr_fence **out, tfr_err *err)
{
    tfr_fence *fence;

    if (options && options->flags & TFR_MUST_UNDERSTAND)
        return tfr_fail(err, TFR_EUNSUPPORTED, "a fence with flags 0x%x", (unsigned)options->flags);
    fence = calloc(1, sizeof *fence);
    if (!fence)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a fence");
    fence->device = device;
    pthread_mutex_init(&fence->lock, NULL);
    *out = fence;
    return TFR_OK;
}

void cuda_fence_destroy(tfr_plugin_device *device, tfr_fence *fence)
{
    const bool works = cuda_enter(device, NULL) == TFR_OK;

    for (size_t i = 0; i < fence->n_points; i++)
        if (works || !device->is_dead)
            give_event(device, fence->points[i].event);
    if (works)
        cuda_leave(device);
    cuda_findings_drop(fence->findings);
    pthread_mutex_destroy(&fence->lock);
    free(fence->points);
    free(fence);
}

/* With the lock held, the context current and room for a point. */
static int32_t add_point(tfr_queue *queue, tfr_fence *fence, uint64_t value, tfr_err *err)
{
    tfr_plugin_device *device = queue->device;
    cuda_point point = {.value = value,
                        .launch = queue->n_since == 1 ? queue->last_launch : 0,
                        .n_findings = queue->n_findings};
    int32_t status = cuda_check(device, take_event(device, &point.event), err, "an event of %s",
                                device->facts.name);

    if (status != TFR_OK)
        return status;
    status = cuda_check(device, cuda_driver.cuEventRecord(point.event, queue->stream), err,
                        "a signal on a queue of %s", device->facts.name);
    if (status != TFR_OK) {
        give_event(device, point.event);
        return status;
    }
    queue->n_since = 0;
    fence->points[fence->n_points++] = point;
    fence->signaller = queue;
    if (!fence->findings)
        fence->findings = cuda_findings_hold(queue->findings);
    return TFR_OK;
}

int32_t cuda_signal(tfr_plugin_device *device, tfr_queue *queue, tfr_fence *fence, uint64_t value,
                    tfr_err *err)
{
    int32_t status = cuda_enter(device, err);

    if (status != TFR_OK)
        return status;
    pthread_mutex_lock(&fence->lock);
    /* Points that nobody waits for must not pile up; what is wrong is told by host_wait. */
    if (fence->n_points == fence->capacity)
        (void)advance(fence, NULL);
    status = has_room(fence) ? add_point(queue, fence, value, err)
                             : tfr_fail(err, TFR_ENOMEM, "no memory for a signal");
    if (status == TFR_OK && !fence->failure.code && atomic_load(&queue->has_failed)) {
        pthread_mutex_lock(&queue->lock);
        fence->failure = queue->failure;
        fence->failed_at = value;
        pthread_mutex_unlock(&queue->lock);
    }
    pthread_mutex_unlock(&fence->lock);
    cuda_leave(device);
    return status;
}

/* A failure of one device as another one's queue tells it: only its own can be lost. */
static cuda_failure carried(const cuda_failure *failure, const tfr_plugin_device *from,
                            const tfr_plugin_device *to)
{
    cuda_failure mine = *failure;

    if (mine.code == TFR_ELOST && from != to)
        mine.code = TFR_EDEVICE;
    return mine;
}

static void note_peer(tfr_queue *queue, tfr_plugin_device *peer)
{
    uint32_t i = 0;

    pthread_mutex_lock(&queue->lock);
    while (i < queue->n_peers && queue->peers[i] != peer)
        i++;
    if (i == queue->n_peers && i < CUDA_MAX_PEERS)
        queue->peers[queue->n_peers++] = peer;
    pthread_mutex_unlock(&queue->lock);
}

static const tfr_plugin_device *find_lost_peer(tfr_queue *queue)
{
    const tfr_plugin_device *lost = NULL;

    pthread_mutex_lock(&queue->lock);
    for (uint32_t i = 0; i < queue->n_peers && !lost; i++)
        if (atomic_load(&queue->peers[i]->is_lost))
            lost = queue->peers[i];
    pthread_mutex_unlock(&queue->lock);
    return lost;
}

/* With the fence's lock held. */
static int32_t follow(tfr_queue *queue, tfr_fence *fence, uint64_t value, tfr_err *err)
{
    size_t i = 0;
    int32_t status;

    if (fence->failure.code && value >= fence->failed_at) {
        const cuda_failure failure = carried(&fence->failure, fence->device, queue->device);
        cuda_queue_fail(queue, &failure);
    }
    while (i < fence->n_points && fence->points[i].value < value)
        i++;
    if (i == fence->n_points) /* it has happened: no wait is put before its signal */
        return TFR_OK;
    if (fence->device != queue->device)
        note_peer(queue, fence->device);
    status = cuda_check(queue->device,
                        cuda_driver.cuStreamWaitEvent(queue->stream, fence->points[i].event, 0),
                        err, "a wait on a queue of %s", queue->device->facts.name);
    return status ? status
                  : cuda_finding_follow(queue, fence->findings, fence->points[i].n_findings, err);
}

int32_t cuda_wait(tfr_plugin_device *device, tfr_queue *queue, tfr_fence *fence, uint64_t value,
                  tfr_err *err)
{
    int32_t status = cuda_enter(device, err);

    if (status != TFR_OK)
        return status;
    if (fence->device != device && atomic_load(&fence->device->is_lost)) {
        const cuda_failure failure = carried(&fence->device->failure, fence->device, device);
        cuda_queue_fail(queue, &failure);
    } else {
        pthread_mutex_lock(&fence->lock);
        status = follow(queue, fence, value, err);
        pthread_mutex_unlock(&fence->lock);
    }
    cuda_leave(device);
    return status;
}

/* ---- waiting on the host --------------------------------------------------------------------- */

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/*
 * The queue waits for a device that has got lost: its fences never come, or come for nothing. With
 * the fence's lock held.
 */
static void look_at_peers(tfr_fence *fence, uint64_t value)
{
    const tfr_plugin_device *peer = fence->n_points ? find_lost_peer(fence->signaller) : NULL;
    cuda_failure failure;

    if (!peer)
        return;
    failure = carried(&peer->failure, peer, fence->device);
    cuda_queue_fail(fence->signaller, &failure);
    if (!fence->failure.code) {
        fence->failure = failure;
        fence->failed_at = fence->value + 1;
    }
    fence->value = fence->value < value ? value : fence->value;
}

/* False: ask again. */
static bool is_over(tfr_fence *fence, uint64_t value, uint64_t *launch, int32_t *status,
                    tfr_err *err)
{
    bool over;

    pthread_mutex_lock(&fence->lock);
    *status = advance(fence, err);
    if (*status == TFR_OK && fence->value < value)
        look_at_peers(fence, value);
    over = *status != TFR_OK || fence->value >= value;
    if (*status == TFR_OK && over && fence->failure.code && value >= fence->failed_at)
        *status = cuda_failure_tell(&fence->failure, err);
    *launch = fence->n_points ? fence->points[0].launch : 0;
    pthread_mutex_unlock(&fence->lock);
    return over;
}

static void pause_for(uint32_t turn)
{
    uint64_t ns = FIRST_PAUSE;

    if (turn < SPINS) {
        sched_yield();
        return;
    }
    for (uint32_t i = SPINS; i < turn && ns < LONGEST_PAUSE; i += 16)
        ns *= 2;
    nanosleep(&(struct timespec){0, (long)(ns < LONGEST_PAUSE ? ns : LONGEST_PAUSE)}, NULL);
}

int32_t cuda_host_wait(tfr_plugin_device *device, tfr_fence *fence, uint64_t value,
                       uint64_t timeout_ns, tfr_err *err)
{
    const uint64_t begin = timeout_ns && timeout_ns != TFR_WAIT_FOREVER ? now_ns() : 0;
    uint64_t launch = 0;
    int32_t status;

    for (uint32_t turn = 0;; turn += turn < UINT32_MAX) {
        bool over;
        status = cuda_enter(device, err);
        if (status != TFR_OK)
            return status;
        over = is_over(fence, value, &launch, &status, err);
        cuda_leave(device);
        if (over)
            return status;
        if (!timeout_ns || (timeout_ns != TFR_WAIT_FOREVER && now_ns() - begin >= timeout_ns))
            break;
        pause_for(turn);
    }
    tfr_fail(err, TFR_ETIMEOUT, "a fence of %s is not at %llu after %llu ns", device->facts.name,
             (unsigned long long)value, (unsigned long long)timeout_ns);
    tfr_err_set_launch(err, launch);
    return TFR_ETIMEOUT;
}
