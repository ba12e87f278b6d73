/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accelerator_profile.c: records of the fake accelerator's queues: launches with an id, and all
 * copies, with the times of the queue's own thread. A drain with work under way is a breach.
 */
#include "accelerator.h"

#include <string.h>
#include <time.h>

uint64_t fake_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void fake_record(tfr_queue *queue, const fake_item *item, uint64_t began)
{
    static const char *const names[] = {"fake add", "fake mul", "fake relu", "fake matmul"};
    tfr_plugin_device *device = queue->device;
    const bool is_copy = item->kind == FAKE_COPY;
    if (!device->is_profiled || device->n_records == FAKE_MAX_RECORDS ||
        !(is_copy || (item->kind == FAKE_LAUNCH && item->id)))
        return;
    tfr_profile_record *record = &device->records[device->n_records++];
    *record = (tfr_profile_record){.size = sizeof *record,
                                   .kind = is_copy ? TFR_PROFILE_COPY : TFR_PROFILE_KERNEL,
                                   .id = item->id,
                                   .node = item->node,
                                   .begin_ns = began,
                                   .end_ns = fake_now_ns(),
                                   .bytes = is_copy ? item->bytes : 0};
    snprintf(record->name, sizeof record->name, "%s",
             is_copy ? "fake copy" : names[item->kernel->op]);
}

static int32_t fake_start(tfr_plugin_device *device, int32_t on, tfr_err *err)
{
    int32_t status = fake_enter(device, err);
    if (status)
        return status;
    if (!device->may_profile) {
        fake_leave(device);
        return tfr_fail(err, TFR_EUNSUPPORTED, "the option profile says no");
    }
    pthread_mutex_lock(&fake_lock);
    device->is_profiled = on != 0;
    pthread_mutex_unlock(&fake_lock);
    fake_leave(device);
    return TFR_OK;
}

static int32_t fake_drain(tfr_plugin_device *device, tfr_profile_record *out, uint32_t stride,
                          uint32_t *n, tfr_err *err)
{
    const uint32_t capacity = *n;
    int32_t status = fake_enter(device, err);
    if (status)
        return status;
    pthread_mutex_lock(&fake_lock);
    for (const tfr_queue *q = device->queues; q; q = q->next)
        if (q->first)
            status = TFR_EBUSY;
    if (!status) {
        *n = device->n_records < capacity ? device->n_records : capacity;
        for (uint32_t i = 0; i < *n; i++)
            tfr_list_put(out, stride, *n, i, &device->records[i], sizeof *out);
        device->n_records -= *n;
        memmove(device->records, device->records + *n, device->n_records * sizeof *out);
    }
    pthread_mutex_unlock(&fake_lock);
    fake_leave(device);
    return status ? fake_breach(err, "drain of records with work under way") : TFR_OK;
}

const tfr_profile_facet fake_profile_facet = {
    .size = sizeof fake_profile_facet,
    .start = fake_start,
    .drain = fake_drain,
};
