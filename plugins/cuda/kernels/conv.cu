/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv.cu: Conv over one or two axes and its two gradients as implicit products, by tile.h: the
 * matrix of windows is never written, its elements are found when they are loaded.
 *
 *   forward  Y [filters, batch * y] = W [filters, channels * taps] * windows
 *   input   dX [channels, batch * x] = W' [channels, filters * taps] * windows of dY
 *   filter  dW [filters, channels * taps] = dY [filters, batch * y] * windows'; its long sum is cut
 *           into splits, whose slabs reduce_f32 adds in their order, so that the bits are the same
 *           in each run
 *
 * Block number: tiles across, tiles down, group, split.
 */
#include "conv.h"
#include "tile.h"

namespace conv
{

/* The element of x under a tap of the window at a place of y, or 0 in the padding. */
template <class T>
__device__ inline float under(TFR_PTR(const T) x, const tfr_conv &c, int group, const place &p,
                              const tap &t)
{
    const tfr_window &w = c.window;
    const int row = p.row * w.stride[0] + t.row * w.dilation[0] - w.pad[0];
    const int across = p.across * w.stride[1] + t.across * w.dilation[1] - w.pad[1];

    if (row < 0 || row >= w.x[0] || across < 0 || across >= w.x[1])
        return 0;
    return tfr_load(x[((p.sample * c.groups + group) * c.channels + t.channel) * w.x[0] * w.x[1] +
                      row * w.x[1] + across]);
}

template <class T> struct forward {
    const tfr_conv &c;
    TFR_PTR(const T) x;
    TFR_PTR(const T) w;
    TFR_PTR(const T) bias;
    TFR_PTR(T) y;
    int group, M, N, k_begin, k_end;
    static constexpr bool a_by_k = true;

    __device__ place at(int n) const
    {
        return place_of(n, c.y_plane, c.y_row);
    }
    __device__ float a(int m, int k) const
    {
        return tfr_load(w[(group * M + m) * k_end + k]);
    }
    __device__ float b(const place &p, int k) const
    {
        return under(x, c, group, p, tap_of(k, c));
    }
    __device__ void put(int m, int n, float sum) const
    {
        const int sample = tfr_divide(n, c.y_plane), filter = group * M + m;
        if (bias)
            sum += tfr_load(bias[filter]);
        if (c.relu)
            sum = sum < 0 ? 0 : sum;
        y[(sample * c.groups * M + filter) * (int)c.y_plane.d + n - sample * (int)c.y_plane.d] =
            tfr_store<T>::of(sum);
    }
};

template <class T> struct filter {
    const tfr_conv &c;
    TFR_PTR(const T) dy;
    TFR_PTR(const T) x;
    TFR_PTR(float) slab;
    int group, M, N, k_begin, k_end;
    static constexpr bool a_by_k = true;

    __device__ tap at(int n) const
    {
        return tap_of(n, c);
    }
    __device__ float a(int m, int k) const
    {
        const int sample = tfr_divide(k, c.y_plane);
        return tfr_load(dy[((sample * c.groups + group) * M + m) * (int)c.y_plane.d + k -
                           sample * (int)c.y_plane.d]);
    }
    __device__ float b(const tap &t, int k) const
    {
        return under(x, c, group, place_of(k, c.y_plane, c.y_row), t);
    }
    __device__ void put(int m, int n, float sum) const
    {
        slab[(group * M + m) * N + n] = sum;
    }
};

template <class T>
__device__ inline void run_forward(TFR_PTR(const T) x, TFR_PTR(const T) w, TFR_PTR(const T) bias,
                                   TFR_PTR(T) y, const tfr_conv &c)
{
    const int M = c.filters, N = c.batch * (int)c.y_plane.d;
    const int across = (N + 63) / 64, down = (M + 63) / 64, number = (int)blockIdx.x;
    const forward<T> o = {c, x, w, bias, y, number / across / down, M, N, 0,
                          c.channels * (int)c.taps.d};
    tfr_tile<64>(o, number / across % down, number % across);
}

template <class T>
__device__ inline void run_input(TFR_PTR(const T) dy, TFR_PTR(const T) w, TFR_PTR(T) dx,
                                 const tfr_conv &c)
{
    const int M = c.channels, N = c.batch * (int)c.x_plane.d;
    const int across = (N + 63) / 64, down = (M + 63) / 64, number = (int)blockIdx.x;
    const input<T> o = {c, dy, w, dx, number / across / down, M, N, 0, c.filters * (int)c.taps.d};
    tfr_tile<64>(o, number / across % down, number % across);
}

template <class T>
__device__ inline void run_filter(TFR_PTR(const T) dy, TFR_PTR(const T) x, TFR_PTR(float) slabs,
                                  const tfr_conv &c)
{
    const int M = c.filters, N = c.channels * (int)c.taps.d, K = c.batch * (int)c.y_plane.d;
    const int across = (N + 63) / 64, down = (M + 63) / 64, number = (int)blockIdx.x;
    const int group = number / across / down % c.groups;
    const int split = number / across / down / c.groups;
    const int part = ((K + c.splits - 1) / c.splits + TFR_TILE_K - 1) / TFR_TILE_K * TFR_TILE_K;
    const int begin = split * part < K ? split * part : K;
    const filter<T> o = {c, dy, x, slabs + (int64_t)split * c.groups * M * N, group, M, N, begin,
                         K - begin < part ? K : begin + part};
    tfr_tile<64>(o, number / across % down, number % across);
}

} // namespace conv

#define CONV(type, T)                                                                              \
    TFR_GLOBAL(conv_##type, 256,                                                                   \
               (TFR_PTR(const T) x, TFR_PTR(const T) w, TFR_PTR(const T) bias, TFR_PTR(T) y,       \
                tfr_conv c))                                                                       \
    {                                                                                              \
        conv::run_forward<T>(x, w, bias, y, c);                                                    \
    }                                                                                              \
    TFR_GLOBAL(conv_grad_input_##type, 256,                                                        \
               (TFR_PTR(const T) dy, TFR_PTR(const T) w, TFR_PTR(T) dx, tfr_conv c))               \
    {                                                                                              \
        conv::run_input<T>(dy, w, dx, c);                                                          \
    }

CONV(f32, float)
CONV(f16, tfr_f16)
CONV(bf16, tfr_bf16)
TFR_GLOBAL(conv_grad_filter_f32, 256,
           (TFR_PTR(const float) dy, TFR_PTR(const float) x, TFR_PTR(float) slabs, tfr_conv c))
{
    conv::run_filter<float>(dy, x, slabs, c);
}
#undef CONV
