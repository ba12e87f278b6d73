/* SPDX-License-Identifier: Apache-2.0 */
/* program_window.c: depthwise convolutions, pools and means over blocked planes, row by row. */
#include "program_front.h"

#include <string.h>

enum {
    MOST_CHANNELS = 6, /* for each pixel, where threads share the pixels */
    BLOCKS = 16        /* of channels that are last, of a number of work */
};

typedef struct windows {
    const native_isa *isa;
    native_ref source, residual, to;
    bool has_residual, last; /* last: channels, of what is read or written */
    void (*row)(const native_row *row);
    int64_t height, width, plane, out_height, out_width, blocks, taps, rows;
    int parts;
    native_depth depth; /* DEPTHWISE over three axes; height and width are of a frame */
    int64_t frame_rows; /* of the result */
    native_row form;    /* what all rows have in common; weights and bias of block 0 */
    int64_t computed, computed_bias; /* where they are in what threads share, less 1; 0 = known */
    int64_t pad[2];
} windows;

/* Weights and bias from a block on. */
static void set_constants(const windows *w, const native_bases *bases, int64_t block,
                          native_row *row)
{
    row->weights = w->form.weights;
    row->bias = w->form.bias;
    if (w->computed > 0)
        row->weights = (const float *)(const void *)(bases->shared + w->computed - 1);
    if (w->computed_bias > 0)
        row->bias = (const float *)(const void *)(bases->shared + w->computed_bias - 1);
    row->weights = row->weights ? row->weights + block * w->taps * w->isa->lanes : NULL;
    row->bias = row->bias ? row->bias + block * w->isa->lanes : NULL;
}

/* A row of a window over three axes: frame after frame is added to what is there. row: of frame 0.
 */
static void run_deep_row(const windows *w, const native_row *row, int64_t y)
{
    const native_depth *d = &w->depth;
    const int64_t lanes = w->isa->lanes, frame = y / w->frame_rows * d->stride - d->pad;
    native_row part = *row;
    int64_t tap = 0, end = d->kernel;

    while (frame + tap * d->dilation < 0) /* each window holds an element */
        tap++;
    while (frame + (end - 1) * d->dilation >= d->size)
        end--;
    part.top = y % w->frame_rows * row->stride[0] - w->pad[0];
    part.act.kind = NATIVE_ACT_NONE;
    for (; tap < end; tap++) {
        if (tap == end - 1)
            part.act = row->act;
        part.source = row->source + (frame + tap * d->dilation) * w->height * w->width * lanes;
        part.weights = row->weights + tap * row->kernel[0] * row->kernel[1] * lanes;
        w->row(&part);
        part.bias = NULL;
        part.residual = part.to;
    }
}

/* Rows [y, end) of one channel block of a sample. */
static void run_rows(const windows *w, const native_bases *bases, int64_t plane, int64_t y,
                     int64_t end)
{
    const int64_t lanes = w->isa->lanes, block = plane % w->blocks, line = w->out_width * lanes;
    const int64_t place = (plane * w->out_height + y) * line;
    const float *residual = w->has_residual ? native_at(bases, &w->residual) : NULL;
    native_row row = w->form;

    row.source = native_at(bases, &w->source) + plane * w->plane * lanes;
    row.to = native_at(bases, &w->to) + place;
    row.residual = residual ? residual + place : NULL;
    set_constants(w, bases, block, &row);
    for (; y < end; y++) {
        row.top = y * w->form.stride[0] - w->pad[0];
        if (w->depth.kernel)
            run_deep_row(w, &row, y);
        else
            w->row(&row);
        row.to += line;
        row.residual = residual ? row.residual + line : NULL;
    }
}

/* The same of some blocks with the channels last: which of them, by their number. */
static void run_rows_of_blocks(const windows *w, const native_bases *bases, int64_t sample,
                               int64_t number, int64_t y, int64_t end)
{
    const int64_t lanes = w->isa->lanes, block = number * BLOCKS, left = w->blocks - block;
    const int64_t sample_block = sample * w->blocks * lanes;
    const int64_t line = w->out_width * w->form.to_pixel;
    const int64_t place = sample_block * w->out_height * w->out_width + block * w->form.to_block;
    native_row row = w->form;

    row.blocks = left < BLOCKS ? left : BLOCKS;
    row.source =
        native_at(bases, &w->source) + sample_block * w->height * w->width + block * row.from_block;
    set_constants(w, bases, block, &row);
    for (; y < end; y++) {
        row.top = y * row.stride[0] - w->pad[0];
        row.to = native_at(bases, &w->to) + place + y * line;
        row.residual = w->has_residual ? native_at(bases, &w->residual) + place + y * line : NULL;
        w->isa->depthwise_row_of_blocks(&row);
    }
}

