/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autodiff_linear_attention.c: LinearAttention as what it is made of, which is differentiated in
 * its place: a Scan over T positions with the states S [B HK D DV] of
 * plugins/naive/linear_attention.c. Of a position it takes q [B HK HQ/HK D], k [B HK 1 D], v [B HK
 * 1 DV], decay g [B HK 1|D 1] and beta [B 1|HK 1 1], and its body is
 *
 *   S = Exp(g) S;  v' = beta (v - k S), else v;  S = S + k' v';  y = q S
 */
#include "autodiff.h"

enum { Q, K, V, PAST, DECAY, BETA, OPERANDS };

/* In the type of the states. */
static tfr_value as_state(tfr__diff *d, tfr_value v)
{
    const tfr_value past = tfr__diff_in(d, PAST);
    return past == TFR_VALUE_NONE ? v : tfr__diff_op2(d, "CastLike", v, past);
}

/* [B T heads*x] as [T B heads rows x/rows], or with the last two the other way around. */
static tfr_value by_position(tfr__diff *d, tfr_value v, tfr_value heads, tfr_value rows,
                             bool turned)
{
    const tfr_attr perm[] = {TFR_SET_INTS("perm", 1, 0, 2, 3, 4)};
    const tfr_attr turn[] = {TFR_SET_INTS("perm", 1, 0, 2, 4, 3)};
    tfr_value lists[4];
    lists[0] = tfr__diff_dims(d, v, 0, 2);
    lists[1] = heads;
    lists[2] = rows;
    lists[3] =
        tfr__diff_op2(d, "Div", tfr__diff_dims(d, v, 2, 0), tfr__diff_op2(d, "Mul", heads, rows));
    v = tfr__diff_reshape(d, as_state(d, v), tfr__diff_join(d, lists, 4));
    return tfr__diff_node(d, "Transpose", &v, 1, turned ? turn : perm, 1);
}

static tfr_value start(tfr__diff *d, tfr_value q, tfr_value v)
{
    tfr_value lists[3];
    if (tfr__diff_in(d, PAST) != TFR_VALUE_NONE)
        return tfr__diff_in(d, PAST);
    lists[0] = tfr__diff_dims(d, q, 1, 3);
    lists[1] = tfr__diff_dims(d, q, 4, 0);
    lists[2] = tfr__diff_dims(d, v, 4, 0);
    return tfr__diff_op2(d, "Expand", tfr__diff_scalar(d, 0, tfr__diff_in(d, Q)),
                         tfr__diff_join(d, lists, 3));
}

/* Operands that are absent have no input. */
static void make_body(tfr__diff_body *b, const tfr_value *operands)
{
    const tfr_attr perm[] = {TFR_SET_INTS("perm", 0, 1, 3, 2)};
    tfr__diff *in = &b->in;
    tfr_value s = tfr__diff_body_input(b), of[OPERANDS], column, change;
    for (int i = 0; i < OPERANDS; i++)
        of[i] =
            operands[i] == TFR_VALUE_NONE || i == PAST ? TFR_VALUE_NONE : tfr__diff_body_input(b);
    if (of[DECAY] != TFR_VALUE_NONE)
        s = tfr__diff_op2(in, "Mul", tfr__diff_op1(in, "Exp", of[DECAY]), s);
    change = of[V];
    if (of[BETA] != TFR_VALUE_NONE) {
        change = tfr__diff_op2(in, "Sub", change, tfr__diff_op2(in, "MatMul", of[K], s));
        change = tfr__diff_op2(in, "Mul", of[BETA], change);
    }
    column = tfr__diff_node(in, "Transpose", &of[K], 1, perm, 1);
    s = tfr__diff_op2(in, "Add", s, tfr__diff_op2(in, "Mul", column, change));
    tfr__diff_body_output(b, s);
    tfr__diff_body_output(b, tfr__diff_op2(in, "MatMul", of[Q], s));
}

/* [B T HK HQ/HK DV], times scale, in the shape and type of the output. */
static tfr_value finish(tfr__diff *d, tfr_value y, tfr_value state_like)
{
    const tfr_attr to[] = {TFR_SET_INT("to", TFR_DTYPE_F64)};
    const float scale = tfr__diff_float(d, "scale", 0);
    const tfr_value q = tfr__diff_in(d, Q);
    tfr_value factor, size;
    if (scale != 0) {
        factor = tfr__diff_scalar(d, (double)scale, q);
    } else { /* 1 / sqrt(D) */
        size = tfr__diff_dims(d, state_like, 4, 0);
        size = tfr__diff_op1(d, "Sqrt", tfr__diff_node(d, "Cast", &size, 1, to, 1));
        factor = tfr__diff_op2(d, "CastLike", tfr__diff_op1(d, "Reciprocal", size), q);
    }
    y = tfr__diff_op2(d, "CastLike", tfr__diff_reshape_like(d, y, tfr__diff_out(d)), q);
    return tfr__diff_op2(d, "Mul", y, factor);
}

void tfr__diff_linear_attention(tfr__diff *d, tfr_value g)
{
    const uint32_t first = tfr_graph_n_nodes(d->graph);
    const int64_t hq = tfr__diff_int(d, "q_num_heads", 1), hk = tfr__diff_int(d, "kv_num_heads", 1),
                  group = hk > 0 ? hq / hk : 1, one = 1;
    tfr_value operands[OPERANDS], inputs[OPERANDS], outs[2], heads, rows;
    tfr__diff_body body;
    uint32_t n = 1;
    (void)g;
    for (uint32_t i = 0; i < OPERANDS; i++)
        operands[i] = tfr__diff_in(d, i);
    heads = tfr__diff_ints(d, &hk, 1);
    rows = tfr__diff_ints(d, &one, 1);
    operands[Q] = by_position(d, operands[Q], heads, tfr__diff_ints(d, &group, 1), false);
    operands[K] = by_position(d, operands[K], heads, rows, false);
    operands[V] = by_position(d, operands[V], heads, rows, false);
    if (operands[DECAY] != TFR_VALUE_NONE)
        operands[DECAY] = by_position(d, operands[DECAY], heads, rows, true);
    if (operands[BETA] != TFR_VALUE_NONE)
        operands[BETA] =
            by_position(d, operands[BETA], tfr__diff_dims(d, operands[BETA], 2, 0), rows, false);
    inputs[0] = start(d, operands[Q], operands[V]);
    for (int i = 0; i < OPERANDS; i++)
        if (i != PAST && operands[i] != TFR_VALUE_NONE)
            inputs[n++] = operands[i];
    tfr__diff_body_open(&body, d);
    make_body(&body, operands);
    tfr__diff_body_scan(&body, inputs, n,
                        (const tfr_attr[]){TFR_SET_INT("num_scan_inputs", n - 1),
                                           TFR_SET_INTS("scan_output_axes", 1)},
                        2, outs, 2);
    if (d->status)
        return;
    inputs[0] = outs[0];
    outs[0] = finish(d, outs[1], operands[Q]);
    outs[1] = inputs[0];
    tfr__diff_through(d, first, outs);
}
