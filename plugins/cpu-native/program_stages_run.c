/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_stages_run.c: the threads of a program with stages. One fork and join for all units of a
 * stage, and one for each wave of shared steps that is worth it.
 */
#include "profile.h"
#include "program.h"

#include <string.h>

enum {
    MAX_BASES = NATIVE_PROGRAM_ARGS + 4 + NATIVE_CROSSINGS,
    LEAST_WAVE = 6000 /* ns that are worth to wake threads */
};

typedef struct launch {
    tfr_plugin_device *device;
    const native_plan *plan;
    char *workspace;
    char *const *args;
    const int64_t *unit_bytes;
    uint64_t id;
    native_fault *fault;
} launch;

static uint32_t lane_of(const tfr_plugin_device *device)
{
    return device->pool && device->pool->lane ? device->pool->lane() : 0;
}

static void run_one(const launch *l, const native_run *run, const native_bases *bases,
                    int64_t begin, int64_t end)
{
    const uint64_t began = native_profile_begin(l->device, l->id);

    run->run(run->params, bases, begin, end);
    if (began)
        native_profile_end(l->device, began,
                           &(native_stretch){.id = l->id,
                                             .kind = TFR_PROFILE_KERNEL,
                                             .node = run->node,
                                             .lane = lane_of(l->device),
                                             .name = run->name,
                                             .flops = (uint64_t)run->flops,
                                             .bytes = (uint64_t)run->bytes});
}

/* Addresses from a sample on. */
static void set_bases(const launch *l, char **base, int64_t at)
{
    const native_stages *s = l->plan->stages;
    int i;

    for (i = 0; i < s->n_args; i++)
        base[1 + i] = l->args[i] + at * l->unit_bytes[i];
    base += s->n_args;
    base[NATIVE_BASE_VALUES] = l->workspace;
    base[NATIVE_BASE_DERIVED] = l->workspace + s->derived;
    for (i = 0; i < s->n_crossings; i++)
        base[NATIVE_BASE_CROSSINGS + i] =
            l->workspace + s->crossings[i].offset + at * s->crossings[i].sample_bytes;
}

/* ---- units ---- */

typedef struct shards {
    const launch *launch;
    const native_stage *stage;
} shards;

/* Of all samples; n is the end of the last shard. */
static int64_t first_sample(const native_stages *s, int64_t n)
{
    return n * s->pieces / s->shards * s->piece;
}

static void run_shards(void *user, int64_t begin, int64_t end)
{
    const shards *all = user;
    const launch *l = all->launch;
    const native_stages *s = l->plan->stages;
    char *base[MAX_BASES];
    int64_t shard, unit;
    int i;

    for (shard = begin; shard < end; shard++) {
        const uint64_t number = s->n_lanes < s->shards ? lane_of(l->device) : (uint64_t)shard;
        char *lane = l->workspace + s->lanes + number * s->lane_bytes;
        char *sums = l->workspace + all->stage->sums + (uint64_t)shard * all->stage->sums_bytes;
        if (all->stage->sums_bytes > 0)
            memset(sums, 0, (size_t)all->stage->sums_bytes);
        base[0] = lane;
        base[s->n_args + NATIVE_BASE_SUMS] = sums;
        const int64_t each = all->stage->unit, last = first_sample(s, shard + 1) / each;
        for (unit = first_sample(s, shard) / each; unit < last; unit++) {
            set_bases(l, base, unit * each);
            for (i = all->stage->first; i < all->stage->first + all->stage->n; i++) {
                const native_run *run = &l->plan->runs[i];
                const native_bases bases = {base, lane + run->scratch, l->fault,
                                            unit, lane + run->shared,  0};
                run_one(l, run, &bases, 0, run->n);
            }
        }
    }
}

/* ---- waves ---- */

typedef struct sharing {
    const launch *launch;
    const native_stage *sums; /* of the stage before, or NULL */
    const native_wave *wave;
    int64_t parts;
} sharing;

static void run_parts(void *user, int64_t begin, int64_t end)
{
    const sharing *w = user;
    const launch *l = w->launch;
    const native_stages *s = l->plan->stages;
    char *base[MAX_BASES];
    int64_t part;
    int i;

    set_bases(l, base, 0);
    base[0] = NULL;
    base[s->n_args + NATIVE_BASE_SUMS] = l->workspace + (w->sums ? w->sums->sums : 0);
    for (part = begin; part < end; part++) {
        for (i = 0; i < w->wave->n; i++) {
            const native_run *run = &l->plan->runs[w->wave->first + i];
            const native_bases bases = {base,
                                        l->workspace + s->scratch +
                                            lane_of(l->device) * s->scratch_bytes,
                                        l->fault,
                                        0,
                                        l->workspace + s->derived + run->shared,
                                        w->sums ? (int64_t)w->sums->sums_bytes : 0};
            if (!run->alone)
                run_one(l, run, &bases, part * run->n / w->parts, (part + 1) * run->n / w->parts);
            else if (i % w->parts == part)
                run_one(l, run, &bases, 0, run->n);
        }
    }
}

static void run_wave(const launch *l, const native_stage *before, const native_wave *wave)
{
    sharing w = {l, before, wave, l->device->threads};

    if (w.parts < 2 || wave->cost < LEAST_WAVE) {
        w.parts = 1;
        run_parts(&w, 0, 1);
    } else {
        l->device->host->parallel_for(run_parts, &w, w.parts, 1);
    }
}

void native_run_stages(tfr_plugin_device *device, const native_plan *plan, char *workspace,
                       char *const *args, const int64_t *unit_bytes, uint64_t id,
                       native_fault *fault)
{
    const native_stages *s = plan->stages;
    const launch l = {device, plan, workspace, args, unit_bytes, id, fault};
    int i, k;

    for (i = 0; i < s->n_stages && !fault->there; i++) {
        const native_stage *stage = &s->stages[i];
        if (stage->by_units) {
            shards all = {&l, stage};
            if (s->shards > 1)
                device->host->parallel_for(run_shards, &all, s->shards, 1);
            else
                run_shards(&all, 0, 1);
            continue;
        }
        for (k = 0; k < stage->n; k++)
            run_wave(&l, i > 0 ? &s->stages[i - 1] : NULL, &s->waves[stage->first + k]);
    }
}
