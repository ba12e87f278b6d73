/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_segments.c: a unit of several samples whose items do not all go over as many of them at a
 * time. The first layers of a network have few weights and large images: there one sample after the
 * other stays in the second cache. The last ones have more weights than pixels, which all samples
 * of the unit share when they are read. So the items are cut into segments, each of which goes over
 * the unit in parts of its own number of samples; what later segments read has memory for the whole
 * unit.
 */
#include "program_segments.h"

#include <stdlib.h>

#include "program_winograd.h"

enum {
    SIZES = 4,        /* of parts: 1, 2, 4 and 8 samples */
    CALL_BYTES = 4096 /* that could be fetched while a step begins */
};

/* What an item goes over for each sample, and whatever their number. */
typedef struct traffic {
    double sample, weights; /* bytes */
} traffic;

static double bytes_of(const native_value *v)
{
    return (double)native_elements(v) * (double)tfr_dtype_bits(v->dtype) / 8.0;
}

static void add_operand(const native_planner *p, traffic *t, int value)
{
    const native_value *v = &p->ir->values[value < 0 ? 0 : value];

    if (value < 0)
        return;
    if (v->batched)
        t->sample += bytes_of(v) / (double)p->ir->samples;
    else
        t->weights += bytes_of(v);
}

/* Of 3 x 3 the weights become those of a Winograd form. */
static double weights_factor(const native_planner *p, const native_item *item)
{
    const int form = item->kind == NATIVE_ITEM_CONV && item->integer < 0 && item->n_inputs > 1
                         ? native_winograd_form(p, item)
                         : -1;

    return form < 0 ? 1.0
                    : (double)native_winograd_places(&native_winograd_forms[form]) /
                          (double)(item->kernel[0] * item->kernel[1]);
}

static traffic traffic_of(const native_planner *p, const native_item *item)
{
    traffic t = {0.0, 0.0};
    int k;

    if (item->kind == NATIVE_ITEM_NONE || item->kind == NATIVE_ITEM_VIEW)
        return t;
    for (k = 0; k < item->n_inputs; k++)
        add_operand(p, &t, item->inputs[k]);
    t.weights = t.weights * weights_factor(p, item) + CALL_BYTES;
    if (item->front)
        add_operand(p, &t, item->front->inputs[1]);
    add_operand(p, &t, item->residual);
    add_operand(p, &t, item->output);
    return t;
}

/* The share of so many bytes that half of the second cache does not hold. */
static double spilled(const native_planner *p, double bytes)
{
    const double room = (double)p->ir->device->gemm.l2_bytes / 2.0;

    return bytes <= room ? 0.0 : bytes >= 2.0 * room ? 1.0 : bytes / room - 1.0;
}

/* Bytes from beyond the second cache for each sample of a part. */
static double cost_of(const native_planner *p, const traffic *t, int64_t samples)
{
    return t->weights / (double)samples + t->sample * spilled(p, t->sample * (double)samples);
}

/* ---- what is read by later items ---- */

typedef struct reach {
    int made, read; /* items; -1 = none */
} reach;

static void note_read(const native_ir *ir, reach *r, int value, int item)
{
    if (value >= 0)
        r[ir->values[value].root].read = item;
}

static void note_made(const native_ir *ir, reach *r, int value, int item)
{
    if (value >= 0 && r[ir->values[value].root].made < 0)
        r[ir->values[value].root].made = item;
}

/* Of each root in the arena. */
static reach *find_reaches(const native_ir *ir)
{
    reach *r = malloc(((size_t)ir->n_values + 1) * sizeof *r);
    int i, k;

    for (i = 0; r && i < ir->n_values; i++)
        r[i] = (reach){-1, -1};
    for (i = 0; r && i < ir->n_items; i++) {
        const native_item *item = &ir->items[i];
        if (item->kind == NATIVE_ITEM_NONE)
            continue;
        for (k = 0; k < item->n_inputs; k++)
            note_read(ir, r, item->inputs[k], i);
        note_read(ir, r, item->residual, i);
        note_made(ir, r, item->output, i);
        for (k = 0; k < NATIVE_ITEM_MORE; k++)
            note_made(ir, r, item->more[k], i);
    }
    return r;
}

static bool crosses(const native_ir *ir, const reach *r, int root, int border)
{
    const native_value *v = &ir->values[root];

    return v->root == root && v->arg < 0 && !v->known && r[root].made >= 0 &&
           r[root].made < border && r[root].read >= border;
}

/* Bytes of a sample that are made in front of an item and read from it on; below 0 = it may not
 * begin a segment, as something among them is shared by samples. */
