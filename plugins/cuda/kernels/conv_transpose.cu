/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_transpose.cu: ConvTranspose over one or two axes as implicit products, by tile.h.
 *
 *   conv_transpose_T          with a stride an output meets only some of the taps: all of a phase
 *                             meet the same ones, so that each phase is a product of its own, over
 *                             these alone, where one product over all taps would mostly add 0.
 *                             Block number: tiles across, tiles down, group, phase
 *   conv_transpose_dilated_T  that product over all taps, for strides and dilations on one axis;
 *                             block number: tiles across, tiles down, group
 *   conv_transpose_bias_T     adds the bias to what a library has computed without
 */
#include "conv.h"
#include "tile.h"

namespace conv_transpose
{

template <class T> struct with_bias : conv::input<T> {
    TFR_PTR(const T) bias;

    __device__ void put(int m, int n, float sum) const
    {
        conv::input<T>::put(m, n, bias ? sum + tfr_load(bias[this->group * this->M + m]) : sum);
    }
};

/* What the taps of a phase have in common along an axis. */
struct phase {
    int tap;     /* the first tap */
    int input;   /* what it meets at the first output of the phase */
    int is_more; /* taps: one more than others */

    __device__ phase(const tfr_window &w, int d, int n)
    {
        const int from = n + w.pad[d], stride = w.stride[d];
        tap = (from % stride + stride) % stride;
        input = (from - tap) / stride;
        is_more = tap < w.kernel[d] % stride;
    }
};

template <class T> struct operands {
    const tfr_transposed &t;
    TFR_PTR(const T) x;
    TFR_PTR(const T) w;
    TFR_PTR(const T) bias;
    TFR_PTR(T) y;
    phase down, right;
    int group, M, N, k_begin, k_end;
    static constexpr bool a_by_k = false;

    /* The first output of the phase. */
    __device__ static int first(const tfr_window &v, int d, const phase &p)
    {
        return p.input * v.stride[d] + p.tap - v.pad[d];
    }
    /* The channels of the sample, and the input under the first tap. */
    struct column {
        int first, row, across;
    };

    __device__ column at(int n) const
    {
        const conv::place p = conv::place_of(n, t.u_plane, t.u_row);
        return {(p.sample * t.conv.groups + group) * t.conv.filters * (int)t.conv.y_plane.d,
                p.row + down.input, p.across + right.input};
    }
    /* Channels follow each other in the sum, under one tap after the other. */
    __device__ conv::tap tap_of(int k) const
    {
        const int n = tfr_divide(k, t.conv.filters_d);
        conv::tap p;
        p.channel = k - n * (int)t.conv.filters_d.d;
        p.row = tfr_divide(n, t.taps_row[right.is_more]);
        p.across = n - p.row * (int)t.taps_row[right.is_more].d;
        return p;
    }
    __device__ float a(int m, int k) const
    {
        const tfr_window &v = t.conv.window;
        const conv::tap p = tap_of(k);
        return tfr_load(
            w[((group * t.conv.filters + p.channel) * M + m) * (int)t.conv.taps.d +
              (down.tap + p.row * v.stride[0]) * v.kernel[1] + right.tap + p.across * v.stride[1]]);
    }
    __device__ float b(const column &from, int k) const
    {
        const tfr_window &v = t.conv.window;
        const conv::tap p = tap_of(k);
        const int row = from.row - p.row * t.step[0], across = from.across - p.across * t.step[1];
        if (row < 0 || row >= v.y[0] || across < 0 || across >= v.y[1])
            return 0;
        return tfr_load(x[from.first + p.channel * (int)t.conv.y_plane.d + row * v.y[1] + across]);
    }
    __device__ void put(int m, int n, float sum) const
    {
        const tfr_window &v = t.conv.window;
        const conv::place p = conv::place_of(n, t.u_plane, t.u_row);
        const int row = p.row * v.stride[0] + first(v, 0, down), filter = group * M + m;
        const int across = p.across * v.stride[1] + first(v, 1, right);
        if (row >= v.x[0] || across >= v.x[1])
            return;
        if (bias)
            sum += tfr_load(bias[filter]);
        y[(p.sample * t.conv.groups * M + filter) * (int)t.conv.x_plane.d + row * v.x[1] + across] =
            tfr_store<T>::of(sum);
    }
};

template <class T>
__device__ inline void run(TFR_PTR(const T) x, TFR_PTR(const T) w, TFR_PTR(const T) bias,
                           TFR_PTR(T) y, const tfr_transposed &t)
{
    const tfr_conv &c = t.conv;
    const int M = c.channels, N = c.batch * (int)t.u_plane.d, number = (int)blockIdx.x;
    const int across = (N + 63) / 64, down = (M + 63) / 64;
    const int group = number / across / down % c.groups, p = number / across / down / c.groups;
    operands<T> o = {t,
                     x,
                     w,
                     bias,
                     y,
                     phase(c.window, 0, p / t.phase[1]),
                     phase(c.window, 1, p % t.phase[1]),
                     group,
                     M,
                     N,
                     0,
                     0};
    /* none where the kernel is smaller than the stride, for some phases */
    o.k_end = c.filters * (c.window.kernel[0] / c.window.stride[0] + o.down.is_more) *
              (c.window.kernel[1] / c.window.stride[1] + o.right.is_more);
    tfr_tile<64>(o, number / across % down, number % across);
}

template <class T>
__device__ inline void run_dilated(TFR_PTR(const T) x, TFR_PTR(const T) w, TFR_PTR(const T) bias,
                                   TFR_PTR(T) y, const tfr_conv &c)
{
    const int M = c.channels, N = c.batch * (int)c.x_plane.d;
    const int across = (N + 63) / 64, down = (M + 63) / 64, number = (int)blockIdx.x;
    const with_bias<T> o = {
        {c, x, w, y, number / across / down, M, N, 0, c.filters * (int)c.taps.d}, bias};
    tfr_tile<64>(o, number / across % down, number % across);
}

template <class T>
__device__ inline void add_bias(TFR_PTR(const T) bias, TFR_PTR(T) y, int n,
                                const tfr_divisor &plane, const tfr_divisor &channels)
{
    for (int i = tfr_thread(); i < n; i += tfr_threads()) {
        const int above = tfr_divide(i, plane);
        const int c = above - tfr_divide(above, channels) * (int)channels.d;
        y[i] = tfr_store<T>::of(tfr_load(y[i]) + tfr_load(bias[c]));
    }
}

} // namespace conv_transpose

