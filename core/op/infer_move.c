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
    TFR__TRY(tfr__value_dims(in, err, 1, "shape", &shape));
    TFR__TRY(tfr__broadcast(in, err, 0, &shape));
    return tfr__out_dims(in, err, 0, tfr__in(in, 0)->dtype, &shape);
}

tfr_status tfr__infer_tile(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    tfr__number repeats[TFR_MAX_RANK] = {{TFR__UNKNOWN, 0}};
    uint32_t n = (uint32_t)x->rank;
    tfr__dims shape = {.rank = x->rank};
    TFR__TRY(tfr__may_pend(in, tfr__value_numbers(in, err, 1, repeats, TFR_MAX_RANK, &n)));
    if (n != (uint32_t)x->rank)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "repeats has %u entries, input has rank %d", n,
                               (int)x->rank);
    for (uint32_t i = 0; i < n; i++) {
        if (repeats[i].what != TFR__KNOWN) {
            shape.d[i] = tfr__dim_of(
                in, tfr__number_mul(in->symbols, tfr__number_of_dim(x->dims[i]), repeats[i]));
            continue;
        }
        if (repeats[i].v < 0)
            return tfr__infer_fail(in, err, TFR_ESHAPE,
                                   "repeats has the negative number %lld at %u",
                                   (long long)repeats[i].v, i);
        TFR__TRY(tfr__mul_dims(in, err, "output dim", x->dims[i], repeats[i].v, &shape.d[i]));
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
            fits = k == axis || !tfr__differ(in, t->dims[k], shape.d[k]);
        if (!fits)
            return tfr__infer_fail(in, err, TFR_ESHAPE,
                                   "input %s has shape %s, want that of the first %s but axis %d",
                                   tfr__in_name(in, i, &name), tfr__type_text(t, &dims),
                                   tfr__type_text(first, &have), (int)axis);
        TFR__TRY(
            tfr__add_dims(in, err, "output dim", shape.d[axis], t->dims[axis], &shape.d[axis]));
        for (int32_t k = 0; k < t->rank; k++)
            if (k != axis)
                shape.d[k] = tfr__meet(shape.d[k], t->dims[k]);
    }
    return tfr__out_dims(in, err, 0, first->dtype, &shape);
}

static void new_parts(const tfr__infer *in, int64_t *parts)
{
    for (uint32_t i = 0; i < in->n_outputs; i++)
        parts[i] = tfr__new_dim(in);
}

/* The lengths that "split" gives, which have to fill the axis. */
static tfr_status given_parts(tfr__infer *in, tfr_err *err, int64_t dim, int64_t *parts)
{
    uint32_t n;
    int64_t sum = 0;
    tfr_status status = tfr__value_ints(in, err, 1, parts, in->n_outputs, &n);
    if (status == TFR__EPENDING && tfr__is_symbolic(in)) {
        new_parts(in, parts);
        return TFR_OK;
    }
    TFR__TRY(status);
    if (n != in->n_outputs)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "split has %u parts, there are %u outputs", n,
                               in->n_outputs);
    for (uint32_t i = 0; i < n; i++) {
        if (parts[i] < 0)
            return tfr__infer_fail(in, err, TFR_ESHAPE, "split has the negative length %lld at %u",
                                   (long long)parts[i], i);
        TFR__TRY(tfr__add(in, err, "sum of split", sum, parts[i], &sum));
    }
    if (tfr__differ(in, sum, dim))
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
    else if (x->dims[axis] >= 0)
        equal_parts(x->dims[axis], n, parts);
    else if (n == 1)
        parts[0] = x->dims[axis];
    else
        new_parts(in, parts);
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

/* What Slice is given; symbolic: as far as it is known. */
typedef struct slice {
    tfr__number v[4][TFR_MAX_RANK]; /* starts, ends, axes, steps */
    uint32_t n;
} slice;

static tfr_status read_slice(tfr__infer *in, tfr_err *err, slice *s)
{
    static const char *const names[4] = {"starts", "ends", "axes", "steps"};
    for (uint32_t k = 0; k < 4; k++) {
        uint32_t n = 0;
        if (!tfr__in(in, k + 1)) {
            for (; n < s->n; n++)
                s->v[k][n] = tfr__number_of(k == 2 ? n : 1);
            continue;
        }
        TFR__TRY(tfr__value_numbers(in, err, k + 1, s->v[k], TFR_MAX_RANK, &n));
        s->n = k ? s->n : n;
        if (n != s->n)
            return tfr__infer_fail(in, err, TFR_ESHAPE, "starts has %u entries, %s has %u", s->n,
                                   names[k], n);
    }
    return TFR_OK;
}

