/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_run.c: the threads of a program. Units: each thread takes units of samples through all
 * steps, in memory of its own; one fork and join for a run. Shared steps: one memory, and each step
 * that is worth it is cut into as many parts as there are threads. What is computed does not depend
 * on who computes it.
 */
#include <stdatomic.h>

#include "profile.h"
#include "program.h"

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
 * too, is not waited for with all of its part: who is done takes pieces of the others.
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
    const int64_t n = s->step->n, all = s->parts * s->pieces;

    s->step->run(s->step->params, bases, i * n / all, (i + 1) * n / all);
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
                        step->n >= s->parts * PIECES
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

enum { MAX_BASES = NATIVE_PROGRAM_ARGS + 1 };

typedef struct units {
    const native_sharing *launch;
    char *workspace;
    char *const *args;
    uint64_t id;
    native_fault *fault;
} units;

static void run_units(void *user, int64_t begin, int64_t end)
{
    const units *u = user;
    const native_sharing *l = u->launch;
    const native_plan *plan = l->plan;
    char *lane = u->workspace + lane_of(l->device) * l->lane_bytes, *base[MAX_BASES];
    int64_t unit;
    int i;

    base[0] = lane;
    for (unit = begin; unit < end; unit++) {
        for (i = 0; i < l->n_args; i++)
            base[1 + i] = u->args[i] + unit * l->unit_bytes[i];
        for (i = 0; i < plan->n_runs; i++) {
            const native_run *step = &plan->runs[i];
            const native_bases bases = {base, lane + step->scratch, u->fault,
                                        unit, lane + step->shared,  0};
            uint64_t began = native_profile_begin(l->device, u->id);
            step->run(step->params, &bases, 0, step->n);
            record(l->device, began, u->id, step);
        }
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
    } else if (l->units > 1) {
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
