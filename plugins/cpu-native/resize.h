/* SPDX-License-Identifier: Apache-2.0 */
/* resize.h: Resize of one axis, or of two or three beside each other. */
#ifndef NATIVE_RESIZE_H
#define NATIVE_RESIZE_H

#include "isa.h"
#include "resize_axis.h"

enum { NATIVE_RESIZE_ROW = 16384 /* floats of a row of x, which are on the stack */ };

/* Of cubes of frames of rows and columns; so many elements of a column move together. */
typedef struct native_resize {
    const native_isa *isa;
    native_axis_map frames, rows, columns;
    native_pixels pixels; /* of the columns, for sums of `inner` floats, 1 or a vector of the isa */
    int64_t cubes, inner;
    int64_t bytes; /* of what moves together */
    bool nearest;
    const void *known;
} native_resize;

/* Rows of y, counted through all frames of all cubes. */
void native_resize_rows(const native_resize *how, const void *x, void *y, int64_t begin,
                        int64_t end);
static inline int64_t native_resize_count(const native_resize *how)
{
    return how->cubes * how->frames.m * how->rows.m;
}

void native_resize_supports(const tfr_plugin_device *device, const tfr_call *call,
                            tfr_answer *answer);
void native_resize_prepare(native_build *b, const tfr_call *call);

#endif
