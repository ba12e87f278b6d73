/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_bf16.h: the products of a training program in the math mode bf16: operands are rounded to
 * bfloat16 where they are packed, sums and all that is stored are float32.
 *
 *   program_bf16.c       which items, weights, and images as their steps read them
 *   program_bf16_conv.c  convolutions, their gradients by the input, products with a matrix
 *   program_bf16_grad.c  the gradients of a convolution's weights
 *
 * A convolution counts its outputs as if its rows were as wide as the padded image that it reads:
 * then the sources of neighbours are neighbours for each tap, and a tile is loaded from where it
 * lies. What is computed between the rows is dropped. Gradients of a convolution with steps have
 * zeros between their pixels.
 */
#ifndef NATIVE_PROGRAM_BF16_H
#define NATIVE_PROGRAM_BF16_H

#include "bf16.h"
#include "program.h"

/* Planes of 16 channels with zeros around and between their pixels. */
typedef struct native_bf16_image {
    native_ref from;
    bool as_is;              /* the value's own planes will do */
    int64_t blocks, samples; /* of 16 channels; that there are */
    int64_t rows, columns;
    int64_t height, width, top, left, step;
    int64_t pixels; /* of a plane: height times width, and what lies behind */
} native_bf16_image;

/* The plane of a block, in `staged` unless it is as it is. */
const float *native_bf16_plane(const native_bf16_image *image, const native_bases *bases,
                               int64_t sample, int64_t block, float *staged);
/* Where the images of an item lie: its input, from the top left corner of the first window. */
void native_bf16_set_image(native_planner *p, native_bf16_image *image, const native_item *item,
                           int input, const int64_t *top_left, int64_t step);
/* Bytes of a plane's floats. */
static inline uint64_t native_bf16_staged_bytes(const native_bf16_image *image)
{
    return (uint64_t)image->pixels * NATIVE_BF16_LANES * sizeof(float);
}

/* [group of 32 outputs][step][2 tiles], steps of [32 inputs][tap], in each run of the program. */
typedef struct native_bf16_weights {
    const native_bf16_isa *isa;
    native_ref from, to;
    int64_t outs, ins, taps, steps;
    int64_t out_step, in_step; /* floats of from; taps are neighbours */
} native_bf16_weights;

native_ref native_bf16_pack_weights(native_planner *p, native_bf16_weights *w, int value);
/* Of `wide` floats, what is not there is 0. */
native_ref native_bf16_pack_bias(native_planner *p, int value, float factor, int64_t n,
                                 int64_t wide);

/* NULL = a convolution or a gradient of one is computed so in training; else why not. */
const char *native_bf16_no_mode(const tfr_plugin_device *device, const tfr_call *call);
/* Whether the item is. */
bool native_takes_bf16(const native_planner *p, const native_item *item);

void native_plan_bf16_conv(native_planner *p, const native_item *item);
void native_plan_bf16_product(native_planner *p, const native_item *item);
/* The step that adds to sums as program_reduce.c has them, turned. */
void native_plan_bf16_filter(native_planner *p, const native_item *item, native_ref sums);

#endif