static int64_t groups_of(const windows *w)
{
    return w->last ? (w->blocks + BLOCKS - 1) / BLOCKS : w->blocks;
}

/*
 * Numbers count parts of the rows of all samples, in them what each sample has of them, in it
 * blocks of channels, or some of them, in them rows.
 */
static void run_windows(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const windows *w = params;
    const int64_t groups = groups_of(w);

    while (begin < end) {
        native_cut part = native_cut_at(begin, w->rows, groups, w->parts);
        while (part.n > 0 && begin < end) {
            const int64_t y = part.first % w->out_height, left = w->out_height - y;
            const int64_t n = part.n < left ? part.n : left;
            const int64_t sample = part.first / w->out_height;
            for (; part.rest < n * groups && begin < end;) {
                int64_t at = part.rest % n, some = n - at < end - begin ? n - at : end - begin;
                if (w->last)
                    run_rows_of_blocks(w, bases, sample, part.rest / n, y + at, y + at + some);
                else
                    run_rows(w, bases, sample * w->blocks + part.rest / n, y + at, y + at + some);
                part.rest += some;
                begin += some;
            }
            part.rest -= n * groups;
            part.first += n;
            part.n -= n;
        }
    }
}

/* A convolution in front of windows, and the bands that both are computed by. */
typedef struct fronted {
    const windows *windows;
    const native_tiles *front;
    native_bands bands;
} fronted;

/* Rows of a band, of one group of channels. */
static void run_band(const fronted *f, const native_bases *bases, int64_t sample,
                     const native_band *band, int group)
{
    const windows *w = f->windows;
    const int64_t lanes = w->isa->lanes, line = w->out_width * lanes;
    const int64_t pixels = band->rows * w->width, first = f->front->first_block[group];
    const float *residual = w->has_residual ? native_at(bases, &w->residual) : NULL;
    float *between = (float *)(void *)bases->scratch;
    native_row row = w->form;
    int64_t block, y;

    native_run_front(f->front, bases, sample, group, band->first * w->width, pixels, between);
    row.height = band->rows;
    for (block = first; block < f->front->first_block[group + 1]; block++) {
        const int64_t place = ((sample * w->blocks + block) * w->out_height + band->y) * line;
        row.source = between + (block - first) * pixels * lanes;
        row.weights = w->form.weights + block * w->taps * lanes;
        row.bias = w->form.bias ? w->form.bias + block * lanes : NULL;
        row.to = native_at(bases, &w->to) + place;
        row.residual = residual ? residual + place : NULL;
        for (y = band->y; y < band->end; y++) {
            row.top = y * w->form.stride[0] - w->pad[0] - band->first;
            w->row(&row);
            row.to += line;
            row.residual = residual ? row.residual + line : NULL;
        }
    }
}

/* Numbers count samples, in them bands, in them groups. */
static void run_fronted(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const fronted *f = params;
    const int64_t groups = f->front->n_groups;

    for (; begin < end; begin++) {
        const int64_t number = begin / groups;
        const native_band band = native_band_at(&f->bands, number % f->bands.n);
        run_band(f, bases, number / f->bands.n, &band, (int)(begin % groups));
    }
}

/* Windows inside of frames, each of which is a plane, or over frames, whose pixels are a row. */
static void set_frames(windows *w, const native_item *item)
{
    const native_depth *d = &item->depth;

    w->height /= d->size;
    w->out_height /= d->outs;
    if (!d->kernel) {
        w->blocks *= d->size;
        w->plane /= d->size;
        w->form.height = w->height;
        return;
    }
    w->form.width = w->width *= w->height;
    w->form.out_width = w->out_width = w->width;
    w->form.height = w->height = d->size;
    w->out_height = d->outs;
    w->taps = w->form.kernel[0] = d->kernel;
    w->form.stride[0] = d->stride;
    w->form.dilation[0] = d->dilation;
    w->pad[0] = d->pad;
    w->form.kernel[1] = w->form.stride[1] = w->form.dilation[1] = 1;
    w->form.left = w->pad[1] = 0;
}

/* A convolution over three axes, or over frames alone. */
static void set_depth(windows *w, const native_item *item)
{
    if (item->kernel[0] * item->kernel[1] == 1 && item->stride[0] * item->stride[1] == 1 &&
        item->pad[0] + item->pad[1] == 0 && w->width == w->out_width &&
        w->height * item->depth.outs == w->out_height * item->depth.size) {
        set_frames(w, item);
        return;
    }
    w->depth = item->depth;
    w->form.height = w->height /= item->depth.size;
    w->frame_rows = w->out_height / item->depth.outs;
}

