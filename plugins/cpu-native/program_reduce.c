/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_reduce.c: what sums over samples: the gradients of weights, as outer products of isa.h,
 * and sums over dims. Sums lie in memory of a shard, in vectors of output channels; where all units
 * are through, the shards are added up in their order, into the plain layout.
 */
#include "program_bf16.h"

#include <string.h>

enum {
    NEAR_BYTES = 24 * 1024, /* of the gradient that rows go over again and again */
    NEAR_TAPS = 9           /* of a block of weights whose shards are added up */
};

static int64_t blocks_of(const native_planner *p, int64_t n)
{
    return (n + p->isa->lanes - 1) / p->isa->lanes;
}

/* Vectors of columns that are computed together: as many as divide all, or nearly. */
static int columns_at(const native_isa *isa, int64_t blocks, int64_t at)
{
    const int64_t most = isa->max_pixels[4] ? 4 : 3, left = blocks - at;

    return (int)(left >= most + 2 || left == most ? most : left > most ? (left + 1) / 2 : left);
}

/* Rows from `at` on that are computed together with so many vectors, evenly of all. */
static int64_t rows_at(const native_isa *isa, int columns, int64_t n, int64_t at)
{
    const int64_t most = isa->max_pixels[columns], parts = (n + most - 1) / most;
    const int64_t each = (n + parts - 1) / parts;

    return n - at < each ? n - at : each;
}

/* ---- the gradient of a convolution's weights ---- */

typedef struct filter {
    const native_isa *isa;
    native_ref x, y, sums, to;
    bool plain, turned; /* turned: sums of a tap are [out lane][in lane] */
    int shards;
    int64_t samples, chunk; /* of all, that are near */
    int64_t x_sample, x_block, y_sample, y_block;
    int64_t size[2], out[2], kernel[2], stride[2], dilation[2], pad[2];
    int64_t ins, outs, in_blocks, out_blocks, taps;
    const int32_t *offsets; /* plain: of each term */
    const int16_t *groups;  /* of output channels, first blocks */
    int n_groups;
} filter;

/* Floats of a row of lanes, of a block of outputs. */
static int64_t block_floats(const filter *f)
{
    const int64_t lanes = f->isa->lanes;

    return (f->plain ? f->ins * f->taps : f->in_blocks * f->taps * lanes) * lanes;
}

/* Outputs along an axis whose window has the tap inside. */
static void inside(const filter *f, int axis, int64_t tap, int64_t *begin, int64_t *end)
{
    const int64_t at = tap * f->dilation[axis] - f->pad[axis], last = f->size[axis] - 1 - at;

    *begin = at < 0 ? (-at + f->stride[axis] - 1) / f->stride[axis] : 0;
    *end = last < 0 ? 0 : last / f->stride[axis] + 1;
    if (*end > f->out[axis])
        *end = f->out[axis];
}

/* All rows of a tap, or of all terms if plain. */
static void add_rows(const filter *f, native_outer *o, int columns, int64_t rows, float *sums,
                     const float *x)
{
    const int64_t lanes = f->isa->lanes;
    int64_t at, n;

    for (at = 0; at < rows; at += n) {
        n = rows_at(f->isa, columns, rows, at);
        o->to = sums + at * lanes;
        o->x = f->plain ? x : x + at;
        o->offsets = f->plain ? f->offsets + at : NULL;
        (f->plain ? f->isa->outer_apart : f->isa->outer)[columns][n](o);
    }
}

