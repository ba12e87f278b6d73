/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_measure.c: how a program is shared out: steps by all threads, or units of samples by
 * each. Every way is run a few times on made-up data, and the fastest one stays. The choice can be
 * saved and given to a later compilation.
 */
#include "program.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    MAGIC = 0x756e6974,
    MAX_WAYS = 6,
    LEAST_NS = 2000000,      /* of measuring a way */
    MOST_NS = 400 * 1000000, /* of measuring all */
    ALIGNMENT = 64
};

tfr_dnn_choice tfr_dnn_choice_of(const tfr_dnn_sharing *l)
{
    const tfr_dnn_choice choice = {MAGIC, (uint32_t)l->device->threads,
                                   l->units > 1 ? l->plan->samples : 0};
    return choice;
}

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
}

static uint64_t arg_bytes(const tfr_dnn_value *v)
{
    return ((uint64_t)tfr_dnn_elements(v) * tfr_dtype_bits(v->dtype) + 7) / 8;
}

/* samples 0 = all together, threads share the steps */
static int32_t make_way(tfr_dnn_ir *ir, int64_t samples, tfr_dnn_plan *plan, tfr_dnn_sharing *l,
                        int64_t *unit_bytes, uint64_t *constant_bytes, tfr_err *err)
{
    const tfr_program_graph *g = ir->graph;
    uint64_t lanes = (uint64_t)ir->device->lanes;
    int32_t status =
        tfr_dnn_make_plan(ir, samples ? samples : ir->samples, plan, constant_bytes, err);
    int i;

    if (status != TFR_OK)
        return status;
    memset(l, 0, sizeof *l);
    l->device = ir->device;
    l->plan = plan;
    l->units = samples ? ir->samples / samples : 1;
    l->n_args = (int)(g->n_inputs + g->n_outputs);
    l->unit_bytes = unit_bytes;
    l->share = ir->device->threads > 1;
    for (i = 0; i < ir->n_values; i++) {
        const tfr_dnn_value *v = &ir->values[i];
        if (v->arg >= 0)
            unit_bytes[v->arg] =
                v->batched ? (int64_t)(arg_bytes(v) / (uint64_t)ir->samples * (uint64_t)samples)
                           : 0;
    }
    if (l->units > 1) {
        l->lane_bytes = aligned(plan->arena_bytes) + plan->scratch_bytes;
        l->workspace_bytes = lanes * l->lane_bytes;
    } else {
        l->lane_bytes = plan->scratch_bytes;
        l->workspace_bytes = plan->arena_bytes + lanes * l->lane_bytes;
    }
    return status;
}

/* ---- measuring ---- */

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

typedef struct trial {
    char *memory, *args[TFR_DNN_PROGRAM_ARGS];
    uint64_t bytes;
} trial;

/* Arguments of small numbers that are not all equal; zeros of other types. */
static bool begin_trial(trial *t, const tfr_dnn_ir *ir)
{
    uint64_t at = 0, k;
    int i;

    for (i = 0; i < ir->n_values; i++) {
        if (ir->values[i].arg >= 0)
            t->bytes += aligned(arg_bytes(&ir->values[i]));
    }
    t->memory = aligned_alloc(ALIGNMENT, (size_t)t->bytes + ALIGNMENT);
    if (!t->memory)
        return false;
    memset(t->memory, 0, (size_t)t->bytes);
    for (i = 0; i < ir->n_values; i++) {
        const tfr_dnn_value *v = &ir->values[i];
        if (v->arg < 0)
            continue;
        t->args[v->arg] = t->memory + at;
        for (k = 0; v->dtype == TFR_DTYPE_F32 && k < arg_bytes(v) / sizeof(float); k++)
            ((float *)(void *)(t->memory + at))[k] = (float)(int)(k * 7 % 33) / 16.0f - 1.0f;
        at += aligned(arg_bytes(v));
    }
    return true;
}