/* The dim that is left where not all of dim, start, end and step are known. */
static int64_t slice_symbolic(const tfr__infer *in, int64_t dim, const slice *s, uint32_t i)
{
    tfr__number start = s->v[0][i], end = s->v[1][i], step = s->v[3][i];
    bool forward = step.what == TFR__KNOWN && step.v == 1 && start.what == TFR__KNOWN && !start.v;
    if (forward && end.what == TFR__KNOWN && end.v > INT64_MAX / 2)
        return dim; /* "to the end" */
    if (forward && end.what == TFR__SYMBOL && end.v == dim)
        return dim;
    if (forward && end.what == TFR__KNOWN && end.v == 0)
        return 0;
    return tfr__new_dim(in);
}

static bool is_known(tfr__number a, tfr__number b, tfr__number c)
{
    return a.what == TFR__KNOWN && b.what == TFR__KNOWN && c.what == TFR__KNOWN;
}

/* The shape if the axes are known. */
static tfr_status slice_axes(tfr__infer *in, tfr_err *err, const slice *s, tfr__dims *shape)
{
    const tfr__type *x = tfr__in(in, 0);
    int64_t starts[TFR_MAX_RANK], ends[TFR_MAX_RANK], steps[TFR_MAX_RANK], axes[TFR_MAX_RANK];
    uint32_t rank = (uint32_t)x->rank;
    for (uint32_t i = 0; i < s->n; i++)
        axes[i] = s->v[2][i].v;
    TFR__TRY(tfr__axes(in, err, "axes", axes, s->n, x->rank));
    for (uint32_t i = 0; i < rank; i++)
        starts[i] = 0, ends[i] = x->dims[i], steps[i] = 1;
    for (uint32_t i = 0; i < s->n; i++) {
        int64_t axis = axes[i], step = s->v[3][i].v;
        if (s->v[3][i].what == TFR__KNOWN && step == 0)
            return tfr__infer_fail(in, err, TFR_ESHAPE, "the step for axis %lld is 0",
                                   (long long)axis);
        if (x->dims[axis] < 0 || !is_known(s->v[0][i], s->v[1][i], s->v[3][i])) {
            shape->d[axis] = slice_symbolic(in, x->dims[axis], s, i);
            continue;
        }
        starts[axis] = s->v[0][i].v, ends[axis] = s->v[1][i].v, steps[axis] = step;
        shape->d[axis] = slice_axis(x->dims[axis], &starts[axis], &ends[axis], step);
    }
    TFR__TRY(tfr__attr_set_ints(in->attrs, "starts", starts, rank, err));
    TFR__TRY(tfr__attr_set_ints(in->attrs, "ends", ends, rank, err));
    return tfr__attr_set_ints(in->attrs, "steps", steps, rank, err);
}

tfr_status tfr__infer_slice(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    slice s;
    tfr__dims shape;
    s.n = 0;
    tfr_status status = read_slice(in, err, &s);
    bool located = !status;
    TFR__TRY(tfr__may_pend(in, status));
    for (uint32_t i = 0; located && i < s.n; i++)
        located = s.v[2][i].what == TFR__KNOWN;
    tfr__dims_of(x, &shape);
    if (located)
        TFR__TRY(slice_axes(in, err, &s, &shape));
    for (int32_t i = 0; !located && i < x->rank; i++)
        shape.d[i] = tfr__new_dim(in);
    return tfr__out_dims(in, err, 0, x->dtype, &shape);
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

/* One padded axis of which all is known. */
static tfr_status pad_axis(tfr__infer *in, tfr_err *err, int64_t dim, int64_t begin, int64_t end,
                           uint32_t axis, int64_t *out)
{
    TFR__TRY(tfr__add(in, err, "padded dim", dim, begin, out));
    TFR__TRY(tfr__add(in, err, "padded dim", *out, end, out));
    if (*out < 0 || dim + (begin < 0 ? begin : 0) < 0 || dim + (end < 0 ? end : 0) < 0)
        return tfr__infer_fail(in, err, TFR_ESHAPE,
                               "pads %lld and %lld take more than the %lld elements of axis %u",
                               (long long)begin, (long long)end, (long long)dim, axis);
    return check_pad_mode(in, err, dim, begin, end, axis);
}

/* Which axes are padded and by how much: begins, then ends. Pends if the axes are not known. */
static tfr_status read_pads(tfr__infer *in, tfr_err *err, tfr__number *pads)
{
    tfr__number given[2 * TFR_MAX_RANK];
    int64_t axes[TFR_MAX_RANK];
    uint32_t n_pads, n = 0, rank = (uint32_t)tfr__in(in, 0)->rank;
    TFR__TRY(tfr__value_numbers(in, err, 1, given, 2 * TFR_MAX_RANK, &n_pads));
    if (tfr__in(in, 3))
        TFR__TRY(tfr__value_ints(in, err, 3, axes, TFR_MAX_RANK, &n));
    else
        for (; n < rank; n++)
            axes[n] = n;
    if (n_pads != 2 * n)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "pads has %u entries, want %u for %u axes",
                               n_pads, 2 * n, n);
    TFR__TRY(tfr__axes(in, err, "axes", axes, n, (int32_t)rank));
    for (uint32_t i = 0; i < 2 * rank; i++)
        pads[i] = tfr__number_of(0);
    for (uint32_t i = 0; i < n; i++) {
        pads[axes[i]] = given[i];
        pads[(uint32_t)axes[i] + rank] = given[n + i];
    }
    return TFR_OK;
}

