/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autodiff_elementwise.c: ops that treat every element alike and for which a formula
 * (autodiff_formula.c) is not enough. Below, x or a and b are the inputs, y the output, g the
 * gradient of y. Operands that were broadcast get the sum over what was repeated.
 */
#include "autodiff.h"

/* The share of input i, which may have been broadcast. */
static void give_sum(tfr__diff *d, uint32_t i, tfr_value share)
{
    tfr__diff_give(d, i, tfr__diff_sum_to(d, share, tfr__diff_in(d, i)));
}

static tfr_value mul(tfr__diff *d, tfr_value a, tfr_value b)
{
    return tfr__diff_op2(d, "Mul", a, b);
}

/* ---- any number of operands ------------------------------------------------------------------ */

/* Sum, and Mean, which has 1 / n of it. */
void tfr__diff_sum(tfr__diff *d, tfr_value g)
{
    if (d->node.op[0] == 'M')
        g = tfr__diff_op2(d, "Div", g, tfr__diff_scalar(d, d->node.n_inputs, tfr__diff_in(d, 0)));
    for (uint32_t i = 0; i < d->node.n_inputs; i++)
        if (tfr__diff_wants(d, i))
            give_sum(d, i, g);
}

/* Max and Min: those that are equal to y share g. */
void tfr__diff_max(tfr__diff *d, tfr_value g)
{
    tfr_value y = tfr__diff_out(d), one = tfr__diff_scalar(d, 1, y),
              zero = tfr__diff_scalar(d, 0, y);
    tfr_value n = TFR_VALUE_NONE;
    for (uint32_t i = 0; i < d->node.n_inputs; i++) {
        tfr_value is = tfr__diff_op2(d, "Equal", tfr__diff_in(d, i), y);
        is = tfr__diff_op3(d, "Where", is, one, zero);
        n = n == TFR_VALUE_NONE ? is : tfr__diff_op2(d, "Add", n, is);
    }
    g = tfr__diff_op2(d, "Div", g, n);
    for (uint32_t i = 0; i < d->node.n_inputs; i++)
        if (tfr__diff_wants(d, i)) {
            tfr_value is = tfr__diff_op2(d, "Equal", tfr__diff_in(d, i), y);
            give_sum(d, i, tfr__diff_op3(d, "Where", is, g, zero));
        }
}

/* y = min(max(x, low), high); x gets all at the bounds. */
void tfr__diff_clip(tfr__diff *d, tfr_value g)
{
    tfr_value x = tfr__diff_in(d, 0), low = tfr__diff_in(d, 1), high = tfr__diff_in(d, 2);
    tfr_value zero = tfr__diff_scalar(d, 0, x), at_high = TFR_VALUE_NONE;
    if (high != TFR_VALUE_NONE) {
        tfr_value v = low == TFR_VALUE_NONE ? x : tfr__diff_op2(d, "Max", x, low);
        at_high = tfr__diff_op2(d, "Greater", v, high);
        if (tfr__diff_wants(d, 2))
            give_sum(d, 2, tfr__diff_op3(d, "Where", at_high, g, zero));
        g = tfr__diff_op3(d, "Where", at_high, zero, g);
    }
    if (low != TFR_VALUE_NONE) {
        tfr_value at_low = tfr__diff_op2(d, "Less", x, low);
        if (tfr__diff_wants(d, 1))
            give_sum(d, 1, tfr__diff_op3(d, "Where", at_low, g, zero));
        g = tfr__diff_op3(d, "Where", at_low, zero, g);
    }
    if (tfr__diff_wants(d, 0))
        tfr__diff_give(d, 0, g);
}

/* ---- one or two operands --------------------------------------------------------------------- */

/* d/da a^b = b a^(b-1), 0 where b is 0; d/db a^b = y log(a), 0 where a is not positive. */
void tfr__diff_pow(tfr__diff *d, tfr_value g)
{
    tfr_value a = tfr__diff_in(d, 0), b = tfr__diff_in(d, 1), zero, less, slope;
    int32_t dtype = tfr__diff_fact_of(d, a).dtype;
    if (!dtype || dtype != tfr__diff_fact_of(d, b).dtype)
        b = tfr__diff_op2(d, "CastLike", b, a);
    zero = tfr__diff_scalar(d, 0, a);
    if (tfr__diff_wants(d, 0)) {
        less = tfr__diff_op2(d, "Sub", b, tfr__diff_scalar(d, 1, a));
        slope = mul(d, b, tfr__diff_op2(d, "Pow", a, less));
        slope = tfr__diff_op3(d, "Where", tfr__diff_op2(d, "Equal", b, zero), zero, slope);
        give_sum(d, 0, mul(d, g, slope));
    }
    if (tfr__diff_wants(d, 1)) {
        slope = mul(d, tfr__diff_out(d), tfr__diff_op1(d, "Log", a));
        slope = tfr__diff_op3(d, "Where", tfr__diff_op2(d, "Greater", a, zero), slope, zero);
        slope = tfr__diff_op2(d, "CastLike", mul(d, g, slope), tfr__diff_in(d, 1));
        give_sum(d, 1, slope);
    }
}

/* CastLike has a second input, of which only the type counts. */
void tfr__diff_cast(tfr__diff *d, tfr_value g)
{
    if (tfr__diff_wants(d, 0))
        tfr__diff_give(d, 0, tfr__diff_op2(d, "CastLike", g, tfr__diff_in(d, 0)));
}

/* x P(x) with the normal distribution P, or with the approximation (1 + t) / 2, t = tanh(u) */
void tfr__diff_gelu(tfr__diff *d, tfr_value g)
{
    const char *u = "Tanh(0.7978845608028654*(x + 0.044715*x*x*x))";
    tfr_value t;
    if (tfr__diff_is(d, "approximate", "none", "none")) {
        tfr__diff_give(d, 0,
                       tfr__diff_evaluate(d, g,
                                          "g*(0.5 + 0.5*Erf(0.7071067811865476*x) + "
                                          "0.3989422804014327*x*Exp(-0.5*x*x))"));
        return;
    }
    t = tfr__diff_evaluate(d, g, u);
    t = tfr__diff_op2(d, "Mul", t, t);
    t = tfr__diff_op2(d, "Mul", t,
                      tfr__diff_evaluate(d, g, "-0.3989422804014327*x*(1 + 0.134145*x*x)"));
    t = tfr__diff_op2(d, "Add", t,
                      tfr__diff_evaluate(d, g, "0.3989422804014327*x*(1 + 0.134145*x*x) + 0.5"));
    t = tfr__diff_op2(d, "Add", t,
                      mul(d, tfr__diff_evaluate(d, g, u), tfr__diff_scalar(d, 0.5, g)));
    tfr__diff_give(d, 0, mul(d, g, t));
}

void tfr__diff_where(tfr__diff *d, tfr_value g)
{
    tfr_value condition = tfr__diff_in(d, 0), zero = tfr__diff_scalar(d, 0, tfr__diff_out(d));
    if (tfr__diff_wants(d, 1))
        give_sum(d, 1, tfr__diff_op3(d, "Where", condition, g, zero));
    if (tfr__diff_wants(d, 2))
        give_sum(d, 2, tfr__diff_op3(d, "Where", condition, zero, g));
}
