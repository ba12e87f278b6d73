/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite_types.c: types of values before any run. A node whose inputs are known to the last dim
 * goes through the inference of its op; for the others there are rules that pass on what is known:
 * the rank, and dims that do not depend on the unknown ones. A dim of -1 is not known. What has no
 * rule is not known at all.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "op/infer_rows.h"
#include "optimize/rewrite.h"

typedef struct scene {
    tfr__rewrite *rw;
    const tfr__node *node;
} scene;

static const void *constant_value(tfr__infer *in, uint32_t input)
{
    static const char nothing[1];
    scene *s = in->user;
    const tfr_tensor *t = tfr__rewrite_tensor(s->rw, s->node->inputs[input]);
    return !t ? NULL : t->bytes ? tfr__tensor_data(t) : nothing;
}

static bool is_exact(const tfr_value_type *type)
{
    if (type->kind != TFR_KIND_TENSOR || !type->dtype || !type->rank_known)
        return false;
    for (int32_t i = 0; i < type->rank; i++)
        if (type->dims[i] < 0)
            return false;
    return true;
}

/* ---- rules ----------------------------------------------------------------------------------- */

/* Type of input k, or one of which nothing is known. */
static const tfr_value_type *type_in(scene *s, uint32_t k)
{
    return tfr__rewrite_type(s->rw, tfr__rewrite_input(s->rw, s->node, k));
}

/* Dims from a vector of them, with -1 where only a run knows; false if even their number is not
 * known. Vectors joined of known and computed ones are usual. */
static bool dims_of_vector(scene *s, tfr_value v, tfr_value_type *out)
{
    const tfr_value_type *type = tfr__rewrite_type(s->rw, v);
    const tfr__node *join = tfr__rewrite_producer(s->rw, v);
    uint32_t n;
    if (type->rank_known && type->rank == 1 && type->dims[0] >= 0 && type->dims[0] <= TFR_MAX_RANK)
        out->rank = (int32_t)type->dims[0];
    else
        return false;
    for (int32_t i = 0; i < out->rank; i++)
        out->dims[i] = -1;
    if (tfr__rewrite_ints(s->rw, v, out->dims, TFR_MAX_RANK, &n) ||
        !tfr__rewrite_is(join, "Concat") || join->n_inputs != type->dims[0])
        return true;
    for (uint32_t k = 0; k < join->n_inputs; k++)
        if (!tfr__rewrite_ints(s->rw, join->inputs[k], &out->dims[k], 1, &n) || n != 1)
            out->dims[k] = -1; /* as many inputs as elements may still be 0 and 2 long */
    for (uint32_t k = 0; k < join->n_inputs; k++) {
        const tfr_value_type *part =
            tfr__rewrite_type(s->rw, tfr__rewrite_find(s->rw, join->inputs[k]));
        for (uint32_t i = 0; i < join->n_inputs; i++)
            if (!part->rank_known || part->rank != 1 || part->dims[0] != 1)
                out->dims[i] = -1;
    }
    return true;
}

static void broadcast(tfr_value_type *out, const tfr_value_type *b)
{
    tfr_value_type a = *out;
    if (!b->rank_known) {
        out->rank_known = 0;
        return;
    }
    out->rank = a.rank > b->rank ? a.rank : b->rank;
    for (int32_t i = 1; i <= out->rank; i++) {
        int64_t x = i <= a.rank ? a.dims[a.rank - i] : 1;
        int64_t y = i <= b->rank ? b->dims[b->rank - i] : 1;
        /* A known dim over 1 decides, whatever the other is. */
        out->dims[out->rank - i] = x == 1 ? y : y == 1 ? x : x < 0 ? y : x;
    }
}

static void unknown_from(tfr_value_type *out, int32_t first)
{
    for (int32_t i = first; i < out->rank; i++)
        out->dims[i] = -1;
}

static bool rule_same(scene *s, tfr_value_type *out)
{
    (void)s;
    (void)out;
    return true;
}

