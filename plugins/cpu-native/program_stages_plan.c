/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_stages_plan.c: where the values of a training step lie, and the order of its steps, stage
 * by stage. program.h says what stages are, program_stages.c which items are in which.
 */
#include "program.h"

#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

/* Calls a function for each value that an item reads or writes. */
static void for_each_value(const native_item *item, void (*f)(void *user, int value, bool written),
                           void *user)
{
    int k;

    for (k = 0; k < item->n_inputs; k++)
        f(user, item->inputs[k], false);
    f(user, item->residual, false);
    f(user, item->codes, item->kind == NATIVE_ITEM_CONV);
    for (k = 0; k < NATIVE_ITEM_MORE; k++)
        f(user, item->more[k], true);
    if (!item->chain) {
        f(user, item->output, true);
        return;
    }
    for (k = 0; k < item->chain->n_inputs; k++)
        f(user, item->chain->inputs[k], false);
    for (k = 0; k < item->chain->n_outputs; k++)
        f(user, item->chain->outputs[k], true);
}

typedef struct toucher {
    const native_ir *ir;
    native_staging *s;
    int item;
} toucher;

static void touch(void *user, int value, bool written)
{
    const toucher *t = user;
    native_staging *s = t->s;
    const native_item *item = &t->ir->items[t->item];
    int root, stage = item->stage;

    if (value < 0)
        return;
    root = t->ir->values[value].root;
    /* sums are finished in the next stage, which may read what is shared */
    if (item->reduces && (written || !t->ir->values[root].batched))
        stage++;
    if (s->first[root] < 0) {
        s->first[root] = t->item;
        s->first_stage[root] = stage;
        s->last_stage[root] = stage;
    }
    s->last[root] = t->item;
    if (item->reduces && !written)
        stage = item->stage < s->first_stage[root] ? item->stage : stage;
    if (stage < s->first_stage[root])
        s->first_stage[root] = stage;
    if (stage > s->last_stage[root])
        s->last_stage[root] = stage;
}

static void find_lives(const native_ir *ir, native_staging *s)
{
    int i;

    for (i = 0; i < ir->n_values; i++)
        s->first[i] = -1;
    for (i = 0; i < ir->n_items; i++) {
        toucher t = {ir, s, i};
        if (ir->items[i].kind != NATIVE_ITEM_NONE)
            for_each_value(&ir->items[i], touch, &t);
    }
}

/* A root that needs memory here. */
static bool needs_block(const native_ir *ir, const native_staging *s, int i)
{
    const native_value *v = &ir->values[i];
    return v->root == i && v->arg < 0 && !v->known && s->first[i] >= 0;
}

/* Of one unit, as nothing later reads it. */
static bool is_local(const native_ir *ir, const native_staging *s, int i)
{
    return ir->values[i].batched && s->first_stage[i] % 2 == 1 &&
           s->first_stage[i] == s->last_stage[i];
}

static void ref_units(native_planner *p, int stage, uint64_t *arena)
{
    native_staging *s = p->staging;
    tfr_arena_block *blocks = calloc((size_t)p->ir->n_values + 1, sizeof *blocks);
    uint32_t n = 0;
    int i;

    if (!blocks) {
        p->status = tfr_fail(p->err, TFR_ENOMEM, "no memory to plan that of a program");
        return;
    }
    p->samples = s->units[stage];
    for (i = 0; i < p->ir->n_values; i++) {
        if (needs_block(p->ir, s, i) && is_local(p->ir, s, i) && s->first_stage[i] == stage)
            blocks[n++] = (tfr_arena_block){native_bytes_of(p, &p->ir->values[i]),
                                            (uint32_t)s->first[i], (uint32_t)s->last[i], 0};
    }
    p->status = native_place(p, blocks, n);
    if (*arena < p->plan->arena_bytes)
        *arena = p->plan->arena_bytes;
    s->blocks[stage] = blocks;
    s->n_blocks[stage] = n;
    for (i = 0, n = 0; i < p->ir->n_values; i++) {
        if (needs_block(p->ir, s, i) && is_local(p->ir, s, i) && s->first_stage[i] == stage)
            p->refs[i] = (native_ref){NULL, (int64_t)blocks[n++].offset, 0};
    }
}

