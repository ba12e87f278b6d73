/* SPDX-License-Identifier: Apache-2.0 */
/* infer_window.h: the sliding window that convolutions, pools and Col2Im share. */
#ifndef TFR__INFER_WINDOW_H
#define TFR__INFER_WINDOW_H

#include "op/infer_kit.h"

enum { TFR__WINDOW_MAX = TFR_MAX_RANK };

/* Of n spatial axes. Every number is at most INT32_MAX, so that sums of products of two fit.
 * Symbolic: a kernel's dim may be a symbol. */
typedef struct tfr__window {
    uint32_t n;
    int64_t kernel[TFR__WINDOW_MAX], stride[TFR__WINDOW_MAX], dilation[TFR__WINDOW_MAX];
    int64_t begin[TFR__WINDOW_MAX], end[TFR__WINDOW_MAX]; /* padding */
    bool same; /* auto_pad says SAME_...: as many positions as strides fit the dim */
} tfr__window;

/*
 * Reads strides, dilations and pads, with their defaults, for n axes; and kernel_shape, which may
 * be absent if weights, n dims, says it and has to agree with it otherwise.
 */
tfr_status tfr__window_read(tfr__infer *in, tfr_err *err, uint32_t n, const int64_t *weights,
                            tfr__window *w);
/* dilation * (kernel - 1) + 1 */
int64_t tfr__window_reach(const tfr__window *w, uint32_t axis);
/* Makes auto_pad explicit for the n dims that the window slides over. */
void tfr__window_auto_pad(tfr__infer *in, const int64_t *dims, tfr__window *w);
/* out[i] positions on dims[i]; with ceil also those that begin inside and end beyond. */
tfr_status tfr__window_slide(tfr__infer *in, tfr_err *err, const int64_t *dims, bool ceil,
                             const tfr__window *w, int64_t *out);
/* Writes the normal form into the attributes; only those that the op has. */
tfr_status tfr__window_write(tfr__infer *in, tfr_err *err, const tfr__window *w);

#endif
