/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_quantized_run.c: steps between float32 and 8 bits. Values of 8 bits that are blocked have
 * their channels last, [N, pixels, C]: so the terms of a product lie beside each other. Those of
 * float32 are blocked as ever, so that quantizing changes the layout on its way.
 */
#include "program_quantized.h"

#include <string.h>

#include "int8.h"
#include "int8_turn.h"
#include "pixel_rows.h"

enum { PART = 2048 /* elements of a number of work, about */ };

/* ---- one element after the other ---- */

/* In plain memory [rows, length], where a row has one scale, or each index in it. */
typedef struct flat {
    const native_int8_isa *isa;
    native_ref from, to;
    const float *scales, *zeros; /* NULL = what `computed` holds, of uint8 */
    native_ref computed[2];
    int64_t n_scales, length, parts;
    bool to_float, is_signed, each;
} flat;

/* With the scale and the zero point that a run has computed, if it is so. */
typedef struct grid {
    float scale, zero;
} grid;

static flat flat_of(const flat *f, const native_bases *bases, grid *g)
{
    flat now = *f;

    if (f->scales)
        return now;
    g->scale = *native_at(bases, &f->computed[0]);
    g->zero = *(const uint8_t *)native_at(bases, &f->computed[1]);
    now.scales = &g->scale;
    now.zeros = &g->zero;
    return now;
}

static void run_span(const flat *f, const native_quantized_span *span, const char *from, char *to,
                     int64_t at)
{
    if (!f->to_float)
        f->isa->quantize(span, (const float *)(const void *)from + at, (uint8_t *)to + at);
    else if (f->is_signed)
        f->isa->dequantize_i8(span, (const int8_t *)from + at, (float *)(void *)to + at);
    else
        f->isa->dequantize_u8(span, (const uint8_t *)from + at, (float *)(void *)to + at);
}

static native_quantized_span span_of(const flat *f, int64_t i)
{
    return (native_quantized_span){.scale = f->scales + i,
                                   .zero = f->zeros + i,
                                   .low = f->is_signed ? INT8_MIN : 0,
                                   .high = f->is_signed ? INT8_MAX : UINT8_MAX};
}

/* Numbers count rows, in them parts. */
static void run_flat(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    grid g;
    const flat now = flat_of(params, bases, &g), *f = &now;
    const char *from = (const char *)native_at(bases, &f->from);
    char *to = (char *)native_at(bases, &f->to);

    for (; begin < end; begin++) {
        const int64_t row = begin / f->parts, part = begin % f->parts;
        const int64_t first = part * f->length / f->parts;
        native_quantized_span span = span_of(f, f->each ? first : row % f->n_scales);
        span.each = f->each;
        span.n = (part + 1) * f->length / f->parts - first;
        run_span(f, &span, from, to, row * f->length + first);
    }
}

/* ---- between blocked and channels last ---- */

typedef struct blocked {
    flat flat;
    int64_t lanes, channels, blocks, pixels, chunk; /* chunk: pixels that go together */
} blocked;

static blocked blocked_of(const blocked *b, const native_bases *bases, grid *g)
{
    blocked now = *b;

    now.flat = flat_of(&b->flat, bases, g);
    return now;
}

/* n pixels whose channels follow each other. */
static void run_pixels(const blocked *b, const char *from, char *to, int64_t n)
{
    native_quantized_span span = span_of(&b->flat, 0);
    int64_t i;

    span.each = b->flat.each;
    span.n = span.each ? b->channels : n * b->channels;
    for (i = 0; i < (span.each ? n : 1); i++)
        run_span(&b->flat, &span, from, to, i * b->channels);
}

/* Numbers count samples, in them chunks of pixels. */
static void run_blocked(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    grid g;
    const blocked now = blocked_of(params, bases, &g), *b = &now;
    const int64_t chunks = (b->pixels + b->chunk - 1) / b->chunk;
    const char *from = (const char *)native_at(bases, &b->flat.from);
    char *to = (char *)native_at(bases, &b->flat.to);
    float *rows = (float *)(void *)bases->scratch;

    for (; begin < end; begin++) {
        const int64_t sample = begin / chunks, first = begin % chunks * b->chunk;
        const int64_t n = b->pixels - first < b->chunk ? b->pixels - first : b->chunk;
        const int64_t last = (sample * b->pixels + first) * b->channels;
        const int64_t place = (sample * b->blocks * b->pixels + first) * b->lanes;
        if (b->flat.to_float) {
            run_pixels(b, from + last, (char *)rows, n);
            native_rows_to_blocks(rows, b->channels, n, (float *)(void *)to + place,
                                  b->pixels * b->lanes, b->lanes);
        } else {
            native_blocks_to_rows((const float *)(const void *)from + place, b->pixels * b->lanes,
                                  b->lanes, n, rows, b->channels);
            run_pixels(b, (const char *)rows, to + last, n);
        }
    }
}