tfr_status tfr__infer_pad(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    tfr__number pads[2 * TFR_MAX_RANK] = {{TFR__UNKNOWN, 0}};
    int64_t plain[2 * TFR_MAX_RANK];
    uint32_t rank = (uint32_t)x->rank;
    tfr__dims shape;
    TFR__TRY(tfr__may_pend(in, read_pads(in, err, pads)));
    TFR__TRY(tfr__want_one(in, err, 2));
    tfr__dims_of(x, &shape);
    for (uint32_t i = 0; i < rank; i++) {
        tfr__number begin = pads[i], end = pads[rank + i];
        plain[i] = begin.v;
        plain[rank + i] = end.v;
        if (x->dims[i] >= 0 && begin.what == TFR__KNOWN && end.what == TFR__KNOWN)
            TFR__TRY(pad_axis(in, err, x->dims[i], begin.v, end.v, i, &shape.d[i]));
        else
            shape.d[i] =
                tfr__dim_of(in, tfr__number_add(in->symbols, tfr__number_of_dim(x->dims[i]),
                                                tfr__number_add(in->symbols, begin, end)));
    }
    TFR__TRY(tfr__out_dims(in, err, 0, x->dtype, &shape));
    return tfr__attr_set_ints(in->attrs, "pads", plain, 2 * rank, err);
}

tfr_status tfr__infer_center_crop_pad(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    int64_t axes[TFR_MAX_RANK];
    uint32_t n;
    tfr__dims want, shape;
    TFR__TRY(tfr__value_dims(in, err, 1, "shape", &want));
    TFR__TRY(tfr__attr_list_ints(in, err, "axes", axes, TFR_MAX_RANK, &n));
    if (!tfr__attr_find(in->attrs, "axes"))
        for (; n < (uint32_t)x->rank; n++)
            axes[n] = n;
    if (n != (uint32_t)want.rank)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "shape has %d entries for %u axes",
                               (int)want.rank, n);
    TFR__TRY(tfr__axes(in, err, "axes", axes, n, x->rank));
    tfr__dims_of(x, &shape);
    for (uint32_t i = 0; i < n; i++)
        shape.d[axes[i]] = want.d[i];
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
    if (x->dims[1] >= 0 && x->dims[1] % area)
        return tfr__infer_fail(in, err, TFR_ESHAPE,
                               "input has %lld channels, no multiple of blocksize^2 = %lld",
                               (long long)x->dims[1], (long long)area);
    tfr__dims_of(x, &shape);
    shape.d[1] = shape.d[1] < 0 ? tfr__dim_div(in, shape.d[1], area) : shape.d[1] / area;
    TFR__TRY(tfr__mul_dims(in, err, "output height", shape.d[2], b, &shape.d[2]));
    TFR__TRY(tfr__mul_dims(in, err, "output width", shape.d[3], b, &shape.d[3]));
    return tfr__out_dims(in, err, 0, x->dtype, &shape);
}

tfr_status tfr__infer_space_to_depth(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    int64_t b, area;
    tfr__dims shape;
    TFR__TRY(tfr__want_rank(in, err, 0, 4));
    TFR__TRY(block_size(in, err, &b, &area));
    if ((x->dims[2] >= 0 && x->dims[2] % b) || (x->dims[3] >= 0 && x->dims[3] % b))
        return tfr__infer_fail(in, err, TFR_ESHAPE,
                               "input is %lld x %lld, no multiple of blocksize %lld",
                               (long long)x->dims[2], (long long)x->dims[3], (long long)b);
    tfr__dims_of(x, &shape);
    TFR__TRY(tfr__mul_dims(in, err, "output channels", shape.d[1], area, &shape.d[1]));
    for (int i = 2; i < 4; i++)
        shape.d[i] = shape.d[i] < 0 ? tfr__dim_div(in, shape.d[i], b) : shape.d[i] / b;
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
        TFR__TRY(tfr__may_pend(in, tfr__value_int(in, err, 1, &k)));
    TFR__TRY(tfr__out_like(in, err, 0, x->dtype, x));
    return tfr__attr_set_int(in->attrs, "k", k, err);
}