static int add_crossing(native_planner *p, int64_t offset, int64_t sample_bytes)
{
    native_stages *stages = p->plan->stages;
    native_crossing *more =
        realloc(stages->crossings, ((size_t)stages->n_crossings + 1) * sizeof *more);

    if (more && stages->n_crossings == NATIVE_CROSSINGS) {
        stages->crossings = more;
        p->status = tfr_fail(p->err, TFR_EUNSUPPORTED,
                             "more than %d values of all samples in a program", NATIVE_CROSSINGS);
        return 0;
    }
    if (!more) {
        p->status = tfr_fail(p->err, TFR_ENOMEM, "no memory to plan that of a program");
        return 0;
    }
    stages->crossings = more;
    more[stages->n_crossings] = (native_crossing){offset, sample_bytes};
    return stages->n_crossings++;
}

static void ref_values(native_planner *p)
{
    native_staging *s = p->staging;
    const native_ir *ir = p->ir;
    const int base = p->plan->stages->n_args;
    tfr_arena_block *blocks = calloc((size_t)ir->n_values + 1, sizeof *blocks);
    uint32_t n = 0;
    int i;

    if (!blocks) {
        p->status = tfr_fail(p->err, TFR_ENOMEM, "no memory to plan that of a program");
        return;
    }
    p->samples = ir->samples;
    for (i = 0; i < ir->n_values; i++) {
        if (needs_block(ir, s, i) && !is_local(ir, s, i))
            blocks[n++] =
                (tfr_arena_block){native_bytes_of(p, &ir->values[i]), (uint32_t)s->first_stage[i],
                                  (uint32_t)s->last_stage[i], 0};
    }
    p->status = native_place(p, blocks, n);
    s->values = native_aligned(p->plan->arena_bytes);
    for (i = 0, n = 0; i < ir->n_values && p->status == TFR_OK; i++) {
        const native_value *v = &ir->values[i];
        if (!needs_block(ir, s, i) || is_local(ir, s, i))
            continue;
        p->refs[i] = (native_ref){NULL, (int64_t)blocks[n].offset, base + NATIVE_BASE_VALUES};
        if (v->batched)
            p->refs[i] =
                (native_ref){NULL, 0,
                             base + NATIVE_BASE_CROSSINGS +
                                 add_crossing(p, (int64_t)blocks[n].offset,
                                              (int64_t)native_bytes_of(p, v) / (ir->samples))};
        n++;
    }
    free(blocks);
}

static void set_refs(native_planner *p)
{
    int i;

    for (i = 0; i < p->ir->n_values; i++) {
        const int root = p->ir->values[i].root;
        const native_value *v = &p->ir->values[root];
        if (v->known)
            p->refs[i] = (native_ref){v->known, 0, 0};
        else if (v->arg >= 0)
            p->refs[i] = (native_ref){NULL, 0, 1 + v->arg};
        else
            p->refs[i] = p->refs[root];
    }
}

/* ---- units ---- */

/* Weights of fewer bytes stay in the second cache. */
enum { FAR_BYTES = 512 * 1024 };

/* Bytes of weights, or of their gradient, that the item goes over in each unit; flops of a sample.
 */
static double far_bytes(const native_ir *ir, const native_item *item, double *flops)
{
    const bool sums =
        item->kind == NATIVE_ITEM_CONV_GRAD_FILTER || item->kind == NATIVE_ITEM_PRODUCT_GRAD;
    const native_value *w, *y;
    double n;

    *flops = 0.0;
    if (!sums && item->kind != NATIVE_ITEM_CONV && item->kind != NATIVE_ITEM_CONV_GRAD_INPUT &&
        item->kind != NATIVE_ITEM_PRODUCT)
        return 0.0;
    w = &ir->values[sums ? item->output : item->inputs[1]];
    y = &ir->values[item->kind == NATIVE_ITEM_CONV ? item->output : item->inputs[0]];
    n = (double)native_elements(w);
    *flops = 2.0 * n * (y->rank == 4 ? (double)(y->dims[2] * y->dims[3]) : 1.0);
    if (n * sizeof(float) < FAR_BYTES)
        return 0.0;
    if (item->kernel[0] == 3 && item->kernel[1] == 3 && item->stride[0] == 1)
        n *= 4.0; /* Winograd's forms */
    return n * sizeof(float) * (sums ? 2.0 : 1.0);
}

