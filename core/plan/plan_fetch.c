/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_fetch.c: outputs on demand. What brings an output to the host, and nothing else, stands in
 * steps of its own at the plan's end; a run that nobody wants the output of does without them. The
 * plan stays the same, and so do its memory and all other steps.
 */
#include "plan/plan.h"

int32_t tfr__step_skipped(tfr_plugin_device *device, tfr_queue *queue, void *object,
                          const tfr_launch *launch, tfr_err *err)
{
    (void)device;
    (void)queue;
    (void)object;
    (void)launch;
    (void)err;
    return TFR_OK;
}

static void bind(tfr__plan *p, const tfr__live_out *out)
{
    for (uint32_t i = out->first_step; i < out->end_step; i++) {
        tfr__step_bind(p, i, &p->bound[i]);
        if (out->skipped)
            p->bound[i].call = tfr__step_skipped;
    }
}

void tfr__plan_bind_skipped(tfr__plan *p)
{
    for (uint32_t i = 0; p->n_skipped && i < p->n_live_outs; i++)
        bind(p, &p->live_outs[i]);
}

void tfr__plan_fetch(tfr__plan *p, const bool *wanted)
{
    for (uint32_t i = 0; i < p->n_live_outs; i++) {
        tfr__live_out *out = &p->live_outs[i];
        const bool skip = out->on_demand && wanted && !wanted[out->value];
        if (skip == out->skipped)
            continue;
        out->skipped = skip;
        p->n_skipped += skip ? 1u : UINT32_MAX;
        bind(p, out);
        if (out->first_step < out->end_step)
            p->buffers[out->buffer].unwanted = skip;
        else if (!out->known) /* a launch writes it all the same, into what the next one takes */
            p->buffers[out->buffer].stays = skip;
    }
}

void tfr__plan_count_skipped(const tfr__plan *p, uint32_t *n_copies, uint32_t *n_reorders,
                             uint64_t *copy_bytes)
{
    for (uint32_t i = 0; p->n_skipped && i < p->n_live_outs; i++)
        for (uint32_t k = p->live_outs[i].first_step;
             p->live_outs[i].skipped && k < p->live_outs[i].end_step; k++) {
            const bool copies = p->steps[k].kind == TFR__STEP_COPY;
            *n_copies -= copies;
            *n_reorders -= !copies;
            *copy_bytes -= copies ? p->steps[k].bytes : 0;
        }
}
