/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams and events of the driver stand-in. A stream has a thread, which carries out its queue in
 * order. Work has a ticket, counted from 1 in each stream; an event is a stream and a ticket.
 */
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "driver.h"

static double now_ms(void)
{
    struct timespec t;
    if (fake.set.work_time)
        return fake.spent_ms;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ------------------------------------------------------------------------------------------
 * The thread of a stream.
 */
static bool may_run(const tfr_cu_stream *s)
{
    return s->first && (!fake.set.lazy || s->completed < s->wanted || s->destroyed);
}

/* Work that changes what calls look at is done with the lock, copies and kernels without. */
static tfr_cu_result carry_out(tfr_cu_stream *s, fake_op *op)
{
    switch (op->kind) {
    case OP_WAIT: {
        const tfr_cu_stream *other = op->u.wait.stream;
        while (other->completed < op->u.wait.ticket && !other->ctx->lost && !s->ctx->lost)
            pthread_cond_wait(&fake.changed, &fake.lock);
        return TFR_CU_SUCCESS;
    }
    case OP_RECORD: {
        tfr_cu_event *event = op->u.record.event;
        if (event->stream == s && event->ticket == op->u.record.ticket)
            event->when_ms = now_ms();
        return TFR_CU_SUCCESS;
    }
    case OP_ALLOC:
        fake_block_ready(op->u.block);
        return TFR_CU_SUCCESS;
    case OP_FREE:
        fake_block_release(op->u.block);
        return TFR_CU_SUCCESS;
    default:
        pthread_mutex_unlock(&fake.lock);
        tfr_cu_result result = fake_run(s->ctx, op);
        pthread_mutex_lock(&fake.lock);
        return result;
    }
}

static void *stream_thread(void *arg)
{
    tfr_cu_stream *s = arg;
    pthread_mutex_lock(&fake.lock);
    while (s->first || !s->destroyed) {
        if (!may_run(s)) {
            pthread_cond_wait(&fake.changed, &fake.lock);
            continue;
        }
        fake_op *op = s->first;
        tfr_cu_result result = s->ctx->lost || s->dropped ? TFR_CU_SUCCESS : carry_out(s, op);
        if (result)
            fake_lose(s->ctx, result);
        s->first = op->next;
        if (!s->first)
            s->last = &s->first;
        s->completed++;
        fake_op_finish(op);
        free(op);
        pthread_cond_broadcast(&fake.changed);
    }
    s->ended = true;
    fake_stream_release(s);
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.lock);
    return NULL;
}

static tfr_cu_result start(tfr_cu_stream *s)
{
    pthread_t thread;
    if (s->started)
        return TFR_CU_SUCCESS;
    if (pthread_create(&thread, NULL, stream_thread, s) != 0)
        return TFR_CU_OPERATING_SYSTEM;
    pthread_detach(thread);
    s->started = true;
    return TFR_CU_SUCCESS;
}

/* Once it is destroyed, has done its work, and nobody waits. Its events have been reached. */
void fake_stream_release(tfr_cu_stream *s)
{
    if (!s->destroyed || (s->started && !s->ended) || s->n_waiters > 0)
        return;
    for (tfr_cu_event *e = fake.events; e; e = e->next)
        if (e->stream == s)
            e->stream = NULL;
    for (tfr_cu_stream **at = &fake.streams; *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            break;
        }
    free(s);
}

void fake_want(tfr_cu_stream *s, uint64_t ticket)
{
    if (ticket <= s->wanted)
        return;
    s->wanted = ticket;
    uint64_t at = s->completed;
    for (const fake_op *op = s->first; op && at++ < ticket; op = op->next)
        if (op->kind == OP_WAIT)
            fake_want(op->u.wait.stream, op->u.wait.ticket);
    pthread_cond_broadcast(&fake.changed);
}

tfr_cu_result fake_wait(tfr_cu_stream *s, uint64_t ticket)
{
    tfr_cu_context *ctx = s->ctx;
    fake_want(s, ticket);
    s->n_waiters++;
    while (s->completed < ticket && !ctx->lost)
        pthread_cond_wait(&fake.changed, &fake.lock);
    s->n_waiters--;
    fake_stream_release(s);
    if (ctx->lost)
        ctx->told = true;
    return ctx->lost;
}