static bool rule_rank(scene *s, tfr_value_type *out)
{
    (void)s;
    unknown_from(out, 0);
    return true;
}

static bool rule_broadcast(scene *s, tfr_value_type *out)
{
    for (uint32_t k = 1; k < s->node->n_inputs && out->rank_known; k++)
        broadcast(out, type_in(s, k));
    if (s->node->op->infer == tfr__infer_compare)
        out->dtype = TFR_DTYPE_BOOL;
    return out->rank_known;
}

static bool rule_cast(scene *s, tfr_value_type *out)
{
    out->dtype = s->node->op->infer == tfr__infer_test
                     ? (int32_t)TFR_DTYPE_BOOL
                     : (int32_t)tfr__attr_int(&s->node->attrs, "to", type_in(s, 1)->dtype);
    return true;
}

static bool rule_matmul(scene *s, tfr_value_type *out)
{
    const tfr_value_type *b = type_in(s, 1);
    tfr_value_type batch = *out, other = *b;
    int64_t rows;
    if (!b->rank_known || b->rank < 2 || out->rank < 2)
        return false;
    rows = out->dims[out->rank - 2];
    batch.rank -= 2;
    other.rank -= 2;
    broadcast(&batch, &other);
    *out = batch;
    out->rank += 2;
    out->dims[out->rank - 2] = rows;
    out->dims[out->rank - 1] = b->dims[b->rank - 1];
    return true;
}

static bool rule_gemm(scene *s, tfr_value_type *out)
{
    const tfr_value_type *b = type_in(s, 1);
    if (out->rank != 2 || !b->rank_known || b->rank != 2)
        return false;
    out->dims[0] = out->dims[tfr__attr_int(&s->node->attrs, "transA", 0) != 0];
    out->dims[1] = b->dims[tfr__attr_int(&s->node->attrs, "transB", 0) == 0];
    return true;
}

static bool rule_transpose(scene *s, tfr_value_type *out)
{
    uint64_t n;
    const int64_t *perm = tfr__attr_ints(&s->node->attrs, "perm", &n);
    tfr_value_type in = *out;
    if (perm && n != (uint64_t)in.rank)
        return false;
    for (int32_t i = 0; i < in.rank; i++) {
        int64_t from = perm ? perm[i] : in.rank - 1 - i;
        if (from < 0 || from >= in.rank)
            return false;
        out->dims[i] = in.dims[from];
    }
    return true;
}

