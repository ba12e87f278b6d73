/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_sparse.c: the gradients of a convolution with a maximum after it, by the codes of the
 * maxima (pooled.h). Sample after sample: what the loops go over again and again, one sample of the
 * other side and the weights, is in the near caches.
 */
#include "program.h"

#include <string.h>

typedef struct sparse {
    const native_isa *isa;
    native_sparse g; /* but for what lies in the arena */
    native_ref gradient, codes, other, sums, to, weights, target;
    int64_t samples, out_blocks, gradient_sample, other_sample, ins, taps;
    int64_t height, width, pad[2]; /* of the other tensor */
    bool padded;                   /* by a copy in scratch memory, of rows by columns pixels */
    int64_t padded_rows, padded_columns, list_bytes;
    bool plain; /* the source of a first layer */
    const int32_t *tap_offsets, *near_inside, *near_taps;
    int shards;
} sparse;

enum { NEAR_TAPS = 25 }; /* whose shards are added up at a time */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- what both gradients share ---- */

static void set_windows(native_planner *p, sparse *s, const native_item *item,
                        const native_value *y, int64_t row, int64_t pixel)
{
    const int64_t columns = y->dims[3];
    int32_t *places = native_keep(p, (size_t)(s->g.windows + 1) * sizeof *places);
    int32_t *inside = native_keep(p, (size_t)s->g.area * sizeof *inside);
    int64_t i;

    s->g.places = places;
    s->g.inside = inside;
    s->g.row = row;
    s->g.step_y = item->stride[0] * row;
    s->g.step_x = item->stride[1] * pixel;
    for (i = 0; places && i < s->g.windows; i++)
        places[i] = (int32_t)(i / columns * item->pool[0] * s->g.step_y +
                              i % columns * item->pool[1] * s->g.step_x);
    for (i = 0; inside && i < s->g.area; i++)
        inside[i] = (int32_t)(i / item->pool[1] * s->g.step_y + i % item->pool[1] * s->g.step_x);
}

/* y: the gradient of the maxima; x: the other tensor. */
static sparse *begin_sparse(native_planner *p, const native_item *item, const native_value *y,
                            const native_value *x)
{
    const int64_t lanes = p->isa->lanes;
    sparse *s = native_keep(p, sizeof *s);
    int i;

    if (!s)
        return NULL;
    s->isa = p->isa;
    s->gradient = native_ref_of(p, item->inputs[0]);
    s->codes = native_ref_of(p, item->codes);
    s->samples = native_first_dim(p, y);
    s->ins = x->dims[1];
    s->taps = item->kernel[0] * item->kernel[1];
    s->height = x->dims[2];
    s->width = x->dims[3];
    s->g.windows = y->dims[2] * y->dims[3];
    s->g.outs = y->dims[1];
    s->g.area = (int)(item->pool[0] * item->pool[1]);
    s->g.ins_blocks = (s->ins + lanes - 1) / lanes;
    s->out_blocks = (s->g.outs + lanes - 1) / lanes;
    s->gradient_sample = s->out_blocks * s->g.windows * lanes;
    s->g.rows = item->full[0];
    s->g.columns = item->full[1];
    for (i = 0; i < 2; i++) {
        s->g.kernel[i] = item->kernel[i];
        s->pad[i] = item->pad[i];
    }
    return s;
}

/* The blocked tensor as the loops want it, with its padding. */
static void set_blocked(native_planner *p, sparse *s, const native_item *item,
                        const native_value *y)
{
    const int64_t lanes = p->isa->lanes;
    int64_t bytes;

    s->padded_rows = (s->g.rows - 1) * item->stride[0] + item->kernel[0];
    s->padded_columns = (s->g.columns - 1) * item->stride[1] + item->kernel[1];
    s->padded =
        s->pad[0] || s->pad[1] || s->padded_rows > s->height || s->padded_columns > s->width;
    if (!s->padded) {
        s->padded_rows = s->height;
        s->padded_columns = s->width;
    }
    s->g.plane = s->padded_rows * s->padded_columns * lanes;
    s->other_sample = s->g.ins_blocks * s->height * s->width * lanes;
    set_windows(p, s, item, y, s->padded_columns * lanes, lanes);
    s->list_bytes = (s->isa->pooled->scratch(s->g.windows, s->g.outs, s->g.area) + 63) / 64 * 64;
    bytes = s->padded ? s->g.ins_blocks * s->g.plane * (int64_t)sizeof(float) : 0;
    native_need_scratch(p, (uint64_t)(s->list_bytes + bytes));
}

static native_sparse sample_of(const sparse *s, const native_bases *bases, int64_t sample)
{
    native_sparse g = s->g;

    g.gradient = native_at(bases, &s->gradient) + sample * s->gradient_sample;
    g.codes = (const uint8_t *)(void *)native_at(bases, &s->codes) + sample * s->gradient_sample;
    g.scratch = bases->scratch;
    return g;
}

