/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_pooled.c: convolutions with a maximum after them whose gradient is wanted. The
 * convolution writes the maxima and a code for each, and the gradients read these: what lies
 * between is never in memory, neither forward nor back. pooled.h says what codes are;
 * program_sparse.c has the gradients.
 *
 * Sums come from the tiles of isa.h, a strip of windows at a time, into memory of the first cache.
 */
#include "program.h"

#include <math.h>
#include <string.h>

enum {
    STRIP_PIXELS = 56,         /* about so many outputs of the convolution at a time */
    NEAR_WEIGHTS = 512 * 1024, /* bytes that gradients go over for each sample */
    LEAST_AREA = 4             /* products that are left out cost more than half of the others */
};

/* ---- which items ---- */

/* Readers of a value, at most n of them; more than n where it is added as a residual. */
static int find_readers(native_ir *ir, int value, native_item **to, int n)
{
    int found = 0, i, k;

    for (i = 0; i < ir->n_items; i++) {
        native_item *item = &ir->items[i];
        if (item->kind == NATIVE_ITEM_NONE)
            continue;
        for (k = 0; k < item->n_inputs; k++) {
            if (item->inputs[k] == value && found++ < n)
                to[found - 1] = item;
        }
        if (item->residual == value)
            found += n + 1;
    }
    return found;
}

static bool is_plain_window(const native_item *item)
{
    int i;

    for (i = 0; i < 2; i++) {
        if (item->kernel[i] != item->stride[i] || item->dilation[i] != 1 || item->pad[i] != 0)
            return false;
    }
    return item->kernel[0] * item->kernel[1] >= LEAST_AREA &&
           item->kernel[0] * item->kernel[1] <= NATIVE_POOL_AREA;
}

static bool fits(const native_ir *ir, const native_item *conv, const native_item *pool,
                 const native_item *grad)
{
    const native_value *v = &ir->values[conv->output], *y = &ir->values[pool->output];
    const native_value *x = &ir->values[conv->inputs[0]];
    int i;

    if (pool->kind != NATIVE_ITEM_POOL || pool->average || grad->kind != NATIVE_ITEM_POOL_GRAD ||
        grad->inputs[1] != conv->output || !is_plain_window(pool) || !is_plain_window(grad) ||
        conv->residual >= 0 || conv->pooled || v->output ||
        (!native_is_relu(&conv->act) && conv->act.kind != NATIVE_ACT_NONE) ||
        native_is_relu(&conv->act) != grad->masked)
        return false;
    for (i = 0; i < 2; i++) {
        if (conv->dilation[i] != 1 || pool->kernel[i] != grad->kernel[i] ||
            y->dims[2 + i] * pool->kernel[i] > v->dims[2 + i])
            return false;
    }
    return x->dims[1] * v->dims[1] * conv->kernel[0] * conv->kernel[1] * (int64_t)sizeof(float) <=
           NEAR_WEIGHTS;
}

/* Who reads the dense gradient can do without, and one of them is a gradient of the convolution. */
static bool can_do_without(const native_ir *ir, native_item *const *readers, int n, int value)
{
    bool any = false;
    int i;

    for (i = 0; i < n; i++) {
        const native_item *item = readers[i];
        bool ok =
            item->inputs[0] == value && item->residual < 0 && item->act.kind == NATIVE_ACT_NONE;
        if (item->kind == NATIVE_ITEM_SUM)
            ok = ok && item->axes == 13;
        else if (item->kind == NATIVE_ITEM_CONV_GRAD_FILTER ||
                 item->kind == NATIVE_ITEM_CONV_GRAD_INPUT)
            any = any || (item->dilation[0] == 1 && item->dilation[1] == 1);
        else
            ok = false;
        if (!ok)
            return false;
    }
    return any && !ir->values[value].output;
}

enum { MOST_READERS = 8 };

