/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autodiff_elementwise.c: ops that treat every element alike. Below, x or a and b are the inputs, y
 * the output, g the gradient of y. Operands that were broadcast get the sum over what was repeated.
 * At a kink the gradient is the one of the flat side: Relu, Abs and Pow have 0 at 0.
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

/* g * factor goes to the only input. */
static void give_product(tfr__diff *d, tfr_value g, tfr_value factor)
{
    tfr__diff_give(d, 0, mul(d, g, factor));
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

void tfr__diff_add(tfr__diff *d, tfr_value g)
{
    for (uint32_t i = 0; i < d->node.n_inputs; i++) /* Sum, too */
        if (tfr__diff_wants(d, i))
            give_sum(d, i, g);
}

void tfr__diff_sub(tfr__diff *d, tfr_value g)
{
    if (tfr__diff_wants(d, 0))
        give_sum(d, 0, g);
    if (tfr__diff_wants(d, 1))
        give_sum(d, 1, tfr__diff_op1(d, "Neg", g));
}

void tfr__diff_mul(tfr__diff *d, tfr_value g)
{
    if (tfr__diff_wants(d, 0))
        give_sum(d, 0, mul(d, g, tfr__diff_in(d, 1)));
    if (tfr__diff_wants(d, 1))
        give_sum(d, 1, mul(d, g, tfr__diff_in(d, 0)));
}

/* (a/b)' = a'/b - y b'/b */
void tfr__diff_div(tfr__diff *d, tfr_value g)
{
    tfr_value share = tfr__diff_op2(d, "Div", g, tfr__diff_in(d, 1));
    if (tfr__diff_wants(d, 0))
        give_sum(d, 0, share);
    if (tfr__diff_wants(d, 1))
        give_sum(d, 1, tfr__diff_op1(d, "Neg", mul(d, share, tfr__diff_out(d))));
}

void tfr__diff_neg(tfr__diff *d, tfr_value g)
{
    tfr__diff_give(d, 0, tfr__diff_op1(d, "Neg", g));
}

/* (1/x)' = -y y */
void tfr__diff_reciprocal(tfr__diff *d, tfr_value g)
{
    tfr_value y = tfr__diff_out(d);
    give_product(d, g, tfr__diff_op1(d, "Neg", mul(d, y, y)));
}

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

/* ---- functions of one value ------------------------------------------------------------------ */

void tfr__diff_identity(tfr__diff *d, tfr_value g)
{
    tfr__diff_give(d, 0, g);
}

/* CastLike has a second input, of which only the type counts. */
void tfr__diff_cast(tfr__diff *d, tfr_value g)
{
    if (tfr__diff_wants(d, 0))
        tfr__diff_give(d, 0, tfr__diff_op2(d, "CastLike", g, tfr__diff_in(d, 0)));
}

void tfr__diff_abs(tfr__diff *d, tfr_value g)
{
    give_product(d, g, tfr__diff_op1(d, "Sign", tfr__diff_in(d, 0)));
}

void tfr__diff_exp(tfr__diff *d, tfr_value g)
{
    give_product(d, g, tfr__diff_out(d));
}

void tfr__diff_log(tfr__diff *d, tfr_value g)
{
    tfr__diff_give(d, 0, tfr__diff_op2(d, "Div", g, tfr__diff_in(d, 0)));
}

/* 1 / (2 y) */
void tfr__diff_sqrt(tfr__diff *d, tfr_value g)
{
    tfr_value half = mul(d, g, tfr__diff_scalar(d, 0.5, tfr__diff_in(d, 0)));
    tfr__diff_give(d, 0, tfr__diff_op2(d, "Div", half, tfr__diff_out(d)));
}

void tfr__diff_sin(tfr__diff *d, tfr_value g)
{
    give_product(d, g, tfr__diff_op1(d, "Cos", tfr__diff_in(d, 0)));
}

void tfr__diff_cos(tfr__diff *d, tfr_value g)
{
    give_product(d, g, tfr__diff_op1(d, "Neg", tfr__diff_op1(d, "Sin", tfr__diff_in(d, 0))));
}

/* A choice, not a product: 0 times an infinite g would be NaN. */
void tfr__diff_relu(tfr__diff *d, tfr_value g)
{
    tfr_value x = tfr__diff_in(d, 0), zero = tfr__diff_scalar(d, 0, x);
    tfr_value positive = tfr__diff_op2(d, "Greater", x, zero);
    tfr__diff_give(d, 0, tfr__diff_op3(d, "Where", positive, g, zero));
}

/* y (1 - y) */
void tfr__diff_sigmoid(tfr__diff *d, tfr_value g)
{
    tfr_value y = tfr__diff_out(d), one = tfr__diff_scalar(d, 1, tfr__diff_in(d, 0));
    give_product(d, g, mul(d, y, tfr__diff_op2(d, "Sub", one, y)));
}

/* 1 - y y */
void tfr__diff_tanh(tfr__diff *d, tfr_value g)
{
    tfr_value y = tfr__diff_out(d), one = tfr__diff_scalar(d, 1, tfr__diff_in(d, 0));
    give_product(d, g, tfr__diff_op2(d, "Sub", one, mul(d, y, y)));
}

void tfr__diff_softplus(tfr__diff *d, tfr_value g)
{
    give_product(d, g, tfr__diff_op1(d, "Sigmoid", tfr__diff_in(d, 0)));
}

/* 2 / sqrt(pi) exp(-x x) */
void tfr__diff_erf(tfr__diff *d, tfr_value g)
{
    tfr_value x = tfr__diff_in(d, 0), factor = tfr__diff_scalar(d, 1.1283791670955126, x);
    tfr_value bell = tfr__diff_op1(d, "Exp", tfr__diff_op1(d, "Neg", mul(d, x, x)));
    give_product(d, g, mul(d, bell, factor));
}

void tfr__diff_where(tfr__diff *d, tfr_value g)
{
    tfr_value condition = tfr__diff_in(d, 0), zero = tfr__diff_scalar(d, 0, tfr__diff_out(d));
    if (tfr__diff_wants(d, 1))
        give_sum(d, 1, tfr__diff_op3(d, "Where", condition, g, zero));
    if (tfr__diff_wants(d, 2))
        give_sum(d, 2, tfr__diff_op3(d, "Where", condition, zero, g));
}