/* The rows of the tensor that its padded form holds, in floats; to or from that form. */
static void copy_inside(const sparse *s, float *padded, float *other, bool out)
{
    const int64_t lanes = s->isa->lanes, below = s->padded_rows - s->pad[0];
    const int64_t rows = s->height < below ? s->height : below;
    const int64_t right = s->padded_columns - s->pad[1];
    const size_t bytes = (size_t)((s->width < right ? s->width : right) * lanes) * sizeof(float);
    int64_t block, y;

    for (block = 0; block < s->g.ins_blocks; block++) {
        for (y = 0; y < rows; y++) {
            float *a = padded + block * s->g.plane +
                       ((y + s->pad[0]) * s->padded_columns + s->pad[1]) * lanes;
            float *b = other + (block * s->height + y) * s->width * lanes;
            memcpy(out ? b : a, out ? a : b, bytes);
        }
    }
}

/* ---- weights ---- */

/* Sums are [out][in block][tap][lane]. */
static void run_filter(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const sparse *s = params;
    const size_t bytes = (size_t)(s->g.ins_blocks * s->g.plane) * sizeof(float);
    float *padded = (float *)(void *)(bases->scratch + s->list_bytes);
    int64_t i;

    (void)begin, (void)end; /* it cannot be cut */
    for (i = 0; i < s->samples; i++) {
        float *x = native_at(bases, &s->other) + i * s->other_sample;
        const native_sparse_filter f = {sample_of(s, bases, i), s->padded ? padded : x,
                                        native_at(bases, &s->sums)};
        if (s->padded) {
            memset(padded, 0, bytes);
            copy_inside(s, padded, x, false);
        }
        s->isa->pooled->filter(&f);
    }
}

/* Numbers count outputs. A few taps of a block of inputs at a time: all shards together. */
static void finish_filter(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const sparse *s = params;
    const int64_t lanes = s->isa->lanes, size = s->g.ins_blocks * s->taps * lanes;
    float near[NEAR_TAPS * NATIVE_MAX_LANES];
    int64_t o, b, tap, n;
    int k;

    for (o = begin; o < end; o++) {
        for (b = 0; b < s->g.ins_blocks; b++) {
            float *to = native_at(bases, &s->to) + (o * s->ins + b * lanes) * s->taps;
            for (tap = 0; tap < s->taps; tap += n) {
                const int64_t at = o * size + (b * s->taps + tap) * lanes;
                n = least(s->taps - tap, NEAR_TAPS);
                memcpy(near, native_shard_at(bases, &s->sums, 0) + at,
                       (size_t)(n * lanes) * sizeof *near);
                for (k = 1; k < s->shards; k++)
                    s->isa->binary(NATIVE_ADD, near, 1, native_shard_at(bases, &s->sums, k) + at, 1,
                                   near, n * lanes);
                s->isa->transpose(near, lanes, to + tap, s->taps, n,
                                  least(s->ins - b * lanes, lanes));
            }
        }
    }
}

/* Sums are [out block][tap of all inputs][lane]. */
static void run_first(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const sparse *s = params;
    const int64_t lanes = s->isa->lanes, n_taps = s->ins * s->taps;
    int64_t i, b;

    for (i = 0; i < s->samples; i++) {
        const float *x = native_at(bases, &s->other) + i * s->other_sample;
        const bool finite = s->isa->pooled->all_finite(x, s->other_sample);
        for (b = begin; b < end; b++) {
            native_first_filter f = {sample_of(s, bases, i),
                                     x,
                                     s->tap_offsets,
                                     (int)n_taps,
                                     s->near_inside,
                                     s->near_taps,
                                     finite,
                                     native_at(bases, &s->sums) + b * n_taps * lanes};
            f.g.gradient += b * s->g.windows * lanes;
            f.g.codes += b * s->g.windows * lanes;
            s->isa->pooled->first_filter(&f);
        }
    }
}

/* Numbers count outputs. */
static void finish_first(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const sparse *s = params;
    const int64_t lanes = s->isa->lanes, n_taps = s->ins * s->taps;
    int64_t o, t;
    int k;

    for (o = begin; o < end; o++) {
        float *to = native_at(bases, &s->to) + o * n_taps;
        for (k = 0; k < s->shards; k++) {
            const float *from =
                native_shard_at(bases, &s->sums, k) + o / lanes * n_taps * lanes + o % lanes;
            for (t = 0; t < n_taps; t++)
                to[t] = k == 0 ? from[t * lanes] : to[t] + from[t * lanes];
        }
    }
}

/* Where a window's pixels and their taps are 4 x 4 neighbours. */
static void find_near(native_planner *p, sparse *s, const native_item *item)
{
    int32_t *taps, *inside;
    int64_t i;

    for (i = 0; i < 2; i++) {
        if (item->stride[i] != 1 || item->pool[i] + item->kernel[i] != 5)
            return;
    }
    if (s->ins != 1)
        return;
    taps = native_keep(p, (size_t)s->taps * sizeof *taps);
    inside = native_keep(p, (size_t)s->g.area * sizeof *inside);
    for (i = 0; taps && i < s->taps; i++)
        taps[i] = (int32_t)(i / item->kernel[1] * 4 + i % item->kernel[1]);
    for (i = 0; inside && i < s->g.area; i++)
        inside[i] = (int32_t)(i / item->pool[1] * 4 + i % item->pool[1]);
    s->near_taps = taps;
    s->near_inside = inside;
}

