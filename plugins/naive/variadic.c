/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elementwise ops over any number of inputs with numpy broadcasting: Sum, Mean, Max, Min (ONNX 13,
 * 13, 13, 13). Sum and Mean add in double from the first input to the last and round once. Max and
 * Min are exact for integers; for floats NaN in any input gives NaN.
 */
#include "naive.h"

#include <math.h>
#include <string.h>

/* Offset of the operand's element that numpy's rule pairs with this index of the output. */
static int64_t broadcast_offset(const tfr_operand *x, const naive_iter *it)
{
    int64_t strides[TFR_MAX_RANK], offset = 0;
    int32_t d;

    naive_strides(x, strides);
    for (d = 0; d < x->rank; d++)
        if (x->dims[d] != 1)
            offset += it->index[d + it->rank - x->rank] * strides[d];
    return offset;
}

static double float_element(const naive_kernel *k, const tfr_launch *launch, const naive_iter *it)
{
    bool max = strcmp(k->op->name, "Max") == 0, min = strcmp(k->op->name, "Min") == 0;
    double result = 0, v;
    uint32_t i;

    for (i = 0; i < k->call.n_inputs; i++) {
        const tfr_operand *x = tfr_call_input(&k->call, i);
        v = naive_get(x->dtype, naive_in(k, launch, i), broadcast_offset(x, it));
        if (!max && !min)
            result += v;
        else if (i == 0 || isnan(v) || (!isnan(result) && (max ? v > result : v < result)))
            result = v;
    }
    return strcmp(k->op->name, "Mean") == 0 ? result / k->call.n_inputs : result;
}

static int64_t int_element(const naive_kernel *k, const tfr_launch *launch, const naive_iter *it)
{
    bool max = strcmp(k->op->name, "Max") == 0, greater;
    int64_t result = 0, v;
    uint32_t i;

    for (i = 0; i < k->call.n_inputs; i++) {
        const tfr_operand *x = tfr_call_input(&k->call, i);
        v = naive_get_int(x->dtype, naive_in(k, launch, i), broadcast_offset(x, it));
        greater = x->dtype == TFR_DTYPE_U64 ? (uint64_t)v > (uint64_t)result : v > result;
        if (i == 0 || (v != result && greater == max))
            result = v;
    }
    return result;
}

static int32_t run_variadic(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *y = tfr_call_output(&k->call, 0);
    void *py = naive_out(k, launch, 0);
    naive_iter it;

    (void)err;
    naive_iter_init(&it, y->rank, y->dims);
    naive_iter_add(&it, y);
    for (; it.left > 0; naive_iter_next(&it)) {
        if (naive_is_float(y->dtype))
            naive_set(y->dtype, py, it.at[0], float_element(k, launch, &it));
        else
            naive_set_int(y->dtype, py, it.at[0], int_element(k, launch, &it));
    }
    return TFR_OK;
}

const naive_op naive_variadic_ops[] = {
    {"", "Max", 13, NULL, run_variadic, NULL, NAIVE_STRIDED, NULL},
    {"", "Mean", 13, NULL, run_variadic, NULL, NAIVE_STRIDED, NULL},
    {"", "Min", 13, NULL, run_variadic, NULL, NAIVE_STRIDED, NULL},
    {"", "Sum", 13, NULL, run_variadic, NULL, NAIVE_STRIDED, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};
