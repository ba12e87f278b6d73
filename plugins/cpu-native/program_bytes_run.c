/* SPDX-License-Identifier: Apache-2.0 */
/* program_bytes_run.c: the steps of program_bytes.c's items. */
#include "program_grid.h"

#include <math.h>
#include <string.h>

enum { PART = 4096, BLOCK = 512 };

/* ---- one value: a table ---- */

typedef struct table {
    const native_int8_isa *isa;
    native_ref from, to;
    int64_t n;
    uint8_t made[256];
} table;

static void run_table(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const table *t = params;
    const int64_t first = begin * PART, last = end * PART < t->n ? end * PART : t->n;

    t->isa->look_up(t->made, (const uint8_t *)native_at(bases, &t->from) + first,
                    (uint8_t *)native_at(bases, &t->to) + first, last - first);
}

static void take_step(const native_isa *isa, const native_byte_step *step, float *numbers)
{
    if (!step->is_act && step->second)
        isa->binary(step->binary, &step->number, 0, numbers, 1, numbers, 256);
    else if (!step->is_act)
        isa->binary(step->binary, numbers, 1, &step->number, 0, numbers, 256);
    if (step->act.kind != NATIVE_ACT_NONE)
        isa->act(&step->act, numbers, numbers, 256);
}

/* What each of the 256 becomes. */
static void make_table(const native_planner *p, const native_integer *in, uint8_t *made)
{
    const native_int8_isa *isa = p->ir->device->int8;
    const native_grid x = native_grid_of(&in->x), w = native_grid_of(&in->w),
                      y = native_grid_of(&in->y);
    uint8_t all[256];
    float numbers[256], gates[256];
    int i;

    for (i = 0; i < 256; i++)
        all[i] = (uint8_t)i;
    if (in->before >= 0)
        make_table(p, &p->ir->integers[in->before], all);
    native_from_grid(isa, &x, all, numbers, 256);
    for (i = 0; i < in->n_steps; i++)
        take_step(p->isa, &in->steps[i], numbers);
    if (in->gate >= 0) {
        make_table(p, &p->ir->integers[in->gate], all);
        native_from_grid(isa, &w, all, gates, 256);
        p->isa->binary(in->gated, in->gate_first ? gates : numbers, 1,
                       in->gate_first ? numbers : gates, 1, numbers, 256);
        if (in->act.kind != NATIVE_ACT_NONE)
            p->isa->act(&in->act, numbers, numbers, 256);
    }
    native_to_grid(isa, &y, numbers, made, 256);
}

static void plan_table(native_planner *p, const native_item *item, const native_integer *in)
{
    table *t = native_keep(p, sizeof *t);

    if (!t)
        return;
    t->isa = p->ir->device->int8;
    make_table(p, in, t->made);
    t->from = native_ref_of(p, item->inputs[0]);
    t->to = native_ref_of(p, item->output);
    t->n = native_count(p, &p->ir->values[item->output]);
    native_add_run(p, run_table, t, (t->n + PART - 1) / PART, (double)t->n * 0.2);
}

/* ---- two values ---- */

/*
 * Rows of x; y has as many elements as each, or one for it. Rows follow each other; y goes on
 * after `repeats` of them.
 */
typedef struct pair {
    const native_isa *isa;
    const native_int8_isa *int8;
    native_ref in[2], to;
    native_grid grids[2], made;
    native_binary_kind kind;
    native_act act;
    int64_t rows, length, repeats, parts;
    bool number;
    native_byte_scale scale; /* products of pixels by channels: all but the factors */
} pair;

static void run_some(const pair *f, const uint8_t *x, const uint8_t *y, uint8_t *to, int64_t n)
{
    float a[BLOCK], b[BLOCK];

    native_from_grid(f->int8, &f->grids[0], x, a, n);
    native_from_grid(f->int8, &f->grids[1], y, b, f->number ? 1 : n);
    f->isa->binary(f->kind, a, 1, b, !f->number, a, n);
    if (f->act.kind != NATIVE_ACT_NONE)
        f->isa->act(&f->act, a, a, n);
    native_to_grid(f->int8, &f->made, a, to, n);
}

