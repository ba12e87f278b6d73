/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass_transpose.c: a Transpose that does nothing goes, two in a row become one, and one in front
 * of an elementwise op moves behind it, where it meets the next one or ends in a product, which
 * reads its operand either way. Moving is exact and costs nothing; what meets is gain.
 */
#include <string.h>

#include "optimize/passes.h"

typedef struct perm {
    int32_t rank;
    int64_t axes[TFR_MAX_RANK]; /* axis i of the output is axis axes[i] of the input */
} perm;

tfr_tensor *tfr__tensor_permute(tfr_tensor *t, const int64_t *axes)
{
    tfr_tensor *plain;
    tfr_shape shape = t->shape;
    int64_t strides[TFR_MAX_RANK];
    for (int32_t i = 0; i < shape.rank; i++) {
        int64_t from = axes ? axes[i] : shape.rank - 1 - i;
        shape.dims[i] = t->shape.dims[from];
        strides[i] = t->strides[from];
    }
    if (tfr_tensor_create((tfr_dtype)t->dtype, &shape, &plain, NULL))
        return NULL;
    if (tfr__strided_copy((tfr_dtype)t->dtype, &shape, plain->data, NULL, t->data, strides, NULL)) {
        tfr_tensor_release(plain);
        return NULL;
    }
    tfr__tensor_rest(t);
    return plain;
}

static bool read_perm(tfr__rewrite *rw, const tfr__node *node, perm *out)
{
    uint64_t n = 0;
    const int64_t *axes;
    const tfr_value_type *type;
    uint32_t seen = 0;
    if (!tfr__rewrite_is(node, "Transpose") || node->device ||
        tfr__rewrite_input(rw, node, 0) == TFR_VALUE_NONE)
        return false;
    axes = tfr__attr_ints(&node->attrs, "perm", &n);
    type = tfr__rewrite_type(rw, tfr__rewrite_input(rw, node, 0));
    if (n > TFR_MAX_RANK || (!axes && !type->rank_known))
        return false;
    out->rank = axes ? (int32_t)n : type->rank;
    for (int32_t i = 0; i < out->rank; i++) {
        out->axes[i] = axes ? axes[i] : out->rank - 1 - i;
        if (out->axes[i] < 0 || out->axes[i] >= out->rank)
            return false;
        seen |= UINT32_C(1) << out->axes[i];
    }
    return seen == (UINT32_C(1) << out->rank) - 1;
}

/* The Transpose that makes a value, if one does. */
static tfr__node *transpose_of(tfr__rewrite *rw, tfr_value v, perm *out)
{
    tfr__node *node = v == TFR_VALUE_NONE ? NULL : tfr__rewrite_producer(rw, v);
    return node && read_perm(rw, node, out) ? node : NULL;
}

static bool is_identity(const perm *p)
{
    for (int32_t i = 0; i < p->rank; i++)
        if (p->axes[i] != i)
            return false;
    return true;
}

static void set_perm(tfr__rewrite *rw, tfr__node *node, const perm *p)
{
    tfr__attr_list *attrs = tfr__rewrite_attrs(rw, node);
    if (!rw->status && tfr__attr_set_ints(attrs, "perm", p->axes, (uint64_t)p->rank, NULL))
        rw->status = TFR_ENOMEM;
}

static uint32_t merge(tfr__rewrite *rw, tfr__node *node)
{
    perm p, inner, both;
    const tfr__node *before;
    if (!node->n_outputs || node->outputs[0] == TFR_VALUE_NONE || !read_perm(rw, node, &p))
        return 0;
    before = transpose_of(rw, tfr__rewrite_input(rw, node, 0), &inner);
    both = p;
    if (before && inner.rank == p.rank)
        for (int32_t i = 0; i < p.rank; i++)
            both.axes[i] = inner.axes[p.axes[i]];
    else
        before = NULL;
    if (is_identity(&both)) {
        tfr__rewrite_replace(rw, node->outputs[0],
                             tfr__rewrite_input(rw, before ? before : node, 0));
        return 1;
    }
    if (!before)
        return 0;
    tfr__rewrite_set_input(rw, node, 0, tfr__rewrite_input(rw, before, 0));
    set_perm(rw, node, &both);
    return 1;
}

/* ---- moving behind elementwise ops ----------------------------------------------------------- */

static bool is_elementwise(const tfr__node *node)
{
    return !node->device && node->n_outputs == 1 && !*node->op->domain &&
           node->op->traits & TFR__TRAIT_ELEMENTWISE;
}

/* Can the constant stand in front of the Transpose? One element always, one axis when turned. */
static bool can_turn(const tfr_tensor *t, int32_t rank)
{
    int32_t axes = 0;
    for (int32_t i = 0; t && i < t->shape.rank; i++)
        axes += t->shape.dims[i] != 1;
    return t && t->shape.rank <= rank && axes <= 1;
}

