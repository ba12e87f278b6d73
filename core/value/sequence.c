/* SPDX-License-Identifier: Apache-2.0 */
/* sequence.c: sequences of values and optional values. Their end of life is in tensor.c. */
#include "value/tensor.h"

#include <tfrun/fail.h>

#include "base/alloc.h"
#include "value/bits.h"

/* A container of n values, each retained. */
static tfr_status container_new(tfr_kind kind, tfr_dtype dtype, tfr_tensor *const *values, size_t n,
                                tfr_tensor **out, tfr_err *err)
{
    uint32_t depth = 0;
    for (size_t i = 0; i < n; i++)
        if (values[i]->depth > depth)
            depth = values[i]->depth;
    if (depth >= TFR__MAX_VALUE_DEPTH)
        return tfr_fail(err, TFR_ELIMIT, "values are nested deeper than %d", TFR__MAX_VALUE_DEPTH);
    tfr_tensor *container = tfr__calloc(1, sizeof *container);
    tfr_tensor **own = tfr__calloc(n, sizeof *own);
    if (!container || !own) {
        tfr__free(container);
        tfr__free(own);
        return tfr_fail(err, TFR_ENOMEM, "no memory for a list of %zu values", n);
    }
    atomic_init(&container->refs, 1);
    container->kind = (int32_t)kind;
    container->dtype = (int32_t)dtype;
    container->depth = depth + 1;
    container->values = own;
    container->n_values = n;
    for (size_t i = 0; i < n; i++)
        own[i] = tfr_tensor_retain(values[i]);
    *out = container;
    return TFR_OK;
}

static tfr_status check_dtype(tfr_dtype dtype, tfr_err *err)
{
    if (dtype != TFR_DTYPE_NONE && tfr__dtype_bits((int32_t)dtype) == 0)
        return tfr_fail(err, TFR_EDTYPE, "number %d is no element type", (int)dtype);
    return TFR_OK;
}

tfr_status tfr_sequence_create(tfr_dtype dtype, tfr_tensor *const *values, size_t n,
                               tfr_tensor **out, tfr_err *err)
{
    if (!out || (n > 0 && !values))
        return tfr_fail(err, TFR_EINVAL, "a sequence needs its values and a place to go");
    if (check_dtype(dtype, err))
        return TFR_EDTYPE;
    for (size_t i = 0; i < n; i++) {
        if (!values[i])
            return tfr_fail(err, TFR_EINVAL, "value %zu of a sequence is NULL", i);
        if (dtype == TFR_DTYPE_NONE)
            dtype = tfr_tensor_dtype(values[i]);
        if (tfr_tensor_dtype(values[i]) != dtype)
            return tfr_fail(err, TFR_EDTYPE, "value %zu of a sequence of %s is %s", i,
                            tfr_dtype_name(dtype), tfr_dtype_name(tfr_tensor_dtype(values[i])));
        if (values[i]->kind != values[0]->kind)
            return tfr_fail(err, TFR_EINVAL,
                            "value %zu of a sequence is of another kind than the first", i);
    }
    return container_new(TFR_KIND_SEQUENCE, dtype, values, n, out, err);
}

tfr_status tfr_optional_create(tfr_dtype dtype, tfr_tensor *value, tfr_tensor **out, tfr_err *err)
{
    if (!out)
        return tfr_fail(err, TFR_EINVAL, "an optional needs a place to go");
    if (check_dtype(dtype, err))
        return TFR_EDTYPE;
    if (value && dtype == TFR_DTYPE_NONE)
        dtype = tfr_tensor_dtype(value);
    if (value && tfr_tensor_dtype(value) != dtype)
        return tfr_fail(err, TFR_EDTYPE, "the value of an optional of %s is %s",
                        tfr_dtype_name(dtype), tfr_dtype_name(tfr_tensor_dtype(value)));
    return container_new(TFR_KIND_OPTIONAL, dtype, &value, value ? 1 : 0, out, err);
}

size_t tfr_sequence_length(const tfr_tensor *sequence)
{
    return sequence->n_values;
}

tfr_tensor *tfr_sequence_at(const tfr_tensor *sequence, size_t i)
{
    return i < sequence->n_values ? sequence->values[i] : NULL;
}