/* Numbers count rows, in them parts. */
static void run_pair(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const pair *f = params;
    const uint8_t *x = (const uint8_t *)native_at(bases, &f->in[0]);
    const uint8_t *y = (const uint8_t *)native_at(bases, &f->in[1]);
    uint8_t *to = (uint8_t *)native_at(bases, &f->to);

    for (; begin < end; begin++) {
        const int64_t row = begin / f->parts, part = begin % f->parts;
        const int64_t last = (part + 1) * f->length / f->parts, base = row * f->length;
        const uint8_t *other = y + row / f->repeats * (f->number ? 1 : f->length);
        int64_t i, n;
        for (i = part * f->length / f->parts; i < last; i += n) {
            n = last - i < BLOCK ? last - i : BLOCK;
            run_some(f, x + base + i, f->number ? other : other + i, to + base + i, n);
        }
    }
}

/* What a byte of each channel is multiplied by, in units of the result, and what is added. */
static void set_factors(const pair *f, const uint8_t *y, float *factors, float *terms)
{
    const native_grid *x = &f->grids[0];
    const float unit = x->scale / f->made.scale, zero = x->zero + (x->is_signed ? 128 : 0);
    int64_t i;

    native_from_grid(f->int8, &f->grids[1], y, factors, f->length);
    for (i = 0; i < f->length; i++) {
        factors[i] *= unit;
        terms[i] = -zero * factors[i];
    }
}

/* Numbers count pixels, those of a sample beside each other. */
static void run_scales(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const pair *f = params;
    const uint8_t *x = (const uint8_t *)native_at(bases, &f->in[0]);
    const uint8_t *y = (const uint8_t *)native_at(bases, &f->in[1]);
    uint8_t *to = (uint8_t *)native_at(bases, &f->to);
    float *factors = (float *)(void *)bases->scratch, *terms = factors + f->length;
    native_byte_scale scale = f->scale;
    int64_t row;

    scale.factor = factors;
    scale.term = terms;
    for (row = begin; row < end; row++) {
        if (row == begin || row % f->repeats == 0)
            set_factors(f, y + row / f->repeats * f->length, factors, terms);
        f->int8->scale_bytes(&scale, x + row * f->length, to + row * f->length);
    }
}

/* A product by a byte for each channel, as squeeze and excitation has it. */
static bool is_by_channel(const pair *f)
{
    return f->kind == NATIVE_MUL && !f->number && f->repeats > 1 && native_is_limit(&f->act) &&
           f->grids[0].scale / f->made.scale < 1e3f && f->grids[1].scale < 1e3f;
}

static void plan_scales(native_planner *p, pair *f, const native_quant *made)
{
    int32_t low, high;

    native_set_limits(made, &f->act, &low, &high);
    f->scale = (native_byte_scale){.each = true, .n = f->length, .zero = (int32_t)f->made.zero};
    f->scale.flip = f->grids[0].is_signed ? 0x80 : 0;
    f->scale.low = (float)(low - f->scale.zero);
    f->scale.high = (float)(high - f->scale.zero);
    native_need_scratch(p, (uint64_t)f->length * 2 * sizeof(float));
    native_add_run(p, run_scales, f, f->rows, (double)(f->rows * f->length) * 0.2);
}

static void set_rows(const native_planner *p, pair *f, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->inputs[1]];
    const int64_t n = native_count(p, x), pixels = x->rank == 4 ? x->dims[2] * x->dims[3] : 1;

    f->repeats = 1;
    if (native_count(p, y) == n) {
        f->length = n;
    } else if (x->blocked) {
        f->length = x->dims[1];
        f->repeats = pixels;
    } else {
        f->length = pixels;
        f->number = true;
    }
    f->rows = n / f->length;
    f->parts = f->length / PART + 1;
}