/*
 * Samples of a stage's units: the least, or as many as make it cheap to fetch weights anew for
 * each, which takes the time of about seven operations for each byte.
 */
static int64_t unit_of_stage(const native_ir *ir, int stage, int64_t least, int64_t piece)
{
    const double share = 20.0, of_byte = 7.0;
    double bytes = 0.0, flops = 0.0, more;
    int64_t unit = least;
    int i;

    for (i = 0; i < ir->n_items; i++) {
        const native_item *item = &ir->items[i];
        if (item->kind == NATIVE_ITEM_NONE || !item->by_samples || item->stage != stage)
            continue;
        bytes += far_bytes(ir, item, &more);
        flops += more;
    }
    while (unit < piece && bytes * of_byte * share > flops * (double)unit)
        do
            unit += least;
        while (piece % unit != 0);
    return unit;
}

/* ---- steps ---- */

static void latest_wave(void *user, int value, bool written)
{
    native_planner *p = user;
    int root;

    if (value < 0 || written)
        return;
    root = p->ir->values[value].root;
    if (p->staging->ready[root] == p->stage && p->wave <= p->staging->wave[root])
        p->wave = p->staging->wave[root] + 1;
}

static void set_ready(void *user, int value, bool written)
{
    native_planner *p = user;
    int root;

    if (value < 0 || !written)
        return;
    root = p->ir->values[value].root;
    p->staging->ready[root] = p->item->reduces ? p->stage + 1 : p->stage;
    p->staging->wave[root] = p->item->reduces ? 0 : p->wave - 1;
}

/* Memory of steps that threads share. */
static void place_shared(native_planner *p, int first_run)
{
    native_staging *s = p->staging;
    const uint64_t at = s->derived;
    int i;

    s->derived += p->shared;
    if (s->scratch < p->scratch)
        s->scratch = p->scratch;
    for (i = first_run; i < p->plan->n_runs; i++) {
        p->plan->runs[i].shared = at;
        p->plan->runs[i].scratch = 0;
        p->plan->runs[i].scratch_bytes = p->scratch;
    }
}

static void plan_one(native_planner *p, int i)
{
    const native_item *item = &p->ir->items[i];
    const int first_run = p->plan->n_runs;

    if (item->kind == NATIVE_ITEM_NONE || item->kind == NATIVE_ITEM_VIEW)
        return;
    p->stage = item->stage;
    p->wave = 0;
    p->samples = item->by_samples ? p->staging->units[item->stage] : p->ir->samples;
    p->lanes = item->by_samples ? 1 : p->ir->device->lanes;
    p->item = item;
    if (!item->by_samples)
        for_each_value(item, latest_wave, p);
    native_plan_item(p, i);
    if (p->status != TFR_OK)
        return;
    for_each_value(item, set_ready, p);
    if (p->scratch + p->shared == 0)
        return;
    if (item->by_samples) {
        p->blocks = p->staging->blocks[item->stage];
        p->n_blocks = p->staging->n_blocks[item->stage];
        native_place_scratch(p, i, first_run);
        p->blocks = NULL;
        p->n_blocks = 0;
    } else {
        place_shared(p, first_run);
    }
}

/* ---- order ---- */

static int by_place(const native_run *a, const native_run *b)
{
    return a->stage != b->stage ? a->stage - b->stage : a->stage % 2 ? 0 : a->wave - b->wave;
}

