/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autodiff_conv.c: convolutions and pools. Conv is linear in X and in W, and ConvGradInput and
 * ConvGradFilter are its adjoints; each of the three has the other two as gradients, with the same
 * window, so they can be differentiated any number of times.
 */
#include "autodiff.h"

/* A node with operands and the attributes of the node at hand but one. */
static tfr_value with_window(tfr__diff *d, const char *op, tfr_value a, tfr_value b, tfr_value c,
                             const char *but)
{
    tfr_attr attrs[TFR__DIFF_ATTRS];
    uint32_t n = tfr__diff_attrs(d, but, attrs);
    uint32_t n_inputs = c != TFR_VALUE_NONE ? 3 : b != TFR_VALUE_NONE ? 2 : 1;
    return tfr__diff_node(d, op, (const tfr_value[]){a, b, c}, n_inputs, attrs, n);
}

static tfr_value conv(tfr__diff *d, tfr_value x, tfr_value w)
{
    return with_window(d, "Conv", x, w, TFR_VALUE_NONE, NULL);
}

static tfr_value grad_input(tfr__diff *d, tfr_value g, tfr_value w, tfr_value like)
{
    return with_window(d, "ConvGradInput", g, w, tfr__diff_shape_of(d, like), NULL);
}

static tfr_value grad_filter(tfr__diff *d, tfr_value g, tfr_value x, tfr_value like)
{
    return with_window(d, "ConvGradFilter", g, x, tfr__diff_shape_of(d, like), NULL);
}

/* Of a bias: the sum of each channel. */
static void give_bias(tfr__diff *d, uint32_t i, tfr_value g)
{
    tfr_value b = tfr__diff_in(d, i);
    if (!tfr__diff_wants(d, i))
        return;
    g = tfr__diff_op2(d, "SumTo", g, tfr__diff_shape_of(d, tfr__diff_by_channel(d, b, g)));
    tfr__diff_give(d, i, tfr__diff_reshape_like(d, g, b));
}

void tfr__diff_conv(tfr__diff *d, tfr_value g)
{
    tfr_value x = tfr__diff_in(d, 0), w = tfr__diff_in(d, 1);
    if (tfr__diff_wants(d, 0))
        tfr__diff_give(d, 0, grad_input(d, g, w, x));
    if (tfr__diff_wants(d, 1))
        tfr__diff_give(d, 1, grad_filter(d, g, x, w));
    give_bias(d, 2, g);
}

void tfr__diff_conv_grad_input(tfr__diff *d, tfr_value g)
{
    tfr_value dy = tfr__diff_in(d, 0), w = tfr__diff_in(d, 1);
    if (tfr__diff_wants(d, 0))
        tfr__diff_give(d, 0, conv(d, g, w));
    if (tfr__diff_wants(d, 1))
        tfr__diff_give(d, 1, grad_filter(d, dy, g, w));
}

void tfr__diff_conv_grad_filter(tfr__diff *d, tfr_value g)
{
    tfr_value dy = tfr__diff_in(d, 0), x = tfr__diff_in(d, 1);
    if (tfr__diff_wants(d, 0))
        tfr__diff_give(d, 0, conv(d, x, g));
    if (tfr__diff_wants(d, 1))
        tfr__diff_give(d, 1, grad_input(d, dy, g, x));
}

/*
 * ConvTranspose is ConvGradInput with an output shape of its own. Output padding adds elements
 * behind those that a window of Conv reaches, as long as it is less than a stride.
 */
void tfr__diff_conv_transpose(tfr__diff *d, tfr_value g)
{
    const tfr_attr *extra = tfr_node_attr(&d->node, "output_padding"),
                   *strides = tfr_node_attr(&d->node, "strides");
    tfr_value x = tfr__diff_in(d, 0), w = tfr__diff_in(d, 1);
    const char *mode = "auto_pad";
    bool pads = false;
    for (uint64_t i = 0; extra && i < extra->n; i++) {
        pads = pads || extra->ints[i] > 0;
        if (extra->ints[i] >= (strides && i < strides->n ? strides->ints[i] : 1) && extra->ints[i])
            tfr__diff_refuse(d, "its output_padding is not less than its stride");
    }
    if (tfr_node_attr(&d->node, "output_shape"))
        tfr__diff_refuse(d, "it has an output_shape; give it pads");
    if (pads && !tfr__diff_is(d, mode, "NOTSET", "NOTSET"))
        tfr__diff_refuse(d, "it has output_padding and auto_pad; give it pads");
    if (tfr__diff_wants(d, 0))
        tfr__diff_give(d, 0, with_window(d, "Conv", g, w, TFR_VALUE_NONE, "output_padding"));
    if (tfr__diff_wants(d, 1))
        tfr__diff_give(
            d, 1,
            with_window(d, "ConvGradFilter", x, g, tfr__diff_shape_of(d, w), "output_padding"));
    give_bias(d, 2, g);
}

/* ---- pools ----------------------------------------------------------------------------------- */

void tfr__diff_average_pool(tfr__diff *d, tfr_value g)
{
    tfr_value shape = tfr__diff_shape_of(d, tfr__diff_in(d, 0));
    tfr__diff_give(d, 0, with_window(d, "AveragePoolGrad", g, shape, TFR_VALUE_NONE, NULL));
}

