/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.cu: MaxPool, AveragePool, LpPool over one or two axes and gradients of the first two; a
 * thread for each element that is written. The gradient of an element adds what the windows over it
 * give, so that nothing is added by two threads and the bits are the same in each run; where no
 * windows overlap, a thread has one of them. NaN and empty windows as in plugins/naive/pool.c.
 *
 * The kernels named last are for images of which some have the channels last: threads go along what
 * is written, so that they write, and mostly read, one behind the other. Bits are the same. They
 * are apart from the others, which need neither their divisions nor their registers.
 */
#include "block.h"
#include "index.h"

namespace pool
{

typedef tfr_window_divisors divisors;

/* The place of output or input element i, and its plane. */
struct place {
    int plane, row, across;
};

__device__ inline place place_of(int i, const tfr_divisor dims[2])
{
    place p;
    const int rows = tfr_divide(i, dims[1]);
    p.across = i - rows * (int)dims[1].d;
    p.plane = tfr_divide(rows, dims[0]);
    p.row = rows - p.plane * (int)dims[0].d;
    return p;
}

/* Number i of x, counted with the first spatial axis fastest. */
__device__ inline int column_major(const tfr_window &w, const divisors &by, int i)
{
    const place p = place_of(i, by.x);
    return (p.plane * w.x[1] + p.across) * w.x[0] + p.row;
}

/* Where element (row, across) of a plane lies. */
struct grid {
    int first, down, right;

    __device__ int at(int row, int across) const
    {
        return first + row * down + across * right;
    }
};

/* Planes one behind the other. */
struct plain {
    __device__ static place find(const divisors &, int i, const tfr_divisor dims[2], int)
    {
        return place_of(i, dims);
    }
    __device__ static grid of(const divisors &, int plane, const int dims[2], int)
    {
        return {plane * dims[0] * dims[1], dims[1], 1};
    }
};

/* The same, or with the channels last. */
struct either {
    __device__ static place find(const divisors &by, int i, const tfr_divisor dims[2], int is_last)
    {
        if (!is_last)
            return place_of(i, dims);
        const int channels = (int)by.channels.d, at = tfr_divide(i, by.channels);
        place p = place_of(at, dims);
        p.plane = p.plane * channels + i - at * channels;
        return p;
    }
    __device__ static grid of(const divisors &by, int plane, const int dims[2], int is_last)
    {
        if (!is_last)
            return plain::of(by, plane, dims, 0);
        const int channels = (int)by.channels.d, sample = tfr_divide(plane, by.channels);
        return {sample * dims[0] * dims[1] * channels + plane - sample * channels,
                dims[1] * channels, channels};
    }
};

/* What a window without taps has. */
template <class T> struct lowest {
    __device__ static T of()
    {
        if constexpr (sizeof(T) == 1)
            return (T)-1 < (T)0 ? (T)-128 : (T)0;
        else
            return tfr_store<T>::of(-INFINITY);
    }
};

/* Goes along the taps of a window: `some` at once, of which those outside of x are -1. */
struct tap {
    int row, across;
};
struct taps {
    int r, c;

