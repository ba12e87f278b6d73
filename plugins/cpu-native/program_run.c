/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_run.c: the threads of a program. Units: each thread takes units of samples through all
 * steps, in memory of its own; one fork and join for a run. Shared steps: one memory, and each step
 * that is worth it is cut into as many parts as there are threads. What is computed does not depend
 * on who computes it.
 */
#include <stdatomic.h>

#include "profile.h"
#include "program_segments.h"

static uint32_t lane_of(const tfr_plugin_device *device)
{
    return device->pool && device->pool->lane ? device->pool->lane() : 0;
}

static void record(tfr_plugin_device *device, uint64_t began, uint64_t id, const native_run *step)
{
    if (began)
        native_profile_end(device, began,
                           &(native_stretch){.id = id,
                                             .kind = TFR_PROFILE_KERNEL,
                                             .node = step->node,
                                             .lane = lane_of(device),
                                             .name = step->name,
                                             .flops = (uint64_t)step->flops,
                                             .bytes = (uint64_t)step->bytes});
}

/* ---- shared steps ---- */

/*
 * A part of a long step is cut into pieces, so that a thread whose processor does other things,
 * too, is not waited for with all of its part: who is done takes pieces of the others. Numbers that
 * stand together are one of them.
 */
enum { PIECES = 4, MOST_CUT = 64 /* threads */ };
#define CUT_COST 100e3 /* ns of a part */

typedef struct piece_counter {
    _Alignas(128) _Atomic int64_t n;
} piece_counter;

typedef struct shared {
    const native_sharing *launch;
    const native_run *step;
    char *const *base;
    char *workspace;
    native_fault *fault;
    int64_t parts, pieces; /* of each part */
    piece_counter taken[MOST_CUT];
} shared;

static void run_piece(shared *s, const native_bases *bases, int64_t i)
{
    const int64_t all = s->parts * s->pieces, unit = s->pieces > 1 ? s->step->together : 1;
    const int64_t n = s->step->n / unit;

    s->step->run(s->step->params, bases, i * n / all * unit, (i + 1) * n / all * unit);
}

/* A thread's own part, and then what others have not begun of theirs. */
static void run_parts(void *user, int64_t begin, int64_t end)
{
    shared *s = user;
    const native_bases bases = {s->base,
                                s->workspace + s->step->scratch +
                                    lane_of(s->launch->device) * s->step->scratch_bytes,
                                s->fault,
                                0,
                                s->workspace + s->step->shared,
                                0};
    int64_t i, k, piece;

    for (i = begin; i < end && s->pieces == 1; i++)
        run_piece(s, &bases, i);
    for (k = 0; k < s->parts && s->pieces > 1; k++) {
        i = (begin + k) % s->parts;
        while ((piece = atomic_fetch_add_explicit(&s->taken[i].n, 1, memory_order_relaxed)) <
               s->pieces)
            run_piece(s, &bases, i * s->pieces + piece);
    }
}

static void share(shared *s, const native_run *step)
{
    const int64_t threads = s->launch->device->threads;
    int64_t i;

    s->step = step;
    s->parts = threads < step->n ? threads : step->n;
    s->pieces = step->cost >= CUT_COST * (double)threads && s->parts <= MOST_CUT &&
                        step->n >= s->parts * PIECES * step->together
                    ? PIECES
                    : 1;
    for (i = 0; i < s->parts && s->pieces > 1; i++)
        atomic_store_explicit(&s->taken[i].n, 0, memory_order_relaxed);
    s->launch->device->host->parallel_for(run_parts, s, s->parts, 1);
}

static void run_shared(const native_sharing *l, char *workspace, char *const *base, uint64_t id,
                       native_fault *fault)
{
    const native_plan *plan = l->plan;
    shared s;
    int i;

    s.launch = l;
    s.base = base;
    s.workspace = workspace;
    s.fault = fault;

    for (i = 0; i < plan->n_runs; i++) {
        const native_run *step = &plan->runs[i];
        uint64_t began = native_profile_begin(l->device, id);
        if (!l->share || step->alone) {
            const native_bases bases = {base, workspace + step->scratch, fault,
                                        0,    workspace + step->shared,  0};
            step->run(step->params, &bases, 0, step->n);
        } else {
            share(&s, step);
        }
        record(l->device, began, id, step);
    }
}