static double crossing_bytes(const native_ir *ir, const reach *r, int border)
{
    double bytes = 0.0;
    int i;

    for (i = 0; i < ir->n_values; i++) {
        if (!crosses(ir, r, i, border))
            continue;
        if (!ir->values[i].batched || ir->values[i].appended)
            return -1.0;
        bytes += bytes_of(&ir->values[i]) / (double)ir->samples;
    }
    return bytes;
}

/* ---- the cut ---- */

/* The least cost of the items so far where the last one goes by parts of 1 << size samples, and the
 * size that the one before had. */
typedef struct best {
    double cost[SIZES];
    int before[SIZES];
} best;

static best add_item(const native_planner *p, const best *last, const traffic *t, double crossing,
                     int sizes)
{
    const double change =
        2.0 * crossing * spilled(p, crossing * (double)p->plan->samples) + CALL_BYTES;
    best next = {{0.0}, {0}};
    int to, from;

    for (to = 0; to < sizes; to++) {
        next.before[to] = to;
        next.cost[to] = last->cost[to];
        for (from = 0; from < sizes && crossing >= 0.0; from++) {
            if (last->cost[from] + change < next.cost[to]) {
                next.cost[to] = last->cost[from] + change;
                next.before[to] = from;
            }
        }
        next.cost[to] += cost_of(p, t, INT64_C(1) << to);
    }
    return next;
}

/* sizes: how many of 1, 2, 4, 8 divide the samples. Sets the size of each item. */
static void cut_items(const native_planner *p, const reach *r, best *bests, int sizes, int *size)
{
    const native_ir *ir = p->ir;
    best at = {{0.0}, {0}};
    double one = 0.0, weights = 0.0;
    int i, k;

    for (i = 0; i < ir->n_items; i++) {
        const traffic t = traffic_of(p, &ir->items[i]);
        one += cost_of(p, &t, 1);
        weights += t.weights;
        at = bests[i] = add_item(p, &at, &t, i ? crossing_bytes(ir, r, i) : -1.0, sizes);
    }
    for (i = ir->n_items - 1, k = 0; i >= 0; i--) {
        int s;
        for (s = 0; i == ir->n_items - 1 && s < sizes; s++)
            k = at.cost[s] < at.cost[k] ? s : k;
        if (i == ir->n_items - 1)
            p->plan->saved_bytes = spilled(p, weights) * (one - at.cost[k]);
        size[i] = k;
        k = bests[i].before[k];
    }
}

/* ---- the segments of a plan ---- */

static native_segments *new_segments(native_planner *p, const int *size)
{
    native_segments *s = native_keep(p, sizeof *s);
    int i;

    if (!s)
        return NULL;
    s->of_item = native_keep(p, (size_t)p->ir->n_items * sizeof *s->of_item);
    s->crossing_of = native_keep(p, (size_t)p->ir->n_values * sizeof *s->crossing_of);
    if (!s->of_item || !s->crossing_of)
        return NULL;
    for (i = 0; i < p->ir->n_items; i++) {
        if (i == 0 || size[i] != size[i - 1]) {
            if (s->n == NATIVE_SEGMENTS)
                return NULL;
            s->all[s->n++] = (native_segment){i, i, INT64_C(1) << size[i], 0, 0};
        }
        s->of_item[i] = s->n - 1;
        s->all[s->n - 1].last_item = i;
    }
    return s;
}

/* False where there are too many. */
static bool number_crossings(const native_ir *ir, const reach *r, native_segments *s)
{
    int i, k;

    for (i = 0; i < ir->n_values; i++) {
        bool any = false;
        for (k = 1; k < s->n; k++)
            any = any || crosses(ir, r, i, s->all[k].first_item);
        s->crossing_of[i] = any ? s->n_crossings : -1;
        if (any && s->n_crossings++ == NATIVE_SEGMENT_CROSSINGS)
            return false;
    }
    return true;
}

bool native_find_segments(native_planner *p)
{
    const native_ir *ir = p->ir;
    reach *r = find_reaches(ir);
    best *bests = malloc(((size_t)ir->n_items + 1) * sizeof *bests);
    int *size = malloc(((size_t)ir->n_items + 1) * sizeof *size), sizes = 1;
    native_segments *s = NULL;

    while (sizes < SIZES && p->plan->samples % (INT64_C(1) << sizes) == 0)
        sizes++;
    if (r && bests && size) {
        cut_items(p, r, bests, sizes, size);
        s = new_segments(p, size);
    }
    if (s && (s->n < 2 || !number_crossings(ir, r, s)))
        s = NULL;
    p->plan->segments = s;
    free(r);
    free(bests);
    free(size);
    return s != NULL;
}

void native_end_item_of_segment(native_plan *plan, int item, int first_run)
{
    native_segment *segment = &plan->segments->all[plan->segments->of_item[item]];

    if (item == segment->first_item)
        segment->first = first_run;
    segment->n = plan->n_runs - segment->first;
}
