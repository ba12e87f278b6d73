/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autodiff_sample.c: ops that read X between its elements, written with ordinary ops, which are
 * differentiated in their place: GridSample, RoiAlign and DeformConv, by X and by the places.
 * Places P are one list for each image; the elements around each, the taps, have a number in the
 * plane and a weight:
 *
 *   y[n,p,:] = sum over taps of weight[n,p] X[n,:,number[n,p]]
 */
#include <math.h>
#include <string.h>

#include "autodiff.h"

enum { MOST_AXES = 3, MOST_TAPS = 4 };

typedef struct sampler {
    tfr__diff *d;
    tfr_value like;              /* whose type places and weights have */
    tfr_value x;                 /* [N plane C] */
    tfr_value length[MOST_AXES]; /* of the axes of X, in the type of like */
    int32_t axes;
    uint32_t n_taps;                      /* along an axis */
    tfr_value at[MOST_AXES][MOST_TAPS];   /* numbers along an axis, inside of X, as like */
    tfr_value part[MOST_AXES][MOST_TAPS]; /* weights, 0 where a tap is outside */
} sampler;

/* ---- arithmetic ------------------------------------------------------------------------------ */

static tfr_value add(const sampler *s, tfr_value a, tfr_value b)
{
    return tfr__diff_op2(s->d, "Add", a, b);
}

static tfr_value sub(const sampler *s, tfr_value a, tfr_value b)
{
    return tfr__diff_op2(s->d, "Sub", a, b);
}

static tfr_value mul(const sampler *s, tfr_value a, tfr_value b)
{
    return tfr__diff_op2(s->d, "Mul", a, b);
}

static tfr_value divided(const sampler *s, tfr_value a, tfr_value b)
{
    return tfr__diff_op2(s->d, "Div", a, b);
}

static tfr_value number(const sampler *s, double value)
{
    return tfr__diff_scalar(s->d, value, s->like);
}

static tfr_value compare(const sampler *s, const char *op, tfr_value a, tfr_value b)
{
    return tfr__diff_op2(s->d, op, a, b);
}

static tfr_value where(const sampler *s, tfr_value condition, tfr_value a, tfr_value b)
{
    return tfr__diff_op3(s->d, "Where", condition, a, b);
}

static tfr_value clamp(const sampler *s, tfr_value v, tfr_value low, tfr_value high)
{
    return tfr__diff_op2(s->d, "Min", tfr__diff_op2(s->d, "Max", v, low), high);
}

static tfr_value op1(const sampler *s, const char *op, tfr_value v)
{
    return tfr__diff_op1(s->d, op, v);
}

static tfr_value one_int(tfr__diff *d, int64_t value)
{
    return tfr__diff_ints(d, &value, 1);
}

static tfr_value as_like(const sampler *s, tfr_value v)
{
    return tfr__diff_op2(s->d, "CastLike", v, s->like);
}

/* A scalar of the type of like, of a list of one integer. */
static tfr_value from_list(const sampler *s, tfr_value list)
{
    return as_like(s, tfr__diff_reshape(s->d, list, tfr__diff_ints(s->d, NULL, 0)));
}

static tfr_value permuted(tfr__diff *d, tfr_value v, const int64_t *perm, uint32_t n)
{
    const tfr_attr attr = {
        .size = sizeof attr, .type = TFR_ATTR_INTS, .name = "perm", .n = n, .ints = perm};
    return tfr__diff_node(d, "Transpose", &v, 1, &attr, 1);
}

/* 0, 1... below a list of one, in the type of like. */
static tfr_value count_to(const sampler *s, tfr_value list)
{
    tfr_value end = tfr__diff_reshape(s->d, list, tfr__diff_ints(s->d, NULL, 0));
    return as_like(s, tfr__diff_op3(s->d, "Range", tfr__diff_int_scalar(s->d, 0), end,
                                    tfr__diff_int_scalar(s->d, 1)));
}

/* ---- sums of taps ---------------------------------------------------------------------------- */

