/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.c: how long kernels and copies take, by an event in front of each and one behind it, and
 * ranges of NVTX around launches for NVIDIA's tools.
 *
 * CUPTI would tell more, but takes one subscriber a process, so that a tool which the user has
 * started would be in our way or we in its. Events cost 1 to 2 us each and keep kernels apart, so
 * that they are recorded while somebody asks for records, and not while a queue is captured. Times
 * are the GPU's, told from an event that was waited for when recording began.
 */
#include "profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_SPANS = 1 << 14 };

struct cuda_span {
    tfr_cu_event *begin, *end;
    tfr_profile_record record;
};

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- NVTX ------------------------------------------------------------------------------------ */

typedef int nvtx_push_fn(const char *text);
typedef int nvtx_pop_fn(void);

static nvtx_push_fn *nvtx_push;
static nvtx_pop_fn *nvtx_pop;

void cuda_ranges_open(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const bool has_tool = secure_getenv("NVTX_INJECTION64_PATH") != NULL;
    tfr_err err = TFR_ERR_INIT;
    void *push, *pop;

    if (!cuda_option("nvtx", has_tool) || cuda_library_open(CUDA_NVTX, &err) != TFR_OK)
        return;
    pthread_mutex_lock(&lock);
    push = cuda_library_symbol(CUDA_NVTX, "nvtxRangePushA");
    pop = cuda_library_symbol(CUDA_NVTX, "nvtxRangePop");
    memcpy(&nvtx_push, &push, sizeof push);
    memcpy(&nvtx_pop, &pop, sizeof pop);
    pthread_mutex_unlock(&lock);
}

void cuda_range_begin(const char *name)
{
    if (nvtx_push)
        (void)nvtx_push(name);
}

void cuda_range_end(void)
{
    if (nvtx_push)
        (void)nvtx_pop();
}

/* ---- spans ----------------------------------------------------------------------------------- */

/* The context is current, or the device is dead. */
static void forget(tfr_plugin_device *device, struct cuda_span *span)
{
    if (!device->is_dead) {
        if (span->begin)
            (void)cuda_driver.cuEventDestroy_v2(span->begin);
        if (span->end)
            (void)cuda_driver.cuEventDestroy_v2(span->end);
    }
    memset(span, 0, sizeof *span);
}

/* From now on the GPU's clock is told by this event. */
static int32_t set_base(tfr_plugin_device *device, tfr_err *err)
{
    cuda_profile *p = &device->profile;
    int32_t status = TFR_OK;

    if (!p->base)
        status = cuda_check(device, cuda_driver.cuEventCreate(&p->base, TFR_CU_EVENT_DEFAULT), err,
                            "an event of %s", device->facts.name);
    if (status == TFR_OK)
        status = cuda_check(device, cuda_driver.cuEventRecord(p->base, device->stream), err,
                            "an event of %s", device->facts.name);
    if (status == TFR_OK)
        status = cuda_check(device, cuda_driver.cuEventSynchronize(p->base), err, "an event of %s",
                            device->facts.name);
    p->base_ns = now_ns();
    return status;
}

static tfr_cu_event *record(tfr_cu_stream *stream)
{
    tfr_cu_event *event = NULL;

    if (cuda_driver.cuEventCreate(&event, TFR_CU_EVENT_DEFAULT) != TFR_CU_SUCCESS)
        return NULL;
    if (cuda_driver.cuEventRecord(event, stream) == TFR_CU_SUCCESS)
        return event;
    (void)cuda_driver.cuEventDestroy_v2(event);
    return NULL;
}

tfr_cu_event *cuda_span_begin(tfr_plugin_device *device, const tfr_queue *queue)
{
    if (!queue || queue->is_capturing || !atomic_load(&device->profile.is_on))
        return NULL;
    return record(queue->stream);
}

void cuda_span_end(tfr_plugin_device *device, const tfr_queue *queue, tfr_cu_event *begin,
                   const tfr_profile_record *what)
{
    cuda_profile *p = &device->profile;
    struct cuda_span span = {.begin = begin, .record = *what};

    if (!begin || device->is_dead)
        return;
    span.end = record(queue->stream);
    span.record.lane = queue->lane;
    pthread_mutex_lock(&p->lock);
    if (!p->spans)
        p->spans = calloc(MOST_SPANS, sizeof *p->spans);
    if (span.end && p->spans && p->n < MOST_SPANS) {
        p->spans[p->n++] = span;
        memset(&span, 0, sizeof span);
    }
    pthread_mutex_unlock(&p->lock);
    forget(device, &span); /* what has no room */
}

/* ---- the facet ------------------------------------------------------------------------------- */

static void forget_all(tfr_plugin_device *device)
{
    cuda_profile *p = &device->profile;

    for (size_t i = 0; i < p->n; i++)
        forget(device, &p->spans[i]);
    p->n = p->n_drained = 0;
}

void cuda_profile_close(tfr_plugin_device *device)
{
    forget_all(device);
    if (device->profile.base && !device->is_dead)
        (void)cuda_driver.cuEventDestroy_v2(device->profile.base);
    device->profile.base = NULL;
    free(device->profile.spans);
    device->profile.spans = NULL;
}

static int32_t cuda_profile_start(tfr_plugin_device *device, int32_t on, tfr_err *err)
{
    cuda_profile *p = &device->profile;
    int32_t status = cuda_enter(device, err);

    if (status != TFR_OK)
        return status;
    pthread_mutex_lock(&p->lock);
    forget_all(device);
    if (on)
        status = set_base(device, err);
    atomic_store(&p->is_on, on && status == TFR_OK);
    pthread_mutex_unlock(&p->lock);
    cuda_leave(device);
    return status;
}

/* False: the driver does not know, or not yet. */
static bool tell(const cuda_profile *p, const struct cuda_span *span, tfr_profile_record *out)
{
    float since = 0, took = 0;

    if (cuda_driver.cuEventElapsedTime(&since, p->base, span->begin) != TFR_CU_SUCCESS ||
        cuda_driver.cuEventElapsedTime(&took, span->begin, span->end) != TFR_CU_SUCCESS)
        return false;
    *out = span->record;
    out->begin_ns = p->base_ns + (uint64_t)((double)(since < 0 ? 0 : since) * 1e6);
    out->end_ns = out->begin_ns + (uint64_t)((double)(took < 0 ? 0 : took) * 1e6);
    return true;
}

static int32_t cuda_profile_drain(tfr_plugin_device *device, tfr_profile_record *out,
                                  uint32_t stride, uint32_t *n, tfr_err *err)
{
    cuda_profile *p = &device->profile;
    const uint32_t capacity = *n;
    int32_t status = cuda_enter(device, err);

    *n = 0;
    if (status != TFR_OK)
        return status;
    pthread_mutex_lock(&p->lock);
    while (*n < capacity && p->n_drained < p->n) {
        tfr_profile_record record;
        if (tell(p, &p->spans[p->n_drained++], &record)) {
            tfr_list_put(out, stride, capacity, *n, &record, sizeof record);
            (*n)++;
        }
    }
    if (p->n_drained == p->n && p->n) { /* so that times since the base stay exact */
        forget_all(device);
        status = set_base(device, err);
    }
    pthread_mutex_unlock(&p->lock);
    cuda_leave(device);
    return status;
}

const tfr_profile_facet cuda_profile_facet = {
    .size = sizeof cuda_profile_facet,
    .start = cuda_profile_start,
    .drain = cuda_profile_drain,
};
