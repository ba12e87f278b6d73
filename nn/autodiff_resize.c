/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autodiff_resize.c: the weights of a Resize that keeps the aspect ratio. All its axes have one
 * scale, which need not be the quotient of two lengths of an axis, so that no Resize of that axis
 * alone has it: the weights are written out, as plugins/naive/resize.c defines them, in double.
 *
 *   weight[j, o] = kernel(|j - place(o)| stretch), for elements j also beyond both ends of the axis
 */
#include "autodiff.h"

typedef struct resize {
    tfr__diff *d;
    tfr_value n, m, scale, start, end; /* lists of one double; of X, of Y, of the region */
    double radius;                     /* of the kernel */
    bool antialias, crops;
} resize;

static tfr_value op2(const resize *r, const char *op, tfr_value a, tfr_value b)
{
    return tfr__diff_op2(r->d, op, a, b);
}

static tfr_value where(const resize *r, tfr_value condition, tfr_value a, tfr_value b)
{
    return tfr__diff_op3(r->d, "Where", condition, a, b);
}

static tfr_value cast(tfr__diff *d, tfr_value v, tfr_dtype dtype)
{
    const tfr_attr to[] = {TFR_SET_INT("to", dtype)};
    return tfr__diff_node(d, "Cast", &v, 1, to, 1);
}

static tfr_value number(const resize *r, double value)
{
    return tfr__diff_scalar(r->d, value, r->n);
}

static tfr_value less(const resize *r, tfr_value v, double by)
{
    return op2(r, "Sub", v, number(r, by));
}

static tfr_value clamp(const resize *r, tfr_value v, tfr_value low, tfr_value high)
{
    return op2(r, "Min", op2(r, "Max", v, low), high);
}

/* start, start + 1... below end, which are lists of one. */
static tfr_value range(const resize *r, tfr_value start, tfr_value end)
{
    tfr_value scalar = tfr__diff_ints(r->d, NULL, 0);
    return tfr__diff_op3(r->d, "Range", tfr__diff_reshape(r->d, start, scalar),
                         tfr__diff_reshape(r->d, end, scalar), number(r, 1));
}

/* v over the sums of its columns, as far as these are not 0. */
static tfr_value normalized(const resize *r, tfr_value v)
{
    const int64_t axis = 0;
    tfr_value sum = tfr__diff_sum_axes(r->d, v, &axis, 1, true);
    sum = where(r, op2(r, "Equal", sum, number(r, 0)), number(r, 1), sum);
    return op2(r, "Div", v, sum);
}

/* The least or the greatest size / length; 1 if that is 0 or no number, where X or Y is empty. */
static tfr_value common_scale(const resize *r)
{
    tfr__diff *d = r->d;
    const tfr_attr *axes = tfr_node_attr(&d->node, "axes");
    const bool larger = tfr__diff_is(d, "keep_aspect_ratio_policy", "stretch", "not_larger");
    tfr_value lengths = tfr__diff_shape_of(d, tfr__diff_in(d, 0)), scale;
    if (axes)
        lengths = op2(r, "Gather", lengths, tfr__diff_ints(d, axes->ints, (int64_t)axes->n));
    scale =
        op2(r, "Div", cast(d, tfr__diff_in(d, 3), TFR_DTYPE_F64), cast(d, lengths, TFR_DTYPE_F64));
    scale = tfr__diff_op1(d, larger ? "ReduceMin" : "ReduceMax", scale);
    return where(r, op2(r, "Greater", scale, number(r, 0)), scale, number(r, 1));
}

/* Where the elements o of Y lie on X. */
static tfr_value places(const resize *r, tfr_value o)
{
    static const char *const name = "coordinate_transformation_mode", *const absent = "half_pixel";
    const tfr__diff *d = r->d;
    const bool corners = tfr__diff_is(d, name, absent, "align_corners");
    tfr_value length = op2(r, "Mul", r->scale, r->n), is_one, v, last = less(r, r->n, 1), shift;
    is_one = op2(r, "Equal", length, number(r, 1));
    if (tfr__diff_is(d, name, absent, "asymmetric"))
        return op2(r, "Div", o, r->scale);
    if (corners || r->crops) {
        tfr_value size = op2(r, "Mul", op2(r, "Sub", r->end, r->start), last);
        v = op2(r, "Div", op2(r, "Mul", o, size), less(r, length, 1));
        v = where(r, is_one, corners ? number(r, 0) : op2(r, "Mul", size, number(r, 0.5)), v);
        return op2(r, "Add", v, op2(r, "Mul", r->start, last));
    }
    v = less(r, op2(r, "Div", less(r, o, -0.5), r->scale), 0.5);
    if (tfr__diff_is(d, name, absent, "pytorch_half_pixel"))
        v = where(r, op2(r, "Equal", r->m, number(r, 1)), number(r, 0), v);
    if (tfr__diff_is(d, name, absent, "half_pixel_symmetric")) {
        shift = op2(r, "Sub", number(r, 1), op2(r, "Div", r->m, length));
        v = op2(r, "Add", v, op2(r, "Mul", op2(r, "Mul", r->n, number(r, 0.5)), shift));
    }
    return v;
}