static void fuse_one(native_ir *ir, int i)
{
    native_item *users[2], *readers[MOST_READERS], *conv = &ir->items[i], *pool, *grad;
    native_value like;
    int n, k, codes, sparse;

    if (find_readers(ir, conv->output, users, 2) != 2)
        return;
    pool = users[users[0]->kind == NATIVE_ITEM_POOL ? 0 : 1];
    grad = users[pool == users[0] ? 1 : 0];
    if (!fits(ir, conv, pool, grad))
        return;
    n = find_readers(ir, grad->output, readers, MOST_READERS);
    if (n > MOST_READERS || !can_do_without(ir, readers, n, grad->output))
        return;
    like = ir->values[pool->output];
    like.arg = -1;
    like.output = false;
    like.root = ir->n_values;
    sparse = native_new_value(ir, &like);
    like.dtype = TFR_DTYPE_U8;
    codes = native_new_value(ir, &like);
    if (ir->failed)
        return;
    for (k = 0; k < n; k++) {
        readers[k]->inputs[0] = grad->masked ? sparse : grad->inputs[0];
        if (readers[k]->kind == NATIVE_ITEM_SUM)
            continue;
        readers[k]->codes = codes;
        memcpy(readers[k]->pool, pool->kernel, sizeof pool->kernel);
        memcpy(readers[k]->full, &ir->values[conv->output].dims[2], sizeof readers[k]->full);
    }
    conv->codes = codes;
    memcpy(conv->pool, pool->kernel, sizeof conv->pool);
    conv->output = pool->output;
    /* The maximum is above 0 where what it was taken of is. */
    grad->kind = grad->masked ? NATIVE_ITEM_BINARY : NATIVE_ITEM_NONE;
    grad->binary = NATIVE_MASK;
    grad->inputs[1] = grad->inputs[0];
    grad->inputs[0] = pool->output;
    grad->output = sparse;
    grad->masked = false;
    pool->kind = NATIVE_ITEM_NONE;
    ir->n_fused += 2;
}

void native_fuse_pooled(native_ir *ir)
{
    int i;

    if (!(native_kinds(ir) & native_kind_bit(NATIVE_ITEM_CONV)))
        return;
    for (i = 0; i < ir->n_items && !ir->failed; i++) {
        if (ir->items[i].kind == NATIVE_ITEM_CONV && ir->items[i].groups <= 1)
            fuse_one(ir, i);
    }
    native_count_readers(ir);
}

/* ---- forward ---- */

typedef struct pooled {
    const native_isa *isa;
    native_ref source, weights, bias, to, codes, target;
    bool plain, has_bias, clip;
    int area, group; /* blocks of a group of outputs, but for the last */
    int64_t samples, windows, strip, ins, outs, blocks, taps, terms, n_in;
    int64_t plane, source_sample, n_groups;
    const int32_t *offsets; /* of each pixel of each window: plain one, else one for each tap */
    const int32_t *tap_offsets;
} pooled;

static int blocks_at(const pooled *c, int64_t g)
{
    const int64_t left = c->blocks - g * c->group;
    return (int)(left < c->group ? left : c->group);
}

/* Tiles of nearly equal sizes, the same in all groups. */
static int64_t count_parts(const pooled *c, int64_t pixels)
{
    const int64_t most = c->isa->max_pixels[c->group];
    return (pixels + most - 1) / most;
}

/* The sums of some windows for one group: [block][window][area][lane] */
static void run_strip(const pooled *c, const float *source, const float *weights, int blocks,
                      int64_t first, int64_t n, float *sums)
{
    const int64_t lanes = c->isa->lanes, pixels = n * c->area;
    const int64_t parts = count_parts(c, pixels), taps = c->plain ? 1 : c->taps;
    native_tile tile;
    int64_t i;

    memset(&tile, 0, sizeof tile);
    tile.source = source;
    tile.plane = c->plane;
    tile.n_groups = c->plain ? 1 : (int)c->n_in;
    tile.n_taps = (int)(c->plain ? c->terms : c->taps);
    tile.taps = c->tap_offsets;
    tile.weights = weights;
    tile.weights_step = blocks * lanes;
    tile.to_pixel = lanes;
    tile.to_block = pixels * lanes;
    tile.first = tile.last = true;
    tile.scale = 1.0f;
    for (i = 0; i < parts; i++) {
        const int64_t at = i * pixels / parts, size = (i + 1) * pixels / parts - at;
        tile.offsets = c->offsets + (first * c->area + at) * taps;
        tile.to = sums + at * lanes;
        (c->plain ? c->isa->plain : c->isa->blocked)[blocks][size](&tile);
    }
}

