/* SPDX-License-Identifier: Apache-2.0 */
/* placed.h: where the nodes of a plan run, and the programs that hold some of them. */
#ifndef TFR_CORE_PLACED_H
#define TFR_CORE_PLACED_H

#include "op/cost.h"
#include "device/runtime.h"

/* One row of the placement report; texts are owned. */
typedef struct tfr__placed {
    int32_t node;
    const char *device, *backend, *wanted; /* borrowed from the runtime */
    int32_t reason;
    bool fallback, random, math_mode, nondeterministic;
    uint8_t capture;         /* tfr__captured */
    uint8_t broken;          /* tfr__captured: what ended the capture before its step, or 0 */
    uint32_t capture_number; /* of the plan's, if there is one */
    char *text;              /* NULL = nothing to say */
    uint32_t n_copies;
    uint64_t copy_bytes;
    int32_t program;     /* -1 = none */
    char *alone;         /* why the node is in no program; NULL = nobody was asked */
    char *note;          /* of its backend; NULL = none */
    tfr__work work;      /* kernels only */
    uint64_t time_ns;    /* of one run, 0 = no kernel */
    bool measured;       /* else it is an estimate */
    tfr__tuning_key key; /* of its time */
} tfr__placed;

/* Nodes that one backend has compiled as a whole. */
typedef struct tfr__program {
    tfr__backend *backend;
    tfr_program *program;
    uint32_t *refs; /* who has it; begins what these share, with what it was given */
    uint32_t n_nodes;
    int32_t node;                 /* the first one */
    uint32_t first_row, last_row; /* of the plan's placed: its nodes lie between */
    tfr_program_info info;
} tfr__program;

/* The program may be gone already. plan_compile.c */
void tfr__program_drop(tfr__program *program);

#endif
