/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer_index.c: ops that choose elements by number or by value: Gather, Scatter, OneHot, Compress,
 * NonZero, Unique, TensorScatter.
 */
#include "op/infer_kit.h"

tfr_status tfr__infer_gather(tfr__infer *in, tfr_err *err)
{
    const tfr__type *data = tfr__in(in, 0), *indices = tfr__in(in, 1);
    int64_t dims[2 * TFR_MAX_RANK];
    int32_t axis, n = 0;
    TFR__TRY(tfr__axis_attr(in, err, "axis", data->rank, &axis));
    for (int32_t i = 0; i < axis; i++)
        dims[n++] = data->dims[i];
    for (int32_t i = 0; i < indices->rank; i++)
        dims[n++] = indices->dims[i];
    for (int32_t i = axis + 1; i < data->rank; i++)
        dims[n++] = data->dims[i];
    TFR__TRY(tfr__out(in, err, 0, data->dtype, n, dims));
    if (data->dims[axis] == 0 && tfr__type_elements(indices) > 0)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "axis %d of data has no element to gather",
                               (int)axis);
    return TFR_OK;
}

/* indices has the rank of data and is nowhere longer, the axis aside. */
static tfr_status check_elements(tfr__infer *in, tfr_err *err, int32_t axis)
{
    const tfr__type *data = tfr__in(in, 0), *indices = tfr__in(in, 1);
    tfr__text a, b;
    bool fits = data->rank == indices->rank;
    for (int32_t i = 0; fits && i < data->rank; i++)
        fits = i == axis ? data->dims[i] != 0 || indices->dims[i] <= 0
                         : data->dims[i] < 0 || indices->dims[i] <= data->dims[i];
    if (fits)
        return TFR_OK;
    return tfr__infer_fail(in, err, TFR_ESHAPE,
                           "indices %s do not fit data %s (same rank, no dim longer but axis %d)",
                           tfr__type_text(indices, &a), tfr__type_text(data, &b), (int)axis);
}

tfr_status tfr__infer_gather_elements(tfr__infer *in, tfr_err *err)
{
    const tfr__type *data = tfr__in(in, 0);
    int32_t axis;
    TFR__TRY(tfr__axis_attr(in, err, "axis", data->rank, &axis));
    TFR__TRY(check_elements(in, err, axis));
    return tfr__out_like(in, err, 0, data->dtype, tfr__in(in, 1));
}

tfr_status tfr__infer_scatter_elements(tfr__infer *in, tfr_err *err)
{
    const tfr__type *data = tfr__in(in, 0);
    int32_t axis;
    tfr__dims shape;
    TFR__TRY(tfr__axis_attr(in, err, "axis", data->rank, &axis));
    TFR__TRY(check_elements(in, err, axis));
    tfr__dims_of(tfr__in(in, 1), &shape);
    TFR__TRY(tfr__want_shape(in, err, 2, &shape));
    return tfr__out_like(in, err, 0, data->dtype, data);
}

/*
 * indices [..., k]: k numbers that choose a slice of data after its batch dims. Appends the dims of
 * indices but the last, and those of the slice, to out, which has room for two ranks.
 */
static tfr_status nd_shape(tfr__infer *in, tfr_err *err, int32_t batch, int64_t *out, int32_t *n)
{
    const tfr__type *data = tfr__in(in, 0), *indices = tfr__in(in, 1);
    TFR__TRY(tfr__want_rank_min(in, err, 0, 1));
    TFR__TRY(tfr__want_rank_min(in, err, 1, batch + 1));
    int64_t k = indices->dims[indices->rank - 1];
    if (k < 0)
        return TFR__EPENDING; /* the rank depends on it */
    if (k < 1 || k > data->rank - batch)
        return tfr__infer_fail(in, err, TFR_ESHAPE,
                               "the last dim of indices is %lld, want 1...%d (rank %d of data less "
                               "%d batch dims)",
                               (long long)k, (int)(data->rank - batch), (int)data->rank,
                               (int)batch);
    *n = 0;
    for (int32_t i = 0; i < indices->rank - 1; i++)
        out[(*n)++] = indices->dims[i];
    for (int32_t i = batch + (int32_t)k; i < data->rank; i++)
        out[(*n)++] = data->dims[i];
    bool chosen = tfr__type_elements(indices) > 0;
    for (int32_t i = batch; chosen && i < batch + (int32_t)k; i++)
        if (data->dims[i] == 0)
            return tfr__infer_fail(in, err, TFR_ESHAPE, "axis %d of data has no element to choose",
                                   (int)i);
    return TFR_OK;
}

