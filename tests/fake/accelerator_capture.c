/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accelerator_capture.c: the fake accelerator's captures. An executable is the pieces of work that
 * its launches would have put on the queue. It knows the memory that they use: once some of that is
 * freed, to launch it is a breach, and so is anything else that plugin_capture.h forbids.
 */
#include "accelerator.h"

#include <stdlib.h>
#include <string.h>

_Thread_local tfr_queue *fake_capturing;

int32_t fake_check_capture(const tfr_queue *queue, const char *what, tfr_err *err)
{
    if (fake_capturing && queue != fake_capturing)
        return fake_breach(err, "%s by a thread that captures", what);
    if (queue && !fake_capturing) {
        pthread_mutex_lock(&fake_lock);
        const bool captures = queue->capture != NULL;
        pthread_mutex_unlock(&fake_lock);
        if (captures)
            return fake_breach(err, "%s of a queue that another thread captures", what);
    }
    return TFR_OK;
}

void fake_forget_block(tfr_plugin_device *device, const fake_block *block)
{
    for (tfr_executable *e = device->executables; e; e = e->next)
        for (const fake_item *item = e->first; item && !e->is_gone; item = item->next)
            for (int i = 0; i < FAKE_MAX_BLOCKS; i++)
                e->is_gone = e->is_gone || item->blocks[i] == block;
}

bool fake_is_captured(const tfr_plugin_device *device, const tfr_kernel *kernel)
{
    for (const tfr_executable *e = device->executables; e; e = e->next)
        for (const fake_item *item = e->first; item; item = item->next)
            if (item->kernel == kernel)
                return true;
    return false;
}

static void executable_free(tfr_executable *e)
{
    while (e && e->first) {
        fake_item *item = e->first;
        e->first = item->next;
        free(item);
    }
    free(e);
}

static int32_t fake_begin(tfr_plugin_device *device, tfr_queue *queue, tfr_err *err)
{
    int32_t status =
        queue ? fake_enter_queue(device, queue, err) : fake_breach(err, "begin without a queue");
    if (status)
        return status;
    if (device->capture == FAKE_BEGIN_FAILS) {
        status = tfr_fail(err, TFR_EUNSUPPORTED, "the option capture is %d", FAKE_BEGIN_FAILS);
    } else if (queue->capture) {
        status = fake_breach(err, "begin on a queue that captures already");
    } else {
        tfr_executable *e = calloc(1, sizeof *e);
        if (e) {
            e->end = &e->first;
            pthread_mutex_lock(&fake_lock);
            queue->capture = e;
            pthread_mutex_unlock(&fake_lock);
            fake_capturing = queue;
        } else {
            status = tfr_fail(err, TFR_ENOMEM, "no host memory for a capture");
        }
    }
    fake_leave_queue(device, queue);
    return status;
}

static int32_t fake_end(tfr_plugin_device *device, tfr_queue *queue, tfr_executable **out,
                        tfr_err *err)
{
    int32_t status = fake_check_device(device, err);
    char text[64];
    if (status)
        return status;
    if (!queue || fake_capturing != queue)
        return fake_breach(err, "end by a thread that has not begun");
    pthread_mutex_lock(&fake_lock);
    tfr_executable *e = queue->capture;
    queue->capture = NULL;
    fake_capturing = NULL;
    snprintf(text, sizeof text, "%u pieces of work captured", e->n_items);
    if (device->is_lost)
        status = fake_lost(device, err);
    else if (device->capture == FAKE_END_FAILS)
        status = tfr_fail(err, TFR_EUNSUPPORTED, "the option capture is %d", FAKE_END_FAILS);
    if (!status && out) {
        e->next = device->executables;
        device->executables = e;
        *out = e;
        e = NULL;
    }
    pthread_mutex_unlock(&fake_lock);
    if (!e)
        fake_host->log(TFR_LOG_DEBUG, FAKE_NAME, text);
    executable_free(e);
    return status;
}

/* With the lock held. */
static int32_t check_launch(const tfr_plugin_device *device, const tfr_executable *executable,
                            tfr_err *err)
{
    const tfr_executable *e;
    for (e = device->executables; e && e != executable; e = e->next)
        ;
    if (!e)
        return fake_breach(err, "launch of executable %p, which end did not give",
                           (const void *)executable);
    if (e->is_gone)
        return fake_breach(err, "launch of an executable whose memory is gone");
    if (e->n_pending > 0)
        return fake_breach(err, "launch of an executable that is still at work");
    return device->capture == FAKE_REPLAY_FAILS ? tfr_fail(err, TFR_EDEVICE,
                                                           "the option capture "
                                                           "is %d",
                                                           FAKE_REPLAY_FAILS)
                                                : TFR_OK;
}

static int32_t fake_replay(tfr_plugin_device *device, tfr_queue *queue, tfr_executable *executable,
                           tfr_err *err)
{
    fake_item *copies = NULL, **end = &copies;
    int32_t status =
        queue ? fake_enter_queue(device, queue, err) : fake_breach(err, "launch without a queue");
    if (status)
        return status;
    pthread_mutex_lock(&fake_lock);
    status = queue->capture ? fake_breach(err, "launch of an executable on a queue that captures")
                            : check_launch(device, executable, err);
    for (const fake_item *item = status ? NULL : executable->first; item; item = item->next) {
        *end = malloc(sizeof **end);
        if (!*end) {
            status = tfr_fail(err, TFR_ENOMEM, "no host memory for a piece of work");
            break;
        }
        memcpy(*end, item, sizeof *item);
        (*end)->next = NULL;
        (*end)->executable = executable;
        end = &(*end)->next;
    }
    while (copies) {
        fake_item *item = copies;
        const int32_t node = item->node;
        copies = item->next;
        if (status) {
            free(item);
            continue;
        }
        executable->n_pending++;
        fake_push(device, queue, item);
        item->node = node;
    }
    pthread_mutex_unlock(&fake_lock);
    fake_leave_queue(device, queue);
    return status;
}

static void fake_executable_drop(tfr_plugin_device *device, tfr_executable *executable)
{
    tfr_executable **at;
    const char *breach = NULL;
    if (!executable || !fake_enter_void(device, "drop of an executable"))
        return;
    pthread_mutex_lock(&fake_lock);
    for (at = &device->executables; *at && *at != executable; at = &(*at)->next)
        ;
    while (*at && executable->n_pending > 0 && device->is_lost)
        pthread_cond_wait(&device->changed, &fake_lock);
    if (!*at) {
        breach = "which end did not give";
    } else if (executable->n_pending > 0) {
        breach = "which is at work";
    } else {
        *at = executable->next;
        executable_free(executable);
    }
    pthread_mutex_unlock(&fake_lock);
    if (breach)
        fake_breach_later(device, "drop of executable %p, %s", (void *)executable, breach);
    fake_leave(device);
}

const tfr_capture_facet fake_capture_facet = {
    .size = sizeof fake_capture_facet,
    .begin = fake_begin,
    .end = fake_end,
    .launch = fake_replay,
    .drop = fake_executable_drop,
};
