/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_integer_turned.c: transposed convolutions of 8 bits: a product makes of every pixel what
 * it adds to those around it, all taps of all outputs as int32; then each pixel of the result is
 * the sum of what reaches it, and quantized.
 */
#include "program_integer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "int8_product.h"

typedef struct turned {
    const tfr_plugin_device *device;
    native_int8_product product;
    native_int8_args args;
    native_int8_matrix weights;
    native_ref source, to;
    native_row_sum sum;
    int64_t in[2], out[2], kernel[2], stride[2], dilation[2], pad[2];
    /* Of column x of the result: offsets[starts[x]] to offsets[starts[x + 1]], which reach it. */
    int32_t *starts, *offsets;
    int64_t lanes; /* of a result of float32, which is blocked */
} turned;

enum { MOST_TAPS = 256, MOST_SUMS = 1 << 24 /* that a product makes */ };

bool native_can_turn(const native_ir *ir, const native_item *item)
{
    const native_value *x = &ir->values[item->inputs[0]], *w = &ir->values[item->inputs[1]];

    return (double)native_elements(x) / (double)x->dims[1] *
                   ((double)native_elements(w) / (double)w->dims[0]) <=
               MOST_SUMS &&
           item->groups <= 1 && !item->depth.kernel && item->codes < 0 && item->residual < 0 &&
           item->kernel[0] <= MOST_TAPS && item->kernel[1] <= MOST_TAPS &&
           item->kernel[0] * item->kernel[1] <= MOST_TAPS;
}

/* ---- running ---- */

static void run_product(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const turned *f = params;
    native_int8_args args = f->args;

    args.a = native_at(bases, &f->source);
    args.c = bases->shared;
    native_int8_run(&f->product, &args, bases->scratch, begin, end);
}

/* The element of an axis that reaches the place by a tap, or -1. */
static int64_t origin(const turned *f, int axis, int64_t place, int64_t tap)
{
    const int64_t at = place + f->pad[axis] - tap * f->dilation[axis];
    const int64_t x = at / f->stride[axis];

    return at >= 0 && at % f->stride[axis] == 0 && x < f->in[axis] ? x : -1;
}

/* Where what reaches a row of the result begins, but for its columns, in the sums of a sample. */
static int find_lines(const turned *f, const int32_t *sums, int64_t y, const int32_t **lines)
{
    const int64_t line = f->in[1] * f->kernel[0] * f->kernel[1] * f->sum.n;
    int64_t i;
    int n = 0;

    for (i = 0; i < f->kernel[0]; i++) {
        const int64_t row = origin(f, 0, y, i);
        if (row >= 0)
            lines[n++] = sums + row * line + i * f->kernel[1] * f->sum.n;
    }
    return n;
}

static int find_rows(const turned *f, const int32_t *const *lines, int n_lines, int64_t x,
                     const int32_t **rows)
{
    int n = 0, i;
    int32_t k;

    for (i = 0; i < n_lines; i++)
        for (k = f->starts[x]; k < f->starts[x + 1]; k++)
            rows[n++] = lines[i] + f->offsets[k];
    return n;
}

static void put_blocks(const turned *f, const float *pixel, float *to)
{
    const int64_t step = f->out[0] * f->out[1] * f->lanes;
    int64_t c;

    for (c = 0; c < f->sum.n; c += f->lanes, to += step) {
        const int64_t some = f->sum.n - c < f->lanes ? f->sum.n - c : f->lanes;
        memcpy(to, pixel + c, (size_t)some * sizeof *to);
        memset(to + some, 0, (size_t)(f->lanes - some) * sizeof *to);
    }
}