/* One group of outputs with one block of inputs, for some samples. */
static void add_block(const filter *f, const native_bases *bases, int g, int64_t in, int64_t first,
                      int64_t n)
{
    const int64_t lanes = f->isa->lanes, step = f->plain ? 1 : lanes;
    const int columns = f->groups[g + 1] - f->groups[g];
    const float *x = native_at(bases, &f->x) + first * f->x_sample + in * f->x_block;
    const float *y = native_at(bases, &f->y) + first * f->y_sample + f->groups[g] * f->y_block;
    float *sums = native_at(bases, &f->sums) + f->groups[g] * block_floats(f) +
                  (f->plain ? 0 : in * f->taps * lanes * lanes);
    native_outer o;
    int64_t tap;

    memset(&o, 0, sizeof o);
    o.n[0] = n;
    o.x_step[0] = f->x_sample;
    o.y_step[0] = f->y_sample;
    o.x_step[1] = f->stride[0] * f->size[1] * step;
    o.y_step[1] = f->out[1] * lanes;
    o.x_step[2] = f->stride[1] * step;
    o.y_step[2] = lanes;
    o.y_block = f->y_block;
    o.to_row = lanes;
    o.to_block = block_floats(f);
    for (tap = 0; tap < (f->plain ? 1 : f->taps); tap++) {
        int64_t begin[2] = {0, 0}, end[2] = {f->out[0], f->out[1]}, at[2] = {0, 0};
        int d;
        for (d = 0; d < 2 && !f->plain; d++) {
            const int64_t t = d == 0 ? tap / f->kernel[1] : tap % f->kernel[1];
            inside(f, d, t, &begin[d], &end[d]);
            at[d] = begin[d] * f->stride[d] + t * f->dilation[d] - f->pad[d];
        }
        if (begin[0] >= end[0] || begin[1] >= end[1])
            continue;
        o.n[1] = end[0] - begin[0];
        o.n[2] = end[1] - begin[1];
        o.y = y + (begin[0] * f->out[1] + begin[1]) * lanes;
        add_rows(f, &o, columns, f->plain ? f->ins * f->taps : lanes, sums + tap * lanes * lanes,
                 x + (at[0] * f->size[1] + at[1]) * step);
    }
}

/* Numbers count groups of outputs, in them blocks of inputs. */
static void run_filter(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const filter *f = params;
    const int64_t ins = f->plain ? 1 : f->in_blocks;
    int64_t sample, i;

    for (sample = 0; sample < f->samples; sample += f->chunk) {
        int64_t n = f->samples - sample < f->chunk ? f->samples - sample : f->chunk;
        for (i = begin; i < end; i++)
            add_block(f, bases, (int)(i / ins), i % ins, sample, n);
    }
}

/* One block of outputs by some rows that follow each other, all shards together. */
static void add_shards(const filter *f, const native_bases *bases, int64_t at, int64_t n, float *to)
{
    int s;

    memcpy(to, native_shard_at(bases, &f->sums, 0) + at, (size_t)n * sizeof *to);
    for (s = 1; s < f->shards; s++)
        f->isa->binary(NATIVE_ADD, to, 1, native_shard_at(bases, &f->sums, s) + at, 1, to, n);
}

/*
 * Numbers count blocks of outputs, in them parts of inputs: lanes of them, or one if plain. A few
 * taps at a time, as sums of a tap lie beside each other.
 */
static void finish_filter(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const filter *f = params;
    const int64_t lanes = f->isa->lanes, all = f->ins * f->taps, rows = f->plain ? 1 : lanes;
    const int64_t parts = f->plain ? f->ins : f->in_blocks;
    float sums[NEAR_TAPS * NATIVE_MAX_LANES * NATIVE_MAX_LANES];
    float *to;
    int64_t i, first, n, in, l, tap;

    for (i = begin; i < end; i++) {
        const int64_t block = i / parts, part = i % parts;
        const int64_t outs = f->outs - block * lanes < lanes ? f->outs - block * lanes : lanes;
        const int64_t ins = f->ins - part * rows < rows ? f->ins - part * rows : rows;
        for (first = 0; first < f->taps; first += n) {
            n = f->taps - first < NEAR_TAPS ? f->taps - first : NEAR_TAPS;
            add_shards(f, bases, block * block_floats(f) + (part * f->taps + first) * rows * lanes,
                       n * rows * lanes, sums);
            to = native_at(bases, &f->to) + block * lanes * all + part * rows * f->taps + first;
            if (f->turned) { /* [tap][out][in] */
                for (l = 0; l < outs; l++)
                    for (in = 0; in < ins; in++)
                        for (tap = 0; tap < n; tap++)
                            to[l * all + in * f->taps + tap] = sums[(tap * rows + l) * lanes + in];
                continue;
            }
            if (f->taps == 1) {
                f->isa->transpose(sums, lanes, to, all, ins, outs);
                continue;
            }
            for (in = 0; in < ins; in++)
                f->isa->transpose(sums + in * lanes, rows * lanes, to + in * f->taps, all, n, outs);
        }
    }
}

