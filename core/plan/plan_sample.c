/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_sample.c: what nodes take. A plan with nodes of unknown time is timed step by step in its
 * first runs; afterwards its walk is the usual one, without a clock. The time of a program is
 * shared out among its nodes by the neutral guess. A time that is known is not taken again, so that
 * placements come to rest.
 */
#include "base/alloc.h"
#include "plan/plan_cost.h"
#include "base/port/clock.h"

void tfr__sample_begin(tfr__plan *p)
{
    bool wanted = false;
    for (uint32_t i = 0; i < p->n_placed; i++)
        wanted = wanted || (p->placed[i].time_ns && !p->placed[i].measured);
    if (!wanted || !p->streams->runtime->tuning.path)
        return;
    p->sample_ns = tfr__calloc((size_t)p->n_steps + 1, sizeof *p->sample_ns);
    if (!p->sample_ns)
        return; /* then it is not timed */
    p->sampling = TFR__SAMPLED_RUNS;
    p->watch |= TFR__WATCH_SAMPLES;
}

static void keep_time(tfr__plan *p, tfr__placed *placed, uint64_t ns)
{
    if (placed->measured)
        return;
    placed->time_ns = ns ? ns : 1;
    placed->measured = true;
    tfr__tuning_put(&p->streams->runtime->tuning, placed->key, &placed->time_ns,
                    sizeof placed->time_ns);
}

static void keep_program(tfr__plan *p, int32_t program, uint64_t ns)
{
    double all = 0;
    for (uint32_t i = 0; i < p->n_placed; i++)
        if (p->placed[i].program == program && p->placed[i].time_ns)
            all += (double)tfr__neutral_ns(&p->placed[i].work);
    for (uint32_t i = 0; i < p->n_placed; i++)
        if (p->placed[i].program == program && p->placed[i].time_ns)
            keep_time(p, &p->placed[i],
                      (uint64_t)((double)ns * (double)tfr__neutral_ns(&p->placed[i].work) / all));
}

void tfr__sample_end(tfr__plan *p)
{
    for (uint32_t i = 0; i < p->n_steps; i++) {
        const tfr__step *step = &p->steps[i];
        if (step->kind != TFR__STEP_LAUNCH)
            continue;
        if (step->program >= 0)
            keep_program(p, step->program, p->sample_ns[i]);
        else
            keep_time(p, &p->placed[(uint32_t)step->node - p->first], p->sample_ns[i]);
    }
    tfr__free(p->sample_ns);
    p->sample_ns = NULL;
    p->watch &= (uint8_t)~TFR__WATCH_SAMPLES;
}
