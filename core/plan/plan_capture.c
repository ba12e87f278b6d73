/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_capture.c: the third pass, for devices that capture: which steps can be captured together,
 * and, for each node, why it cannot or what ended the capture before it (capture.h).
 */
#include <string.h>

#include "base/alloc.h"
#include "plan/plan_steps.h"

static bool captures(const tfr__steps *s, const tfr__step *step)
{
    return step->backend && step->backend->has_capture && tfr__steps_is_queued(s, step->stream);
}

/* ---- what comes in first --------------------------------------------------------------------- */

/* May the step come before all others? Then what it writes is there early, too. */
static bool is_early(const tfr__steps *s, const tfr__step *step, bool *early)
{
    const tfr__buffer *src = step->src == TFR__NO_BUFFER ? NULL : &s->p->buffers[step->src];
    const bool copies = step->kind == TFR__STEP_COPY && step->to_device &&
                        step->from == TFR__NO_STREAM && captures(s, step);
    if (!src || src->memory != TFR__MEMORY_HOST || !(copies || step->kind == TFR__STEP_REORDER) ||
        !(src->kind == TFR__BUFFER_LIVE_IN || src->kind == TFR__BUFFER_CONSTANT ||
          early[step->src]))
        return false;
    early[step->dst] = true;
    return true;
}

tfr_status tfr__steps_hoist(tfr__steps *s, tfr_err *err)
{
    tfr__plan *p = s->p;
    bool *early, any = false;
    uint32_t *to;
    tfr__step *steps;
    uint32_t n = 0, place = 0;
    for (uint32_t i = 0; i < p->n_steps; i++)
        any = any || captures(s, &p->steps[i]);
    if (!any || s->b->env->no_capture)
        return TFR_OK;
    early = tfr__calloc((size_t)p->n_buffers + 1, sizeof *early);
    to = tfr__calloc((size_t)p->n_steps + 1, sizeof *to);
    steps = tfr__alloc(((size_t)p->n_steps + 1) * sizeof *steps);
    if (early && to && steps) {
        for (uint32_t i = 0; i < p->n_steps; i++)
            to[i] = is_early(s, &p->steps[i], early) ? n++ : UINT32_MAX;
        for (uint32_t i = 0; i < p->n_steps; i++) {
            to[i] = to[i] == UINT32_MAX ? n + place++ : to[i];
            steps[to[i]] = p->steps[i];
        }
        memcpy(p->steps, steps, p->n_steps * sizeof *steps);
        for (uint32_t i = 0; i < p->n_variables; i++)
            if (p->variables[i].written != UINT32_MAX)
                p->variables[i].written = to[p->variables[i].written];
        to[p->n_steps] = p->n_steps;
        for (uint32_t i = 0; i < p->n_live_outs; i++) { /* what they do is never early */
            p->live_outs[i].first_step = to[p->live_outs[i].first_step];
            p->live_outs[i].end_step = to[p->live_outs[i].end_step];
        }
    }
    any = early && to && steps;
    tfr__free(early);
    tfr__free(to);
    tfr__free(steps);
    return any ? TFR_OK : tfr__no_memory(err);
}

/* ---- what can be captured -------------------------------------------------------------------- */

static tfr__captured judge_launch(const tfr__steps *s, const tfr__step *step)
{
    const tfr__plan *p = s->p;
    const bool is_program = step->program >= 0;
    const tfr_answer *answer =
        is_program ? NULL : &s->b->nodes[(uint32_t)step->node - s->b->first].choice.answer;
    const uint32_t flags = is_program ? p->programs[step->program].info.flags : answer->flags;
    if (s->b->env->no_capture)
        return TFR__UNCAPTURED_OFF;
    if (answer && (answer->host_inputs || answer->host_outputs))
        return TFR__UNCAPTURED_HOST;
    for (uint32_t a = 0; a < step->n_args; a++)
        if (step->args[a].dims)
            return TFR__UNCAPTURED_DIMS;
    if (!(flags & TFR_ANSWER_CAPTURABLE))
        return TFR__UNCAPTURED_KERNEL;
    for (uint32_t a = 0; a < step->n_args; a++) {
        const uint32_t buffer = s->arg_buffers[step->args + a - p->args];
        if (buffer != TFR__NO_BUFFER && (p->buffers[buffer].kind == TFR__BUFFER_LIVE_IN ||
                                         p->buffers[buffer].kind == TFR__BUFFER_TENSOR))
            return TFR__UNCAPTURED_ADDRESS;
    }
    return TFR__CAPTURED;
}

/* Of a step that its device could capture by its kind: CAPTURED, or why not. Of others: how they
 * break one. */
