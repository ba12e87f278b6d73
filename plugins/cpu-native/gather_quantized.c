/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather_quantized.c: GatherBlockQuantized of com.microsoft: rows of a table of integers of 4 or 8
 * bits as float32, along the first axis, with blocks along the last. A row is read once and
 * multiplied on its way; the table stays as it is.
 *
 *   Y[i..., r..., j] = (data[indices[i...], r..., j] - zero[.., j / block]) scale[.., j / block]
 *
 * As in ONNX Runtime, an index that is out of range gives zeros.
 */
#include "gather_quantized.h"

#include <string.h>

#include "int8.h"
#include "ml.h"

enum { DATA, INDICES, SCALES, ZEROS, INPUTS, BLOCK = 256, ALONE = 1 << 14 };

typedef struct state {
    int64_t n, table;      /* indices, rows of the table */
    int64_t inner, length; /* rows of `length` elements for each of those */
    int64_t block, blocks; /* of the last axis */
    int64_t zero_step;     /* elements of zeros for a row */
    int bits;
    bool is_signed, wide;
    float zero; /* of all, without zeros */
    const void *known[INPUTS];
    bool has_zeros;
} state;

typedef struct work {
    const state *state;
    const native_int8_isa *isa;
    const void *data, *indices, *zeros;
    const float *scales;
    float *to;
} work;

static int code_at(const state *s, const void *codes, int64_t i)
{
    const uint8_t *bytes = codes;
    int code;

    if (s->bits == 8)
        return bytes[i];
    code = bytes[i / 2] >> (i % 2 * 4) & 15;
    return s->is_signed ? (code ^ 8) - 8 : code;
}

/* n elements of a block, up to BLOCK. */
static void dequantize(const work *w, const native_quantized_span *span, int64_t at, float *to)
{
    int8_t bytes[BLOCK];
    int64_t i;

    if (w->state->bits == 8) {
        w->isa->dequantize_u8(span, (const uint8_t *)w->data + at, to);
        return;
    }
    for (i = 0; i < span->n; i++)
        bytes[i] = (int8_t)code_at(w->state, w->data, at + i);
    w->isa->dequantize_i8(span, bytes, to);
}

/* Row `row` of all of the table's. */
static void do_row(const work *w, int64_t row, float *to)
{
    const state *s = w->state;
    int64_t i, n;

    for (i = 0; i < s->length; i += n) {
        const int64_t block = i / s->block, end = (block + 1) * s->block;
        const float zero =
            s->has_zeros ? (float)code_at(s, w->zeros, row * s->zero_step + block) : s->zero;
        native_quantized_span span = {.scale = w->scales + row * s->blocks + block, .zero = &zero};
        n = (end < s->length ? end : s->length) - i;
        n = span.n = n < BLOCK ? n : BLOCK;
        dequantize(w, &span, row * s->length + i, to + i);
    }
}

/* Numbers count rows of the output. */
static void do_rows(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const state *s = w->state;

    for (; begin < end; begin++) {
        const int64_t i = begin / s->inner;
        int64_t index =
            s->wide ? ((const int64_t *)w->indices)[i] : ((const int32_t *)w->indices)[i];
        float *to = w->to + begin * s->length;
        index += index < 0 ? s->table : 0;
        if (index < 0 || index >= s->table)
            memset(to, 0, (size_t)s->length * sizeof *to);
        else
            do_row(w, index * s->inner + begin % s->inner, to);
    }
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    work w = {.state = s,
              .isa = device->int8,
              .data = native_argument(launch, DATA, s->known[DATA]),
              .indices = native_argument(launch, INDICES, s->known[INDICES]),
              .scales = native_argument(launch, SCALES, s->known[SCALES]),
              .to = launch->args[launch->n_args - 1].address};
    const int64_t rows = s->n * s->inner;

    (void)err;
    if (s->has_zeros)
        w.zeros = native_argument(launch, ZEROS, s->known[ZEROS]);
    if (rows * s->length <= ALONE)
        do_rows(&w, 0, rows);
    else
        device->host->parallel_for(do_rows, &w, rows, ALONE / s->length + 1);
    return TFR_OK;
}

static bool is_axis(const tfr_call *call, const char *name, int64_t otherwise, int32_t axis)
{
    const int32_t rank = tfr_call_input(call, DATA)->rank;
    const int64_t given = tfr_call_int(call, name, otherwise);
    return (given < 0 ? given + rank : given) == axis;
}

void native_gather_quantized_supports(const tfr_plugin_device *device, const tfr_call *call,
                                      tfr_answer *answer)
{
    const tfr_operand *data = tfr_call_input(call, DATA);

    (void)device;
    if (tfr_call_input(call, SCALES)->dtype != TFR_DTYPE_F32)
        tfr_decline(answer, TFR_REASON_DTYPE, "only scales of float32 are done here");
    else if (data->dtype == TFR_DTYPE_U8 && tfr_call_int(call, "bits", 4) < 4)
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "integers of 4 and 8 bits are done here");
    else if (data->rank < 2 || !is_axis(call, "gather_axis", 0, 0) ||
             !is_axis(call, "quantize_axis", 1, data->rank - 1))
        tfr_decline(answer, TFR_REASON_ATTRIBUTE,
                    "rows along the first axis with blocks along the last are done here");
}

void native_gather_quantized_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *data = tfr_call_input(call, DATA), *zeros = tfr_call_input(call, ZEROS);
    const bool bytes = data->dtype == TFR_DTYPE_U8;
    state *s = native_set_function(b, run, NULL, sizeof *s, "gather quantized");
    uint32_t i;

    if (!s)
        return;
    s->bits = bytes ? (int)tfr_call_int(call, "bits", 4) : 4;
    s->is_signed = data->dtype == TFR_DTYPE_I4;
    s->zero = bytes ? (float)(1 << (s->bits - 1)) : 0.0f;
    s->n = tfr_operand_elements(tfr_call_input(call, INDICES));
    s->wide = tfr_call_input(call, INDICES)->dtype == TFR_DTYPE_I64;
    s->table = data->dims[0];
    s->inner = tfr_operand_span(data, 1, data->rank - 1);
    s->length = data->dims[data->rank - 1] * (bytes ? 8 / s->bits : 1);
    s->block = tfr_call_int(call, "block_size", 128);
    s->blocks = (s->length + s->block - 1) / s->block;
    s->has_zeros = zeros;
    s->zero_step = s->blocks;
    if (bytes && s->bits == 4) /* rows are whole bytes */
        s->zero_step += s->blocks % 2;
    for (i = 0; i < INPUTS; i++)
        s->known[i] = tfr_call_input(call, i) ? tfr_call_input(call, i)->data : NULL;
}
