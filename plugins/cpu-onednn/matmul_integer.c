/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matmul_integer.c: MatMulInteger and QLinearMatMul, products of int8 and uint8.
 *
 * oneDNN wants the right side b as int8. A constant b is packed less its zero points, if that fits;
 * else a uint8 b becomes b - 128, and so does its zero point. Sums pass through float32, so
 * MatMulInteger is done only where they stay below 2^24. Rounding is after
 * the addition of the output's zero point in oneDNN, before it in ONNX: where that zero point is
 * odd, ties differ by one.
 */
#include <stdlib.h>

#include "families.h"
#include "matmul.h"
#include "quantized.h"

/* Where the inputs are. */
typedef struct places {
    uint32_t a, a_zero, b, b_zero;
    bool quantized;
} places;

enum { A_SCALE = 1, B_SCALE = 4, Y_SCALE = 6, Y_ZERO = 7 }; /* of QLinearMatMul */

static places find_places(const tfr_call *call)
{
    const places integer = {0, 2, 1, 3, false}, quantized = {0, 2, 3, 5, true};
    return call->name[0] == 'Q' ? quantized : integer;
}

static int64_t columns(const tfr_operand *b)
{
    return b->rank > 1 ? b->dims[b->rank - 1] : 1;
}

static bool zero_of_columns(const tfr_call *call, const places *at)
{
    const tfr_operand *zero = tfr_call_input(call, at->b_zero);
    return zero && tfr_operand_elements(zero) > 1;
}

static bool want_scales(const tfr_call *call, tfr_answer *answer, int64_t n)
{
    const tfr_operand *y = tfr_call_output(call, 0);

    if (y->dtype != TFR_DTYPE_I8 && y->dtype != TFR_DTYPE_U8) {
        tfr_decline(answer, TFR_REASON_DTYPE,
                    "output 0 is of type %d, only int8 and uint8 are done", (int)y->dtype);
        return false;
    }
    return onednn_want_constant(call, answer, A_SCALE, 1, true) &&
           onednn_want_constant(call, answer, B_SCALE, n, true) &&
           onednn_want_constant(call, answer, Y_SCALE, 1, true) &&
           onednn_want_one(call, answer, Y_ZERO);
}

/* Whether b less its zero points is a constant of int8. */
static bool is_folded(const tfr_call *call, const places *at)
{
    const tfr_operand *b = tfr_call_input(call, at->b);
    tfr_answer unused = {0};

    return b->data && onednn_want_weights(call, &unused, at->b, at->b_zero, columns(b), 1);
}

/* The most that a sum can be. */
static int64_t reach(const tfr_call *call, const places *at, int64_t k)
{
    const tfr_operand *b = tfr_call_input(call, at->b), *zero = tfr_call_input(call, at->b_zero);
    int64_t n = columns(b), most = 0, column;
    int64_t rows = tfr_operand_elements(b) / n, row;

    if (!is_folded(call, at) || rows != k)
        return k * 255 * 255;
    for (column = 0; column < n; column++) {
        int32_t z = onednn_known_int(zero, zero_of_columns(call, at) ? column : 0);
        int64_t sum = 0;
        for (row = 0; row < k; row++) {
            int32_t value = onednn_known_int(b, row * n + column) - z;
            sum += value < 0 ? -value : value;
        }
        most = sum > most ? sum : most;
    }
    return most * 255;
}

/* Sums must fit the library's 32 bits, and those of MatMulInteger a float32. */
static bool want_exact(const tfr_call *call, tfr_answer *answer, const places *at, int64_t k)
{
    const int64_t limit = at->quantized ? INT32_MAX / 4 : 1 << 24, most = reach(call, at, k);

    if (most <= limit)
        return true;
    tfr_decline(answer, TFR_REASON_SIZE_LIMIT,
                "sums of %lld products may reach %lld, they are exact up to %lld here",
                (long long)k, (long long)most, (long long)limit);
    return false;
}

void onednn_matmul_integer_supports(const tfr_plugin_device *device, const tfr_call *call,
                                    tfr_answer *answer)
{
    const places at = find_places(call);
    const tfr_operand *a = tfr_call_input(call, at.a), *b = tfr_call_input(call, at.b);
    const tfr_operand *zero = tfr_call_input(call, at.b_zero);
    onednn_product_dims p;

    if (!onednn_want_int8(device, call, answer, at.a) ||
        !onednn_want_int8(device, call, answer, at.b) ||
        !onednn_want_rank(call, answer, at.a, 1, DNNL_MAX_NDIMS) ||
        !onednn_want_rank(call, answer, at.b, 1, DNNL_MAX_NDIMS) ||
        !onednn_want_one(call, answer, at.a_zero))
        return;
    onednn_read_product(a, b, &p);
    if (p.rank > 5) {
        tfr_decline(answer, TFR_REASON_RANK, "%d batch dims do not merge, 3 are done here",
                    p.rank - 2);
        return;
    }
    if (zero_of_columns(call, &at)) {
        if (!onednn_want_weights(call, answer, at.b, at.b_zero, columns(b), 1))
            return;
    } else if (b->dtype == TFR_DTYPE_U8 && zero && !zero->data) {
        tfr_decline(answer, TFR_REASON_ATTRIBUTE,
                    "input %u is uint8 and its zero point %u is not a constant", at.b, at.b_zero);
        return;
    }
    if (want_exact(call, answer, &at, p.a[p.rank - 1]) && at.quantized)
        want_scales(call, answer, columns(b));
}

