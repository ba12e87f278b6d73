/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv.cu: Conv over one or two axes and its two gradients as implicit products, by tile.h: the
 * matrix of windows is never written, its elements are found when they are loaded.
 *
 *   forward  Y [filters, batch * y] = W [filters, channels * taps] * windows
 *   input   dX [channels, batch * x] = W' [channels, filters * taps] * windows of dY
 *   filter  dW [filters, channels * taps] = dY [filters, batch * y] * windows'; its long sum is cut
 *           into splits, whose slabs matmul_add_f32 adds
 *
 * Their names have the side of the tiles; those in TF32 have tiles of 32 x 32.
 */
#include "conv.h"

namespace conv
{

/* What lies at a tap under a place, 0 in the padding. */
template <class T>
__device__ inline float under(TFR_PTR(const T) x, const tfr_window &w, const tfr_spot &a,
                              const tfr_spot &b, bool is_there)
{
    const bool is_inside = is_there & ((unsigned)(a.row + b.row) < (unsigned)w.x[0]) &
                           ((unsigned)(a.across + b.across) < (unsigned)w.x[1]);
    return is_inside ? tfr_load(x[a.b + b.b]) : 0;
}

__device__ inline tfr_spot spot_of_tap(int k, const tfr_conv &c)
{
    const tfr_window &w = c.window;
    const tap t = tap_of(k, c);
    const int row = t.row * w.dilation[0], across = t.across * w.dilation[1];
    return {k, t.channel * (int)c.x_plane.d + row * w.x[1] + across, row, across};
}

/* Its a: where the place is in planes of y, of the group's filter 0. */
__device__ inline tfr_spot spot_of_place(int n, const tfr_conv &c, int group)
{
    const tfr_window &w = c.window;
    const place p = place_of(n, c.y_plane, c.y_row);
    const int row = p.row * w.stride[0] - w.pad[0], across = p.across * w.stride[1] - w.pad[1];
    const int number = p.sample * c.groups + group;
    return {(number * c.filters - p.sample) * (int)c.y_plane.d + n,
            number * c.channels * (int)c.x_plane.d + row * w.x[1] + across, row, across};
}

template <class T> struct forward {
    const tfr_conv &c;
    TFR_PTR(const T) x;
    TFR_PTR(const T) w;
    TFR_PTR(const T) bias;
    TFR_PTR(T) y;
    int group, M, N, a_row;
    static constexpr bool a_by_k = true, b_by_k = false, has_table = true, has_columns = false;

    __device__ tfr_spot step(int k) const
    {
        tfr_spot s = spot_of_tap(k, c);
        s.a += group * M * a_row;
        return s;
    }
    __device__ tfr_spot column(int n) const
    {
        return spot_of_place(n, c, group);
    }
    __device__ float a(int at) const
    {
        return tfr_load(w[at]);
    }
    __device__ float b(const tfr_spot &column, const tfr_spot &step, bool is_there) const
    {
        return under(x, c.window, column, step, is_there);
    }
    __device__ int out(int n) const
    {
        const int sample = tfr_divide(n, c.y_plane);
        return ((sample * c.groups + group) * M - sample) * (int)c.y_plane.d + n;
    }
    __device__ void put(int out, int m, int, float sum) const
    {
        if (bias)
            sum += tfr_load(bias[group * M + m]);
        if (c.relu)
            sum = sum < 0 ? 0 : sum;
        y[out + m * (int)c.y_plane.d] = tfr_store<T>::of(sum);
    }
};

template <class T> struct filter {
    const tfr_conv &c;
    TFR_PTR(const T) dy;
    TFR_PTR(const T) x;
    TFR_PTR(float) slab;
    int group, M, N, a_row;
    static constexpr bool a_by_k = true, b_by_k = true, has_table = true, has_columns = true;

    __device__ tfr_spot step(int k) const
    {
        return spot_of_place(k, c, group);
    }
    __device__ tfr_spot column(int n) const
    {
        return spot_of_tap(n, c);
    }
    __device__ float a(int at) const
    {
        return tfr_load(dy[at]);
    }
    __device__ float b(const tfr_spot &column, const tfr_spot &step, bool is_there) const
    {
        return under(x, c.window, column, step, is_there);
    }
    __device__ int out(int n) const
    {
        return group * M * N + n;
    }
    __device__ void put(int out, int m, int, float sum) const
    {
        slab[out + m * N] = sum;
    }
};

template <class T, int S, bool tf32 = false>
__device__ inline void run_forward(TFR_PTR(const T) x, TFR_PTR(const T) w, TFR_PTR(const T) bias,
                                   TFR_PTR(T) y, const tfr_conv &c)
{
    const int K = c.channels * (int)c.taps.d;
    const tfr_part p = tfr_part_of<S>(c.tiling, K);
    const forward<T> o = {c, x, w, bias, y, p.outer, c.filters, c.batch * (int)c.y_plane.d, K};
    tfr_tile<S, tf32>(o, p, c.tiling);
}

template <class T, int S, bool tf32 = false>
__device__ inline void run_input(TFR_PTR(const T) dy, TFR_PTR(const T) w, TFR_PTR(T) dx,
                                 const tfr_conv &c)
{
    const tfr_part p = tfr_part_of<S>(c.tiling, c.filters * (int)c.taps.d);
    const input<T> o = {
        c, dy, w, dx, p.outer, c.channels, c.batch * (int)c.x_plane.d, (int)c.taps.d};
    tfr_tile<S, tf32>(o, p, c.tiling);
}

template <class T, int S, bool tf32 = false>
__device__ inline void run_filter(TFR_PTR(const T) dy, TFR_PTR(const T) x, TFR_PTR(float) slabs,
                                  const tfr_conv &c)
{
    const int M = c.filters, N = c.channels * (int)c.taps.d;
    const tfr_part p = tfr_part_of<S>(c.tiling, c.batch * (int)c.y_plane.d);
    const filter<T> o = {c,       dy, x, slabs + (int64_t)p.split * c.groups * M * N,
                         p.outer, M,  N, (int)c.y_plane.d};
    tfr_tile<S, tf32>(o, p, c.tiling);
}

} // namespace conv

