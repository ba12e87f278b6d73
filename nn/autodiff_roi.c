/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autodiff_roi.c: MaxRoiPool by X; its regions are rounded, so nothing flows to them.
 *
 * X is a list of N*H*W pixels of C channels, with a pixel of zeros behind the last, which bins
 * without elements read. The pixels of a bin are found as plugins/naive/roi.c does, in double;
 * smaller bins repeat their last row and column until all are as high and wide as the largest,
 * which changes neither the largest element nor which is the first such. g goes to that one.
 */
#include "autodiff.h"

static tfr_value one_int(tfr__diff *d, int64_t value)
{
    return tfr__diff_ints(d, &value, 1);
}

static tfr_value cast(tfr__diff *d, tfr_value v, tfr_dtype dtype)
{
    const tfr_attr to[] = {TFR_SET_INT("to", dtype)};
    return tfr__diff_node(d, "Cast", &v, 1, to, 1);
}

static tfr_value unsqueeze(tfr__diff *d, tfr_value v, const int64_t *axes, int64_t n)
{
    return tfr__diff_op2(d, "Unsqueeze", v, tfr__diff_ints(d, axes, n));
}

static tfr_value transpose(tfr__diff *d, tfr_value v, const int64_t perm[4])
{
    const tfr_attr attr = {
        .size = sizeof attr, .type = TFR_ATTR_INTS, .name = "perm", .n = 4, .ints = perm};
    return tfr__diff_node(d, "Transpose", &v, 1, &attr, 1);
}

/* 0, 1... below a scalar of int64, in double. */
static tfr_value count_to(tfr__diff *d, tfr_value end)
{
    tfr_value zero = tfr__diff_int_scalar(d, 0), one = tfr__diff_int_scalar(d, 1);
    return cast(d, tfr__diff_op3(d, "Range", zero, end, one), TFR_DTYPE_F64);
}

/* Column i of the regions [R 5] as [R 1], in double. */
static tfr_value column(tfr__diff *d, int64_t i)
{
    const tfr_attr axis[] = {TFR_SET_INT("axis", 1)};
    tfr_value in[] = {tfr__diff_in(d, 1), one_int(d, i)};
    return cast(d, tfr__diff_node(d, "Gather", in, 2, axis, 1), TFR_DTYPE_F64);
}

/* Column i, scaled and rounded half away from 0, which Round does not do. */
static tfr_value edge(tfr__diff *d, int64_t i)
{
    tfr_value v = column(d, i), whole, rest;
    v = tfr__diff_op2(d, "Mul", v,
                      tfr__diff_scalar(d, (double)tfr__diff_float(d, "spatial_scale", 1), v));
    rest = tfr__diff_op1(d, "Abs", v);
    whole = tfr__diff_op1(d, "Floor", rest);
    rest = tfr__diff_op2(d, "Sub", rest, whole);
    rest = tfr__diff_op1(d, "Floor", tfr__diff_op2(d, "Add", rest, rest));
    return tfr__diff_op2(d, "Mul", tfr__diff_op1(d, "Sign", v),
                         tfr__diff_op2(d, "Add", whole, rest));
}

/* [R bins] of distances from begin [R 1], as numbers in 0...length. */
static tfr_value inside(tfr__diff *d, tfr_value v, tfr_value begin, tfr_value length)
{
    v = tfr__diff_op2(d, "Add", v, begin);
    v = tfr__diff_op2(d, "Max", v, tfr__diff_scalar(d, 0, v));
    return tfr__diff_op2(d, "Min", v, length);
}

/*
 * Along axis 2 + `which` of X: the rows or columns of each bin [R bins most], most being the
 * number of those of the largest; and which bins have none [R bins].
 */
static tfr_value bins_of(tfr__diff *d, int32_t which, tfr_value *is_empty)
{
    static const int64_t last[] = {2};
    const tfr_attr *shape = tfr_node_attr(&d->node, "pooled_shape");
    const int64_t bins = shape ? shape->ints[which] : 1;
    const tfr_attr flat[] = {TFR_SET_INT("keepdims", 0)};
    tfr_value begin = edge(d, 2 - which), length, size, one, i, low, high, most;
    one = tfr__diff_scalar(d, 1, begin);
    length = cast(d, tfr__diff_dims(d, tfr__diff_in(d, 0), 2 + which, 3 + which), TFR_DTYPE_F64);
    size = tfr__diff_op2(d, "Sub", edge(d, 4 - which), begin);
    size = tfr__diff_op2(d, "Max", tfr__diff_op2(d, "Add", size, one), one);
    size = tfr__diff_op2(d, "Div", size, tfr__diff_scalar(d, (double)bins, size));
    i = count_to(d, tfr__diff_int_scalar(d, bins));
    low = tfr__diff_op1(d, "Floor", tfr__diff_op2(d, "Mul", i, size));
    low = inside(d, low, begin, length);
    i = tfr__diff_op2(d, "Add", i, one);
    high = tfr__diff_op1(d, "Ceil", tfr__diff_op2(d, "Mul", i, size));
    high = inside(d, high, begin, length);
    *is_empty = tfr__diff_op2(d, "LessOrEqual", high, low);
    most = tfr__diff_op2(d, "Sub", high, low);
    most = tfr__diff_op2(d, "Max", tfr__diff_node(d, "ReduceMax", &most, 1, flat, 1), one);
    i = tfr__diff_op2(d, "Add", unsqueeze(d, low, last, 1),
                      count_to(d, cast(d, most, TFR_DTYPE_I64)));
    high = unsqueeze(d, tfr__diff_op2(d, "Sub", high, one), last, 1);
    return cast(d, tfr__diff_op2(d, "Min", i, high), TFR_DTYPE_I64);
}

