/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer_move.c: ops that move whole blocks of elements: Transpose, Expand, Tile, Concat, Split,
 * Slice, Pad, CenterCropPad, DepthToSpace, SpaceToDepth, ReverseSequence, Trilu.
 */
#include "base/checked.h"
#include "op/infer_kit.h"

tfr_status tfr__infer_transpose(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    int64_t perm[TFR_MAX_RANK];
    uint32_t n;
    tfr__dims shape = {.rank = x->rank};
    TFR__TRY(tfr__attr_list_ints(in, err, "perm", perm, TFR_MAX_RANK, &n));
    if (!tfr__attr_find(in->attrs, "perm"))
        for (; n < (uint32_t)x->rank; n++)
            perm[n] = x->rank - 1 - (int32_t)n;
    if (n != (uint32_t)x->rank)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "perm has %u entries, data has rank %d", n,
                               (int)x->rank);
    TFR__TRY(tfr__axes(in, err, "perm", perm, n, x->rank));
    for (uint32_t i = 0; i < n; i++)
        shape.d[i] = x->dims[perm[i]];
    TFR__TRY(tfr__attr_set_ints(in->attrs, "perm", perm, n, err));
    return tfr__out_dims(in, err, 0, x->dtype, &shape);
}

tfr_status tfr__infer_expand(tfr__infer *in, tfr_err *err)
{
    tfr__dims shape;
    uint32_t n;
    TFR__TRY(tfr__value_ints(in, err, 1, shape.d, TFR_MAX_RANK, &n));
    shape.rank = (int32_t)n;
    for (uint32_t i = 0; i < n; i++)
        if (shape.d[i] < 0)
            return tfr__infer_fail(in, err, TFR_ESHAPE, "shape has the negative dim %lld at %u",
                                   (long long)shape.d[i], i);
    TFR__TRY(tfr__broadcast(in, err, 0, &shape));
    return tfr__out_dims(in, err, 0, tfr__in(in, 0)->dtype, &shape);
}

tfr_status tfr__infer_tile(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    int64_t repeats[TFR_MAX_RANK];
    uint32_t n;
    tfr__dims shape = {.rank = x->rank};
    TFR__TRY(tfr__value_ints(in, err, 1, repeats, TFR_MAX_RANK, &n));
    if (n != (uint32_t)x->rank)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "repeats has %u entries, input has rank %d", n,
                               (int)x->rank);
    for (uint32_t i = 0; i < n; i++) {
        if (repeats[i] < 0)
            return tfr__infer_fail(in, err, TFR_ESHAPE,
                                   "repeats has the negative number %lld at %u",
                                   (long long)repeats[i], i);
        TFR__TRY(tfr__mul(in, err, "output dim", x->dims[i], repeats[i], &shape.d[i]));
    }
    return tfr__out_dims(in, err, 0, x->dtype, &shape);
}

tfr_status tfr__infer_concat(tfr__infer *in, tfr_err *err)
{
    const tfr__type *first = tfr__in(in, 0);
    tfr__dims shape;
    tfr__text name, dims, have;
    int32_t axis;
    TFR__TRY(tfr__axis_attr(in, err, "axis", first->rank, &axis));
    tfr__dims_of(first, &shape);
    for (uint32_t i = 1; i < in->n_inputs; i++) {
        const tfr__type *t = &in->inputs[i];
        bool fits = t->rank == shape.rank;
        for (int32_t k = 0; fits && k < t->rank; k++)
            fits = k == axis || t->dims[k] == shape.d[k];
        if (!fits)
            return tfr__infer_fail(in, err, TFR_ESHAPE,
                                   "input %s has shape %s, want that of the first %s but axis %d",
                                   tfr__in_name(in, i, &name), tfr__type_text(t, &dims),
                                   tfr__type_text(first, &have), (int)axis);
        TFR__TRY(tfr__add(in, err, "output dim", shape.d[axis], t->dims[axis], &shape.d[axis]));
    }
    return tfr__out_dims(in, err, 0, first->dtype, &shape);
}

