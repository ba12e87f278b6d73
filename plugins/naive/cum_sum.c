/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CumSum and CumProd (ONNX 14, 26): running sum or product along attribute axis, which the core
 * makes from input 1. exclusive leaves the element itself out, reverse starts at the end. Floats
 * accumulate in double and each output is rounded once; integers wrap.
 */
#include "naive.h"

#include <string.h>

static void run_lane(int32_t dtype, const void *x, void *y, int64_t at, int64_t n, int64_t step,
                     bool product, bool exclusive)
{
    int64_t whole = product;
    double sum = product, v;

    for (; n > 0; n--, at += step) {
        if (naive_is_float(dtype)) {
            v = product ? sum * naive_get(dtype, x, at) : sum + naive_get(dtype, x, at);
            naive_set(dtype, y, at, exclusive ? sum : v);
            sum = v;
        } else {
            int64_t e = naive_get_int(dtype, x, at);
            int64_t next = product ? naive_wrap_mul(whole, e) : naive_wrap_add(whole, e);
            naive_set_int(dtype, y, at, exclusive ? whole : next);
            whole = next;
        }
    }
}

static int32_t run_cumsum(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *x = tfr_call_input(&k->call, 0);
    int64_t axis = tfr_call_int(&k->call, "axis", 0), o, i, first, step;
    bool reverse = tfr_call_int(&k->call, "reverse", 0) != 0;
    bool exclusive = tfr_call_int(&k->call, "exclusive", 0) != 0;
    bool product = strcmp(k->op->name, "CumProd") == 0;
    naive_lanes l = {1, 1, 1};

    if (x->rank > 0 && (axis < 0 || axis >= x->rank))
        return tfr_fail(err, TFR_EINVAL, "%s along axis %lld of a tensor of rank %d", k->op->name,
                        (long long)axis, x->rank);
    if (x->rank > 0)
        l = naive_lanes_of(x, axis);
    for (o = 0; o < l.outer; o++) {
        for (i = 0; i < l.inner; i++) {
            first = (o * l.n + (reverse ? l.n - 1 : 0)) * l.inner + i;
            step = reverse ? -l.inner : l.inner;
            run_lane(x->dtype, naive_in(k, launch, 0), naive_out(k, launch, 0), first, l.n, step,
                     product, exclusive);
        }
    }
    return TFR_OK;
}

const naive_op naive_cum_sum_ops[] = {
    {"", "CumProd", 26, NULL, run_cumsum, NULL, 0, NULL},
    {"", "CumSum", 14, NULL, run_cumsum, NULL, 0, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};
