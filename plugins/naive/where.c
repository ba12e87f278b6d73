/* SPDX-License-Identifier: Apache-2.0 */
/* Where (ONNX 16): z = condition ? x : y with numpy broadcasting, elements of any type copied. */
#include "naive.h"

static int32_t run_where(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *z = tfr_call_output(&k->call, 0);
    const void *p[3] = {naive_in(k, launch, 0), naive_in(k, launch, 1), naive_in(k, launch, 2)};
    void *pz = naive_out(k, launch, 0);
    int32_t status = TFR_OK;
    naive_iter it;
    uint32_t i;

    naive_iter_init(&it, z->rank, z->dims);
    for (i = 0; i < 3; i++)
        naive_iter_add(&it, tfr_call_input(&k->call, i));
    naive_iter_add(&it, z);
    for (; it.left > 0 && status == TFR_OK; naive_iter_next(&it)) {
        i = naive_get_int(TFR_DTYPE_BOOL, p[0], it.at[0]) ? 1 : 2;
        status = naive_copy_any(z->dtype, pz, it.at[3], p[i], it.at[i], err);
    }
    return status;
}

const naive_op naive_where_ops[] = {
    {"", "Where", 16, NULL, run_where, NULL, NAIVE_STRIDED, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};