/* Numbers count samples, in them rows. */
static void run_sums(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const turned *f = params;
    const int64_t n = f->sum.n, pixels = f->out[0] * f->out[1];
    const int64_t sample = f->in[0] * f->in[1] * f->kernel[0] * f->kernel[1] * n;
    const int64_t whole = f->lanes ? (n + f->lanes - 1) / f->lanes * f->lanes : n;
    const int32_t *rows[MOST_TAPS], *lines[MOST_TAPS];

    for (; begin < end; begin++) {
        const int64_t image = begin / f->out[0], y = begin % f->out[0];
        const int32_t *sums = (const int32_t *)(const void *)bases->shared + image * sample;
        uint8_t *bytes = (uint8_t *)native_at(bases, &f->to) + begin * f->out[1] * n;
        float *pixel = (float *)(void *)bases->scratch;
        float *floats =
            native_at(bases, &f->to) + image * pixels * whole + y * f->out[1] * f->lanes;
        const int n_lines = find_lines(f, sums, y, lines);
        int64_t x;
        for (x = 0; x < f->out[1]; x++) {
            const int some = find_rows(f, lines, n_lines, x, rows);
            f->device->int8->add_rows(&f->sum, rows, some,
                                      f->sum.to_float ? (void *)pixel : (void *)(bytes + x * n));
            if (f->sum.to_float)
                put_blocks(f, pixel, floats + x * f->lanes);
        }
    }
}

/* ---- weights ---- */

static void pack_panels(void *user, int64_t begin, int64_t end)
{
    const turned *f = user;

    native_int8_pack(&f->product, &f->weights, (void *)(uintptr_t)f->args.packed, begin, end);
}

static void fill(float *to, const void *user)
{
    turned f = *(const turned *)user;

    f.args.packed = to;
    f.device->host->parallel_for(pack_panels, &f, f.product.n_panels, 1);
}

/* [inputs][outputs][taps] as [taps][outputs][inputs]. */
static uint8_t *turn_weights(const uint8_t *from, int64_t ins, int64_t outs, int64_t taps)
{
    uint8_t *to = malloc((size_t)(ins * outs * taps));
    int64_t i, o, t;

    for (i = 0; to && i < ins; i++)
        for (o = 0; o < outs; o++)
            for (t = 0; t < taps; t++)
                to[(t * outs + o) * ins + i] = from[(i * outs + o) * taps + t];
    return to;
}

static void plan_product(native_planner *p, turned *f, const native_item *item, int64_t ins)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *w = &p->ir->values[item->inputs[1]];
    const native_integer *in = &p->ir->integers[item->integer];
    const int64_t outs = f->sum.n, taps = native_taps(item);
    const int threads = p->lanes > 1 ? p->ir->device->threads : 1;
    const native_int8_shape shape = {.m = native_first_dim(p, x) * f->in[0] * f->in[1],
                                     .n = outs * taps,
                                     .k = ins,
                                     .a_signed = x->dtype == TFR_DTYPE_I8,
                                     .b_signed = w->dtype == TFR_DTYPE_I8,
                                     .lda = ins,
                                     .ldc = outs * taps};
    uint8_t *weights = turn_weights(w->known, ins, outs, taps);

    if (!weights) {
        p->status = tfr_fail(p->err, TFR_ENOMEM, "no memory for weights of a ConvTranspose");
        return;
    }
    f->weights = (native_int8_matrix){weights, ins, ins, 1, 0};
    native_int8_plan(&f->product, &p->ir->device->int8_cpu, &shape, &f->weights, threads);
    const native_constant_key key = {
        {w->known, in->w.zero, f->product.way},
        {-7, outs, ins, taps, shape.b_signed, shape.a_signed, f->product.panel_bytes}};
    f->args.packed = native_pack(p, &key, f->product.packed_bytes, fill, f);
    f->weights.at = NULL;
    free(weights);
    native_need_scratch(p, f->product.scratch_bytes);
    native_need_shared(p, (uint64_t)(shape.m * shape.n) * sizeof(int32_t));
}

/* ---- plan ---- */

static void find_columns(native_planner *p, turned *f)
{
    const int64_t taps = f->kernel[0] * f->kernel[1];
    int64_t x, j;
    int32_t n = 0;

    f->starts = native_keep(p, (size_t)(f->out[1] + 1) * sizeof *f->starts);
    f->offsets = native_keep(p, (size_t)(f->in[1] * f->kernel[1]) * sizeof *f->offsets);
    for (x = 0; f->starts && f->offsets && x < f->out[1]; x++) {
        for (j = 0; j < f->kernel[1]; j++) {
            const int64_t column = origin(f, 1, x, j);
            if (column >= 0)
                f->offsets[n++] = (int32_t)((column * taps + j) * f->sum.n);
        }
        f->starts[x + 1] = n;
    }
}