/* Plain [channels, pixels] to rows of channels. Numbers as above. */
static void run_turned(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    grid g;
    const blocked now = blocked_of(params, bases, &g), *b = &now;
    const int64_t chunks = (b->pixels + b->chunk - 1) / b->chunk;
    const native_quantized_span form = span_of(&b->flat, 0);

    for (; begin < end; begin++) {
        const int64_t sample = begin / chunks, first = begin % chunks * b->chunk;
        const int64_t n = b->pixels - first < b->chunk ? b->pixels - first : b->chunk;
        const float *from = native_at(bases, &b->flat.from) + sample * b->channels * b->pixels;
        uint8_t *to =
            (uint8_t *)native_at(bases, &b->flat.to) + (sample * b->pixels + first) * b->channels;
        uint8_t *rows = (uint8_t *)bases->scratch;
        native_quantized_span span = form;
        int64_t c;
        span.n = n;
        for (c = 0; c < b->channels; c++)
            b->flat.isa->quantize(&span, from + c * b->pixels + first, rows + c * n);
        native_int8_turn(rows, n, b->channels, n, to, b->channels);
    }
}

/* ---- plan ---- */

static void set_scales(native_planner *p, flat *f, const native_quant *q)
{
    float *scales = native_keep(p, (size_t)q->n * sizeof *scales);
    float *zeros = native_keep(p, (size_t)q->n * sizeof *zeros);
    int64_t i;

    for (i = 0; scales && zeros && i < q->n; i++) {
        scales[i] = native_quant_scale(q, i);
        zeros[i] = (float)native_quant_zero(q, i);
    }
    f->scales = scales;
    f->zeros = zeros;
    f->n_scales = q->n;
}

/* turned: what is read is plain. */
static void plan_blocked(native_planner *p, const flat *f, const native_value *y, bool turned)
{
    blocked *b = native_keep(p, sizeof *b);

    if (!b)
        return;
    b->flat = *f;
    b->flat.each = f->n_scales > 1;
    b->lanes = p->isa->lanes;
    b->channels = y->dims[1];
    b->blocks = (b->channels + b->lanes - 1) / b->lanes;
    b->pixels = y->dims[2] * y->dims[3];
    b->chunk = (turned ? PART * 4 : PART) / b->channels + 1;
    native_need_scratch(p, (uint64_t)(b->chunk * b->channels) * sizeof(float));
    native_add_run(p, turned ? run_turned : run_blocked, b,
                   native_first_dim(p, y) * ((b->pixels + b->chunk - 1) / b->chunk),
                   (double)native_count(p, y) * 0.5);
}

void native_plan_quantize(native_planner *p, const native_item *item)
{
    const native_value *y = &p->ir->values[item->output];
    const native_quant *q = &item->quant;
    flat *f = native_keep(p, sizeof *f);
    int64_t inner = 1;
    int d;

    if (!f)
        return;
    f->isa = p->ir->device->int8;
    f->from = native_ref_of(p, item->inputs[0]);
    f->to = native_ref_of(p, item->output);
    f->to_float = item->kind == NATIVE_ITEM_DEQUANTIZE;
    f->is_signed = q->dtype == TFR_DTYPE_I8;
    if (item->kind == NATIVE_ITEM_DYNAMIC_QUANTIZE) {
        f->computed[0] = native_ref_of(p, item->more[0]);
        f->computed[1] = native_ref_of(p, item->more[1]);
        f->n_scales = 1;
    } else {
        set_scales(p, f, q);
    }
    if (y->blocked) {
        plan_blocked(p, f, y, !p->ir->values[item->inputs[0]].blocked);
        return;
    }
    for (d = q->n == 1 ? 0 : q->axis + 1; d < y->rank; d++)
        inner *= d == 0 ? native_first_dim(p, y) : y->dims[d];
    f->each = q->n > 1 && inner == 1;
    f->length = f->each ? q->n : inner;
    f->parts = f->length / PART + 1;
    native_add_run(p, run_flat, f, native_count(p, y) / f->length * f->parts,
                   (double)native_count(p, y) * 0.2);
}

/* ---- plain and channels last ---- */

typedef struct turn {
    native_ref from, to;
    int64_t rows, columns; /* of a sample: [rows, columns] becomes [columns, rows] */
} turn;

enum { TURNED = 64 /* rows of the result that are made together, about */ };

static int64_t turned_parts(const turn *t)
{
    return (t->columns + TURNED - 1) / TURNED;
}

/* Numbers count samples, in them parts of the rows of the result. */
static void run_turn(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const turn *t = params;
    const int64_t parts = turned_parts(t);

    for (; begin < end; begin++) {
        const int64_t sample = begin / parts * t->rows * t->columns, part = begin % parts;
        const int64_t first = part * t->columns / parts, last = (part + 1) * t->columns / parts;
        const uint8_t *from = (const uint8_t *)native_at(bases, &t->from) + sample;
        uint8_t *to = (uint8_t *)native_at(bases, &t->to) + sample;
        native_int8_turn(from + first, t->columns, t->rows, last - first, to + first * t->rows,
                         t->rows);
    }
}

void native_plan_reorder_bytes(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->output];
    const int64_t pixels = x->dims[2] * x->dims[3];
    turn *t = native_keep(p, sizeof *t);

    if (!t)
        return;
    t->from = native_ref_of(p, item->inputs[0]);
    t->to = native_ref_of(p, item->output);
    t->rows = y->blocked ? x->dims[1] : pixels;
    t->columns = y->blocked ? pixels : x->dims[1];
    native_add_run(p, run_turn, t, native_first_dim(p, x) * turned_parts(t),
                   (double)native_count(p, x) * 0.2);
}
