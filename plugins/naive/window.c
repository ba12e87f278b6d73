/* SPDX-License-Identifier: Apache-2.0 */
/* The sliding window of convolutions and poolings. No element is touched here. */
#include "window.h"

/* v[d] = values[d] of the attribute, or what it is by default. */
static void read_axes(const tfr_call *call, const char *name, int32_t R, int64_t absent, int64_t *v)
{
    uint64_t n;
    const int64_t *given = naive_attr_ints(call, name, &n);
    int32_t d;

    for (d = 0; d < R; d++)
        v[d] = (uint64_t)d < n ? given[d] : absent;
}

void naive_window_read(naive_window *w, const tfr_call *call, int32_t R, const int64_t *kernel)
{
    uint64_t n;
    const int64_t *pads;
    int32_t d;

    w->rank = R;
    read_axes(call, "strides", R, 1, w->stride);
    read_axes(call, "dilations", R, 1, w->dilation);
    read_axes(call, "kernel_shape", R, 1, w->kernel);
    if (kernel && !naive_attr_ints(call, "kernel_shape", &n))
        for (d = 0; d < R; d++)
            w->kernel[d] = kernel[d];
    pads = naive_attr_ints(call, "pads", &n);
    for (d = 0; d < R; d++) {
        w->pad[d] = n == 2 * (uint64_t)R ? pads[d] : 0;
        w->pad_end[d] = n == 2 * (uint64_t)R ? pads[R + d] : 0;
    }
}

int64_t naive_window_tap(const naive_window *w, const int64_t *dims, const int64_t *out,
                         const int64_t *tap)
{
    int64_t at = 0;
    int32_t d;

    for (d = 0; d < w->rank; d++) {
        int64_t i = out[d] * w->stride[d] + tap[d] * w->dilation[d] - w->pad[d];
        if (i < 0 || i >= dims[d])
            return -1;
        at = at * dims[d] + i;
    }
    return at;
}

int64_t naive_window_position(const naive_window *w, const int64_t *out_dims, const int64_t *in,
                              const int64_t *tap)
{
    int64_t at = 0;
    int32_t d;

    for (d = 0; d < w->rank; d++) {
        int64_t begin = in[d] + w->pad[d] - tap[d] * w->dilation[d];
        if (begin < 0 || begin % w->stride[d] || begin / w->stride[d] >= out_dims[d])
            return -1;
        at = at * out_dims[d] + begin / w->stride[d];
    }
    return at;
}

double naive_window_padded_taps(const naive_window *w, const int64_t *dims, const int64_t *out)
{
    double count = 1;
    int32_t d;

    for (d = 0; d < w->rank; d++) {
        int64_t room = dims[d] + w->pad[d] + w->pad_end[d] - out[d] * w->stride[d];
        int64_t fit = room <= 0 ? 0 : (room + w->dilation[d] - 1) / w->dilation[d];
        count *= (double)(fit < w->kernel[d] ? fit : w->kernel[d]);
    }
    return count;
}

int naive_window_walk(naive_iter *it, const naive_window *w, const int64_t *dims,
                      const int64_t *out)
{
    int64_t n[TFR_MAX_RANK], steps[TFR_MAX_RANK], begin = 0, inner = 1;
    int32_t d;

    for (d = w->rank - 1; d >= 0; d--) {
        int64_t at = out[d] * w->stride[d] - w->pad[d], dilation = w->dilation[d];
        int64_t first = at < 0 ? (dilation - 1 - at) / dilation : 0;
        int64_t end = at < dims[d] ? (dims[d] - 1 - at) / dilation + 1 : 0;
        if (end > w->kernel[d])
            end = w->kernel[d];
        n[d] = end > first ? end - first : 0;
        steps[d] = dilation * inner;
        begin += (at + first * dilation) * inner;
        inner *= dims[d];
    }
    naive_iter_init(it, w->rank, n);
    return naive_iter_add_strides(it, steps, begin);
}
