/* SPDX-License-Identifier: Apache-2.0 */
/* infer_reduce.c: reductions and what runs along an axis: Reduce*, SumTo, ArgMax, CumSum, TopK. */
#include "op/infer_kit.h"

/* Shape after the axes in mask are reduced. */
static void reduced(const tfr__type *x, uint32_t mask, bool keepdims, tfr__dims *out)
{
    out->rank = 0;
    for (int32_t i = 0; i < x->rank; i++) {
        if (!(mask >> i & 1))
            out->d[out->rank++] = x->dims[i];
        else if (keepdims)
            out->d[out->rank++] = 1;
    }
}

/* Nobody knows which axes, but maybe how many. */
static tfr_status reduce_unknown(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    tfr__number axes[TFR_MAX_RANK];
    uint32_t n = 0;
    tfr__dims shape = {.rank = x->rank};
    tfr_status status = tfr__value_numbers(in, err, 1, axes, TFR_MAX_RANK, &n);
    if (!tfr__attr_int(in->attrs, "keepdims", 1)) {
        TFR__TRY(status);
        shape.rank -= (int32_t)n;
    }
    for (int32_t i = 0; i < shape.rank; i++)
        shape.d[i] = tfr__new_dim(in);
    return shape.rank < 0 ? TFR__EPENDING : tfr__out_dims(in, err, 0, x->dtype, &shape);
}

tfr_status tfr__infer_reduce(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    int64_t axes[TFR_MAX_RANK];
    uint32_t n = 0, mask = 0;
    tfr__dims shape;
    if (tfr__in(in, 1)) {
        tfr_status status = tfr__value_ints(in, err, 1, axes, TFR_MAX_RANK, &n);
        if (status == TFR__EPENDING && tfr__is_symbolic(in))
            return reduce_unknown(in, err);
        TFR__TRY(status);
    }
    if (!n && !tfr__attr_int(in->attrs, "noop_with_empty_axes", 0))
        for (; n < (uint32_t)x->rank; n++)
            axes[n] = n;
    TFR__TRY(tfr__axes(in, err, "axes", axes, n, x->rank));
    tfr__sort_axes(axes, n);
    for (uint32_t i = 0; i < n; i++)
        mask |= UINT32_C(1) << axes[i];
    reduced(x, mask, tfr__attr_int(in->attrs, "keepdims", 1) != 0, &shape);
    TFR__TRY(tfr__out_dims(in, err, 0, x->dtype, &shape));
    return tfr__attr_set_ints(in->attrs, "axes", axes, n, err);
}

/* What Expand to the shape of data would repeat is summed: the gradient of broadcasting. */
tfr_status tfr__infer_sum_to(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    int64_t axes[TFR_MAX_RANK];
    uint32_t n = 0;
    tfr__dims shape;
    TFR__TRY(tfr__value_dims(in, err, 1, NULL, &shape));
    if (shape.rank > x->rank)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "shape has %d dims, data only %d",
                               (int)shape.rank, (int)x->rank);
    for (int32_t i = 0, front = x->rank - shape.rank; i < x->rank; i++) {
        int64_t want = i < front ? 1 : shape.d[i - front];
        bool same =
            want == x->dims[i] || (tfr__is_symbolic(in) && !tfr__differ(in, want, x->dims[i]));
        if (!same && want != 1)
            return tfr__infer_fail(in, err, TFR_ESHAPE,
                                   "axis %d of data has %lld elements, shape wants %lld, which is "
                                   "neither that nor 1",
                                   (int)i, (long long)x->dims[i], (long long)want);
        if (i < front || want != x->dims[i])
            axes[n++] = i;
    }
    TFR__TRY(tfr__out_dims(in, err, 0, x->dtype, &shape));
    return tfr__attr_set_ints(in->attrs, "axes", axes, n, err);
}

tfr_status tfr__infer_arg_reduce(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    tfr__dims shape;
    int32_t axis;
    TFR__TRY(tfr__axis_attr(in, err, "axis", x->rank, &axis));
    reduced(x, UINT32_C(1) << axis, tfr__attr_int(in->attrs, "keepdims", 1) != 0, &shape);
    TFR__TRY(tfr__out_dims(in, err, 0, TFR_DTYPE_I64, &shape));
    if (x->dims[axis] == 0 && tfr__wants(in, 0) && tfr__type_elements(&in->outputs[0]) > 0)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "axis %d of data has no element to choose",
                               (int)axis);
    return TFR_OK;
}

tfr_status tfr__infer_cumulative(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    int64_t value = 0;
    int32_t axis;
    tfr_status status = tfr__value_int(in, err, 1, &value);
    if (status == TFR__EPENDING && tfr__is_symbolic(in))
        return tfr__out_like(in, err, 0, x->dtype, x);
    TFR__TRY(status);
    TFR__TRY(tfr__axis(in, err, "axis", value, x->rank, &axis));
    TFR__TRY(tfr__out_like(in, err, 0, x->dtype, x));
    return tfr__attr_set_int(in->attrs, "axis", axis, err);
}

tfr_status tfr__infer_top_k(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    tfr__dims shape;
    tfr__number k;
    int32_t axis;
    TFR__TRY(tfr__value_number(in, err, 1, &k));
    TFR__TRY(tfr__axis_attr(in, err, "axis", x->rank, &axis));
    if (k.what == TFR__KNOWN && (k.v < 0 || (x->dims[axis] >= 0 && k.v > x->dims[axis])))
        return tfr__infer_fail(in, err, TFR_ESHAPE, "K is %lld, axis %d of X has %lld elements",
                               (long long)k.v, (int)axis, (long long)x->dims[axis]);
    tfr__dims_of(x, &shape);
    shape.d[axis] = k.what == TFR__KNOWN ? k.v : tfr__dim_of_value(in, k);
    TFR__TRY(tfr__out_dims(in, err, 0, x->dtype, &shape));
    return tfr__out_dims(in, err, 1, TFR_DTYPE_I64, &shape);
}
