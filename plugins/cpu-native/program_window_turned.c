/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_window_turned.c: ConvTranspose of one input for each output, over blocked planes. With
 * steps s the outputs at o, o + s, ... have the same taps, each s-th of the window, which go over
 * neighbours of the source: they are a depthwise convolution without steps whose outputs lie s
 * apart, a phase. A row of outputs is one such row for each of its phases.
 */
#include "program_phases.h"

#include <string.h>

typedef struct turned {
    const native_isa *isa;
    native_ref source, residual, to;
    bool has_residual;
    native_phases axes[2];
    int64_t height, width, out_height, out_width, blocks;
    const float *weights, *bias; /* [block][phase of rows][phase of columns][tap], backwards */
    native_act act;
} turned;

/* ---- running ---- */

/* The outputs of a row from number x on that are in its phase. */
static void run_phase(const turned *w, native_row *row, int64_t x, int64_t down, float *to,
                      const float *residual)
{
    const native_phases *rows = &w->axes[0], *columns = &w->axes[1];
    const int64_t lanes = w->isa->lanes, across = native_phase_at(columns, x, &row->left);
    const float *weights = row->weights;

    row->kernel[0] = rows->n[down];
    row->kernel[1] = columns->n[across];
    if (row->kernel[1] == 0) { /* nothing but the bias */
        row->kernel[0] = row->left = 0;
        row->kernel[1] = 1;
    }
    row->weights +=
        (rows->begin[down] * columns->kernel + rows->n[down] * columns->begin[across]) * lanes;
    row->to = to + x * lanes;
    row->residual = residual ? residual + x * lanes : NULL;
    row->out_width = (w->out_width - x + columns->stride - 1) / columns->stride;
    if (columns->stride == 1)
        w->isa->depthwise_row(row);
    else
        w->isa->depthwise_row_apart(row);
    row->weights = weights;
}

/* Numbers count planes of a block, in them rows. */
static void run_turned(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const turned *w = params;
    const int64_t lanes = w->isa->lanes, taps = w->axes[0].kernel * w->axes[1].kernel;
    const bool clips = w->act.kind == NATIVE_ACT_CLIP;
    const native_act none = {.kind = NATIVE_ACT_NONE};

    for (; begin < end; begin++) {
        const int64_t plane = begin / w->out_height, y = begin % w->out_height,
                      block = plane % w->blocks;
        float *to = native_at(bases, &w->to) + begin * w->out_width * lanes;
        const float *residual =
            w->has_residual ? native_at(bases, &w->residual) + begin * w->out_width * lanes : NULL;
        native_row row = {
            .source = native_at(bases, &w->source) + plane * w->height * w->width * lanes,
            .height = w->height,
            .width = w->width,
            .stride = {1, 1},
            .dilation = {w->axes[0].next, w->axes[1].next},
            .weights = w->weights + block * taps * lanes,
            .bias = w->bias ? w->bias + block * lanes : NULL,
            .to_pixel = w->axes[1].stride * lanes,
            .act = clips ? w->act : none,
        };
        const int64_t down = native_phase_at(&w->axes[0], y, &row.top);
        int64_t x;
        for (x = 0; x < w->axes[1].stride && x < w->out_width; x++)
            run_phase(w, &row, x, down, to, residual);
        if (w->act.kind > NATIVE_ACT_CLIP)
            w->isa->act(&w->act, to, to, w->out_width * lanes);
    }
}

/* ---- the plan ---- */

typedef struct packing {
    const turned *w;
    const float *from;
    int64_t channels;
} packing;

static void fill_weights(float *to, const void *user)
{
    const packing *k = user;
    const native_phases *rows = &k->w->axes[0], *columns = &k->w->axes[1];
    const int64_t lanes = k->w->isa->lanes, taps = rows->kernel * columns->kernel;
    int64_t tap, c, row, column;

    for (tap = 0; tap < taps; tap++) {
        const int64_t down = native_phase_of(rows, tap / columns->kernel, &row);
        const int64_t across = native_phase_of(columns, tap % columns->kernel, &column);
        const int64_t at = rows->begin[down] * columns->kernel +
                           rows->n[down] * columns->begin[across] + row * columns->n[across] +
                           column;
        for (c = 0; c < k->channels; c++)
            to[(c / lanes * taps + at) * lanes + c % lanes] = k->from[c * taps + tap];
    }
}

static void fill_bias(float *to, const void *user)
{
    const packing *k = user;

    memcpy(to, k->from, (size_t)k->channels * sizeof *to);
}

static void pack(native_planner *p, turned *w, const native_item *item, int64_t channels)
{
    const native_value *k = &p->ir->values[item->inputs[1]];
    const int bias = item->n_inputs > 2 ? item->inputs[2] : -1;
    const uint64_t bytes = (uint64_t)(w->blocks * p->isa->lanes) * sizeof(float);
    packing from = {w, k->known, channels};
    const native_constant_key key = {{k->known},
                                     {-12, channels, item->kernel[0], item->kernel[1],
                                      item->stride[0], item->stride[1], item->dilation[0],
                                      item->dilation[1], p->isa->lanes}};

    w->weights = native_pack(p, &key, bytes * (uint64_t)native_taps(item), fill_weights, &from);
    if (bias >= 0) {
        from.from = p->ir->values[bias].known;
        w->bias =
            native_pack(p, &(native_constant_key){{from.from}, {-13, channels, p->isa->lanes}},
                        bytes, fill_bias, &from);
    }
}

bool native_is_turned_depthwise(const native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->output];

    return item->kind == NATIVE_ITEM_CONV_GRAD_INPUT && item->groups > 1 &&
           item->groups == x->dims[1] && item->groups == y->dims[1] && !item->depth.kernel &&
           !item->pooled && item->codes < 0 && p->ir->values[item->inputs[1]].known &&
           item->stride[0] <= NATIVE_MOST_STEPS && item->stride[1] <= NATIVE_MOST_STEPS;
}

void native_plan_turned_depthwise(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->output];
    turned *w = native_keep(p, sizeof *w);
    int64_t rows;

    if (!w)
        return;
    w->isa = p->isa;
    w->source = native_ref_of(p, item->inputs[0]);
    w->to = native_ref_of(p, item->output);
    w->has_residual = item->residual >= 0;
    w->residual = native_ref_of(p, item->residual);
    w->height = x->dims[2];
    w->width = x->dims[3];
    w->out_height = y->dims[2];
    w->out_width = y->dims[3];
    w->blocks = (y->dims[1] + p->isa->lanes - 1) / p->isa->lanes;
    w->act = item->act;
    native_find_phases(&w->axes[0], item, 0);
    native_find_phases(&w->axes[1], item, 1);
    pack(p, w, item, y->dims[1]);
    rows = native_first_dim(p, y) * w->blocks * w->out_height;
    native_add_run(p, run_turned, w, rows,
                   (double)(rows * w->out_width) *
                       (1.0 + (double)(native_taps(item) / (item->stride[0] * item->stride[1]))));
}