tfr_status tfr__infer_gather_nd(tfr__infer *in, tfr_err *err)
{
    const tfr__type *data = tfr__in(in, 0), *indices = tfr__in(in, 1);
    int64_t dims[2 * TFR_MAX_RANK], batch = tfr__attr_int(in->attrs, "batch_dims", 0);
    int32_t n;
    if (batch < 0 || batch >= data->rank || batch >= indices->rank)
        return tfr__infer_fail(in, err, TFR_ESHAPE,
                               "batch_dims is %lld, data has rank %d and indices has rank %d",
                               (long long)batch, (int)data->rank, (int)indices->rank);
    for (int32_t i = 0; i < batch; i++)
        if (tfr__differ(in, data->dims[i], indices->dims[i]))
            return tfr__infer_fail(in, err, TFR_ESHAPE,
                                   "batch dim %d is %lld in data and %lld in indices", (int)i,
                                   (long long)data->dims[i], (long long)indices->dims[i]);
    TFR__TRY(nd_shape(in, err, (int32_t)batch, dims, &n));
    return tfr__out(in, err, 0, data->dtype, n, dims);
}

tfr_status tfr__infer_scatter_nd(tfr__infer *in, tfr_err *err)
{
    const tfr__type *data = tfr__in(in, 0), *updates = tfr__in(in, 2);
    int64_t dims[2 * TFR_MAX_RANK];
    int32_t n;
    tfr__text have, want;
    tfr_status status = nd_shape(in, err, 0, dims, &n);
    if (status == TFR__EPENDING && tfr__is_symbolic(in))
        return tfr__out_like(in, err, 0, data->dtype, data);
    TFR__TRY(status);
    bool same = updates->rank == n;
    for (int32_t i = 0; same && i < n; i++)
        same = !tfr__differ(in, updates->dims[i], dims[i]);
    if (!same)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "updates has shape %s, want %s",
                               tfr__type_text(updates, &have), tfr__dims_text(dims, n, &want));
    return tfr__out_like(in, err, 0, data->dtype, data);
}

tfr_status tfr__infer_one_hot(tfr__infer *in, tfr_err *err)
{
    const tfr__type *indices = tfr__in(in, 0), *values = tfr__in(in, 2);
    int64_t depth, dims[TFR_MAX_RANK + 1];
    tfr__number given;
    int32_t axis, n = 0;
    TFR__TRY(tfr__value_number(in, err, 1, &given));
    if (given.what == TFR__KNOWN && given.v < 1)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "depth is %lld, want at least 1",
                               (long long)given.v);
    depth = given.what == TFR__KNOWN ? given.v : tfr__dim_of_value(in, given);
    TFR__TRY(tfr__want_vector(in, err, 2, 2, "off and on"));
    TFR__TRY(tfr__axis_attr(in, err, "axis", indices->rank + 1, &axis));
    for (int32_t i = 0; i < indices->rank; i++) {
        if (i == axis)
            dims[n++] = depth;
        dims[n++] = indices->dims[i];
    }
    if (axis == indices->rank)
        dims[n++] = depth;
    return tfr__out(in, err, 0, values->dtype, n, dims);
}