static void plan_pair(native_planner *p, const native_item *item, const native_integer *in)
{
    pair *f = native_keep(p, sizeof *f);

    if (!f)
        return;
    f->isa = p->isa;
    f->int8 = p->ir->device->int8;
    f->kind = item->binary;
    f->act = item->act;
    f->in[0] = native_ref_of(p, item->inputs[0]);
    f->in[1] = native_ref_of(p, item->inputs[1]);
    f->to = native_ref_of(p, item->output);
    f->grids[0] = native_grid_of(&in->x);
    f->grids[1] = native_grid_of(&in->w);
    f->made = native_grid_of(&in->y);
    set_rows(p, f, item);
    if (is_by_channel(f)) {
        plan_scales(p, f, &in->y);
        return;
    }
    native_add_run(p, run_pair, f, f->rows * f->parts, (double)(f->rows * f->length) * 0.4);
}

/* ---- means and maxima of channels that are last ---- */

typedef struct planes {
    const native_int8_isa *isa;
    native_ref from, to;
    native_grid grids[2];
    int64_t channels, in[2], out[2];
    int64_t kernel[2], stride[2], dilation[2], pad[2];
    bool is_signed, to_float;
} planes;

enum { CHANNELS = 256 /* whose sums are kept at a time */, VECTOR = 32, MOST_TAPS = 64 };

/* n of a constant in most calls, so that the compiler makes vectors. */
static inline void add_bytes(int32_t *restrict sums, const uint8_t *restrict from, int64_t n,
                             uint8_t flip)
{
    int64_t c;

    for (c = 0; c < n; c++)
        sums[c] += from[c] ^ flip;
}

/* Sums of bytes, which of signed ones are 128 too large. */
static void sum_pixels(const planes *f, const uint8_t *from, int64_t pixels, int64_t n,
                       int32_t *sums)
{
    const uint8_t flip = f->is_signed ? 0x80 : 0;
    int64_t i, c;

    memset(sums, 0, (size_t)n * sizeof *sums);
    for (i = 0; i < pixels; i++, from += f->channels) {
        for (c = 0; c + VECTOR <= n; c += VECTOR)
            add_bytes(sums + c, from + c, VECTOR, flip);
        add_bytes(sums + c, from + c, n - c, flip);
    }
}

static uint8_t limited(const native_grid *g, double x)
{
    const double low = g->is_signed ? INT8_MIN : 0, high = g->is_signed ? INT8_MAX : UINT8_MAX;
    const double v = rint((double)((float)x / g->scale)) + (double)g->zero;

    return (uint8_t)(int32_t)(v < low ? low : v > high ? high : v);
}

/* Numbers count samples, in them some channels. */
static void run_means(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const planes *f = params;
    const int64_t pixels = f->in[0] * f->in[1], parts = (f->channels + CHANNELS - 1) / CHANNELS;
    const double factor = (double)f->grids[0].scale / (double)pixels;
    const double zero = ((double)f->grids[0].zero + (f->is_signed ? 128 : 0)) * (double)pixels;

    for (; begin < end; begin++) {
        const int64_t sample = begin / parts, first = begin % parts * CHANNELS;
        const int64_t n = f->channels - first < CHANNELS ? f->channels - first : CHANNELS;
        uint8_t *to = (uint8_t *)native_at(bases, &f->to) + sample * f->channels + first;
        float *floats = native_at(bases, &f->to) + sample * f->channels + first;
        int32_t sums[CHANNELS];
        int64_t c;
        sum_pixels(
            f, (const uint8_t *)native_at(bases, &f->from) + sample * pixels * f->channels + first,
            pixels, n, sums);
        for (c = 0; c < n && f->to_float; c++)
            floats[c] = (float)((sums[c] - zero) * factor);
        for (c = 0; c < n && !f->to_float; c++)
            to[c] = limited(&f->grids[1], (sums[c] - zero) * factor);
    }
}

