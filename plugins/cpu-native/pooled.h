/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pooled.h: what the inner loops of convolutions with a maximum after them are told, both ways; a
 * part of isa.h. Windows of the maximum have as many rows and columns as steps, do not overlap and
 * are never padded, so each output of the convolution belongs to one of them or to none, and the
 * latter are never computed.
 *
 * A code is a byte for each maximum: which output of its window it was, the first of equals. The
 * gradient of the convolution's outputs is what comes back to the maxima, at these places, and 0
 * elsewhere. It never lies in memory: 3 of 4 products with it would be with 0.
 *
 * Values of maxima, their codes and gradients lie as [block][window][lane].
 */
#ifndef NATIVE_POOLED_H
#define NATIVE_POOLED_H

#include <stdbool.h>
#include <stdint.h>

enum { NATIVE_POOL_AREA = 64 /* the most outputs of a window, so that codes are small */ };

/* The maxima of one block over sums that lie window by window, with a bias and a clip after them.
 */
typedef struct native_pool_end {
    const float *sums; /* [window][area][lane] */
    int64_t windows;
    int area;
    const float *bias; /* a vector, or NULL */
    bool clip;
    float low, high;
    float *to;
    uint8_t *codes;
} native_pool_end;

/* The gradient of one sample after a maximum, and where its windows lie in the convolution. */
typedef struct native_sparse {
    const float *gradient;
    const uint8_t *codes;
    int64_t windows, outs; /* outs: channels that there are */
    int area;
    /* floats in the other tensor, which is padded: of the first pixel of each window; more for
     * each code */
    const int32_t *places, *inside;
    /* of that tensor, [block][pixel][lane]: floats from row to row and from block to block */
    int64_t row, plane, ins_blocks;
    int64_t kernel[2];
    /* Every output of the convolution, for what is not finite: floats from row to row of them. */
    int64_t rows, columns, step_y, step_x;
    void *scratch; /* of filter and input */
} native_sparse;

/* to[out][in block][tap][lane] += sum over windows of gradient times source */
typedef struct native_sparse_filter {
    native_sparse g;
    const float *source;
    float *to;
} native_sparse_filter;

/*
 * to = sum over outs of gradient times weights, where windows overlap, too; `to` has its padding.
 * weights are [in block][out][tap][lane].
 */
typedef struct native_sparse_input {
    native_sparse g;
    const float *weights;
    bool finite; /* the weights are */
    float *to;
} native_sparse_input;

/*
 * The first layer's weights: few input channels, of which source is plain, [channel][pixel]. For
 * one block of output channels: to[tap][lane] += sum over windows. Of g no ins_blocks, plane,
 * kernel.
 */
typedef struct native_first_filter {
    native_sparse g;
    const float *source;
    const int32_t *taps; /* where they lie from a pixel on */
    int n_taps;
    /*
     * If the outputs of a window read no more than 4 x 4 numbers of one channel: where each output
     * and each tap lies in these 16; else NULL.
     */
    const int32_t *near_inside, *near_taps;
    bool finite; /* the source is */
    float *to;
} native_first_filter;

/* The table's part. */
typedef struct native_pooled_isa {
    void (*pool_end)(const native_pool_end *end);
    int64_t (*scratch)(int64_t windows, int64_t outs, int area); /* bytes */
    void (*filter)(const native_sparse_filter *filter);
    void (*input)(const native_sparse_input *input);
    void (*first_filter)(const native_first_filter *filter);
    bool (*all_finite)(const float *p, int64_t n);
} native_pooled_isa;

#endif
