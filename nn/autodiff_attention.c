/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autodiff_attention.c: Attention with its weights p, which one more Attention gives (mode 3 of
 * qk_matmul_output), so masks and windows are as there. With the scores s = scale Q K' of one head:
 *
 *   dV = p' G;  ds = p (G V' - sum over keys of p G V');  dQ = scale ds K;  dK = scale ds' Q
 *
 * with K and V behind their past. Heads of Q that share one of K and V are rows of one matrix:
 * [B, HK, HQ / HK * TQ, ...].
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "autodiff.h"

/* [B T H*S] of rank 3 as [B H T S]; of rank 4 it is that already. */
static tfr_value split_heads(tfr__diff *d, tfr_value v, bool flat, int64_t heads)
{
    const tfr_attr perm[] = {TFR_SET_INTS("perm", 0, 2, 1, 3)};
    tfr_value lists[3];
    if (!flat)
        return v;
    lists[0] = tfr__diff_dims(d, v, 0, 2);
    lists[1] = tfr__diff_ints(d, &heads, 1);
    lists[2] = tfr__diff_op2(d, "Div", tfr__diff_dims(d, v, 2, 0), lists[1]);
    v = tfr__diff_reshape(d, v, tfr__diff_join(d, lists, 3));
    return tfr__diff_node(d, "Transpose", &v, 1, perm, 1);
}

/* The other way, in the shape of like. */
static tfr_value join_heads(tfr__diff *d, tfr_value v, bool flat, tfr_value like)
{
    const tfr_attr perm[] = {TFR_SET_INTS("perm", 0, 2, 1, 3)};
    if (flat)
        v = tfr__diff_node(d, "Transpose", &v, 1, perm, 1);
    return tfr__diff_reshape_like(d, v, like);
}

/* [B HQ TQ x] with the heads of one group as [B HK HQ/HK*TQ x]. */
static tfr_value group(tfr__diff *d, tfr_value v, tfr_value keys)
{
    tfr_value heads = tfr__diff_dims(d, keys, 1, 2), lists[3];
    lists[0] = tfr__diff_dims(d, keys, 0, 2);
    lists[1] = tfr__diff_op2(d, "Div", tfr__diff_dims_product(d, v, 1, 3), heads);
    lists[2] = tfr__diff_dims(d, v, 3, 0);
    return tfr__diff_reshape(d, v, tfr__diff_join(d, lists, 3));
}

static tfr_value transposed(tfr__diff *d, tfr_value v)
{
    const tfr_attr perm[] = {TFR_SET_INTS("perm", 0, 1, 3, 2)};
    return tfr__diff_node(d, "Transpose", &v, 1, perm, 1);
}

/*
 * What the node's Attention has at a stage: 1 the scores after softcap, 3 the weights. It gives no
 * present keys, which do not go with nonpad_kv_seqlen.
 */
static tfr_value stage(tfr__diff *d, int64_t mode)
{
    static const char *const wanted[] = {NULL, "", "", NULL};
    const tfr_attr of = TFR_SET_INT("qk_matmul_output_mode", mode);
    tfr_attr attrs[TFR__DIFF_ATTRS];
    uint32_t n = tfr__diff_attrs(d, of.name, attrs);
    char name[160];
    const tfr_node_desc node = {.size = sizeof node,
                                .op = "Attention",
                                .name = name,
                                .device = d->node.device,
                                .inputs = d->node.inputs,
                                .n_inputs = d->node.n_inputs,
                                .output_names = wanted,
                                .n_outputs = 4,
                                .attrs = attrs,
                                .n_attrs = n + 1};
    tfr_value out[4] = {TFR_VALUE_NONE, TFR_VALUE_NONE, TFR_VALUE_NONE, TFR_VALUE_NONE};
    snprintf(name, sizeof name, "gradient/%.100s/Attention", d->node.name ? d->node.name : "");
    if (n == TFR__DIFF_ATTRS)
        tfr__diff_refuse(d, "it has too many attributes");
    else
        attrs[n] = of;
    if (!d->status)
        d->status = tfr_graph_add_node(d->graph, &node, out, d->err);
    return out[3];
}

