/* SPDX-License-Identifier: Apache-2.0 */
/* autodiff_norm.c: normalisations, Dropout, and the losses over classes. */
#include <string.h>

#include "autodiff.h"

static tfr_value mul(tfr__diff *d, tfr_value a, tfr_value b)
{
    return tfr__diff_op2(d, "Mul", a, b);
}

/* The sum of v, shaped as X, for each channel, shaped as input i, whose share it is. */
static void give_channels(tfr__diff *d, uint32_t i, tfr_value v)
{
    tfr_value like = tfr__diff_in(d, i), x = tfr__diff_in(d, 0);
    if (!tfr__diff_wants(d, i))
        return;
    v = tfr__diff_op2(d, "SumTo", v, tfr__diff_shape_of(d, tfr__diff_by_channel(d, like, x)));
    tfr__diff_give(d, i, tfr__diff_op2(d, "CastLike", tfr__diff_reshape_like(d, v, like), like));
}

/* ---- over the batch -------------------------------------------------------------------------- */

/* y = (x - mean) r scale + B with r = 1 / sqrt(var + epsilon), all but x by channel */
static void inference_norm(tfr__diff *d, tfr_value g)
{
    tfr_value x = tfr__diff_in(d, 0), r, v[5], xhat;
    for (uint32_t i = 1; i < 5; i++)
        v[i] = tfr__diff_op2(d, "CastLike", tfr__diff_by_channel(d, tfr__diff_in(d, i), x), x);
    r = tfr__diff_scalar(d, (double)tfr__diff_float(d, "epsilon", 1e-5f), x);
    r = tfr__diff_op1(d, "Sqrt", tfr__diff_op2(d, "Add", v[4], r));
    r = tfr__diff_op1(d, "Reciprocal", r);
    xhat = mul(d, tfr__diff_op2(d, "Sub", x, v[3]), r);
    give_channels(d, 1, mul(d, g, xhat));
    give_channels(d, 2, g);
    g = mul(d, g, mul(d, v[1], r));
    if (tfr__diff_wants(d, 0))
        tfr__diff_give(d, 0, g);
    give_channels(d, 3, tfr__diff_op1(d, "Neg", g));
    /* d r / d var = -r^3 / 2 */
    give_channels(d, 4, mul(d, mul(d, g, xhat), mul(d, r, tfr__diff_scalar(d, -0.5, x))));
}

/* Gives what a BatchNormalization cannot: the mean and the inverse of the deviation. */
static bool gives_statistics(const tfr_node_view *node)
{
    return node->domain[0] && node->n_outputs == 5 && node->outputs[3] != TFR_VALUE_NONE &&
           node->outputs[4] != TFR_VALUE_NONE;
}

/* BatchNormalization and BatchNormTrain; where they do not give it, one more BatchNormTrain. */
void tfr__diff_batch_norm(tfr__diff *d, tfr_value unused)
{
    tfr_value g = tfr__diff_gradient(d, 0);
    const tfr_attr attrs[] = {TFR_SET_FLOAT("epsilon", tfr__diff_float(d, "epsilon", 1e-5f))};
    tfr_value made[5], out[3];
    (void)unused;
    if (!d->node.domain[0] && !tfr__diff_int(d, "training_mode", 0)) {
        inference_norm(d, g);
        return;
    }
    for (uint32_t k = 1; k < 5; k++)
        if (tfr__diff_gradient(d, k) != TFR_VALUE_NONE) {
            tfr__diff_batch_norm_parts(d);
            return;
        }
    if (gives_statistics(&d->node))
        memcpy(made, d->node.outputs, sizeof made);
    else
        tfr__diff_nodes(d, "BatchNormTrain", d->node.inputs, 5, attrs, 1, made, 5);
    tfr__diff_nodes(
        d, "BatchNormGrad",
        (const tfr_value[]){g, tfr__diff_in(d, 0), tfr__diff_in(d, 1), made[3], made[4]}, 5, NULL,
        0, out, 3);
    if (tfr__diff_wants(d, 0))
        tfr__diff_give(d, 0, out[0]);
    if (tfr__diff_wants(d, 1))
        tfr__diff_give(d, 1, out[1]);
    if (tfr__diff_wants(d, 2))
        tfr__diff_give(d, 2, tfr__diff_op2(d, "CastLike", out[2], tfr__diff_in(d, 2)));
}

