/* SPDX-License-Identifier: Apache-2.0 */
/* autodiff_move.c: ops that move elements: each element of g goes back where it came from. */
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

/* The same slice of the elements' numbers says where each element of g goes; the rest is 0. */
void tfr__diff_slice(tfr__diff *d, tfr_value g)
{
    tfr_value x = tfr__diff_in(d, 0), in[5], flat, to, zeros, count, list, result;
    const tfr_value all = tfr__diff_ints(d, (const int64_t[]){-1}, 1);
    const tfr_attr axis[] = {TFR_SET_INT("axis", 0)};
    if (!tfr__diff_wants(d, 0) || d->node.n_inputs > 5)
        return;
    count = tfr__diff_op1(d, "Size", x);
    list = tfr__diff_op3(d, "Range", tfr__diff_int_scalar(d, 0), count, tfr__diff_int_scalar(d, 1));
    for (uint32_t i = 1; i < d->node.n_inputs; i++)
        in[i] = tfr__diff_in(d, i);
    in[0] = tfr__diff_reshape_like(d, list, x);
    to =
        tfr__diff_op2(d, "Reshape", tfr__diff_node(d, "Slice", in, d->node.n_inputs, NULL, 0), all);
    flat = tfr__diff_op2(d, "Reshape", g, all);
    zeros = tfr__diff_expand_like(d, tfr__diff_scalar(d, 0, x), list);
    result = tfr__diff_node(d, "ScatterElements", (const tfr_value[]){zeros, to, flat}, 3, axis, 1);
    tfr__diff_give(d, 0, tfr__diff_reshape_like(d, result, x));
}
