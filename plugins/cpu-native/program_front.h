/* SPDX-License-Identifier: Apache-2.0 */
/* program_front.h: convolutions of 1 x 1 as parts of depthwise ones, see program_front.c */
#ifndef NATIVE_PROGRAM_FRONT_H
#define NATIVE_PROGRAM_FRONT_H

#include "program_tiles.h"

/* Rows [y, end) of outputs, and the rows of the source that their windows reach into. */
typedef struct native_band {
    int64_t y, end, first, rows;
} native_band;

typedef struct native_bands {
    int64_t height, out_height; /* of an image */
    int64_t stride, pad, reach; /* reach: from the first row of a window to its last */
    int64_t n, most_rows;       /* of an image; of the source in one */
} native_bands;

/* A convolution in front, without a step of its own; NULL after an error. */
native_tiles *native_make_front(native_planner *p, const native_item *item);
/* Pixels [first, first + n) of a sample, of one group: [block][pixel][lane]. */
void native_run_front(const native_tiles *c, const native_bases *bases, int64_t sample, int group,
                      int64_t first, int64_t n, float *to);

/* n and most_rows, for parts of an image that threads may take, and groups of channels. */
void native_make_bands(const native_planner *p, native_bands *b, int64_t row_bytes, int64_t parts,
                       int64_t groups);
native_band native_band_at(const native_bands *b, int64_t number);

#endif
