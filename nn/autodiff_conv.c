/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autodiff_conv.c: convolutions and pools. Conv is linear in X and in W, and ConvGradInput and
 * ConvGradFilter are its adjoints; each of the three has the other two as gradients, with the same
 * window, so they can be differentiated any number of times.
 */
#include <string.h>

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

/* ---- ConvTranspose --------------------------------------------------------------------------- */

/* An attribute of the window, one number for each of n axes; name NULL: all absent. */
static tfr_value window_list(tfr__diff *d, const char *name, uint64_t n, int64_t absent)
{
    const tfr_attr *attr = name ? tfr_node_attr(&d->node, name) : NULL;
    int64_t list[TFR_MAX_RANK];
    for (uint64_t i = 0; i < n; i++)
        list[i] = attr && i < attr->n ? attr->ints[i] : absent;
    return tfr__diff_ints(d, list, (int64_t)n);
}

/* What the windows reach along each axis: stride (X - 1) + dilation (kernel - 1) + 1. */
static tfr_value reached(tfr__diff *d, uint64_t n)
{
    tfr_value one = tfr__diff_int_scalar(d, 1), strides = window_list(d, "strides", n, 1);
    tfr_value x = tfr__diff_dims(d, tfr__diff_in(d, 0), 2, 0),
              k = tfr__diff_dims(d, tfr__diff_in(d, 1), 2, 0);
    x = tfr__diff_op2(d, "Mul", strides, tfr__diff_op2(d, "Sub", x, one));
    k = tfr__diff_op2(d, "Mul", window_list(d, "dilations", n, 1), tfr__diff_op2(d, "Sub", k, one));
    return tfr__diff_op2(d, "Add", tfr__diff_op2(d, "Add", x, k), one);
}

/*
 * What the node cuts off in front of that: its pads, or a half of what is too much for its output
 * shape, which SAME_UPPER and SAME_LOWER have, too.
 */
static tfr_value cut_in_front(tfr__diff *d, tfr_value reach, tfr_value y, uint64_t n)
{
    const char *mode = "auto_pad", *none = "NOTSET";
    const bool upper = tfr__diff_is(d, mode, none, "SAME_UPPER");
    tfr_value much, half;
    if (!tfr_node_attr(&d->node, "output_shape") && !upper &&
        !tfr__diff_is(d, mode, none, "SAME_LOWER"))
        return window_list(d, tfr__diff_is(d, mode, none, "VALID") ? NULL : "pads", n, 0);
    much = tfr__diff_op2(d, "Add", reach, window_list(d, "output_padding", n, 0));
    much = tfr__diff_op2(d, "Max", tfr__diff_op2(d, "Sub", much, y), tfr__diff_int_scalar(d, 0));
    half = tfr__diff_op2(d, "Div", much, tfr__diff_int_scalar(d, 2));
    return upper ? half : tfr__diff_op2(d, "Sub", much, half);
}

/* g with what was cut off as zeros, and without what the windows do not reach. */
static tfr_value uncut(tfr__diff *d, tfr_value g, uint64_t n)
{
    const int64_t outer[] = {0, 0};
    tfr_value y = tfr__diff_dims(d, tfr__diff_out(d), 2, 0), reach = reached(d, n), pads[4];
    pads[0] = pads[2] = tfr__diff_ints(d, outer, 2);
    pads[1] = cut_in_front(d, reach, y, n);
    pads[3] = tfr__diff_op2(d, "Sub", tfr__diff_op2(d, "Sub", reach, y), pads[1]);
    return tfr__diff_op2(d, "Pad", g, tfr__diff_join(d, pads, 4));
}

/* The attributes of a Conv like the node; of one that cuts nothing off. */
static uint32_t conv_attrs(tfr__diff *d, bool uncuts, tfr_attr out[TFR__DIFF_ATTRS])
{
    static const char *const cuts[] = {"output_padding", "output_shape", "pads", "auto_pad"};
    uint32_t n = tfr__diff_attrs(d, cuts[0], out), kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        bool keeps = true;
        for (int k = 1; uncuts && k < 4; k++)
            keeps = keeps && strcmp(out[i].name, cuts[k]) != 0;
        if (keeps)
            out[kept++] = out[i];
    }
    return kept;
}

/* How many spatial axes the node has if a Conv with its pads would not end where it ends; else 0.
 * Conv does so as long as output_padding is less than a stride. */
static uint64_t axes_to_uncut(tfr__diff *d)
{
    const tfr_attr *extra = tfr_node_attr(&d->node, "output_padding"),
                   *shape = tfr_node_attr(&d->node, "output_shape"),
                   *strides = tfr_node_attr(&d->node, "strides");
    const bool automatic = !tfr__diff_is(d, "auto_pad", "NOTSET", "NOTSET");
    if (shape)
        return shape->n;
    for (uint64_t i = 0; extra && i < extra->n; i++) {
        int64_t stride = strides && i < strides->n ? strides->ints[i] : 1;
        if (extra->ints[i] > 0 && (automatic || extra->ints[i] >= stride))
            return extra->n;
    }
    return 0;
}

/* ConvTranspose is ConvGradInput with an output shape of its own. */
void tfr__diff_conv_transpose(tfr__diff *d, tfr_value g)
{
    tfr_value x = tfr__diff_in(d, 0), w = tfr__diff_in(d, 1);
    const uint64_t n = axes_to_uncut(d);
    tfr_attr attrs[TFR__DIFF_ATTRS];
    uint32_t n_attrs = conv_attrs(d, n > 0, attrs);
    if (n > TFR_MAX_RANK) {
        tfr__diff_refuse(d, "it has too many axes");
        return;
    }
    give_bias(d, 2, g);
    if (n && (tfr__diff_wants(d, 0) || tfr__diff_wants(d, 1)))
        g = uncut(d, g, n);
    if (tfr__diff_wants(d, 0))
        tfr__diff_give(d, 0,
                       tfr__diff_node(d, "Conv", (const tfr_value[]){g, w}, 2, attrs, n_attrs));
    if (tfr__diff_wants(d, 1)) {
        const tfr_value in[] = {x, g, tfr__diff_shape_of(d, w)};
        tfr__diff_give(d, 1, tfr__diff_node(d, "ConvGradFilter", in, 3, attrs, n_attrs));
    }
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