/* The lengths that "split" gives, which have to fill the axis. */
static tfr_status given_parts(tfr__infer *in, tfr_err *err, int64_t dim, int64_t *parts)
{
    uint32_t n;
    int64_t sum = 0;
    TFR__TRY(tfr__value_ints(in, err, 1, parts, in->n_outputs, &n));
    if (n != in->n_outputs)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "split has %u parts, there are %u outputs", n,
                               in->n_outputs);
    for (uint32_t i = 0; i < n; i++) {
        if (parts[i] < 0)
            return tfr__infer_fail(in, err, TFR_ESHAPE, "split has the negative length %lld at %u",
                                   (long long)parts[i], i);
        TFR__TRY(tfr__add(in, err, "sum of split", sum, parts[i], &sum));
    }
    if (sum != dim)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "split sums up to %lld, the axis has %lld",
                               (long long)sum, (long long)dim);
    return TFR_OK;
}

/* n equal parts, the last ones smaller or empty if dim is no multiple. */
static void equal_parts(int64_t dim, int64_t n, int64_t *parts)
{
    int64_t part = dim / n + (dim % n != 0), left = dim;
    for (int64_t i = 0; i < n; i++) {
        parts[i] = part < left ? part : left;
        left -= parts[i];
    }
}

enum { MOST_PARTS = 4096 };

tfr_status tfr__infer_split(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    int64_t parts[MOST_PARTS], n = tfr__attr_int(in->attrs, "num_outputs", in->n_outputs);
    tfr__dims shape;
    int32_t axis;
    if (in->n_outputs > MOST_PARTS)
        return tfr__infer_fail(in, err, TFR_ELIMIT, "%u outputs, the limit is %d", in->n_outputs,
                               MOST_PARTS);
    if (tfr__in(in, 1) && tfr__attr_find(in->attrs, "num_outputs"))
        return tfr__infer_fail(in, err, TFR_EMODEL, "both split and num_outputs are given");
    if (n != in->n_outputs)
        return tfr__infer_fail(in, err, TFR_EMODEL, "num_outputs is %lld, there are %u outputs",
                               (long long)n, in->n_outputs);
    TFR__TRY(tfr__axis_attr(in, err, "axis", x->rank, &axis));
    if (tfr__in(in, 1))
        TFR__TRY(given_parts(in, err, x->dims[axis], parts));
    else
        equal_parts(x->dims[axis], n, parts);
    tfr__dims_of(x, &shape);
    for (uint32_t i = 0; i < in->n_outputs; i++) {
        shape.d[axis] = parts[i];
        TFR__TRY(tfr__out_dims(in, err, i, x->dtype, &shape));
    }
    tfr__attr_remove(in->attrs, "num_outputs");
    return tfr__attr_set_ints(in->attrs, "split", parts, in->n_outputs, err);
}

static int64_t clamp(int64_t at, int64_t low, int64_t high)
{
    if (at < low)
        at = low;
    return at > high ? high : at; /* an empty axis has high below low */
}

/* The clamping of ONNX's text; numpy's gives other starts with a negative step. dim elements, step
 * != 0; gives the count. */
static int64_t slice_axis(int64_t dim, int64_t *start, int64_t *end, int64_t step)
{
    int64_t high = step > 0 ? dim : dim - 1, end_low = step > 0 ? 0 : -1;
    *start = clamp(*start < -dim ? 0 : *start < 0 ? *start + dim : *start, 0, high);
    *end = clamp(*end < -dim ? end_low : *end < 0 ? *end + dim : *end, end_low, high);
    if (step > 0)
        return *end > *start ? (*end - *start - 1) / step + 1 : 0;
    /* Negated without overflow: for INT64_MIN at most one element is left, as with -INT64_MAX. */
    int64_t back = step == INT64_MIN ? INT64_MAX : -step;
    return *start > *end ? (*start - *end - 1) / back + 1 : 0;
}

