/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.c: the events of a traced session. They lie in one array that is made by start, so that
 * tracing takes no memory later; a launch's id is the trace's base plus the number of its event.
 * What runs on a queue begins, until the plugin's records say better, when it was put there, and
 * ends with the next wait. Two sessions may trace one backend; its records go to the first.
 */
#include "run/trace.h"

#include <stdio.h>
#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "run/exec.h"

enum { DEFAULT_EVENTS = 65536, MOST_RECORDS = 1 << 22 };

typedef struct slot {
    tfr_trace_event pub;
    char text[sizeof((tfr_profile_record *)0)->name];
    const tfr__plan *plan; /* PROGRAM, until its records are taken: whose, and its number */
    int32_t program;
    bool timed; /* on a queue: has a time of the device's */
} slot;

struct tfr__trace {
    pthread_mutex_t lock; /* n: bindings of one session may run side by side */
    uint32_t n, capacity;
    uint32_t drained; /* events that records were asked for already */
    uint64_t n_dropped;
    uint64_t base; /* id of the launch that is event 0 */
    slot slots[];
};

/* Numbers of threads, in the order of their first event. */
static uint32_t this_thread(void)
{
    static atomic_uint n_threads;
    static _Thread_local uint32_t number;
    if (!number)
        number = atomic_fetch_add(&n_threads, 1) + 1;
    return number - 1;
}

static slot *slot_new(struct tfr__trace *t, tfr_trace_kind kind, uint64_t run)
{
    slot *s = NULL;
    pthread_mutex_lock(&t->lock);
    if (t->n < t->capacity)
        s = &t->slots[t->n++];
    else
        t->n_dropped++;
    pthread_mutex_unlock(&t->lock);
    if (!s)
        return NULL;
    s->pub = (tfr_trace_event){.size = sizeof s->pub,
                               .kind = kind,
                               .lane = this_thread(),
                               .node = -1,
                               .parent = UINT32_MAX,
                               .run = run,
                               .name = "",
                               .text = "",
                               .op = "",
                               .device = "",
                               .backend = ""};
    return s;
}

static void set_node(slot *s, const tfr_graph *graph, int32_t node)
{
    s->pub.node = node;
    s->pub.name = node < 0 ? graph->name : graph->nodes[node].name;
    if (node >= 0)
        s->pub.op = graph->nodes[node].op->name;
}

void tfr__trace_add(tfr_session *session, tfr_trace_kind kind, uint64_t began, uint64_t run,
                    const tfr_graph *graph, int32_t node)
{
    slot *s = began ? slot_new(session->trace, kind, run) : NULL;
    if (!s)
        return;
    set_node(s, graph, node);
    s->pub.begin_ns = began;
    s->pub.end_ns = tfr__now_ns();
}

/* ---- plugins' records ------------------------------------------------------------------------ */

/* Asks a backend for records when it is first met; one that will not give any is left alone. */
static void stream_claim(tfr_session *session, tfr__stream *e)
{
    tfr__backend *b = e->backend;
    tfr_err err = TFR_ERR_INIT;
    int32_t status;
    if (e->trace_asked || !b->has_profile)
        return;
    e->trace_asked = true;
    pthread_mutex_lock(&b->lock);
    if (!b->tracer) {
        TFR__SLOT(b, "profile start", NULL, NULL, status = b->profile.start(b->device, 1, &err));
        if (!status)
            b->tracer = session;
        else
            tfr__log(session->runtime, TFR_LOG_WARNING, b->plugin_name, "no records of %s: %s",
                     b->name, tfr__said(&err));
    }
    e->recorded = b->tracer == session;
    pthread_mutex_unlock(&b->lock);
}

/* The oldest copy or reorder of the queue that has no record yet, or NULL: they have no ids. */
static slot *next_move(struct tfr__trace *t, uint32_t stream, uint32_t *cursor)
{
    while (*cursor < t->n) {
        slot *s = &t->slots[(*cursor)++];
        if ((s->pub.kind == TFR_TRACE_COPY || s->pub.kind == TFR_TRACE_REORDER) && s->pub.bytes &&
            s->pub.queue == stream + 1)
            return s;
    }
    return NULL;
}

