/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autodiff_parts.c: normalisations and losses as what they are made of, which is differentiated in
 * their place: the gradients of gradients, and outputs and operands that the usual rules leave out.
 */
#include "autodiff.h"

static tfr_value add(tfr__diff *d, tfr_value a, tfr_value b)
{
    return tfr__diff_op2(d, "Add", a, b);
}

static tfr_value sub(tfr__diff *d, tfr_value a, tfr_value b)
{
    return tfr__diff_op2(d, "Sub", a, b);
}

static tfr_value mul(tfr__diff *d, tfr_value a, tfr_value b)
{
    return tfr__diff_op2(d, "Mul", a, b);
}

static tfr_value divided(tfr__diff *d, tfr_value a, tfr_value b)
{
    return tfr__diff_op2(d, "Div", a, b);
}

static tfr_value as(tfr__diff *d, tfr_value v, tfr_value like)
{
    return tfr__diff_op2(d, "CastLike", v, like);
}

/* 1 / sqrt(variance + epsilon) */
static tfr_value inverse_deviation(tfr__diff *d, tfr_value variance)
{
    const double epsilon = (double)tfr__diff_float(d, "epsilon", 1e-5f);
    variance = add(d, variance, tfr__diff_scalar(d, epsilon, tfr__diff_in(d, 0)));
    return tfr__diff_op1(d, "Reciprocal", tfr__diff_op1(d, "Sqrt", variance));
}

/* ---- over the batch -------------------------------------------------------------------------- */

/* Operand i by channels of X, operand x. */
static tfr_value by_channel(tfr__diff *d, uint32_t i, tfr_value x)
{
    return as(d, tfr__diff_by_channel(d, tfr__diff_in(d, i), x), x);
}

/* The sum over each channel of x, shaped [C, 1...] as like. */
static tfr_value sum_channels(tfr__diff *d, tfr_value v, tfr_value like)
{
    return tfr__diff_op2(d, "SumTo", v, tfr__diff_shape_of(d, like));
}

/* How many elements a channel has, in the type of x. */
static tfr_value channel_size(tfr__diff *d, tfr_value x)
{
    tfr_value n = mul(d, tfr__diff_dims(d, x, 0, 1), tfr__diff_dims_product(d, x, 2, 0));
    return as(d, n, x);
}

/* m running + (1 - m) fresh, shaped as operand i. */
static tfr_value running(tfr__diff *d, uint32_t i, tfr_value fresh)
{
    const double m = (double)tfr__diff_float(d, "momentum", 0.9f);
    tfr_value old = tfr__diff_in(d, i);
    fresh = tfr__diff_reshape_like(d, as(d, fresh, old), old);
    return add(d, mul(d, old, tfr__diff_scalar(d, m, old)),
               mul(d, fresh, tfr__diff_scalar(d, 1 - m, old)));
}

/* In training, all outputs. */
void tfr__diff_batch_norm_parts(tfr__diff *d)
{
    const uint32_t first = tfr_graph_n_nodes(d->graph);
    tfr_value x = tfr__diff_in(d, 0), scale = by_channel(d, 1, x), shift = by_channel(d, 2, x), n,
              mean, variance, inverse, outs[5], other = tfr__diff_in(d, 3);
    n = channel_size(d, x);
    mean = divided(d, sum_channels(d, x, scale), n);
    x = sub(d, x, mean);
    variance = divided(d, sum_channels(d, mul(d, x, x), scale), n);
    inverse = inverse_deviation(d, variance);
    outs[0] = add(d, mul(d, mul(d, x, inverse), scale), shift);
    outs[1] = running(d, 3, mean);
    if (tfr__diff_int(d, "unbiased", 0))
        variance = divided(d, mul(d, variance, n), sub(d, n, tfr__diff_scalar(d, 1, x)));
    outs[2] = running(d, 4, variance);
    outs[3] = tfr__diff_reshape_like(d, as(d, mean, other), other);
    outs[4] = tfr__diff_reshape_like(d, as(d, inverse, other), other);
    tfr__diff_through(d, first, outs);
}

/* dX = scale r (dY - dB/n - x^ dscale/n) with x^ = (X - mean) r, dscale = sum of dY x^, dB of dY */
void tfr__diff_batch_norm_grad(tfr__diff *d, tfr_value g)
{
    const uint32_t first = tfr_graph_n_nodes(d->graph);
    tfr_value dy = tfr__diff_in(d, 0), x = tfr__diff_in(d, 1), scale = by_channel(d, 2, x),
              mean = by_channel(d, 3, x), r = by_channel(d, 4, x), n = channel_size(d, x), dscale,
              db, outs[3], like = tfr__diff_in(d, 2);
    (void)g;
    x = mul(d, sub(d, x, mean), r);
    db = sum_channels(d, dy, scale);
    dscale = sum_channels(d, mul(d, dy, x), scale);
    outs[0] = sub(d, dy, divided(d, add(d, db, mul(d, x, dscale)), n));
    outs[0] = mul(d, mul(d, scale, r), outs[0]);
    outs[1] = tfr__diff_reshape_like(d, as(d, dscale, like), like);
    like = tfr__diff_in(d, 3);
    outs[2] = tfr__diff_reshape_like(d, as(d, db, like), like);
    tfr__diff_through(d, first, outs);
}

/* ---- over a sample --------------------------------------------------------------------------- */

/* dX = r (h - mean of h - x^ mean of h x^), h = dY scale, means over the axes from `axis` on; with
 * rms nothing is centred */
