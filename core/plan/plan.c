/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c: makes, compares and frees plans; the three passes that fill one are in plan_*.c. */
#include "plan/plan.h"

#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "device/constant.h"
#include "plan/plan_build.h"
#include "plan/plan_cost.h"
#include "base/port/clock.h"

/* All arrays that begin with the build, in one block: what is aligned most comes first. */
static tfr_status build_init(tfr__build *b, tfr_err *err)
{
    const size_t n = (size_t)b->graph->n_values + 1;
    const size_t n_nodes = (size_t)(b->graph->n_nodes - b->first) + 1;
    b->n_node_states = (uint32_t)n_nodes - 1;
    b->nodes = tfr__calloc(1, n_nodes * (sizeof *b->nodes + sizeof *b->order) +
                                  n * (sizeof *b->types + sizeof *b->known + sizeof *b->layouts +
                                       8 * sizeof *b->root + 3 * sizeof *b->dynamic));
    if (!b->nodes)
        return tfr__no_memory(err);
    b->types = (tfr__type *)(b->nodes + n_nodes);
    b->known = (tfr_tensor **)(b->types + n);
    b->layouts = (tfr__value_layout *)(b->known + n);
    b->root = (tfr_value *)(b->layouts + n);
    b->live_out = b->root + n;
    b->number = b->live_out + n;
    b->follows = b->number + n;
    b->uses = (uint32_t *)(b->follows + n);
    b->live_in = b->uses + n;
    b->seen = b->live_in + n;
    b->readers = b->seen + n;
    b->order = b->readers + n;
    b->dynamic = (bool *)(b->order + n_nodes);
    b->wanted = b->dynamic + n;
    b->updates = b->wanted + n;
    return TFR_OK;
}

void tfr__build_free(tfr__build *b)
{
    if (!b)
        return;
    for (uint32_t i = 0; b->nodes && i < b->n_node_states; i++) {
        tfr__attr_free(&b->nodes[i].attrs);
        tfr__free(b->nodes[i].choice.text);
        tfr__free(b->nodes[i].alone);
        if (b->nodes[i].kernel) /* no step took it over */
            tfr__kernel_drop(b->streams, b->nodes[i].choice.backend, b->nodes[i].kernel);
    }
    for (uint32_t g = 0; g < b->n_groups; g++) {
        if (tfr__stream_is_stuck(b->streams, b->groups[g].backend))
            b->groups[g].program.program = NULL;
        tfr__group_free(&b->groups[g]);
    }
    for (uint32_t v = 0; b->known && v < b->graph->n_values; v++)
        tfr_tensor_release(b->known[v]);
    tfr__free(b->nodes);
    tfr__course_free(b);
    tfr__free(b->groups);
    tfr__free(b->rooms);
    tfr__free(b->arenas);
    tfr__free(b);
}

static tfr_status live_in_add(tfr__build *b, tfr_value v, const tfr_tensor *t, tfr_err *err)
{
    tfr__plan *p = b->plan;
    tfr__live_in *more;
    if (b->live_in[v])
        return TFR_OK;
    more = tfr__grow(p->live_ins, p->n_live_ins, sizeof *more);
    if (!more)
        return tfr__no_memory(err);
    p->live_ins = more;
    more += p->n_live_ins++;
    b->live_in[v] = p->n_live_ins;
    memset(more, 0, sizeof *more);
    more->value = v;
    more->dtype = t->dtype;
    more->plain = t->plain;
    more->aligned = tfr__tensor_is_aligned(t);
    more->shape = t->shape;
    memcpy(more->strides, t->strides, sizeof more->strides);
    return TFR_OK;
}

/* All that the section's nodes read from outside. */
static tfr_status find_live_ins(tfr__build *b, tfr_err *err)
{
    for (uint32_t i = 0; i < b->end - b->first; i++) {
        const tfr__node *node = tfr__build_node_at(b, i);
        for (uint32_t k = 0; k < node->n_inputs; k++) {
            tfr_value v = node->inputs[k];
            tfr_tensor *t = v == TFR_VALUE_NONE ? NULL : tfr__build_live_in(b, v);
            tfr_status status = t ? live_in_add(b, v, t, err) : TFR_OK;
            if (status)
                return status;
        }
    }
    return TFR_OK;
}

/* An empty plan of a section. */
static tfr_status plan_begin(tfr__build *b, const tfr__section *section, tfr_err *err)
{
    b->section = section;
    b->plan = tfr__calloc(1, sizeof *b->plan);
    if (!b->plan)
        return tfr__no_memory(err);
    *b->plan = (tfr__plan){.streams = b->streams, .graph = b->graph, .first = b->first};
    return TFR_OK;
}

static tfr_status build(tfr__build *b, const tfr__section *section, tfr_err *err)
{
    tfr_status status = build_init(b, err);
    if (!status)
        status = plan_begin(b, section, err);
    if (!status)
        status = tfr__build_infer(b, err);
    if (!status && b->end == b->first && b->first < b->graph->n_nodes)
        status = tfr_fail(err, TFR_EUNSUPPORTED,
                          "node \"%s\" (%s) cannot be planned: its inputs have no known shape",
                          b->graph->nodes[b->first].name, b->graph->nodes[b->first].op->name);
    if (!status)
        status = find_live_ins(b, err);
    b->stays = !status && tfr__build_can_stay(b);
    if (!status)
        status = tfr__build_place(b, err);
    return status ? status : tfr__build_steps(b, err);
}

