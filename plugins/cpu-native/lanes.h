/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lanes.h: a tensor as lanes along one of its axes. Those that lie beside each other make groups,
 * which run together, and which threads share.
 */
#ifndef NATIVE_LANES_H
#define NATIVE_LANES_H

#include <stdint.h>

#include "device.h"

enum { NATIVE_LANE_GROUP = 64 };

/* Element k of a lane lies at k * inner from its first one. */
typedef struct native_lanes {
    int64_t outer, n, inner;
} native_lanes;

static inline native_lanes native_lanes_along(const tfr_operand *x, int64_t axis)
{
    native_lanes l = {1, 1, 1};
    for (int d = 0; d < x->rank; d++)
        *(d < axis ? &l.outer : d == axis ? &l.n : &l.inner) *= x->dims[d];
    return l;
}

static inline int64_t native_lane_groups(const native_lanes *l)
{
    return (l->inner + NATIVE_LANE_GROUP - 1) / NATIVE_LANE_GROUP;
}

/* How many lanes group i of all has; at: where the first of them begins. */
static inline int64_t native_lane_group(const native_lanes *l, int64_t i, int64_t *at)
{
    const int64_t groups = native_lane_groups(l), first = i % groups * NATIVE_LANE_GROUP;
    *at = i / groups * l->n * l->inner + first;
    return l->inner - first < NATIVE_LANE_GROUP ? l->inner - first : NATIVE_LANE_GROUP;
}

/* Calls body for all groups, on several threads where each has `part` elements or more. */
static inline void native_lanes_run(const tfr_plugin_device *device, const native_lanes *l,
                                    int64_t part, void (*body)(void *, int64_t, int64_t),
                                    void *user)
{
    const int64_t n = l->outer * native_lane_groups(l);
    const int64_t lanes = l->inner < NATIVE_LANE_GROUP ? l->inner : NATIVE_LANE_GROUP;
    if (l->outer * l->n * l->inner <= part)
        body(user, 0, n);
    else
        device->host->parallel_for(body, user, n, part / (l->n * lanes) + 1);
}

#endif
