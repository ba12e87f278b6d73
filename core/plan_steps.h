/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_steps.h: what the two halves of the third pass share: plan_steps.c makes buffers and steps,
 * plan_bind.c gives them lifetimes and addresses.
 */
#ifndef TFR_CORE_PLAN_STEPS_H
#define TFR_CORE_PLAN_STEPS_H

#include "plan_build.h"

#define TFR__NO_ENGINE UINT32_MAX /* the host itself does the step */

typedef struct tfr__steps {
    tfr__build *b;
    tfr__plan *p;
    uint32_t n_memories;
    uint32_t *where;       /* [memory][value]: buffer or TFR__NO_BUFFER */
    uint32_t *plain;       /* [value]: plain form of a strided live-in */
    uint32_t *laid;        /* [value]: in the layout that b->laid says; its maker's memory */
    uint32_t *arg_buffers; /* buffer of each launch argument; grows with p->args */
    uint32_t n_args, room_args, room_steps, room_buffers;
    uint32_t *pending; /* by buffer: engine + 1 that may still use this host memory, 0 = none */
    uint32_t room_pending;
    tfr__placed *placed; /* row of the node at hand */
} tfr__steps;

static inline bool tfr__steps_is_queued(const tfr__steps *s, uint32_t engine)
{
    return s->b->session->engines[engine].queue != NULL;
}

/* The engine that owns a device memory. */
static inline uint32_t tfr__steps_engine_of(const tfr__steps *s, uint32_t memory)
{
    uint32_t i = 0;
    while (s->b->session->engines[i].memory != memory)
        i++;
    return i;
}

/* Lifetimes, arenas, and the arguments of all launches. plan_bind.c */
tfr_status tfr__steps_bind(tfr__steps *s, tfr_err *err);

#endif
