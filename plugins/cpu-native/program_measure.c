/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_measure.c: how a program is shared out: steps by all threads, or units of samples by
 * each. Ways are tried on made-up data, and the fastest one stays. The choice can be saved and
 * given to a later compilation; results do not depend on it.
 *
 * Nobody waits for whole runs: all units take the same time, so one for each thread tells that of
 * all, and steps that are shared are tried on more and more samples until a sample's time falls no
 * further.
 */
#include "program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    MAGIC = 0x756e6974,
    MAX_WAYS = 9,
    MOST_SEGMENTED = 8,      /* samples of a unit with segments */
    LEAST_NS = 1000000,      /* of measuring a way */
    MOST_NS = 400 * 1000000, /* of measuring all, or so many times the first trial: */
    MOST_TRIALS = 4,
    MAX_RUNS = 200
};

/* A way that takes so much longer than the best is the last of its kind to be tried. */
#define CLEARLY_SLOWER 1.1
/* So much the time of a sample falls where shared steps are worth a trial with more samples. */
#define CLEARLY_FASTER 0.97
/*
 * Shared steps that were tried on a part only look better than they are: all overflows caches. A
 * machine that is busy for a moment must not turn the choice either: all of MobileNetV2 at batch 64
 * takes twice as long so.
 */
#define FOR_A_PART  1.25
#define BYTES_IN_NS 20.0 /* from beyond the second cache */
/* The shares of a sample's time that segments save at least and at most. */
#define WORTH_SEGMENTS 0.01
#define MOST_SAVED     0.2

native_choice native_choice_of(const native_sharing *l)
{
    const native_choice choice = {MAGIC, (uint32_t)l->device->threads,
                                  l->by_units || l->plan->stages ? l->plan->samples : 0,
                                  l->segmented};
    return choice;
}

static uint64_t arg_bytes(const native_value *v)
{
    return ((uint64_t)native_elements(v) * tfr_dtype_bits(v->dtype) + 7) / 8;
}

/* Units of a way's samples; a single one, if it has no segments, is shared by the threads. */
static int32_t make_way(native_ir *ir, native_way way, int64_t units, native_plan *plan,
                        native_sharing *l, int64_t *unit_bytes, uint64_t *constant_bytes,
                        tfr_err *err)
{
    const tfr_program_graph *g = ir->graph;
    const bool by_units = units > 1 || way.segmented;
    const int64_t samples = way.samples;
    uint64_t lanes = (uint64_t)ir->device->lanes;
    int32_t status = native_make_plan(ir, samples, way.segmented, by_units ? 1 : ir->device->lanes,
                                      plan, constant_bytes, err);
    int i;

    if (status != TFR_OK)
        return status;
    memset(l, 0, sizeof *l);
    l->device = ir->device;
    l->plan = plan;
    l->units = units;
    l->by_units = by_units;
    l->segmented = way.segmented;
    l->n_args = (int)(g->n_inputs + g->n_outputs);
    l->unit_bytes = unit_bytes;
    l->share = ir->device->threads > 1;
    for (i = 0; i < ir->n_values; i++) {
        const native_value *v = &ir->values[i];
        if (v->arg >= 0)
            unit_bytes[v->arg] =
                v->batched ? (int64_t)(arg_bytes(v) / (uint64_t)ir->samples * (uint64_t)samples)
                           : 0;
    }
    if (l->by_units) {
        l->lane_bytes = native_aligned(plan->arena_bytes);
        l->workspace_bytes = lanes * l->lane_bytes;
    } else {
        l->workspace_bytes = plan->arena_bytes;
    }
    return status;
}

/* ---- stages ---- */

enum {
    FIRST_UNIT = 8,
    LEAST_PIECES = 4 /* of a shard, so that none has a quarter more than another */
};

/*
 * Shards: as many as the session wants, else one for each thread. Where they cannot be equal they
 * are cut between pieces of some samples, which every unit divides. Neither depends on the other
 * choices, for bits depend on it.
 */
static native_shares share_samples(const native_ir *ir)
{
    const uint32_t wanted = ir->graph->n_nodes ? native_graph_node(ir->graph, 0)->call->shards : 0;
    const int64_t n = ir->samples, most = wanted ? (int64_t)wanted : ir->device->threads;
    native_shares s = {(int)(most < n ? most : n), FIRST_UNIT, 0};

    if (n % s.shards == 0)
        s.piece = n / s.shards;
    while (n % s.shards != 0 && s.piece > 1 &&
           (n % s.piece != 0 || n / s.piece < LEAST_PIECES * s.shards))
        s.piece--;
    return s;
}

