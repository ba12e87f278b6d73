/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantize.c: QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear between float32 and 8
 * bits, and from int32 and 4 bits: what plugins/naive/quantize.c says of them, bit for bit, on all
 * threads.
 *
 * The tensor is rows of elements beside each other that have one scale and zero point, or each its
 * own: those follow each other then, too.
 */
#include "quantize.h"

#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "int8.h"
#include "ml.h"

enum {
    PIECE = 4096,    /* elements of a row that a thread takes at a time */
    ALONE = 1 << 15, /* with fewer a thread does it all */
    ZEROS = 256      /* that are made float at a time */
};

/* ---- where scales are ---- */

typedef struct grid {
    int64_t outer, blocks, axis, inner; /* x is [outer, axis, inner] */
    int64_t block;                      /* indices of the axis that have one scale */
    int64_t rows, length;               /* elements of the longest row */
    bool single, each;
} grid;

typedef struct row {
    int64_t x, parameter, n; /* elements, of the first ones */
} row;

static grid find_grid(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *scale = tfr_call_input(call, 1);
    int64_t axis = tfr_call_int(call, "axis", 1), block = tfr_call_int(call, "block_size", 0);
    grid g = {.outer = 1, .inner = 1};
    int32_t d;

    axis = axis < 0 ? axis + x->rank : axis;
    axis = axis < 0 || axis >= x->rank ? 0 : axis;
    g.single = tfr_operand_elements(scale) == 1;
    if (g.single) {
        g.rows = 1;
        g.length = tfr_operand_elements(x);
        return g;
    }
    for (d = 0; d < axis; d++)
        g.outer *= x->dims[d];
    g.axis = x->dims[axis];
    for (d = (int32_t)axis + 1; d < x->rank; d++)
        g.inner *= x->dims[d];
    if (scale->rank == 1 && block == 0) {
        g.each = g.inner == 1;
        g.rows = g.each ? g.outer : g.outer * g.axis;
        g.length = g.each ? g.axis : g.inner;
        return g;
    }
    g.blocks = scale->dims[axis];
    g.block = block > 0 ? block : (g.axis + g.blocks - 1) / g.blocks;
    g.each = g.inner > 1;
    g.rows = g.each ? g.outer * g.axis : g.outer * g.blocks;
    g.length = g.each ? g.inner : g.block;
    return g;
}

static row find_row(const grid *g, int64_t i)
{
    int64_t o, a;

    if (g->single)
        return (row){0, 0, g->length};
    if (!g->blocks)
        return (row){i * g->length, g->each ? 0 : i % g->axis, g->length};
    if (g->each) {
        o = i / g->axis;
        a = i % g->axis;
        return (row){i * g->inner, (o * g->blocks + a / g->block) * g->inner, g->inner};
    }
    o = i / g->blocks;
    a = i % g->blocks * g->block;
    return (row){o * g->axis + a, i, a + g->block < g->axis ? g->block : g->axis - a};
}

/* ---- QuantizeLinear and DequantizeLinear ---- */

typedef struct state {
    grid grid;
    int64_t pieces; /* of each row */
    bool to_float;
    int32_t dtype, zero_dtype; /* of the integers; of zero points, NONE = there are none */
    const void *known[3];
} state;

typedef struct work {
    const state *state;
    const native_int8_isa *isa;
    const char *x;
    const float *scale;
    const void *zero;
    char *to;
} work;

/* Integer i of 4 bits, the low half of a byte first. */
static int nibble(const void *from, int64_t i, bool is_signed)
{
    const int code = ((const uint8_t *)from)[i / 2] >> (i % 2 * 4) & 15;

    return is_signed ? (code ^ 8) - 8 : code;
}

static bool is_nibble(int32_t dtype)
{
    return dtype == TFR_DTYPE_U4 || dtype == TFR_DTYPE_I4;
}

static float zero_at(const work *w, int64_t i)
{
    switch (w->state->zero_dtype) {
    case TFR_DTYPE_U4:
    case TFR_DTYPE_I4:
        return (float)nibble(w->zero, i, w->state->zero_dtype == TFR_DTYPE_I4);
    case TFR_DTYPE_U8:
        return ((const uint8_t *)w->zero)[i];
    case TFR_DTYPE_I8:
        return ((const int8_t *)w->zero)[i];
    default:
        return 0;
    }
}

/* Up to PIECE integers of 4 bits as bytes, then as those. */
static void do_nibbles(const work *w, const native_quantized_span *span, int64_t at)
{
    int8_t bytes[PIECE];
    int64_t i;

    for (i = 0; i < span->n; i++)
        bytes[i] = (int8_t)nibble(w->x, at + i, w->state->dtype == TFR_DTYPE_I4);
    w->isa->dequantize_i8(span, bytes, (float *)w->to + at);
}

