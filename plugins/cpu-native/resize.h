/* SPDX-License-Identifier: Apache-2.0 */
/* resize.h: Resize of one axis, or of two beside each other. */
#ifndef NATIVE_RESIZE_H
#define NATIVE_RESIZE_H

#include "resize_axis.h"

enum { NATIVE_RESIZE_ROW = 16384 /* floats of a row of x, which are on the stack */ };

/* Of planes of rows and columns; so many elements of a column move together. */
typedef struct native_resize {
    native_axis_map rows, columns;
    int64_t planes, inner;
    int64_t bytes; /* of what moves together */
    bool nearest;
    const void *known;
} native_resize;

/* Rows of y, counted through all planes. */
void native_resize_rows(const native_resize *how, const void *x, void *y, int64_t begin,
                        int64_t end);

void native_resize_supports(const tfr_plugin_device *device, const tfr_call *call,
                            tfr_answer *answer);
void native_resize_prepare(native_build *b, const tfr_call *call);

#endif
