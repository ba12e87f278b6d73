/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_buffers.c: the third pass, its data: a buffer for each value in each memory where somebody
 * reads it, and the steps that fill it: copies between memories, reorders of strided inputs and of
 * layouts. Who reads is plan_steps.c.
 *
 * Order between memories: what is put on one queue runs in order, and the host runs its own steps
 * in order. Only where the host (or another queue, through the host) reads or overwrites host
 * memory that a queue may still use, a sync step comes before. `pending` holds, per host buffer,
 * the stream whose queue may still use it; what comes in is only read, so any may read it at once.
 * Lifetimes of host buffers that a queue uses are stretched to that queue's next sync.
 *
 * Backends whose memory is one domain read each other's buffers where they are. The host waits for
 * the maker's queue before another plugin's reads them, for fences are a plugin's own; when they
 * are free again is as with copies over a link.
 *
 * Between two devices whose plugin has a link, the queue of the reader waits for the maker's and
 * copies from its memory itself. The maker does not wait for the copy: the buffer that it reads
 * lives until the maker's queue, or the host, waits for the reader's for another reason.
 */
#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "device/constant.h"
#include "plan/plan_steps.h"

tfr_status tfr__steps_reserve(void *array_pointer, uint32_t n, uint32_t *capacity, size_t size,
                              tfr_err *err)
{
    return tfr__reserve(array_pointer, n, capacity, size) ? TFR_OK : tfr__no_memory(err);
}

tfr_status tfr__steps_buffer(tfr__steps *s, tfr__buffer_kind kind, uint32_t memory, uint64_t bytes,
                             uint32_t *out, tfr_err *err)
{
    tfr__plan *p = s->p;
    tfr_status status = tfr__steps_reserve(&p->buffers, p->n_buffers + 1, &s->buffers_capacity,
                                           sizeof *p->buffers, err);
    if (!status)
        status = tfr__steps_reserve(&s->pending, p->n_buffers + 1, &s->pending_capacity,
                                    sizeof *s->pending, err);
    if (status)
        return status;
    memset(&p->buffers[p->n_buffers], 0, sizeof *p->buffers);
    p->buffers[p->n_buffers].kind = kind;
    p->buffers[p->n_buffers].memory = memory;
    p->buffers[p->n_buffers].bytes = bytes;
    p->buffers[p->n_buffers].value = TFR_VALUE_NONE;
    p->buffers[p->n_buffers].first = UINT32_MAX;
    s->pending[p->n_buffers] = (tfr__pending){0, 0, false};
    *out = p->n_buffers++;
    return TFR_OK;
}

tfr_status tfr__steps_add(tfr__steps *s, tfr__step_kind kind, uint32_t stream, tfr__step **out,
                          tfr_err *err)
{
    tfr__plan *p = s->p;
    tfr_status status =
        tfr__steps_reserve(&p->steps, p->n_steps + 1, &s->steps_capacity, sizeof *p->steps, err);
    if (status)
        return status;
    *out = &p->steps[p->n_steps++];
    memset(*out, 0, sizeof **out);
    (*out)->kind = kind;
    (*out)->node = (*out)->program = -1;
    (*out)->stream = stream;
    (*out)->plan = p;
    if (stream != TFR__NO_STREAM)
        (*out)->backend = s->b->streams->items[stream].backend;
    (*out)->workspace = (*out)->random = (*out)->dst = (*out)->src = TFR__NO_BUFFER;
    (*out)->from = TFR__NO_STREAM;
    if (stream != TFR__NO_STREAM && kind == TFR__STEP_SYNC) /* whoever comes later is in order */
        for (uint32_t e = 0; e < s->b->streams->n; e++)
            s->ordered[(size_t)e * s->b->streams->n + stream] = p->n_steps;
    else if (stream != TFR__NO_STREAM && kind != TFR__STEP_ORDER)
        s->n_put[stream] = p->n_steps;
    return TFR_OK;
}

static tfr_status wait_for(tfr__steps *s, uint32_t stream, tfr_err *err)
{
    tfr__step *step;
    tfr_status status = tfr__steps_add(s, TFR__STEP_SYNC, stream, &step, err);
    if (status)
        return status;
    s->p->n_syncs++;
    s->n_syncs[stream]++;
    return TFR_OK;
}

