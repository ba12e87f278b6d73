/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reorder (tfrun 1): y[i] = x[i] for every index i, from any strides to any strides. The core puts
 * it between kernels that want different strides of one tensor.
 */
#include "naive.h"

static int32_t run_reorder(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *x = tfr_call_input(&k->call, 0), *y = tfr_call_output(&k->call, 0);
    const void *px = naive_in(k, launch, 0);
    void *py = naive_out(k, launch, 0);
    int32_t status = TFR_OK;
    naive_iter it;

    naive_iter_init(&it, y->rank, y->dims);
    naive_iter_add(&it, x);
    naive_iter_add(&it, y);
    for (; it.left > 0 && status == TFR_OK; naive_iter_next(&it))
        status = naive_copy_any(x->dtype, py, it.at[1], px, it.at[0], err);
    return status;
}

const naive_op naive_reorder_ops[] = {
    {"tfrun", "Reorder", 1, NULL, run_reorder, NULL, NAIVE_STRIDED, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};
