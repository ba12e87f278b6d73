/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_json.c: the Trace Event Format (JSON object form): complete events, ph "X", with times in
 * microseconds, and names for processes and threads. A process is the host or a backend; a thread
 * is a thread of the host, a lane of a backend, or its queue. Viewers want the events of one thread
 * to nest; where times of a queue are only known roughly, what does not goes to another row.
 */
#include "trace_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <core/base/writer.h>
#include <tfrun/fail.h>

#include "json.h"
#include "text.h"

#define MOST_ROWS  512
#define MOST_DEPTH 32

/* ---- events in order ------------------------------------------------------------------------- */

const char *cli_trace_kind(const tfr_trace_event *e)
{
    static const char *const kinds[] = {"",        "run",  "plan",    "node", "kernel",
                                        "program", "copy", "reorder", "wait", "enqueue"};
    static const char *const records[] = {"record", "kernel", "copy", "reorder", "wait"};
    if (e->kind == TFR_TRACE_RECORD)
        return e->record > 0 && e->record <= TFR_PROFILE_WAIT ? records[e->record] : records[0];
    return e->kind > 0 && e->kind < TFR_TRACE_RECORD ? kinds[e->kind] : "";
}

static int by_time(const void *x, const void *y)
{
    const tfr_trace_event *a = x, *b = y;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    if (a->end_ns != b->end_ns)
        return a->end_ns > b->end_ns ? -1 : 1;
    return a->kind - b->kind; /* records are inside of launches, launches of runs */
}