/* An empty plan for a build that had another. */
static tfr_status plan_follows(tfr__build *b, const tfr__section *section, tfr_err *err)
{
    tfr_status status = plan_begin(b, section, err);
    memset(b->live_in, 0, b->graph->n_values * sizeof *b->live_in);
    return status ? status : find_live_ins(b, err);
}

/* The build that `like` has left, for the section as it is now. */
static tfr_status build_again(tfr__build *b, const tfr__section *section, tfr__plan *like,
                              bool *same, tfr_err *err)
{
    bool by_course;
    tfr_status status = TFR_OK;
    b->section = section;
    b->plan = like;
    b->renews = tfr__plan_may_renew(like, b, section);
    by_course = b->renews && tfr__course_fits(b);
    if (by_course) {
        status = tfr__course_take(b, same, err);
        /* Programs that append were compiled for others, or earlier: is there room here and now? */
        *same = *same && tfr__plan_has_room(like, section->values, b);
    } else {
        *same = tfr__build_count(b);
        if (!b->renews)
            status = plan_follows(b, section, err);
        if (!status && *same)
            status = tfr__build_infer_again(b, like, same, err);
        if (!status && *same)
            tfr__build_note_growth(b, like);
    }
    if (b->plan == like && like->n_shape_inputs) /* these were like's to begin with */
        *same = false;
    if (!status && *same && !by_course)
        status = tfr__build_place_again(b, same, err);
    if (status || !*same)
        return status;
    if (b->renews && !by_course)
        tfr__course_learn(b);
    if (b->renews && tfr__plan_renew(b))
        return TFR_OK;
    *same = tfr__build_count(b);
    if (b->plan == like) {
        tfr__plan_retire(like, b);
        status = plan_follows(b, section, err);
    }
    if (!status)
        status = tfr__build_placed(b, err);
    return status ? status : tfr__build_steps(b, err);
}

/* The plan goes to the caller, and the build with it if it stays. */
static tfr__plan *plan_take(tfr__build *b, bool sampled)
{
    tfr__plan *p = b->plan;
    p->end = b->end;
    p->n_kept = p->n_known;
    if (sampled)
        tfr__sample_begin(p);
    if (b->stays) {
        b->section = NULL;
        p->build = b;
    } else {
        tfr__build_free(b);
    }
    return p;
}

static void plan_give_up(tfr__build *b)
{
    tfr__plan *p = b ? b->plan : NULL;
    if (!b)
        return;
    tfr__streams_settle(b->streams); /* constants may be on their way */
    tfr__build_free(b);
    tfr__plan_destroy(p);
}

/* NULL: it takes a plan from nothing, which says why if there is none. */
static tfr__plan *plan_again(const tfr__section *section, tfr__plan *like)
{
    tfr_err own = TFR_ERR_INIT;
    tfr__build *b = like->build;
    bool same = true;
    like->build = NULL;
    if (!build_again(b, section, like, &same, &own) && same) {
        b->plan->again = true;
        return plan_take(b, false);
    }
    if (b->plan == like) {
        tfr__plan_retire(like, b);
        b->plan = NULL;
    }
    plan_give_up(b);
    return NULL;
}

tfr_status tfr__plan_create(const tfr__plan_env *env, const tfr__section *section, tfr__plan *like,
                            tfr__plan **out, tfr_err *err)
{
    const uint64_t began = tfr__now_ns();
    tfr__build *b;
    tfr_status status;
    *out = like && like->build && !like->stale ? plan_again(section, like) : NULL;
    if (!*out) {
        b = tfr__calloc(1, sizeof *b);
        if (!b)
            return tfr__no_memory(err);
        *b = (tfr__build){.env = env,
                          .streams = env->kernel.streams,
                          .graph = section->graph,
                          .first = section->first,
                          .end = section->first};
        status = build(b, section, err);
        if (status) {
            plan_give_up(b);
            return status;
        }
        *out = plan_take(b, !section->unsampled);
    }
    (*out)->plan_ns = tfr__now_ns() - began;
    return TFR_OK;
}

/* A stuck queue may use any host memory of its plan. */
static void plan_free(const tfr__plan *p, uint32_t memory, void *address)
{
    if (memory != TFR__MEMORY_HOST || !p->streams->n_stuck)
        tfr__stream_free(p->streams, memory, address);
}

/* What is left to the process can still be found, by tools that look for leaks. */
static void plan_leave(tfr__plan *p)
{
    static _Atomic(tfr__plan *) left;
    p->next = atomic_exchange(&left, p);
}