/* X [N C plane...] for the sampler; places will have the type of like. */
static bool start(sampler *s, tfr__diff *d, tfr_value like)
{
    static const int64_t swap[] = {0, 2, 1};
    tfr_value x = tfr__diff_in(d, 0), lists[2];
    const int32_t rank = tfr__diff_fact_of(d, x).rank;
    memset(s, 0, sizeof *s);
    s->d = d;
    s->like = like;
    s->axes = rank - 2;
    if (rank < 3 || s->axes > MOST_AXES) {
        tfr__diff_refuse(d, "its X is not known to have one to three spatial axes");
        return false;
    }
    lists[0] = tfr__diff_dims(d, x, 0, 2);
    lists[1] = tfr__diff_dims_product(d, x, 2, 0);
    s->x = permuted(d, tfr__diff_reshape(d, x, tfr__diff_join(d, lists, 2)), swap, 3);
    for (int32_t i = 0; i < s->axes; i++)
        s->length[i] = from_list(s, tfr__diff_dims(d, x, 2 + i, 3 + i));
    return !d->status;
}

/* Tap t of an axis: element number i, which is not inside of X everywhere. */
static void set_tap(sampler *s, int32_t axis, uint32_t t, tfr_value i, tfr_value weight)
{
    tfr_value zero = number(s, 0), last = sub(s, s->length[axis], number(s, 1));
    tfr_value inside = tfr__diff_op2(s->d, "And", compare(s, "GreaterOrEqual", i, zero),
                                     compare(s, "LessOrEqual", i, last));
    s->at[axis][t] = clamp(s, i, zero, last);
    s->part[axis][t] = where(s, inside, weight, zero);
}

/* The number in the plane and the weight of one of the n_taps^axes combinations. */
static void combine(const sampler *s, uint32_t which, tfr_value *at, tfr_value *weight)
{
    for (int32_t i = 0; i < s->axes; i++, which /= s->n_taps) {
        tfr_value here = s->at[i][which % s->n_taps], part = s->part[i][which % s->n_taps];
        *at = i ? add(s, mul(s, *at, s->length[i]), here) : here;
        *weight = i ? mul(s, *weight, part) : part;
    }
}

static uint32_t combinations(const sampler *s)
{
    uint32_t n = 1;
    for (int32_t i = 0; i < s->axes; i++)
        n *= s->n_taps;
    return n;
}

/* [N P C] of numbers and weights [N P]: of image batch[n], or n. */
static tfr_value gathered(const sampler *s, tfr_value at, tfr_value weight, tfr_value batch)
{
    tfr__diff *d = s->d;
    const tfr_attr to[] = {TFR_SET_INT("to", TFR_DTYPE_I64)},
                   same[] = {TFR_SET_INT("batch_dims", 1)}, last[] = {TFR_SET_INT("axis", -1)};
    tfr_value in[2] = {s->x, TFR_VALUE_NONE}, behind = one_int(d, -1), both[2];
    at = tfr__diff_op2(d, "Unsqueeze", tfr__diff_node(d, "Cast", &at, 1, to, 1), behind);
    in[1] = at;
    if (batch != TFR_VALUE_NONE) {
        both[0] = tfr__diff_op2(d, "Expand", batch, tfr__diff_shape_of(d, at));
        both[1] = at;
        in[1] = tfr__diff_node(d, "Concat", both, 2, last, 1);
    }
    at = tfr__diff_node(d, "GatherND", in, 2, same, batch == TFR_VALUE_NONE);
    weight = tfr__diff_op2(d, "CastLike", tfr__diff_op2(d, "Unsqueeze", weight, behind), s->x);
    return mul(s, at, weight);
}

static tfr_value sampled(const sampler *s, tfr_value batch)
{
    tfr_value sum = TFR_VALUE_NONE, at = TFR_VALUE_NONE, weight = TFR_VALUE_NONE;
    for (uint32_t k = 0; k < combinations(s) && !s->d->status; k++) {
        combine(s, k, &at, &weight);
        at = gathered(s, at, weight, batch);
        sum = k ? add(s, sum, at) : at;
    }
    return sum;
}

/* ---- GridSample ------------------------------------------------------------------------------ */