static void make_groups(native_planner *p, filter *f)
{
    int16_t *groups = native_keep(p, ((size_t)f->out_blocks + 1) * sizeof *groups);
    int64_t at = 0;

    f->groups = groups;
    if (!groups)
        return;
    while (at < f->out_blocks) {
        groups[f->n_groups++] = (int16_t)at;
        at += columns_at(p->isa, f->out_blocks, at);
    }
    groups[f->n_groups] = (int16_t)f->out_blocks;
}

/* Plain: where the terms lie from the place of a window on. */
static void make_terms(native_planner *p, filter *f)
{
    int32_t *to = native_keep(p, (size_t)(f->ins * f->taps) * sizeof *to);
    int64_t in, i, j;

    f->offsets = to;
    for (in = 0; to && in < f->ins; in++) {
        for (i = 0; i < f->kernel[0]; i++) {
            for (j = 0; j < f->kernel[1]; j++)
                *to++ = (int32_t)((in * f->size[0] + i * f->dilation[0]) * f->size[1] +
                                  j * f->dilation[1]);
        }
    }
}

void native_plan_conv_grad_filter(native_planner *p, const native_item *item)
{
    const native_value *y = &p->ir->values[item->inputs[0]], *x = &p->ir->values[item->inputs[1]];
    const int64_t lanes = p->isa->lanes;
    filter *f = native_keep(p, sizeof *f);
    double flops;
    int64_t near, parts;
    native_run *finish;
    int i;

    if (!f)
        return;
    f->isa = p->isa;
    f->y = native_ref_of(p, item->inputs[0]);
    f->x = native_ref_of(p, item->inputs[1]);
    f->to = native_ref_of(p, item->output);
    f->plain = item->plain_source;
    f->shards = native_shards(p);
    f->samples = native_first_dim(p, y);
    for (i = 0; i < 2; i++) {
        f->size[i] = x->dims[2 + i];
        f->out[i] = y->dims[2 + i];
        f->kernel[i] = item->kernel[i];
        f->stride[i] = item->stride[i];
        f->dilation[i] = item->dilation[i];
        f->pad[i] = item->pad[i];
    }
    f->ins = x->dims[1];
    f->outs = y->dims[1];
    f->in_blocks = blocks_of(p, f->ins);
    f->out_blocks = blocks_of(p, f->outs);
    f->taps = f->kernel[0] * f->kernel[1];
    f->x_block = f->plain ? 0 : f->size[0] * f->size[1] * lanes;
    f->x_sample = f->plain ? f->ins * f->size[0] * f->size[1] : f->in_blocks * f->x_block;
    f->y_block = f->out[0] * f->out[1] * lanes;
    f->y_sample = f->out_blocks * f->y_block;
    make_groups(p, f);
    if (f->plain)
        make_terms(p, f);
    if (!f->groups)
        return;
    near = f->y_block * (f->groups[1] - f->groups[0]) * (int64_t)sizeof(float);
    f->chunk = near < NEAR_BYTES ? NEAR_BYTES / near : 1;
    f->sums = native_sums(p, (uint64_t)(f->out_blocks * block_floats(f)) * sizeof(float));
    flops =
        2.0 * (double)(f->samples * f->outs * f->out[0] * f->out[1]) * (double)(f->ins * f->taps);
    f->turned = native_takes_bf16(p, item);
    if (f->turned)
        native_plan_bf16_filter(p, item, f->sums);
    else
        native_add_run(p, run_filter, f, f->n_groups * (f->plain ? 1 : f->in_blocks), flops / 60.0)
            ->flops = flops;
    parts = f->plain ? f->ins : f->in_blocks;
    finish = native_finish(p, finish_filter, f, f->out_blocks * parts,
                           (double)(f->outs * f->ins * f->taps * f->shards));
    native_in_order(p, finish, lanes * f->ins * f->taps, parts);
}