static tfr_value plus(tfr__diff *d, tfr_value a, tfr_value b)
{
    return tfr__diff_op2(d, "Add", a, b);
}

/* Of the gradient by the scores. Keys beyond the end of the mask have none. */
static tfr_value mask_share(tfr__diff *d, tfr_value ds)
{
    const int64_t first = 0, last = -1;
    tfr_value mask = tfr__diff_in(d, 3), in[4] = {ds};
    in[1] = tfr__diff_ints(d, &first, 1);
    in[2] = tfr__diff_dims(d, mask, -1, 0);
    in[3] = tfr__diff_ints(d, &last, 1);
    return tfr__diff_sum_to(d, tfr__diff_node(d, "Slice", in, 4, NULL, 0), mask);
}

/* The gradient by the scores, as [B HQ TQ T]; g and the values by groups. qk_matmul_output has its
 * gradient h at one of the stages. */
static tfr_value by_scores(tfr__diff *d, tfr_value g, tfr_value values, tfr_value p, tfr_value keys)
{
    const float softcap = tfr__diff_float(d, "softcap", 0);
    const int64_t last = -1, mode = tfr__diff_int(d, "qk_matmul_output_mode", 0);
    const tfr_value h = tfr__diff_gradient(d, 3);
    const bool takes = h != TFR_VALUE_NONE;
    tfr_value ds = tfr__diff_op2(d, "MatMul", g, transposed(d, values)), sum, weights;
    weights = group(d, p, keys);
    if (takes && mode == 3)
        ds = plus(d, ds, group(d, h, keys));
    ds = tfr__diff_op2(d, "Mul", ds, weights);
    sum = tfr__diff_sum_axes(d, ds, &last, 1, true);
    ds = tfr__diff_op2(d, "Sub", ds, tfr__diff_op2(d, "Mul", weights, sum));
    ds = tfr__diff_reshape_like(d, ds, p);
    if (takes && mode == 2)
        ds = plus(d, ds, h);
    if (tfr__diff_wants(d, 3))
        tfr__diff_give(d, 3, mask_share(d, ds));
    if (takes && mode == 1)
        ds = plus(d, ds, h);
    if (softcap > 0) { /* of softcap tanh(s / softcap) */
        tfr_value t = tfr__diff_op2(d, "Div", stage(d, 1),
                                    tfr__diff_scalar(d, (double)softcap, tfr__diff_in(d, 0)));
        t = tfr__diff_op2(d, "Mul", t, t);
        t = tfr__diff_op2(d, "Sub", tfr__diff_scalar(d, 1, tfr__diff_in(d, 0)), t);
        ds = tfr__diff_op2(d, "Mul", ds, t);
    }
    if (takes && mode == 0)
        ds = plus(d, ds, h);
    return ds;
}

/* scale, or 1 / sqrt(S). */
static tfr_value scale_of(tfr__diff *d, tfr_value query)
{
    const tfr_attr to[] = {TFR_SET_INT("to", TFR_DTYPE_F64)};
    tfr_value scale;
    if (tfr_node_attr(&d->node, "scale"))
        return tfr__diff_scalar(d, (double)tfr__diff_float(d, "scale", 1), tfr__diff_in(d, 0));
    scale = tfr__diff_dims(d, query, 3, 0);
    scale = tfr__diff_op1(d, "Sqrt", tfr__diff_node(d, "Cast", &scale, 1, to, 1));
    return tfr__diff_op2(d, "CastLike", tfr__diff_op1(d, "Reciprocal", scale), tfr__diff_in(d, 0));
}

/* The keys or values v, of input i, behind their past. */
static tfr_value behind_past(tfr__diff *d, tfr_value v, uint32_t i)
{
    const tfr_attr along[] = {TFR_SET_INT("axis", 2)};
    const tfr_value in[] = {tfr__diff_in(d, i + 3), v};
    return in[0] == TFR_VALUE_NONE ? v : tfr__diff_node(d, "Concat", in, 2, along, 1);
}