/* v mirrored at low and high until it lies between them. */
static tfr_value mirrored(const sampler *s, tfr_value v, tfr_value low, tfr_value high)
{
    tfr_value range = sub(s, high, low), below = compare(s, "Less", v, low), beyond, turns, rest,
              odd, is_flat = compare(s, "LessOrEqual", range, number(s, 0));
    range = where(s, is_flat, number(s, 1), range);
    beyond = where(s, below, sub(s, low, v), sub(s, v, high));
    turns = op1(s, "Floor", divided(s, beyond, range));
    rest = sub(s, beyond, mul(s, turns, range));
    odd = mul(s, turns, number(s, 0.5));
    odd = compare(s, "Greater", sub(s, odd, op1(s, "Floor", odd)), number(s, 0));
    odd = tfr__diff_op2(s->d, "Xor", below, odd);
    rest = where(s, odd, add(s, low, rest), sub(s, high, rest));
    beyond = tfr__diff_op2(s->d, "Or", below, compare(s, "Greater", v, high));
    return where(s, is_flat, low, where(s, beyond, rest, v));
}

/* Keys' kernel with a = -0.75, between elements next to each other or beyond. */
static tfr_value keys(const sampler *s, tfr_value v, bool next)
{
    static const double near[] = {1.25, -2.25, 0, 1}, far[] = {-0.75, 3.75, -6, 3};
    const double *factors = next ? near : far;
    tfr_value out = number(s, factors[0]);
    v = op1(s, "Abs", v);
    for (int i = 1; i < 4; i++)
        out = add(s, mul(s, out, v), number(s, factors[i]));
    return out;
}

/* Taps of the places p along an axis; those beyond X are found by the padding. */
static void grid_taps(sampler *s, int32_t axis, tfr_value g, bool align, char padding)
{
    tfr_value n = s->length[axis], zero = number(s, 0), one = number(s, 1), half = number(s, 0.5),
              last = sub(s, n, one), p, low = align ? zero : number(s, -0.5),
              high = align ? last : sub(s, n, half), first, i;
    p = align ? mul(s, mul(s, add(s, g, one), half), last)
              : mul(s, sub(s, mul(s, add(s, g, one), n), one), half);
    i = compare(s, "LessOrEqual", op1(s, "Abs", p), number(s, 0x1p52));
    p = where(s, i, p, number(s, -100));
    if (padding == 'b')
        p = where(
            s,
            tfr__diff_op2(s->d, "Or", compare(s, "Less", p, low), compare(s, "Greater", p, high)),
            clamp(s, p, zero, last), p);
    else if (padding == 'r')
        p = mirrored(s, p, low, high);
    first = op1(s, "Floor", p);
    for (uint32_t t = 0; t < s->n_taps; t++) {
        const double step = (double)t - (s->n_taps == 4);
        tfr_value weight;
        i = add(s, first, number(s, step));
        weight = sub(s, p, i);
        weight = s->n_taps == 2 ? sub(s, one, op1(s, "Abs", weight))
                                : keys(s, weight, step == 0 || step == 1);
        if (padding == 'b')
            i = clamp(s, i, zero, last);
        else if (padding == 'r') { /* rounded towards 0 */
            i = mirrored(s, i, low, high);
            i = mul(s, op1(s, "Sign", i), op1(s, "Floor", op1(s, "Abs", i)));
        }
        set_tap(s, axis, t, i, weight);
    }
}