/* 1 - v; or Keys' kernel with a: of v up to 1, up to 2; each 0 beyond. */
static tfr_value kernel(const resize *r, tfr_value v)
{
    const double a = (double)tfr__diff_float(r->d, "cubic_coeff_a", -0.75f);
    tfr_value zero = number(r, 0), one = number(r, 1), near, far;
    if (r->radius < 2)
        return op2(r, "Max", op2(r, "Sub", one, v), zero);
    near = less(r, op2(r, "Mul", v, number(r, a + 2)), a + 3);
    near = less(r, op2(r, "Mul", near, op2(r, "Mul", v, v)), -1);
    far = less(r, op2(r, "Mul", v, number(r, a)), 5 * a);
    far = less(r, op2(r, "Mul", far, v), -8 * a);
    far = less(r, op2(r, "Mul", far, v), 4 * a);
    far = where(r, op2(r, "Less", v, number(r, 2)), far, zero);
    return where(r, op2(r, "LessOrEqual", v, one), near, far);
}

/* The rows of X alone: what is beyond an end belongs to the last element there, or is excluded. */
static tfr_value inside(const resize *r, tfr_value weight, tfr_value j)
{
    const int64_t first = 0;
    const tfr_attr sum[] = {TFR_SET_INT("axis", 0), TFR_SET_STRING("reduction", "add")};
    tfr__diff *d = r->d;
    tfr_value zero = number(r, 0), last = less(r, r->n, 1), is_beyond, in[3];
    if (tfr__diff_int(d, "exclude_outside", 0)) {
        is_beyond = op2(r, "Or", op2(r, "Less", j, zero), op2(r, "Greater", j, last));
        weight = normalized(r, where(r, is_beyond, zero, weight));
    }
    in[0] = tfr__diff_expand_like(d, zero, weight);
    in[1] = tfr__diff_expand_like(d, cast(d, clamp(r, j, zero, last), TFR_DTYPE_I64), weight);
    in[2] = weight;
    weight = tfr__diff_node(d, "ScatterElements", in, 3, sum, 2);
    return tfr__diff_op3(d, "Slice", weight, tfr__diff_ints(d, &first, 1),
                         cast(d, r->n, TFR_DTYPE_I64));
}

/* [n m] */
static tfr_value weights(const resize *r)
{
    const int64_t behind = 1;
    tfr__diff *d = r->d;
    tfr_value one = number(r, 1), zero = number(r, 0), stretch, reach, far, last, j, v, out, is_in;
    stretch = r->antialias ? op2(r, "Min", r->scale, one) : one;
    reach = tfr__diff_op1(d, "Ceil", op2(r, "Div", number(r, r->radius), stretch));
    reach = tfr__diff_reshape(d, reach, tfr__diff_ints(d, &behind, 1));
    last = less(r, r->n, 1);
    v = places(r, range(r, op2(r, "Sub", r->m, r->m), r->m));
    is_in = op2(r, "And", op2(r, "GreaterOrEqual", v, zero), op2(r, "LessOrEqual", v, last));
    /* Kernels that do not reach X have no other weights when they are nearer to it. */
    v = clamp(r, v, tfr__diff_op1(d, "Neg", reach), op2(r, "Add", last, reach));
    far = op2(r, "Add", reach, reach);
    j = range(r, tfr__diff_op1(d, "Neg", far), op2(r, "Add", r->n, far));
    j = op2(r, "Unsqueeze", j, tfr__diff_ints(d, &behind, 1));
    out = tfr__diff_op1(d, "Abs", op2(r, "Sub", j, v));
    out = kernel(r, op2(r, "Mul", out, stretch));
    if (r->antialias)
        out = normalized(r, out);
    out = inside(r, out, j);
    return r->crops ? where(r, is_in, out, zero) : out;
}

/* Entry i of a list, as a list of one double. */
static tfr_value entry(tfr__diff *d, tfr_value list, int64_t i)
{
    const int64_t end = i + 1;
    list = tfr__diff_op3(d, "Slice", list, tfr__diff_ints(d, &i, 1), tfr__diff_ints(d, &end, 1));
    return cast(d, list, TFR_DTYPE_F64);
}

tfr_value tfr__diff_resize_weights(tfr__diff *d, int32_t i, int32_t entries, int32_t axis)
{
    tfr_value x = tfr__diff_in(d, 0), roi = tfr__diff_in(d, 1);
    resize r = {.d = d};
    r.n = cast(d, tfr__diff_dims(d, x, axis, axis + 1), TFR_DTYPE_F64);
    r.m = cast(d, tfr__diff_dims(d, tfr__diff_out(d), axis, axis + 1), TFR_DTYPE_F64);
    r.radius = tfr__diff_is(d, "mode", "nearest", "cubic") ? 2 : 1;
    r.antialias = tfr__diff_int(d, "antialias", 0) != 0;
    r.crops = tfr__diff_is(d, "coordinate_transformation_mode", "half_pixel", "tf_crop_and_resize");
    r.scale = common_scale(&r);
    r.start = r.crops ? entry(d, roi, i) : number(&r, 0);
    r.end = r.crops ? entry(d, roi, entries + i) : number(&r, 1);
    return tfr__diff_op2(d, "CastLike", weights(&r), x);
}
