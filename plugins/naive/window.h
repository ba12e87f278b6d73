/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window.h: the sliding window that convolutions and poolings share: kernel, strides, dilations and
 * pads of R spatial axes, and where a tap of it falls.
 */
#ifndef NAIVE_WINDOW_H
#define NAIVE_WINDOW_H

#include "naive.h"

typedef struct naive_window {
    int32_t rank; /* R, the spatial axes */
    int64_t kernel[TFR_MAX_RANK];
    int64_t stride[TFR_MAX_RANK];
    int64_t dilation[TFR_MAX_RANK];
    int64_t pad[TFR_MAX_RANK];     /* in front */
    int64_t pad_end[TFR_MAX_RANK]; /* behind */
} naive_window;

/*
 * Reads kernel_shape, strides, dilations and pads for R spatial axes. An absent kernel_shape is
 * taken from kernel, which may be NULL if the attribute is there.
 */
void naive_window_read(naive_window *w, const tfr_call *call, int32_t R, const int64_t *kernel);

/*
 * The row-major number of the input element under tap `tap` of the window for output position
 * `out`, in an input of spatial dims `dims`; -1 if the tap lies in the padding.
 */
int64_t naive_window_tap(const naive_window *w, const int64_t *dims, const int64_t *out,
                         const int64_t *tap);

/*
 * The other way: the row-major number of the output position, among out_dims, whose tap `tap` lies
 * on the input element `in`; -1 if there is none.
 */
int64_t naive_window_position(const naive_window *w, const int64_t *out_dims, const int64_t *in,
                              const int64_t *tap);

/* How many taps of the window for output position `out` lie within an input of spatial dims `dims`
 * with its pads. A double, because pads may be so wide that an integer overflows. */
double naive_window_padded_taps(const naive_window *w, const int64_t *dims, const int64_t *out);

/*
 * Begins a walk over the taps that lie inside an input of spatial dims `dims`, for output position
 * `out`; the slot of it->at that it returns holds the row-major number of the element under the
 * tap. A huge window costs no more than the input has elements.
 */
int naive_window_walk(naive_iter *it, const naive_window *w, const int64_t *dims,
                      const int64_t *out);

#endif
