/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autodiff_linear.c: ops that are linear in their first input and more than moves: Resize that
 * interpolates, AffineGrid, Col2Im, DFT; and STFT and CausalConvWithState, which are made of such.
 */
#include <string.h>
#include <tfrun/fail.h>

#include "autodiff.h"

/* A square matrix of ones on the diagonal, n a list of one, in the type of like. */
static tfr_value eye(tfr__diff *d, tfr_value n, tfr_value m, tfr_value like)
{
    tfr_value zeros = tfr__diff_op2(d, "Expand", tfr__diff_scalar(d, 0, like),
                                    tfr__diff_join(d, (const tfr_value[]){n, m}, 2));
    return tfr__diff_op1(d, "EyeLike", zeros);
}

static tfr_value one_int(tfr__diff *d, int64_t value)
{
    return tfr__diff_ints(d, &value, 1);
}

/* Elements [start, end) of the first axis. */
static tfr_value part(tfr__diff *d, tfr_value list, int64_t start, int64_t end)
{
    return tfr__diff_op3(d, "Slice", list, one_int(d, start), one_int(d, end));
}

static tfr_value permuted(tfr__diff *d, tfr_value v, const int64_t *perm, uint32_t n)
{
    const tfr_attr attr = {
        .size = sizeof attr, .type = TFR_ATTR_INTS, .name = "perm", .n = n, .ints = perm};
    return tfr__diff_node(d, "Transpose", &v, 1, &attr, 1);
}

/* ---- Resize ---------------------------------------------------------------------------------- */

/* Element i of a constant list of floats, or -1. */
static double known_scale(const tfr__diff *d, tfr_value list, int32_t i)
{
    tfr_value_view view = {.size = sizeof view};
    if (list == TFR_VALUE_NONE || tfr_graph_value(d->graph, list, &view, NULL) || !view.tensor ||
        view.role != TFR_ROLE_CONSTANT || tfr_tensor_dtype(view.tensor) != TFR_DTYPE_F32 ||
        i >= tfr_tensor_elements(view.tensor))
        return -1;
    return (double)((const float *)tfr_tensor_data(view.tensor))[i];
}

/* Does the node leave this axis, entry i of its lists, as it is? */
static bool keeps_axis(const tfr__diff *d, int32_t i, int32_t axis)
{
    const char *crop = "tf_crop_and_resize";
    tfr_value sizes = tfr__diff_in(d, 3);
    tfr__diff_fact x = tfr__diff_fact_of(d, tfr__diff_in(d, 0)),
                   y = tfr__diff_fact_of(d, tfr__diff_out(d));
    if (tfr__diff_is(d, "coordinate_transformation_mode", "half_pixel", crop))
        return false;
    if (sizes == TFR_VALUE_NONE)
        return known_scale(d, tfr__diff_in(d, 2), i) == 1;
    return y.rank == x.rank && x.dims[axis] >= 0 && x.dims[axis] == y.dims[axis];
}

/*
 * What an axis does to its elements, as a matrix [n, m]: Resize of the unit vectors. Entry i of the
 * node's `entries` lists is of that axis.
 */
static tfr_value resize_matrix(tfr__diff *d, int32_t i, int32_t entries, int32_t axis)
{
    const int64_t along = 1;
    tfr_value x = tfr__diff_in(d, 0), in[4], n, ends[2];
    tfr_attr attrs[TFR__DIFF_ATTRS], kept[TFR__DIFF_ATTRS + 1];
    uint32_t n_attrs = tfr__diff_attrs(d, "axes", attrs), n_kept = 0;
    for (uint32_t k = 0; k < n_attrs; k++)
        if (strcmp(attrs[k].name, "extrapolation_value") != 0)
            kept[n_kept++] = attrs[k];
    kept[n_kept++] = (tfr_attr){
        .size = sizeof(tfr_attr), .type = TFR_ATTR_INTS, .name = "axes", .n = 1, .ints = &along};
    n = tfr__diff_dims(d, x, axis, axis + 1);
    in[0] = eye(d, n, n, x);
    in[1] = tfr__diff_in(d, 1);
    if (in[1] != TFR_VALUE_NONE &&
        tfr__diff_is(d, "coordinate_transformation_mode", "half_pixel", "tf_crop_and_resize")) {
        ends[0] = part(d, in[1], i, i + 1);
        ends[1] = part(d, in[1], entries + i, entries + i + 1);
        in[1] = tfr__diff_join(d, ends, 2);
    } else {
        in[1] = TFR_VALUE_NONE;
    }
    for (uint32_t k = 2; k < 4; k++) {
        in[k] = tfr__diff_in(d, k);
        if (in[k] != TFR_VALUE_NONE)
            in[k] = part(d, in[k], i, i + 1);
    }
    return tfr__diff_node(d, "Resize", in, d->node.n_inputs, kept, n_kept);
}

