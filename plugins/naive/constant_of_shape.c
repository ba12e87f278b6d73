/* SPDX-License-Identifier: Apache-2.0 */
/* ConstantOfShape (ONNX 25): every element is the one of attribute value; float32 0 without it. */
#include "naive.h"

static int32_t run_constantofshape(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *y = tfr_call_output(&k->call, 0);
    const tfr_attr *value = tfr_call_attr(&k->call, "value");
    void *py = naive_out(k, launch, 0);
    int64_t n = tfr_operand_elements(y), i;
    int32_t status = TFR_OK;

    for (i = 0; i < n && status == TFR_OK; i++) {
        if (value && value->tensor)
            status = naive_copy_any(y->dtype, py, i, value->tensor->data, 0, err);
        else
            naive_set(y->dtype, py, i, 0);
    }
    return status;
}

const naive_op naive_constant_of_shape_ops[] = {
    {"", "ConstantOfShape", 25, NULL, run_constantofshape, NULL, 0, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};