/* Samples of a unit as the blob has them, or 0. */
static int64_t saved_unit(const native_ir *ir, const tfr_compile_options *options, int64_t samples)
{
    native_choice choice;

    if (!options || !options->blob || options->blob_bytes != sizeof choice)
        return 0;
    memcpy(&choice, options->blob, sizeof choice);
    return choice.magic == MAGIC && choice.threads == (uint32_t)ir->device->threads &&
                   choice.samples > 0 && choice.samples <= samples && samples % choice.samples == 0
               ? choice.samples
               : 0;
}

static int64_t first_unit(int64_t samples)
{
    int64_t unit = samples < FIRST_UNIT ? samples : FIRST_UNIT;

    while (samples % unit != 0)
        unit--;
    return unit;
}

/*
 * The most whole units together whose values fit the second cache: the more samples, the less often
 * weights and sums of gradients are gone over. Bits do not depend on it.
 */
static int64_t unit_that_fits(const native_ir *ir, const native_plan *plan, int64_t unit,
                              int64_t samples)
{
    const uint64_t room = (uint64_t)ir->device->gemm.l2_bytes;
    int64_t n = samples / unit;

    while (n > 1 && (samples % (n * unit) != 0 || plan->stages->lane_bytes * (uint64_t)n > room))
        n--;
    return n * unit;
}

static int32_t make_staged(native_ir *ir, const tfr_compile_options *options, native_plan *plan,
                           native_sharing *l, int64_t *unit_bytes, uint64_t *constant_bytes,
                           tfr_err *err)
{
    native_shares shares = share_samples(ir);
    const int64_t saved = saved_unit(ir, options, shares.piece);
    const uint64_t bytes = *constant_bytes;
    int32_t status;
    int i;

    shares.unit = saved ? saved : first_unit(shares.piece);
    status = native_make_stages(ir, &shares, plan, constant_bytes, err);
    if (status == TFR_OK && !saved) {
        const int64_t unit = unit_that_fits(ir, plan, shares.unit, shares.piece);
        if (unit > shares.unit) {
            native_drop_plan(ir->device, plan);
            shares.unit = unit;
            *constant_bytes = bytes;
            status = native_make_stages(ir, &shares, plan, constant_bytes, err);
        }
    }
    if (status != TFR_OK)
        return status;
    memset(l, 0, sizeof *l);
    l->device = ir->device;
    l->plan = plan;
    l->units = 1;
    l->n_args = (int)(ir->graph->n_inputs + ir->graph->n_outputs);
    l->unit_bytes = unit_bytes;
    l->share = ir->device->threads > 1;
    l->workspace_bytes = plan->arena_bytes;
    for (i = 0; i < ir->n_values; i++) {
        const native_value *v = &ir->values[i];
        if (v->arg >= 0 && v->root == i) /* a view of it may have the samples elsewhere */
            unit_bytes[v->arg] = v->batched ? (int64_t)(arg_bytes(v) / (uint64_t)ir->samples) : 0;
    }
    return status;
}

/* ---- trials ---- */

typedef struct search {
    native_ir *ir;
    uint64_t constant_bytes, began, most_ns;
    double best; /* ns of a run */
    native_way way;
} search;

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool has_time(const search *s, double ns)
{
    return s->most_ns == 0 || (double)(now() - s->began) + ns <= (double)s->most_ns;
}

/* Bytes of an argument for some samples. */
static uint64_t part_bytes(const native_ir *ir, const native_value *v, int64_t samples)
{
    uint64_t bytes = arg_bytes(v);
    return v->batched ? bytes / (uint64_t)ir->samples * (uint64_t)samples : bytes;
}

/*
 * Arguments for some samples: small numbers that are not all equal, zeros of other types. The
 * caller frees what is returned.
 */
static char *make_args(const native_ir *ir, int64_t samples, char **args)
{
    uint64_t bytes = 0, at = 0, k;
    char *memory;
    int i;

    for (i = 0; i < ir->n_values; i++) {
        if (ir->values[i].arg >= 0)
            bytes += native_aligned(part_bytes(ir, &ir->values[i], samples));
    }
    memory = aligned_alloc(NATIVE_ALIGNMENT, (size_t)bytes + NATIVE_ALIGNMENT);
    if (!memory)
        return NULL;
    memset(memory, 0, (size_t)bytes);
    for (i = 0; i < ir->n_values; i++) {
        const native_value *v = &ir->values[i];
        uint64_t n = part_bytes(ir, v, samples);
        if (v->arg < 0)
            continue;
        args[v->arg] = memory + at;
        for (k = 0; v->dtype == TFR_DTYPE_F32 && !v->output && k < n / sizeof(float); k++)
            ((float *)(void *)(memory + at))[k] = (float)(int)(k * 7 % 33) / 16.0f - 1.0f;
        at += native_aligned(n);
    }
    return memory;
}