/* Does one scale of its sizes go for all axes? Models say "no sizes" with an empty list, too. */
static bool keeps_ratio(const tfr__diff *d)
{
    const tfr__diff_fact sizes = tfr__diff_fact_of(d, tfr__diff_in(d, 3));
    return tfr__diff_in(d, 3) != TFR_VALUE_NONE && !(sizes.rank == 1 && sizes.dims[0] == 0) &&
           !tfr__diff_is(d, "keep_aspect_ratio_policy", "stretch", "stretch");
}

/* v times the transposed matrix along one axis of rank. */
static tfr_value along_axis(tfr__diff *d, tfr_value v, tfr_value matrix, int32_t axis, int32_t rank)
{
    static const int64_t swap[] = {1, 0};
    int64_t perm[TFR_MAX_RANK];
    for (int32_t i = 0; i < rank; i++)
        perm[i] = i == axis ? rank - 1 : i == rank - 1 ? axis : i;
    matrix = permuted(d, matrix, swap, 2);
    if (axis == rank - 1)
        return tfr__diff_op2(d, "MatMul", v, matrix);
    v = tfr__diff_op2(d, "MatMul", permuted(d, v, perm, (uint32_t)rank), matrix);
    return permuted(d, v, perm, (uint32_t)rank);
}

/* nearest moves elements; else each axis has its matrix. */
void tfr__diff_resize(tfr__diff *d, tfr_value g)
{
    const tfr_attr *axes = tfr_node_attr(&d->node, "axes");
    const int32_t rank = tfr__diff_fact_of(d, tfr__diff_in(d, 0)).rank;
    const int32_t n = axes ? (int32_t)axes->n : rank;
    if (tfr__diff_is(d, "mode", "nearest", "nearest")) {
        tfr__diff_moved(d, g);
        return;
    }
    if (rank < 0)
        tfr__diff_refuse(d, "the rank of its X is not known");
    for (int32_t i = 0; i < n && tfr__diff_wants(d, 0); i++) {
        int32_t axis = axes ? (int32_t)axes->ints[i] : i;
        axis += axis < 0 ? rank : 0;
        if (axis < 0 || axis >= rank)
            continue;
        if (keeps_ratio(d))
            g = along_axis(d, g, tfr__diff_resize_weights(d, i, n, axis), axis, rank);
        else if (!keeps_axis(d, i, axis))
            g = along_axis(d, g, resize_matrix(d, i, n, axis), axis, rank);
    }
    if (tfr__diff_wants(d, 0))
        tfr__diff_give(d, 0, g);
}

/* ---- AffineGrid, Col2Im ---------------------------------------------------------------------- */

