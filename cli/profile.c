/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c: see profile.h. */
#include "profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tfrun/fail.h>

#include "trace_json.h"

#define MOST_DEPTH 64

typedef struct adder {
    const tfr_trace_event *events;
    double *self; /* seconds of each event, nested events excluded */
    uint32_t n;
    cli_profile_by by;
    const bench_roofs *roofs;
    cli_profile *out;
    uint32_t capacity;
} adder;

static double seconds_of(const tfr_trace_event *e)
{
    return (double)(e->end_ns - e->begin_ns) * 1e-9;
}

static bool on_host(const tfr_trace_event *e)
{
    return e->kind == TFR_TRACE_ENQUEUE || (!e->queue && e->kind != TFR_TRACE_RECORD);
}

/* ---- nesting --------------------------------------------------------------------------------- */

/* Takes the time of an event from the one around it, thread by thread; they are in order. */
static void find_selves_of(adder *a, uint32_t thread)
{
    uint32_t open[MOST_DEPTH], depth = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        const tfr_trace_event *e = &a->events[i];
        if (!on_host(e) || e->lane != thread)
            continue;
        while (depth && a->events[open[depth - 1]].end_ns <= e->begin_ns)
            depth--;
        a->self[i] = seconds_of(e);
        if (depth)
            a->self[open[depth - 1]] -= a->self[i];
        if (depth && e->kind == TFR_TRACE_PLAN)
            a->out->run_seconds -= a->self[i];
        if (depth < MOST_DEPTH)
            open[depth++] = i;
    }
}

static void find_selves(adder *a)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < a->n; i++)
        if (on_host(&a->events[i]) && a->events[i].lane > last)
            last = a->events[i].lane;
    for (uint32_t thread = 0; thread <= last; thread++)
        find_selves_of(a, thread);
    for (uint32_t i = 0; i < a->n; i++)
        if (!on_host(&a->events[i]))
            a->self[i] = seconds_of(&a->events[i]);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static const char *key_of(const adder *a, const tfr_trace_event *e)
{
    if (a->by == CLI_BY_BACKEND)
        return e->backend[0] ? e->backend : "core";
    if (a->by == CLI_BY_NODE && e->name[0])
        return e->name;
    if (e->kind == TFR_TRACE_RECORD && (e->record != TFR_PROFILE_KERNEL || !e->op[0]))
        return e->record == TFR_PROFILE_KERNEL && e->text[0] ? e->text : cli_trace_kind(e);
    if (e->kind == TFR_TRACE_COPY || e->kind == TFR_TRACE_REORDER || !e->op[0])
        return cli_trace_kind(e);
    return e->op;
}

static cli_profile_row *row_for(adder *a, const tfr_trace_event *e)
{
    cli_profile *p = a->out;
    const char *key = key_of(a, e);
    cli_profile_row *row;
    for (uint32_t i = 0; i < p->n_rows; i++) {
        row = &p->rows[i];
        if (strcmp(row->name, key) != 0 || (a->by == CLI_BY_NODE && strcmp(row->op, e->op) != 0))
            continue;
        if (strcmp(row->backend, e->backend) != 0)
            row->backend = "";
        if (strcmp(row->op, e->op) != 0)
            row->op = "";
        return row;
    }
    if (p->n_rows == a->capacity) {
        uint32_t more = a->capacity ? 2 * a->capacity : 64;
        row = realloc(p->rows, more * sizeof *row);
        if (!row)
            return NULL;
        p->rows = row;
        a->capacity = more;
    }
    row = &p->rows[p->n_rows++];
    *row = (cli_profile_row){.name = key,
                             .op = e->op,
                             .backend = e->backend,
                             .kind = cli_trace_kind(e),
                             .queue = e->queue != 0};
    return row;
}

/* The roofs are the processor's. */
static tfr_status add(adder *a, const tfr_trace_event *e, double seconds, tfr_err *err)
{
    cli_profile_row *row = row_for(a, e);
    if (!row)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a profile");
    row->calls++;
    row->seconds += seconds;
    row->flops += (double)e->flops;
    row->bytes += (double)e->bytes;
    if (!a->roofs || strncmp(e->device, "CPU", 3) != 0)
        return TFR_OK;
    row->flops_seconds += (double)e->flops / a->roofs->flops;
    row->bytes_seconds +=
        (double)e->bytes / a->roofs->levels[bench_roofs_level(a->roofs, e->bytes)].read;
    return TFR_OK;
}