tfr_status tfr__steps_order(tfr__steps *s, uint32_t later, uint32_t earlier, tfr_err *err)
{
    uint32_t *ordered = &s->ordered[(size_t)later * s->b->streams->n + earlier];
    const tfr__stream *items = s->b->streams->items;
    const bool on_host = !tfr__steps_is_queued(s, later) ||
                         items[later].backend->plugin != items[earlier].backend->plugin;
    tfr__step *step;
    tfr_status status;
    if (!tfr__steps_is_queued(s, earlier) || *ordered >= s->n_put[earlier])
        return TFR_OK;
    if (on_host)
        return wait_for(s, earlier, err);
    status = tfr__steps_add(s, TFR__STEP_ORDER, later, &step, err);
    if (status)
        return status;
    step->from = earlier;
    *ordered = s->p->n_steps;
    return TFR_OK;
}

uint32_t tfr__steps_pending(const tfr__steps *s, uint32_t buffer)
{
    const tfr__pending *p = &s->pending[buffer];
    return p->stream && p->n_syncs == s->n_syncs[p->stream - 1] ? p->stream : 0;
}

tfr_status tfr__steps_settle(tfr__steps *s, uint32_t buffer, uint32_t stream, bool by_host,
                             tfr_err *err)
{
    uint32_t other = tfr__steps_pending(s, buffer);
    if (!other || (!by_host && other == stream + 1))
        return TFR_OK;
    return wait_for(s, other - 1, err);
}

void tfr__steps_touch(tfr__steps *s, uint32_t buffer, uint32_t stream)
{
    const tfr__buffer *b = &s->p->buffers[buffer];
    if (b->kind != TFR__BUFFER_LIVE_IN && b->memory == TFR__MEMORY_HOST &&
        tfr__steps_is_queued(s, stream))
        s->pending[buffer] = (tfr__pending){stream + 1, s->n_syncs[stream], false};
}

/* ---- buffers for values ---------------------------------------------------------------------- */

/* Not what a run was given or has computed: that memory may be written once the run is over. */
static bool is_of_graph(const tfr__steps *s, tfr_value v)
{
    const tfr__value *value = &s->b->graph->values[v];
    return value->role == TFR__ROLE_CONSTANT && value->tensor == s->b->known[v];
}

/* Known values: the host's tensor itself, or a copy in the device's memory: tfr__steps_upload. */
static tfr_status known_buffer(tfr__steps *s, tfr_value v, uint32_t memory, uint32_t *out,
                               tfr_err *err)
{
    tfr_tensor *t = s->b->known[v];
    tfr__buffer *buffer;
    tfr_status status = tfr__steps_buffer(s, TFR__BUFFER_CONSTANT, memory, t->bytes, out, err);
    if (status)
        return status;
    buffer = &s->p->buffers[*out];
    buffer->value = v;
    if (memory == TFR__MEMORY_HOST) {
        buffer->tensor = t;
        buffer->address = tfr__tensor_data(t);
        if (t->bytes && !buffer->address)
            return tfr_fail(err, TFR_ENOMEM, "no memory for %zu bytes of a constant", t->bytes);
        return tfr__build_keep(s->b, t, err);
    }
    return tfr__constant_get(s->b->streams, memory, t, is_of_graph(s, v),
                             s->b->graph->values[v].name, &buffer->constant, err);
}

tfr_status tfr__steps_upload(tfr__steps *s, tfr_err *err)
{
    tfr__streams *streams = s->b->streams;
    tfr_status status = TFR_OK;
    for (uint32_t m = 1; !status && m < s->n_memories; m++) {
        bool waits = false;
        for (uint32_t i = 0; i < s->p->n_buffers; i++) {
            const tfr__buffer *b = &s->p->buffers[i];
            waits = waits || (b->memory == m && b->constant && !b->constant->tensor);
        }
        if (waits)
            status = tfr__stream_sync(&streams->items[tfr__steps_stream_of(s, m)], err);
    }
    for (uint32_t i = 0; !status && i < s->p->n_buffers; i++) {
        tfr__buffer *b = &s->p->buffers[i];
        if (b->constant && is_of_graph(s, b->value))
            b->constant =
                tfr__constant_share(streams, b->memory, s->b->known[b->value], b->constant);
        if (b->constant)
            b->address = b->constant->address;
    }
    return status;
}

