/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_phases.h: of a window that is turned around, as ConvTranspose has them: with steps s the
 * outputs at o, o + s, ... have the same taps, each s-th of the window, which go over neighbours of
 * the source. They are a convolution without steps whose outputs lie s apart, a phase.
 */
#ifndef NATIVE_PROGRAM_PHASES_H
#define NATIVE_PROGRAM_PHASES_H

#include "program.h"

enum { NATIVE_MOST_STEPS = 16 };

/* Of an axis the phases, by the place of an output, with the padding, modulo the steps. */
typedef struct native_phases {
    int64_t stride, dilation, pad;
    int64_t every, next;              /* of its taps: in the window, and in the source */
    int64_t n[NATIVE_MOST_STEPS];     /* taps, */
    int64_t first[NATIVE_MOST_STEPS]; /* of which this is the last along the source, */
    int64_t begin[NATIVE_MOST_STEPS + 1], kernel; /* and how many those before it have; of all */
} native_phases;

static inline int64_t native_divisor_of(int64_t a, int64_t b)
{
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static inline void native_find_phases(native_phases *p, const native_item *item, int axis)
{
    const int64_t common = native_divisor_of(item->stride[axis], item->dilation[axis]);
    int64_t tap, r;

    p->stride = item->stride[axis];
    p->dilation = item->dilation[axis];
    p->pad = item->pad[axis];
    p->kernel = item->kernel[axis];
    p->every = p->stride / common;
    p->next = p->dilation / common;
    for (tap = p->kernel - 1; tap >= 0; tap--) {
        r = tap * p->dilation % p->stride;
        p->first[r] = tap;
        p->n[r]++;
    }
    for (r = 0; r < p->stride; r++)
        p->begin[r + 1] = p->begin[r] + p->n[r];
}

/* The phase of output `at`, and where its first tap lies. */
static inline int64_t native_phase_at(const native_phases *p, int64_t at, int64_t *place)
{
    const int64_t r = (at + p->pad) % p->stride;

    *place = (at + p->pad - p->first[r] * p->dilation) / p->stride - (p->n[r] - 1) * p->next;
    return r;
}

/* Of a tap its phase, and its place there from the last one on. */
static inline int64_t native_phase_of(const native_phases *p, int64_t tap, int64_t *place)
{
    const int64_t r = tap * p->dilation % p->stride;

    *place = p->n[r] - 1 - (tap - p->first[r]) / p->every;
    return r;
}

#endif
