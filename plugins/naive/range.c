/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Range (ONNX 27): y[i] = start + i * delta; the core has counted the elements. Floats in double,
 * rounded once (stash_type asks for at least float32); integers wrap.
 */
#include "naive.h"

static int32_t run_range(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *y = tfr_call_output(&k->call, 0);
    const void *start = naive_in(k, launch, 0), *delta = naive_in(k, launch, 2);
    void *py = naive_out(k, launch, 0);
    int64_t n = tfr_operand_elements(y), i;
    int32_t t = y->dtype;

    (void)err;
    for (i = 0; i < n; i++) {
        if (naive_is_float(t))
            naive_set(t, py, i, naive_get(t, start, 0) + (double)i * naive_get(t, delta, 0));
        else
            naive_set_int(t, py, i,
                          naive_wrap_add(naive_get_int(t, start, 0),
                                         naive_wrap_mul(i, naive_get_int(t, delta, 0))));
    }
    return TFR_OK;
}

const naive_op naive_range_ops[] = {
    {"", "Range", 27, NULL, run_range, NULL, 0, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};
