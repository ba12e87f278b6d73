/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_few_outs.c: convolutions with so few outputs that vectors of these would be mostly empty,
 * as last layers have them. They read blocks of inputs, multiply all lanes of them, and write a
 * plain image (isa_few_outs.h). A transposed one makes a row phase by phase.
 */
#include "program_phases.h"

#include <string.h>

enum { MOST_LINES = 64, MOST_WEIGHTS = 128 * 1024 };

typedef struct few_outs {
    const native_isa *isa;
    native_ref source, residual, to;
    bool has_residual;
    native_depth depth;
    int64_t kernel, stride, dilation, pad; /* of rows */
    int64_t rows, out_rows;                /* of a frame */
    int64_t all_out_rows;                  /* of all frames */
    bool turned;
    native_phases phases[2];
    native_few_outs form;
    native_act act;
} few_outs;

bool native_has_few_outs(const native_ir *ir, const native_item *item)
{
    const native_value *x = &ir->values[item->inputs[0]], *y = &ir->values[item->output];
    const native_value *k = &ir->values[item->inputs[1]];
    const int64_t lanes = ir->device->isa->lanes, outs = y->dims[1], ins = x->dims[1];
    const int64_t whole = (ins + lanes - 1) / lanes * lanes; /* with the lanes of no input */
    const bool turned = item->kind == NATIVE_ITEM_CONV_GRAD_INPUT && !item->depth.kernel &&
                        item->stride[0] <= NATIVE_MOST_STEPS &&
                        item->stride[1] <= NATIVE_MOST_STEPS;

    return (item->kind == NATIVE_ITEM_CONV || turned) && item->integer < 0 && item->groups <= 1 &&
           !item->plain_source && !item->pooled && item->codes < 0 && !x->last && !y->last &&
           k->known &&
           (item->n_inputs < 3 || item->inputs[2] < 0 || ir->values[item->inputs[2]].known) &&
           outs <= NATIVE_FEW_OUTS && outs * whole < ins * lanes &&
           native_taps(item) / item->kernel[1] <= MOST_LINES &&
           outs * whole * native_taps(item) * (int64_t)sizeof(float) <= MOST_WEIGHTS;
}

/* ---- running ---- */

/* The lines of the source that the windows of a row of outputs have, and their weights. */
static int find_lines(const few_outs *f, int64_t row, native_few_line *lines)
{
    const int64_t lanes = f->isa->lanes, width = f->form.width * lanes;
    const int64_t of_line = f->form.kernel * f->form.outs * lanes;
    const int64_t frame = row / f->out_rows, top = row % f->out_rows * f->stride - f->pad;
    int64_t deep, i;
    int n = 0;

    for (deep = 0; deep < f->depth.kernel; deep++) {
        const int64_t z = frame * f->depth.stride + deep * f->depth.dilation - f->depth.pad;
        if (z < 0 || z >= f->depth.size)
            continue;
        for (i = 0; i < f->kernel; i++) {
            const int64_t y = top + i * f->dilation;
            if (y < 0 || y >= f->rows)
                continue;
            lines[n].source = (z * f->rows + y) * width;
            lines[n++].weights = (deep * f->kernel + i) * of_line;
        }
    }
    return n;
}

/* Those of a row in its phase. */
static int find_turned_lines(const few_outs *f, int64_t row, native_few_line *lines)
{
    const native_phases *rows = &f->phases[0];
    const int64_t lanes = f->isa->lanes;
    int64_t first, i;
    const int64_t phase = native_phase_at(rows, row, &first);
    int n = 0;

    for (i = 0; i < rows->n[phase]; i++) {
        const int64_t y = first + i * rows->next;
        if (y < 0 || y >= f->rows)
            continue;
        lines[n].source = y * f->form.width * lanes;
        lines[n++].weights = (rows->begin[phase] + i) * f->phases[1].kernel * f->form.outs * lanes;
    }
    return n;
}