/* ---- the gradient of a product's weights ---- */

typedef struct weights {
    const native_isa *isa;
    native_ref a, b, sums, to;
    int shards;
    int64_t terms, rows, columns, blocks;
} weights;

/* Numbers count rows. */
static void run_weights(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const weights *w = params;
    const int64_t lanes = w->isa->lanes;
    int64_t block, row, n;
    native_outer o;
    int columns;

    memset(&o, 0, sizeof o);
    o.n[0] = o.n[1] = 1;
    o.n[2] = w->terms;
    o.x_step[2] = w->rows;
    o.y_step[2] = w->columns;
    o.y_block = o.to_block = lanes;
    o.to_row = w->blocks * lanes;
    for (block = 0; block < w->blocks; block += columns) {
        columns = columns_at(w->isa, w->blocks, block);
        o.y = native_at(bases, &w->b) + block * lanes;
        o.last_lanes = block + columns == w->blocks ? (uint32_t)(w->columns % lanes) : 0;
        for (row = begin; row < end; row += n) {
            n = rows_at(w->isa, columns, end - begin, row - begin);
            o.x = native_at(bases, &w->a) + row;
            o.to = native_at(bases, &w->sums) + row * o.to_row + block * lanes;
            w->isa->outer[columns][n](&o);
        }
    }
}

/* Numbers count rows. */
static void finish_weights(const void *params, const native_bases *bases, int64_t begin,
                           int64_t end)
{
    const weights *w = params;
    const int64_t step = w->blocks * w->isa->lanes;
    int64_t row, k;
    int s;

    for (row = begin; row < end; row++) {
        float *to = native_at(bases, &w->to) + row * w->columns;
        memcpy(to, native_shard_at(bases, &w->sums, 0) + row * step,
               (size_t)w->columns * sizeof *to);
        for (s = 1; s < w->shards; s++) {
            const float *from = native_shard_at(bases, &w->sums, s) + row * step;
            for (k = 0; k < w->columns; k++)
                to[k] += from[k];
        }
    }
}

void native_plan_product_grad(native_planner *p, const native_item *item)
{
    const native_value *a = &p->ir->values[item->inputs[0]], *b = &p->ir->values[item->inputs[1]];
    weights *w = native_keep(p, sizeof *w);
    double flops;

    if (!w)
        return;
    w->isa = p->isa;
    w->a = native_ref_of(p, item->inputs[0]);
    w->b = native_ref_of(p, item->inputs[1]);
    w->to = native_ref_of(p, item->output);
    w->shards = native_shards(p);
    w->terms = native_first_dim(p, a);
    w->rows = a->dims[1];
    w->columns = b->dims[1];
    w->blocks = blocks_of(p, w->columns);
    w->sums = native_sums(p, (uint64_t)(w->rows * w->blocks * p->isa->lanes) * sizeof(float));
    flops = 2.0 * (double)(w->terms * w->rows) * (double)w->columns;
    native_add_run(p, run_weights, w, w->rows, flops / 60.0)->flops = flops;
    native_in_order(p,
                    native_finish(p, finish_weights, w, w->rows,
                                  (double)(w->rows * w->columns * w->shards) * 0.2),
                    w->columns, 1);
}

