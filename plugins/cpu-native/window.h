/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window.h: the sliding window of kernels that go through tensors as they lie:
 * tap k of axis d at position o lies on o * stride + k * dilation - pad.
 */
#ifndef NATIVE_WINDOW_H
#define NATIVE_WINDOW_H

#include "move.h"

typedef struct native_window {
    int32_t rank; /* spatial axes */
    int64_t kernel[TFR_MAX_RANK], stride[TFR_MAX_RANK], dilation[TFR_MAX_RANK];
    int64_t pad[TFR_MAX_RANK], pad_end[TFR_MAX_RANK];
} native_window;

static inline int64_t native_window_number(const tfr_call *call, const char *name, int32_t d,
                                           int64_t absent)
{
    const tfr_attr *attr = tfr_call_attr(call, name);

    return attr && d < (int32_t)attr->n ? attr->ints[d] : absent;
}

/*
 * kernel = what attribute kernel_shape would say, or NULL to read that. False:
 * numbers are so large that their products may not fit, and the call is left to
 * naive.
 */
static inline bool native_window_read(native_window *w, const tfr_call *call, int32_t rank,
                                      const int64_t *kernel)
{
    const int64_t limit = 1 << 28;
    bool fits = true;
    int32_t d;

    w->rank = rank;
    for (d = 0; d < rank; d++) {
        w->kernel[d] = kernel ? kernel[d] : native_window_number(call, "kernel_shape", d, 1);
        w->stride[d] = native_window_number(call, "strides", d, 1);
        w->dilation[d] = native_window_number(call, "dilations", d, 1);
        w->pad[d] = native_window_number(call, "pads", d, 0);
        w->pad_end[d] = native_window_number(call, "pads", rank + d, 0);
        fits = fits && w->kernel[d] > 0 && w->kernel[d] < limit && w->stride[d] > 0 &&
               w->stride[d] < limit && w->dilation[d] > 0 && w->dilation[d] < limit &&
               w->pad[d] >= 0 && w->pad[d] < limit && w->pad_end[d] >= 0 && w->pad_end[d] < limit;
    }
    return fits;
}

/* The positions [*first, *end) among n of axis d whose tap k lies in [low,
 * high). */
static inline void native_window_span(const native_window *w, int32_t d, int64_t k, int64_t low,
                                      int64_t high, int64_t n, int64_t *first, int64_t *end)
{
    const int64_t shift = k * w->dilation[d] - w->pad[d];
    const int64_t a = low - shift, b = high - shift;

    *first = a <= 0 ? 0 : (a - 1) / w->stride[d] + 1;
    *end = b <= 0 ? 0 : (b - 1) / w->stride[d] + 1;
    *end = *end < n ? *end : n;
}

/* How many taps of axis d lie in [low, high) at position o. */
static inline int64_t native_window_taps(const native_window *w, int32_t d, int64_t o, int64_t low,
                                         int64_t high)
{
    const int64_t begin = o * w->stride[d] - w->pad[d];
    const int64_t a = low - begin, b = high - begin;
    const int64_t first = a <= 0 ? 0 : (a - 1) / w->dilation[d] + 1;
    int64_t end = b <= 0 ? 0 : (b - 1) / w->dilation[d] + 1;

    end = end < w->kernel[d] ? end : w->kernel[d];
    return end > first ? end - first : 0;
}

#define NATIVE_WINDOW_OP(name)                                                                     \
    void native_##name##_supports(const tfr_plugin_device *device, const tfr_call *call,           \
                                  tfr_answer *answer);                                             \
    void native_##name##_prepare(native_build *b, const tfr_call *call);
NATIVE_WINDOW_OP(col2im)      /* col2im.c: Col2Im, AveragePoolGrad */
NATIVE_WINDOW_OP(deform_conv) /* deform_conv.c */
NATIVE_WINDOW_OP(pool_lp)     /* pool_lp.c */
NATIVE_WINDOW_OP(max_unpool)  /* max_unpool.c */
#undef NATIVE_WINDOW_OP

#endif