/* The source of few channels is plain and has its padding, at least where windows read. */
static void set_first(native_planner *p, sparse *s, const native_item *item, const native_value *y)
{
    int32_t *taps = native_keep(p, (size_t)(s->ins * s->taps) * sizeof *taps);
    int64_t t;

    s->plain = true;
    s->other_sample = s->ins * s->height * s->width;
    s->g.rows = least(s->g.rows, (s->height - item->kernel[0]) / item->stride[0] + 1);
    s->g.columns = least(s->g.columns, (s->width - item->kernel[1]) / item->stride[1] + 1);
    set_windows(p, s, item, y, s->width, 1);
    for (t = 0; taps && t < s->ins * s->taps; t++) {
        const int64_t tap = t % s->taps;
        taps[t] = (int32_t)((t / s->taps * s->height + tap / item->kernel[1]) * s->width +
                            tap % item->kernel[1]);
    }
    s->tap_offsets = taps;
    find_near(p, s, item);
}

void native_plan_sparse_grad_filter(native_planner *p, const native_item *item)
{
    const native_value *y = &p->ir->values[item->inputs[0]], *x = &p->ir->values[item->inputs[1]];
    sparse *s = begin_sparse(p, item, y, x);
    int64_t floats;
    double products;
    native_run *run;

    if (!s)
        return;
    s->other = native_ref_of(p, item->inputs[1]);
    s->to = native_ref_of(p, item->output);
    s->shards = native_shards(p);
    products = (double)(s->samples * s->g.windows * s->g.outs) * (double)(s->ins * s->taps);
    if (item->plain_source) {
        set_first(p, s, item, y);
        floats = s->out_blocks * s->ins * s->taps * p->isa->lanes;
    } else {
        set_blocked(p, s, item, y);
        floats = s->g.outs * s->g.ins_blocks * s->taps * p->isa->lanes;
    }
    s->sums = native_sums(p, (uint64_t)floats * sizeof(float));
    run = native_add_run(p, s->plain ? run_first : run_filter, s, s->plain ? s->out_blocks : 1,
                         products / 40.0);
    run->flops = 2.0 * products;
    run->alone = !s->plain;
    run = native_finish(p, s->plain ? finish_first : finish_filter, s, s->g.outs,
                        (double)(s->g.outs * s->ins * s->taps * s->shards));
    native_in_order(p, run, s->ins * s->taps, 1);
}

/* ---- inputs ---- */

static void run_input(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const sparse *s = params;
    const float *weights = native_at(bases, &s->weights);
    const bool finite =
        s->isa->pooled->all_finite(weights, s->g.ins_blocks * s->g.outs * s->taps * s->isa->lanes);
    float *padded = (float *)(void *)(bases->scratch + s->list_bytes);
    int64_t i;

    for (i = begin; i < end; i++) {
        float *x = native_at(bases, &s->other) + i * s->other_sample;
        const native_sparse_input f = {sample_of(s, bases, i), weights, finite,
                                       s->padded ? padded : x};
        s->isa->pooled->input(&f);
        if (!s->padded)
            continue;
        memset(x, 0, (size_t)s->other_sample * sizeof *x);
        copy_inside(s, padded, x, true);
    }
}

/* [in block][out][tap][lane]; numbers count these blocks. */
static void run_weights(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const sparse *s = params;
    const int64_t lanes = s->isa->lanes;
    const float *from = native_at(bases, &s->target);
    int64_t b, o;

    for (b = begin; b < end; b++) {
        float *to = native_at(bases, &s->weights) + b * s->g.outs * s->taps * lanes;
        const int64_t n = least(s->ins - b * lanes, lanes);
        if (n < lanes)
            memset(to, 0, (size_t)(s->g.outs * s->taps * lanes) * sizeof *to);
        for (o = 0; o < s->g.outs; o++, to += s->taps * lanes)
            s->isa->transpose(from + (o * s->ins + b * lanes) * s->taps, s->taps, to, lanes, n,
                              s->taps);
    }
}

void native_plan_sparse_grad_input(native_planner *p, const native_item *item)
{
    const native_value *y = &p->ir->values[item->inputs[0]], *x = &p->ir->values[item->output];
    sparse *s = begin_sparse(p, item, y, x);
    int64_t floats;
    double products;

    if (!s)
        return;
    s->other = native_ref_of(p, item->output);
    s->target = native_ref_of(p, item->inputs[1]);
    set_blocked(p, s, item, y);
    floats = s->g.ins_blocks * s->g.outs * s->taps * p->isa->lanes;
    s->weights = native_derived(p, (uint64_t)floats * sizeof(float));
    native_derive(p, item->inputs[1], run_weights, s, s->g.ins_blocks, (double)floats);
    products = (double)(s->samples * s->g.windows * s->g.outs) * (double)(s->ins * s->taps);
    native_add_run(p, run_input, s, s->samples, products / 40.0)->flops = 2.0 * products;
}