/* The node of the plan that has this number in the program's graph: its nodes stand in order. */
static void set_program_node(slot *s, const slot *launch, int32_t number)
{
    const tfr__plan *p = launch->plan;
    const tfr__program *program = &p->programs[launch->program];
    for (uint32_t i = program->first_row; number >= 0 && i <= program->last_row; i++)
        if (p->placed[i].program == launch->program && number-- == 0)
            set_node(s, p->graph, p->placed[i].node);
}

/* What belongs to no launch or copy of this run is somebody else's. */
static void take_record(struct tfr__trace *t, uint32_t stream, const tfr_profile_record *r,
                        uint32_t *cursor)
{
    const uint64_t event = r->id - t->base;
    slot *launch = event >= t->drained && event < t->n ? &t->slots[event] : NULL, *s;
    uint64_t end = r->end_ns < r->begin_ns ? r->begin_ns : r->end_ns;
    if (!launch) {
        bool moves = r->kind == TFR_PROFILE_COPY || r->kind == TFR_PROFILE_REORDER;
        s = !r->id && moves ? next_move(t, stream, cursor) : NULL;
        if (s) {
            s->pub.begin_ns = r->begin_ns;
            s->pub.end_ns = end;
        }
        return;
    }
    if (launch->pub.queue && !launch->timed) {
        launch->timed = true;
        launch->pub.begin_ns = r->begin_ns;
        launch->pub.end_ns = end;
    } else if (launch->pub.queue && launch->pub.end_ns < end) {
        launch->pub.end_ns = end;
    }
    s = slot_new(t, TFR_TRACE_RECORD, launch->pub.run);
    if (!s)
        return;
    s->pub.op = launch->pub.op;
    s->pub.device = launch->pub.device;
    s->pub.backend = launch->pub.backend;
    s->pub.queue = launch->pub.queue;
    s->pub.parent = (uint32_t)(launch - t->slots);
    memcpy(s->text, r->name, sizeof s->text);
    s->text[sizeof s->text - 1] = 0;
    s->pub.text = s->text;
    s->pub.name = launch->pub.name;
    s->pub.node = launch->pub.node;
    if (launch->pub.kind == TFR_TRACE_PROGRAM)
        set_program_node(s, launch, r->node);
    s->pub.record = r->kind;
    s->pub.lane = r->lane;
    s->pub.begin_ns = r->begin_ns;
    s->pub.end_ns = end;
    s->pub.flops = r->flops;
    s->pub.bytes = r->bytes;
}

/* The backend's lock is not held while records are taken: a claim takes it inside the trace's. */
static void stream_drain(tfr_session *session, uint32_t stream)
{
    tfr__backend *b = session->streams.items[stream].backend;
    tfr_profile_record records[16];
    uint32_t capacity = sizeof records / sizeof records[0], n = capacity,
             cursor = session->trace->drained;
    int32_t status;
    for (uint32_t taken = 0; n && taken < MOST_RECORDS; taken += n) {
        memset(records, 0, sizeof records);
        for (uint32_t i = 0; i < capacity; i++)
            records[i].size = sizeof records[i];
        n = capacity;
        pthread_mutex_lock(&b->lock);
        TFR__SLOT(b, "profile drain", NULL, NULL,
                  status = b->profile.drain(b->device, records, sizeof records[0], &n, NULL));
        if (status || n > capacity)
            n = 0;
        pthread_mutex_unlock(&b->lock);
        for (uint32_t i = 0; i < n; i++)
            take_record(session->trace, stream, &records[i], &cursor);
    }
}