/* ns of one run, the least of some; UINT64_MAX without memory. */
static uint64_t measure(const tfr_dnn_sharing *l, const trial *t, uint64_t most)
{
    char *workspace = aligned_alloc(ALIGNMENT, (size_t)aligned(l->workspace_bytes + 1));
    uint64_t best = UINT64_MAX, begin = now();
    int i;

    if (!workspace)
        return best;
    memset(workspace, 0, (size_t)l->workspace_bytes);
    for (i = 0; i < 200; i++) {
        uint64_t start = now(), stop;
        tfr_dnn_run_program(l, workspace, t->args, 0);
        stop = now();
        if (stop - start < best && (i > 0 || stop - begin > most))
            best = stop - start;
        if (stop - begin > most || (i > 2 && stop - begin > LEAST_NS))
            break;
    }
    free(workspace);
    return best;
}

/* ---- the choice ---- */

/* Sizes of units to try: a few divisors that give every thread work. */
static int list_ways(const tfr_dnn_ir *ir, int64_t *ways)
{
    static const int64_t sizes[] = {1, 2, 4, 8, 16};
    int n = 0, i;

    ways[n++] = 0;
    if (!ir->separable || !ir->device->pool || !ir->device->pool->lane)
        return n;
    for (i = 0; i < (int)(sizeof sizes / sizeof sizes[0]) && n < MAX_WAYS; i++) {
        if (ir->samples % sizes[i] == 0 && ir->samples / sizes[i] >= 2 &&
            ir->samples / sizes[i] >= ir->device->threads)
            ways[n++] = sizes[i];
    }
    return n;
}

/* The way of the blob, if it is one of ours; -1 = none. */
static int64_t saved_way(const tfr_dnn_ir *ir, const tfr_compile_options *options,
                         const int64_t *ways, int n)
{
    tfr_dnn_choice choice;
    int i;

    if (!options || !options->blob || options->blob_bytes != sizeof choice)
        return -1;
    memcpy(&choice, options->blob, sizeof choice);
    for (i = 0; i < n; i++) {
        if (choice.magic == MAGIC && choice.threads == (uint32_t)ir->device->threads &&
            choice.samples == ways[i])
            return ways[i];
    }
    return -1;
}

static int64_t fastest_way(tfr_dnn_ir *ir, const int64_t *ways, int n, uint64_t *time_ns)
{
    uint64_t best = UINT64_MAX, bytes = 0;
    int64_t way = ways[0], unit_bytes[TFR_DNN_PROGRAM_ARGS];
    trial t = {0};
    int i;

    if (n < 2 || !begin_trial(&t, ir))
        return way;
    for (i = 0; i < n; i++) {
        tfr_dnn_plan plan;
        tfr_dnn_sharing l;
        uint64_t time;
        if (make_way(ir, ways[i], &plan, &l, unit_bytes, &bytes, NULL) != TFR_OK)
            continue;
        time = measure(&l, &t, MOST_NS / MAX_WAYS);
        tfr_dnn_drop_plan(ir->device, &plan);
        if (time < best) {
            best = time;
            way = ways[i];
        }
    }
    free(t.memory);
    *time_ns = best == UINT64_MAX ? 0 : best;
    return way;
}

int32_t tfr_dnn_choose_plan(tfr_dnn_ir *ir, const tfr_compile_options *options, tfr_dnn_plan *plan,
                            tfr_dnn_sharing *l, int64_t *unit_bytes, uint64_t *constant_bytes,
                            tfr_err *err)
{
    int64_t ways[MAX_WAYS], way;
    int n = list_ways(ir, ways);
    uint64_t time_ns = 0;
    int32_t status;

    way = saved_way(ir, options, ways, n);
    if (way < 0) {
        /* It keeps the packed constants while the ways come and go. */
        tfr_dnn_plan keep;
        if (n > 1 && tfr_dnn_make_plan(ir, ir->samples, &keep, constant_bytes, err) == TFR_OK) {
            way = fastest_way(ir, ways, n, &time_ns);
            status = make_way(ir, way, plan, l, unit_bytes, constant_bytes, err);
            tfr_dnn_drop_plan(ir->device, &keep);
            l->time_ns = time_ns;
            return status;
        }
        way = 0;
    }
    return make_way(ir, way, plan, l, unit_bytes, constant_bytes, err);
}
