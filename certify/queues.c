/* SPDX-License-Identifier: Apache-2.0 */
/* queues.c: see queues.h. */
#include "queues.h"

#include <string.h>

enum { MOST_BYTES = 65536, LEAST_BYTES = 256, N_CALLS = 12 };
#define LONG_NS UINT64_C(60000000000) /* for what has to come and may not */

tfr_status queues_signal(queues *q, int i, tfr_err *err)
{
    direct_device *d = &q->device;
    return (tfr_status)d->tables->queue.signal(d->device, q->queue[i], q->fence[i], ++q->value[i],
                                               err);
}

tfr_status queues_wait_for(queues *q, int i, uint64_t value, uint64_t timeout_ns, tfr_err *err)
{
    direct_device *d = &q->device;
    return (tfr_status)d->tables->queue.host_wait(d->device, q->fence[i], value, timeout_ns, err);
}

tfr_status queues_wait(queues *q, int i, uint64_t timeout_ns, tfr_err *err)
{
    return queues_wait_for(q, i, q->value[i], timeout_ns, err);
}

tfr_status queues_follow(queues *q, int i, int other, tfr_err *err)
{
    direct_device *d = &q->device;
    return (tfr_status)d->tables->queue.wait(d->device, q->queue[i], q->fence[other],
                                             q->value[other], err);
}

tfr_status queues_work(queues *q, int i, uint32_t n, tfr_err *err)
{
    tfr_status status = TFR_OK;
    for (uint32_t k = 0; k < n && !status; k++)
        status = direct_copy(&q->device, q->queue[i], &q->buffer[k % 2], NULL,
                             &q->buffer[(k + 1) % 2], err);
    return status;
}

static tfr_status add_queue(queues *q, int i, tfr_err *err)
{
    direct_device *d = &q->device;
    tfr_queue_options how = {.size = sizeof how};
    tfr_fence_options fence = {.size = sizeof fence};
    tfr_status status = (tfr_status)d->tables->queue.create(d->device, &how, &q->queue[i], err);
    return status ? status
                  : (tfr_status)d->tables->queue.fence_create(d->device, &fence, &q->fence[i], err);
}

/* Buffers of the size that there is room for. */
static tfr_status add_buffers(queues *q, tfr_err *err)
{
    tfr_status status = TFR_ENOMEM;
    for (uint64_t bytes = MOST_BYTES; status && bytes >= LEAST_BYTES; bytes /= 4) {
        uint32_t n = 0;
        status = TFR_OK;
        while (n < QUEUES_N_BUFFERS && !status) {
            status = direct_alloc(&q->device, 0, bytes, DIRECT_POISON, &q->buffer[n], err);
            n += !status;
        }
        while (status && n > 0)
            direct_free(&q->device, &q->buffer[--n]);
        if (status != TFR_ENOMEM && status != TFR_ELIMIT)
            return status;
    }
    return status;
}

tfr_status queues_open(certify_subject *s, const tfr_option *options, uint32_t n, queues *q,
                       tfr_err *err)
{
    memset(q, 0, sizeof *q);
    tfr_status status = direct_open(s, 0, options, n, &q->device, err);
    for (int i = 0; i < 2 && !status && q->device.queue; i++)
        status = add_queue(q, i, err);
    if (!status)
        status = add_buffers(q, err);
    if (status)
        queues_close(q);
    return status;
}

void queues_close(queues *q)
{
    direct_device *d = &q->device;
    tfr_err err = TFR_ERR_INIT;
    /* Idle, with an error or not, unless a queue does not end: then nothing of it is touched. */
    for (int i = 0; i < 2 && d->device; i++)
        if (q->value[i] && queues_wait(q, i, LONG_NS, &err) == TFR_ETIMEOUT)
            return;
    for (int i = 0; i < QUEUES_N_BUFFERS; i++)
        if (q->buffer[i].base)
            direct_free(d, &q->buffer[i]);
    for (int i = 0; i < 2; i++)
        if (q->fence[i])
            d->tables->queue.fence_destroy(d->device, q->fence[i]);
    for (int i = 0; i < 2; i++)
        if (q->queue[i])
            d->tables->queue.destroy(d->device, q->queue[i]);
    direct_close(d);
}

bool queues_load(certify_subject *s)
{
    certify_found found;
    if (!certify_plugin_tables() && certify_find_calls(s, &found, 1))
        ops_call_finish(&found.call);
    return certify_plugin_tables() != NULL;
}

bool queues_begin(certify_subject *s, bool needs_queues, const tfr_option *options,
                  uint32_t n_options, queues *out, certify_verdict *v)
{
    tfr_err err = TFR_ERR_INIT;
    memset(out, 0, sizeof *out);
    if (!queues_load(s)) {
        certify_set(v, CERTIFY_UNSUPPORTED, "the plugin takes no shared call");
        return false;
    }
    if (needs_queues && !certify_plugin_tables()->queue.create) {
        certify_set(v, CERTIFY_UNSUPPORTED, "the plugin has no queues");
        return false;
    }
    if (needs_queues && !certify_plugin_tables()->memory.copy) {
        certify_set(v, CERTIFY_UNSUPPORTED, "the plugin has no copies to keep a queue busy with");
        return false;
    }
    certify_tell_place(s->options, "device", 0, "opened beside tfrun's own");
    if (!queues_open(s, options, n_options, out, &err))
        return true;
    certify_set(v, CERTIFY_FAILED, "the device cannot be opened beside tfrun's own: %s", err.text);
    return false;
}

/* A kernel whose launches are all alike, and leave the host alone. */
static bool suits(const direct_kernel *k)
{
    for (uint32_t i = 0; i < k->call->copy.call->n_outputs; i++)
        if (k->call->copy.call->outputs[i].flags & TFR_OPERAND_DYNAMIC)
            return false;
    return !k->answer.host_inputs && !k->answer.host_outputs &&
           !(k->info.flags & (TFR_ANSWER_RANDOM | TFR_ANSWER_NONDETERMINISTIC)) &&
           tfr_tensor_elements(k->call->expected[0]) > 0;
}

static bool try_kernel(certify_subject *s, queues *q, queues_kernel *k)
{
    char text[400];
    tfr_err err = TFR_ERR_INIT;
    if (!direct_call_make(s, &k->found.call, &k->call, text, sizeof text))
        return false;
    if (!direct_prepare(&q->device, &k->call, &k->kernel, &err)) {
        if (suits(&k->kernel) &&
            !direct_launch_make(&q->device, &k->kernel, -1, 0xff, &k->launch, &err))
            return true;
        direct_drop(&q->device, &k->kernel);
    }
    direct_call_free(&k->call);
    return false;
}

bool queues_prepare(certify_subject *s, queues *q, queues_kernel *out, certify_verdict *v)
{
    certify_found found[N_CALLS];
    const uint32_t n = certify_find_calls(s, found, N_CALLS);
    bool good = false;
    for (uint32_t i = 0; i < n; i++) {
        if (good) {
            ops_call_finish(&found[i].call);
            continue;
        }
        memset(out, 0, sizeof *out);
        out->found = found[i];
        good = try_kernel(s, q, out);
        if (!good)
            ops_call_finish(&found[i].call);
    }
    if (!good)
        certify_set(v, CERTIFY_UNSUPPORTED, "no shared call is a kernel that works on the device");
    return good;
}

void queues_drop(queues *q, queues_kernel *k)
{
    direct_launch_free(&q->device, &k->launch);
    direct_drop(&q->device, &k->kernel);
    direct_call_free(&k->call);
    ops_call_finish(&k->found.call);
}