tfr_status tfr__infer_slice(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    int64_t v[4][TFR_MAX_RANK]; /* starts, ends, axes, steps as given */
    int64_t starts[TFR_MAX_RANK], ends[TFR_MAX_RANK], steps[TFR_MAX_RANK];
    uint32_t n[4] = {0}, rank = (uint32_t)x->rank;
    static const char *const names[4] = {"starts", "ends", "axes", "steps"};
    tfr__dims shape;
    for (uint32_t k = 0; k < 4; k++) {
        if (!tfr__in(in, k + 1)) {
            for (n[k] = 0; n[k] < n[0]; n[k]++)
                v[k][n[k]] = k == 2 ? n[k] : 1;
            continue;
        }
        TFR__TRY(tfr__value_ints(in, err, k + 1, v[k], TFR_MAX_RANK, &n[k]));
        if (n[k] != n[0])
            return tfr__infer_fail(in, err, TFR_ESHAPE, "starts has %u entries, %s has %u", n[0],
                                   names[k], n[k]);
    }
    TFR__TRY(tfr__axes(in, err, "axes", v[2], n[0], x->rank));
    tfr__dims_of(x, &shape);
    for (uint32_t i = 0; i < rank; i++)
        starts[i] = 0, ends[i] = x->dims[i], steps[i] = 1;
    for (uint32_t i = 0; i < n[0]; i++) {
        int64_t axis = v[2][i];
        if (v[3][i] == 0)
            return tfr__infer_fail(in, err, TFR_ESHAPE, "the step for axis %lld is 0",
                                   (long long)axis);
        starts[axis] = v[0][i], ends[axis] = v[1][i], steps[axis] = v[3][i];
        shape.d[axis] = slice_axis(x->dims[axis], &starts[axis], &ends[axis], steps[axis]);
    }
    TFR__TRY(tfr__out_dims(in, err, 0, x->dtype, &shape));
    TFR__TRY(tfr__attr_set_ints(in->attrs, "starts", starts, rank, err));
    TFR__TRY(tfr__attr_set_ints(in->attrs, "ends", ends, rank, err));
    return tfr__attr_set_ints(in->attrs, "steps", steps, rank, err);
}

/* Whether mode can make the padding of one axis from its dim (after negative pads cropped it). */
static tfr_status check_pad_mode(tfr__infer *in, tfr_err *err, int64_t dim, int64_t begin,
                                 int64_t end, uint32_t axis)
{
    const char *mode = tfr__attr_string(in->attrs, "mode", "constant");
    if (mode[0] == 'c' || (begin <= 0 && end <= 0))
        return TFR_OK;
    int64_t kept = dim + (begin < 0 ? begin : 0) + (end < 0 ? end : 0);
    int64_t longest = begin > end ? begin : end;
    if (kept <= 0)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "axis %u of data has nothing for mode %s", axis,
                               mode);
    if (mode[0] == 'r' && kept == 1)
        return tfr__infer_fail(in, err, TFR_ESHAPE,
                               "axis %u of data has 1 element, reflect cannot pad it by %lld", axis,
                               (long long)longest);
    return TFR_OK;
}

tfr_status tfr__infer_pad(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    int64_t given[2 * TFR_MAX_RANK], axes[TFR_MAX_RANK], pads[2 * TFR_MAX_RANK] = {0};
    uint32_t n_pads, n = 0, rank = (uint32_t)x->rank;
    tfr__dims shape;
    TFR__TRY(tfr__value_ints(in, err, 1, given, 2 * TFR_MAX_RANK, &n_pads));
    if (tfr__in(in, 3))
        TFR__TRY(tfr__value_ints(in, err, 3, axes, TFR_MAX_RANK, &n));
    else
        for (; n < rank; n++)
            axes[n] = n;
    if (n_pads != 2 * n)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "pads has %u entries, want %u for %u axes",
                               n_pads, 2 * n, n);
    TFR__TRY(tfr__axes(in, err, "axes", axes, n, x->rank));
    TFR__TRY(tfr__want_one(in, err, 2));
    for (uint32_t i = 0; i < n; i++) {
        pads[axes[i]] = given[i];
        pads[(uint32_t)axes[i] + rank] = given[n + i];
    }
    tfr__dims_of(x, &shape);
    for (uint32_t i = 0; i < rank; i++) {
        int64_t begin = pads[i], end = pads[rank + i], dim = x->dims[i];
        TFR__TRY(tfr__add(in, err, "padded dim", dim, begin, &shape.d[i]));
        TFR__TRY(tfr__add(in, err, "padded dim", shape.d[i], end, &shape.d[i]));
        if (shape.d[i] < 0 || dim + (begin < 0 ? begin : 0) < 0 || dim + (end < 0 ? end : 0) < 0)
            return tfr__infer_fail(in, err, TFR_ESHAPE,
                                   "pads %lld and %lld take more than the %lld elements of axis %u",
                                   (long long)begin, (long long)end, (long long)dim, i);
        TFR__TRY(check_pad_mode(in, err, dim, begin, end, i));
    }
    TFR__TRY(tfr__out_dims(in, err, 0, x->dtype, &shape));
    return tfr__attr_set_ints(in->attrs, "pads", pads, 2 * rank, err);
}

