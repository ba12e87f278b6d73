/* SPDX-License-Identifier: Apache-2.0 */
/* boxes.h: what NonMaxSuppression asks the vectors of: non_max_suppression.c, isa_boxes.h. */
#ifndef NATIVE_BOXES_H
#define NATIVE_BOXES_H

#include <stdint.h>

enum { NATIVE_BOXES = 64 /* a whole number of vectors of any length */ };

/*
 * Some boxes. Sides are rounded away from the middle of a box, areas down, so that a box which is
 * too near in exact numbers is so in these. Behind the last box are zeros.
 */
typedef struct native_boxes {
    float x0[NATIVE_BOXES], x1[NATIVE_BOXES], y0[NATIVE_BOXES], y1[NATIVE_BOXES];
    float area[NATIVE_BOXES];
    uint32_t which[NATIVE_BOXES];
    int32_t n, next; /* the number of others, -1 = none */
} native_boxes;

/*
 * A box, and the sum for each of the others of which more than 0 is too near: the area of both
 * times `share`, plus `least`, less iou times the areas of each.
 */
typedef struct native_near {
    float x0, x1, y0, y1, area, iou, share, least;
} native_near;

#endif