/* Bits of the axes that an input names; false if they are not known. */
static bool axes_of(scene *s, uint32_t input, int32_t rank, uint32_t *mask)
{
    int64_t axes[TFR_MAX_RANK];
    uint32_t n;
    *mask = 0;
    if (!tfr__rewrite_ints(s->rw, tfr__rewrite_input(s->rw, s->node, input), axes, TFR_MAX_RANK,
                           &n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (axes[i] < 0)
            axes[i] += rank;
        if (axes[i] < 0 || axes[i] >= rank)
            return false;
        *mask |= UINT32_C(1) << axes[i];
    }
    return true;
}

static bool rule_reduce(scene *s, tfr_value_type *out)
{
    bool keep = tfr__attr_int(&s->node->attrs, "keepdims", 1) != 0;
    tfr_value_type in = *out;
    uint32_t mask;
    if (!axes_of(s, 1, in.rank, &mask) || !mask)
        return keep && rule_rank(s, out);
    out->rank = 0;
    for (int32_t i = 0; i < in.rank; i++)
        if (!(mask >> i & 1) || keep)
            out->dims[out->rank++] = mask >> i & 1 ? 1 : in.dims[i];
    return true;
}

static bool rule_unsqueeze(scene *s, tfr_value_type *out)
{
    const tfr_tensor *axes = tfr__rewrite_tensor(s->rw, tfr__rewrite_input(s->rw, s->node, 1));
    tfr_value_type in = *out;
    uint32_t mask;
    int32_t from = 0;
    if (!axes || axes->n_elements > TFR_MAX_RANK - in.rank)
        return false;
    out->rank += (int32_t)axes->n_elements;
    if (!axes_of(s, 1, out->rank, &mask))
        return false;
    for (int32_t i = 0; i < out->rank; i++)
        out->dims[i] = mask >> i & 1 || from >= in.rank ? 1 : in.dims[from++];
    return true;
}

static bool rule_squeeze(scene *s, tfr_value_type *out)
{
    tfr_value_type in = *out;
    uint32_t mask;
    if (!axes_of(s, 1, in.rank, &mask))
        return false;
    out->rank = 0;
    for (int32_t i = 0; i < in.rank; i++)
        if (!(mask >> i & 1))
            out->dims[out->rank++] = in.dims[i];
    return true;
}

static bool rule_flatten(scene *s, tfr_value_type *out)
{
    out->rank = 2;
    return rule_rank(s, out);
}

static bool rule_reshape(scene *s, tfr_value_type *out)
{
    tfr_value_type in = *out;
    if (!dims_of_vector(s, tfr__rewrite_input(s->rw, s->node, 1), out))
        return false;
    for (int32_t i = 0; i < out->rank; i++)
        if (out->dims[i] == 0 && !tfr__attr_int(&s->node->attrs, "allowzero", 0))
            out->dims[i] = in.rank_known && i < in.rank ? in.dims[i] : -1;
    out->rank_known = 1;
    return true;
}

static bool rule_expand(scene *s, tfr_value_type *out)
{
    tfr_value_type shape = *out;
    if (!dims_of_vector(s, tfr__rewrite_input(s->rw, s->node, 1), &shape))
        return false;
    broadcast(out, &shape);
    return true;
}

static bool rule_gather(scene *s, tfr_value_type *out)
{
    const tfr_value_type *at = type_in(s, 1);
    int64_t axis = tfr__attr_int(&s->node->attrs, "axis", 0);
    tfr_value_type in = *out;
    if (axis < 0)
        axis += in.rank;
    if (!at->rank_known || axis < 0 || axis >= in.rank || in.rank + at->rank - 1 > TFR_MAX_RANK)
        return false;
    out->rank = in.rank + at->rank - 1;
    memcpy(out->dims + axis, at->dims, (size_t)at->rank * sizeof *at->dims);
    for (int32_t i = (int32_t)axis + 1; i < in.rank; i++)
        out->dims[i + at->rank - 1] = in.dims[i];
    return true;
}

static bool rule_concat(scene *s, tfr_value_type *out)
{
    int64_t axis = tfr__attr_int(&s->node->attrs, "axis", 0);
    if (axis < 0)
        axis += out->rank;
    if (axis < 0 || axis >= out->rank)
        return false;
    for (uint32_t k = 1; k < s->node->n_inputs; k++) {
        const tfr_value_type *b = type_in(s, k);
        if (!b->rank_known || b->rank != out->rank)
            return false;
        for (int32_t i = 0; i < out->rank; i++) {
            if (i != axis)
                out->dims[i] = out->dims[i] < 0 ? b->dims[i] : out->dims[i];
            else if (out->dims[i] < 0 || b->dims[i] < 0)
                out->dims[i] = -1;
            else if (!tfr__add64(out->dims[i], b->dims[i], &out->dims[i]))
                return false;
        }
    }
    return true;
}

static bool rule_conv(scene *s, tfr_value_type *out)
{
    const tfr_value_type *w = type_in(s, 1);
    unknown_from(out, 1);
    if (s->node->op->infer == tfr__infer_conv && w->rank_known && w->rank > 1 && out->rank > 1)
        out->dims[1] = w->dims[0];
    return true;
}

static bool rule_pool(scene *s, tfr_value_type *out)
{
    (void)s;
    unknown_from(out, 2);
    return true;
}

static bool rule_shape(scene *s, tfr_value_type *out)
{
    const tfr_value_type *in = type_in(s, 0);
    bool whole =
        !tfr__attr_find(&s->node->attrs, "start") && !tfr__attr_find(&s->node->attrs, "end");
    out->dtype = TFR_DTYPE_I64;
    out->rank = 1;
    out->dims[0] = whole && in->rank_known ? in->rank : -1;
    out->rank_known = 1;
    return true;
}

typedef tfr_status infer_fn(struct tfr__infer *in, tfr_err *err);

/* By the inference of the op. It starts from the type of the first input, of known rank but for
 * the ops whose rank comes from elsewhere. */
static const struct rule {
    infer_fn *of;
    bool (*rule)(scene *s, tfr_value_type *out);
    bool any_rank;
} rules[] = {
    {tfr__infer_same, rule_same, false},
    {tfr__infer_axis_same, rule_same, false},
    {tfr__infer_clip, rule_same, false},
    {tfr__infer_prelu, rule_same, false},
    {tfr__infer_dropout, rule_same, false},
    {tfr__infer_batch_norm, rule_same, false},
    {tfr__infer_layer_norm, rule_same, false},
    {tfr__infer_rms_norm, rule_same, false},
    {tfr__infer_instance_norm, rule_same, false},
    {tfr__infer_group_norm, rule_same, false},
    {tfr__infer_lrn, rule_same, false},
    {tfr__infer_cumulative, rule_same, false},
    {tfr__infer_trilu, rule_same, false},
    {tfr__infer_cast, rule_cast, false},
    {tfr__infer_cast_like, rule_cast, false},
    {tfr__infer_test, rule_cast, false},
    {tfr__infer_binary, rule_broadcast, false},
    {tfr__infer_compare, rule_broadcast, false},
    {tfr__infer_variadic, rule_broadcast, false},
    {tfr__infer_where, rule_broadcast, false},
    {tfr__infer_matmul, rule_matmul, false},
    {tfr__infer_gemm, rule_gemm, false},
    {tfr__infer_transpose, rule_transpose, false},
    {tfr__infer_reduce, rule_reduce, false},
    {tfr__infer_unsqueeze, rule_unsqueeze, false},
    {tfr__infer_squeeze, rule_squeeze, false},
    {tfr__infer_flatten, rule_flatten, true},
    {tfr__infer_reshape, rule_reshape, true},
    {tfr__infer_expand, rule_expand, false},
    {tfr__infer_gather, rule_gather, false},
    {tfr__infer_concat, rule_concat, false},
    {tfr__infer_conv, rule_conv, false},
    {tfr__infer_conv_transpose, rule_conv, false},
    {tfr__infer_pool, rule_pool, false},
    {tfr__infer_global_pool, rule_pool, false},
    {tfr__infer_slice, rule_rank, false},
    {tfr__infer_split, rule_rank, false},
    {tfr__infer_pad, rule_rank, false},
    {tfr__infer_tile, rule_rank, false},
    {tfr__infer_resize, rule_rank, false},
    {tfr__infer_shape, rule_shape, true},
};

/* The element type of the first output: that of the inputs of the same type by the signature, or if
 * there are none, what the rule says and the op admits. */
static int32_t output_dtype(scene *s, int32_t dtype)
{
    const tfr__op *op = s->node->op;
    tfr__formal out, in;
    bool found = false;
    if (!tfr__op_formal(op->outputs, 0, &out))
        return TFR_DTYPE_NONE;
    for (uint32_t k = 0; k < s->node->n_inputs; k++) {
        if (s->node->inputs[k] == TFR_VALUE_NONE || !tfr__op_formal(op->inputs, k, &in) ||
            in.mixed || in.type_bytes != out.type_bytes ||
            memcmp(in.type, out.type, out.type_bytes) != 0)
            continue;
        found = true;
        if (type_in(s, k)->dtype)
            return type_in(s, k)->dtype;
    }
    if (found)
        return TFR_DTYPE_NONE;
    return tfr__op_admits(op, out.type, out.type_bytes, TFR_KIND_TENSOR, dtype) ? dtype
                                                                                : TFR_DTYPE_NONE;
}

static void pass_on(scene *s)
{
    const struct rule *rule = NULL;
    tfr_value_type type = *type_in(s, 0);
    for (size_t i = 0; !rule && i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].of == s->node->op->infer)
            rule = &rules[i];
    if (!rule || (!type.rank_known && !rule->any_rank) || !rule->rule(s, &type))
        return;
    type.kind = TFR_KIND_TENSOR;
    type.dtype = output_dtype(s, type.dtype);
    /* Only Split has several outputs of one rank; of others the first is the one that counts. */
    for (uint32_t k = 0; k < s->node->n_outputs; k++)
        if (s->node->outputs[k] != TFR_VALUE_NONE &&
            (k == 0 || s->node->op->infer == tfr__infer_split))
            s->rw->graph->values[s->node->outputs[k]].type = type;
}