tfr_cu_result fake_wait_context(tfr_cu_context *ctx)
{
    tfr_cu_stream *s = fake.streams;
    while (s && !ctx->lost) {
        bool busy = s->ctx == ctx && s->submitted > s->completed;
        if (busy)
            fake_wait(s, s->submitted);
        /* The list may have changed while it waited. */
        s = busy ? fake.streams : s->next;
    }
    if (ctx->lost)
        ctx->told = true;
    return ctx->lost;
}

void fake_streams_drop(void)
{
    for (tfr_cu_stream *s = fake.streams, *next; s; s = next) {
        next = s->next;
        s->destroyed = s->dropped = true;
        fake_stream_release(s);
    }
    pthread_cond_broadcast(&fake.changed);
    while (fake.streams)
        pthread_cond_wait(&fake.changed, &fake.lock);
}

/* ------------------------------------------------------------------------------------------
 * Submitting.
 */
static tfr_cu_result enqueue(tfr_cu_stream *s, const fake_op *op)
{
    fake_op *copy = malloc(sizeof *copy);
    tfr_cu_result result = copy ? start(s) : TFR_CU_OUT_OF_MEMORY;
    if (result) {
        free(copy);
        return result;
    }
    *copy = *op;
    copy->next = NULL;
    if (op->kind == OP_WAIT)
        op->u.wait.stream->n_waiters++;
    else if (op->kind == OP_RECORD)
        op->u.record.event->n_records++;
    *s->last = copy;
    s->last = &copy->next;
    s->submitted++;
    pthread_cond_broadcast(&fake.changed);
    return TFR_CU_SUCCESS;
}

static tfr_cu_result wait_for(tfr_cu_stream *s, tfr_cu_stream *other)
{
    if (other == s || other->completed == other->submitted)
        return TFR_CU_SUCCESS;
    const fake_op op = {.kind = OP_WAIT, .u.wait = {other, other->submitted}};
    return enqueue(s, &op);
}

/* The legacy stream and the blocking ones of a context wait for each other. */
static tfr_cu_result order_legacy(tfr_cu_stream *s)
{
    tfr_cu_context *ctx = s->ctx;
    if (s->flags & TFR_CU_STREAM_NON_BLOCKING)
        return TFR_CU_SUCCESS;
    if (s != ctx->legacy)
        return ctx->legacy ? wait_for(s, ctx->legacy) : TFR_CU_SUCCESS;
    tfr_cu_result result = TFR_CU_SUCCESS;
    for (tfr_cu_stream *other = fake.streams; other && !result; other = other->next)
        if (other->ctx == ctx && !(other->flags & TFR_CU_STREAM_NON_BLOCKING))
            result = wait_for(s, other);
    return result;
}

tfr_cu_result fake_submit(tfr_cu_stream *s, const fake_op *op)
{
    if (s->capture)
        return fake_capture_add(s, op);
    fake_capture *capture = s == s->ctx->legacy ? fake_capture_of_blocking(s->ctx) : NULL;
    tfr_cu_result result =
        capture ? fake_capture_break(capture, TFR_CU_CAPTURE_IMPLICIT) : order_legacy(s);
    if (!result)
        result = enqueue(s, op);
    if (result && (op->kind == OP_KERNEL || op->kind == OP_GRAPH)) {
        fake_op copy = *op;
        fake_op_finish(&copy);
    }
    return result;
}

/* ------------------------------------------------------------------------------------------
 * Streams.
 */
static tfr_cu_stream *create(tfr_cu_context *ctx, unsigned flags, int priority)
{
    tfr_cu_stream *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    *s = (tfr_cu_stream){.next = fake.streams,
                         .ctx = ctx,
                         .flags = flags,
                         .priority = priority,
                         .id = fake.next_stream_id++};
    s->last = &s->first;
    fake.streams = s;
    return s;
}

tfr_cu_stream *fake_stream(tfr_cu_stream *handle)
{
    if (handle == NULL || (uintptr_t)handle == 1) {
        tfr_cu_context *ctx = fake_current();
        if (ctx && !ctx->legacy)
            ctx->legacy = create(ctx, TFR_CU_STREAM_DEFAULT, 0);
        return ctx ? ctx->legacy : NULL;
    }
    for (tfr_cu_stream *s = fake.streams; s; s = s->next)
        if (s == handle && !s->destroyed)
            return s;
    return NULL;
}