/* The numbers of the pixels of each bin [R PH PW pixels]; `behind` for a bin that has none. */
static tfr_value pixels_of(tfr__diff *d, tfr_value behind)
{
    static const int64_t axes[2][2] = {{2, 4}, {1, 3}}, /* in [R PH PW rows columns] */
        empty_axes[2][3] = {{2, 3, 4}, {1, 3, 4}}, batch_axes[] = {2, 3, 4};
    tfr_value n = cast(d, column(d, 0), TFR_DTYPE_I64), empty[2], at, lists[2];
    n = unsqueeze(d, n, batch_axes, 3);
    for (int32_t i = 0; i < 2; i++) {
        at = unsqueeze(d, bins_of(d, i, &empty[i]), axes[i], 2);
        empty[i] = unsqueeze(d, empty[i], empty_axes[i], 3);
        n = tfr__diff_op2(d, "Mul", n, tfr__diff_dims(d, tfr__diff_in(d, 0), 2 + i, 3 + i));
        n = tfr__diff_op2(d, "Add", n, at);
    }
    n = tfr__diff_op3(d, "Where", tfr__diff_op2(d, "Or", empty[0], empty[1]), behind, n);
    lists[0] = tfr__diff_dims(d, n, 0, 3);
    lists[1] = tfr__diff_dims_product(d, n, 3, 0);
    return tfr__diff_reshape(d, n, tfr__diff_join(d, lists, 2));
}

void tfr__diff_max_roi_pool(tfr__diff *d, tfr_value g)
{
    static const int64_t inner[] = {0, 2, 3, 1}, outer[] = {0, 3, 1, 2};
    const tfr_attr by_pixel[] = {TFR_SET_INT("axis", 0)}, in_bin[] = {TFR_SET_INT("axis", 3)};
    const tfr_attr largest[] = {TFR_SET_INT("axis", 3), TFR_SET_INT("keepdims", 0)};
    const tfr_attr sum[] = {TFR_SET_INT("axis", 0), TFR_SET_STRING("reduction", "add")};
    tfr_value x = tfr__diff_in(d, 0), zero = tfr__diff_scalar(d, 0, x), moved, n, channels, shape,
              in[4], at, list;
    if (!tfr__diff_wants(d, 0))
        return;
    moved = transpose(d, x, inner);
    channels = tfr__diff_dims(d, x, 1, 2);
    n = tfr__diff_op2(d, "Mul", tfr__diff_dims(d, x, 0, 1), tfr__diff_dims_product(d, x, 2, 0));
    in[0] = n;
    in[1] = channels;
    list = tfr__diff_reshape(d, moved, tfr__diff_join(d, in, 2));
    in[0] = one_int(d, 1);
    in[0] = tfr__diff_op2(d, "Expand", zero, tfr__diff_join(d, in, 2));
    list = tfr__diff_join(d, (const tfr_value[]){list, in[0]}, 2); /* [N*H*W + 1, C] */

    at = pixels_of(d, n);
    in[0] = tfr__diff_node(d, "Gather", (const tfr_value[]){list, at}, 2, by_pixel, 1);
    in[1] = tfr__diff_node(d, "ArgMax", in, 1, largest, 2);
    at = tfr__diff_node(d, "GatherElements", (const tfr_value[]){at, in[1]}, 2, in_bin, 1);
    in[0] = tfr__diff_dims_product(d, at, 0, 3);
    in[1] = channels;
    shape = tfr__diff_join(d, in, 2); /* [R*PH*PW, C] */

    in[0] = tfr__diff_op2(d, "Expand", zero, tfr__diff_shape_of(d, list));
    in[1] = tfr__diff_reshape(d, at, shape);
    in[2] = tfr__diff_reshape(d, transpose(d, g, inner), shape);
    in[0] = tfr__diff_node(d, "ScatterElements", in, 3, sum, 2);
    in[1] = one_int(d, 0);
    in[2] = n;
    in[3] = one_int(d, 0);
    list = tfr__diff_node(d, "Slice", in, 4, NULL, 0); /* without the pixel of zeros */
    tfr__diff_give(d, 0, transpose(d, tfr__diff_reshape_like(d, list, moved), outer));
}
