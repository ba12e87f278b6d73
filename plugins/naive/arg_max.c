/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ArgMax and ArgMin (ONNX 13): the index along axis of the greatest or least element, the first of
 * equal ones or, with select_last_index, the last. NaN counts as greater than all in ArgMax and
 * less than all in ArgMin (numpy's rule). An axis of 0 elements has no answer and is an error.
 */
#include "naive.h"

#include <math.h>
#include <string.h>

/* Positive, zero or negative as element i beats, equals or loses to element j. */
static int beats(int32_t dtype, const void *p, int64_t i, int64_t j, bool max)
{
    int order;

    if (naive_is_float(dtype)) {
        double a = naive_get(dtype, p, i), b = naive_get(dtype, p, j);
        if (isnan(a) || isnan(b))
            return !!isnan(a) - !!isnan(b);
        order = (a > b) - (a < b);
    } else {
        int64_t a = naive_get_int(dtype, p, i), b = naive_get_int(dtype, p, j);
        order = dtype == TFR_DTYPE_U64 ? ((uint64_t)a > (uint64_t)b) - ((uint64_t)a < (uint64_t)b)
                                       : (a > b) - (a < b);
    }
    return max ? order : -order;
}

static int32_t run_argmax(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *x = tfr_call_input(&k->call, 0), *y = tfr_call_output(&k->call, 0);
    const void *px = naive_in(k, launch, 0);
    int64_t *py = naive_out(k, launch, 0);
    bool max = strcmp(k->op->name, "ArgMax") == 0;
    bool last = tfr_call_int(&k->call, "select_last_index", 0) != 0;
    naive_lanes l = {1, 1, 1};
    int64_t o, i, j, best, base;

    if (x->rank > 0)
        l = naive_lanes_of(x, tfr_call_int(&k->call, "axis", 0));
    if (l.n == 0 && tfr_operand_elements(y) > 0)
        return tfr_fail(err, TFR_ESHAPE, "%s over an axis of 0 elements", k->op->name);
    for (o = 0; o < l.outer; o++) {
        for (i = 0; i < l.inner; i++) {
            base = o * l.n * l.inner + i;
            for (best = 0, j = 1; j < l.n; j++) {
                int order = beats(x->dtype, px, base + j * l.inner, base + best * l.inner, max);
                if (order > 0 || (order == 0 && last))
                    best = j;
            }
            py[o * l.inner + i] = best;
        }
    }
    return TFR_OK;
}

const naive_op naive_arg_max_ops[] = {
    {"", "ArgMax", 13, NULL, run_argmax, NULL, 0, NULL},
    {"", "ArgMin", 13, NULL, run_argmax, NULL, 0, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};
