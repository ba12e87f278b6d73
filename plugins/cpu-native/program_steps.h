/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_steps.h: what items become: steps with addresses in an arena, for a number of samples;
 * and what the makers of steps ask of program_plan.c and program_kit.c.
 */
#ifndef NATIVE_PROGRAM_STEPS_H
#define NATIVE_PROGRAM_STEPS_H

#include <pthread.h>

#include "gather.h"
#include "isa.h"
#include "program_ir.h"

typedef struct native_planner native_planner;

/* Where something lies at launch: known, or in a base with an offset. */
typedef struct native_ref {
    const char *known;
    int64_t offset;
    int base;
} native_ref;

/*
 * What operands hold can be wrong, too: the first bad index of the earliest step. The other steps
 * go on, for nothing that they read makes them fail.
 */
typedef struct native_fault {
    pthread_mutex_t lock;
    bool there;
    bool label; /* bad.index is a class */
    int step;
    native_bad_index bad;
} native_fault;

typedef struct native_bases {
    char *const *base; /* 0 the arena, 1 + i argument i */
    char *scratch;     /* of the thread, for this step */
    native_fault *fault;
    int64_t unit;      /* of samples */
    char *shared;      /* memory of all threads, for the steps of an item */
    int64_t sums_step; /* bytes from the sums of a shard to the next one's */
} native_bases;

static inline float *native_at(const native_bases *bases, const native_ref *ref)
{
    const char *p = ref->known ? ref->known : bases->base[ref->base] + ref->offset;
    return (float *)(uintptr_t)p;
}

/* Of sums, those of a shard, in steps that add them up. */
static inline float *native_shard_at(const native_bases *bases, const native_ref *ref, int shard)
{
    return (float *)(void *)((char *)native_at(bases, ref) + shard * bases->sums_step);
}

/* Work that can be cut anywhere between 0 and n. */
typedef struct native_run {
    void (*run)(const void *params, const native_bases *bases, int64_t begin, int64_t end);
    const void *params;
    int64_t n;
    double cost; /* ns on one thread, a guess */
    double flops, bytes;
    int node;                        /* of the graph, or -1 */
    const char *name;                /* of the kind */
    uint64_t scratch, scratch_bytes; /* of the first thread in the arena, and of each */
    uint64_t shared;                 /* in the arena */
    bool alone;                      /* too small to be shared out, or it cannot be cut */
    int stage, wave;                 /* of program_stages.c */
    int made;                        /* value whose elements this makes in order, or -1: */
    int64_t elements, numbers;       /* that many by each so many numbers of work */
    int64_t together;                /* n counts units of so many, which share how a call begins */
} native_run;

/*
 * Where a step that is shared by threads is cut: into parts of places (rows, tiles of pixels), in
 * which all else is counted. Each thread takes about a part. If the steps around it are cut alike,
 * it finds most of what it reads in its own cache.
 */
typedef struct native_cut {
    int64_t first, n; /* places */
    int64_t rest;     /* of the number, inside of the part */
} native_cut;

/* Of a number, in parts of `all` places with each of `each` numbers. */
static inline native_cut native_cut_at(int64_t number, int64_t all, int64_t each, int parts)
{
    native_cut part = {0, all, number};
    int64_t k = 0;

    while (parts > 1 && (k + 1) * all / parts * each <= number)
        k++;
    part.first = k * all / parts;
    part.n = (k + 1) * all / parts - part.first;
    part.rest = number - part.first * each;
    return part;
}
/* A program for some number of samples. */
typedef struct native_plan {
    native_run *runs;
    int n_runs;
    int64_t samples;
    uint64_t arena_bytes, lower_bound;
    void **blocks; /* memory of params */
    int n_blocks;
    char *room; /* left of the newest block that several share */
    size_t left;
    struct native_constant **constants;
    int n_constants;
    struct native_stages *stages;     /* NULL = none */
    struct native_segments *segments; /* NULL = one */
    double saved_bytes;               /* of a sample, by segments and units of several samples */
} native_plan;

/* What the makers of steps share. Errors stick. */
struct native_planner {
    native_ir *ir;
    const native_isa *isa;
    native_plan *plan;
    int64_t samples;         /* of this plan */
    int lanes;               /* threads that share a step, each with scratch memory */
    tfr_arena_block *blocks; /* of values, placed */
    uint32_t n_blocks;
    uint64_t scratch; /* bytes that the item needs for a thread */
    uint64_t shared;  /* and for all of them */
    native_ref *refs; /* of each value */
    tfr_err *err;
    int32_t status;
    uint64_t constant_bytes;          /* that were added */
    const native_item *item;          /* whose steps are made */
    struct big_product *last_product; /* of program_product.c */
    struct native_tile_table *tables; /* of program_tile_table.c */
    struct native_filling *fillings;  /* of program_pack.c */
    int n_fillings;
    int stage, wave;                /* of the steps that are added */
    struct native_staging *staging; /* of program_stages.c, or NULL */
};

/* Bytes of a value in its layout. */
uint64_t native_bytes_of(const native_planner *p, const native_value *v);
/* With the core's planner of arenas, or one after the other. */
int32_t native_place(native_planner *p, tfr_arena_block *blocks, uint32_t n);
/* The steps of an item, without memory for scratch. */
void native_plan_item(native_planner *p, int i);
void native_place_scratch(native_planner *p, int item, int first_run);

/* segmented: parts of the samples may go through the items (program_segments.h). lanes: how many
 * threads may share a step. */
int32_t native_make_plan(native_ir *ir, int64_t samples, bool segmented, int lanes,
                         native_plan *plan, uint64_t *constant_bytes, tfr_err *err);
void native_drop_plan(tfr_plugin_device *device, native_plan *plan);

/* ---- program_kit.c ---- */

/* By kind, in records of what took time. */
extern const char *const native_item_names[];

enum { NATIVE_ALIGNMENT = 64 /* of everything in an arena */ };

static inline uint64_t native_aligned(uint64_t bytes)
{
    return (bytes + NATIVE_ALIGNMENT - 1) & ~(uint64_t)(NATIVE_ALIGNMENT - 1);
}

/* Zeroed memory, not of 0 bytes, that who asks frees; NULL = there is none. */
void *native_zeroed(size_t bytes);
/* The same that lives as long as the plan; NULL after an error. */
void *native_keep(native_planner *p, size_t bytes);
/* dims[0] for the samples of this plan. */
int64_t native_first_dim(const native_planner *p, const native_value *v);
int64_t native_count(const native_planner *p, const native_value *v);
native_ref native_ref_of(const native_planner *p, int value);
native_run *native_add_run(native_planner *p,
                           void (*run)(const void *, const native_bases *, int64_t, int64_t),
                           const void *params, int64_t n, double cost);
void native_need_scratch(native_planner *p, uint64_t bytes);
void native_need_shared(native_planner *p, uint64_t bytes);
/* How many parts a step over so many pixels is cut into; 1 = as its numbers lie. */
int native_parts(const native_planner *p, int64_t pixels);

#endif