/* Of few enough: by insertion, which leaves equal ones as they are. */
static void sort_runs(native_run *runs, int n)
{
    int i, k;

    for (i = 1; i < n; i++) {
        const native_run run = runs[i];
        for (k = i; k > 0 && by_place(&runs[k - 1], &run) > 0; k--)
            runs[k] = runs[k - 1];
        runs[k] = run;
    }
}

/* Those that others have taken. */
static void drop_taken(native_plan *plan)
{
    int i, n = 0;

    for (i = 0; i < plan->n_runs; i++) {
        if (plan->runs[i].run)
            plan->runs[n++] = plan->runs[i];
    }
    plan->n_runs = n;
}

static void add_waves(native_plan *plan, native_stage *stage, int first, int end)
{
    native_stages *s = plan->stages;
    int n_waves = stage->first + stage->n, i;

    for (i = first; i < end; i++) {
        native_wave *wave;
        if (i == first || plan->runs[i].wave != plan->runs[i - 1].wave)
            s->waves[n_waves++] = (native_wave){i, 0, 0.0};
        wave = &s->waves[n_waves - 1];
        wave->n++;
        wave->cost += plan->runs[i].cost;
    }
    stage->n = n_waves - stage->first;
}

static void make_order(native_planner *p)
{
    native_plan *plan = p->plan;
    native_stages *s = plan->stages;
    int i = 0, stage, n_waves = 0;

    drop_taken(plan);
    sort_runs(plan->runs, plan->n_runs);
    for (stage = 0; stage < s->n_stages; stage++) {
        native_stage *to = &s->stages[stage];
        const int first = i;
        while (i < plan->n_runs && plan->runs[i].stage == stage)
            i++;
        to->by_units = stage % 2 == 1;
        to->first = to->by_units ? first : n_waves;
        to->n = to->by_units ? i - first : 0;
        if (!to->by_units)
            add_waves(plan, to, first, i);
        n_waves += to->by_units ? 0 : to->n;
    }
}

/* The workspace: values, sums, what is derived, scratch memory, memory of units. */
static void lay_out(native_planner *p, uint64_t arena)
{
    native_stages *s = p->plan->stages;
    const native_staging *g = p->staging;
    uint64_t at = g->values;
    int i;

    for (i = 0; i < s->n_stages; i++) {
        s->stages[i].sums = at;
        s->stages[i].sums_bytes = g->sums[i];
        at += (uint64_t)s->shards * g->sums[i];
    }
    s->derived = at;
    at += g->derived;
    s->scratch = at;
    s->scratch_bytes = g->scratch;
    at += (uint64_t)p->ir->device->lanes * g->scratch;
    s->lanes = at;
    s->lane_bytes = native_aligned(arena);
    s->n_lanes = s->shards < p->ir->device->lanes ? s->shards : p->ir->device->lanes;
    s->bytes = at + (uint64_t)s->n_lanes * s->lane_bytes;
    p->plan->arena_bytes = p->plan->lower_bound = s->bytes;
}

static int count_stages(const native_ir *ir)
{
    int n = 1, i;

    for (i = 0; i < ir->n_items; i++) {
        const native_item *item = &ir->items[i];
        int end = item->stage + (item->by_samples ? 2 : 1);
        if (item->kind != NATIVE_ITEM_NONE && n < end)
            n = end;
    }
    return n;
}

static void plan_all(native_planner *p)
{
    native_staging *s = p->staging;
    uint64_t arena = 0;
    int i;

    for (i = 1; i < s->n_stages; i += 2) {
        native_stage *to = &p->plan->stages->stages[i];
        s->units[i] = to->unit = unit_of_stage(p->ir, i, p->plan->samples, p->plan->stages->piece);
    }
    find_lives(p->ir, s);
    for (i = 0; i < p->ir->n_values; i++)
        s->ready[i] = -1;
    ref_values(p);
    for (i = 1; i < s->n_stages && p->status == TFR_OK; i += 2)
        ref_units(p, i, &arena);
    if (p->status == TFR_OK)
        set_refs(p);
    p->plan->arena_bytes = arena;
    for (i = 0; i < p->ir->n_items && p->status == TFR_OK; i++)
        plan_one(p, i);
    arena = p->plan->arena_bytes;
    native_fill_packed(p);
    p->plan->stages->waves = calloc((size_t)p->plan->n_runs + 1, sizeof(native_wave));
    if (!p->plan->stages->waves && p->status == TFR_OK)
        p->status = tfr_fail(p->err, TFR_ENOMEM, "no memory for the steps of a program");
    if (p->status != TFR_OK)
        return;
    make_order(p);
    lay_out(p, arena);
}

