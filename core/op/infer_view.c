/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer_view.c: ops that keep the bytes and change the shape (Reshape, Flatten, Squeeze,
 * Unsqueeze), and those whose value is the shape (Shape, Size). The core runs them all.
 */
#include "op/infer_kit.h"

/* Whether an element of shape that is 0 can only mean a dim of 0 here, as data has no elements
 * then: elsewhere it copies a dim. */
static bool is_safe_zero(const tfr__infer *in, const tfr__type *x, int64_t symbol)
{
    bool safe = tfr__attr_int(in->attrs, "allowzero", 0) != 0;
    for (int32_t i = 0; !safe && x->shape_known && i < x->rank; i++)
        safe = tfr__symbol_zeroes(in->symbols, symbol, x->dims[i]);
    return safe;
}

/* One element of shape; *open: its dim does not follow from it. */
static tfr_status target_dim(tfr__infer *in, tfr_err *err, tfr__number want, uint32_t i,
                             int64_t *dim, bool *open)
{
    const tfr__type *x = tfr__in(in, 0);
    bool known = want.what == TFR__KNOWN;
    if (known && want.v < -1)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "shape has the negative dim %lld at %u",
                               (long long)want.v, i);
    bool copies = known && want.v == 0 && !tfr__attr_int(in->attrs, "allowzero", 0);
    if (copies && x->shape_known && i >= (uint32_t)x->rank)
        return tfr__infer_fail(in, err, TFR_ESHAPE,
                               "shape copies dim %u of data, which has rank %d", i, (int)x->rank);
    if (copies && x->shape_known)
        *dim = x->dims[i];
    else if (copies || (want.what == TFR__SYMBOL && !is_safe_zero(in, x, want.v)))
        *dim = tfr__new_dim(in);
    else
        *dim = tfr__dim_of_value(in, want);
    *open = copies ? !x->shape_known : known ? want.v < 0 : !want.what || *dim != want.v;
    return TFR_OK;
}

/* The one dim that does not follow from shape alone is what the others leave. */
static int64_t rest_of(const tfr__infer *in, tfr__number total, tfr__number others, bool is_wild)
{
    /* Only -1 says that the others are not 0 if that is not seen. */
    if (others.what == TFR__UNKNOWN || (others.what == TFR__SYMBOL && !is_wild))
        return tfr__new_dim(in);
    return tfr__dim_of(in, tfr__number_div(in->symbols, total, others));
}

static tfr_status reshape_symbolic(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    tfr__number want[TFR_MAX_RANK], others = tfr__number_of(1), total = {TFR__UNKNOWN, 0};
    int64_t dims[TFR_MAX_RANK];
    uint32_t n, n_open = 0, at = 0, n_wild = 0;
    tfr__text data, shape;
    TFR__TRY(tfr__value_numbers(in, err, 1, want, TFR_MAX_RANK, &n));
    if (x->shape_known)
        total = tfr__dims_product(in, x->dims, x->rank);
    for (uint32_t i = 0; i < n; i++) {
        bool open = true;
        TFR__TRY(target_dim(in, err, want[i], i, &dims[i], &open));
        n_wild += want[i].what == TFR__KNOWN && want[i].v == -1;
        if (open)
            n_open++, at = i;
        else
            others = tfr__number_mul(in->symbols, others, tfr__number_of_dim(dims[i]));
    }
    if (n_wild > 1)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "shape has -1 at %u places", n_wild);
    if (n_open == 1)
        dims[at] = rest_of(in, total, others, n_wild == 1);
    bool fits = total.what != TFR__KNOWN || others.what != TFR__KNOWN ||
                (n_open ? others.v == 0 || total.v % others.v == 0 : total.v == others.v);
    if (!fits)
        return tfr__infer_fail(
            in, err, TFR_ESHAPE, "data %s has %lld elements, which do not fill %s",
            tfr__type_text(x, &data), (long long)total.v, tfr__dims_text(dims, (int32_t)n, &shape));
    others = tfr__dims_product(in, dims, (int32_t)n);
    if (!total.what || others.what != total.what || others.v != total.v)
        in->symbols->guessed = true;
    return tfr__out(in, err, 0, x->dtype, (int32_t)n, dims);
}

