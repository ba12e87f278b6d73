/* SPDX-License-Identifier: Apache-2.0 */
/* tensor_copy.c: copies of tensors, sequences and optionals, dense whatever the strides are. */
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "value/tensor.h"

static tfr_status copy_values(const tfr_tensor *from, tfr_tensor **out, tfr_err *err)
{
    tfr_tensor *copy = NULL;
    tfr_status status = TFR_OK;
    tfr_tensor **values = tfr__calloc(from->n_values ? from->n_values : 1, sizeof(tfr_tensor *));
    size_t n = 0;
    if (!values)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a list of %zu values", from->n_values);
    for (; n < from->n_values && !status; n++)
        status = tfr_tensor_copy(from->values[n], &values[n], err);
    if (!status && from->kind == TFR_KIND_SEQUENCE)
        status = tfr_sequence_create((tfr_dtype)from->dtype, values, n, &copy, err);
    else if (!status)
        status = tfr_optional_create((tfr_dtype)from->dtype, n ? values[0] : NULL, &copy, err);
    /* The copy has its own references. A value that failed is NULL. */
    for (size_t i = 0; i < n; i++)
        tfr_tensor_release(values[i]);
    tfr__free(values);
    if (!status)
        *out = copy;
    return status;
}

tfr_status tfr_tensor_copy(const tfr_tensor *tensor, tfr_tensor **out, tfr_err *err)
{
    tfr_tensor *copy;
    if (!tensor || !out)
        return tfr_fail(err, TFR_EINVAL, "a copy needs a tensor and a place to go");
    if (tensor->kind != TFR_KIND_TENSOR)
        return copy_values(tensor, out, err);
    tfr_status status = tfr_tensor_create((tfr_dtype)tensor->dtype, &tensor->shape, &copy, err);
    if (status)
        return status;
    status = tfr__strided_copy((tfr_dtype)tensor->dtype, &tensor->shape, copy->data, copy->strides,
                               tensor->data, tensor->strides, err);
    if (status) {
        tfr_tensor_release(copy);
        return status;
    }
    *out = copy;
    return TFR_OK;
}
