/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OneHot (ONNX 28): a new axis of depth elements; along it values[1] stands where the position is
 * the index, values[0] elsewhere. Indices in [-depth, depth) count from the back when negative,
 * those outside leave the whole lane at values[0]. Float indices drop their fraction.
 */
#include "naive.h"

static int32_t run_onehot(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *x = tfr_call_input(&k->call, 0), *y = tfr_call_output(&k->call, 0);
    const void *px = naive_in(k, launch, 0), *values = naive_in(k, launch, 2);
    void *py = naive_out(k, launch, 0);
    int64_t axis = tfr_call_int(&k->call, "axis", x->rank), o, j, i;
    int32_t status = TFR_OK;
    naive_lanes l = naive_lanes_of(y, axis < 0 ? axis + y->rank : axis);

    for (o = 0; o < l.outer; o++) {
        for (i = 0; i < l.inner; i++) {
            int64_t hot = naive_get_int(x->dtype, px, o * l.inner + i);
            if (hot < 0 && (x->dtype != TFR_DTYPE_U64))
                hot += l.n;
            for (j = 0; j < l.n && status == TFR_OK; j++)
                status = naive_copy_any(y->dtype, py, (o * l.n + j) * l.inner + i, values, j == hot,
                                        err);
        }
    }
    return status;
}

const naive_op naive_one_hot_ops[] = {
    {"", "OneHot", 28, NULL, run_onehot, NULL, 0, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};
