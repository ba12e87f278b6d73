/* SPDX-License-Identifier: Apache-2.0 */
/* join.c: joins host tensors along an axis, for sequences and for the results of loops. */
#include <tfrun/fail.h>

#include "value/join.h"
#include "value/bits.h"

static tfr_status joined_shape(tfr_tensor *const *values, size_t n, bool stack, int64_t *axis,
                               tfr_shape *out, tfr_err *err)
{
    const tfr_shape *first;
    int64_t sum = 0;
    if (!n)
        return tfr_fail(err, TFR_EMODEL, "there is nothing to join: the sequence is empty");
    first = &values[0]->shape;
    if (*axis < -(first->rank + stack) || *axis >= first->rank + stack)
        return tfr_fail(err, TFR_EMODEL, "axis %lld is outside rank %d", (long long)*axis,
                        (int)(first->rank + stack));
    *axis += *axis < 0 ? first->rank + stack : 0;
    for (size_t i = 0; i < n; i++) {
        tfr_shape other = values[i]->shape;
        char a[160], b[160];
        bool fits = values[i]->kind == TFR_KIND_TENSOR && other.rank == first->rank &&
                    values[i]->dtype == values[0]->dtype;
        if (fits) {
            sum += stack ? 1 : other.dims[*axis];
            if (!stack)
                other.dims[*axis] = first->dims[*axis];
            fits = tfr_shape_equal(&other, first);
        }
        if (!fits)
            return tfr_fail(err, TFR_EMODEL,
                            "value %zu with shape %s does not fit to value 0 with %s", i,
                            tfr_shape_format(&values[i]->shape, a, sizeof a),
                            tfr_shape_format(first, b, sizeof b));
    }
    *out = *first;
    if (stack) {
        if (out->rank == TFR_MAX_RANK)
            return tfr_fail(err, TFR_EMODEL, "the result would have more than %d dimensions",
                            TFR_MAX_RANK);
        for (int32_t i = out->rank++; i > (int32_t)*axis; i--)
            out->dims[i] = out->dims[i - 1];
    }
    out->dims[*axis] = sum;
    return TFR_OK;
}

tfr_status tfr__tensors_join(tfr_tensor *const *values, size_t n, int64_t axis, bool stack,
                             tfr_tensor **out, tfr_err *err)
{
    tfr_shape shape;
    tfr_tensor *joined;
    int64_t dst_strides[TFR_MAX_RANK], src_strides[TFR_MAX_RANK], at = 0;
    size_t size;
    tfr_status status = joined_shape(values, n, stack, &axis, &shape, err);
    if (status)
        return status;
    size = tfr__dtype_bits(values[0]->dtype) / 8;
    if (!size)
        return tfr_fail(err, TFR_EUNSUPPORTED, "packed element types cannot be joined");
    status = tfr_tensor_create((tfr_dtype)values[0]->dtype, &shape, &joined, err);
    if (status)
        return status;
    tfr_shape_strides(&shape, dst_strides);
    for (size_t i = 0; !status && i < n; i++) {
        const tfr_tensor *t = values[i];
        tfr_shape part = shape;
        part.dims[axis] = stack ? 1 : t->shape.dims[axis];
        for (int32_t d = 0, s = 0; d < part.rank; d++)
            src_strides[d] = stack && d == axis ? 0 : t->strides[s++];
        if (t->n_elements)
            status =
                tfr__strided_copy((tfr_dtype)t->dtype, &part,
                                  (char *)joined->data + (size_t)(at * dst_strides[axis]) * size,
                                  dst_strides, t->data, src_strides, err);
        at += part.dims[axis];
    }
    if (status)
        tfr_tensor_release(joined);
    else
        *out = joined;
    return status;
}