/* All elements in a row. */
static void flatten(const tfr__infer *in, tfr__dims *shape)
{
    int64_t n = 1;
    if (tfr__is_symbolic(in))
        n = tfr__dim_of(in, tfr__dims_product(in, shape->d, shape->rank));
    else
        for (int32_t i = 0; i < shape->rank; i++)
            n *= shape->d[i]; /* fits: the product of the non-zero dims does */
    shape->rank = 1;
    shape->d[0] = n;
}

tfr_status tfr__infer_compress(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0), *condition = tfr__in(in, 1);
    tfr__dims shape;
    int32_t axis = 0;
    TFR__TRY(tfr__want_rank(in, err, 1, 1));
    tfr__dims_of(x, &shape);
    if (tfr__attr_find(in->attrs, "axis")) {
        TFR__TRY(tfr__axis_attr(in, err, "axis", x->rank, &axis));
    } else {
        flatten(in, &shape);
    }
    if (shape.d[axis] >= 0 && condition->dims[0] > shape.d[axis])
        return tfr__infer_fail(in, err, TFR_ESHAPE, "condition has %lld elements for %lld of input",
                               (long long)condition->dims[0], (long long)shape.d[axis]);
    shape.d[axis] = tfr__is_symbolic(in) ? tfr__new_dim(in) : condition->dims[0];
    TFR__TRY(tfr__out_dims(in, err, 0, x->dtype, &shape));
    tfr__out_dynamic(in, 0);
    return TFR_OK;
}

tfr_status tfr__infer_non_zero(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    int64_t dims[2] = {x->rank, tfr__is_symbolic(in) ? tfr__new_dim(in) : tfr__type_elements(x)};
    TFR__TRY(tfr__out(in, err, 0, TFR_DTYPE_I64, 2, dims));
    tfr__out_dynamic(in, 0);
    return TFR_OK;
}

tfr_status tfr__infer_unique(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    tfr__dims shape;
    int32_t axis = 0;
    tfr__dims_of(x, &shape);
    if (tfr__attr_find(in->attrs, "axis")) {
        TFR__TRY(tfr__axis_attr(in, err, "axis", x->rank, &axis));
    } else {
        flatten(in, &shape);
    }
    int64_t n = shape.d[axis], found = tfr__is_symbolic(in) ? tfr__new_dim(in) : n;
    shape.d[axis] = found;
    TFR__TRY(tfr__out_dims(in, err, 0, x->dtype, &shape));
    for (uint32_t i = 1; i < 4; i++)
        TFR__TRY(tfr__out(in, err, i, TFR_DTYPE_I64, 1, i == 2 ? &n : &found));
    tfr__out_dynamic(in, 0);
    tfr__out_dynamic(in, 1); /* output 2, the inverse, has an entry for each element of x */
    tfr__out_dynamic(in, 3);
    return TFR_OK;
}

tfr_status tfr__infer_tensor_scatter(tfr__infer *in, tfr_err *err)
{
    const tfr__type *cache = tfr__in(in, 0), *update = tfr__in(in, 1);
    tfr__dims shape;
    int32_t axis;
    TFR__TRY(tfr__want_rank_min(in, err, 0, 2));
    TFR__TRY(tfr__want_rank(in, err, 1, cache->rank));
    TFR__TRY(tfr__axis_attr(in, err, "axis", cache->rank, &axis));
    if (axis == 0)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "axis is 0, the batch");
    tfr__dims_of(cache, &shape);
    shape.d[axis] = update->dims[axis];
    TFR__TRY(tfr__want_shape(in, err, 1, &shape));
    if (cache->dims[axis] >= 0 && update->dims[axis] > cache->dims[axis])
        return tfr__infer_fail(
            in, err, TFR_ESHAPE, "update has %lld positions on axis %d, past_cache has %lld",
            (long long)update->dims[axis], (int)axis, (long long)cache->dims[axis]);
    TFR__TRY(tfr__want_vector(in, err, 2, cache->dims[0], "batch of past_cache"));
    return tfr__out_like(in, err, 0, cache->dtype, cache);
}