static void set_zeros(native_planner *p, turned *f, const native_integer *in, int64_t taps)
{
    const int64_t outs = f->sum.n;
    int32_t *zeros;
    int64_t i;

    f->args.a_zero = native_quant_zero(&in->x, 0);
    f->args.b_zero = native_quant_zero(&in->w, 0);
    if (in->w.n == 1 || !in->w.zero)
        return;
    zeros = native_keep(p, (size_t)(outs * taps) * sizeof *zeros);
    for (i = 0; zeros && i < outs * taps; i++)
        zeros[i] = native_quant_zero(&in->w, i % outs);
    f->args.b_zeros = zeros;
}

/* In units of both scales for bytes, else as it is. */
static void set_sum(native_planner *p, turned *f, const native_item *item)
{
    const native_integer *in = &p->ir->integers[item->integer];
    const float *known =
        item->n_inputs < 3 || item->inputs[2] < 0 ? NULL : p->ir->values[item->inputs[2]].known;
    const size_t n = (size_t)f->sum.n;
    float *scales = native_keep(p, n * sizeof *scales);
    float *addends = native_keep(p, n * sizeof *addends);
    int32_t *bias = native_keep(p, n * sizeof *bias);
    size_t i;

    for (i = 0; scales && addends && bias && i < n; i++) {
        const double unit =
            (double)native_quant_scale(&in->x, 0) * native_quant_scale(&in->w, (int64_t)i);
        const double to = f->sum.to_float ? 1.0 : native_quant_scale(&in->y, 0);
        addends[i] = known ? item->beta * known[i] : 0.0f;
        bias[i] = f->sum.to_float ? 0 : (int32_t)rint((double)addends[i] / unit);
        scales[i] = (float)(unit / to);
    }
    f->sum.scale = scales;
    f->sum.addend = addends;
    f->sum.bias = bias;
}

static void set_limits(turned *f, const native_item *item, const native_integer *in)
{
    const bool clips = item->act.kind == NATIVE_ACT_CLIP;
    int32_t low, high;

    if (f->sum.to_float) {
        f->sum.low = clips ? item->act.a : -INFINITY;
        f->sum.high = clips ? item->act.b : INFINITY;
        return;
    }
    native_set_limits(&in->y, &item->act, &low, &high);
    f->sum.zero = native_quant_zero(&in->y, 0);
    f->sum.low = (float)(low - f->sum.zero);
    f->sum.high = (float)(high - f->sum.zero);
}

void native_plan_integer_turned(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->output];
    const native_integer *in = &p->ir->integers[item->integer];
    turned *f = native_keep(p, sizeof *f);
    double flops;
    int i;

    if (!f)
        return;
    f->device = p->ir->device;
    f->source = native_ref_of(p, item->inputs[0]);
    f->to = native_ref_of(p, item->output);
    for (i = 0; i < 2; i++) {
        f->in[i] = x->dims[2 + i];
        f->out[i] = y->dims[2 + i];
    }
    memcpy(f->kernel, item->kernel, sizeof f->kernel);
    memcpy(f->stride, item->stride, sizeof f->stride);
    memcpy(f->dilation, item->dilation, sizeof f->dilation);
    memcpy(f->pad, item->pad, sizeof f->pad);
    f->sum.n = y->dims[1];
    f->sum.to_float = !in->y.scale;
    f->lanes = f->sum.to_float ? p->isa->lanes : 0;
    find_columns(p, f);
    set_zeros(p, f, in, native_taps(item));
    set_sum(p, f, item);
    set_limits(f, item, in);
    plan_product(p, f, item, x->dims[1]);
    if (f->sum.to_float)
        native_need_scratch(p, (uint64_t)f->sum.n * sizeof(float));
    flops =
        2.0 * (double)f->product.shape.m * (double)f->product.shape.n * (double)f->product.shape.k;
    native_add_run(p, run_product, f, f->product.n_units, flops / 100.0)->flops = flops;
    native_add_run(p, run_sums, f, native_first_dim(p, y) * f->out[0],
                   (double)(f->product.shape.m * f->product.shape.n) * 0.3);
}
