/* SPDX-License-Identifier: Apache-2.0 */
/* autodiff_move.c: ops that move elements: each element of g goes back where it came from. */
#include <string.h>
#include <tfrun/fail.h>

#include "autodiff.h"

/* Reshape, Flatten, Squeeze, Unsqueeze */
void tfr__diff_reshaped(tfr__diff *d, tfr_value g)
{
    if (tfr__diff_wants(d, 0))
        tfr__diff_give(d, 0, tfr__diff_reshape_like(d, g, tfr__diff_in(d, 0)));
}

void tfr__diff_transpose(tfr__diff *d, tfr_value g)
{
    const tfr_attr *perm = tfr_node_attr(&d->node, "perm");
    int64_t back[TFR_MAX_RANK] = {0};
    tfr_attr attr = {.size = sizeof attr, .type = TFR_ATTR_INTS, .name = "perm", .ints = back};
    if (!perm || perm->n > TFR_MAX_RANK) { /* reversed; reversed again it is as before */
        tfr__diff_give(d, 0, tfr__diff_op1(d, "Transpose", g));
        return;
    }
    attr.n = perm->n;
    for (uint64_t i = 0; i < perm->n; i++) /* a wrong perm is refused by the forward node */
        if (perm->ints[i] >= 0 && (uint64_t)perm->ints[i] < perm->n)
            back[perm->ints[i]] = (int64_t)i;
    tfr__diff_give(d, 0, tfr__diff_node(d, "Transpose", &g, 1, &attr, 1));
}

void tfr__diff_expand(tfr__diff *d, tfr_value g)
{
    if (tfr__diff_wants(d, 0))
        tfr__diff_give(d, 0, tfr__diff_sum_to(d, g, tfr__diff_in(d, 0)));
}

/* The length of v along axis, as a list of one. */
static tfr_value length_along(tfr__diff *d, tfr_value v, int64_t axis)
{
    const tfr_attr attrs[] = {TFR_SET_INT("start", axis), TFR_SET_INT("end", axis + 1)};
    return tfr__diff_node(d, "Shape", &v, 1, attrs, axis == -1 ? 1 : 2);
}