static uint64_t most_of(uint64_t first_ns)
{
    return MOST_TRIALS * first_ns < MOST_NS ? MOST_NS : MOST_TRIALS * first_ns;
}

/* ns of one run, the least of some. */
static double measure(search *s, const native_sharing *l, char *workspace, char *const *args)
{
    uint64_t begin = now();
    double best = INFINITY;
    int i;

    for (i = 0; i < MAX_RUNS; i++) {
        uint64_t start = now(), stop;
        double ns;
        (void)native_run_program(l, workspace, args, 0, NULL);
        stop = now();
        ns = (double)(stop - start);
        best = ns < best ? ns : best;
        if (s->most_ns == 0) /* by the very first run */
            s->most_ns = most_of(stop - start);
        if (!has_time(s, ns) || (i > 1 && stop - begin > LEAST_NS))
            break;
    }
    return best;
}

/* ns that a way takes, in a unit for each thread or shared by all; INFINITY without memory. */
static double try_plan(search *s, native_way way, bool shared)
{
    const int64_t units = shared ? 1 : s->ir->device->threads;
    int64_t unit_bytes[NATIVE_PROGRAM_ARGS];
    char *args[NATIVE_PROGRAM_ARGS], *memory, *workspace;
    double ns = INFINITY;
    native_plan plan;
    native_sharing l;

    if (make_way(s->ir, way, units, &plan, &l, unit_bytes, &s->constant_bytes, NULL) != TFR_OK)
        return ns;
    memory = make_args(s->ir, units * way.samples, args);
    workspace = aligned_alloc(NATIVE_ALIGNMENT, (size_t)native_aligned(l.workspace_bytes + 1));
    if (memory && workspace) {
        memset(workspace, 0, (size_t)l.workspace_bytes);
        ns = measure(s, &l, workspace, args);
    }
    free(memory);
    free(workspace);
    native_drop_plan(s->ir->device, &plan);
    return ns;
}

static void compare(search *s, double ns, native_way way)
{
    if (ns < s->best) {
        s->best = ns;
        s->way = way;
    }
}

/* Of all units, if one takes so long. */
static double of_all(const search *s, double ns, int64_t samples)
{
    const int64_t threads = s->ir->device->threads, units = s->ir->samples / samples;

    return ns * (double)((units + threads - 1) / threads);
}

/* The samples of units with segments: the most of these that give every thread one, or 1. */
static int64_t segmented_samples(const native_ir *ir, int64_t most)
{
    while (most > 1 && (ir->samples % most != 0 || ir->samples / most < ir->device->threads))
        most /= 2;
    return most;
}

/*
 * one: ns of a unit of one sample. What units with segments read less from far away is known, but
 * it is a tenth of the time, and a trial of as many samples differs by more where the machine has
 * other things to do: so they are not tried.
 */
static void estimate_segments(search *s, double one)
{
    const native_way way = {segmented_samples(s->ir, MOST_SEGMENTED), true};
    int64_t unit_bytes[NATIVE_PROGRAM_ARGS];
    native_plan plan;
    native_sharing l;
    double less;

    if (way.samples < 2 ||
        make_way(s->ir, way, 1, &plan, &l, unit_bytes, &s->constant_bytes, NULL) != TFR_OK)
        return;
    less = fmin(plan.saved_bytes / BYTES_IN_NS, MOST_SAVED * one);
    if (less > WORTH_SEGMENTS * one)
        compare(s, of_all(s, (one - less) * (double)way.samples, way.samples), way);
    native_drop_plan(s->ir->device, &plan);
}

/* Units of one sample come first. */
static void try_units(search *s, const native_way *ways, int n)
{
    double ns = 0.0, all = 0.0;
    int i;

    for (i = 0; i < n && all <= CLEARLY_SLOWER * s->best && has_time(s, 2.0 * ns); i++) {
        if (ways[i].segmented)
            continue;
        ns = try_plan(s, ways[i], false);
        all = of_all(s, ns, ways[i].samples);
        compare(s, all, ways[i]);
        if (i == 0)
            estimate_segments(s, ns);
    }
}

