/* SPDX-License-Identifier: Apache-2.0 */
/* EyeLike (ONNX 22): y[i][i + k] = 1, all else 0; x gives the shape only. */
#include "naive.h"

static int32_t run_eyelike(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *y = tfr_call_output(&k->call, 0);
    int64_t shift = tfr_call_int(&k->call, "k", 0), i, j;
    void *py = naive_out(k, launch, 0);

    (void)err;
    for (i = 0; i < y->dims[0]; i++)
        for (j = 0; j < y->dims[1]; j++)
            naive_set(y->dtype, py, i * y->dims[1] + j, j == naive_wrap_add(i, shift));
    return TFR_OK;
}

const naive_op naive_eye_like_ops[] = {
    {"", "EyeLike", 22, NULL, run_eyelike, NULL, 0, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};