/* ---- over a sample --------------------------------------------------------------------------- */

static void layer_norm_grad(tfr__diff *d, tfr_value g, tfr_value x, tfr_value scale, int64_t axis,
                            tfr_value out[2])
{
    const bool rms = d->node.op[0] == 'R';
    const tfr_attr attrs[] = {TFR_SET_INT("axis", axis),
                              TFR_SET_FLOAT("epsilon", tfr__diff_float(d, "epsilon", 1e-5f)),
                              TFR_SET_INT("rms", rms)};
    tfr__diff_nodes(d, "LayerNormGrad", (const tfr_value[]){g, x, scale}, 3, attrs, 3, out, 2);
}

/* LayerNormalization and RMSNormalization */
void tfr__diff_layer_norm(tfr__diff *d, tfr_value g)
{
    tfr_value out[2];
    layer_norm_grad(d, g, tfr__diff_in(d, 0), tfr__diff_in(d, 1), tfr__diff_int(d, "axis", -1),
                    out);
    if (tfr__diff_wants(d, 0))
        tfr__diff_give(d, 0, out[0]);
    if (tfr__diff_wants(d, 1))
        tfr__diff_give(d, 1, out[1]);
    if (tfr__diff_wants(d, 2))
        tfr__diff_give(d, 2, tfr__diff_sum_to(d, g, tfr__diff_in(d, 2)));
}

/*
 * GroupNormalization, and InstanceNormalization, where each channel is a group: a layer
 * normalisation of [N, groups, elements] over the last axis, with the scale of each element.
 */
void tfr__diff_group_norm(tfr__diff *d, tfr_value g)
{
    const int64_t first = 0, last = 1, ones[] = {1};
    tfr_value x = tfr__diff_in(d, 0), scale = tfr__diff_in(d, 1), groups, spatial, shape, full,
              out[2];
    tfr_value channels = tfr__diff_dims(d, x, 1, 2);
    groups = channels;
    if (d->node.op[0] == 'G')
        groups = tfr__diff_ints(d, (const int64_t[]){tfr__diff_int(d, "num_groups", 1)}, 1);
    spatial = tfr__diff_dims_product(d, x, 2, 0);
    full = tfr__diff_join(d, (const tfr_value[]){channels, spatial}, 2); /* [C, elements] */
    shape = tfr__diff_op2(d, "Div", tfr__diff_dims_product(d, x, 1, 0), groups);
    shape = tfr__diff_join(d, (const tfr_value[]){groups, shape}, 2);
    scale = tfr__diff_op2(d, "Unsqueeze", scale, tfr__diff_ints(d, ones, 1));
    scale = tfr__diff_reshape(d, tfr__diff_op2(d, "Expand", scale, full), shape);
    shape = tfr__diff_join(d, (const tfr_value[]){tfr__diff_dims(d, x, first, 1), shape}, 2);
    layer_norm_grad(d, tfr__diff_reshape(d, g, shape), tfr__diff_reshape(d, x, shape), scale, 2,
                    out);
    if (tfr__diff_wants(d, 0))
        tfr__diff_give(d, 0, tfr__diff_reshape_like(d, out[0], x));
    if (tfr__diff_wants(d, 1))
        tfr__diff_give(d, 1,
                       tfr__diff_sum_axes(d, tfr__diff_reshape(d, out[1], full), &last, 1, false));
    give_channels(d, 2, g);
}

/* ---- without parameters ---------------------------------------------------------------------- */