void tfr__diff_average_pool_grad(tfr__diff *d, tfr_value g)
{
    if (tfr__diff_wants(d, 0))
        tfr__diff_give(d, 0,
                       with_window(d, "AveragePool", g, TFR_VALUE_NONE, TFR_VALUE_NONE, NULL));
}

/* The node's own Indices if it gives them in the order of memory, else those of one more MaxPool.
 */
void tfr__diff_max_pool(tfr__diff *d, tfr_value g)
{
    tfr_value x = tfr__diff_in(d, 0), made[2];
    tfr_attr attrs[TFR__DIFF_ATTRS];
    uint32_t n = tfr__diff_attrs(d, "storage_order", attrs);
    if (d->node.n_outputs > 1 && d->node.outputs[1] != TFR_VALUE_NONE &&
        !tfr__diff_int(d, "storage_order", 0))
        made[1] = d->node.outputs[1];
    else
        tfr__diff_nodes(d, "MaxPool", &x, 1, attrs, n, made, 2);
    tfr__diff_give(
        d, 0, with_window(d, "MaxPoolGrad", g, made[1], tfr__diff_shape_of(d, x), "storage_order"));
}

/* What lies at Indices; nothing at -1. */
void tfr__diff_max_pool_grad(tfr__diff *d, tfr_value g)
{
    const int64_t all = -1;
    tfr_value at = tfr__diff_in(d, 1), none, flat;
    if (!tfr__diff_wants(d, 0))
        return;
    none = tfr__diff_op2(d, "Less", at, tfr__diff_int_scalar(d, 0));
    flat = tfr__diff_op2(d, "Reshape", g, tfr__diff_ints(d, &all, 1));
    flat = tfr__diff_op2(d, "Gather", flat, at);
    tfr__diff_give(
        d, 0, tfr__diff_op3(d, "Where", none, tfr__diff_scalar(d, 0, tfr__diff_in(d, 0)), flat));
}

/* The mean over the axes from 2 on. */
void tfr__diff_global_average_pool(tfr__diff *d, tfr_value g)
{
    tfr_value x = tfr__diff_in(d, 0), share = tfr__diff_share_of_mean(d, x);
    tfr__diff_give(d, 0, tfr__diff_expand_like(d, tfr__diff_op2(d, "Mul", g, share), x));
}

/* The first of the largest elements of each plane [N, C, elements] gets all. */
void tfr__diff_global_max_pool(tfr__diff *d, tfr_value g)
{
    const tfr_attr axis[] = {TFR_SET_INT("axis", 2)};
    tfr_value x = tfr__diff_in(d, 0), at, zeros;
    tfr_value lists[] = {tfr__diff_dims(d, x, 0, 2), tfr__diff_dims_product(d, x, 2, 0)};
    tfr_value planes = tfr__diff_reshape(d, x, tfr__diff_join(d, lists, 2));
    at = tfr__diff_node(d, "ArgMax", &planes, 1, axis, 1);
    zeros = tfr__diff_expand_like(d, tfr__diff_scalar(d, 0, x), planes);
    g = tfr__diff_reshape_like(d, g, at);
    g = tfr__diff_node(d, "ScatterElements", (const tfr_value[]){zeros, at, g}, 3, axis, 1);
    tfr__diff_give(d, 0, tfr__diff_reshape_like(d, g, x));
}

/*
 * y = (sum of |x|^p over a window)^(1/p): the adjoint of that sum takes g y^(1-p). It is that of
 * AveragePool with its divisors, which LpPool with p 1 counts in ones.
 */
void tfr__diff_lp_pool(tfr__diff *d, tfr_value g)
{
    const int64_t p = tfr__diff_int(d, "p", 2);
    const tfr_attr one_norm = TFR_SET_INT("p", 1);
    tfr_value x = tfr__diff_in(d, 0), y = tfr__diff_out(d), one = tfr__diff_scalar(d, 1, x), ones;
    tfr_attr attrs[TFR__DIFF_ATTRS];
    uint32_t n = tfr__diff_attrs(d, "p", attrs);
    tfr_value slope = tfr__diff_op1(d, "Sign", x);
    if (p > 1) {
        const double less = (double)(p - 1);
        tfr_value zero = tfr__diff_scalar(d, 0, x), none = tfr__diff_op2(d, "Equal", y, zero);
        tfr_value power = tfr__diff_op2(d, "Pow", y, tfr__diff_scalar(d, less, x));
        g = tfr__diff_op3(d, "Where", none, zero, tfr__diff_op2(d, "Div", g, power));
        power = tfr__diff_op2(d, "Pow", tfr__diff_op1(d, "Abs", x), tfr__diff_scalar(d, less, x));
        slope = tfr__diff_op2(d, "Mul", slope, power);
    }
    if (d->node.op[0] == 'L') {
        ones = tfr__diff_expand_like(d, one, x);
        if (n == TFR__DIFF_ATTRS) {
            tfr__diff_refuse(d, "it has too many attributes");
            return;
        }
        attrs[n] = one_norm;
        ones = tfr__diff_node(d, "LpPool", &ones, 1, attrs, n + 1);
        g = with_window(d, "AveragePoolGrad", tfr__diff_op2(d, "Mul", g, ones),
                        tfr__diff_shape_of(d, x), TFR_VALUE_NONE, "p");
    }
    tfr__diff_give(d, 0, tfr__diff_op2(d, "Mul", g, slope));
}
