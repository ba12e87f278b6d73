/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_renew.c: a plan becomes that of other shapes. A cache that grows by a token meets each
 * length once, and what a new plan would hold is what the old one holds: steps, arguments, places
 * in the arena, rows of the report. New are sizes and programs. So where nothing shrinks and all
 * fits where it lies, these are put into the plan before, which is none for its own shapes then.
 */
#include <string.h>

#include "plan/plan_build.h"

/* The values that its programs read, which are its build's, become its own. */
static void keep_known(tfr__plan *p, const tfr__build *b)
{
    for (uint32_t v = 0; v < b->graph->n_values; v++)
        if (b->graph->values[v].role != TFR__ROLE_CONSTANT)
            tfr__plan_keep(p, b->known[v]);
}

void tfr__plan_retire(tfr__plan *p, const tfr__build *b)
{
    keep_known(p, b);
    p->stale = true;
}

static bool grows(const tfr__live_in *was, const tfr_tensor *t)
{
    if (!t || t->kind != TFR_KIND_TENSOR || t->dtype != was->dtype || t->plain != was->plain ||
        !tfr__tensor_is_aligned(t) || t->shape.rank != was->shape.rank ||
        !(was->grows ? tfr__live_in_lies(was, t) : t->plain))
        return false;
    for (int32_t i = 0; i < was->shape.rank; i++)
        if (t->shape.dims[i] < was->shape.dims[i])
            return false;
    return true;
}

bool tfr__plan_may_renew(tfr__plan *p, const tfr__build *b, const tfr__section *section)
{
    bool may = section->unsampled && p->again && !p->used && p->n_arenas == 1 &&
               !p->streams->n_stuck &&
               !(p->n_captures | p->n_dims | p->n_variables | p->n_shape_inputs | p->n_reorders |
                 p->n_syncs);
    for (uint32_t i = 0; may && i < p->n_live_ins; i++)
        may = grows(&p->live_ins[i], section->values[p->live_ins[i].value]);
    if (!may && p->renewed)
        keep_known(p, b);
    return may;
}

/* Does what a buffer holds now fit where that lies? */
static bool fits(const tfr__build *b, uint32_t i)
{
    const tfr__buffer *buffer = &b->plan->buffers[i];
    const tfr_value v = buffer->value;
    if (v == TFR_VALUE_NONE || b->follows[v] == TFR_VALUE_NONE)
        return true;
    if (tfr__build_may_change(b, buffer))
        return !b->known[v]->bytes || tfr__tensor_data(b->known[v]);
    return buffer->kind != TFR__BUFFER_ARENA ||
           (uint64_t)tfr__type_bytes(&b->types[v]) <= b->rooms[i].bytes;
}

/* Does the step have the workspace, and has it the inputs, that its kernel or program wants? */
static bool step_fits(tfr__build *b, tfr__step *step)
{
    uint64_t bytes;
    if (step->program >= 0) {
        const uint32_t row = b->plan->programs[step->program].first_row;
        bytes = b->groups[b->nodes[row].group].program.info.workspace_bytes;
    } else {
        const uint32_t i = (uint32_t)step->node - b->first;
        const tfr__build_node *state = &b->nodes[i];
        if (state->changed &&
            (tfr__build_prepare(b, i, NULL) || state->consumed || state->stream != step->stream ||
             !(state->choice.answer.flags & TFR_ANSWER_RANDOM) != (step->random == TFR__NO_BUFFER)))
            return false;
        bytes = state->choice.answer.workspace_bytes;
    }
    return !bytes ||
           (step->workspace != TFR__NO_BUFFER && bytes <= b->rooms[step->workspace].bytes);
}

static void take_program(const tfr__build *b, tfr__program *was)
{
    const tfr__program *now = &b->groups[b->nodes[was->first_row].group].program;
    if (now->program != was->program)
        tfr__program_take(was, now);
}

static void take_step(tfr__build *b, uint32_t k)
{
    tfr__plan *p = b->plan;
    tfr__step *step = &p->steps[k];
    tfr__build_node *state = step->program < 0 ? &b->nodes[(uint32_t)step->node - b->first] : NULL;
    if (!state) {
        take_program(b, &p->programs[step->program]);
    } else if (state->changed) {
        tfr__kernel_drop(p->streams, step->backend, step->kernel);
        step->kernel = state->kernel;
        state->kernel = NULL;
    }
    tfr__step_bind(p, k, &p->bound[k]);
}

static void take_shapes(tfr__build *b)
{
    tfr__plan *p = b->plan;
    for (uint32_t i = 0; i < p->n_live_ins; i++)
        p->live_ins[i].shape = b->section->values[p->live_ins[i].value]->shape;
    for (uint32_t i = 0; i < p->n_buffers; i++) {
        tfr__buffer *buffer = &p->buffers[i];
        const tfr__type *type;
        if (buffer->value == TFR_VALUE_NONE || b->follows[buffer->value] == TFR_VALUE_NONE)
            continue;
        if (tfr__build_may_change(b, buffer)) {
            buffer->tensor = b->known[buffer->value];
            buffer->address = tfr__tensor_data(buffer->tensor);
        }
        if (buffer->kind == TFR__BUFFER_CONSTANT)
            continue;
        type = &b->types[buffer->value];
        buffer->bytes = (uint64_t)tfr__type_bytes(type);
        if (buffer->kind != TFR__BUFFER_TENSOR)
            continue;
        buffer->shape.rank = type->rank; /* Squeeze may have another one */
        memcpy(buffer->shape.dims, type->dims, (size_t)type->rank * sizeof *type->dims);
        tfr_tensor_release(buffer->tensor);
        buffer->tensor = NULL;
    }
    for (uint32_t i = 0; i < p->n_live_outs; i++) {
        tfr__live_out *out = &p->live_outs[i];
        if (b->follows[out->value] == TFR_VALUE_NONE)
            continue;
        out->type = b->types[out->value];
        tfr_tensor_release(out->known);
        out->known = tfr_tensor_retain(b->known[out->value]);
    }
}

bool tfr__plan_renew(tfr__build *b)
{
    tfr__plan *p = b->plan;
    bool can = b->n_arenas == 1 && b->n_rooms == p->n_buffers;
    for (uint32_t i = 0; can && i < p->n_buffers; i++)
        can = fits(b, i);
    for (uint32_t k = 0; can && k < p->n_steps; k++)
        can = step_fits(b, &p->steps[k]);
    for (uint32_t i = 0; can && i < p->n_live_outs; i++)
        can = p->live_outs[i].grown == b->layouts[p->live_outs[i].value].appends;
    if (!can)
        return false;
    take_shapes(b);
    for (uint32_t k = 0; k < p->n_steps; k++)
        take_step(b, k);
    tfr__plan_bind_skipped(p);
    while (p->n_known > p->n_kept) /* no program is left that was given these */
        tfr_tensor_release(p->known[--p->n_known]);
    return p->renewed = true;
}
