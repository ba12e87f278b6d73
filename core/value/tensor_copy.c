/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor_copy.c: copies of tensors, sequences and optionals, dense whatever the strides are, into
 * memory or to a function that writes them.
 */
#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "value/tensor.h"
#include "value/bits.h"

enum {
    GATHER_BYTES = 1 << 16, /* of strided elements at a time */
    PIECE_BYTES = 4 << 20   /* of a mapped file, before its pages may go */
};

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

/* ---- writing --------------------------------------------------------------------------------- */

static tfr_status write_plain(const tfr_tensor *t, tfr_write_fn write, void *user, tfr_err *err)
{
    tfr_status status = TFR_OK;
    size_t n;
    for (size_t at = 0; !status && at < t->bytes; at += n) {
        n = t->bytes - at < PIECE_BYTES ? t->bytes - at : PIECE_BYTES;
        status = write(user, (const char *)t->data + at, n, err);
        tfr__tensor_rest_part(t, at, n);
    }
    return status;
}

/* The tensor below index i of the first `outer` dims, counted in plain order. */
static const char *block_at(const tfr_tensor *t, int32_t outer, int64_t i, size_t element)
{
    const char *at = t->data;
    for (int32_t d = outer - 1; d >= 0; d--) {
        at += i % t->shape.dims[d] * t->strides[d] * (int64_t)element;
        i /= t->shape.dims[d];
    }
    return at;
}

static tfr_status write_strided(const tfr_tensor *t, tfr_write_fn write, void *user, tfr_err *err)
{
    size_t element = tfr__dtype_bits(t->dtype) / 8, block = t->bytes;
    tfr_shape inner = t->shape;
    int32_t outer = 0;
    int64_t n = 1;
    tfr_status status = TFR_OK;
    char *buffer;
    for (; outer < t->shape.rank && block > GATHER_BYTES; outer++) {
        n *= t->shape.dims[outer];
        block /= (size_t)t->shape.dims[outer];
    }
    inner.rank -= outer;
    memmove(inner.dims, inner.dims + outer, (size_t)inner.rank * sizeof inner.dims[0]);
    buffer = tfr__alloc(block);
    if (!buffer)
        return tfr_fail(err, TFR_ENOMEM, "no memory for %zu bytes of a tensor to write", block);
    for (int64_t i = 0; !status && i < n; i++) {
        status = tfr__strided_copy((tfr_dtype)t->dtype, &inner, buffer, NULL,
                                   block_at(t, outer, i, element), t->strides + outer, err);
        if (!status)
            status = write(user, buffer, block, err);
    }
    tfr__free(buffer);
    return status;
}

tfr_status tfr_tensor_write(const tfr_tensor *tensor, tfr_write_fn write, void *user, tfr_err *err)
{
    if (!tensor || !write)
        return tfr_fail(err, TFR_EINVAL, "writing needs a tensor and a function to write with");
    if (tensor->kind != TFR_KIND_TENSOR || tensor->dtype == TFR_DTYPE_STRING)
        return tfr_fail(err, TFR_EUNSUPPORTED, "%s have no plain form of bytes",
                        tensor->kind == TFR_KIND_TENSOR ? "strings" : "sequences and optionals");
    return tensor->plain ? write_plain(tensor, write, user, err)
                         : write_strided(tensor, write, user, err);
}
