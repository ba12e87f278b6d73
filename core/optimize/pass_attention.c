/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass_attention.c: softmax(scale Q K' + mask) V of four axes [B, H, S, D] as the standard's
 * Attention, which takes operands of just such shapes and broadcasts nothing but the mask; so the
 * dims must be known and equal. What cuts heads out of rows stays around it.
 */
#include "optimize/passes.h"

#define SCORES "{y=Div(MatMul(q,k),c)|z=Mul(MatMul(q,k),c)|MatMul(q,k)}"

/* All four known; those of the mask are 1 or the scores'; its last one must not be 1, which would
 * mean a short mask. */
static bool dims_fit(const tfr_value_type *q, const tfr_value_type *k, const tfr_value_type *v,
                     const tfr_value_type *mask)
{
    if (!q->rank_known || !k->rank_known || !v->rank_known || q->rank != 4 || k->rank != 4 ||
        v->rank != 4 || q->dims[3] < 1 || q->dims[3] != k->dims[2] || k->dims[3] < 1 ||
        k->dims[3] != v->dims[2])
        return false;
    for (int32_t i = 0; i < 2; i++)
        if (q->dims[i] < 1 || q->dims[i] != k->dims[i] || q->dims[i] != v->dims[i])
            return false;
    if (!mask)
        return true;
    for (int32_t i = 1; mask->rank_known && i <= mask->rank; i++) {
        int64_t is = mask->dims[mask->rank - i];
        int64_t want = i == 1 ? k->dims[3] : i > 4 ? 1 : q->dims[4 - i];
        if (is < 1 || (is != want && (is != 1 || i == 1)))
            return false;
    }
    return mask->rank_known && mask->rank >= 1 && mask->rank <= 4;
}

/* K of K' = Transpose(r): the same Transpose with its last two axes the other way round. */
static tfr_value keys(tfr__rewrite *rw, tfr_value k)
{
    const tfr__node *node = tfr__rewrite_producer(rw, k);
    uint64_t n;
    const int64_t *perm =
        tfr__rewrite_is(node, "Transpose") ? tfr__attr_ints(&node->attrs, "perm", &n) : NULL;
    int64_t axes[4];
    tfr_value from, to;
    tfr__node *made;
    if (!perm || n != 4)
        return TFR_VALUE_NONE;
    for (int i = 0; i < 4; i++)
        axes[i] = perm[i < 2 ? i : 5 - i];
    from = tfr__rewrite_input(rw, node, 0);
    if (axes[0] == 0 && axes[1] == 1 && axes[2] == 2)
        return from;
    to = tfr__rewrite_value(rw, k);
    made = to == TFR_VALUE_NONE ? NULL : tfr__rewrite_node(rw, "Transpose", &from, 1, to);
    if (!made || tfr__attr_set_ints(&made->attrs, "perm", axes, 4, NULL)) {
        rw->status = TFR_ENOMEM;
        return TFR_VALUE_NONE;
    }
    for (int i = 2; i < 4; i++)
        rw->graph->values[to].type.dims[i] = rw->graph->values[k].type.dims[5 - i];
    return to;
}

static uint32_t find(tfr__rewrite *rw, uint32_t i)
{
    const tfr__node *node = &rw->graph->nodes[i], *softmax;
    tfr__attr_list attrs = {0};
    tfr_value in[4], out, mask;
    tfr__match m;
    double scale = 1;
    int64_t axis;
    if (!node->op ||
        !tfr__pattern(rw, node, "MatMul(p=Softmax({Add(" SCORES ",m)|" SCORES "}),v)", &m))
        return 0;
    out = node->outputs[0];
    mask = tfr__matched(&m, 'm');
    softmax = tfr__rewrite_producer(rw, tfr__matched(&m, 'p'));
    axis = tfr__attr_int(&softmax->attrs, "axis", -1);
    if ((axis != -1 && axis != 3) ||
        (tfr__matched(&m, 'c') != TFR_VALUE_NONE &&
         (!tfr__rewrite_number(rw, tfr__matched(&m, 'c'), &scale) ||
          tfr__rewrite_type(rw, tfr__matched(&m, 'c'))->rank > 4)) ||
        !dims_fit(tfr__rewrite_type(rw, tfr__matched(&m, 'q')),
                  tfr__rewrite_type(rw, tfr__matched(&m, 'k')),
                  tfr__rewrite_type(rw, tfr__matched(&m, 'v')),
                  mask == TFR_VALUE_NONE ? NULL : tfr__rewrite_type(rw, mask)))
        return 0;
    if (tfr__matched(&m, 'y') != TFR_VALUE_NONE)
        scale = 1 / scale;
    in[0] = tfr__matched(&m, 'q');
    in[1] = keys(rw, tfr__matched(&m, 'k'));
    in[2] = tfr__matched(&m, 'v');
    in[3] = mask;
    if (in[1] == TFR_VALUE_NONE)
        return 0;
    if (tfr__attr_set_float(&attrs, "scale", (float)scale, NULL))
        rw->status = TFR_ENOMEM;
    return tfr__rewrite_compose(rw, "Attention", in, mask == TFR_VALUE_NONE ? 3 : 4, &attrs, out);
}

uint32_t tfr__pass_attention(tfr__rewrite *rw)
{
    uint32_t n = 0, n_nodes = rw->graph->n_nodes;
    for (uint32_t i = 0; i < n_nodes && !rw->status && tfr__rewrite_claimed(rw, "Attention"); i++)
        n += find(rw, i);
    return n;
}