void tfr__diff_grid_sample(tfr__diff *d, tfr_value g)
{
    static const int64_t swap[] = {0, 2, 1};
    const uint32_t first = tfr_graph_n_nodes(d->graph);
    const bool align = tfr__diff_int(d, "align_corners", 0) != 0;
    const tfr_attr last[] = {TFR_SET_INT("axis", -1)};
    const char padding = tfr__diff_is(d, "padding_mode", "zeros", "border")       ? 'b'
                         : tfr__diff_is(d, "padding_mode", "zeros", "reflection") ? 'r'
                                                                                  : 'z';
    tfr_value grid = tfr__diff_in(d, 1), lists[3], out;
    sampler s;
    if (tfr__diff_is(d, "mode", "linear", "nearest")) {
        tfr__diff_moved(d, g);
        return;
    }
    if (!start(&s, d, grid))
        return;
    s.n_taps =
        tfr__diff_is(d, "mode", "linear", "cubic") || tfr__diff_is(d, "mode", "linear", "bicubic")
            ? 4
            : 2;
    lists[0] = tfr__diff_dims(d, grid, 0, 1);
    lists[1] = tfr__diff_dims_product(d, tfr__diff_out(d), 2, 0);
    lists[2] = one_int(d, s.axes);
    grid = tfr__diff_reshape(d, grid, tfr__diff_join(d, lists, 3));
    for (int32_t i = 0; i < s.axes; i++) {
        tfr_value in[] = {grid, tfr__diff_int_scalar(d, s.axes - 1 - i)};
        grid_taps(&s, i, tfr__diff_node(d, "Gather", in, 2, last, 1), align, padding);
    }
    out = permuted(d, sampled(&s, TFR_VALUE_NONE), swap, 3);
    out = tfr__diff_reshape_like(d, out, tfr__diff_out(d));
    tfr__diff_through(d, first, &out);
}

/* ---- RoiAlign -------------------------------------------------------------------------------- */

/* Column i of rois [R 4], scaled, as [R 1]. */
static tfr_value corner(const sampler *s, int64_t i, tfr_value shift)
{
    tfr__diff *d = s->d;
    const tfr_attr axis[] = {TFR_SET_INT("axis", 1)};
    tfr_value in[] = {tfr__diff_in(d, 1), one_int(d, i)},
              v = tfr__diff_node(d, "Gather", in, 2, axis, 1);
    v = mul(s, v, number(s, (double)tfr__diff_float(d, "spatial_scale", 1)));
    return sub(s, v, shift);
}

/* Places of the points along an axis, [R bins * points], with the share of each in the mean. */
static tfr_value roi_places(sampler *s, int32_t axis, int64_t column, tfr_value *share)
{
    tfr__diff *d = s->d;
    const bool half = tfr__diff_is(d, "coordinate_transformation_mode", "half_pixel", "half_pixel");
    const int64_t bins = tfr__diff_int(d, axis ? "output_width" : "output_height", 1),
                  ratio = tfr__diff_int(d, "sampling_ratio", 0);
    const tfr_attr to[] = {TFR_SET_INT("to", TFR_DTYPE_I64)};
    tfr_value shift = number(s, half ? 0.5 : 0), begin = corner(s, column, shift),
              size = sub(s, corner(s, column + 2, shift), begin), points, most, i, at, one, inner;
    one = number(s, 1);
    if (!half)
        size = tfr__diff_op2(d, "Max", size, one);
    size = divided(s, size, number(s, (double)bins)); /* of a bin, [R 1] */
    points = ratio > 0 ? tfr__diff_expand_like(d, number(s, (double)ratio), size)
                       : tfr__diff_op2(d, "Max", op1(s, "Ceil", size), number(s, 0));
    most = one_int(d, ratio);
    if (ratio <= 0) { /* one that does not count where all bins are without points */
        most = tfr__diff_op2(d, "Max", op1(s, "ReduceMax", points), one);
        most = tfr__diff_reshape(d, most, one_int(d, 1));
        most = tfr__diff_node(d, "Cast", &most, 1, to, 1);
    }
    i = count_to(s, most); /* [points] */
    inner = divided(s, add(s, i, number(s, 0.5)),
                    tfr__diff_op2(d, "Max", points, one)); /* [R points], in bins */
    *share = divided(s, where(s, compare(s, "Less", i, points), one, number(s, 0)),
                     tfr__diff_op2(d, "Max", points, one)); /* [R points] */
    at = tfr__diff_op2(d, "Unsqueeze", count_to(s, one_int(d, bins)), one_int(d, 1));
    at = add(s, at, tfr__diff_op2(d, "Unsqueeze", inner, one_int(d, 1))); /* [R bins points] */
    at = mul(s, at, tfr__diff_op2(d, "Unsqueeze", size, one_int(d, 1)));
    return add(s, at, tfr__diff_op2(d, "Unsqueeze", begin, one_int(d, 1)));
}