/* b as int8: itself, or packed, or shifted by 128 at every launch. */
static int add_right(onednn_build *b, const places *at, const onednn_product_dims *p)
{
    const tfr_operand *right = tfr_call_input(b->call, at->b);
    const tfr_operand *zero = tfr_call_input(b->call, at->b_zero);
    onednn_cmd md = onednn_plain(b, dnnl_s8, p->rank, p->b);
    onednn_make make;
    onednn_quant q;
    void *data;
    int8_t *bytes;
    int64_t i, n = tfr_operand_elements(right);
    int to, from;

    if (is_folded(b->call, at)) {
        to = onednn_constant(b, md, &data);
        if (data)
            onednn_weights_data(data, right, zero, columns(right), 1);
        return to;
    }
    if (right->dtype == TFR_DTYPE_I8)
        return onednn_input(b, at->b, md);
    if (right->data) {
        to = onednn_constant(b, md, &data);
        bytes = data;
        for (i = 0; data && i < n; i++)
            bytes[i] = (int8_t)(((const uint8_t *)right->data)[i] - 128);
        return to;
    }
    to = onednn_temporary(b, md);
    from = onednn_input(b, at->b, onednn_plain(b, dnnl_u8, p->rank, p->b));
    onednn_quant_begin(b, &q);
    onednn_quant_use(&q, DNNL_ARG_FROM, from);
    onednn_quant_use(&q, DNNL_ARG_TO, to);
    onednn_quant_number(b, &q, DNNL_ARG_TO, -128);
    make = onednn_maker(b);
    make.attr = q.attr;
    if (b->status == TFR_OK)
        onednn_add(b, onednn_reorder(&make, onednn_md_of(b, from), md), &make, "reorder", q.uses,
                   q.n_uses);
    onednn_quant_end(&q);
    return to;
}

static void add_scales(onednn_build *b, onednn_quant *q, int rank)
{
    const tfr_operand *scale = tfr_call_input(b->call, B_SCALE);
    int64_t n = tfr_operand_elements(scale), i;
    double factor = (double)onednn_known(tfr_call_input(b->call, A_SCALE), 0) /
                    (double)onednn_known(tfr_call_input(b->call, Y_SCALE), 0);
    float *scales = malloc((size_t)n * sizeof *scales);

    if (!scales) {
        onednn_build_fail(b, TFR_ENOMEM, "no memory for its scales");
        return;
    }
    for (i = 0; i < n; i++)
        scales[i] = (float)((double)onednn_known(scale, i) * factor);
    onednn_quant_scales(b, q, n, 1 << (rank - 1), 1 << (rank - 1), scales);
    free(scales);
    onednn_quant_zero(b, q, DNNL_ARG_DST, Y_ZERO, 0);
}

void onednn_matmul_integer_prepare(onednn_build *b, const tfr_call *call)
{
    const places at = find_places(call);
    const tfr_operand *left = tfr_call_input(call, at.a), *right = tfr_call_input(call, at.b);
    onednn_product_dims p;
    onednn_make make;
    onednn_quant q;
    onednn_cmd any;
    dnnl_status_t status;
    int x, w, y;

    onednn_read_product(left, right, &p);
    x = onednn_input(b, at.a, onednn_plain(b, onednn_type(left->dtype), p.rank, p.a));
    w = add_right(b, &at, &p);
    y = onednn_output(b, 0,
                      onednn_plain(b, onednn_type(tfr_call_output(call, 0)->dtype), p.rank, p.c));
    onednn_quant_begin(b, &q);
    onednn_quant_use(&q, DNNL_ARG_SRC, x);
    onednn_quant_use(&q, DNNL_ARG_WEIGHTS, w);
    onednn_quant_use(&q, DNNL_ARG_DST, y);
    onednn_quant_zero(b, &q, DNNL_ARG_SRC, at.a_zero, 0);
    if (!is_folded(call, &at))
        onednn_quant_zero(b, &q, DNNL_ARG_WEIGHTS, at.b_zero,
                          right->dtype == TFR_DTYPE_U8 ? 128 : 0);
    if (at.quantized)
        add_scales(b, &q, p.rank);
    any = b->status == TFR_OK && b->tensors[w].known ? onednn_any_like(b, w) : onednn_md_of(b, w);
    make = onednn_maker(b);
    make.attr = q.attr;
    if (b->status == TFR_OK) {
        status = onednn_matmul(&make, onednn_md_of(b, x), any, NULL, onednn_md_of(b, y));
        if (status == dnnl_success)
            q.uses[1].tensor =
                onednn_as(b, w, dnnl_primitive_desc_query_md(make.pd, dnnl_query_weights_md, 0));
        onednn_add(b, status, &make, "matmul", q.uses, q.n_uses);
    }
    onednn_quant_end(&q);
}