static void count_copy(tfr__steps *s, tfr__step *copy, uint64_t bytes)
{
    copy->bytes = bytes;
    s->p->n_copies++;
    s->p->copy_bytes += bytes;
    if (s->placed) {
        s->placed->n_copies++;
        s->placed->copy_bytes += bytes;
    }
}

/* The host's is written before a run walks; from there a copy goes to a device. */
tfr_status tfr__steps_random(tfr__steps *s, uint32_t memory, uint32_t *out, tfr_err *err)
{
    const uint64_t bytes = sizeof(tfr_random_state);
    uint32_t host;
    tfr__step *step;
    tfr_status status = TFR_OK;
    if (s->random[memory] != TFR__NO_BUFFER) {
        *out = s->random[memory];
        return TFR_OK;
    }
    if (memory == TFR__MEMORY_HOST) {
        status = tfr__steps_buffer(s, TFR__BUFFER_CONSTANT, memory, bytes, out, err);
        if (!status)
            status = tfr__stream_alloc(s->b->streams, memory, bytes, TFR_ALLOC_STAGING,
                                       "random state of graph", s->b->graph->name,
                                       &s->p->buffers[*out].address, err);
        if (!status)
            s->p->random = s->p->buffers[*out].address;
    } else {
        const uint32_t stream = tfr__steps_stream_of(s, memory);
        status = tfr__steps_random(s, TFR__MEMORY_HOST, &host, err);
        if (!status)
            status = tfr__steps_buffer(s, TFR__BUFFER_ARENA, memory, bytes, out, err);
        if (!status)
            status = tfr__steps_add(s, TFR__STEP_COPY, stream, &step, err);
        if (!status) {
            step->dst = *out;
            step->src = host;
            step->to_device = true;
            count_copy(s, step, bytes);
            tfr__steps_touch(s, host, stream);
        }
    }
    if (!status)
        s->random[memory] = *out;
    return status;
}

tfr_status tfr__steps_live_in(tfr__steps *s, tfr_value v, uint32_t *out, tfr_err *err)
{
    tfr_status status = tfr__steps_buffer(s, TFR__BUFFER_LIVE_IN, TFR__MEMORY_HOST,
                                          tfr__steps_value_bytes(s->b, v), out, err);
    if (!status)
        s->p->buffers[*out].value = v;
    return status;
}

tfr_status tfr__steps_becomes_tensor(tfr__steps *s, uint32_t buffer, tfr_value v, tfr_err *err)
{
    const tfr__type *type = &s->b->types[v];
    s->p->buffers[buffer].value = v;
    s->p->buffers[buffer].dtype = type->dtype;
    return tfr_shape_make(type->rank, type->dims, &s->p->buffers[buffer].shape, err);
}

/* The plain form of a live-in that is strided or not aligned to its elements. */
static tfr_status plain_buffer(tfr__steps *s, tfr_value v, uint32_t *out, tfr_err *err)
{
    tfr__step *step;
    tfr__buffer_kind kind =
        s->b->types[v].dtype == TFR_DTYPE_STRING ? TFR__BUFFER_TENSOR : TFR__BUFFER_ARENA;
    uint32_t src = *tfr__steps_where(s, TFR__MEMORY_HOST, v);
    tfr_status status = TFR_OK;
    if (s->plain[v] != TFR__NO_BUFFER) {
        *out = s->plain[v];
        return TFR_OK;
    }
    if (src == TFR__NO_BUFFER) {
        status = tfr__steps_live_in(s, v, &src, err);
        *tfr__steps_where(s, TFR__MEMORY_HOST, v) = src;
    }
    if (!status)
        status =
            tfr__steps_buffer(s, kind, TFR__MEMORY_HOST, tfr__steps_value_bytes(s->b, v), out, err);
    if (status)
        return status;
    status = tfr__steps_becomes_tensor(s, *out, v, err);
    s->plain[v] = *out;
    if (status)
        return status;
    status = tfr__steps_add(s, TFR__STEP_REORDER, TFR__NO_STREAM, &step, err);
    if (status)
        return status;
    step->dst = *out;
    step->src = src;
    step->live_in = s->b->live_in[v] - 1;
    s->p->n_reorders++;
    return TFR_OK;
}