/* Lanes that the records of a program's launch lie in; they follow it in the order of time. */
static uint32_t lanes_of(const adder *a, const tfr_trace_event *e, uint32_t first)
{
    uint64_t seen[4] = {0};
    uint32_t n = 0;
    for (uint32_t i = first; i < a->n && a->events[i].begin_ns <= e->end_ns; i++) {
        const tfr_trace_event *r = &a->events[i];
        uint32_t lane = r->lane % 256;
        if (r->kind != TFR_TRACE_RECORD || r->parent != e->parent ||
            seen[lane / 64] >> lane % 64 & 1)
            continue;
        seen[lane / 64] |= UINT64_C(1) << lane % 64;
        n++;
    }
    return n;
}

/* A program by its records, in the thread time of all its lanes; what they leave is its own. */
static tfr_status add_program(adder *a, uint32_t at, tfr_err *err)
{
    const tfr_trace_event *e = &a->events[at];
    uint32_t n_lanes = lanes_of(a, e, at + 1);
    double left = a->self[at];
    tfr_status status = TFR_OK;
    for (uint32_t i = at + 1; !status && i < a->n && a->events[i].begin_ns <= e->end_ns; i++) {
        const tfr_trace_event *r = &a->events[i];
        if (r->kind != TFR_TRACE_RECORD || r->parent != e->parent)
            continue;
        status = add(a, r, seconds_of(r) / n_lanes, err);
        left -= seconds_of(r) / n_lanes;
    }
    if (!status && (left > 0 || !n_lanes)) {
        tfr_trace_event own = *e;
        own.flops = n_lanes ? 0 : e->flops;
        own.bytes = n_lanes ? 0 : e->bytes;
        status = add(a, &own, left, err);
    }
    return status;
}

static tfr_status add_event(adder *a, uint32_t i, tfr_err *err)
{
    const tfr_trace_event *e = &a->events[i];
    switch (e->kind) {
    case TFR_TRACE_RUN:
        a->out->n_runs++;
        a->out->run_seconds += seconds_of(e);
        a->out->outside_seconds += a->self[i];
        return TFR_OK;
    case TFR_TRACE_PLAN:
        a->out->plan_seconds += a->self[i];
        return TFR_OK;
    case TFR_TRACE_WAIT:
        a->out->wait_seconds += a->self[i];
        return TFR_OK;
    case TFR_TRACE_ENQUEUE:
        a->out->outside_seconds += a->self[i];
        return TFR_OK;
    case TFR_TRACE_RECORD:
        return TFR_OK;
    case TFR_TRACE_PROGRAM:
        return add_program(a, i, err);
    default:
        return add(a, e, a->self[i], err);
    }
}

static int longest_first(const void *x, const void *y)
{
    const cli_profile_row *a = x, *b = y;
    return a->seconds < b->seconds ? 1 : a->seconds > b->seconds ? -1 : strcmp(a->name, b->name);
}

/* ---- the public face ------------------------------------------------------------------------- */

tfr_status cli_profile_make(const tfr_session *session, cli_profile_by by, const bench_roofs *roofs,
                            cli_profile *out, tfr_err *err)
{
    tfr_trace_event *events = NULL;
    adder a = {.by = by, .roofs = roofs, .out = out};
    tfr_status status;
    memset(out, 0, sizeof *out);
    status = cli_trace_events(session, &events, &a.n, &out->n_dropped, err);
    if (status)
        return status;
    a.events = events;
    a.self = calloc((size_t)a.n + 1, sizeof *a.self);
    if (!a.self)
        status = tfr_fail(err, TFR_ENOMEM, "no memory for a profile of %u events", a.n);
    if (!status)
        find_selves(&a);
    for (uint32_t i = 0; !status && i < a.n; i++)
        status = add_event(&a, i, err);
    free(a.self);
    free(events);
    if (out->n_rows)
        qsort(out->rows, out->n_rows, sizeof *out->rows, longest_first);
    return status;
}

void cli_profile_finish(cli_profile *p)
{
    free(p->rows);
    memset(p, 0, sizeof *p);
}

double cli_profile_roof_share(const cli_profile_row *row)
{
    double least = fmax(row->flops_seconds, row->bytes_seconds);
    return least > 0 && row->seconds > 0 ? least / row->seconds : NAN;
}