tfr_cu_result API(cuStreamCreateWithPriority)(tfr_cu_stream **stream, unsigned flags, int priority)
{
    BEGIN(cuStreamCreateWithPriority, NEEDS_CONTEXT);
    if (!stream || flags > TFR_CU_STREAM_NON_BLOCKING)
        END(TFR_CU_INVALID_VALUE);
    tfr_cu_stream *s = create(fake_current(), flags, priority);
    if (!s)
        END(TFR_CU_OUT_OF_MEMORY);
    *stream = s;
    fake_note("stream %d", s->id);
    END(TFR_CU_SUCCESS);
}

tfr_cu_result API(cuStreamDestroy_v2)(tfr_cu_stream *stream)
{
    BEGIN(cuStreamDestroy_v2, NEEDS_CONTEXT);
    tfr_cu_stream *s = stream ? fake_stream(stream) : NULL;
    if (!s || s == s->ctx->legacy)
        END(TFR_CU_INVALID_HANDLE);
    if (s->capture)
        fake_capture_end(s->capture);
    fake_note("stream %d", s->id);
    fake_want(s, s->submitted);
    s->destroyed = true;
    fake_stream_release(s);
    pthread_cond_broadcast(&fake.changed);
    END(TFR_CU_SUCCESS);
}

tfr_cu_result API(cuStreamSynchronize)(tfr_cu_stream *stream)
{
    BEGIN(cuStreamSynchronize, NEEDS_CONTEXT | IS_UNSAFE);
    tfr_cu_stream *s = fake_stream(stream);
    if (!s)
        END(TFR_CU_INVALID_HANDLE);
    fake_note("stream %d", s->id);
    if (s->capture)
        END(fake_capture_break(s->capture, TFR_CU_CAPTURE_UNSUPPORTED));
    tfr_cu_result result = fake_wait(s, s->submitted);
    fake_pools_settle();
    END(result);
}

tfr_cu_result API(cuStreamQuery)(tfr_cu_stream *stream)
{
    BEGIN(cuStreamQuery, NEEDS_CONTEXT | IS_UNSAFE);
    tfr_cu_stream *s = fake_stream(stream);
    if (!s)
        END(TFR_CU_INVALID_HANDLE);
    if (s->capture)
        END(fake_capture_break(s->capture, TFR_CU_CAPTURE_UNSUPPORTED));
    fake_want(s, s->submitted);
    END(s->completed < s->submitted ? TFR_CU_NOT_READY : TFR_CU_SUCCESS);
}

tfr_cu_result API(cuStreamGetCtx)(tfr_cu_stream *stream, tfr_cu_context **ctx)
{
    BEGIN(cuStreamGetCtx, NEEDS_CONTEXT);
    tfr_cu_stream *s = fake_stream(stream);
    if (!s || !ctx)
        END(TFR_CU_INVALID_HANDLE);
    *ctx = s->ctx;
    END(TFR_CU_SUCCESS);
}

/* ------------------------------------------------------------------------------------------
 * Events. One that was never recorded is complete.
 */
static tfr_cu_event *find_event(const tfr_cu_event *handle)
{
    for (tfr_cu_event *e = fake.events; e; e = e->next)
        if (e == handle && !e->destroyed)
            return e;
    return NULL;
}

void fake_event_release(tfr_cu_event *event)
{
    if (!event->destroyed || event->n_records > 0)
        return;
    for (tfr_cu_event **at = &fake.events; *at; at = &(*at)->next)
        if (*at == event) {
            *at = event->next;
            break;
        }
    free(event);
}

tfr_cu_result API(cuEventCreate)(tfr_cu_event **event, unsigned flags)
{
    BEGIN(cuEventCreate, NEEDS_CONTEXT);
    if (!event || flags > (TFR_CU_EVENT_BLOCKING_SYNC | TFR_CU_EVENT_DISABLE_TIMING))
        END(TFR_CU_INVALID_VALUE);
    tfr_cu_event *e = calloc(1, sizeof *e);
    if (!e)
        END(TFR_CU_OUT_OF_MEMORY);
    *e = (tfr_cu_event){.next = fake.events, .ctx = fake_current(), .flags = flags};
    fake.events = e;
    *event = e;
    END(TFR_CU_SUCCESS);
}

tfr_cu_result API(cuEventDestroy_v2)(tfr_cu_event *event)
{
    BEGIN(cuEventDestroy_v2, NEEDS_CONTEXT);
    tfr_cu_event *e = find_event(event);
    if (!e)
        END(TFR_CU_INVALID_HANDLE);
    e->destroyed = true;
    fake_event_release(e);
    END(TFR_CU_SUCCESS);
}

