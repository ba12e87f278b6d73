/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_stages.h: the steps of training: sums over samples, and what is computed from weights.
 *
 *   program_stages.c       which items are in which stage
 *   program_stages_plan.c  their steps, and memory for these
 *   program_stages_run.c   their threads
 */
#ifndef NATIVE_PROGRAM_STAGES_H
#define NATIVE_PROGRAM_STAGES_H

#include "kernel.h"
#include "program_ir.h"
#include "program_steps.h"

/*
 * A program of training. Items go by samples, sum over samples, or are about neither: these are
 * shared. Stages follow each other: in one with an even number threads share all steps, wave by
 * wave, those of a wave in any order; in one with an odd number each shard of the samples goes
 * through all of the steps, a unit of samples after the other. What sums over samples adds to
 * memory of the shard, in the order of samples; in the next stage the shards are added up in their
 * order. So bits depend on the number of shards alone.
 */
enum { NATIVE_CROSSINGS = 512 };
typedef struct native_crossing {
    int64_t offset, sample_bytes; /* of a value of all samples, in the workspace */
} native_crossing;

typedef struct native_wave {
    int first, n; /* runs */
    double cost;
} native_wave;

typedef struct native_stage {
    bool by_units;
    int64_t unit;              /* samples of each */
    int first, n;              /* waves, or runs */
    uint64_t sums, sums_bytes; /* of all shards in the workspace; of each */
} native_stage;

typedef struct native_stages {
    native_stage *stages;
    native_wave *waves;
    native_crossing *crossings;
    int n_stages, n_crossings, n_args, shards;
    int64_t pieces, piece;                            /* of all samples; samples of each */
    uint64_t values, derived, scratch, scratch_bytes; /* in the workspace */
    uint64_t lanes, lane_bytes;                       /* memory of units, for each */
    int n_lanes;                                      /* shards, or threads if they are fewer */
    uint64_t bytes;                                   /* of all */
} native_stages;

/* Bases of memory behind the arguments of launch. */
enum { NATIVE_BASE_VALUES = 1, NATIVE_BASE_DERIVED, NATIVE_BASE_SUMS, NATIVE_BASE_CROSSINGS };

/* Samples of a unit, of which pieces consist, of which shards consist. */
typedef struct native_shares {
    int shards;
    int64_t piece, unit;
} native_shares;

/* While the steps of stages are made. */
typedef struct native_staging {
    int shards, n_stages;
    int64_t *units;                    /* samples of those of each stage */
    int *first, *last;                 /* items that touch a root, in order; -1 = none */
    int *first_stage, *last_stage;     /* of these */
    int *ready, *wave;                 /* of each root: the stage and the wave that make it */
    tfr_arena_block **blocks;          /* of each stage with units, placed */
    uint32_t *n_blocks;                /* of these */
    uint64_t *sums;                    /* bytes of each stage */
    uint64_t values, derived, scratch; /* bytes */
} native_staging;

bool native_wants_stages(const native_ir *ir);
/* In a program that has nothing else of a training, products of two computed matrices are no
 * layers, whose weights a step packs: they become batched products, which gemm.h computes. */
void native_free_products(native_ir *ir);
/* Sets classes of values and stages of items; false: without memory. */
bool native_find_stages(native_ir *ir);
int32_t native_make_stages(native_ir *ir, const native_shares *shares, native_plan *plan,
                           uint64_t *constant_bytes, tfr_err *err);
void native_end_stages(native_plan *plan);
void native_run_stages(tfr_plugin_device *device, const native_plan *plan, char *workspace,
                       char *const *args, const int64_t *unit_bytes, uint64_t id,
                       native_fault *fault);

/*
 * Sums of the item for each shard, zero at first, of whole vectors. native_finish adds a step to
 * the next stage, which reads them by native_shard_at.
 */
native_ref native_sums(native_planner *p, uint64_t bytes);
/* Whose sums there are. */
int native_shards(const native_planner *p);
native_run *native_finish(native_planner *p,
                          void (*run)(const void *, const native_bases *, int64_t, int64_t),
                          const void *params, int64_t n, double cost);
/*
 * Says of a step that it makes the item's output in order, elements by each so many numbers of
 * work: a chain that alone reads it may call it part by part (program_chain.c).
 */
static inline void native_in_order(const native_planner *p, native_run *run, int64_t elements,
                                   int64_t numbers)
{
    run->made = p->ir->values[p->item->output].root;
    run->elements = elements;
    run->numbers = numbers;
}

/*
 * Memory for a form of something that is shared, and a step before all of the item that fills it
 * from the value `of`.
 */
native_ref native_derived(native_planner *p, uint64_t bytes);
void native_derive(native_planner *p, int of,
                   void (*run)(const void *, const native_bases *, int64_t, int64_t),
                   const void *params, int64_t n, double cost);

#endif