#define CONV(type, T, S)                                                                           \
    TFR_GLOBAL(                                                                                    \
        conv_##S##_##type, TFR_MORE_REGISTERS(tfr_shape<S>::threads),                              \
        (TFR_PTR(const T) x, TFR_PTR(const T) w, TFR_PTR(const T) bias, TFR_PTR(T) y, tfr_conv c)) \
    {                                                                                              \
        conv::run_forward<T, S>(x, w, bias, y, c);                                                 \
    }                                                                                              \
    TFR_GLOBAL(conv_grad_input_##S##_##type, TFR_MORE_REGISTERS(tfr_shape<S>::threads),            \
               (TFR_PTR(const T) dy, TFR_PTR(const T) w, TFR_PTR(T) dx, tfr_conv c))               \
    {                                                                                              \
        conv::run_input<T, S>(dy, w, dx, c);                                                       \
    }
#define CONV_GRAD_FILTER(S)                                                                        \
    TFR_GLOBAL(                                                                                    \
        conv_grad_filter_##S##_f32, TFR_MORE_REGISTERS(tfr_shape<S>::threads),                     \
        (TFR_PTR(const float) dy, TFR_PTR(const float) x, TFR_PTR(float) slabs, tfr_conv c))       \
    {                                                                                              \
        conv::run_filter<float, S>(dy, x, slabs, c);                                               \
    }
#define CONVS(S)                                                                                   \
    CONV(f32, float, S)                                                                            \
    CONV(f16, tfr_f16, S)                                                                          \
    CONV(bf16, tfr_bf16, S)                                                                        \
    CONV_GRAD_FILTER(S)

TFR_GLOBAL(conv_tf32, TFR_MORE_REGISTERS(tfr_shape<32>::threads),
           (TFR_PTR(const float) x, TFR_PTR(const float) w, TFR_PTR(const float) bias,
            TFR_PTR(float) y, tfr_conv c))
{
    conv::run_forward<float, 32, true>(x, w, bias, y, c);
}
TFR_GLOBAL(conv_grad_input_tf32, TFR_MORE_REGISTERS(tfr_shape<32>::threads),
           (TFR_PTR(const float) dy, TFR_PTR(const float) w, TFR_PTR(float) dx, tfr_conv c))
{
    conv::run_input<float, 32, true>(dy, w, dx, c);
}
TFR_GLOBAL(conv_grad_filter_tf32, TFR_MORE_REGISTERS(tfr_shape<32>::threads),
           (TFR_PTR(const float) dy, TFR_PTR(const float) x, TFR_PTR(float) slabs, tfr_conv c))
{
    conv::run_filter<float, 32, true>(dy, x, slabs, c);
}
CONVS(64)
CONV(f32, float, 32)
CONV_GRAD_FILTER(32)
CONVS(16)
#undef CONVS
#undef CONV_GRAD_FILTER
#undef CONV
