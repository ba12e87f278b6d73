/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QuantizeLinear, DequantizeLinear (ONNX 28), DynamicQuantizeLinear (ONNX 11):
 *   quantize    y = saturate(round(x / scale) + zero), round to even; float outputs are not rounded
 *               to integers, and float8 follows attribute saturate
 *   dequantize  y = (x - zero) * scale
 * scale and zero hold one value, one per index of axis, or one per block of block_size along axis.
 * The quotient is rounded to attribute precision, or else to the type of scale, before it is
 * rounded to an integer: float32 decides which way a half goes. The product is rounded once, to the
 * type of y. NaN quantizes to zero.
 */
#include "naive.h"

#include <math.h>

/* How the elements of scale and zero follow those of x: their strides in x's dims, and the dim in
 * which blocks repeat. */
typedef struct grid {
    int64_t strides[TFR_MAX_RANK];
    int64_t axis, block;
} grid;

static grid find_grid(const tfr_call *call, const tfr_operand *x, const tfr_operand *scale)
{
    grid g = {{0}, tfr_call_int(call, "axis", 1), tfr_call_int(call, "block_size", 0)};

    if (g.axis < 0)
        g.axis += x->rank;
    if (g.axis < 0 || g.axis >= x->rank)
        g.axis = 0;
    if (tfr_operand_elements(scale) == 1)
        g.block = 1;
    else if (scale->rank == 1 && g.block == 0) {
        g.block = 1;
        g.strides[g.axis] = 1;
    } else {
        if (g.block <= 0 && scale->dims[g.axis] > 0)
            g.block = (x->dims[g.axis] + scale->dims[g.axis] - 1) / scale->dims[g.axis];
        if (g.block <= 0)
            g.block = 1;
        naive_dims_to_strides(scale->rank, scale->dims, g.strides);
    }
    return g;
}

static int64_t grid_at(const grid *g, const naive_iter *it)
{
    int64_t at = 0;
    int32_t d;

    for (d = 0; d < it->rank; d++)
        at += (d == g->axis ? it->index[d] / g->block : it->index[d]) * g->strides[d];
    return at;
}

static void quantize(const tfr_operand *y, void *py, int64_t o, double quotient, double zero,
                     bool saturate)
{
    if (naive_is_integer(y->dtype))
        naive_set(y->dtype, py, o, rint(quotient) + zero);
    else if (saturate)
        naive_set(y->dtype, py, o, quotient + zero);
    else
        naive_set_overflow(y->dtype, py, o, quotient + zero);
}

static int32_t run_quantize(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *x = tfr_call_input(&k->call, 0), *scale = tfr_call_input(&k->call, 1);
    const tfr_operand *zero = tfr_call_input(&k->call, 2), *y = tfr_call_output(&k->call, 0);
    const void *px = naive_in(k, launch, 0), *ps = naive_in(k, launch, 1);
    const void *pz = naive_in(k, launch, 2);
    void *py = naive_out(k, launch, 0);
    bool saturate = tfr_call_int(&k->call, "saturate", 1) != 0;
    int32_t precision = (int32_t)tfr_call_int(&k->call, "precision", 0);
    grid g = find_grid(&k->call, x, scale);
    naive_iter it;
    int64_t o = 0;

    (void)err;
    if (!precision)
        precision = scale->dtype == TFR_DTYPE_F16 || scale->dtype == TFR_DTYPE_BF16 ? scale->dtype
                                                                                    : TFR_DTYPE_F32;
    naive_iter_init(&it, x->rank, x->dims);
    for (; it.left > 0; naive_iter_next(&it), o++) {
        int64_t at = grid_at(&g, &it);
        double v = naive_round_to(precision, naive_get(x->dtype, px, o));
        double s = naive_round_to(precision, naive_get(scale->dtype, ps, at));
        quantize(y, py, o, naive_round_to(precision, v / s),
                 zero ? naive_get(zero->dtype, pz, at) : 0, saturate);
    }
    return TFR_OK;
}

static int32_t run_dequantize(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *x = tfr_call_input(&k->call, 0), *scale = tfr_call_input(&k->call, 1);
    const tfr_operand *zero = tfr_call_input(&k->call, 2), *y = tfr_call_output(&k->call, 0);
    const void *px = naive_in(k, launch, 0), *ps = naive_in(k, launch, 1);
    const void *pz = naive_in(k, launch, 2);
    void *py = naive_out(k, launch, 0);
    grid g = find_grid(&k->call, x, scale);
    naive_iter it;
    int64_t o = 0;

    (void)err;
    naive_iter_init(&it, x->rank, x->dims);
    for (; it.left > 0; naive_iter_next(&it), o++) {
        int64_t at = grid_at(&g, &it);
        double z = zero ? naive_get(zero->dtype, pz, at) : 0;
        naive_set(y->dtype, py, o,
                  (naive_get(x->dtype, px, o) - z) * naive_get(scale->dtype, ps, at));
    }
    return TFR_OK;
}

/*
 * scale = (max(0, max(x)) - min(0, min(x))) / 255, or 1 / 255 if that range is empty (ONNX's
 * reference does so); zero = round(saturate(-min / scale)). Every step is rounded to float32, as
 * the ONNX text writes it.
 */
static int32_t run_dynamic(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *x = tfr_call_input(&k->call, 0);
    const float *px = naive_in(k, launch, 0);
    uint8_t *py = naive_out(k, launch, 0), *pz = naive_out(k, launch, 2);
    float *ps = naive_out(k, launch, 1), low = 0, high = 0, scale, zero;
    int64_t n = tfr_operand_elements(x), i;

    (void)err;
    for (i = 0; i < n; i++) {
        low = px[i] < low ? px[i] : low;
        high = px[i] > high ? px[i] : high;
    }
    scale = (high == low ? 1 : high - low) / 255;
    zero = rintf(fminf(255, fmaxf(0, -low / scale)));
    for (i = 0; i < n; i++)
        naive_set(TFR_DTYPE_U8, py, i, (double)rintf(px[i] / scale) + (double)zero);
    *ps = scale;
    naive_set(TFR_DTYPE_U8, pz, 0, zero);
    return TFR_OK;
}

const naive_op naive_quantize_ops[] = {
    {"", "DequantizeLinear", 28, NULL, run_dequantize, NULL, 0, NULL},
    {"", "DynamicQuantizeLinear", 11, NULL, run_dynamic, NULL, 0, NULL},
    {"", "QuantizeLinear", 28, NULL, run_quantize, NULL, 0, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};