/* grid = theta (place, 1), places [P, R] being those of one image that theta leaves as it is. */
void tfr__diff_affine_grid(tfr__diff *d, tfr_value g)
{
    static const int64_t swap[] = {0, 2, 1};
    const int64_t first = 0, ones[] = {1, 1};
    const tfr_attr last[] = {TFR_SET_INT("axis", 1)};
    tfr_attr attrs[TFR__DIFF_ATTRS];
    uint32_t n = tfr__diff_attrs(d, NULL, attrs);
    tfr_value theta = tfr__diff_in(d, 0), r = tfr__diff_dims(d, theta, 1, 2), in[2], base, lists[3];
    if (!tfr__diff_wants(d, 0))
        return;
    in[0] = eye(d, r, tfr__diff_dims(d, theta, 2, 3), theta);
    in[0] = tfr__diff_op2(d, "Unsqueeze", in[0], tfr__diff_ints(d, &first, 1));
    lists[0] = tfr__diff_ints(d, ones, 2);
    lists[1] = part(d, tfr__diff_in(d, 1), 2, INT64_MAX);
    in[1] = tfr__diff_join(d, lists, 2);
    base = tfr__diff_node(d, "AffineGrid", in, 2, attrs, n);
    lists[0] = tfr__diff_op1(d, "ReduceProd", lists[1]);
    lists[1] = r;
    base = tfr__diff_reshape(d, base, tfr__diff_join(d, lists, 2));
    lists[1] = one_int(d, 1);
    in[0] = base;
    in[1] = tfr__diff_op2(d, "Expand", tfr__diff_scalar(d, 1, theta), tfr__diff_join(d, lists, 2));
    base = tfr__diff_node(d, "Concat", in, 2, last, 1);
    lists[1] = lists[0];
    lists[0] = tfr__diff_dims(d, theta, 0, 1);
    lists[2] = r;
    g = tfr__diff_reshape(d, g, tfr__diff_join(d, lists, 3));
    tfr__diff_give(d, 0, tfr__diff_op2(d, "MatMul", permuted(d, g, swap, 3), base));
}

/* Each tap of a block is a filter of one plane with a single 1. */
void tfr__diff_col2im(tfr__diff *d, tfr_value g)
{
    tfr_attr attrs[TFR__DIFF_ATTRS];
    uint32_t n = tfr__diff_attrs(d, NULL, attrs);
    tfr_value x = tfr__diff_in(d, 0), block = tfr__diff_in(d, 2), lists[3], filters, in[2];
    const tfr_attr keep[] = {TFR_SET_INT("keepdims", 1)};
    tfr_value taps = tfr__diff_node(d, "ReduceProd", &block, 1, keep, 1);
    if (!tfr__diff_wants(d, 0))
        return;
    filters = eye(d, taps, taps, x);
    lists[0] = taps;
    lists[1] = one_int(d, 1);
    lists[2] = block;
    filters = tfr__diff_reshape(d, filters, tfr__diff_join(d, lists, 3));
    lists[0] = tfr__diff_dims_product(d, g, 0, 2);
    lists[2] = tfr__diff_dims(d, g, 2, 0);
    in[0] = tfr__diff_reshape(d, g, tfr__diff_join(d, lists, 3));
    in[1] = filters;
    g = tfr__diff_node(d, "Conv", in, 2, attrs, n);
    tfr__diff_give(d, 0, tfr__diff_reshape_like(d, g, x));
}

/* ---- Fourier --------------------------------------------------------------------------------- */

/* Of a real signal of N elements from half a spectrum: all bins but the first, and that in the
 * middle, count twice. Shaped so that it broadcasts along axis. */
static tfr_value bin_weights(tfr__diff *d, tfr_value v, tfr_value axis, tfr_value n, tfr_value like)
{
    tfr_value rank = tfr__diff_op1(d, "Size", tfr__diff_shape_of(d, v)), behind, lists[2], k, edge;
    tfr_value zero = tfr__diff_int_scalar(d, 0), one = tfr__diff_int_scalar(d, 1);
    lists[0] = tfr__diff_op2(d, "Gather", tfr__diff_shape_of(d, v), axis);
    k = tfr__diff_op3(d, "Range", zero, tfr__diff_op2(d, "Squeeze", lists[0], one_int(d, 0)), one);
    edge = tfr__diff_op2(d, "Equal", tfr__diff_op2(d, "Add", k, k), n);
    edge = tfr__diff_op2(d, "Or", edge, tfr__diff_op2(d, "Equal", k, zero));
    k = tfr__diff_op3(d, "Where", edge, tfr__diff_scalar(d, 1, like), tfr__diff_scalar(d, 2, like));
    behind = tfr__diff_op2(d, "Mod", axis, rank); /* counted from the front */
    behind = tfr__diff_op2(d, "Sub", tfr__diff_op2(d, "Sub", rank, one), behind);
    lists[1] = tfr__diff_op2(d, "Expand", one_int(d, 1), behind);
    return tfr__diff_reshape(d, k, tfr__diff_join(d, lists, 2));
}