void tfr__trace_drain(tfr_session *session)
{
    if (!tfr__is_traced(session))
        return;
    for (uint32_t i = 0; i < session->streams.n; i++)
        if (session->streams.items[i].recorded && !session->streams.items[i].stuck)
            stream_drain(session, i);
    session->trace->drained = session->trace->n;
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* A launch of several nodes: their work together. */
static void describe_program(slot *s, const tfr__plan *p, const tfr__step *step)
{
    const tfr__program *program = &p->programs[step->program];
    s->plan = p;
    s->program = step->program;
    snprintf(s->text, sizeof s->text, "%u nodes from %s", program->n_nodes,
             p->graph->nodes[program->node].name);
    s->pub.name = s->text;
    for (uint32_t i = program->first_row; i <= program->last_row; i++) {
        if (p->placed[i].program != step->program)
            continue;
        s->pub.flops += p->placed[i].work.flops;
        s->pub.bytes += p->placed[i].work.bytes;
        if (p->placed[i].device[0])
            s->pub.device = p->placed[i].device;
    }
}

static void describe(slot *s, const tfr__plan *p, const tfr__step *step)
{
    if (step->node >= 0) {
        const tfr__placed *placed = &p->placed[(uint32_t)step->node - p->first];
        set_node(s, p->graph, step->node);
        s->pub.flops = placed->work.flops;
        s->pub.bytes = placed->work.bytes;
        s->pub.device = placed->device;
    }
    if (step->backend)
        s->pub.backend = step->backend->name;
    if (step->kind == TFR__STEP_COPY || step->kind == TFR__STEP_ORDER) {
        s->pub.name = step->to_device ? "copy in" : "copy out";
        s->pub.bytes = step->bytes;
        if (step->from != UINT32_MAX) { /* another device */
            snprintf(s->text, sizeof s->text, "%s %s",
                     step->kind == TFR__STEP_COPY ? "copy from" : "wait for",
                     p->streams->items[step->from].backend->name);
            s->pub.name = s->text;
        }
    } else if (step->kind == TFR__STEP_REORDER) {
        s->pub.name = p->graph->values[p->live_ins[step->live_in].value].name;
        s->pub.bytes = 2 * p->buffers[step->dst].bytes;
    } else if (step->kind == TFR__STEP_LAYOUT) {
        s->pub.name = "layout";
        s->pub.bytes = 2 * p->buffers[step->dst].bytes;
    } else if (step->kind == TFR__STEP_SYNC) {
        s->pub.name = "wait";
    } else if (step->program >= 0) {
        describe_program(s, p, step);
    }
}

static tfr_trace_kind kind_of(const tfr__step *step)
{
    static const uint8_t kinds[] = {
        [TFR__STEP_LAUNCH] = TFR_TRACE_KERNEL,   [TFR__STEP_COPY] = TFR_TRACE_COPY,
        [TFR__STEP_REORDER] = TFR_TRACE_REORDER, [TFR__STEP_LAYOUT] = TFR_TRACE_REORDER,
        [TFR__STEP_SYNC] = TFR_TRACE_WAIT,       [TFR__STEP_ORDER] = TFR_TRACE_ENQUEUE};
    return step->kind == TFR__STEP_LAUNCH && step->program >= 0 ? TFR_TRACE_PROGRAM
                                                                : (tfr_trace_kind)kinds[step->kind];
}

/* All that was put on the queue since event `first` has ended. */
static void close_queue(struct tfr__trace *t, uint32_t first, uint32_t stream, uint64_t ended)
{
    for (uint32_t i = first; i < t->n; i++)
        if (t->slots[i].pub.queue == stream + 1 && !t->slots[i].pub.end_ns)
            t->slots[i].pub.end_ns = ended;
}

/* Calls a step with its event's number as the launch's id; the times are in the event then. */
TFR__ANY_OBJECT
static int32_t walk_step(tfr_session *session, tfr__plan *p, uint32_t i, uint64_t run, tfr_err *err)
{
    struct tfr__trace *t = session->trace;
    const tfr__step *step = &p->steps[i];
    tfr__bound *b = &p->bound[i];
    slot *s = slot_new(t, kind_of(step), run), *put = NULL;
    bool queued = b->queue && step->kind != TFR__STEP_SYNC && step->kind != TFR__STEP_ORDER;
    uint64_t began, ended;
    int32_t status;
    if (s) {
        tfr__plan_count(p);
        describe(s, p, step);
    }
    if (s && queued && (put = slot_new(t, TFR_TRACE_ENQUEUE, run))) {
        put->pub = s->pub;
        put->pub.kind = TFR_TRACE_ENQUEUE;
        put->pub.flops = put->pub.bytes = 0;
    }
    if (b->queue || (s && step->backend && session->streams.items[step->stream].recorded))
        b->launch.id = s ? t->base + (uint64_t)(s - t->slots) : tfr__launch_ids(1);
    began = tfr__now_ns();
    status = tfr__plan_step(p, i, err);
    ended = tfr__now_ns();
    if (!b->queue)
        b->launch.id = 0;
    if (s) {
        s->pub.begin_ns = began;
        s->pub.end_ns = queued ? 0 : ended;
        s->pub.queue = queued ? step->stream + 1 : 0;
    }
    if (put) {
        put->pub.begin_ns = began;
        put->pub.end_ns = ended;
    }
    return status;
}

tfr_status tfr__trace_walk(tfr_session *session, tfr__plan *p, uint64_t run, tfr_err *err)
{
    struct tfr__trace *t = session->trace;
    uint32_t first = t->n;
    pthread_mutex_lock(&t->lock);
    for (uint32_t i = 0; i < session->streams.n; i++)
        stream_claim(session, &session->streams.items[i]);
    pthread_mutex_unlock(&t->lock);
    for (uint32_t i = 0; i < p->n_steps; i++) {
        int32_t status =
            p->bound[i].call == tfr__step_skipped ? TFR_OK : walk_step(session, p, i, run, err);
        if (status) {
            tfr_status named = tfr__plan_failed(session, p, i, status, err);
            for (uint32_t e = 0; e < session->streams.n; e++)
                close_queue(t, first, e, tfr__now_ns());
            return named;
        }
        if (p->steps[i].kind == TFR__STEP_SYNC)
            close_queue(t, first, p->steps[i].stream, tfr__now_ns());
    }
    return TFR_OK;
}

/* ---- the public face ------------------------------------------------------------------------- */

tfr_status tfr_trace_start(tfr_session *session, uint32_t max_events, tfr_err *err)
{
    uint32_t capacity = max_events ? max_events : DEFAULT_EVENTS;
    struct tfr__trace *t = NULL;
    tfr_status status = TFR_OK;
    pthread_mutex_lock(&session->lock);
    if (tfr__is_traced(session))
        status = tfr_fail(err, TFR_EINVAL, "the session is traced already");
    else if ((uint64_t)capacity * sizeof(slot) < SIZE_MAX - sizeof *t)
        t = tfr__calloc(1, sizeof *t + capacity * sizeof(slot));
    if (!status && !t)
        status = tfr__no_memory(err);
    if (!status) {
        tfr__trace_free(session);
        pthread_mutex_init(&t->lock, NULL);
        t->capacity = capacity;
        t->base = tfr__launch_ids(capacity);
        session->trace = t;
        atomic_store(&session->is_traced, true);
    }
    pthread_mutex_unlock(&session->lock);
    return status;
}

static void trace_stop(tfr_session *session)
{
    for (uint32_t i = 0; i < session->streams.n; i++) {
        tfr__stream *e = &session->streams.items[i];
        tfr__backend *b = e->backend;
        pthread_mutex_lock(&b->lock);
        if (e->recorded) {
            TFR__SLOT(b, "profile start", NULL, NULL, b->profile.start(b->device, 0, NULL));
            b->tracer = NULL;
        }
        pthread_mutex_unlock(&b->lock);
        e->trace_asked = e->recorded = false;
    }
    atomic_store(&session->is_traced, false);
}

void tfr_trace_stop(tfr_session *session)
{
    pthread_mutex_lock(&session->lock);
    tfr__trace_drain(session);
    trace_stop(session);
    pthread_mutex_unlock(&session->lock);
}

void tfr__trace_free(tfr_session *session)
{
    trace_stop(session);
    if (session->trace)
        pthread_mutex_destroy(&session->trace->lock);
    tfr__free(session->trace);
    session->trace = NULL;
}

uint32_t tfr_trace_count(const tfr_session *session, uint64_t *n_dropped)
{
    if (n_dropped)
        *n_dropped = session->trace ? session->trace->n_dropped : 0;
    return session->trace ? session->trace->n : 0;
}

tfr_status tfr_trace_get(const tfr_session *session, uint32_t i, tfr_trace_event *out, tfr_err *err)
{
    tfr_trace_event event;
    if (i >= tfr_trace_count(session, NULL))
        return tfr_fail(err, TFR_EINVAL, "there is no event %u, the trace has %u", i,
                        tfr_trace_count(session, NULL));
    event = session->trace->slots[i].pub;
    event.size = out->size < sizeof event ? out->size : (uint32_t)sizeof event;
    memcpy(out, &event, event.size);
    return TFR_OK;
}