static windows *begin_windows(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->output];
    windows *w = native_keep(p, sizeof *w);
    int i;

    if (!w)
        return NULL;
    w->isa = p->isa;
    w->source = native_ref_of(p, item->inputs[0]);
    w->to = native_ref_of(p, item->output);
    w->has_residual = item->residual >= 0;
    w->residual = native_ref_of(p, item->residual);
    w->form.height = w->height = x->dims[2];
    w->form.width = w->width = x->dims[3];
    w->out_height = y->dims[2];
    w->form.out_width = w->out_width = y->dims[3];
    w->blocks = (y->dims[1] + p->isa->lanes - 1) / p->isa->lanes;
    w->plane = w->height * w->width;
    w->taps = native_taps(item);
    w->last = x->last || y->last;
    w->form.from_pixel = x->last ? x->dims[1] : p->isa->lanes;
    w->form.from_block = p->isa->lanes * (x->last ? 1 : w->height * w->width);
    w->form.to_pixel = y->last ? y->dims[1] : p->isa->lanes;
    w->form.to_block = p->isa->lanes * (y->last ? 1 : w->out_height * w->out_width);
    w->form.left = -item->pad[1];
    for (i = 0; i < 2; i++) {
        w->pad[i] = item->pad[i];
        w->form.kernel[i] = item->kernel[i];
        w->form.stride[i] = item->stride[i];
        w->form.dilation[i] = item->dilation[i];
    }
    w->form.average = item->average;
    w->form.count_padding = item->count_padding;
    w->form.count = item->count;
    w->form.act = item->act;
    return w;
}

static void end_windows(native_planner *p, windows *w, const native_value *y)
{
    const int64_t samples = native_first_dim(p, y), pixels = w->out_height * w->out_width;
    const int64_t rows = samples * w->blocks * w->out_height;
    double work = (double)(rows * w->out_width * w->taps);

    /* Convolutions around it have weights of all pairs of channels. */
    w->rows = samples * w->out_height;
    w->parts = y->dims[1] <= MOST_CHANNELS * pixels ? native_parts(p, samples * pixels) : 1;
    native_add_run(p, run_windows, w, w->rows * groups_of(w),
                   work / 2.0 + (double)(rows * w->out_width));
}

typedef struct packing {
    const float *from;
    int64_t channels, taps, lanes;
    native_ref source; /* of what is computed, */
    int64_t at, bytes; /* and its place in what threads share */
} packing;

/* [block][tap][lane] */
static void fill_weights(float *to, const void *user)
{
    const packing *k = user;
    int64_t c, t;

    for (c = 0; c < k->channels; c++) {
        for (t = 0; t < k->taps; t++)
            to[(c / k->lanes * k->taps + t) * k->lanes + c % k->lanes] = k->from[c * k->taps + t];
    }
}

static void run_packing(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    packing k = *(const packing *)params;
    float *to = (float *)(void *)(bases->shared + k.at);

    (void)begin, (void)end;
    k.from = native_at(bases, &k.source);
    memset(to, 0, (size_t)k.bytes);
    fill_weights(to, &k);
}

/* A step in front that packs what is computed to so many bytes of shared memory, from `at` on. */
static void pack_computed(native_planner *p, const windows *w, int value, int64_t taps, int64_t at)
{
    packing *k = native_keep(p, sizeof *k);

    if (!k)
        return;
    k->source = native_ref_of(p, value);
    k->channels = native_elements(&p->ir->values[value]) / taps;
    k->taps = taps;
    k->lanes = p->isa->lanes;
    k->at = at;
    k->bytes = w->blocks * k->lanes * taps * (int64_t)sizeof(float);
    native_need_shared(p, (uint64_t)(at + k->bytes));
    native_add_run(p, run_packing, k, 1, (double)k->bytes)->alone = true;
}

static const float *pack(native_planner *p, const windows *w, const void *from, int64_t channels,
                         int64_t taps)
{
    const packing k = {.from = from, .channels = channels, .taps = taps, .lanes = p->isa->lanes};
    const native_constant_key key = {{from}, {4, channels, taps, p->isa->lanes}};

    return native_pack(p, &key, (uint64_t)(w->blocks * p->isa->lanes * taps) * sizeof(float),
                       fill_weights, &k);
}