static void do_span(const work *w, native_quantized_span *span, int64_t at)
{
    const bool is_signed = w->state->dtype == TFR_DTYPE_I8;

    span->low = is_signed ? INT8_MIN : 0;
    span->high = is_signed ? INT8_MAX : UINT8_MAX;
    if (is_nibble(w->state->dtype))
        do_nibbles(w, span, at);
    else if (!w->state->to_float)
        w->isa->quantize(span, (const float *)w->x + at, (uint8_t *)w->to + at);
    else if (is_signed)
        w->isa->dequantize_i8(span, (const int8_t *)w->x + at, (float *)w->to + at);
    else
        w->isa->dequantize_u8(span, (const uint8_t *)w->x + at, (float *)w->to + at);
}

/* The product of a double rounds as the reference does: int32 has more bits than float32. */
static void from_int32(const work *w, const row *r)
{
    const int32_t *x = (const int32_t *)w->x + r->x;
    const int32_t *zero = w->state->zero_dtype == TFR_DTYPE_I32 ? w->zero : NULL;
    const int step = w->state->grid.each;
    float *to = (float *)w->to + r->x;
    int64_t i;

    for (i = 0; i < r->n; i++) {
        const int64_t p = r->parameter + i * step;
        to[i] = (float)(((double)x[i] - (zero ? zero[p] : 0)) * (double)w->scale[p]);
    }
}

static void do_row(const work *w, const row *r)
{
    float zeros[ZEROS];
    native_quantized_span span = {.scale = w->scale + r->parameter, .zero = zeros, .n = r->n};
    int64_t i, k;

    if (w->state->dtype == TFR_DTYPE_I32) {
        from_int32(w, r);
        return;
    }
    if (!w->state->grid.each) {
        zeros[0] = zero_at(w, r->parameter);
        do_span(w, &span, r->x);
        return;
    }
    span.each = true;
    for (i = 0; i < r->n; i += span.n, span.scale += span.n) {
        span.n = r->n - i < ZEROS ? r->n - i : ZEROS;
        for (k = 0; k < span.n; k++)
            zeros[k] = zero_at(w, r->parameter + i + k);
        do_span(w, &span, r->x + i);
    }
}

static void do_pieces(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const state *s = w->state;

    for (; begin < end; begin++) {
        row r = find_row(&s->grid, begin / s->pieces);
        const int64_t from = begin % s->pieces * PIECE;
        if (from >= r.n)
            continue;
        r.x += from;
        r.parameter += s->grid.each ? from : 0;
        r.n = r.n - from < PIECE ? r.n - from : PIECE;
        do_row(w, &r);
    }
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    const int output = (int)launch->n_args - 1;
    work w = {.state = s,
              .isa = device->int8,
              .x = native_argument(launch, 0, s->known[0]),
              .scale = native_argument(launch, 1, s->known[1]),
              .to = launch->args[output].address};
    const int64_t n = s->grid.rows * s->pieces;
    const int64_t length = s->grid.length < PIECE ? s->grid.length : PIECE;

    (void)err;
    if (s->zero_dtype != TFR_DTYPE_NONE)
        w.zero = native_argument(launch, 2, s->known[2]);
    if (s->grid.rows * s->grid.length <= ALONE)
        do_pieces(&w, 0, n);
    else
        device->host->parallel_for(do_pieces, &w, n, ALONE / 2 / length + 1);
    return TFR_OK;
}

void native_quantize_supports(const tfr_plugin_device *device, const tfr_call *call,
                              tfr_answer *answer)
{
    const bool to_float = strcmp(call->name, "DequantizeLinear") == 0;
    const tfr_operand *x = tfr_call_input(call, 0), *scale = tfr_call_input(call, 1);
    const tfr_operand *zero = tfr_call_input(call, 2), *y = tfr_call_output(call, 0);
    const tfr_operand *f = to_float ? y : x, *q = to_float ? x : y;
    const int64_t precision = tfr_call_int(call, "precision", 0);

    (void)device;
    if (f->dtype != TFR_DTYPE_F32 || scale->dtype != TFR_DTYPE_F32 ||
        (precision != 0 && precision != TFR_DTYPE_F32))
        tfr_decline(answer, TFR_REASON_DTYPE, "only float32 on one side is done here");
    else if (q->dtype != TFR_DTYPE_U8 && q->dtype != TFR_DTYPE_I8 &&
             (!to_float || (q->dtype != TFR_DTYPE_I32 && !is_nibble(q->dtype))))
        tfr_decline(answer, TFR_REASON_DTYPE,
                    "integers of 8 bits, and from int32 and 4 bits, are done here");
    else if (zero && zero->dtype != q->dtype)
        tfr_decline(answer, TFR_REASON_DTYPE, "zero points of another type are not done here");
    else if (tfr_operand_elements(scale) == 0 ||
             (zero && tfr_operand_elements(zero) != tfr_operand_elements(scale)))
        tfr_decline(answer, TFR_REASON_RANK, "a zero point for each scale is done here");
}