/* Numbers count samples, in them groups of outputs. */
static void run_pooled(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const pooled *c = params;
    const int64_t lanes = c->isa->lanes;
    float *sums = (float *)(void *)bases->scratch;
    int64_t i, w, n;
    int b;

    for (i = begin; i < end; i++) {
        const int64_t sample = i / c->n_groups, g = i % c->n_groups;
        const int64_t block = sample * c->blocks + g * c->group;
        const float *source = native_at(bases, &c->source) + sample * c->source_sample;
        const float *weights = native_at(bases, &c->weights) + g * c->group * c->terms * lanes;
        uint8_t *codes = (uint8_t *)(void *)native_at(bases, &c->codes);
        for (w = 0; w < c->windows; w += n) {
            n = c->windows - w < c->strip ? c->windows - w : c->strip;
            run_strip(c, source, weights, blocks_at(c, g), w, n, sums);
            for (b = 0; b < blocks_at(c, g); b++) {
                const int64_t at = ((block + b) * c->windows + w) * lanes;
                const native_pool_end e = {
                    .sums = sums + b * n * c->area * lanes,
                    .windows = n,
                    .area = c->area,
                    .bias = c->has_bias ? native_at(bases, &c->bias) + (g * c->group + b) * lanes
                                        : NULL,
                    .clip = c->clip,
                    .low = 0.0f,
                    .high = INFINITY,
                    .to = native_at(bases, &c->to) + at,
                    .codes = codes + at,
                };
                c->isa->pooled->pool_end(&e);
            }
        }
    }
}

/* [group][in / lanes][tap][in % lanes][block][lane], plain [group][in][tap][block][lane] */
static void run_weights(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const pooled *c = params;
    const int64_t lanes = c->isa->lanes, part = c->plain ? 1 : lanes;
    const float *from = native_at(bases, &c->target);
    float *weights = native_at(bases, &c->weights);
    int64_t i, o, tap;

    for (i = begin; i < end; i++) { /* groups, in them inputs with those that fill up */
        const int64_t all = c->terms / c->taps, g = i / all, in = i % all;
        const int64_t width = blocks_at(c, g) * lanes, first = g * c->group * lanes;
        float *to = weights + first * c->terms + (in / part * part * c->taps + in % part) * width;
        for (tap = 0; tap < c->taps; tap++, to += part * width) {
            for (o = 0; o < width; o++)
                to[o] = in < c->ins && first + o < c->outs
                            ? from[((first + o) * c->ins + in) * c->taps + tap]
                            : 0.0f;
        }
    }
}

typedef struct bias_form {
    native_ref from, to;
    int64_t n, wide;
} bias_form;

static void run_bias(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const bias_form *b = params;
    float *to = native_at(bases, &b->to);

    (void)begin, (void)end;
    memset(to, 0, (size_t)b->wide * sizeof *to);
    memcpy(to, native_at(bases, &b->from), (size_t)b->n * sizeof *to);
}

static void derive_bias(native_planner *p, pooled *c, int value)
{
    bias_form *b = value < 0 ? NULL : native_keep(p, sizeof *b);

    if (!b)
        return;
    b->n = c->outs;
    b->wide = c->blocks * p->isa->lanes;
    b->from = native_ref_of(p, value);
    b->to = c->bias = native_derived(p, (uint64_t)b->wide * sizeof(float));
    c->has_bias = true;
    native_derive(p, value, run_bias, b, 1, (double)b->wide);
}

/* Where a tap of the pixel lies, of all windows one after the other; -1 = outside. */
static int32_t offset_of(const pooled *c, const native_item *item, const native_value *x,
                         int64_t columns, int64_t pixel, int64_t tap)
{
    const int64_t w = pixel / c->area, a = pixel % c->area;
    const int64_t y = w / columns * item->pool[0] + a / item->pool[1];
    const int64_t k = w % columns * item->pool[1] + a % item->pool[1];
    const int64_t row = y * item->stride[0] - item->pad[0] + tap / item->kernel[1];
    const int64_t at = k * item->stride[1] - item->pad[1] + tap % item->kernel[1];

    if (row < 0 || at < 0 || row >= x->dims[2] || at >= x->dims[3])
        return -1;
    return (int32_t)((row * x->dims[3] + at) * (c->plain ? 1 : c->isa->lanes));
}