static void try_shared(search *s)
{
    const int64_t all = s->ir->samples;
    const native_way shared = {0, false};
    double ns = 0.0, before = INFINITY, sample;
    int64_t n;

    for (n = 1; n == 1 || has_time(s, 2.0 * ns); n = 2 * n < all ? 2 * n : all) {
        ns = try_plan(s, (native_way){n, false}, true);
        sample = ns / (double)n;
        if (n == all) {
            compare(s, ns, shared);
            return;
        }
        if (!(sample <= CLEARLY_FASTER * before)) {
            before = sample < before ? sample : before;
            break;
        }
        before = sample;
    }
    compare(s, before * FOR_A_PART * (double)all, shared);
}

/* ---- the choice ---- */

/* Sizes of units to try: a few divisors that give every thread work; the last ones with segments.
 */
static int list_ways(const native_ir *ir, native_way *ways)
{
    static const int64_t sizes[] = {1, 2, 4, 8, 16};
    int n = 0, i;

    ways[n++] = (native_way){0, false};
    if (!ir->separable || !ir->device->pool || !ir->device->pool->lane)
        return n;
    for (i = 0; i < (int)(sizeof sizes / sizeof sizes[0]) && n < MAX_WAYS; i++) {
        if (ir->samples % sizes[i] == 0 && ir->samples / sizes[i] >= 2 &&
            ir->samples / sizes[i] >= ir->device->threads)
            ways[n++] = (native_way){sizes[i], false};
    }
    for (i = MOST_SEGMENTED; i > 1; i /= 2) {
        if (segmented_samples(ir, i) == i)
            ways[n++] = (native_way){i, true};
    }
    return n;
}

/* Which way the blob has; -1 = none of these. */
static int saved_way(const native_ir *ir, const tfr_compile_options *options,
                     const native_way *ways, int n)
{
    native_choice choice;
    int i;

    if (!options || !options->blob || options->blob_bytes != sizeof choice)
        return -1;
    memcpy(&choice, options->blob, sizeof choice);
    for (i = 0; i < n; i++) {
        if (choice.magic == MAGIC && choice.threads == (uint32_t)ir->device->threads &&
            choice.samples == ways[i].samples && choice.segmented == ways[i].segmented)
            return i;
    }
    return -1;
}

/* Units are tried first, for they win mostly. ways[0] is the shared one. */
static native_way fastest_way(native_ir *ir, const native_way *ways, int n, uint64_t *time_ns)
{
    search s = {.ir = ir, .began = now(), .best = INFINITY, .way = ways[0]};

    try_units(&s, ways + 1, n - 1);
    try_shared(&s);
    *time_ns = s.best < INFINITY ? (uint64_t)s.best : 0;
    return s.way;
}

static int32_t make_chosen(native_ir *ir, native_way way, native_plan *plan, native_sharing *l,
                           int64_t *unit_bytes, uint64_t *constant_bytes, tfr_err *err)
{
    if (way.samples == 0)
        way.samples = ir->samples;
    return make_way(ir, way, ir->samples / way.samples, plan, l, unit_bytes, constant_bytes, err);
}

int32_t native_choose_plan(native_ir *ir, const tfr_compile_options *options, native_plan *plan,
                           native_sharing *l, int64_t *unit_bytes, uint64_t *constant_bytes,
                           tfr_err *err)
{
    native_way ways[MAX_WAYS], way;
    const int n = ir->staged ? 0 : list_ways(ir, ways);
    uint64_t time_ns = 0;
    int32_t status;
    int number;

    if (ir->staged)
        return make_staged(ir, options, plan, l, unit_bytes, constant_bytes, err);
    number = saved_way(ir, options, ways, n);
    if (number < 0 && options && options->flags & TFR_COMPILE_QUICK)
        number = n > 1 && ir->samples >= 4 * ir->device->threads ? 1 : 0;
    if (number < 0) {
        /* It keeps the packed constants while the ways come and go. */
        native_plan keep;
        if (n > 1 && native_make_plan(ir, 1, false, 1, &keep, constant_bytes, err) == TFR_OK) {
            way = fastest_way(ir, ways, n, &time_ns);
            status = make_chosen(ir, way, plan, l, unit_bytes, constant_bytes, err);
            native_drop_plan(ir->device, &keep);
            l->time_ns = time_ns;
            return status;
        }
        number = 0;
    }
    return make_chosen(ir, ways[number], plan, l, unit_bytes, constant_bytes, err);
}

int32_t native_share_plan(native_ir *ir, native_plan *plan, native_sharing *l, int64_t *unit_bytes,
                          uint64_t *constant_bytes, tfr_err *err)
{
    if (ir->staged)
        return make_staged(ir, NULL, plan, l, unit_bytes, constant_bytes, err);
    return make_chosen(ir, (native_way){0, false}, plan, l, unit_bytes, constant_bytes, err);
}
