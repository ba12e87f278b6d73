/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autodiff_reduce.c: what is reduced along axes: sums, products, softmax. Those that are formulas
 * are in autodiff_rules.c.
 */
#include "autodiff.h"

/* ---- reductions ------------------------------------------------------------------------------ */

tfr_value tfr__diff_repeated(tfr__diff *d, tfr_value g)
{
    tfr_value axes = tfr__diff_in(d, 1);
    if (!tfr__diff_int(d, "keepdims", 1) && axes != TFR_VALUE_NONE)
        g = tfr__diff_op2(d, "Unsqueeze", g, axes);
    return tfr__diff_expand_like(d, g, tfr__diff_in(d, 0));
}

/* Dims that are not known; the product of the others. */
static int32_t unknown_dims(const tfr__diff_fact *fact, double *known)
{
    int32_t n = 0;
    *known = 1;
    for (int32_t i = 0; i < fact->rank; i++) {
        n += fact->dims[i] < 0;
        *known *= fact->dims[i] < 0 ? 1 : (double)fact->dims[i];
    }
    return n;
}

/* How many elements each of y is the mean of; 0 = only a run knows. */
static double known_share(const tfr__diff *d, tfr_value x, tfr_value y)
{
    const tfr__diff_fact from = tfr__diff_fact_of(d, x), to = tfr__diff_fact_of(d, y);
    double n, left;
    if (from.rank < 0 || to.rank < 0 || unknown_dims(&from, &n) != unknown_dims(&to, &left))
        return 0; /* else what is not known stays */
    return left > 0 ? n / left : 0;
}

tfr_value tfr__diff_share_of_mean(tfr__diff *d, tfr_value x)
{
    tfr_value one, n, share;
    const tfr_attr to[] = {TFR_SET_INT("to", TFR_DTYPE_F64)};
    double known = known_share(d, x, tfr__diff_out(d));
    if (known > 0)
        return tfr__diff_scalar(d, 1 / known, x);
    one = tfr__diff_int_scalar(d, 1);
    n = tfr__diff_op2(d, "Max", tfr__diff_op1(d, "Size", tfr__diff_out(d)), one);
    n = tfr__diff_op2(d, "Div", tfr__diff_op1(d, "Size", x), n);
    share = tfr__diff_op1(d, "Reciprocal", tfr__diff_node(d, "Cast", &n, 1, to, 1));
    return tfr__diff_op2(d, "CastLike", share, x);
}

void tfr__diff_reduce_mean(tfr__diff *d, tfr_value g)
{
    if (tfr__diff_wants(d, 0))
        tfr__diff_give(
            d, 0,
            tfr__diff_repeated(
                d, tfr__diff_op2(d, "Mul", g, tfr__diff_share_of_mean(d, tfr__diff_in(d, 0)))));
}

/* The node's reduction by another op, repeated. */
static tfr_value reduced(tfr__diff *d, const char *op, tfr_value v)
{
    tfr_value in[2] = {v, tfr__diff_in(d, 1)};
    tfr_attr attrs[TFR__DIFF_ATTRS];
    uint32_t n = tfr__diff_attrs(d, NULL, attrs);
    return tfr__diff_repeated(d, tfr__diff_node(d, op, in, d->node.n_inputs, attrs, n));
}

static tfr_value equal(tfr__diff *d, tfr_value a, tfr_value b)
{
    return tfr__diff_op2(d, "Equal", a, b);
}

/* ReduceMax and ReduceMin: those that are equal to y share g. */
void tfr__diff_reduce_max(tfr__diff *d, tfr_value g)
{
    tfr_value x = tfr__diff_in(d, 0), one = tfr__diff_scalar(d, 1, x),
              zero = tfr__diff_scalar(d, 0, x);
    tfr_value is = equal(d, x, tfr__diff_repeated(d, tfr__diff_out(d)));
    tfr_value n = reduced(d, "ReduceSum", tfr__diff_op3(d, "Where", is, one, zero));
    g = tfr__diff_op2(d, "Div", tfr__diff_repeated(d, g), n);
    tfr__diff_give(d, 0, tfr__diff_op3(d, "Where", is, g, zero));
}

/* The product p of what is not 0 over x; where one x is 0, p for it and 0 for the others. */
void tfr__diff_reduce_prod(tfr__diff *d, tfr_value g)
{
    tfr_value x = tfr__diff_in(d, 0), one = tfr__diff_scalar(d, 1, x),
              zero = tfr__diff_scalar(d, 0, x);
    tfr_value is0 = equal(d, x, zero), other = tfr__diff_op3(d, "Where", is0, one, x);
    tfr_value p = reduced(d, "ReduceProd", other);
    tfr_value zeros = reduced(d, "ReduceSum", tfr__diff_op3(d, "Where", is0, one, zero));
    tfr_value at0 = tfr__diff_op3(d, "Where", equal(d, zeros, one), p, zero);
    p = tfr__diff_op3(d, "Where", equal(d, zeros, zero), tfr__diff_op2(d, "Div", p, other), zero);
    p = tfr__diff_op3(d, "Where", is0, at0, p);
    tfr__diff_give(d, 0, tfr__diff_op2(d, "Mul", tfr__diff_repeated(d, g), p));
}