/*
 * With F the transform of N elements, y = F x has the gradient F^H g = N times the inverse
 * transform of g; the inverse F g / N. Behind N, x is cut off or filled with 0, and so is the
 * gradient; a real x gets the real part.
 */
void tfr__diff_dft(tfr__diff *d, tfr_value g)
{
    const bool inverse = tfr__diff_int(d, "inverse", 0) != 0,
               half = tfr__diff_int(d, "onesided", 0) != 0;
    const tfr_attr attrs[] = {TFR_SET_INT("inverse", !inverse),
                              TFR_SET_INT("onesided", inverse && half)};
    tfr_value x = tfr__diff_in(d, 0), given = tfr__diff_in(d, 1), axis = tfr__diff_in(d, 2), n,
              length, in[4];
    const tfr_attr to[] = {TFR_SET_INT("to", TFR_DTYPE_I64)};
    if (!tfr__diff_wants(d, 0))
        return;
    if (axis == TFR_VALUE_NONE)
        axis = one_int(d, -2);
    axis = tfr__diff_reshape(d, axis, one_int(d, 1));
    length = tfr__diff_op2(d, "Gather", tfr__diff_shape_of(d, x), axis);
    n = length;
    if (given != TFR_VALUE_NONE)
        n = tfr__diff_reshape(d, tfr__diff_node(d, "Cast", &given, 1, to, 1), one_int(d, 1));
    else if (inverse && half)
        n = tfr__diff_op2(d, "Mul", tfr__diff_op2(d, "Sub", length, one_int(d, 1)), one_int(d, 2));
    in[0] = g;
    in[1] = tfr__diff_op2(d, "Squeeze", n, one_int(d, 0));
    in[2] = tfr__diff_op2(d, "Squeeze", axis, one_int(d, 0));
    g = tfr__diff_node(d, "DFT", in, 3, attrs, 2);
    if (inverse && half)
        g = tfr__diff_op2(d, "Mul", g, bin_weights(d, g, axis, n, x));
    g = tfr__diff_op2(d, inverse ? "Div" : "Mul", g, tfr__diff_op2(d, "CastLike", in[1], x));
    in[0] = g; /* as long as x */
    in[1] = tfr__diff_op2(d, "Gather", tfr__diff_shape_of(d, g), axis);
    in[1] = tfr__diff_join(
        d, (const tfr_value[]){one_int(d, 0), tfr__diff_op2(d, "Sub", length, in[1])}, 2);
    in[2] = TFR_VALUE_NONE;
    in[3] = axis;
    g = tfr__diff_node(d, "Pad", in, 4, NULL, 0);
    in[0] = g; /* the real part alone if x is real */
    in[1] = one_int(d, 0);
    in[2] = tfr__diff_dims(d, x, -1, 0);
    in[3] = one_int(d, -1);
    tfr__diff_give(d, 0, tfr__diff_node(d, "Slice", in, 4, NULL, 0));
}