tfr_status tfr__steps_result(tfr__steps *s, tfr_value v, uint32_t memory, uint32_t *out,
                             tfr_err *err)
{
    tfr__build *b = s->b;
    tfr_value leaves = b->live_out[b->root[v]];
    bool strings = b->types[v].dtype == TFR_DTYPE_STRING;
    bool tensor = memory == TFR__MEMORY_HOST && (leaves != TFR_VALUE_NONE || strings);
    tfr_status status = tfr__steps_buffer(s, tensor ? TFR__BUFFER_TENSOR : TFR__BUFFER_ARENA,
                                          memory, tfr__steps_value_bytes(b, v), out, err);
    if (status)
        return status;
    if (leaves == TFR_VALUE_NONE)
        leaves = v;
    s->p->buffers[*out].value = leaves;
    return tensor ? tfr__steps_becomes_tensor(s, *out, leaves, err) : TFR_OK;
}

const tfr__group *tfr__steps_laid_by(const tfr__steps *s, tfr_value v)
{
    const tfr__build *b = s->b;
    return s->in_layout[v] == TFR__NO_BUFFER ? NULL
                                             : &b->groups[b->nodes[tfr__build_maker(b, v)].group];
}

/* The plain form of a value that only programs of one backend can read, in that one's memory. */
static tfr_status unlay(tfr__steps *s, tfr_value v, const tfr__group *maker, tfr_err *err)
{
    uint32_t memory = s->b->streams->items[maker->stream].memory, dst;
    tfr__step *step;
    tfr_status status = tfr__steps_result(s, v, memory, &dst, err);
    if (!status)
        status = tfr__steps_becomes_tensor(s, dst, v, err);
    if (!status)
        status = tfr__steps_add(s, TFR__STEP_LAYOUT, maker->stream, &step, err);
    if (status)
        return status;
    step->dst = dst;
    step->src = s->in_layout[v];
    step->layout = s->b->layouts[v].layout;
    step->program = s->p->placed[maker->first].program;
    tfr__steps_touch(s, dst, maker->stream);
    tfr__steps_touch(s, step->src, maker->stream);
    *tfr__steps_where(s, memory, v) = dst;
    s->p->n_reorders++;
    return TFR_OK;
}

/* Whether one copy gets from one memory of a device into another's. */
static bool is_linked(const tfr__steps *s, uint32_t to, uint32_t from)
{
    tfr__stream *items = s->b->streams->items;
    tfr__stream *a = &items[tfr__steps_stream_of(s, to)],
                *b = &items[tfr__steps_stream_of(s, from)];
    tfr_link link;
    return !a->queue == !b->queue && tfr__backend_reaches(a->backend, b->backend, &link);
}

/* Does v lie in this memory itself, and not only for those who share it? */
static bool is_own(tfr__steps *s, tfr_value v, uint32_t memory)
{
    const uint32_t buffer = *tfr__steps_where(s, memory, v);
    return buffer != TFR__NO_BUFFER && s->p->buffers[buffer].memory == memory;
}

/*
 * The memory that a copy of v is taken from. Of the devices that have it the host takes any,
 * another device one that it has a link with; else, and if the host has the value at hand, it gets
 * it from there.
 */
static uint32_t memory_of(tfr__steps *s, tfr_value v, uint32_t memory)
{
    const uint32_t host = *tfr__steps_where(s, TFR__MEMORY_HOST, v);
    uint32_t from = TFR__MEMORY_HOST;
    if (host != TFR__NO_BUFFER && !tfr__steps_pending(s, host))
        return from;
    for (uint32_t m = 1; m < s->n_memories; m++)
        if (is_own(s, v, m) && (memory == TFR__MEMORY_HOST || is_linked(s, memory, m)))
            from = m;
    return from;
}

/* v where a backend of the same domain has it, to be read from there; TFR__NO_BUFFER: nowhere. */
static tfr_status shared_buffer(tfr__steps *s, tfr_value v, uint32_t memory, uint32_t *out,
                                tfr_err *err)
{
    const tfr__stream *items = s->b->streams->items;
    *out = TFR__NO_BUFFER;
    if (memory == TFR__MEMORY_HOST)
        return TFR_OK;
    for (uint32_t m = 1; m < s->n_memories; m++) {
        const uint32_t reader = tfr__steps_stream_of(s, memory), maker = tfr__steps_stream_of(s, m);
        if (!is_own(s, v, m) || !tfr__backend_shares(items[reader].backend, items[maker].backend))
            continue;
        *out = *tfr__steps_where(s, m, v);
        if (s->p->buffers[*out].kind == TFR__BUFFER_CONSTANT) /* is there since the plan was made */
            return TFR_OK;
        s->pending[*out].is_shared = true;
        return tfr__steps_order(s, reader, maker, err);
    }
    return TFR_OK;
}