/* The taps of pixel x that are inside, from line `top` of a sample on: some at a time. */
static void pool_pixel(const planes *f, const uint8_t *from, int64_t top, int64_t x, uint8_t *to)
{
    const uint8_t flip = f->is_signed ? 0x80 : 0, *taps[MOST_TAPS];
    int64_t i, j;
    int n = 0;

    for (i = 0; i < f->kernel[0]; i++) {
        const int64_t y = top + i * f->dilation[0];
        for (j = 0; j < f->kernel[1] && y >= 0 && y < f->in[0]; j++) {
            const int64_t at = x * f->stride[1] - f->pad[1] + j * f->dilation[1];
            if (at < 0 || at >= f->in[1])
                continue;
            taps[n++] = from + (y * f->in[1] + at) * f->channels;
            if (n < MOST_TAPS)
                continue;
            f->isa->maxima(taps, n, f->channels, flip, to);
            taps[0] = to;
            n = 1;
        }
    }
    if (n > 0)
        f->isa->maxima(taps, n, f->channels, flip, to);
}

/* Numbers count samples, in them rows. */
static void run_maxima(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const planes *f = params;

    for (; begin < end; begin++) {
        const int64_t sample = begin / f->out[0],
                      top = begin % f->out[0] * f->stride[0] - f->pad[0];
        const uint8_t *from = (const uint8_t *)native_at(bases, &f->from) +
                              sample * f->in[0] * f->in[1] * f->channels;
        uint8_t *to = (uint8_t *)native_at(bases, &f->to) + begin * f->out[1] * f->channels;
        int64_t x;
        for (x = 0; x < f->out[1]; x++, to += f->channels)
            pool_pixel(f, from, top, x, to);
    }
}

static planes *begin_planes(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->output];
    planes *f = native_keep(p, sizeof *f);
    int i;

    if (!f)
        return NULL;
    f->isa = p->ir->device->int8;
    f->from = native_ref_of(p, item->inputs[0]);
    f->to = native_ref_of(p, item->output);
    f->channels = x->dims[1];
    f->is_signed = x->dtype == TFR_DTYPE_I8;
    for (i = 0; i < 2; i++) {
        f->in[i] = x->dims[2 + i];
        f->out[i] = y->dims[2 + i];
        f->kernel[i] = item->kernel[i];
        f->stride[i] = item->stride[i];
        f->dilation[i] = item->dilation[i];
        f->pad[i] = item->pad[i];
    }
    return f;
}

void native_plan_byte_pool(native_planner *p, const native_item *item)
{
    const native_value *y = &p->ir->values[item->output];
    planes *f = begin_planes(p, item);

    if (f)
        native_add_run(p, run_maxima, f, native_first_dim(p, y) * f->out[0],
                       (double)(native_count(p, y) * f->kernel[0] * f->kernel[1]) * 0.05);
}

static void plan_means(native_planner *p, const native_item *item, const native_integer *in)
{
    const native_value *x = &p->ir->values[item->inputs[0]];
    planes *f = begin_planes(p, item);

    if (!f)
        return;
    f->grids[0] = native_grid_of(&in->x);
    f->to_float = !in->y.scale;
    if (!f->to_float)
        f->grids[1] = native_grid_of(&in->y);
    native_add_run(p, run_means, f,
                   native_first_dim(p, x) * ((f->channels + CHANNELS - 1) / CHANNELS),
                   (double)native_count(p, x) * 0.1);
}

void native_plan_bytes(native_planner *p, const native_item *item)
{
    const native_integer *in = &p->ir->integers[item->integer];

    if (item->kind == NATIVE_ITEM_ACT)
        plan_table(p, item, in);
    else if (item->kind == NATIVE_ITEM_MEAN)
        plan_means(p, item, in);
    else if (item->kind == NATIVE_ITEM_POOL || item->kind == NATIVE_ITEM_RESIZE)
        native_plan_weighing(p, item);
    else if (item->kind == NATIVE_ITEM_CONCAT)
        native_plan_concat(p, item);
    else if (item->kind == NATIVE_ITEM_BATCH_NORM)
        native_plan_byte_norm(p, item);
    else
        plan_pair(p, item, in);
}