void tfr__diff_layer_norm_grad(tfr__diff *d, tfr_value g)
{
    const uint32_t first = tfr_graph_n_nodes(d->graph);
    const bool rms = tfr__diff_int(d, "rms", 0) != 0;
    const int64_t axis = tfr__diff_int(d, "axis", -1);
    tfr_value dy = tfr__diff_in(d, 0), scale = tfr__diff_in(d, 2),
              x = as(d, tfr__diff_in(d, 1), dy), axes,
              rank = tfr__diff_op1(d, "Size", tfr__diff_shape_of(d, x)), h, r, outs[2],
              start = tfr__diff_int_scalar(d, axis);
    (void)g;
    axes = axis < 0 ? tfr__diff_int_scalar(d, 0) : rank;
    axes = tfr__diff_op3(d, "Range", start, axes, tfr__diff_int_scalar(d, 1));
    if (!rms)
        x = sub(d, x, tfr__diff_op2(d, "ReduceMean", x, axes));
    r = inverse_deviation(d, tfr__diff_op2(d, "ReduceMean", mul(d, x, x), axes));
    x = mul(d, x, r);
    h = mul(d, dy, scale);
    outs[0] = sub(d, h, mul(d, x, tfr__diff_op2(d, "ReduceMean", mul(d, h, x), axes)));
    if (!rms)
        outs[0] = sub(d, outs[0], tfr__diff_op2(d, "ReduceMean", h, axes));
    outs[0] = as(d, mul(d, r, outs[0]), tfr__diff_in(d, 1));
    outs[1] = tfr__diff_sum_to(d, mul(d, dy, x), scale);
    tfr__diff_through(d, first, outs);
}

/* ---- losses ---------------------------------------------------------------------------------- */

/*
 * The weight of each label, 0 where it is ignored, and the labels as numbers of classes: those that
 * are ignored as 0.
 */
static tfr_value label_weights(tfr__diff *d, tfr_value *labels, uint32_t i_weights, tfr_value like)
{
    const tfr_attr *ignore = tfr_node_attr(&d->node, "ignore_index");
    const tfr_attr to[] = {TFR_SET_INT("to", TFR_DTYPE_I64)};
    tfr_value weights = tfr__diff_in(d, i_weights), out, ignored = TFR_VALUE_NONE;
    *labels = tfr__diff_node(d, "Cast", labels, 1, to, 1);
    if (ignore) {
        ignored = tfr__diff_op2(d, "Equal", *labels, tfr__diff_int_scalar(d, ignore->ints[0]));
        *labels = tfr__diff_op3(d, "Where", ignored, tfr__diff_int_scalar(d, 0), *labels);
    }
    out = weights != TFR_VALUE_NONE
              ? tfr__diff_op2(d, "Gather", weights, *labels)
              : tfr__diff_expand_like(d, tfr__diff_scalar(d, 1, like), *labels);
    return ignore ? tfr__diff_op3(d, "Where", ignored, tfr__diff_scalar(d, 0, like), out) : out;
}

/* 1 at the label along axis 1, else 0, shaped as like [N C ...]. */
static tfr_value at_labels(tfr__diff *d, tfr_value labels, tfr_value like)
{
    const tfr_attr axis[] = {TFR_SET_INT("axis", 1)};
    const int64_t ends[] = {0, 1};
    tfr_value in[] = {labels, tfr__diff_dims(d, like, 1, 2),
                      as(d, tfr__diff_ints(d, ends, 2), like)};
    return tfr__diff_node(d, "OneHot", in, 3, axis, 1);
}

/* NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: -w log_prob at the labels */
void tfr__diff_loss_parts(tfr__diff *d)
{
    const uint32_t first = tfr_graph_n_nodes(d->graph);
    const tfr_attr axis[] = {TFR_SET_INT("axis", 1)}, flat[] = {TFR_SET_INT("keepdims", 0)};
    const int64_t classes = 1;
    tfr_value x = tfr__diff_in(d, 0), labels = tfr__diff_in(d, 1), weights, outs[2], sum;
    outs[1] = d->node.op[0] == 'S' ? tfr__diff_node(d, "LogSoftmax", &x, 1, axis, 1) : x;
    weights = label_weights(d, &labels, 2, x);
    outs[0] = mul(d, outs[1], at_labels(d, labels, x));
    outs[0] = tfr__diff_sum_axes(d, outs[0], &classes, 1, false);
    outs[0] = tfr__diff_op1(d, "Neg", mul(d, outs[0], weights));
    if (!tfr__diff_is(d, "reduction", "mean", "none"))
        outs[0] = tfr__diff_node(d, "ReduceSum", outs, 1, flat, 1);
    sum = tfr__diff_node(d, "ReduceSum", &weights, 1, flat, 1);
    if (tfr__diff_is(d, "reduction", "mean", "mean"))
        outs[0] = divided(d, outs[0], sum);
    tfr__diff_through(d, first, outs);
}

/* dX = dY w (exp(log_prob) - 1 at the label), by the sum of w for a mean */
void tfr__diff_loss_grad(tfr__diff *d, tfr_value g)
{
    const uint32_t first = tfr_graph_n_nodes(d->graph);
    const tfr_attr flat[] = {TFR_SET_INT("keepdims", 0)};
    const int64_t classes = 1;
    tfr_value dy = tfr__diff_in(d, 0), log_prob = tfr__diff_in(d, 1), labels = tfr__diff_in(d, 2),
              weights = label_weights(d, &labels, 3, log_prob), out;
    (void)g;
    out = mul(d, weights, dy);
    if (tfr__diff_is(d, "reduction", "mean", "mean"))
        out = divided(d, out, tfr__diff_node(d, "ReduceSum", &weights, 1, flat, 1));
    out = tfr__diff_op2(d, "Unsqueeze", out, tfr__diff_ints(d, &classes, 1));
    g = sub(d, tfr__diff_op1(d, "Exp", log_prob), at_labels(d, labels, log_prob));
    out = mul(d, out, g);
    tfr__diff_through(d, first, &out);
}