/* What a copy reads, ready to be read by the stream's queue, and what it writes. */
static tfr_status copy_ends(tfr__steps *s, tfr_value v, uint32_t memory, uint32_t from,
                            uint32_t stream, uint32_t *src, uint32_t *dst, tfr_err *err)
{
    tfr_status status = TFR_OK;
    if (from == TFR__MEMORY_HOST) {
        status = tfr__steps_bring(s, v, from, src, err);
        if (!status)
            status = tfr__steps_settle(s, *src, stream, false, err);
    } else {
        *src = *tfr__steps_where(s, from, v);
        if (memory == TFR__MEMORY_HOST)
            return tfr__steps_result(s, v, memory, dst, err);
        status = tfr__steps_order(s, stream, tfr__steps_stream_of(s, from), err);
        s->pending[*src].is_shared = true;
    }
    return status ? status
                  : tfr__steps_buffer(s, TFR__BUFFER_ARENA, memory, tfr__steps_value_bytes(s->b, v),
                                      dst, err);
}

/* A copy of a value that is in another memory; without a link, devices exchange through the host.
 */
static tfr_status copied_buffer(tfr__steps *s, tfr_value v, uint32_t memory, uint32_t *out,
                                tfr_err *err)
{
    const bool to_device = memory != TFR__MEMORY_HOST;
    const uint32_t from = memory_of(s, v, memory);
    uint32_t stream, src;
    tfr__step *step;
    tfr_status status;
    if (!to_device && from == TFR__MEMORY_HOST)
        return tfr_fail(err, TFR_EINTERNAL, "value \"%s\" is nowhere", s->b->graph->values[v].name);
    stream = tfr__steps_stream_of(s, to_device ? memory : from);
    status = copy_ends(s, v, memory, from, stream, &src, out, err);
    if (!status)
        status = tfr__steps_add(s, TFR__STEP_COPY, stream, &step, err);
    if (status)
        return status;
    step->dst = *out;
    step->src = src;
    step->to_device = to_device;
    if (to_device && from != TFR__MEMORY_HOST)
        step->from = tfr__steps_stream_of(s, from);
    /* Runs that are repeated read it again (plan_bind.c has its lifetime). */
    s->pending[*out].is_shared = to_device && s->p->n_variables;
    count_copy(s, step, tfr__steps_value_bytes(s->b, v));
    tfr__steps_touch(s, to_device ? src : *out, stream);
    return TFR_OK;
}

tfr_status tfr__steps_bring(tfr__steps *s, tfr_value v, uint32_t memory, uint32_t *out,
                            tfr_err *err)
{
    tfr__build *b = s->b;
    uint32_t *at = tfr__steps_where(s, memory, v);
    const bool variable = tfr__build_variable(b, v) >= 0;
    tfr_tensor *live_in = b->known[v] || variable ? NULL : tfr__build_live_in(b, v);
    const tfr__group *maker = tfr__steps_laid_by(s, v);
    tfr_status status;
    if (variable && *tfr__steps_where(s, tfr__steps_home(s, v)->memory, v) == TFR__NO_BUFFER) {
        status = tfr__steps_state(s, v, out, err);
        if (status)
            return status;
    }
    if (maker &&
        *tfr__steps_where(s, b->streams->items[maker->stream].memory, v) == TFR__NO_BUFFER) {
        status = unlay(s, v, maker, err);
        if (status)
            return status;
    }
    if (memory == TFR__MEMORY_HOST && live_in &&
        !(live_in->plain && tfr__tensor_is_aligned(live_in)))
        return plain_buffer(s, v, out, err);
    if (*at != TFR__NO_BUFFER) {
        *out = *at;
        return TFR_OK;
    }
    status = shared_buffer(s, v, memory, out, err);
    if (status || *out != TFR__NO_BUFFER)
        ;
    else if (b->known[v])
        status = known_buffer(s, v, memory, out, err);
    else if (memory == TFR__MEMORY_HOST && live_in)
        status = tfr__steps_live_in(s, v, out, err);
    else
        status = copied_buffer(s, v, memory, out, err);
    if (!status)
        *at = *out;
    return status;
}
