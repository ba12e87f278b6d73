/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clip (ONNX 13): y = min(max(x, low), high); an absent bound does not bind, and with low > high
 * every element becomes high. Exact for integers. NaN in x stays NaN.
 */
#include "naive.h"

static double clip_float(double v, int32_t dtype, const void *low, const void *high)
{
    if (low && v < naive_get(dtype, low, 0))
        v = naive_get(dtype, low, 0);
    if (high && v > naive_get(dtype, high, 0))
        v = naive_get(dtype, high, 0);
    return v;
}

static bool less(int64_t a, int64_t b, int32_t dtype)
{
    return dtype == TFR_DTYPE_U64 ? (uint64_t)a < (uint64_t)b : a < b;
}

static int64_t clip_int(int64_t v, int32_t dtype, const void *low, const void *high)
{
    if (low && less(v, naive_get_int(dtype, low, 0), dtype))
        v = naive_get_int(dtype, low, 0);
    if (high && less(naive_get_int(dtype, high, 0), v, dtype))
        v = naive_get_int(dtype, high, 0);
    return v;
}

static int32_t run_clip(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *x = tfr_call_input(&k->call, 0), *y = tfr_call_output(&k->call, 0);
    const void *px = naive_in(k, launch, 0), *low = naive_in(k, launch, 1);
    const void *high = naive_in(k, launch, 2);
    void *py = naive_out(k, launch, 0);
    int32_t t = x->dtype;
    naive_iter it;

    (void)err;
    naive_iter_init(&it, y->rank, y->dims);
    naive_iter_add(&it, x);
    naive_iter_add(&it, y);
    for (; it.left > 0; naive_iter_next(&it)) {
        if (naive_is_float(t))
            naive_set(t, py, it.at[1], clip_float(naive_get(t, px, it.at[0]), t, low, high));
        else
            naive_set_int(t, py, it.at[1], clip_int(naive_get_int(t, px, it.at[0]), t, low, high));
    }
    return TFR_OK;
}

const naive_op naive_clip_ops[] = {
    {"", "Clip", 13, NULL, run_clip, NULL, NAIVE_STRIDED, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};