static tfr_value turn(tfr__rewrite *rw, tfr_value v, const perm *back)
{
    tfr_tensor *t = tfr__rewrite_tensor(rw, v), *wide = NULL, *turned = NULL;
    tfr_shape shape = {back->rank, {0}};
    int32_t missing = back->rank - t->shape.rank;
    if (t->n_elements == 1)
        return v;
    for (int32_t i = 0; i < back->rank; i++)
        shape.dims[i] = i < missing ? 1 : t->shape.dims[i - missing];
    if (!tfr_tensor_view(t, 0, &shape, NULL, &wide, NULL)) {
        turned = tfr__tensor_permute(wide, back->axes);
        tfr_tensor_release(wide);
    }
    if (turned)
        return tfr__rewrite_constant(rw, v, turned);
    rw->status = TFR_ENOMEM;
    return TFR_VALUE_NONE;
}

/* Are all operands transposed alike and for this node alone, or constants that can be turned? */
static bool can_sink(tfr__rewrite *rw, const tfr__node *node, perm *p)
{
    perm other;
    bool any = false;
    for (uint32_t k = 0; k < node->n_inputs; k++) {
        tfr_value v = tfr__rewrite_input(rw, node, k);
        uint32_t reads = 0;
        if (!transpose_of(rw, v, any ? &other : p))
            continue;
        for (uint32_t j = 0; j < node->n_inputs; j++)
            reads += tfr__rewrite_input(rw, node, j) == v;
        if (rw->uses[v] != reads ||
            (any && (other.rank != p->rank ||
                     memcmp(other.axes, p->axes, (size_t)p->rank * sizeof *p->axes) != 0)))
            return false;
        any = true;
    }
    for (uint32_t k = 0; any && k < node->n_inputs; k++) {
        tfr_value v = tfr__rewrite_input(rw, node, k);
        any = v == TFR_VALUE_NONE || transpose_of(rw, v, &other) ||
              can_turn(tfr__rewrite_tensor(rw, v), p->rank);
    }
    return any;
}

static uint32_t sink(tfr__rewrite *rw, uint32_t i)
{
    tfr__node *node = &rw->graph->nodes[i], *moved;
    tfr_value out = node->outputs[0], inner;
    tfr_value_type type;
    perm p, back, unused;
    if (out == TFR_VALUE_NONE || !is_elementwise(node) || !can_sink(rw, node, &p))
        return 0;
    back.rank = p.rank;
    for (int32_t k = 0; k < p.rank; k++)
        back.axes[p.axes[k]] = k;
    for (uint32_t k = 0; k < node->n_inputs && !rw->status; k++) {
        tfr_value v = tfr__rewrite_input(rw, node, k);
        const tfr__node *before = transpose_of(rw, v, &unused);
        if (v == TFR_VALUE_NONE)
            continue;
        v = before ? tfr__rewrite_input(rw, before, 0) : turn(rw, v, &back);
        if (v != TFR_VALUE_NONE)
            tfr__rewrite_set_input(rw, node, k, v);
    }
    inner = rw->status ? TFR_VALUE_NONE : tfr__rewrite_value(rw, out);
    if (inner == TFR_VALUE_NONE)
        return 0;
    type = *tfr__rewrite_type(rw, out);
    for (int32_t k = 0; type.rank_known && k < p.rank; k++)
        rw->graph->values[inner].type.dims[p.axes[k]] = type.dims[k];
    node->outputs[0] = inner;
    rw->graph->values[inner].node = (int32_t)i;
    moved = tfr__rewrite_node(rw, "Transpose", &inner, 1, out);
    if (moved)
        set_perm(rw, moved, &p);
    return 1;
}

/* ---- products -------------------------------------------------------------------------------- */

/* Gemm reads an operand transposed as well; a MatMul of matrices becomes one. */
static uint32_t take_into_product(tfr__rewrite *rw, tfr__node *node)
{
    static const char *const flags[] = {"transA", "transB"};
    bool gemm = tfr__rewrite_is(node, "Gemm");
    uint32_t n = 0;
    if (node->device || (!gemm && !tfr__rewrite_is(node, "MatMul")))
        return 0;
    for (uint32_t k = 0; k < 2; k++) {
        const tfr_value_type *other = tfr__rewrite_type(rw, tfr__rewrite_input(rw, node, !k));
        perm p;
        const tfr__node *before = transpose_of(rw, tfr__rewrite_input(rw, node, k), &p);
        if (!before || p.rank != 2 || p.axes[0] != 1 ||
            (!gemm && (!other->rank_known || other->rank != 2)) ||
            !tfr__rewrite_claimed(rw, "Gemm"))
            continue;
        if (tfr__attr_set_int(tfr__rewrite_attrs(rw, node), flags[k],
                              !tfr__attr_int(&node->attrs, flags[k], 0), NULL))
            rw->status = TFR_ENOMEM;
        tfr__rewrite_set_input(rw, node, k, tfr__rewrite_input(rw, before, 0));
        node->op = tfr__op_find("", "Gemm");
        n++;
    }
    return n;
}

uint32_t tfr__pass_transpose(tfr__rewrite *rw)
{
    uint32_t n = 0, n_nodes = rw->graph->n_nodes;
    for (uint32_t i = 0; i < n_nodes && !rw->status; i++) {
        tfr__node *node = &rw->graph->nodes[i];
        if (node->op)
            n += merge(rw, node);
        if (node->op)
            n += take_into_product(rw, node);
        if (node->op && node->n_outputs)
            n += sink(rw, i);
    }
    return n;
}