void tfr__plan_destroy(tfr__plan *p)
{
    if (!p)
        return;
    tfr__captures_destroy(p);
    for (uint32_t i = 0; i < p->n_steps; i++)
        if (p->steps[i].kind == TFR__STEP_LAUNCH && p->steps[i].kernel)
            tfr__kernel_drop(p->streams, p->steps[i].backend, p->steps[i].kernel);
    for (uint32_t i = 0; i < p->n_programs; i++)
        if (!tfr__stream_is_stuck(p->streams, p->programs[i].backend))
            tfr__program_drop(&p->programs[i]);
    if (!p->streams->n_stuck) /* its values are read until then */
        tfr__build_free(p->build);
    for (uint32_t i = 0; i < p->n_buffers; i++)
        if (p->buffers[i].constant)
            tfr__constant_release(p->streams, p->buffers[i].memory, p->buffers[i].constant);
        else if (p->buffers[i].kind == TFR__BUFFER_CONSTANT && !p->buffers[i].tensor)
            plan_free(p, TFR__MEMORY_HOST, p->buffers[i].address);
    for (uint32_t i = 0; i < p->n_arenas; i++)
        plan_free(p, p->arenas[i].memory, p->arenas[i].address);
    if (p->streams->n_stuck) { /* a device may use the rest */
        plan_leave(p);
        return;
    }
    for (uint32_t i = 0; i < p->n_dims; i++)
        tfr__backend_free(p->dims[i].backend, p->dims[i].backend->transfer_space,
                          p->dims[i].address);
    for (uint32_t i = 0; i < p->n_buffers; i++)
        if (p->buffers[i].kind == TFR__BUFFER_TENSOR)
            tfr_tensor_release(p->buffers[i].tensor);
    for (uint32_t i = 0; i < p->n_known; i++)
        tfr_tensor_release(p->known[i]);
    for (uint32_t i = 0; i < p->n_live_outs; i++)
        tfr_tensor_release(p->live_outs[i].known);
    for (uint32_t i = 0; i < p->n_shape_inputs; i++) {
        tfr__free(p->shape_inputs[i].data);
        tfr_tensor_release(p->shape_inputs[i].strings);
    }
    for (uint32_t i = 0; i < p->n_placed; i++) {
        tfr__free(p->placed[i].text);
        tfr__free(p->placed[i].alone);
        tfr__free(p->placed[i].note);
    }
    tfr__free(p->programs);
    tfr__free(p->sample_ns);
    tfr__free(p->live_ins);
    tfr__free(p->shape_inputs);
    tfr__free(p->live_outs);
    tfr__free(p->buffers);
    tfr__free(p->steps);
    tfr__free(p->bound);
    tfr__threads_settle();
    tfr__free(p->where);
    tfr__free(p->patches);
    tfr__free(p->moving);
    tfr__free(p->variables);
    tfr__free(p->args);
    tfr__free(p->dims);
    tfr__free(p->placed);
    tfr__free(p->known);
    tfr__free(p->arenas);
    tfr__free(p);
}

static bool live_in_fits(const tfr__live_in *want, const tfr_tensor *t)
{
    return t && t->kind == TFR_KIND_TENSOR && t->dtype == want->dtype && t->plain == want->plain &&
           tfr__tensor_is_aligned(t) == want->aligned && tfr_shape_equal(&t->shape, &want->shape) &&
           ((t->plain && !want->grows) || tfr__live_in_lies(want, t));
}

static bool same_strings(const tfr_tensor *a, const tfr_tensor *b)
{
    if (b->dtype != TFR_DTYPE_STRING || !tfr_shape_equal(&a->shape, &b->shape))
        return false;
    for (int64_t i = 0; i < a->n_elements; i++) {
        size_t n_a, n_b;
        const char *at_a = tfr_tensor_get_string(a, i, &n_a);
        const char *at_b = tfr_tensor_get_string(b, i, &n_b);
        if (n_a != n_b || memcmp(at_a, at_b, n_a) != 0)
            return false;
    }
    return true;
}

bool tfr__plan_fits(const tfr__plan *p, tfr_tensor *const *values)
{
    if (p->stale)
        return false;
    for (uint32_t i = 0; i < p->n_live_ins; i++)
        if (!live_in_fits(&p->live_ins[i], values[p->live_ins[i].value]))
            return false;
    if (!tfr__plan_has_room(p, values, NULL))
        return false;
    for (uint32_t i = 0; i < p->n_shape_inputs; i++) {
        tfr_tensor *t = values[p->shape_inputs[i].value], *copy = NULL;
        bool same;
        /* It need not be a live-in: it may have ended the section before its reader. */
        if (!t || t->kind != TFR_KIND_TENSOR)
            return false;
        if (p->shape_inputs[i].strings) {
            if (!same_strings(p->shape_inputs[i].strings, t))
                return false;
            continue;
        }
        if (t->dtype == TFR_DTYPE_STRING || t->bytes != p->shape_inputs[i].bytes ||
            (!t->plain && tfr_tensor_copy(t, &copy, NULL)))
            return false;
        same = !p->shape_inputs[i].bytes ||
               memcmp(copy ? copy->data : t->data, p->shape_inputs[i].data,
                      (size_t)p->shape_inputs[i].bytes) == 0;
        tfr_tensor_release(copy);
        if (!same)
            return false;
    }
    return true;
}