/* The two neighbours of places that lie over X; nothing for those beyond. */
static void roi_taps(sampler *s, int32_t axis, tfr_value p)
{
    tfr_value zero = number(s, 0), one = number(s, 1), n = s->length[axis], low, weight,
              last = sub(s, n, one), inside, share;
    inside = tfr__diff_op2(s->d, "And", compare(s, "GreaterOrEqual", p, number(s, -1)),
                           compare(s, "LessOrEqual", p, n));
    share = where(s, inside, one, zero);
    p = clamp(s, p, zero, last);
    low = op1(s, "Floor", p);
    weight = sub(s, p, low);
    set_tap(s, axis, 0, low, mul(s, share, sub(s, one, weight)));
    set_tap(s, axis, 1, add(s, low, one), mul(s, share, weight));
}

/* One axis of places [R bins points] or shares among the places of both [R PH SH PW SW], flat. */
static tfr_value of_both(tfr__diff *d, tfr_value v, int32_t axis, tfr_value full)
{
    static const int64_t rows[] = {3, 4}, columns[] = {1, 2};
    v = tfr__diff_op2(d, "Unsqueeze", v, tfr__diff_ints(d, axis ? columns : rows, 2));
    return tfr__diff_op1(d, "Flatten", tfr__diff_op2(d, "Expand", v, full));
}

/* avg: the mean over the points of each bin. */
static tfr_value mean_of_bins(const sampler *s, tfr_value batch, tfr_value share, tfr_value full)
{
    static const int64_t order[] = {0, 5, 1, 3, 2, 4}, points[] = {4, 5};
    tfr__diff *d = s->d;
    tfr_value out, lists[2];
    share =
        tfr__diff_op2(d, "CastLike", tfr__diff_op2(d, "Unsqueeze", share, one_int(d, -1)), s->x);
    out = mul(s, sampled(s, batch), share);
    lists[0] = full;
    lists[1] = tfr__diff_dims(d, tfr__diff_in(d, 0), 1, 2);
    out = tfr__diff_reshape(d, out, tfr__diff_join(d, lists, 2));
    return tfr__diff_sum_axes(d, permuted(d, out, order, 6), points, 2, false);
}

/*
 * max: the first of the largest weighted taps of each bin, in the order of plugins/naive/roi.c:
 * points by row, of each the taps by row. A bin without points has constants, so nothing flows.
 */
static tfr_value largest_of_bins(const sampler *s, tfr_value batch, tfr_value share, tfr_value full)
{
    static const int64_t order[] = {0, 5, 1, 3, 2, 4, 6};
    static const uint32_t by_row[] = {0, 2, 1, 3};
    tfr__diff *d = s->d;
    const tfr_attr last[] = {TFR_SET_INT("axis", -1)};
    tfr_value taps[4], at = TFR_VALUE_NONE, weight = TFR_VALUE_NONE, lists[3], out, behind,
                       is_point, none = tfr__diff_scalar(d, -INFINITY, tfr__diff_in(d, 0));
    behind = one_int(d, -1);
    is_point = compare(s, "Greater", tfr__diff_op2(d, "Unsqueeze", share, behind), number(s, 0));
    for (uint32_t k = 0; k < 4; k++) {
        combine(s, by_row[k], &at, &weight);
        taps[k] = where(s, is_point, gathered(s, at, weight, batch), none);
        taps[k] = tfr__diff_op2(d, "Unsqueeze", taps[k], behind);
    }
    lists[0] = full;
    lists[1] = tfr__diff_dims(d, tfr__diff_in(d, 0), 1, 2);
    lists[2] = one_int(d, 4);
    out = tfr__diff_node(d, "Concat", taps, 4, last, 1);
    out = tfr__diff_reshape(d, out, tfr__diff_join(d, lists, 3));
    out = permuted(d, out, order, 7); /* [R C PH PW SH SW taps] */
    lists[0] = tfr__diff_dims(d, out, 0, 4);
    lists[1] = tfr__diff_dims_product(d, out, 4, 0);
    lists[0] = tfr__diff_reshape(d, out, tfr__diff_join(d, lists, 2));
    lists[1] = tfr__diff_node(d, "ArgMax", lists, 1, last, 1);
    out = tfr__diff_node(d, "GatherElements", lists, 2, last, 1);
    return tfr__diff_op2(d, "Squeeze", out, behind);
}

