/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SwiGLU (ONNX 28; Shazeer, arXiv:2002.05202): y = a * sigmoid(alpha * a) * b, shapes equal. In
 * double, rounded once; NaN spreads, and so does -inf as a gate, which ONNX makes NaN (inf * 0).
 */
#include "tensor.h"

#include <math.h>

static int32_t run_swiglu(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor a = naive_input(k, launch, 0), b = naive_input(k, launch, 1),
                 y = naive_output(k, launch, 0);
    double alpha = (double)tfr_call_float(&k->call, "alpha", 1);
    int64_t i;

    (void)err;
    for (i = 0; i < y.n; i++) {
        double gate = naive_read(&a, i);
        naive_write(&y, i, gate * (1 / (1 + exp(-alpha * gate))) * naive_read(&b, i));
    }
    return TFR_OK;
}

const naive_op naive_swiglu_ops[] = {
    {.domain = "", .name = "SwiGLU", .since_version = 28, .run = run_swiglu},
    {.name = NULL},
};