static tfr__captured judge(const tfr__steps *s, uint32_t i)
{
    const tfr__plan *p = s->p;
    const tfr__step *step = &p->steps[i];
    if (step->kind == TFR__STEP_SYNC || step->kind == TFR__STEP_REORDER)
        return TFR__BROKEN_WAIT;
    if (!captures(s, step))
        return TFR__BROKEN_STREAM;
    if (step->kind == TFR__STEP_COPY)
        return TFR__BROKEN_COPY;
    if (step->kind == TFR__STEP_ORDER)
        return TFR__BROKEN_ORDER;
    if (step->kind == TFR__STEP_LAUNCH)
        return judge_launch(s, step);
    for (uint32_t o = 0; o < p->n_live_outs; o++)
        if (i >= p->live_outs[o].first_step && i < p->live_outs[o].end_step)
            return TFR__BROKEN_COPY; /* not in each run */
    return s->b->env->no_capture || p->buffers[step->src].kind == TFR__BUFFER_VARIABLE ||
                   p->buffers[step->dst].kind != TFR__BUFFER_ARENA
               ? TFR__BROKEN_LAYOUT
               : TFR__CAPTURED;
}

/* Is it worth it? One kernel takes as long, but a program may run many. */
static bool is_worth(const tfr__plan *p, uint32_t first, uint32_t end)
{
    const tfr__step *step = &p->steps[first];
    return end - first > 1 || (step->kind == TFR__STEP_LAUNCH && step->program >= 0 &&
                               p->programs[step->program].info.n_kernels != 1);
}

/* Tells it of the nodes of a step. */
static void tell(tfr__plan *p, uint32_t i, tfr__captured what, tfr__captured broken)
{
    const tfr__step *step = &p->steps[i];
    const bool is_program = step->program >= 0;
    uint32_t row = (uint32_t)step->node - p->first, last = row;
    if (step->kind != TFR__STEP_LAUNCH)
        return;
    if (is_program) {
        row = p->programs[step->program].first_row;
        last = p->programs[step->program].last_row;
    }
    for (; row <= last; row++)
        if (p->placed[row].program == step->program) {
            p->placed[row].capture = (uint8_t)what;
            p->placed[row].capture_number = p->n_captures;
            p->placed[row].broken = (uint8_t)broken;
        }
}

/* What of the plan's patches is of launches [first, end); they are in the order of the steps. */
static void find_patches(const tfr__plan *p, tfr__capture *c)
{
    uint32_t patch = 0;
    for (uint32_t i = c->first; i < c->end; i++) {
        const tfr__step *step = &p->steps[i];
        if (step->kind != TFR__STEP_LAUNCH || !step->n_args)
            continue;
        while (patch < p->n_patches && p->patches[patch].arg < step->args)
            patch++;
        if (c->first_patch == UINT32_MAX)
            c->first_patch = patch;
        while (patch < p->n_patches && p->patches[patch].arg < step->args + step->n_args)
            patch++;
    }
    c->end_patch = patch;
    if (c->first_patch == UINT32_MAX)
        c->first_patch = patch;
}

static tfr_status capture_add(tfr__plan *p, uint32_t first, uint32_t end, tfr_err *err)
{
    tfr__capture *c = tfr__grow(p->captures, p->n_captures, sizeof *c);
    bool enough = c != NULL;
    if (c) {
        p->captures = c;
        c += p->n_captures++;
        *c = (tfr__capture){
            .plan = p, .first = first, .end = end, .at = first, .first_patch = UINT32_MAX};
        find_patches(p, c);
        for (uint32_t k = 0; k < 2; k++) {
            c->executables[k].addresses =
                tfr__calloc((size_t)(c->end_patch - c->first_patch) + 1, sizeof(void *));
            enough = enough && c->executables[k].addresses;
        }
    }
    return enough ? TFR_OK : tfr__no_memory(err);
}

tfr_status tfr__steps_capture(tfr__steps *s, tfr_err *err)
{
    tfr__plan *p = s->p;
    tfr__captured broken = TFR__CAPTURED_NEVER;
    tfr_status status = TFR_OK;
    for (uint32_t i = 0, end; !status && i < p->n_steps; i = end) {
        const tfr__captured what = judge(s, i);
        bool worth;
        for (end = i + 1; what == TFR__CAPTURED && end < p->n_steps &&
                          p->steps[end].stream == p->steps[i].stream &&
                          judge(s, end) == TFR__CAPTURED;)
            end++;
        worth = what == TFR__CAPTURED && is_worth(p, i, end);
        if (worth) {
            for (uint32_t k = i; k < end; k++)
                tell(p, k, what, k == i && p->n_captures ? broken : TFR__CAPTURED_NEVER);
            status = capture_add(p, i, end, err);
        } else if (captures(s, &p->steps[i])) {
            tell(p, i, what == TFR__CAPTURED ? TFR__UNCAPTURED_ALONE : what, TFR__CAPTURED_NEVER);
        }
        broken = p->steps[i].kind == TFR__STEP_LAUNCH && captures(s, &p->steps[i])
                     ? TFR__BROKEN_LAUNCH
                     : what;
    }
    if (p->n_captures)
        p->watch |= TFR__WATCH_CAPTURES;
    return status;
}
