/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.cu: MaxPool, AveragePool over one or two axes and their gradients; a thread for each element
 * that is written. The gradient of an element adds what the windows over it give, so that nothing
 * is added by two threads and the bits are the same in each run. NaN and empty windows as in
 * plugins/naive/pool.c.
 */
#include "block.h"
#include "index.h"

namespace pool
{

/* The place of output or input element i, and its plane. */
struct place {
    int plane, row, across;
};

__device__ inline place place_of(int i, const int dims[2])
{
    place p;
    p.across = i % dims[1];
    p.row = i / dims[1] % dims[0];
    p.plane = i / dims[1] / dims[0];
    return p;
}

/* Number i of x, counted with the first spatial axis fastest. */
__device__ inline int column_major(const tfr_window &w, int i)
{
    const place p = place_of(i, w.x);
    return (p.plane * w.x[1] + p.across) * w.x[0] + p.row;
}

template <class T>
__device__ inline void max(TFR_PTR(const T) x, TFR_PTR(T) y, TFR_PTR(int64_t) indices,
                           const tfr_window &w)
{
    const int n = w.planes * w.y[0] * w.y[1];
    for (int i = tfr_thread(); i < n; i += tfr_threads()) {
        const place p = place_of(i, w.y);
        float best = -INFINITY;
        int at = -1;
        for (int r = 0; r < w.kernel[0]; r++) {
            const int row = p.row * w.stride[0] + r * w.dilation[0] - w.pad[0];
            if (row < 0 || row >= w.x[0])
                continue;
            for (int c = 0; c < w.kernel[1]; c++) {
                const int across = p.across * w.stride[1] + c * w.dilation[1] - w.pad[1];
                if (across < 0 || across >= w.x[1])
                    continue;
                const int from = (p.plane * w.x[0] + row) * w.x[1] + across;
                const float v = tfr_load(x[from]);
                if (at < 0 || v > best || (v != v && best == best)) {
                    best = v;
                    at = from;
                }
            }
        }
        y[i] = tfr_store<T>::of(best);
        if (indices)
            indices[i] = at >= 0 && w.columns ? column_major(w, at) : at;
    }
}

/* Taps from `first` on that lie in [0, dim) + pads. */
__device__ inline int padded_taps(const tfr_window &w, int d, int o)
{
    int n = 0;
    for (int k = 0; k < w.kernel[d]; k++) {
        const int at = o * w.stride[d] + k * w.dilation[d] - w.pad[d];
        n += at >= -w.pad[d] && at < w.x[d] + (w.include_pad ? w.pad_end[d] : 0) &&
             (w.include_pad || at >= 0);
    }
    return n;
}

template <class T>
__device__ inline void average(TFR_PTR(const T) x, TFR_PTR(T) y, const tfr_window &w)
{
    const int n = w.planes * w.y[0] * w.y[1];
    for (int i = tfr_thread(); i < n; i += tfr_threads()) {
        const place p = place_of(i, w.y);
        const int count = padded_taps(w, 0, p.row) * padded_taps(w, 1, p.across);
        float sum = 0;
        for (int r = 0; r < w.kernel[0]; r++) {
            const int row = p.row * w.stride[0] + r * w.dilation[0] - w.pad[0];
            if (row < 0 || row >= w.x[0])
                continue;
            for (int c = 0; c < w.kernel[1]; c++) {
                const int across = p.across * w.stride[1] + c * w.dilation[1] - w.pad[1];
                if (across >= 0 && across < w.x[1])
                    sum += tfr_load(x[(p.plane * w.x[0] + row) * w.x[1] + across]);
            }
        }
        y[i] = tfr_store<T>::of(count > 0 ? sum / (float)count : 0.f);
    }
}

/* The window whose tap k along axis d is at `at`, or -1. */
__device__ inline int window_over(const tfr_window &w, int d, int at, int k)
{
    const int from = at + w.pad[d] - k * w.dilation[d];
    const int o = from / w.stride[d];
    return from >= 0 && o * w.stride[d] == from && o < w.y[d] ? o : -1;
}

template <class T, class each>
__device__ inline float over(const tfr_window &w, const place &p, each value)
{
    float sum = 0;
    for (int r = w.kernel[0] - 1; r >= 0; r--) {
        const int row = window_over(w, 0, p.row, r);
        if (row < 0)
            continue;
        for (int c = w.kernel[1] - 1; c >= 0; c--) {
            const int across = window_over(w, 1, p.across, c);
            if (across >= 0)
                sum += value((p.plane * w.y[0] + row) * w.y[1] + across, row, across);
        }
    }
    return sum;
}

/* 1 if output element o of the plane names an element of x that its window does not have. */
__device__ inline int is_stray(const tfr_window &w, const place &p, int64_t index)
{
    const int64_t plane = (int64_t)w.x[0] * w.x[1], at = index - p.plane * plane;
    if (index < 0 || at < 0 || at >= plane)
        return 0; /* gives nothing to anyone */
    const int row = (int)at / w.x[1] - (p.row * w.stride[0] - w.pad[0]);
    const int across = (int)at % w.x[1] - (p.across * w.stride[1] - w.pad[1]);
    return row < 0 || row % w.dilation[0] || row / w.dilation[0] >= w.kernel[0] || across < 0 ||
           across % w.dilation[1] || across / w.dilation[1] >= w.kernel[1];
}

/*
 * A block has a plane. The indices of a MaxPool are each in their window, so that an element of x
 * asks the windows over it; a plane with others, which the op admits, is asked as a whole.
 */
template <class T>
__device__ inline void max_grad(TFR_PTR(const T) dy, TFR_PTR(const int64_t) indices, TFR_PTR(T) dx,
                                const tfr_window &w)
{
    const int x_plane = w.x[0] * w.x[1], y_plane = w.y[0] * w.y[1];
    for (int plane = (int)blockIdx.x; plane < w.planes; plane += (int)gridDim.x) {
        int strays = 0;
        TFR_NO_UNROLL
        for (int o = (int)threadIdx.x; o < y_plane; o += (int)blockDim.x)
            strays += is_stray(w, place_of(plane * y_plane + o, w.y), indices[plane * y_plane + o]);
        strays = tfr_fold_block<tfr_sum>(strays);
        TFR_NO_UNROLL
        for (int e = (int)threadIdx.x; e < x_plane; e += (int)blockDim.x) {
            const int i = plane * x_plane + e;
            float sum = 0;
            if (strays == 0)
                sum = over<T>(w, place_of(i, w.x), [&](int o, int, int) {
                    return indices[o] == i ? (float)tfr_load(dy[o]) : 0.f;
                });
            else
                TFR_NO_UNROLL
                for (int o = plane * y_plane; o < (plane + 1) * y_plane; o++)
                    sum += indices[o] == i ? (float)tfr_load(dy[o]) : 0.f;
            dx[i] = tfr_store<T>::of(sum);
        }
    }
}

template <class T>
__device__ inline void average_grad(TFR_PTR(const T) dy, TFR_PTR(T) dx, const tfr_window &w)
{
    const int n = w.planes * w.x[0] * w.x[1];
    for (int i = tfr_thread(); i < n; i += tfr_threads())
        dx[i] = tfr_store<T>::of(over<T>(w, place_of(i, w.x), [&](int o, int row, int across) {
            return tfr_load(dy[o]) / (float)(padded_taps(w, 0, row) * padded_taps(w, 1, across));
        }));
}

} // namespace pool