/* ---- units ---- */

enum { MAX_BASES = NATIVE_PROGRAM_ARGS + 1 + NATIVE_SEGMENT_CROSSINGS };

typedef struct units {
    const native_sharing *launch;
    char *workspace;
    char *const *args;
    uint64_t id;
    native_fault *fault;
} units;

/* number: of the samples that the bases are those of, among as many at a time. */
static void run_steps(const units *u, char *const *base, int64_t number, int first, int n)
{
    const native_sharing *l = u->launch;
    int i;

    for (i = first; i < first + n; i++) {
        const native_run *step = &l->plan->runs[i];
        const native_bases bases = {base,   base[0] + step->scratch, u->fault,
                                    number, base[0] + step->shared,  0};
        const uint64_t began = native_profile_begin(l->device, u->id);
        step->run(step->params, &bases, 0, step->n);
        record(l->device, began, u->id, step);
    }
}

/* The parts of one segment; base has the addresses of the unit. */
static void run_segment(const units *u, char *const *base, int64_t unit, const native_segment *s)
{
    const native_sharing *l = u->launch;
    const native_segments *all = l->plan->segments;
    const int64_t samples = l->plan->samples, parts = samples / s->samples;
    char *part_base[MAX_BASES];
    int64_t part;
    int i;

    part_base[0] = base[0];
    for (part = 0; part < parts; part++) {
        const int64_t at = part * s->samples;
        for (i = 0; i < l->n_args; i++)
            part_base[1 + i] = base[1 + i] + at * (l->unit_bytes[i] / samples);
        for (i = 0; i < all->n_crossings; i++)
            part_base[1 + l->n_args + i] =
                base[0] + all->crossings[i].offset + at * all->crossings[i].sample_bytes;
        run_steps(u, part_base, unit * parts + part, s->first, s->n);
    }
}

static void run_units(void *user, int64_t begin, int64_t end)
{
    const units *u = user;
    const native_sharing *l = u->launch;
    const native_plan *plan = l->plan;
    char *base[MAX_BASES];
    int64_t unit;
    int i;

    base[0] = u->workspace + lane_of(l->device) * l->lane_bytes;
    for (unit = begin; unit < end; unit++) {
        for (i = 0; i < l->n_args; i++)
            base[1 + i] = u->args[i] + unit * l->unit_bytes[i];
        if (!plan->segments)
            run_steps(u, base, unit, 0, plan->n_runs);
        for (i = 0; plan->segments && i < plan->segments->n; i++)
            run_segment(u, base, unit, &plan->segments->all[i]);
    }
}

int32_t native_run_program(const native_sharing *l, void *workspace, char *const *args, uint64_t id,
                           tfr_err *err)
{
    native_fault fault = {.lock = PTHREAD_MUTEX_INITIALIZER};
    char *base[MAX_BASES];
    int i;

    if (l->plan->stages) {
        native_run_stages(l->device, l->plan, workspace, args, l->unit_bytes, id, &fault);
    } else if (l->by_units) {
        units u = {l, workspace, args, id, &fault};
        l->device->host->parallel_for(run_units, &u, l->units, 1);
    } else {
        base[0] = workspace;
        for (i = 0; i < l->n_args; i++)
            base[1 + i] = args[i];
        run_shared(l, workspace, base, id, &fault);
    }
    if (fault.there && fault.label)
        return tfr_fail(err, TFR_EINVAL, "label %lld is class %lld, the scores have %lld",
                        (long long)fault.bad.position, (long long)fault.bad.index,
                        (long long)fault.bad.dim);
    return fault.there ? native_gather_fail(&fault.bad, err) : TFR_OK;
}