tfr_status tfr__infer_center_crop_pad(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    int64_t want[TFR_MAX_RANK], axes[TFR_MAX_RANK];
    uint32_t n_want, n;
    tfr__dims shape;
    TFR__TRY(tfr__value_ints(in, err, 1, want, TFR_MAX_RANK, &n_want));
    TFR__TRY(tfr__attr_list_ints(in, err, "axes", axes, TFR_MAX_RANK, &n));
    if (!tfr__attr_find(in->attrs, "axes"))
        for (; n < (uint32_t)x->rank; n++)
            axes[n] = n;
    if (n != n_want)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "shape has %u entries for %u axes", n_want, n);
    TFR__TRY(tfr__axes(in, err, "axes", axes, n, x->rank));
    tfr__dims_of(x, &shape);
    for (uint32_t i = 0; i < n; i++) {
        if (want[i] < 0)
            return tfr__infer_fail(in, err, TFR_ESHAPE, "shape has the negative dim %lld at %u",
                                   (long long)want[i], i);
        shape.d[axes[i]] = want[i];
    }
    TFR__TRY(tfr__attr_set_ints(in->attrs, "axes", axes, n, err));
    return tfr__out_dims(in, err, 0, x->dtype, &shape);
}

/* The block's size b and area b * b, b >= 1. */
static tfr_status block_size(tfr__infer *in, tfr_err *err, int64_t *b, int64_t *area)
{
    *b = tfr__attr_int(in->attrs, "blocksize", 0);
    if (*b < 1)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "blocksize is %lld, want at least 1",
                               (long long)*b);
    return tfr__mul(in, err, "block", *b, *b, area);
}

tfr_status tfr__infer_depth_to_space(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    int64_t b, area;
    tfr__dims shape;
    TFR__TRY(tfr__want_rank(in, err, 0, 4));
    TFR__TRY(block_size(in, err, &b, &area));
    if (x->dims[1] % area)
        return tfr__infer_fail(in, err, TFR_ESHAPE,
                               "input has %lld channels, no multiple of blocksize^2 = %lld",
                               (long long)x->dims[1], (long long)area);
    tfr__dims_of(x, &shape);
    shape.d[1] /= area;
    TFR__TRY(tfr__mul(in, err, "output height", shape.d[2], b, &shape.d[2]));
    TFR__TRY(tfr__mul(in, err, "output width", shape.d[3], b, &shape.d[3]));
    return tfr__out_dims(in, err, 0, x->dtype, &shape);
}

tfr_status tfr__infer_space_to_depth(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    int64_t b, area;
    tfr__dims shape;
    TFR__TRY(tfr__want_rank(in, err, 0, 4));
    TFR__TRY(block_size(in, err, &b, &area));
    if (x->dims[2] % b || x->dims[3] % b)
        return tfr__infer_fail(in, err, TFR_ESHAPE,
                               "input is %lld x %lld, no multiple of blocksize %lld",
                               (long long)x->dims[2], (long long)x->dims[3], (long long)b);
    tfr__dims_of(x, &shape);
    TFR__TRY(tfr__mul(in, err, "output channels", shape.d[1], area, &shape.d[1]));
    shape.d[2] /= b;
    shape.d[3] /= b;
    return tfr__out_dims(in, err, 0, x->dtype, &shape);
}

tfr_status tfr__infer_reverse_sequence(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    int32_t batch, time;
    TFR__TRY(tfr__want_rank_min(in, err, 0, 2));
    TFR__TRY(tfr__axis_attr(in, err, "batch_axis", x->rank, &batch));
    TFR__TRY(tfr__axis_attr(in, err, "time_axis", x->rank, &time));
    if (batch > 1 || time > 1 || batch == time)
        return tfr__infer_fail(in, err, TFR_EMODEL,
                               "batch_axis is %d and time_axis is %d, want 0 and 1 or 1 and 0",
                               (int)batch, (int)time);
    TFR__TRY(tfr__want_vector(in, err, 1, x->dims[batch], "batch of input"));
    return tfr__out_like(in, err, 0, x->dtype, x);
}

tfr_status tfr__infer_trilu(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    int64_t k = 0;
    TFR__TRY(tfr__want_rank_min(in, err, 0, 2));
    if (tfr__in(in, 1))
        TFR__TRY(tfr__value_int(in, err, 1, &k));
    TFR__TRY(tfr__out_like(in, err, 0, x->dtype, x));
    return tfr__attr_set_int(in->attrs, "k", k, err);
}