/* Frame f of n elements begins at f * step; each is multiplied by the window and transformed. */
void tfr__diff_stft(tfr__diff *d, tfr_value g)
{
    const uint32_t first = tfr_graph_n_nodes(d->graph);
    const tfr_attr to[] = {TFR_SET_INT("to", TFR_DTYPE_I64)}, along[] = {TFR_SET_INT("axis", 1)};
    const tfr_attr half[] = {TFR_SET_INT("onesided", tfr__diff_int(d, "onesided", 1))};
    tfr_value window = tfr__diff_in(d, 2), n = tfr__diff_in(d, 3), step = tfr__diff_in(d, 1), in[2],
              frames, zero = tfr__diff_int_scalar(d, 0), one = tfr__diff_int_scalar(d, 1), at, out,
              empty = tfr__diff_ints(d, NULL, 0);
    (void)g;
    n = n != TFR_VALUE_NONE ? tfr__diff_node(d, "Cast", &n, 1, to, 1)
                            : tfr__diff_dims(d, window, 0, 1);
    n = tfr__diff_reshape(d, n, empty);
    step = tfr__diff_reshape(d, tfr__diff_node(d, "Cast", &step, 1, to, 1), empty);
    frames = tfr__diff_dims(d, tfr__diff_out(d), 1, 2);
    at = tfr__diff_op3(d, "Range", zero, tfr__diff_reshape(d, frames, empty), one);
    at = tfr__diff_op2(d, "Mul", tfr__diff_op2(d, "Unsqueeze", at, one_int(d, 1)), step);
    at = tfr__diff_op2(d, "Add", at, tfr__diff_op3(d, "Range", zero, n, one));
    in[0] = tfr__diff_in(d, 0);
    in[1] = at;
    out = tfr__diff_node(d, "Gather", in, 2, along, 1); /* [B F N 1 or 2] */
    if (window != TFR_VALUE_NONE)
        out = tfr__diff_op2(d, "Mul", out, tfr__diff_op2(d, "Unsqueeze", window, one_int(d, 1)));
    out = tfr__diff_node(d, "DFT", &out, 1, half, 1);
    tfr__diff_through(d, first, &out);
}

/* ---- CausalConvWithState --------------------------------------------------------------------- */

/* y[b,c,l] = sum over j of weight[c,0,j] padded[b,c,l+j] + bias[c], then activated */
void tfr__diff_causal_conv(tfr__diff *d, tfr_value g)
{
    const uint32_t first = tfr_graph_n_nodes(d->graph);
    const tfr_attr along[] = {TFR_SET_INT("axis", 2)};
    const int64_t last = -1;
    tfr_value x = tfr__diff_in(d, 0), weight = tfr__diff_in(d, 1), bias = tfr__diff_in(d, 2),
              past = tfr__diff_in(d, 3), k = tfr__diff_dims(d, weight, 2, 3),
              zero = tfr__diff_int_scalar(d, 0), one = tfr__diff_int_scalar(d, 1), in[4], at, out,
              padded, outs[2], empty = tfr__diff_ints(d, NULL, 0), length;
    (void)g;
    if (past == TFR_VALUE_NONE) {
        in[0] = tfr__diff_dims(d, x, 0, 2);
        in[1] = tfr__diff_op2(d, "Sub", k, one_int(d, 1));
        past = tfr__diff_op2(d, "Expand", tfr__diff_scalar(d, 0, x), tfr__diff_join(d, in, 2));
    }
    in[0] = past;
    in[1] = x;
    padded = tfr__diff_node(d, "Concat", in, 2, along, 1);
    length = tfr__diff_dims(d, x, 2, 3);
    at = tfr__diff_op3(d, "Range", zero, tfr__diff_reshape(d, length, empty), one);
    at = tfr__diff_op2(d, "Unsqueeze", at, one_int(d, 1));
    out = tfr__diff_op3(d, "Range", zero, tfr__diff_reshape(d, k, empty), one);
    in[0] = padded;
    in[1] = tfr__diff_op2(d, "Add", at, out);
    out = tfr__diff_node(d, "Gather", in, 2, along, 1); /* [B C L k] */
    out = tfr__diff_sum_axes(d, tfr__diff_op2(d, "Mul", out, weight), &last, 1, false);
    if (bias != TFR_VALUE_NONE)
        out = tfr__diff_op2(d, "Add", out, tfr__diff_op2(d, "Unsqueeze", bias, one_int(d, 1)));
    if (!tfr__diff_is(d, "activation", "none", "none"))
        out = tfr__diff_op2(d, "Mul", out, tfr__diff_op1(d, "Sigmoid", out));
    in[0] = padded;
    in[1] = length;
    in[2] = one_int(d, INT64_MAX);
    in[3] = one_int(d, 2);
    outs[0] = out;
    outs[1] = tfr__diff_node(d, "Slice", in, 4, NULL, 0);
    tfr__diff_through(d, first, outs);
}
