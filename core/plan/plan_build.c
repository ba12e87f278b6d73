/* SPDX-License-Identifier: Apache-2.0 */
/* plan_build.c: what the passes that make a plan ask of a node (plan_build.h). */
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "plan/plan_build.h"

/* Inputs beyond the bits of a mask are always made plain. */
static bool input_plain(const tfr__build_node *state, uint32_t i)
{
    return i >= 64 || (state->plain >> i & 1);
}

const int64_t *tfr__build_strides(const tfr__build *b, const tfr__build_node *state, tfr_value v,
                                  uint32_t i)
{
    tfr_tensor *t = tfr__build_live_in(b, v);
    if (!t || t->plain || b->known[v] || input_plain(state, i) || !tfr__tensor_is_aligned(t))
        return NULL;
    return t->strides;
}

/* Which random numbers of a run are the node's: by the name of what it makes, which no other node
 * makes, and which is the same in another process. */
static uint32_t subsequence(const tfr__build *b, const tfr__node *node)
{
    uint64_t hash = TFR__HASH_SEED;
    if (!(node->op->traits & TFR__TRAIT_RANDOM))
        return 0;
    for (uint32_t k = 0; k < node->n_outputs; k++)
        if (node->outputs[k] != TFR_VALUE_NONE) {
            const char *name = b->graph->values[node->outputs[k]].name;
            hash = tfr__hash(hash, name, strlen(name));
        }
    return (uint32_t)(hash ^ hash >> 32);
}

tfr_status tfr__build_call(tfr__build *b, uint32_t i, bool plain, tfr__call *call, tfr_err *err)
{
    const tfr__node *node = tfr__build_node_at(b, i);
    const tfr__build_node *state = &b->nodes[i];
    tfr_status status = tfr__call_init(call, node, &state->attrs, err);
    if (status)
        return status;
    call->call.math_mode = b->env->math_mode;
    call->call.flags = b->env->call_flags;
    call->call.shards = b->env->shards;
    call->call.subsequence = subsequence(b, node);
    if (state->choice.backend && state->choice.backend->claim_versions)
        call->call.since_version = state->choice.backend->claim_versions[tfr__op_number(node->op)];
    for (uint32_t k = 0; k < node->n_inputs; k++) {
        tfr_value v = node->inputs[k];
        if (v == TFR_VALUE_NONE)
            continue;
        tfr__operand_set(&call->operands[k], &b->types[v],
                         plain ? NULL : tfr__build_strides(b, state, v, k), NULL);
        if (b->known[v])
            status = tfr__call_set_unaligned(call, k, b->known[v], err);
        if (status) {
            tfr__call_finish(call);
            return status;
        }
    }
    for (uint32_t k = 0; k < node->n_outputs; k++)
        if (node->outputs[k] != TFR_VALUE_NONE)
            tfr__operand_set(&call->operands[node->n_inputs + k], &b->types[node->outputs[k]], NULL,
                             NULL);
    return TFR_OK;
}

bool tfr__build_any_strided(const tfr__build *b, uint32_t i)
{
    const tfr__node *node = tfr__build_node_at(b, i);
    for (uint32_t k = 0; k < node->n_inputs; k++)
        if (node->inputs[k] != TFR_VALUE_NONE &&
            tfr__build_strides(b, &b->nodes[i], node->inputs[k], k))
            return true;
    return false;
}

tfr_status tfr__build_keep(tfr__build *b, tfr_tensor *tensor, tfr_err *err)
{
    tfr__plan *p = b->plan;
    tfr_tensor **more = tfr__grow(p->known, p->n_known, sizeof *more);
    if (!more)
        return tfr__no_memory(err);
    p->known = more;
    p->known[p->n_known++] = tfr_tensor_retain(tensor);
    return TFR_OK;
}

tfr_tensor *tfr__plan_grow(const tfr__plan *p, tfr_tensor *const *values, tfr_value old,
                           const tfr__type *type)
{
    tfr_tensor *grown = tfr__tensor_grow(values[old], type->rank, type->dims);
    for (uint32_t i = 0; grown && i < p->n_live_ins; i++)
        if (p->live_ins[i].value != old &&
            tfr__tensors_share(grown, values[p->live_ins[i].value])) {
            tfr_tensor_release(grown);
            grown = NULL;
        }
    return grown;
}

bool tfr__live_in_lies(const tfr__live_in *want, const tfr_tensor *t)
{
    return memcmp(t->strides, want->strides, (size_t)t->shape.rank * sizeof *t->strides) == 0;
}

bool tfr__plan_has_room(const tfr__plan *p, tfr_tensor *const *values, const tfr__build *b)
{
    bool has_room = true;
    for (uint32_t i = 0; has_room && i < p->n_live_outs; i++) {
        const tfr__live_out *out = &p->live_outs[i];
        tfr_tensor *t;
        if (b ? !b->layouts[out->value].appends : !out->grown)
            continue;
        t = tfr__plan_grow(p, values,
                           b ? b->section->appends[out->value] : p->buffers[out->buffer].value,
                           b ? &b->types[out->value] : &out->type);
        has_room = t != NULL;
        tfr_tensor_release(t);
    }
    return has_room;
}

tfr_value tfr__build_appends(const tfr__build *b, tfr_value v)
{
    const tfr_value old = b->section->appends ? b->section->appends[v] : TFR_VALUE_NONE;
    const int64_t maker = tfr__build_maker(b, v);
    const tfr_tensor *t = old == TFR_VALUE_NONE ? NULL : tfr__build_live_in(b, old);
    tfr_tensor *grown;
    bool reads = false;
    if (!t || maker < 0 || b->nodes[maker].group < 0 || b->known[old] || b->dynamic[v] ||
        t->kind != TFR_KIND_TENSOR || t->dtype != b->types[v].dtype || !tfr__tensor_is_aligned(t))
        return TFR_VALUE_NONE;
    for (uint32_t i = 0; i < b->end - b->first; i++) {
        const tfr__node *node = tfr__build_node_at(b, i);
        for (uint32_t k = 0; k < node->n_inputs; k++) {
            reads = reads || (i == maker && node->inputs[k] == old);
            if (node->inputs[k] == v && b->nodes[i].needed &&
                b->nodes[i].group != b->nodes[maker].group)
                return TFR_VALUE_NONE;
        }
    }
    grown = reads ? tfr__plan_grow(b->plan, b->section->values, old, &b->types[v]) : NULL;
    tfr_tensor_release(grown);
    return grown ? old : TFR_VALUE_NONE;
}