/* A row of outputs is one row for each phase of its columns. */
static void run_turned(const few_outs *f, const native_few_outs *whole)
{
    const native_phases *columns = &f->phases[1];
    int64_t x;

    for (x = 0; x < columns->stride && x < whole->out_width; x++) {
        native_few_outs row = *whole;
        const int64_t phase = native_phase_at(columns, x, &row.left);
        row.kernel = columns->n[phase];
        if (row.kernel == 0) /* nothing but the bias */
            row.left = row.n_lines = 0;
        row.weights += columns->begin[phase] * row.outs * f->isa->lanes;
        row.to += x;
        row.out_width = (whole->out_width - x + columns->stride - 1) / columns->stride;
        f->isa->few_outs_row(&row);
    }
}

/* What follows the sums of an output: those that a residual is added to are in scratch memory. */
static void end_row(const few_outs *f, const float *residual, const float *sums, float *to)
{
    if (residual)
        f->isa->binary(NATIVE_ADD, sums, 1, residual, 1, to, f->form.out_width);
    if (f->act.kind != NATIVE_ACT_NONE)
        f->isa->act(&f->act, to, to, f->form.out_width);
}

/* Numbers count samples, in them rows of outputs. */
static void run_few_outs(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const few_outs *f = params;
    const int64_t image = f->all_out_rows * f->form.out_width;
    const float *residual = f->has_residual ? native_at(bases, &f->residual) : NULL;
    native_few_line lines[MOST_LINES];
    native_few_outs row = f->form;

    row.lines = lines;
    for (; begin < end; begin++) {
        const int64_t sample = begin / f->all_out_rows, y = begin % f->all_out_rows;
        const int64_t place = sample * row.outs * image + y * row.out_width;
        float *to = native_at(bases, &f->to) + place;
        int64_t o;
        row.n_lines = f->turned ? find_turned_lines(f, y, lines) : find_lines(f, y, lines);
        row.source = native_at(bases, &f->source) + sample * row.blocks * row.plane;
        row.to = residual ? (float *)(void *)bases->scratch : to;
        row.to_out = residual ? row.out_width : image;
        if (f->turned)
            run_turned(f, &row);
        else
            f->isa->few_outs_row(&row);
        for (o = 0; o < row.outs; o++)
            end_row(f, residual ? residual + place + o * image : NULL, row.to + o * row.to_out,
                    to + o * image);
    }
}

/* ---- the plan ---- */

typedef struct packing {
    const float *from;
    int64_t outs, ins, lanes, lines, kernel[2]; /* lines: of all frames */
    int64_t whole[2], first[2];                 /* of a window some taps, if not 0 */
    const native_phases *phases;                /* NULL = not turned */
} packing;

/* [block][line][column][output][lane] */
static void fill_weights(float *to, const void *user)
{
    const packing *k = user;
    const int64_t columns = k->whole[0] ? k->whole[1] : k->kernel[1];
    const int64_t taps = k->whole[0] ? k->whole[0] * columns : k->lines * columns;
    int64_t o, in, i, j;

    for (o = 0; o < k->outs; o++) {
        for (in = 0; in < k->ins; in++) {
            const float *from = k->from + (o * k->ins + in) * taps;
            float *of = to + (in / k->lanes * k->lines * k->kernel[1] * k->outs + o) * k->lanes +
                        in % k->lanes;
            for (i = 0; i < k->lines; i++) {
                for (j = 0; j < k->kernel[1]; j++)
                    of[(i * k->kernel[1] + j) * k->outs * k->lanes] =
                        from[(k->first[0] + i) * columns + k->first[1] + j];
            }
        }
    }
}

/* [block][line][column][output][lane], by phases of lines and columns, of [input][output][tap] */
static void fill_turned(float *to, const void *user)
{
    const packing *k = user;
    const int64_t columns = k->kernel[1], taps = k->lines * columns;
    int64_t o, in, tap, row, column;

    for (in = 0; in < k->ins; in++) {
        for (o = 0; o < k->outs; o++) {
            const float *from = k->from + (in * k->outs + o) * taps;
            float *of = to + (in / k->lanes * taps * k->outs + o) * k->lanes + in % k->lanes;
            for (tap = 0; tap < taps; tap++) {
                const int64_t down = native_phase_of(&k->phases[0], tap / columns, &row);
                const int64_t across = native_phase_of(&k->phases[1], tap % columns, &column);
                row += k->phases[0].begin[down];
                column += k->phases[1].begin[across];
                of[(row * columns + column) * k->outs * k->lanes] = from[tap];
            }
        }
    }
}