tfr_status cli_trace_events(const tfr_session *session, tfr_trace_event **out, uint32_t *n,
                            uint64_t *n_dropped, tfr_err *err)
{
    *n = tfr_trace_count(session, n_dropped);
    *out = calloc((size_t)*n + 1, sizeof **out);
    if (!*out)
        return tfr_fail(err, TFR_ENOMEM, "no memory for %u events", *n);
    for (uint32_t i = 0; i < *n; i++) {
        tfr_status status;
        (*out)[i].size = sizeof **out;
        status = tfr_trace_get(session, i, &(*out)[i], err);
        if (status) {
            free(*out);
            return status;
        }
        if ((*out)[i].kind != TFR_TRACE_RECORD)
            (*out)[i].parent = i;
    }
    qsort(*out, *n, sizeof **out, by_time);
    return TFR_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* What the viewer shows as one thread, with the ends of the events that are open in it. */
typedef struct row {
    const char *backend; /* "" = the host */
    bool queue;
    uint32_t lane, copy; /* copy > 0: for what does not nest in the ones before */
    uint32_t process;
    uint64_t ends[MOST_DEPTH];
    uint32_t depth;
} row;

typedef struct writer {
    FILE *file;
    row rows[MOST_ROWS];
    uint32_t n_rows, n_processes;
    bool lost, any;
    uint64_t zero_ns;
} writer;

static bool row_takes(row *r, const tfr_trace_event *e)
{
    while (r->depth && r->ends[r->depth - 1] <= e->begin_ns)
        r->depth--;
    if (r->depth == MOST_DEPTH || (r->depth && r->ends[r->depth - 1] < e->end_ns))
        return false;
    r->ends[r->depth++] = e->end_ns;
    return true;
}

static uint32_t process_of(writer *w, const char *backend)
{
    for (uint32_t i = 0; i < w->n_rows; i++)
        if (strcmp(w->rows[i].backend, backend) == 0)
            return w->rows[i].process;
    return ++w->n_processes;
}

/* The number of the row that the event goes into. */
static uint32_t row_of(writer *w, const tfr_trace_event *e)
{
    bool host = !e->queue && e->kind != TFR_TRACE_RECORD;
    const char *backend = host ? "" : e->backend;
    bool queue = e->queue && e->kind != TFR_TRACE_ENQUEUE;
    uint32_t lane = queue && e->kind != TFR_TRACE_RECORD ? 0 : e->lane, copy = 0, i;
    if (e->kind == TFR_TRACE_ENQUEUE)
        backend = "";
    for (i = 0; i < w->n_rows; i++) {
        row *r = &w->rows[i];
        if (r->lane != lane || r->queue != queue || strcmp(r->backend, backend) != 0)
            continue;
        if (row_takes(r, e))
            return i;
        copy++;
    }
    if (w->n_rows == MOST_ROWS)
        return 0;
    w->rows[i] = (row){.backend = backend, .queue = queue, .lane = lane, .copy = copy};
    w->rows[i].process = process_of(w, backend);
    w->n_rows++;
    row_takes(&w->rows[i], e);
    return i;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void put(writer *w, json_t *object)
{
    fputs(w->any ? ",\n" : "\n", w->file);
    w->any = true;
    if (!object || json_dumpf(object, w->file, JSON_COMPACT | JSON_REAL_PRECISION(15)))
        w->lost = true;
    json_decref(object);
}

static void put_event(writer *w, const tfr_trace_event *e)
{
    json_t *o = json_object(), *args = json_object();
    uint32_t r = row_of(w, e);
    char category[32];
    cli_json_set(o, "name",
                 cli_json_text(e->text[0]   ? e->text
                               : e->name[0] ? e->name
                                            : cli_trace_kind(e)));
    snprintf(category, sizeof category, "%s%s", e->kind == TFR_TRACE_RECORD ? "inner," : "",
             cli_trace_kind(e));
    cli_json_set(o, "cat", cli_json_text(category));
    cli_json_set(o, "ph", cli_json_text("X"));
    cli_json_set(o, "ts", json_real((double)(e->begin_ns - w->zero_ns) / 1000));
    cli_json_set(o, "dur", json_real((double)(e->end_ns - e->begin_ns) / 1000));
    cli_json_set(o, "pid", cli_json_int(w->rows[r].process));
    cli_json_set(o, "tid", cli_json_int(r + 1));
    cli_json_set(args, "run", cli_json_int(e->run));
    if (e->op[0])
        cli_json_set(args, "op", cli_json_text(e->op));
    if (e->backend[0])
        cli_json_set(args, "backend", cli_json_text(e->backend));
    if (e->text[0])
        cli_json_set(args, "name", cli_json_text(e->name));
    if (e->node >= 0)
        cli_json_set(args, "node", json_integer(e->node));
    if (e->flops)
        cli_json_set(args, "flops", cli_json_int(e->flops));
    if (e->bytes)
        cli_json_set(args, "bytes", cli_json_int(e->bytes));
    cli_json_set(o, "args", args);
    put(w, o);
}

static void put_name(writer *w, const char *what, uint32_t process, uint32_t thread,
                     const char *name)
{
    json_t *o = json_object(), *args = json_object();
    cli_json_set(o, "name", cli_json_text(what));
    cli_json_set(o, "ph", cli_json_text("M"));
    cli_json_set(o, "pid", cli_json_int(process));
    cli_json_set(o, "tid", cli_json_int(thread));
    cli_json_set(args, "name", cli_json_text(name));
    cli_json_set(o, "args", args);
    put(w, o);
}

static void put_names(writer *w, const char *title)
{
    for (uint32_t i = 0; i < w->n_rows; i++) {
        const row *r = &w->rows[i];
        char name[256];
        snprintf(name, sizeof name, "%s", r->backend[0] ? r->backend : title);
        put_name(w, "process_name", r->process, i + 1, name);
        snprintf(name, sizeof name, "%s %u%s",
                 r->queue        ? "queue"
                 : r->backend[0] ? "lane"
                                 : "thread",
                 r->lane, r->copy ? ", beside" : "");
        put_name(w, "thread_name", r->process, i + 1, name);
    }
}

static void write_all(writer *w, const tfr_trace_event *events, uint32_t n, uint64_t n_dropped,
                      const char *title)
{
    w->zero_ns = n ? events[0].begin_ns : 0;
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", w->file);
    for (uint32_t i = 0; i < n; i++)
        put_event(w, &events[i]);
    put_names(w, title);
    fprintf(w->file,
            "\n],\"otherData\":{\"schema\":\"tfrun.trace/1\",\"dropped_events\":\"%llu\"}}\n",
            (unsigned long long)n_dropped);
}

static tfr_status save(writer *w, const tfr_trace_event *events, uint32_t n, uint64_t n_dropped,
                       const char *title, const char *path, tfr_err *err)
{
    tfr__writer file;
    tfr_status status = tfr__writer_open(path, &file, err);
    if (status)
        return status;
    w->file = tfr__writer_stream(&file);
    w->lost = !w->file;
    if (w->file) {
        write_all(w, events, n, n_dropped, title);
        w->lost = fclose(w->file) != 0 || w->lost;
    }
    if (!w->lost)
        return tfr__writer_close(&file, err);
    tfr__writer_abandon(&file);
    return tfr_fail(err, TFR_ENOMEM, "no memory for writing a trace of %u events", n);
}

tfr_status cli_trace_save(const tfr_session *session, const char *title, const char *path,
                          tfr_err *err)
{
    writer *w = calloc(1, sizeof *w);
    tfr_trace_event *events = NULL;
    uint32_t n = 0;
    uint64_t n_dropped = 0;
    tfr_status status = w ? cli_trace_events(session, &events, &n, &n_dropped, err)
                          : tfr_fail(err, TFR_ENOMEM, "no memory for writing a trace");
    if (!status)
        status = save(w, events, n, n_dropped, title, path, err);
    free(events);
    free(w);
    return status;
}

tfr_status cli_trace_end(const cli_args *args, tfr_session *session, tfr_err *err)
{
    uint64_t n_dropped;
    tfr_trace_stop(session);
    tfr_trace_count(session, &n_dropped);
    if (n_dropped && !args->quiet)
        cli_line(stderr, "tfrun: %llu events did not fit into the trace; take fewer --runs",
                 (unsigned long long)n_dropped);
    return args->trace ? cli_trace_save(session, args->words[0], args->trace, err) : TFR_OK;
}