tfr_cu_result API(cuEventRecord)(tfr_cu_event *event, tfr_cu_stream *stream)
{
    BEGIN(cuEventRecord, NEEDS_CONTEXT);
    tfr_cu_event *e = find_event(event);
    tfr_cu_stream *s = fake_stream(stream);
    if (!e || !s || e->ctx != s->ctx)
        END(TFR_CU_INVALID_HANDLE);
    fake_note("stream %d", s->id);
    if (s->capture)
        END(fake_capture_record(e, s));
    tfr_cu_result result =
        fake_submit(s, &(fake_op){.kind = OP_RECORD, .u.record = {e, UINT64_MAX}});
    if (result)
        END(result);
    /* Waits for the legacy stream may stand in front of it. None has run yet: we hold the lock. */
    for (fake_op *op = s->first; op; op = op->next)
        if (op->kind == OP_RECORD && op->u.record.ticket == UINT64_MAX)
            op->u.record.ticket = s->submitted;
    e->stream = s;
    e->ticket = s->submitted;
    e->recorded = true;
    e->capture = NULL;
    END(TFR_CU_SUCCESS);
}

/* 907 for an event of a capture, which it breaks. */
static tfr_cu_result refuse_captured(const tfr_cu_event *e)
{
    if (!e->capture)
        return TFR_CU_SUCCESS;
    if (!e->capture->over)
        fake_capture_break(e->capture, TFR_CU_CAPTURED_EVENT);
    return TFR_CU_CAPTURED_EVENT;
}

static bool is_reached(const tfr_cu_event *e)
{
    return !e->stream || e->stream->completed >= e->ticket;
}

tfr_cu_result API(cuEventQuery)(tfr_cu_event *event)
{
    BEGIN(cuEventQuery, NEEDS_CONTEXT | IS_UNSAFE);
    tfr_cu_event *e = find_event(event);
    if (!e)
        END(TFR_CU_INVALID_HANDLE);
    tfr_cu_result result = refuse_captured(e);
    if (result)
        END(result);
    if (e->ctx->lost)
        END(e->ctx->lost);
    if (e->stream)
        fake_want(e->stream, e->ticket);
    END(is_reached(e) ? TFR_CU_SUCCESS : TFR_CU_NOT_READY);
}

tfr_cu_result API(cuEventSynchronize)(tfr_cu_event *event)
{
    BEGIN(cuEventSynchronize, NEEDS_CONTEXT | IS_UNSAFE);
    tfr_cu_event *e = find_event(event);
    if (!e)
        END(TFR_CU_INVALID_HANDLE);
    tfr_cu_result result = refuse_captured(e);
    if (!result && e->stream)
        result = fake_wait(e->stream, e->ticket);
    fake_pools_settle();
    END(result);
}

tfr_cu_result API(cuEventElapsedTime)(float *ms, tfr_cu_event *start_event, tfr_cu_event *end_event)
{
    BEGIN(cuEventElapsedTime, NEEDS_CONTEXT);
    tfr_cu_event *a = find_event(start_event);
    tfr_cu_event *b = find_event(end_event);
    if (!a || !b || (a->flags | b->flags) & TFR_CU_EVENT_DISABLE_TIMING || !a->recorded ||
        !b->recorded)
        END(TFR_CU_INVALID_HANDLE);
    if (!is_reached(a) || !is_reached(b))
        END(TFR_CU_NOT_READY);
    *ms = (float)(b->when_ms - a->when_ms);
    END(TFR_CU_SUCCESS);
}

tfr_cu_result API(cuStreamWaitEvent)(tfr_cu_stream *stream, tfr_cu_event *event, unsigned flags)
{
    BEGIN(cuStreamWaitEvent, NEEDS_CONTEXT);
    tfr_cu_stream *s = fake_stream(stream);
    tfr_cu_event *e = find_event(event);
    if (!s || !e)
        END(TFR_CU_INVALID_HANDLE);
    if (flags != 0)
        END(TFR_CU_INVALID_VALUE);
    fake_note("stream %d", s->id);
    if (s->capture || e->capture)
        END(fake_capture_wait(s, e));
    if (!e->stream)
        END(TFR_CU_SUCCESS);
    END(fake_submit(s, &(fake_op){.kind = OP_WAIT, .u.wait = {e->stream, e->ticket}}));
}