#define CONV_TRANSPOSE(type, T)                                                                    \
    TFR_GLOBAL(conv_transpose_##type, 256,                                                         \
               (TFR_PTR(const T) x, TFR_PTR(const T) w, TFR_PTR(const T) bias, TFR_PTR(T) y,       \
                tfr_transposed t))                                                                 \
    {                                                                                              \
        conv_transpose::run<T>(x, w, bias, y, t);                                                  \
    }                                                                                              \
    TFR_GLOBAL(                                                                                    \
        conv_transpose_dilated_##type, 256,                                                        \
        (TFR_PTR(const T) x, TFR_PTR(const T) w, TFR_PTR(const T) bias, TFR_PTR(T) y, tfr_conv c)) \
    {                                                                                              \
        conv_transpose::run_dilated<T>(x, w, bias, y, c);                                          \
    }                                                                                              \
    TFR_GLOBAL(                                                                                    \
        conv_transpose_bias_##type, 256,                                                           \
        (TFR_PTR(const T) bias, TFR_PTR(T) y, int32_t n, tfr_divisor plane, tfr_divisor channels)) \
    {                                                                                              \
        conv_transpose::add_bias<T>(bias, y, n, plane, channels);                                  \
    }

CONV_TRANSPOSE(f32, float)
CONV_TRANSPOSE(f16, tfr_f16)
CONV_TRANSPOSE(bf16, tfr_bf16)
#undef CONV_TRANSPOSE
