/* SPDX-License-Identifier: Apache-2.0 */
/* resize_axis.h: which elements of an axis an output of Resize takes, and what they weigh. */
#ifndef NATIVE_RESIZE_AXIS_H
#define NATIVE_RESIZE_AXIS_H

#include "isa.h"
#include "kernel.h"

typedef enum native_resize_mode {
    NATIVE_RESIZE_NEAREST,
    NATIVE_RESIZE_LINEAR,
    NATIVE_RESIZE_CUBIC
} native_resize_mode;

/* What a call says. */
typedef struct native_resize_rule {
    native_resize_mode mode;
    const char *nearest, *transform;
    double cubic_a;
    bool antialias, exclude_outside;
    int64_t n[TFR_MAX_RANK], m[TFR_MAX_RANK]; /* lengths in x and y */
    double scale[TFR_MAX_RANK];
} native_resize_rule;

/* Output o is the sum of at[o * taps + t] by weight[o * taps + t]; of nearest at[o] alone. */
typedef struct native_axis_map {
    int64_t n, m;
    int taps;
    bool copied; /* at[o] is o */
    int32_t *at;
    float *weight;
} native_axis_map;

/* NULL, or why such a call is not done here. */
const char *native_read_resize(const tfr_call *call, native_resize_rule *rule);
bool native_resize_copies(const native_resize_rule *rule, int axis);
/* At most so many does an output of an axis take. */
int native_resize_taps(const native_resize_rule *rule, int axis);
/* The map of an axis; memory is the build's, which fails without. */
void native_map_axis(native_build *b, const native_resize_rule *rule, int axis,
                     native_axis_map *map);
/* Of an axis of n elements that stay where they are. */
void native_map_whole(native_build *b, int64_t n, native_axis_map *map);
/* Its outputs as pixels of one number, for vectors of so many, in so much memory. */
size_t native_pixels_bytes(const native_axis_map *map, int lanes);
void native_find_pixels(const native_axis_map *map, int lanes, void *memory, native_pixels *pixels);

#endif