static tfr_value cumulative(tfr__diff *d, const char *op, tfr_value v, int64_t exclusive,
                            int64_t reverse)
{
    const tfr_attr attrs[] = {TFR_SET_INT("exclusive", exclusive), TFR_SET_INT("reverse", reverse)};
    return tfr__diff_node(d, op, (const tfr_value[]){v, tfr__diff_in(d, 1)}, 2, attrs, 2);
}

/* The same from the other end. */
void tfr__diff_cum_sum(tfr__diff *d, tfr_value g)
{
    tfr__diff_give(d, 0,
                   cumulative(d, "CumSum", g, tfr__diff_int(d, "exclusive", 0),
                              !tfr__diff_int(d, "reverse", 0)));
}

/*
 * The sums of g y from the other end over x, up to the first 0 of x; there the same with a 1 in its
 * place; behind it nothing.
 */
void tfr__diff_cum_prod(tfr__diff *d, tfr_value g)
{
    const int64_t exclusive = tfr__diff_int(d, "exclusive", 0) != 0,
                  reverse = tfr__diff_int(d, "reverse", 0) != 0;
    tfr_value x = tfr__diff_in(d, 0), one = tfr__diff_scalar(d, 1, x),
              zero = tfr__diff_scalar(d, 0, x);
    tfr_value is0 = equal(d, x, zero), zeros, first, other, at0, before;
    zeros = cumulative(d, "CumSum", tfr__diff_op3(d, "Where", is0, one, zero), 0, reverse);
    first = tfr__diff_op2(d, "And", is0, equal(d, zeros, one));
    other = tfr__diff_op3(d, "Where", first, one, x);
    at0 = tfr__diff_op2(d, "Mul", g, cumulative(d, "CumProd", other, exclusive, reverse));
    at0 = cumulative(d, "CumSum", at0, exclusive, !reverse);
    before =
        cumulative(d, "CumSum", tfr__diff_op2(d, "Mul", g, tfr__diff_out(d)), exclusive, !reverse);
    before = tfr__diff_op2(d, "Div", before, other);
    before = tfr__diff_op3(d, "Where", equal(d, zeros, zero), before, zero);
    tfr__diff_give(d, 0, tfr__diff_op3(d, "Where", first, at0, before));
}

/* SumTo itself, so that gradients can be differentiated. */
void tfr__diff_summed(tfr__diff *d, tfr_value g)
{
    if (tfr__diff_wants(d, 0))
        tfr__diff_give(d, 0, tfr__diff_expand_like(d, g, tfr__diff_in(d, 0)));
}

static tfr_value sum_along(tfr__diff *d, tfr_value v, int64_t axis)
{
    return tfr__diff_op2(d, "ReduceSum", v, tfr__diff_ints(d, &axis, 1));
}

/* y (g - sum(g y)) */
void tfr__diff_softmax(tfr__diff *d, tfr_value g)
{
    tfr_value y = tfr__diff_out(d);
    tfr_value sum = sum_along(d, tfr__diff_op2(d, "Mul", g, y), tfr__diff_int(d, "axis", -1));
    tfr__diff_give(d, 0, tfr__diff_op2(d, "Mul", y, tfr__diff_op2(d, "Sub", g, sum)));
}

/* g - exp(y) sum(g) */
void tfr__diff_log_softmax(tfr__diff *d, tfr_value g)
{
    tfr_value sum = sum_along(d, g, tfr__diff_int(d, "axis", -1));
    tfr_value share = tfr__diff_op2(d, "Mul", tfr__diff_op1(d, "Exp", tfr__diff_out(d)), sum);
    tfr__diff_give(d, 0, tfr__diff_op2(d, "Sub", g, share));
}

/* (g - s sum(g y)) / norm, with s = y of the 2-norm, s = sign(x) of the 1-norm */
void tfr__diff_lp_norm(tfr__diff *d, tfr_value g)
{
    const bool one = tfr__diff_int(d, "p", 2) == 1;
    const int64_t axis = tfr__diff_int(d, "axis", -1);
    tfr_value x = tfr__diff_in(d, 0), y = tfr__diff_out(d), norm, sum;
    norm = tfr__diff_op2(d, one ? "ReduceL1" : "ReduceL2", x, tfr__diff_ints(d, &axis, 1));
    sum = sum_along(d, tfr__diff_op2(d, "Mul", g, y), axis);
    sum = tfr__diff_op2(d, "Mul", one ? tfr__diff_op1(d, "Sign", x) : y, sum);
    tfr__diff_give(d, 0, tfr__diff_op2(d, "Div", tfr__diff_op2(d, "Sub", g, sum), norm));
}
