/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_steps.h: what the parts of the third pass share: plan_buffers.c says where values lie,
 * plan_steps.c who reads and makes them, plan_bind.c gives buffers lifetimes and addresses.
 */
#ifndef TFR_CORE_PLAN_STEPS_H
#define TFR_CORE_PLAN_STEPS_H

#include "plan/plan_build.h"

#define TFR__NO_STREAM UINT32_MAX /* the host itself does the step */

/* The stream, plus one, whose queue may still use a buffer: until that has one sync more. 0 = none.
 */
typedef struct tfr__pending {
    uint32_t stream, n_syncs;
    bool is_shared; /* a buffer of a device that another device has copied from */
} tfr__pending;

typedef struct tfr__steps {
    tfr__build *b;
    tfr__plan *p;
    uint32_t n_memories;
    uint32_t *where;       /* [memory][value]: buffer or TFR__NO_BUFFER */
    uint32_t *plain;       /* [value]: plain form of a strided live-in */
    uint32_t *in_layout;   /* [value]: in the layout that b->layouts says; its maker's memory */
    uint32_t *variable;    /* [variable]: its place in the plan's, or UINT32_MAX */
    uint32_t *random;      /* [memory]: the tfr_random_state, or TFR__NO_BUFFER */
    int64_t **dims;        /* [value]: where its kernel writes its true dims, or NULL */
    uint32_t *arg_buffers; /* buffer of each launch argument; grows with p->args */
    uint32_t n_args, args_capacity, steps_capacity, buffers_capacity;
    tfr__pending *pending; /* by buffer; streams of those of host memory alone */
    uint32_t pending_capacity;
    uint32_t *n_syncs;   /* by stream: sync steps so far */
    uint32_t *n_put;     /* by stream: steps of the plan when work was put on it last */
    uint32_t *ordered;   /* [later][earlier] stream: steps when it was last waited for */
    tfr__placed *placed; /* row of the node at hand */
} tfr__steps;

static inline bool tfr__steps_is_queued(const tfr__steps *s, uint32_t stream)
{
    return s->b->streams->items[stream].queue != NULL;
}

/* The stream that owns a device memory. */
static inline uint32_t tfr__steps_stream_of(const tfr__steps *s, uint32_t memory)
{
    uint32_t i = 0;
    while (s->b->streams->items[i].memory != memory)
        i++;
    return i;
}

static inline uint32_t *tfr__steps_where(tfr__steps *s, uint32_t memory, tfr_value v)
{
    return &s->where[(size_t)memory * s->b->graph->n_values + (size_t)v];
}

static inline uint64_t tfr__steps_value_bytes(const tfr__build *b, tfr_value v)
{
    return (uint64_t)tfr__type_bytes(&b->types[v]);
}

/* Makes room for n items in an array; *capacity counts items. plan_buffers.c, like all below. */
tfr_status tfr__steps_reserve(void *array_pointer, uint32_t n, uint32_t *capacity, size_t size,
                              tfr_err *err);
/* A new buffer. Pointers to buffers do not survive, as those to steps below. */
tfr_status tfr__steps_buffer(tfr__steps *s, tfr__buffer_kind kind, uint32_t memory, uint64_t bytes,
                             uint32_t *out, tfr_err *err);
tfr_status tfr__steps_add(tfr__steps *s, tfr__step_kind kind, uint32_t stream, tfr__step **out,
                          tfr_err *err);
/* Before somebody other than `stream` touches host buffer: wait for the queue that may use it. */
tfr_status tfr__steps_settle(tfr__steps *s, uint32_t buffer, uint32_t stream, bool by_host,
                             tfr_err *err);
/* Stream + 1 whose queue may still use the buffer, or 0. */
uint32_t tfr__steps_pending(const tfr__steps *s, uint32_t buffer);
/* The stream's queue uses the buffer from now on. */
void tfr__steps_touch(tfr__steps *s, uint32_t buffer, uint32_t stream);
/* Makes the value of v (plain) present in a memory; *out is its buffer there. */
tfr_status tfr__steps_bring(tfr__steps *s, tfr_value v, uint32_t memory, uint32_t *out,
                            tfr_err *err);
/* A buffer for what comes into the section, as the caller of the run has it. */
tfr_status tfr__steps_live_in(tfr__steps *s, tfr_value v, uint32_t *out, tfr_err *err);
/* A buffer for what a node computes: a tensor of its own if it leaves the section from here. */
tfr_status tfr__steps_result(tfr__steps *s, tfr_value v, uint32_t memory, uint32_t *out,
                             tfr_err *err);
/* plan_variables.c: homes of the variables that the plan reads or updates. */
tfr_status tfr__steps_homes(tfr__steps *s, tfr_err *err);
/* The buffer that holds the state of v, a variable. */
tfr_status tfr__steps_state(tfr__steps *s, tfr_value v, uint32_t *out, tfr_err *err);
/*
 * The buffer for v, the new state of a variable, which the step to come makes: over the old one if
 * nobody reads that any more, or, with in_place, if the step itself may overwrite what it reads.
 */
tfr_status tfr__steps_update(tfr__steps *s, tfr_value v, const uint32_t *inputs, uint32_t n_inputs,
                             const bool *in_place, uint32_t *out, tfr_err *err);
/* Where v, a variable, lives in this plan. */
const tfr__home *tfr__steps_home(const tfr__steps *s, tfr_value v);
/* The state of random numbers in a memory, which each run brings there. */
tfr_status tfr__steps_random(tfr__steps *s, uint32_t memory, uint32_t *out, tfr_err *err);
/* What a TENSOR buffer is at each run. */
tfr_status tfr__steps_becomes_tensor(tfr__steps *s, uint32_t buffer, tfr_value v, tfr_err *err);
/* The group that makes a value which lies in a layout of the backend, or NULL. */
const tfr__group *tfr__steps_laid_by(const tfr__steps *s, tfr_value v);

/* What is put on later's queue after this waits for what earlier's has now. */
tfr_status tfr__steps_order(tfr__steps *s, uint32_t later, uint32_t earlier, tfr_err *err);

/* What comes in is brought to devices that capture before all else, so that it breaks no capture.
 * plan_capture.c, as the next one. */
tfr_status tfr__steps_hoist(tfr__steps *s, tfr_err *err);
/* Waits once for the constants that are on their way, and shares them. Before bind. */
tfr_status tfr__steps_upload(tfr__steps *s, tfr_err *err);
/* After bind: finds the steps that can be captured together. */
tfr_status tfr__steps_capture(tfr__steps *s, tfr_err *err);
/* Lifetimes, arenas, and the arguments of all launches. plan_bind.c */
tfr_status tfr__steps_bind(tfr__steps *s, tfr_err *err);

#endif