void native_quantize_prepare(native_build *b, const tfr_call *call)
{
    const bool to_float = strcmp(call->name, "DequantizeLinear") == 0;
    state *s = native_set_function(b, run, NULL, sizeof *s, to_float ? "dequantize" : "quantize");
    const tfr_operand *zero = tfr_call_input(call, 2);
    uint32_t i;

    if (!s)
        return;
    s->grid = find_grid(call);
    s->pieces = (s->grid.length + PIECE - 1) / PIECE;
    s->to_float = to_float;
    s->dtype = (to_float ? tfr_call_input(call, 0) : tfr_call_output(call, 0))->dtype;
    s->zero_dtype = zero ? zero->dtype : TFR_DTYPE_NONE;
    for (i = 0; i < 3; i++)
        s->known[i] = tfr_call_input(call, i) ? tfr_call_input(call, i)->data : NULL;
}

/* ---- DynamicQuantizeLinear ---- */

typedef struct dynamic_state {
    int64_t n, pieces;
    const void *known;
} dynamic_state;

typedef struct dynamic_work {
    const dynamic_state *state;
    const native_int8_isa *isa;
    const float *x;
    uint8_t *to;
    float scale, zero;
    /* Bits of a float that is not negative order as integers do. */
    atomic_uint_fast32_t below, above;
} dynamic_work;

static void raise(atomic_uint_fast32_t *to, float x)
{
    uint_fast32_t old = atomic_load(to);
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    while (bits > old && !atomic_compare_exchange_weak(to, &old, bits))
        ;
}

static float float_of(uint_fast32_t bits)
{
    const uint32_t b = (uint32_t)bits;
    float x;

    memcpy(&x, &b, sizeof x);
    return x;
}

static int64_t piece_of(const dynamic_work *w, int64_t i)
{
    return w->state->n - i * PIECE < PIECE ? w->state->n - i * PIECE : PIECE;
}

static void find_range(void *user, int64_t begin, int64_t end)
{
    dynamic_work *w = user;
    float low, high;

    for (; begin < end; begin++) {
        w->isa->range(w->x + begin * PIECE, piece_of(w, begin), &low, &high);
        raise(&w->below, low < 0 ? -low : 0);
        raise(&w->above, high);
    }
}

static void quantize_pieces(void *user, int64_t begin, int64_t end)
{
    const dynamic_work *w = user;
    native_quantized_span span = {
        .scale = &w->scale, .zero = &w->zero, .low = 0, .high = UINT8_MAX};

    for (; begin < end; begin++) {
        span.n = piece_of(w, begin);
        w->isa->quantize(&span, w->x + begin * PIECE, w->to + begin * PIECE);
    }
}

static int32_t run_dynamic(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                           tfr_err *err)
{
    const dynamic_state *s = user;
    dynamic_work w = {.state = s,
                      .isa = device->int8,
                      .x = native_argument(launch, 0, s->known),
                      .to = launch->args[1].address};
    float low, high;

    (void)err;
    atomic_init(&w.below, 0);
    atomic_init(&w.above, 0);
    if (s->n <= ALONE)
        find_range(&w, 0, s->pieces);
    else
        device->host->parallel_for(find_range, &w, s->pieces, ALONE / 2 / PIECE);
    low = -float_of(w.below);
    high = float_of(w.above);
    w.scale = (high == low ? 1 : high - low) / 255;
    w.zero = rintf(fminf(255, fmaxf(0, -low / w.scale)));
    if (s->n <= ALONE)
        quantize_pieces(&w, 0, s->pieces);
    else
        device->host->parallel_for(quantize_pieces, &w, s->pieces, ALONE / 2 / PIECE);
    *(float *)launch->args[2].address = w.scale;
    *(uint8_t *)launch->args[3].address = (uint8_t)w.zero;
    return TFR_OK;
}

void native_dynamic_quantize_supports(const tfr_plugin_device *device, const tfr_call *call,
                                      tfr_answer *answer)
{
    uint32_t i;

    (void)device;
    for (i = 0; i < 3; i++)
        if (i >= call->n_outputs || !tfr_call_output(call, i))
            tfr_decline(answer, TFR_REASON_LAYOUT, "only all three outputs are done here");
}

void native_dynamic_quantize_prepare(native_build *b, const tfr_call *call)
{
    dynamic_state *s = native_set_function(b, run_dynamic, NULL, sizeof *s, "quantize dynamic");

    if (!s)
        return;
    s->n = tfr_operand_elements(tfr_call_input(call, 0));
    s->pieces = (s->n + PIECE - 1) / PIECE;
    s->known = tfr_call_input(call, 0)->data;
}