static tfr_value positions(tfr__diff *d, tfr_value v, tfr_value start, tfr_value end)
{
    const int64_t axis = 2;
    const tfr_value in[] = {v, start, end, tfr__diff_ints(d, &axis, 1)};
    return tfr__diff_node(d, "Slice", in, 4, NULL, 0);
}

/* Gives input i and its past, which are output i together, its gradient and their share in Y. */
static void give_present(tfr__diff *d, uint32_t i, tfr_value share, bool flat)
{
    const int64_t zero = 0, last = INT64_MAX;
    tfr_value past = tfr__diff_in(d, i + 3), h = tfr__diff_gradient(d, i), n;
    if (h != TFR_VALUE_NONE)
        share = plus(d, share, h);
    if (past != TFR_VALUE_NONE) {
        n = tfr__diff_dims(d, past, 2, 3);
        if (tfr__diff_wants(d, i + 3))
            tfr__diff_give(d, i + 3, positions(d, share, tfr__diff_ints(d, &zero, 1), n));
        share = positions(d, share, n, tfr__diff_ints(d, &last, 1));
    }
    if (tfr__diff_wants(d, i))
        tfr__diff_give(d, i, join_heads(d, share, flat, tfr__diff_in(d, i)));
}

void tfr__diff_attention(tfr__diff *d, tfr_value g)
{
    const int64_t hq = tfr__diff_int(d, "q_num_heads", 0), hk = tfr__diff_int(d, "kv_num_heads", 0);
    tfr_value q = tfr__diff_in(d, 0), k = tfr__diff_in(d, 1), v = tfr__diff_in(d, 2), p, ds;
    int32_t rank = tfr__diff_fact_of(d, q).rank;
    const bool flat = rank == 3 || (rank < 0 && hq);
    g = tfr__diff_gradient_or_zeros(d, 0);
    q = split_heads(d, q, flat, hq);
    k = behind_past(d, split_heads(d, k, flat, hk), 1);
    v = behind_past(d, split_heads(d, v, flat, hk), 2);
    g = group(d, split_heads(d, g, flat, hq), k);
    p = stage(d, 3);
    if (tfr__diff_wants(d, 2) || tfr__diff_wants(d, 5))
        give_present(d, 2, tfr__diff_op2(d, "MatMul", transposed(d, group(d, p, k)), g), flat);
    ds = tfr__diff_op2(d, "Mul", by_scores(d, g, v, p, k), scale_of(d, q));
    ds = group(d, ds, k);
    if (tfr__diff_wants(d, 0)) {
        tfr_value dq = tfr__diff_reshape_like(d, tfr__diff_op2(d, "MatMul", ds, k), q);
        tfr__diff_give(d, 0, join_heads(d, dq, flat, tfr__diff_in(d, 0)));
    }
    if (tfr__diff_wants(d, 1) || tfr__diff_wants(d, 4))
        give_present(d, 1, tfr__diff_op2(d, "MatMul", transposed(d, ds), group(d, q, k)), flat);
}

/* Turned back by the same angle. */
void tfr__diff_rotary(tfr__diff *d, tfr_value g)
{
    tfr_value in[4] = {g, tfr__diff_in(d, 1), TFR_VALUE_NONE, tfr__diff_in(d, 3)};
    tfr_attr attrs[TFR__DIFF_ATTRS];
    uint32_t n = tfr__diff_attrs(d, NULL, attrs);
    if (tfr__diff_wants(d, 1) || tfr__diff_wants(d, 2))
        tfr__diff_refuse(d, "its caches have no rule");
    in[2] = tfr__diff_op1(d, "Neg", tfr__diff_in(d, 2));
    if (tfr__diff_wants(d, 0))
        tfr__diff_give(d, 0, tfr__diff_node(d, "RotaryEmbedding", in, d->node.n_inputs, attrs, n));
}