/* g is split into pieces as long as the inputs were. */
void tfr__diff_concat(tfr__diff *d, tfr_value g)
{
    enum { MOST = 1024 };
    int64_t axis = tfr__diff_int(d, "axis", 0);
    uint32_t n = d->node.n_inputs;
    tfr_value values[MOST], split[2] = {g, TFR_VALUE_NONE};
    const tfr_attr along[] = {TFR_SET_INT("axis", axis)}, first[] = {TFR_SET_INT("axis", 0)};
    if (n > MOST) {
        d->status = tfr_fail(d->err, TFR_ELIMIT,
                             "node \"%s\" (Concat) has %u inputs, the limit for a gradient is %d",
                             d->node.name, n, MOST);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        values[i] = length_along(d, tfr__diff_in(d, i), axis);
    split[1] = tfr__diff_node(d, "Concat", values, n, first, 1);
    tfr__diff_nodes(d, "Split", split, 2, along, 1, values, n);
    for (uint32_t i = 0; i < n; i++)
        if (tfr__diff_wants(d, i))
            tfr__diff_give(d, i, values[i]);
}

/* ---- by the numbers of the elements ---------------------------------------------------------- */

/*
 * An op that only moves elements of its first input is applied to their numbers 1, 2...: so it says
 * where each element of its output came from, 0 = from nowhere.
 */
static tfr_value sources(tfr__diff *d, const char *but)
{
    tfr_value in[8], one = tfr__diff_int_scalar(d, 1), end;
    tfr_attr attrs[TFR__DIFF_ATTRS];
    uint32_t n_attrs = tfr__diff_attrs(d, but, attrs), n = d->node.n_inputs;
    if (n > 8) {
        tfr__diff_refuse(d, "it has more than 8 inputs");
        return TFR_VALUE_NONE;
    }
    end = tfr__diff_op2(d, "Add", tfr__diff_op1(d, "Size", tfr__diff_in(d, 0)), one);
    in[0] = tfr__diff_op3(d, "Range", one, end, one);
    in[0] = tfr__diff_reshape_like(d, in[0], tfr__diff_in(d, 0));
    for (uint32_t i = 1; i < n; i++)
        in[i] = tfr__diff_in(d, i);
    if (n > 2 && d->node.op[0] == 'P') /* what Pad fills with */
        in[2] = TFR_VALUE_NONE;
    return tfr__diff_node(d, d->node.op, in, n, attrs, n_attrs);
}

/* Adds each element of g to that of input i whose number, from 1 on, stands in `to`; 0 = none. */
static void give_to_sources(tfr__diff *d, uint32_t i, tfr_value g, tfr_value to)
{
    const int64_t all = -1, one = 1, last = INT64_MAX;
    const tfr_attr attrs[] = {TFR_SET_INT("axis", 0), TFR_SET_STRING("reduction", "add")};
    tfr_value x = tfr__diff_in(d, i), in[3], ones = tfr__diff_ints(d, &one, 1);
    in[0] = tfr__diff_op2(d, "Add", tfr__diff_op1(d, "Size", x), ones);
    in[0] = tfr__diff_op2(d, "Expand", tfr__diff_scalar(d, 0, x), in[0]);
    in[1] = tfr__diff_op2(d, "Reshape", to, tfr__diff_ints(d, &all, 1));
    in[2] = tfr__diff_op2(d, "Reshape", g, tfr__diff_ints(d, &all, 1));
    g = tfr__diff_node(d, "ScatterElements", in, 3, attrs, 2);
    g = tfr__diff_op3(d, "Slice", g, ones, tfr__diff_ints(d, &last, 1));
    tfr__diff_give(d, i, tfr__diff_reshape_like(d, g, x));
}

/* Each element of g is added where it came from. */
void tfr__diff_moved(tfr__diff *d, tfr_value g)
{
    tfr_value x = tfr__diff_in(d, 0), to;
    to = sources(d, "extrapolation_value");
    if (tfr__diff_wants(d, 2) && d->node.op[0] == 'P') {
        tfr_value fill = tfr__diff_op2(d, "Equal", to, tfr__diff_int_scalar(d, 0));
        fill = tfr__diff_op3(d, "Where", fill, g, tfr__diff_scalar(d, 0, x));
        fill = tfr__diff_op1(d, "ReduceSum", fill);
        tfr__diff_give(d, 2, tfr__diff_reshape_like(d, fill, tfr__diff_in(d, 2)));
    }
    if (tfr__diff_wants(d, 0))
        give_to_sources(d, 0, g, to);
}

/* Trilu and ReverseSequence, whose gradient is the same of g. */
void tfr__diff_again(tfr__diff *d, tfr_value g)
{
    tfr_value in[2] = {g, tfr__diff_in(d, 1)};
    tfr_attr attrs[TFR__DIFF_ATTRS];
    uint32_t n = tfr__diff_attrs(d, NULL, attrs);
    tfr__diff_give(d, 0, tfr__diff_node(d, d->node.op, in, d->node.n_inputs, attrs, n));
}

/* The pieces are put together again. */
void tfr__diff_split(tfr__diff *d, tfr_value g)
{
    enum { MOST = 1024 };
    const tfr_attr along[] = {TFR_SET_INT("axis", tfr__diff_int(d, "axis", 0))};
    tfr_value pieces[MOST];
    (void)g;
    if (d->node.n_outputs > MOST) {
        tfr__diff_refuse(d, "it has more than 1024 outputs");
        return;
    }
    for (uint32_t k = 0; k < d->node.n_outputs; k++) {
        if (d->node.outputs[k] == TFR_VALUE_NONE) {
            tfr__diff_refuse(d, "it leaves an output out");
            return;
        }
        pieces[k] = tfr__diff_gradient_or_zeros(d, k);
    }
    tfr__diff_give(d, 0, tfr__diff_node(d, "Concat", pieces, d->node.n_outputs, along, 1));
}

/* ---- by indices ------------------------------------------------------------------------------ */

static tfr_value along_axis(tfr__diff *d, const char *op, tfr_value a, tfr_value b, tfr_value c,
                            int64_t absent)
{
    const tfr_attr axis[] = {TFR_SET_INT("axis", tfr__diff_int(d, "axis", absent))};
    const bool has_axis = strstr(op, "ND") == NULL;
    return tfr__diff_node(d, op, (const tfr_value[]){a, b, c}, c == TFR_VALUE_NONE ? 2 : 3, axis,
                          has_axis);
}

/* The elements of v, shaped like y, that the node's indices name. */
static tfr_value at_indices(tfr__diff *d, tfr_value v)
{
    const bool nd = d->node.op[strlen(d->node.op) - 1] == 'D';
    return along_axis(d, nd ? "GatherND" : "GatherElements", v, tfr__diff_in(d, 1), TFR_VALUE_NONE,
                      0);
}

/* Other data and updates by the node's indices, with a reduction. */
static tfr_value scattered(tfr__diff *d, tfr_value data, tfr_value updates, const char *reduction)
{
    const tfr_string text = {reduction, strlen(reduction)};
    const tfr_attr how = {
        .size = sizeof how, .type = TFR_ATTR_STRING, .name = "reduction", .n = 1, .strings = &text};
    tfr_attr attrs[TFR__DIFF_ATTRS];
    uint32_t n = tfr__diff_attrs(d, how.name, attrs);
    if (n == TFR__DIFF_ATTRS) {
        tfr__diff_refuse(d, "it has too many attributes");
        return TFR_VALUE_NONE;
    }
    attrs[n] = how;
    return tfr__diff_node(d, d->node.op, (const tfr_value[]){data, tfr__diff_in(d, 1), updates}, 3,
                          attrs, n + 1);
}

static tfr_value equal(tfr__diff *d, tfr_value a, tfr_value b)
{
    return tfr__diff_op2(d, "Equal", a, b);
}

static tfr_value where(tfr__diff *d, tfr_value condition, tfr_value a, tfr_value b)
{
    return tfr__diff_op3(d, "Where", condition, a, b);
}

/* max and min: data and updates that are equal to y share g. */
static void scatter_extreme(tfr__diff *d, tfr_value g)
{
    tfr_value data = tfr__diff_in(d, 0), updates = tfr__diff_in(d, 2), y = tfr__diff_out(d), n,
              one = tfr__diff_scalar(d, 1, y), zero = tfr__diff_scalar(d, 0, y), is[2];
    is[0] = equal(d, data, y);
    is[1] = equal(d, updates, at_indices(d, y));
    n = scattered(d, where(d, is[0], one, zero), where(d, is[1], one, zero), "add");
    g = tfr__diff_op2(d, "Div", g, n);
    if (tfr__diff_wants(d, 0))
        tfr__diff_give(d, 0, where(d, is[0], g, zero));
    if (tfr__diff_wants(d, 2))
        tfr__diff_give(d, 2, where(d, is[1], at_indices(d, g), zero));
}

/*
 * Data get g times the product of their updates. An update gets g times the product p of what is
 * not 0 over it; where one factor of y is 0, p for that and 0 for the others.
 */
static void scatter_product(tfr__diff *d, tfr_value g)
{
    tfr_value factors[2] = {tfr__diff_in(d, 0), tfr__diff_in(d, 2)}, other[2], is0[2], count[2], p,
              one = tfr__diff_scalar(d, 1, tfr__diff_out(d)), zeros, at0,
              zero = tfr__diff_scalar(d, 0, tfr__diff_out(d));
    if (tfr__diff_wants(d, 0)) {
        p = scattered(d, tfr__diff_expand_like(d, one, factors[0]), factors[1], "mul");
        tfr__diff_give(d, 0, tfr__diff_op2(d, "Mul", g, p));
    }
    if (!tfr__diff_wants(d, 2))
        return;
    for (int i = 0; i < 2; i++) {
        is0[i] = equal(d, factors[i], zero);
        other[i] = where(d, is0[i], one, factors[i]);
        count[i] = where(d, is0[i], one, zero);
    }
    p = at_indices(d, scattered(d, other[0], other[1], "mul"));
    zeros = at_indices(d, scattered(d, count[0], count[1], "add"));
    at0 = where(d, equal(d, zeros, one), p, zero);
    p = where(d, equal(d, zeros, zero), tfr__diff_op2(d, "Div", p, other[1]), zero);
    p = where(d, is0[1], at0, p);
    tfr__diff_give(d, 2, tfr__diff_op2(d, "Mul", at_indices(d, g), p));
}

/* ScatterElements and ScatterND: what was written over gets nothing. */
void tfr__diff_scatter(tfr__diff *d, tfr_value g)
{
    const char *name = "reduction", *none = "none";
    const bool adds = tfr__diff_is(d, name, none, "add");
    tfr_value at = tfr__diff_in(d, 1), updates = tfr__diff_in(d, 2), zeros;
    if (tfr__diff_is(d, name, none, "max") || tfr__diff_is(d, name, none, "min")) {
        scatter_extreme(d, g);
        return;
    }
    if (tfr__diff_is(d, name, none, "mul")) {
        scatter_product(d, g);
        return;
    }
    if (tfr__diff_wants(d, 0)) {
        zeros = tfr__diff_expand_like(d, tfr__diff_scalar(d, 0, updates), updates);
        tfr__diff_give(d, 0, adds ? g : along_axis(d, d->node.op, g, at, zeros, 0));
    }
    if (tfr__diff_wants(d, 2))
        tfr__diff_give(d, 2, at_indices(d, g));
}

/* The values go back to where Indices found them. */
void tfr__diff_top_k(tfr__diff *d, tfr_value g)
{
    tfr_value x = tfr__diff_in(d, 0), made[2], zeros;
    tfr_attr attrs[TFR__DIFF_ATTRS];
    uint32_t n = tfr__diff_attrs(d, NULL, attrs);
    if (d->node.n_outputs > 1 && d->node.outputs[1] != TFR_VALUE_NONE)
        made[1] = d->node.outputs[1];
    else
        tfr__diff_nodes(d, "TopK", d->node.inputs, 2, attrs, n, made, 2);
    zeros = tfr__diff_expand_like(d, tfr__diff_scalar(d, 0, x), x);
    tfr__diff_give(d, 0, along_axis(d, "ScatterElements", zeros, made[1], g, -1));
}

/* Y is what a Gather of the first occurrences gives; the other outputs count. */
void tfr__diff_unique(tfr__diff *d, tfr_value g)
{
    const int64_t all = -1;
    const tfr_attr *given = tfr_node_attr(&d->node, "axis");
    const tfr_attr axis[] = {TFR_SET_INT("axis", tfr__diff_int(d, "axis", 0))};
    tfr_value made[2], in[2];
    tfr_attr attrs[TFR__DIFF_ATTRS];
    uint32_t n = tfr__diff_attrs(d, NULL, attrs), first;
    (void)g;
    if (d->node.n_outputs > 1 && d->node.outputs[1] != TFR_VALUE_NONE)
        made[1] = d->node.outputs[1];
    else
        tfr__diff_nodes(d, "Unique", d->node.inputs, 1, attrs, n, made, 2);
    first = tfr_graph_n_nodes(d->graph);
    in[0] = tfr__diff_in(d, 0);
    in[1] = made[1];
    if (!given)
        in[0] = tfr__diff_op2(d, "Reshape", in[0], tfr__diff_ints(d, &all, 1));
    in[0] = tfr__diff_node(d, "Gather", in, 2, axis, 1);
    tfr__diff_through(d, first, in);
}

/* Indices count all of the output. */
void tfr__diff_max_unpool(tfr__diff *d, tfr_value g)
{
    const int64_t all = -1;
    g = tfr__diff_op2(d, "Reshape", g, tfr__diff_ints(d, &all, 1));
    tfr__diff_give(d, 0, tfr__diff_op2(d, "Gather", g, tfr__diff_in(d, 1)));
}

/* What was written over gets nothing; both inputs take their elements of g by their numbers. */
void tfr__diff_tensor_scatter(tfr__diff *d, tfr_value g)
{
    tfr_value in[3], scalar = tfr__diff_int_scalar(d, 1), to;
    tfr_attr attrs[TFR__DIFF_ATTRS];
    uint32_t n = tfr__diff_attrs(d, NULL, attrs);
    for (uint32_t i = 0; i < 2; i++) {
        tfr_value x = tfr__diff_in(d, i), other = tfr__diff_in(d, 1 - i);
        if (!tfr__diff_wants(d, i))
            continue;
        to = tfr__diff_op2(d, "Add", tfr__diff_op1(d, "Size", x), scalar);
        in[i] = tfr__diff_reshape_like(d, tfr__diff_op3(d, "Range", scalar, to, scalar), x);
        in[1 - i] = tfr__diff_expand_like(d, tfr__diff_int_scalar(d, 0), other);
        in[2] = tfr__diff_in(d, 2);
        to = tfr__diff_node(d, "TensorScatter", in, d->node.n_inputs, attrs, n);
        give_to_sources(d, i, g, to);
    }
}