void tfr__diff_roi_align(tfr__diff *d, tfr_value g)
{
    const uint32_t first = tfr_graph_n_nodes(d->graph);
    const int64_t r_only[] = {1, 2};
    tfr_value place[2], share[2], full, lists[2], out, batch;
    sampler s;
    (void)g;
    if (!start(&s, d, tfr__diff_in(d, 1)))
        return;
    s.n_taps = 2;
    for (int32_t i = 0; i < 2; i++)
        place[i] = roi_places(&s, i, 1 - i, &share[i]);
    lists[0] = tfr__diff_dims(d, place[0], 0, 3);
    lists[1] = tfr__diff_dims(d, place[1], 1, 3);
    full = tfr__diff_join(d, lists, 2);
    for (int32_t i = 0; i < 2; i++) {
        tfr_value weight = tfr__diff_op2(d, "Unsqueeze", share[i], one_int(d, 1));
        roi_taps(&s, i, of_both(d, place[i], i, full));
        share[i] = of_both(d, weight, i, full);
    }
    batch = tfr__diff_op2(d, "Unsqueeze", tfr__diff_in(d, 2), tfr__diff_ints(d, r_only, 2));
    share[0] = mul(&s, share[0], share[1]);
    if (tfr__diff_is(d, "mode", "avg", "avg"))
        out = mean_of_bins(&s, batch, share[0], full);
    else
        out = largest_of_bins(&s, batch, share[0], full);
    tfr__diff_through(d, first, &out);
}

/* ---- DeformConv ------------------------------------------------------------------------------ */

static int64_t window_int(const tfr__diff *d, const char *name, int32_t i, int64_t absent)
{
    const tfr_attr *attr = tfr_node_attr(&d->node, name);
    return attr && (uint64_t)i < attr->n ? attr->ints[i] : absent;
}

/* Where axis i of the output, and of the kernel, lies on X, shaped [k1 k2... o1 o2...]. */
static tfr_value window_places(const sampler *s, int32_t i)
{
    tfr__diff *d = s->d;
    int64_t dims[2 * MOST_AXES];
    tfr_value w = tfr__diff_in(d, 1), y = tfr__diff_out(d), part[2];
    part[0] = count_to(s, tfr__diff_dims(d, w, 2 + i, 3 + i));
    part[0] = mul(s, part[0], number(s, (double)window_int(d, "dilations", i, 1)));
    part[0] = sub(s, part[0], number(s, (double)window_int(d, "pads", i, 0)));
    part[1] = count_to(s, tfr__diff_dims(d, y, 2 + i, 3 + i));
    part[1] = mul(s, part[1], number(s, (double)window_int(d, "strides", i, 1)));
    for (int k = 0; k < 2; k++) {
        for (int32_t a = 0; a < 2 * s->axes; a++)
            dims[a] = a == i + k * s->axes ? -1 : 1;
        part[k] = tfr__diff_reshape(d, part[k], tfr__diff_ints(d, dims, 2 * s->axes));
    }
    return add(s, part[0], part[1]);
}

/* The two elements around each place; set_tap leaves out those that are not in X. */
static void deform_taps(sampler *s, int32_t axis, tfr_value p)
{
    tfr_value one = number(s, 1), low, weight,
              finite = compare(s, "LessOrEqual", op1(s, "Abs", p), number(s, 0x1p52));
    p = where(s, finite, p, number(s, -100));
    low = op1(s, "Floor", p);
    weight = sub(s, p, low);
    set_tap(s, axis, 0, low, sub(s, one, weight));
    set_tap(s, axis, 1, add(s, low, one), weight);
}

/*
 * Columns [N C/H * H, taps * places] of X as sampled, times mask, then one product for each group.
 * Each of the H offset groups is an image of its own, of C/H channels.
 */