static void fill_bias(float *to, const void *user)
{
    const packing *k = user;

    if (k->from)
        memcpy(to, k->from, (size_t)k->outs * sizeof *to);
}

static void pack(native_planner *p, few_outs *f, const native_item *item)
{
    const int bias = item->n_inputs > 2 ? item->inputs[2] : -1;
    packing k = {.from = p->ir->values[item->inputs[1]].known,
                 .outs = f->form.outs,
                 .ins = p->ir->values[item->inputs[0]].dims[1],
                 .lanes = p->isa->lanes,
                 .lines = native_taps(item) / item->kernel[1],
                 .kernel = {item->kernel[0], item->kernel[1]}};
    const native_constant_key key = {{k.from},
                                     {9, k.outs, k.ins, k.lanes, k.lines, k.kernel[1],
                                      item->whole[0], item->whole[1], item->first[0],
                                      item->first[1]}};
    const native_constant_key turned = {{k.from},
                                        {-14, k.outs, k.ins, k.lanes, k.lines, k.kernel[1],
                                         item->stride[0], item->stride[1], item->dilation[0],
                                         item->dilation[1]}};

    if (item->whole[0]) {
        memcpy(k.whole, item->whole, sizeof k.whole);
        memcpy(k.first, item->first, sizeof k.first);
    }
    k.phases = f->turned ? f->phases : NULL;
    f->form.weights =
        native_pack(p, f->turned ? &turned : &key,
                    (uint64_t)(f->form.blocks * f->form.weights_block) * sizeof(float),
                    f->turned ? fill_turned : fill_weights, &k);
    k.from = bias >= 0 ? p->ir->values[bias].known : NULL;
    f->form.bias = native_pack(p, &(native_constant_key){{k.from}, {10, k.outs}},
                               NATIVE_FEW_OUTS * sizeof(float), fill_bias, &k);
}

void native_plan_few_outs(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->output];
    const int64_t lanes = p->isa->lanes, blocks = (x->dims[1] + lanes - 1) / lanes;
    const int64_t rows = native_first_dim(p, y) * y->dims[2];
    few_outs *f = native_keep(p, sizeof *f);
    double flops;

    if (!f)
        return;
    f->isa = p->isa;
    f->source = native_ref_of(p, item->inputs[0]);
    f->to = native_ref_of(p, item->output);
    f->has_residual = item->residual >= 0;
    f->residual = native_ref_of(p, item->residual);
    f->act = item->act;
    f->turned = item->kind == NATIVE_ITEM_CONV_GRAD_INPUT;
    if (f->turned) {
        native_find_phases(&f->phases[0], item, 0);
        native_find_phases(&f->phases[1], item, 1);
    }
    f->depth = item->depth.kernel ? item->depth : (native_depth){1, 1, 1, 0, 1, 1};
    f->kernel = item->kernel[0];
    f->stride = item->stride[0];
    f->dilation = item->dilation[0];
    f->pad = item->pad[0];
    f->all_out_rows = y->dims[2];
    f->rows = x->dims[2] / f->depth.size;
    f->out_rows = y->dims[2] / f->depth.outs;
    f->form = (native_few_outs){.plane = x->dims[2] * x->dims[3] * lanes,
                                .blocks = blocks,
                                .outs = (int)y->dims[1],
                                .to_pixel = f->turned ? item->stride[1] : 1,
                                .width = x->dims[3],
                                .out_width = y->dims[3],
                                .left = -item->pad[1],
                                .kernel = item->kernel[1],
                                .stride = f->turned ? 1 : item->stride[1],
                                .dilation = f->turned ? f->phases[1].next : item->dilation[1],
                                .weights_block = native_taps(item) * y->dims[1] * lanes};
    pack(p, f, item);
    if (f->has_residual)
        native_need_scratch(p, (uint64_t)(y->dims[1] * y->dims[3]) * sizeof(float));
    flops = 2.0 * (double)(x->dims[1] * y->dims[1] * native_taps(item)) *
            (double)native_first_dim(p, y) *
            (double)(f->turned ? x->dims[2] * x->dims[3] : y->dims[2] * y->dims[3]);
    native_add_run(p, run_few_outs, f, rows, flops / 40.0)->flops = flops;
}
