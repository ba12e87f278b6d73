/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NonZero (ONNX 13): the indices of the elements that are not zero (NaN is not zero, a string is
 * zero when it is empty), in row-major order. Output [rank, count] of int64, dense for the true
 * count.
 */
#include "naive.h"

static bool is_zero(int32_t dtype, const void *p, int64_t i)
{
    switch (dtype) {
    case TFR_DTYPE_STRING:
        return ((const tfr_string *)p)[i].bytes == 0;
    case TFR_DTYPE_C64:
        return ((const float *)p)[2 * i] == 0 && ((const float *)p)[2 * i + 1] == 0;
    case TFR_DTYPE_C128:
        return ((const double *)p)[2 * i] == 0 && ((const double *)p)[2 * i + 1] == 0;
    default:
        return naive_is_float(dtype) ? naive_get(dtype, p, i) == 0
                                     : naive_get_int(dtype, p, i) == 0;
    }
}

static int32_t run_nonzero(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *x = tfr_call_input(&k->call, 0);
    const void *px = naive_in(k, launch, 0);
    int64_t *py = naive_out(k, launch, 0), *dims = naive_out_dims(k, launch, 0);
    int64_t n = tfr_operand_elements(x), count = 0, column = 0, i;
    naive_iter it;
    int32_t d;

    (void)err;
    for (i = 0; i < n; i++)
        count += !is_zero(x->dtype, px, i);
    naive_iter_init(&it, x->rank, x->dims);
    for (i = 0; it.left > 0; naive_iter_next(&it), i++) {
        if (is_zero(x->dtype, px, i))
            continue;
        for (d = 0; d < x->rank; d++)
            py[d * count + column] = it.index[d];
        column++;
    }
    if (dims) {
        dims[0] = x->rank;
        dims[1] = count;
    }
    return TFR_OK;
}

const naive_op naive_non_zero_ops[] = {
    {"", "NonZero", 13, NULL, run_nonzero, NULL, 0, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};