#define POOL(type, T)                                                                              \
    TFR_GLOBAL(max_pool_##type, 256,                                                               \
               (TFR_PTR(const T) x, TFR_PTR(T) y, TFR_PTR(int64_t) indices, tfr_window w))         \
    {                                                                                              \
        pool::max<T>(x, y, indices, w);                                                            \
    }                                                                                              \
    TFR_GLOBAL(average_pool_##type, 256, (TFR_PTR(const T) x, TFR_PTR(T) y, tfr_window w))         \
    {                                                                                              \
        pool::average<T>(x, y, w);                                                                 \
    }                                                                                              \
    TFR_GLOBAL(max_pool_grad_##type, 256,                                                          \
               (TFR_PTR(const T) dy, TFR_PTR(const int64_t) indices, TFR_PTR(T) dx, tfr_window w)) \
    {                                                                                              \
        pool::max_grad<T>(dy, indices, dx, w);                                                     \
    }                                                                                              \
    TFR_GLOBAL(average_pool_grad_##type, 256, (TFR_PTR(const T) dy, TFR_PTR(T) dx, tfr_window w))  \
    {                                                                                              \
        pool::average_grad<T>(dy, dx, w);                                                          \
    }

POOL(f32, float)
POOL(f16, tfr_f16)
POOL(bf16, tfr_bf16)
#undef POOL