/* Strip by strip, in them tiles, in them taps (plain: the first alone), in them pixels. */
static void make_offsets(native_planner *p, pooled *c, const native_item *item,
                         const native_value *x, int64_t columns)
{
    const int64_t taps = c->plain ? 1 : c->taps;
    int32_t *to = native_keep(p, (size_t)(taps * c->windows * c->area) * sizeof *to);
    int64_t w, i, tap, k;

    c->offsets = to;
    for (w = 0; to && w < c->windows; w += c->strip) {
        const int64_t n = c->windows - w < c->strip ? c->windows - w : c->strip;
        const int64_t pixels = n * c->area, parts = count_parts(c, pixels);
        for (i = 0; i < parts; i++)
            for (tap = 0; tap < taps; tap++)
                for (k = i * pixels / parts; k < (i + 1) * pixels / parts; k++)
                    *to++ = offset_of(c, item, x, columns, w * c->area + k, tap);
    }
}

static void make_taps(native_planner *p, pooled *c, const native_item *item, const native_value *x)
{
    int32_t *to = native_keep(p, (size_t)c->terms * sizeof *to);
    int64_t t;

    c->tap_offsets = to;
    for (t = 0; to && t < c->terms; t++) {
        const int64_t tap = t % c->taps;
        to[t] = (int32_t)((t / c->taps * x->dims[2] + tap / item->kernel[1]) * x->dims[3] +
                          tap % item->kernel[1]);
    }
}

void native_plan_pooled_conv(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->output];
    const int64_t lanes = p->isa->lanes;
    pooled *c = native_keep(p, sizeof *c);
    double flops;

    if (!c)
        return;
    c->isa = p->isa;
    c->plain = item->plain_source;
    c->source = native_ref_of(p, item->inputs[0]);
    c->target = native_ref_of(p, item->inputs[1]);
    c->to = native_ref_of(p, item->output);
    c->codes = native_ref_of(p, item->codes);
    c->clip = item->act.kind == NATIVE_ACT_CLIP;
    c->area = (int)(item->pool[0] * item->pool[1]);
    c->samples = native_first_dim(p, y);
    c->windows = y->dims[2] * y->dims[3];
    c->strip = STRIP_PIXELS > c->area ? STRIP_PIXELS / c->area : 1;
    c->ins = x->dims[1];
    c->outs = y->dims[1];
    c->taps = item->kernel[0] * item->kernel[1];
    c->blocks = (c->outs + lanes - 1) / lanes;
    c->group = c->blocks > 1 ? 2 : 1;
    c->n_groups = (c->blocks + c->group - 1) / c->group;
    c->n_in = (c->ins + lanes - 1) / lanes;
    c->terms = c->taps * (c->plain ? c->ins : c->n_in * lanes);
    c->plane = x->dims[2] * x->dims[3] * lanes;
    c->source_sample = c->plain ? c->ins * x->dims[2] * x->dims[3] : c->n_in * c->plane;
    make_offsets(p, c, item, x, y->dims[3]);
    if (c->plain)
        make_taps(p, c, item, x);
    c->weights = native_derived(p, (uint64_t)(c->blocks * c->terms * lanes) * sizeof(float));
    native_derive(p, item->inputs[1], run_weights, c, c->n_groups * (c->terms / c->taps),
                  (double)(c->terms * c->outs));
    derive_bias(p, c, item->n_inputs > 2 ? item->inputs[2] : -1);
    native_need_scratch(p, (uint64_t)(c->group * c->strip * c->area * lanes) * sizeof(float));
    flops =
        2.0 * (double)(c->samples * c->windows * c->area * c->outs) * (double)(c->ins * c->taps);
    native_add_run(p, run_pooled, c, c->samples * c->n_groups, flops / 80.0)->flops = flops;
}