/* ---- exact inference ------------------------------------------------------------------------- */

static void type_from(const tfr__type *from, tfr_value_type *out)
{
    if (from->kind != TFR_KIND_TENSOR || !from->shape_known)
        return;
    out->kind = from->kind;
    out->dtype = from->dtype;
    out->rank_known = 1;
    out->rank = from->rank;
    memcpy(out->dims, from->dims, sizeof out->dims);
    if (from->dynamic)
        unknown_from(out, 0);
}

/* The op's own inference of a node whose inputs are exact; true = folded. */
static bool infer_exactly(scene *s, uint32_t i, tfr__rewrite_fold *fold, bool *done)
{
    const tfr__node *node = s->node;
    tfr__type *types = tfr__calloc((size_t)node->n_inputs + node->n_outputs + 1, sizeof *types);
    tfr__type *out = types + node->n_inputs;
    tfr__attr_list attrs = {0};
    tfr__infer infer = {node->op,
                        node->name,
                        node->n_inputs,
                        node->n_outputs,
                        types,
                        out,
                        &attrs,
                        constant_value,
                        s,
                        0,
                        NULL};
    bool folded = false;
    if (!types || tfr__attr_copy(&node->attrs, &attrs, NULL)) {
        s->rw->status = TFR_ENOMEM;
        tfr__free(types);
        return false;
    }
    for (uint32_t k = 0; k < node->n_inputs; k++) {
        const tfr_value_type *type = type_in(s, k);
        if (!type->kind)
            continue;
        types[k].kind = TFR_KIND_TENSOR;
        types[k].dtype = type->dtype;
        types[k].rank = type->rank;
        types[k].shape_known = true;
        memcpy(types[k].dims, type->dims, sizeof type->dims);
    }
    for (uint32_t k = 0; k < node->n_outputs; k++)
        out[k].kind = node->outputs[k] == TFR_VALUE_NONE ? TFR_KIND_NONE : TFR_KIND_TENSOR;
    *done = !tfr__infer_node(&infer, NULL);
    for (uint32_t k = 0; *done && k < node->n_outputs; k++)
        if (node->outputs[k] != TFR_VALUE_NONE)
            type_from(&out[k], &s->rw->graph->values[node->outputs[k]].type);
    if (*done && fold)
        folded = fold(s->rw, i, &attrs, out);
    tfr__attr_free(&attrs);
    tfr__free(types);
    return folded;
}

uint32_t tfr__rewrite_types(tfr__rewrite *rw, tfr__rewrite_fold *fold)
{
    uint32_t folded = 0;
    for (uint32_t i = 0; !rw->status && i < rw->graph->n_nodes; i++) {
        scene s = {rw, &rw->graph->nodes[i]};
        bool exact = true, done = false;
        if (!s.node->op || s.node->op->kind == TFR__OP_CONTROL ||
            s.node->op->kind == TFR__OP_SEQUENCE)
            continue;
        for (uint32_t k = 0; exact && k < s.node->n_inputs; k++)
            exact = s.node->inputs[k] == TFR_VALUE_NONE || is_exact(type_in(&s, k));
        if (exact)
            folded += infer_exactly(&s, i, fold, &done);
        if (!done && s.node->op)
            pass_on(&s);
    }
    return folded;
}