tfr_status tfr__infer_reshape(tfr__infer *in, tfr_err *err)
{
    if (tfr__is_symbolic(in))
        return reshape_symbolic(in, err);
    const tfr__type *x = tfr__in(in, 0);
    int64_t want[TFR_MAX_RANK], known = 1, total = tfr__type_elements(x);
    int32_t wild = -1;
    uint32_t n;
    tfr__text data, shape;
    bool allowzero = tfr__attr_int(in->attrs, "allowzero", 0) != 0;
    TFR__TRY(tfr__value_ints(in, err, 1, want, TFR_MAX_RANK, &n));
    bool has_zero = false;
    for (uint32_t i = 0; i < n; i++) {
        if (want[i] == -1) {
            if (wild >= 0)
                return tfr__infer_fail(in, err, TFR_ESHAPE, "shape has -1 at %d and at %u",
                                       (int)wild, i);
            wild = (int32_t)i;
            continue;
        }
        if (want[i] < 0)
            return tfr__infer_fail(in, err, TFR_ESHAPE, "shape has the negative dim %lld at %u",
                                   (long long)want[i], i);
        if (want[i] == 0 && !allowzero) {
            if (i >= (uint32_t)x->rank)
                return tfr__infer_fail(in, err, TFR_ESHAPE,
                                       "shape copies dim %u of data, which has rank %d", i,
                                       (int)x->rank);
            want[i] = x->dims[i];
        }
        has_zero |= want[i] == 0;
        TFR__TRY(tfr__mul(in, err, "elements", known, want[i], &known));
    }
    if (wild >= 0) {
        if (has_zero)
            return tfr__infer_fail(in, err, TFR_ESHAPE, "shape has a dim of 0 and a -1, data is %s",
                                   tfr__type_text(x, &data));
        want[wild] = total / known;
    }
    if (wild >= 0 ? total % known != 0 : known != total)
        return tfr__infer_fail(
            in, err, TFR_ESHAPE, "data %s has %lld elements, which do not fill %s",
            tfr__type_text(x, &data), (long long)total, tfr__dims_text(want, (int32_t)n, &shape));
    return tfr__out(in, err, 0, x->dtype, (int32_t)n, want);
}

tfr_status tfr__infer_flatten(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    int64_t axis = tfr__attr_int(in->attrs, "axis", 1), dims[2] = {1, 1};
    if (!x->shape_known) {
        dims[0] = axis ? tfr__new_dim(in) : 1;
        dims[1] = tfr__new_dim(in);
        return tfr__out(in, err, 0, x->dtype, 2, dims);
    }
    if (axis < -(int64_t)x->rank || axis > x->rank)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "axis %lld is outside of [%d, %d]",
                               (long long)axis, -(int)x->rank, (int)x->rank);
    if (axis < 0)
        axis += x->rank;
    for (int32_t i = 0; i < x->rank && !tfr__is_symbolic(in); i++)
        dims[i >= axis] *= x->dims[i]; /* fits: the product of the non-zero dims does */
    if (tfr__is_symbolic(in)) {
        int32_t front = (int32_t)axis;
        dims[0] = tfr__dim_of(in, tfr__dims_product(in, x->dims, front));
        dims[1] = tfr__dim_of(in, tfr__dims_product(in, x->dims + front, x->rank - front));
    }
    TFR__TRY(tfr__attr_set_int(in->attrs, "axis", axis, err));
    return tfr__out(in, err, 0, x->dtype, 2, dims);
}

/* The axes are not known, but maybe how many: the rank follows. */
static tfr_status out_of_rank(tfr__infer *in, tfr_err *err, int32_t sign)
{
    const tfr__type *x = tfr__in(in, 0);
    tfr__number axes[TFR_MAX_RANK];
    tfr__dims shape;
    uint32_t n;
    TFR__TRY(tfr__value_numbers(in, err, 1, axes, TFR_MAX_RANK, &n));
    shape.rank = x->rank + sign * (int32_t)n;
    for (int32_t i = 0; i < shape.rank && i < TFR_MAX_RANK; i++)
        shape.d[i] = tfr__new_dim(in);
    return shape.rank < 0 ? TFR__EPENDING : tfr__out_dims(in, err, 0, x->dtype, &shape);
}