/* y = c / (s + e), c = x - mean, s = sqrt(mean of c^2), e = 1e-9 */
void tfr__diff_mvn(tfr__diff *d, tfr_value g)
{
    static const int64_t usual[] = {0, 2, 3};
    const tfr_attr *given = tfr_node_attr(&d->node, "axes");
    tfr_value x = tfr__diff_in(d, 0), c, s, se, axes, dc;
    axes = given ? tfr__diff_ints(d, given->ints, (int64_t)given->n) : tfr__diff_ints(d, usual, 3);
    c = tfr__diff_op2(d, "Sub", x, tfr__diff_op2(d, "ReduceMean", x, axes));
    s = tfr__diff_op1(d, "Sqrt", tfr__diff_op2(d, "ReduceMean", mul(d, c, c), axes));
    se = tfr__diff_op2(d, "Add", s, tfr__diff_scalar(d, 1e-9, x));
    dc = mul(d, c, tfr__diff_op2(d, "ReduceMean", mul(d, g, c), axes));
    dc = tfr__diff_op2(d, "Sub", g, tfr__diff_op2(d, "Div", dc, mul(d, s, se)));
    dc = tfr__diff_op2(d, "Div", dc, se);
    tfr__diff_give(d, 0, tfr__diff_op2(d, "Sub", dc, tfr__diff_op2(d, "ReduceMean", dc, axes)));
}

/* The sum over channels [c - before, c + after] by size: an average pool of [N, 1, C, elements]. */
static tfr_value over_channels(tfr__diff *d, tfr_value v, int64_t before, int64_t after)
{
    const int64_t one = 1, size = before + after + 1;
    const tfr_attr attrs[] = {TFR_SET_INTS("kernel_shape", size, 1),
                              TFR_SET_INTS("pads", before, 0, after, 0),
                              TFR_SET_INT("count_include_pad", 1)};
    tfr_value x = tfr__diff_in(d, 0), out;
    tfr_value lists[] = {tfr__diff_dims(d, x, 0, 1), tfr__diff_ints(d, &one, 1),
                         tfr__diff_dims(d, x, 1, 2), tfr__diff_dims_product(d, x, 2, 0)};
    out = tfr__diff_reshape(d, v, tfr__diff_join(d, lists, 4));
    out = tfr__diff_node(d, "AveragePool", &out, 1, attrs, 3);
    return tfr__diff_reshape_like(d, out, x);
}

/* y = x D^-beta, D = bias + alpha / size * sum of x^2 over the channels around */
void tfr__diff_lrn(tfr__diff *d, tfr_value g)
{
    const int64_t size = tfr__diff_int(d, "size", 1), half = (size - 1) / 2;
    const double alpha = (double)tfr__diff_float(d, "alpha", 1e-4f),
                 beta = (double)tfr__diff_float(d, "beta", 0.75f);
    tfr_value x = tfr__diff_in(d, 0), D, power, through;
    D = mul(d, over_channels(d, mul(d, x, x), half, size - 1 - half),
            tfr__diff_scalar(d, alpha, x));
    D = tfr__diff_op2(d, "Add", D, tfr__diff_scalar(d, (double)tfr__diff_float(d, "bias", 1), x));
    power = mul(d, g, tfr__diff_op2(d, "Pow", D, tfr__diff_scalar(d, -beta, x)));
    through = tfr__diff_op2(d, "Div", mul(d, power, x), D);
    through = mul(d, over_channels(d, through, size - 1 - half, half), x);
    through = mul(d, through, tfr__diff_scalar(d, 2 * alpha * beta, x));
    tfr__diff_give(d, 0, tfr__diff_op2(d, "Sub", power, through));
}

/* ---- dropout --------------------------------------------------------------------------------- */