static void end_staging(native_staging *s)
{
    int i;

    for (i = 0; s->blocks && i < s->n_stages; i++)
        free(s->blocks[i]);
    free(s->first);
    free(s->last);
    free(s->first_stage);
    free(s->last_stage);
    free(s->ready);
    free(s->wave);
    free(s->blocks);
    free(s->n_blocks);
    free(s->sums);
    free(s->units);
}

static bool begin_staging(native_staging *s, const native_ir *ir)
{
    const size_t n = (size_t)ir->n_values + 1, m = (size_t)s->n_stages + 1;

    s->first = calloc(n, sizeof *s->first);
    s->last = calloc(n, sizeof *s->last);
    s->first_stage = calloc(n, sizeof *s->first_stage);
    s->last_stage = calloc(n, sizeof *s->last_stage);
    s->ready = calloc(n, sizeof *s->ready);
    s->wave = calloc(n, sizeof *s->wave);
    s->blocks = calloc(m, sizeof *s->blocks);
    s->n_blocks = calloc(m, sizeof *s->n_blocks);
    s->sums = calloc(m, sizeof *s->sums);
    s->units = calloc(m, sizeof *s->units);
    return s->first && s->last && s->first_stage && s->last_stage && s->ready && s->wave &&
           s->blocks && s->n_blocks && s->sums && s->units;
}

static native_stages *new_stages(const native_ir *ir, int n, const native_shares *shares)
{
    native_stages *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->stages = calloc((size_t)n + 1, sizeof *s->stages);
    s->n_stages = n;
    s->n_args = (int)(ir->graph->n_inputs + ir->graph->n_outputs);
    s->shards = shares->shards;
    s->pieces = ir->samples / shares->piece;
    s->piece = shares->piece;
    return s;
}

int32_t native_make_stages(native_ir *ir, const native_shares *shares, native_plan *plan,
                           uint64_t *constant_bytes, tfr_err *err)
{
    native_staging staging = {.shards = shares->shards, .n_stages = count_stages(ir)};
    native_planner p = {.ir = ir, .isa = ir->device->isa, .plan = plan, .err = err};
    int i;

    memset(plan, 0, sizeof *plan);
    plan->samples = shares->unit;
    p.staging = &staging;
    p.item = ir->items;
    p.refs = calloc((size_t)ir->n_values + 1, sizeof *p.refs);
    plan->stages = new_stages(ir, staging.n_stages, shares);
    if (!p.refs || !plan->stages || !plan->stages->stages || !begin_staging(&staging, ir))
        p.status = tfr_fail(err, TFR_ENOMEM, "no memory for the values of a program");
    for (i = 0; i < ir->n_items && p.status == TFR_OK; i++)
        ir->items[i].is_big = ir->items[i].kind == NATIVE_ITEM_BATCHED_PRODUCT &&
                              native_is_big_product(&p, &ir->items[i]);
    if (p.status == TFR_OK)
        native_align_known(&p);
    if (p.status == TFR_OK)
        plan_all(&p);
    end_staging(&staging);
    free(p.refs);
    *constant_bytes += p.constant_bytes;
    if (p.status != TFR_OK)
        native_drop_plan(ir->device, plan);
    return p.status;
}

void native_end_stages(native_plan *plan)
{
    if (!plan->stages)
        return;
    free(plan->stages->stages);
    free(plan->stages->waves);
    free(plan->stages->crossings);
    free(plan->stages);
}