    template <int some> __device__ void next(const tfr_window &w, const place &p, tap (&out)[some])
    {
        TFR_UNROLL
        for (int k = 0; k < some; k++) {
            const int row = p.row * w.stride[0] + r * w.dilation[0] - w.pad[0];
            const int across = p.across * w.stride[1] + c * w.dilation[1] - w.pad[1];
            const bool is_in =
                r < w.kernel[0] && row >= 0 && row < w.x[0] && across >= 0 && across < w.x[1];
            out[k].row = is_in ? row : -1;
            out[k].across = across;
            const bool is_end = ++c == w.kernel[1];
            c = is_end ? 0 : c;
            r += is_end;
        }
    }
};

template <class T, class order>
__device__ inline void max(TFR_PTR(const T) x, TFR_PTR(T) y, TFR_PTR(int64_t) indices,
                           const tfr_window &w, const divisors &by)
{
    const int n = w.planes * w.y[0] * w.y[1];
    for (int i = tfr_thread(); i < n; i += tfr_threads()) {
        const place p = order::find(by, i, by.y, w.y_last);
        const grid from = order::of(by, p.plane, w.x, w.x_last);
        float best = -INFINITY;
        int at = -1;
        TFR_NO_UNROLL
        for (taps t = {0, 0}; t.r < w.kernel[0];) {
            tap to[4];
            T v[4] = {};
            t.next(w, p, to);
            TFR_UNROLL
            for (int k = 0; k < 4; k++)
                if (to[k].row >= 0)
                    v[k] = x[from.at(to[k].row, to[k].across)];
            TFR_UNROLL
            for (int k = 0; k < 4; k++) {
                if (to[k].row < 0)
                    continue;
                const float here = tfr_load(v[k]);
                if (at < 0 || here > best || (here != here && best == best)) {
                    best = here;
                    at = (p.plane * w.x[0] + to[k].row) * w.x[1] + to[k].across;
                }
            }
        }
        y[i] = at < 0 ? lowest<T>::of() : tfr_store<T>::of(best);
        if (indices)
            indices[order::of(by, p.plane, w.y, w.indices_last).at(p.row, p.across)] =
                at >= 0 && w.columns ? column_major(w, by, at) : at;
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

template <class T, class order>
__device__ inline void average(TFR_PTR(const T) x, TFR_PTR(T) y, const tfr_window &w,
                               const divisors &by)
{
    const int n = w.planes * w.y[0] * w.y[1];
    for (int i = tfr_thread(); i < n; i += tfr_threads()) {
        const place p = order::find(by, i, by.y, w.y_last);
        const grid from = order::of(by, p.plane, w.x, w.x_last);
        const int count = padded_taps(w, 0, p.row) * padded_taps(w, 1, p.across);
        float sum = 0;
        for (int r = 0; r < w.kernel[0]; r++) {
            const int row = p.row * w.stride[0] + r * w.dilation[0] - w.pad[0];
            if (row < 0 || row >= w.x[0])
                continue;
            for (int c = 0; c < w.kernel[1]; c++) {
                const int across = p.across * w.stride[1] + c * w.dilation[1] - w.pad[1];
                if (across >= 0 && across < w.x[1])
                    sum += tfr_load(x[from.at(row, across)]);
            }
        }
        y[i] = tfr_store<T>::of(count > 0 ? sum / (float)count : 0.f);
    }
}

template <class T>
__device__ inline void lp(TFR_PTR(const T) x, TFR_PTR(T) y, const tfr_window &w, const divisors &by)
{
    const int n = w.planes * w.y[0] * w.y[1];
    for (int i = tfr_thread(); i < n; i += tfr_threads()) {
        const place p = place_of(i, by.y);
        const grid from = plain::of(by, p.plane, w.x, 0);
        float sum = 0;
        for (int r = 0; r < w.kernel[0]; r++) {
            const int row = p.row * w.stride[0] + r * w.dilation[0] - w.pad[0];
            if (row < 0 || row >= w.x[0])
                continue;
            TFR_NO_UNROLL
            for (int c = 0; c < w.kernel[1]; c++) {
                const int across = p.across * w.stride[1] + c * w.dilation[1] - w.pad[1];
                if (across < 0 || across >= w.x[1])
                    continue;
                const float v = fabsf(tfr_load(x[from.at(row, across)]));
                sum += w.power == 1 ? v : w.power == 2 ? v * v : powf(v, (float)w.power);
            }
        }
        y[i] = tfr_store<T>::of(w.power == 1   ? sum
                                : w.power == 2 ? sqrtf(sum)
                                               : powf(sum, 1 / (float)w.power));
    }
}

/* The windows over element `at` along axis d: those from `first` to `last` which have a tap there.
 */
struct windows {
    int first, last, step, at;

    __device__ windows(const tfr_window &w, const divisors &by, int d, int place)
    {
        const int behind = place + w.pad[d] - (w.kernel[d] - 1) * w.dilation[d];
        at = place + w.pad[d];
        first = behind > 0 ? tfr_divide(behind + w.stride[d] - 1, by.stride[d]) : 0;
        last = tfr_divide(at, by.stride[d]);
        last = last < w.y[d] ? last : w.y[d] - 1;
        step = w.stride[d];
    }
    __device__ bool has(int o, int dilation) const
    {
        return dilation == 1 || (at - o * step) % dilation == 0;
    }
};

/* The sum of what the windows over an element give. */
template <class each>
__device__ inline float over(const tfr_window &w, const divisors &by, const place &p, each value)
{
    const windows rows(w, by, 0, p.row), columns(w, by, 1, p.across);
    float sum = 0;
    TFR_NO_UNROLL
    for (int row = rows.first; row <= rows.last; row++) {
        if (!rows.has(row, w.dilation[0]))
            continue;
        TFR_NO_UNROLL
        for (int across = columns.first; across <= columns.last; across++)
            if (columns.has(across, w.dilation[1]))
                sum += value((p.plane * w.y[0] + row) * w.y[1] + across, row, across);
    }
    return sum;
}

/* 1 if output element o of the plane names an element of x that its window does not have. */
__device__ inline int is_stray(const tfr_window &w, const divisors &by, const place &p,
                               int64_t index)
{
    const int64_t plane = (int64_t)w.x[0] * w.x[1], at = index - p.plane * plane;
    if (index < 0 || at < 0 || at >= plane)
        return 0; /* gives nothing to anyone */
    const place to = place_of((int)at, by.x);
    const int row = to.row - (p.row * w.stride[0] - w.pad[0]);
    const int across = to.across - (p.across * w.stride[1] - w.pad[1]);
    return row < 0 || row > (w.kernel[0] - 1) * w.dilation[0] || across < 0 ||
           across > (w.kernel[1] - 1) * w.dilation[1] ||
           (w.dilation[0] > 1 && row % w.dilation[0]) ||
           (w.dilation[1] > 1 && across % w.dilation[1]);
}

/* What all outputs of a plane that name element i of x give it. */
template <class T>
__device__ inline float given_by_all(TFR_PTR(const T) dy, TFR_PTR(const int64_t) indices, int plane,
                                     int y_plane, int i)
{
    float sum = 0;
    TFR_NO_UNROLL
    for (int o = plane * y_plane; o < (plane + 1) * y_plane; o++)
        sum += indices[o] == i ? (float)tfr_load(dy[o]) : 0.f;
    return sum;
}

/*
 * A block has a plane. The indices of a MaxPool are each in their window, so that an element of x
 * asks the windows over it; a plane with others, which the op admits, is asked as a whole.
 */
template <class T>
__device__ inline void max_grad(TFR_PTR(const T) dy, TFR_PTR(const int64_t) indices, TFR_PTR(T) dx,
                                const tfr_window &w, const divisors &by)
{
    const int x_plane = w.x[0] * w.x[1], y_plane = w.y[0] * w.y[1];
    for (int plane = (int)blockIdx.x; plane < w.planes; plane += (int)gridDim.x) {
        int strays = 0;
        for (int o = (int)threadIdx.x; o < y_plane; o += (int)blockDim.x)
            strays +=
                is_stray(w, by, place_of(plane * y_plane + o, by.y), indices[plane * y_plane + o]);
        strays = tfr_fold_block<tfr_sum>(strays);
        TFR_NO_UNROLL
        for (int e = (int)threadIdx.x; e < x_plane; e += (int)blockDim.x) {
            const int i = plane * x_plane + e;
            float sum = 0;
            if (strays == 0)
                sum = over(w, by, place_of(i, by.x), [&](int o, int, int) {
                    const int64_t index = indices[o];
                    const T v = dy[o]; /* without waiting for the index */
                    return index == i ? (float)tfr_load(v) : 0.f;
                });
            else
                sum = given_by_all(dy, indices, plane, y_plane, i);
            dx[i] = tfr_store<T>::of(sum);
        }
    }
}

/*
 * The same for windows that do not overlap: x is cells of a stride by a stride, each with the
 * window that begins there, or none. A thread has a cell, and writes all of it; then a plane with
 * an index that is not in its cell is written once more.
 */
template <class T>
__device__ inline void max_grad_cells(TFR_PTR(const T) dy, TFR_PTR(const int64_t) indices,
                                      TFR_PTR(T) dx, const tfr_window &w, const divisors &by,
                                      int cells)
{
    const int x_plane = w.x[0] * w.x[1], y_plane = w.y[0] * w.y[1];
    for (int plane = (int)blockIdx.x; plane < w.planes; plane += (int)gridDim.x) {
        int strays = 0;
        TFR_NO_UNROLL
        for (int cell = (int)threadIdx.x; cell < cells; cell += (int)blockDim.x) {
            const int down = tfr_divide(cell, by.cells), right = cell - down * (int)by.cells.d;
            const int top = down * w.stride[0] - w.pad[0], left = right * w.stride[1] - w.pad[1];
            const bool has_window = down < w.y[0] && right < w.y[1];
            const int o = plane * y_plane + down * w.y[1] + right;
            const int64_t index = has_window ? indices[o] : -1;
            const float v = has_window ? (float)tfr_load(dy[o]) : 0.f;
            bool is_met =
                index < (int64_t)plane * x_plane || index >= (int64_t)(plane + 1) * x_plane;
            TFR_NO_UNROLL
            for (int row = top < 0 ? 0 : top; row < top + w.stride[0] && row < w.x[0]; row++)
                TFR_NO_UNROLL
            for (int across = left < 0 ? 0 : left; across < left + w.stride[1] && across < w.x[1];
                 across++) {
                const int i = (plane * w.x[0] + row) * w.x[1] + across;
                const bool is_here = index == i;
                is_met |= is_here;
                dx[i] = tfr_store<T>::of(0.f + (is_here ? v : 0.f));
            }
            strays += !is_met;
        }
        strays = tfr_fold_block<tfr_sum>(strays);
        for (int e = (int)threadIdx.x; strays && e < x_plane; e += (int)blockDim.x)
            dx[plane * x_plane + e] =
                tfr_store<T>::of(given_by_all(dy, indices, plane, y_plane, plane * x_plane + e));
    }
}

/* The same for either order: a block has 8 channels of a sample, which lie in one sector. */
template <class T>
__device__ inline void max_grad_last(TFR_PTR(const T) dy, TFR_PTR(const int64_t) indices,
                                     TFR_PTR(T) dx, const tfr_window &w, const divisors &by)
{
    const int parts = (w.channels + 7) / 8, n = w.planes / w.channels * parts;
    const int step = (int)blockDim.x / 8;
    for (int part = (int)blockIdx.x; part < n; part += (int)gridDim.x) {
        const int channel = part % parts * 8 + (int)threadIdx.x % 8;
        const int plane = part / parts * w.channels + channel;
        const int first = channel < w.channels ? (int)threadIdx.x / 8 : INT32_MAX - 1024;
        const grid of_dy = either::of(by, plane, w.y, w.y_last);
        const grid of_indices = either::of(by, plane, w.y, w.indices_last);
        const grid of_dx = either::of(by, plane, w.x, w.x_last);
        int strays = 0;
        for (int o = first; o < w.y[0] * w.y[1]; o += step) {
            place p = place_of(o, by.y);
            p.plane = plane;
            strays += is_stray(w, by, p, indices[of_indices.at(p.row, p.across)]);
        }
        strays = tfr_fold_block<tfr_sum>(strays);
        TFR_NO_UNROLL
        for (int e = first; e < w.x[0] * w.x[1]; e += step) {
            place p = place_of(e, by.x);
            p.plane = plane;
            const int i = plane * w.x[0] * w.x[1] + e;
            const auto given = [&](int, int row, int across) {
                const int64_t index = indices[of_indices.at(row, across)];
                const T v = dy[of_dy.at(row, across)]; /* without waiting for the index */
                return index == i ? (float)tfr_load(v) : 0.f;
            };
            float sum = 0;
            if (strays == 0)
                sum = over(w, by, p, given);
            else
                TFR_NO_UNROLL
            for (int o = 0; o < w.y[0] * w.y[1]; o++) {
                const place q = place_of(o, by.y);
                sum += given(o, q.row, q.across);
            }
            dx[of_dx.at(p.row, p.across)] = tfr_store<T>::of(sum);
        }
    }
}

template <class T, class order>
__device__ inline void average_grad(TFR_PTR(const T) dy, TFR_PTR(T) dx, const tfr_window &w,
                                    const divisors &by)
{
    const int n = w.planes * w.x[0] * w.x[1];
    for (int i = tfr_thread(); i < n; i += tfr_threads()) {
        const place p = order::find(by, i, by.x, w.x_last);
        const grid from = order::of(by, p.plane, w.y, w.y_last);
        dx[i] = tfr_store<T>::of(over(w, by, p, [&](int, int row, int across) {
            return tfr_load(dy[from.at(row, across)]) /
                   (float)(padded_taps(w, 0, row) * padded_taps(w, 1, across));
        }));
    }
}

} // namespace pool

#define MAX(name, T, order)                                                                        \
    TFR_GLOBAL(max_pool_##name, 256,                                                               \
               (TFR_PTR(const T) x, TFR_PTR(T) y, TFR_PTR(int64_t) indices, tfr_window w,          \
                tfr_window_divisors by))                                                           \
    {                                                                                              \
        pool::max<T, pool::order>(x, y, indices, w, by);                                           \
    }
#define POOL(name, T, order)                                                                       \
    MAX(name, T, order)                                                                            \
    TFR_GLOBAL(average_pool_##name, 256,                                                           \
               (TFR_PTR(const T) x, TFR_PTR(T) y, tfr_window w, tfr_window_divisors by))           \
    {                                                                                              \
        pool::average<T, pool::order>(x, y, w, by);                                                \
    }                                                                                              \
    TFR_GLOBAL(average_pool_grad_##name, 256,                                                      \
               (TFR_PTR(const T) dy, TFR_PTR(T) dx, tfr_window w, tfr_window_divisors by))         \
    {                                                                                              \
        pool::average_grad<T, pool::order>(dy, dx, w, by);                                         \
    }
#define MAX_GRAD(name, T, function)                                                                \
    TFR_GLOBAL(max_pool_grad_##name, 512,                                                          \
               (TFR_PTR(const T) dy, TFR_PTR(const int64_t) indices, TFR_PTR(T) dx, tfr_window w,  \
                tfr_window_divisors by))                                                           \
    {                                                                                              \
        pool::function<T>(dy, indices, dx, w, by);                                                 \
    }
#define BOTH(type, T)                                                                              \
    TFR_GLOBAL(lp_pool_##type, 256,                                                                \
               (TFR_PTR(const T) x, TFR_PTR(T) y, tfr_window w, tfr_window_divisors by))           \
    {                                                                                              \
        pool::lp<T>(x, y, w, by);                                                                  \
    }                                                                                              \
    TFR_GLOBAL(max_pool_grad_cells_##type, 512,                                                    \
               (TFR_PTR(const T) dy, TFR_PTR(const int64_t) indices, TFR_PTR(T) dx, tfr_window w,  \
                tfr_window_divisors by, int cells))                                                \
    {                                                                                              \
        pool::max_grad_cells<T>(dy, indices, dx, w, by, cells);                                    \
    }                                                                                              \
    POOL(type, T, plain)                                                                           \
    POOL(last_##type, T, either)                                                                   \
    MAX_GRAD(type, T, max_grad)                                                                    \
    MAX_GRAD(last_##type, T, max_grad_last)

BOTH(f32, float)
BOTH(f16, tfr_f16)
BOTH(bf16, tfr_bf16)
MAX(u8, uint8_t, plain)
MAX(i8, int8_t, plain)
MAX(last_u8, uint8_t, either)
MAX(last_i8, int8_t, either)
#undef BOTH
#undef MAX_GRAD
#undef POOL
#undef MAX