/* Of so many taps; 0 = the bias, which lies behind the weights if both are computed. */
static void set_weights(native_planner *p, windows *w, int value, int64_t taps)
{
    const native_value *v = &p->ir->values[value];
    const int64_t at = taps > 0 ? 0 : w->blocks * p->isa->lanes * w->taps * (int64_t)sizeof(float);

    if (!v->known) {
        *(taps > 0 ? &w->computed : &w->computed_bias) = at + 1;
        pack_computed(p, w, value, taps > 0 ? taps : 1, at);
    } else if (taps > 0) {
        w->form.weights = pack(p, w, v->known, native_elements(v) / taps, taps);
    } else {
        w->form.bias = pack(p, w, v->known, native_elements(v), 1);
    }
}

/* The step of windows with a convolution in front. */
static void plan_fronted(native_planner *p, const windows *w, const native_item *front)
{
    const native_value *y = &p->ir->values[front->output];
    const int64_t samples = native_first_dim(p, y), lanes = p->isa->lanes;
    fronted *f = native_keep(p, sizeof *f);
    native_tiles *c = f ? native_make_front(p, front) : NULL;
    int64_t between;
    double flops;

    if (!c)
        return;
    between = native_largest_group(c) * lanes * w->width * (int64_t)sizeof(float);
    flops = 2.0 * (double)(c->samples * w->height * w->width * y->dims[1]) * (double)c->terms;
    f->windows = w;
    f->front = c;
    f->bands = (native_bands){.height = w->height,
                              .out_height = w->out_height,
                              .stride = w->form.stride[0],
                              .pad = w->pad[0],
                              .reach = (w->form.kernel[0] - 1) * w->form.dilation[0]};
    native_make_bands(p, &f->bands, between + c->terms * w->width * (int64_t)sizeof(float),
                      native_parts(p, samples * w->height * w->width), c->n_groups);
    native_need_scratch(p, (uint64_t)(f->bands.most_rows * between));
    native_add_run(p, run_fronted, f, samples * f->bands.n * c->n_groups, flops / 100.0)->flops =
        flops;
}

void native_plan_depthwise(native_planner *p, const native_item *item)
{
    const native_value *y = &p->ir->values[item->output];
    windows *w;

    if (item->front) {
        native_item apart = *item;
        apart.inputs[0] = item->front->output;
        w = begin_windows(p, &apart);
    } else {
        w = begin_windows(p, item);
    }
    if (!w)
        return;
    w->row = p->isa->depthwise_row;
    if (item->depth.kernel)
        set_depth(w, item);
    set_weights(p, w, item->inputs[1], w->taps);
    if (item->n_inputs > 2 && item->inputs[2] >= 0)
        set_weights(p, w, item->inputs[2], 0);
    if (item->front)
        plan_fronted(p, w, item->front);
    else
        end_windows(p, w, y);
}

void native_plan_pool(native_planner *p, const native_item *item)
{
    windows *w;

    if (!p->ir->values[item->output].blocked) {
        if (native_pools_frames(p->ir, item))
            native_plan_frames(p, item);
        else
            native_plan_pool_rows(p, item);
        return;
    }
    w = begin_windows(p, item);
    if (!w)
        return;
    w->row = p->isa->pool_row;
    if (item->depth.size)
        set_frames(w, item);
    end_windows(p, w, &p->ir->values[item->output]);
}

/* ---- the mean of a plane ---- */

typedef struct means {
    const native_isa *isa;
    native_ref source, to;
    int64_t channels, blocks, pixels;
} means;

static void run_means(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const means *m = params;
    const int64_t lanes = m->isa->lanes;
    const float *source = native_at(bases, &m->source);
    float *to = native_at(bases, &m->to), mean[NATIVE_MAX_LANES];
    int64_t i;

    for (i = begin; i < end; i++) {
        int64_t sample = i / m->blocks, c = i % m->blocks * lanes;
        int64_t n = m->channels - c < lanes ? m->channels - c : lanes;
        m->isa->mean(source + i * m->pixels * lanes, m->pixels, mean);
        memcpy(to + sample * m->channels + c, mean, (size_t)n * sizeof *mean);
    }
}

void native_plan_mean(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]];
    means *m = native_keep(p, sizeof *m);
    int64_t rows;

    if (!m)
        return;
    m->isa = p->isa;
    m->source = native_ref_of(p, item->inputs[0]);
    m->to = native_ref_of(p, item->output);
    m->channels = x->dims[1];
    m->blocks = (x->dims[1] + p->isa->lanes - 1) / p->isa->lanes;
    m->pixels = x->dims[2] * x->dims[3];
    rows = native_first_dim(p, x) * m->blocks;
    native_add_run(p, run_means, m, rows, (double)(rows * m->pixels) * 2.0);
}