tfr_status tfr__infer_squeeze(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    int64_t axes[TFR_MAX_RANK];
    uint32_t n = 0, mask = 0;
    tfr__dims shape = {0};
    if (tfr__in(in, 1)) {
        tfr_status status = tfr__value_ints(in, err, 1, axes, TFR_MAX_RANK, &n);
        if (status == TFR__EPENDING && tfr__is_symbolic(in))
            return out_of_rank(in, err, -1);
        TFR__TRY(status);
    } else {
        for (int32_t i = 0; i < x->rank; i++) {
            if (x->dims[i] < 0)
                return TFR__EPENDING; /* it may be 1 */
            if (x->dims[i] == 1)
                axes[n++] = i;
        }
    }
    TFR__TRY(tfr__axes(in, err, "axes", axes, n, x->rank));
    tfr__sort_axes(axes, n);
    for (uint32_t i = 0; i < n; i++) {
        mask |= UINT32_C(1) << axes[i];
        if (tfr__differ(in, x->dims[axes[i]], 1))
            return tfr__infer_fail(in, err, TFR_ESHAPE,
                                   "axis %lld of data has %lld elements, not 1", (long long)axes[i],
                                   (long long)x->dims[axes[i]]);
    }
    for (int32_t i = 0; i < x->rank; i++)
        if (!(mask >> i & 1))
            shape.d[shape.rank++] = x->dims[i];
    TFR__TRY(tfr__out_dims(in, err, 0, x->dtype, &shape));
    return tfr__attr_set_ints(in->attrs, "axes", axes, n, err);
}

tfr_status tfr__infer_unsqueeze(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    int64_t axes[TFR_MAX_RANK];
    uint32_t n, mask = 0;
    tfr__dims shape = {0};
    tfr_status status = tfr__value_ints(in, err, 1, axes, TFR_MAX_RANK, &n);
    if (status == TFR__EPENDING && tfr__is_symbolic(in))
        return out_of_rank(in, err, 1);
    TFR__TRY(status);
    int32_t rank = x->rank + (int32_t)n, from = 0;
    if (rank > TFR_MAX_RANK)
        return tfr__infer_fail(in, err, TFR_ELIMIT, "expanded would have rank %d, the limit is %d",
                               (int)rank, TFR_MAX_RANK);
    TFR__TRY(tfr__axes(in, err, "axes", axes, n, rank));
    tfr__sort_axes(axes, n);
    for (uint32_t i = 0; i < n; i++)
        mask |= UINT32_C(1) << axes[i];
    for (; shape.rank < rank; shape.rank++)
        shape.d[shape.rank] = mask >> shape.rank & 1 ? 1 : x->dims[from++];
    TFR__TRY(tfr__out_dims(in, err, 0, x->dtype, &shape));
    return tfr__attr_set_ints(in->attrs, "axes", axes, n, err);
}

static int64_t clamp(int64_t at, int32_t rank)
{
    if (at < 0)
        at = at < -(int64_t)rank ? 0 : at + rank;
    return at > rank ? rank : at;
}

tfr_status tfr__infer_shape(tfr__infer *in, tfr_err *err)
{
    int32_t rank = tfr__in(in, 0)->rank;
    if (!tfr__in(in, 0)->shape_known)
        return tfr__out(in, err, 0, TFR_DTYPE_I64, 1, (int64_t[]){tfr__new_dim(in)});
    int64_t start = clamp(tfr__attr_int(in->attrs, "start", 0), rank);
    int64_t end = clamp(tfr__attr_int(in->attrs, "end", rank), rank);
    int64_t n = end > start ? end - start : 0;
    TFR__TRY(tfr__attr_set_int(in->attrs, "start", start, err));
    TFR__TRY(tfr__attr_set_int(in->attrs, "end", end, err));
    return tfr__out(in, err, 0, TFR_DTYPE_I64, 1, &n);
}

tfr_status tfr__infer_size(tfr__infer *in, tfr_err *err)
{
    return tfr__out(in, err, 0, TFR_DTYPE_I64, 0, NULL);
}