/* ---- sums over dims ---- */

/* x [outer, kept, inner], of which the kept remain. */
typedef struct sum {
    const native_isa *isa;
    native_ref from, sums, to;
    bool blocked; /* kept are channels in blocks */
    int shards;
    int64_t outer, kept, inner, blocks;
} sum;

/* Blocked: numbers count blocks of channels. */
static void sum_blocked(const sum *s, const native_bases *bases, int64_t begin, int64_t end)
{
    const int64_t lanes = s->isa->lanes;
    const float *from = native_at(bases, &s->from);
    float *to = native_at(bases, &s->sums);
    int64_t i, k;

    for (i = 0; i < s->outer; i++) {
        for (k = begin; k < end; k++)
            s->isa->add_vectors(from + (i * s->blocks + k) * s->inner * lanes, s->inner,
                                to + k * lanes);
    }
}

/* Numbers count what is kept. */
static void run_sum(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const sum *s = params;
    const float *from = native_at(bases, &s->from);
    float *to = native_at(bases, &s->sums);
    int64_t i, k, j;

    if (s->blocked) {
        sum_blocked(s, bases, begin, end);
        return;
    }
    for (i = 0; i < s->outer; i++) {
        if (s->inner == 1) {
            s->isa->binary(NATIVE_ADD, to + begin, 1, from + i * s->kept + begin, 1, to + begin,
                           end - begin);
            continue;
        }
        for (k = begin; k < end; k++) {
            const float *row = from + (i * s->kept + k) * s->inner;
            double all = 0.0;
            for (j = 0; j < s->inner; j++)
                all += (double)row[j];
            to[k] += (float)all;
        }
    }
}

static void finish_sum(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const sum *s = params;
    float *to = native_at(bases, &s->to);
    int64_t k;
    int i;

    for (k = begin; k < end; k++) {
        to[k] = native_shard_at(bases, &s->sums, 0)[k];
        for (i = 1; i < s->shards; i++)
            to[k] += native_shard_at(bases, &s->sums, i)[k];
    }
}

/* Dims before the kept ones, of them, behind them. */
static void read_dims(const native_planner *p, sum *s, const native_value *x, uint32_t axes)
{
    int64_t *part = &s->outer;
    int d;

    s->outer = s->kept = s->inner = 1;
    for (d = 0; d < x->rank; d++) {
        if (!(axes >> d & 1))
            part = &s->kept;
        else if (part == &s->kept)
            part = &s->inner;
        *part *= d == 0 ? native_first_dim(p, x) : x->dims[d];
    }
}

/* What a unit keeps for itself starts at 0. */
static void run_zero(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const sum *s = params;

    memset(native_at(bases, &s->sums) + begin, 0, (size_t)(end - begin) * sizeof(float));
}

void native_plan_sum(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]];
    const bool own = item->by_samples && !item->reduces;
    sum *s = native_keep(p, sizeof *s);
    int64_t n;

    if (!s)
        return;
    s->isa = p->isa;
    s->from = native_ref_of(p, item->inputs[0]);
    s->to = native_ref_of(p, item->output);
    s->blocked = x->blocked;
    s->shards = native_shards(p);
    s->blocks = x->rank > 1 ? blocks_of(p, x->dims[1]) : 1;
    read_dims(p, s, x, item->axes);
    n = s->blocked ? s->blocks * p->isa->lanes : s->kept;
    s->sums = own ? s->to : native_sums(p, (uint64_t)n * sizeof(float));
    if (own)
        native_add_run(p, run_zero, s, n, (double)n * 0.1);
    native_add_run(p, run_sum, s, s->blocked ? s->blocks : n,
                   (double)native_count(p, x) * (s->inner == 1 ? 0.1 : 0.5));
    if (!own)
        native_in_order(p, native_finish(p, finish_sum, s, s->kept, (double)s->kept), 1, 1);
}
