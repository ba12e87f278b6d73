/* SPDX-License-Identifier: Apache-2.0 */
/* program_segments.h: units of samples that go through a program in parts, see program_segments.c.
 */
#ifndef NATIVE_PROGRAM_SEGMENTS_H
#define NATIVE_PROGRAM_SEGMENTS_H

#include "program.h"

enum { NATIVE_SEGMENTS = 16, NATIVE_SEGMENT_CROSSINGS = 64 };

typedef struct native_segment {
    int first_item, last_item;
    int64_t samples; /* of a part, which divide those of the unit */
    int first, n;    /* runs */
} native_segment;

typedef struct native_segments {
    native_segment all[NATIVE_SEGMENTS];
    int n, n_crossings;
    native_crossing crossings[NATIVE_SEGMENT_CROSSINGS]; /* in the arena */
    int *of_item;                                        /* while the plan is made */
    int *crossing_of;                                    /* of each root; -1 = none */
} native_segments;

/*
 * Sets the segments of the planner's plan, for its samples; false: one is best for all items, or
 * there is no memory.
 */
bool native_find_segments(native_planner *p);
/* Once the runs of an item have been added. */
void native_end_item_of_segment(native_plan *plan, int item, int first_run);

#endif