void tfr__diff_deform_conv(tfr__diff *d, tfr_value g)
{
    static const int64_t swap[] = {0, 2, 1};
    const uint32_t first = tfr_graph_n_nodes(d->graph);
    const int64_t groups = tfr__diff_int(d, "group", 1), h = tfr__diff_int(d, "offset_group", 1);
    tfr_value x = tfr__diff_in(d, 0), w = tfr__diff_in(d, 1), bias = tfr__diff_in(d, 3),
              mask = tfr__diff_in(d, 4), y = tfr__diff_out(d), n, taps, places, lists[6], offset,
              out, window;
    sampler s;
    (void)g;
    if (!start(&s, d, tfr__diff_in(d, 2)))
        return;
    s.n_taps = 2;
    n = tfr__diff_op2(d, "Mul", tfr__diff_dims(d, x, 0, 1), one_int(d, h));
    taps = tfr__diff_dims_product(d, w, 2, 0);
    places = tfr__diff_dims_product(d, y, 2, 0);
    lists[0] = n; /* X again, by offset groups: [N*H C/H plane], then [N*H plane C/H] */
    lists[1] = tfr__diff_op2(d, "Div", tfr__diff_dims(d, x, 1, 2), one_int(d, h));
    lists[2] = tfr__diff_dims_product(d, x, 2, 0);
    s.x = permuted(d, tfr__diff_reshape(d, x, tfr__diff_join(d, lists, 3)), swap, 3);
    lists[1] = taps;
    lists[2] = one_int(d, s.axes);
    lists[3] = places;
    offset = tfr__diff_reshape(d, tfr__diff_in(d, 2), tfr__diff_join(d, lists, 4));
    for (int32_t i = 0; i < s.axes; i++) {
        const tfr_attr axis[] = {TFR_SET_INT("axis", 2)};
        tfr_value in[] = {offset, tfr__diff_int_scalar(d, i)}, p = window_places(&s, i), full[2];
        full[0] = tfr__diff_dims(d, w, 2, 0);
        full[1] = tfr__diff_dims(d, y, 2, 0);
        p = tfr__diff_op2(d, "Expand", p, tfr__diff_join(d, full, 2));
        lists[0] = taps;
        lists[1] = places;
        window = tfr__diff_reshape(d, p, tfr__diff_join(d, lists, 2));
        p = add(&s, tfr__diff_node(d, "Gather", in, 2, axis, 1), window); /* [N*H taps places] */
        lists[0] = n;
        lists[1] = tfr__diff_op2(d, "Mul", taps, places);
        deform_taps(&s, i, tfr__diff_reshape(d, p, tfr__diff_join(d, lists, 2)));
    }
    out = permuted(d, sampled(&s, TFR_VALUE_NONE), swap, 3); /* [N*H C/H taps*places] */
    if (mask != TFR_VALUE_NONE) {
        lists[0] = n;
        lists[1] = one_int(d, 1);
        lists[2] = tfr__diff_op2(d, "Mul", taps, places);
        out = mul(&s, out, tfr__diff_reshape(d, mask, tfr__diff_join(d, lists, 3)));
    }
    lists[0] = tfr__diff_dims(d, x, 0, 1); /* [N G C/G*taps places] */
    lists[1] = one_int(d, groups);
    lists[2] = tfr__diff_op2(d, "Mul", tfr__diff_dims(d, w, 1, 2), taps);
    lists[3] = places;
    out = tfr__diff_reshape(d, out, tfr__diff_join(d, lists, 4));
    lists[0] = one_int(d, groups); /* W [G M/G C/G*taps] */
    lists[1] = tfr__diff_op2(d, "Div", tfr__diff_dims(d, w, 0, 1), lists[0]);
    window = tfr__diff_reshape(d, w, tfr__diff_join(d, lists, 3));
    out = tfr__diff_reshape_like(d, tfr__diff_op2(d, "MatMul", window, out), y);
    if (bias != TFR_VALUE_NONE)
        out = add(&s, out, tfr__diff_by_channel(d, bias, y));
    tfr__diff_through(d, first, &out);
}