/* What was kept was multiplied by 1 / (1 - ratio), in training. */
void tfr__diff_dropout(tfr__diff *d, tfr_value g)
{
    tfr_value x = tfr__diff_in(d, 0), ratio = tfr__diff_in(d, 1), training = tfr__diff_in(d, 2);
    tfr_value one = tfr__diff_scalar(d, 1, x), mask, scale;
    if (training == TFR_VALUE_NONE) {
        tfr__diff_give(d, 0, g);
        return;
    }
    mask = d->node.n_outputs > 1 ? d->node.outputs[1] : TFR_VALUE_NONE;
    if (mask == TFR_VALUE_NONE) {
        tfr__diff_refuse(d, "it does not give its output mask");
        return;
    }
    ratio = ratio == TFR_VALUE_NONE ? tfr__diff_scalar(d, 0.5, x)
                                    : tfr__diff_op2(d, "CastLike", ratio, x);
    scale = tfr__diff_op1(d, "Reciprocal", tfr__diff_op2(d, "Sub", one, ratio));
    scale = tfr__diff_op3(d, "Where", training, scale, one);
    tfr__diff_give(d, 0,
                   tfr__diff_op3(d, "Where", mask, mul(d, g, scale), tfr__diff_scalar(d, 0, x)));
}

/* ---- losses ---------------------------------------------------------------------------------- */

/* The gradient by logarithms of probabilities: -w at the label, summed as the loss is. */
static tfr_value by_log_prob(tfr__diff *d, tfr_value g, tfr_value log_prob)
{
    tfr_attr attrs[TFR__DIFF_ATTRS];
    uint32_t n = tfr__diff_attrs(d, NULL, attrs);
    /* SoftmaxCrossEntropyGrad of logarithms so small that their exp is 0 */
    tfr_value none = tfr__diff_expand_like(d, tfr__diff_scalar(d, -1e9, log_prob), log_prob);
    return tfr__diff_node(d, "SoftmaxCrossEntropyGrad",
                          (const tfr_value[]){g, none, tfr__diff_in(d, 1), tfr__diff_in(d, 2)},
                          tfr__diff_in(d, 2) == TFR_VALUE_NONE ? 3 : 4, attrs, n);
}

void tfr__diff_nll_loss(tfr__diff *d, tfr_value g)
{
    if (tfr__diff_wants(d, 2))
        tfr__diff_loss_parts(d);
    else
        tfr__diff_give(d, 0, by_log_prob(d, g, tfr__diff_in(d, 0)));
}

/* Its log_prob may be asked for, too: h - exp(log_prob) sum(h) of its gradient h. */
void tfr__diff_softmax_loss(tfr__diff *d, tfr_value g)
{
    const tfr_attr along[] = {TFR_SET_INT("axis", 1)};
    const int64_t axis = 1;
    tfr_value x = tfr__diff_in(d, 0), log_prob = TFR_VALUE_NONE, h = tfr__diff_gradient(d, 1);
    tfr_attr attrs[TFR__DIFF_ATTRS];
    uint32_t n = tfr__diff_attrs(d, NULL, attrs);
    if (tfr__diff_wants(d, 2)) {
        tfr__diff_loss_parts(d);
        return;
    }
    g = tfr__diff_gradient(d, 0);
    log_prob = d->node.n_outputs > 1 ? d->node.outputs[1] : TFR_VALUE_NONE;
    if (log_prob == TFR_VALUE_NONE)
        log_prob = tfr__diff_node(d, "LogSoftmax", &x, 1, along, 1);
    if (g != TFR_VALUE_NONE)
        tfr__diff_give(
            d, 0,
            tfr__diff_node(d, "SoftmaxCrossEntropyGrad",
                           (const tfr_value[]){g, log_prob, tfr__diff_in(d, 1), tfr__diff_in(d, 2)},
                           tfr__diff_in(d, 2) == TFR_VALUE_NONE ? 3 : 4, attrs, n));
    if (h != TFR_VALUE_NONE) {
        g = mul(d, tfr__diff_op1(d, "Exp", log_prob), tfr__diff_sum_axes(d, h, &axis, 1, true));
        tfr__diff_give(d, 0, tfr__diff_op2(d, "Sub", h, g));
    }
}
