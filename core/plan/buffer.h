/* SPDX-License-Identifier: Apache-2.0 */
/* buffer.h: memory of a plan: what its steps read and write. */
#ifndef TFR_CORE_BUFFER_H
#define TFR_CORE_BUFFER_H

#include <tfrun/graph.h>

typedef enum tfr__buffer_kind {
    TFR__BUFFER_LIVE_IN,  /* memory of a value of the run's frame, bound at each run */
    TFR__BUFFER_CONSTANT, /* tensor (host), or address (device copy, its constant) */
    TFR__BUFFER_ARENA,    /* a slice of the plan's arena in its memory */
    TFR__BUFFER_VARIABLE, /* of a variable: in its home, the same for all plans */
    TFR__BUFFER_TENSOR    /* a new tensor for each run: outputs of the section, strings */
} tfr__buffer_kind;

typedef struct tfr__buffer {
    int32_t kind; /* tfr__buffer_kind */
    uint32_t memory;
    uint64_t bytes;
    tfr_value value; /* LIVE_IN: whose; TENSOR: the value that it becomes; else one that it holds,
                      * or none */
    int32_t dtype;   /* TENSOR */
    tfr_shape shape; /* TENSOR */
    tfr_tensor *tensor; /* CONSTANT on the host; TENSOR: of this run, freed with the plan */
    struct tfr__constant *constant; /* CONSTANT of a device; elsewhere NULL */
    bool unwanted;                  /* TENSOR: this run does not make it */
    bool stays;                     /* TENSOR: nobody gets it: the next run has the same one */
    void *address;                  /* CONSTANT, ARENA: fixed; others: of this run */
    uint32_t first, last;           /* ARENA: steps that use it */
    uint64_t offset;                /* ARENA */
    uint64_t behind;                /* bytes behind address, where the memory has handles; else 0 */
    uint64_t slack;                 /* ARENA: bytes that the lower bound does not count */
} tfr__buffer;

typedef struct tfr__arena {
    uint32_t memory;
    void *address;
    uint64_t bytes, lower_bound;
} tfr__arena;

/* Sets offset of every ARENA buffer of one memory; bytes needed and lower bound. plan_bind.c */
tfr_status tfr__arena_plan(tfr__buffer *buffers, uint32_t n, uint32_t memory, uint64_t alignment,
                           uint64_t *bytes, uint64_t *lower_bound, tfr_err *err);

#endif
