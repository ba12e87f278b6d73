/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_transpose.cu: ConvTranspose over one or two axes as implicit products, by tile.h.
 *
 *   conv_transpose_S_T          with a stride an output meets only some of the taps: all of a phase
 *                               meet the same ones, so that each phase is a product of its own,
 *                               over these alone, where one product over all taps would mostly
 *                               add 0; products are numbered by phase, then group
 *   conv_transpose_dilated_S_T  that product over all taps, for strides and dilations on one axis
 *   conv_transpose_bias_T       adds the bias to what a library has computed without
 *
 * S is the side of the tiles.
 */
#include "conv.h"

namespace conv_transpose
{

template <class T> struct with_bias : conv::input<T> {
    TFR_PTR(const T) bias;

    __device__ void put(int out, int m, int n, float sum) const
    {
        conv::input<T>::put(out, m, n,
                            bias ? sum + tfr_load(bias[this->group * this->M + m]) : sum);
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
    int group, M, N, a_row;
    static constexpr bool a_by_k = false, b_by_k = false, has_table = true, has_columns = false;

    /* The first output of the phase. */
    __device__ static int first(const tfr_window &v, int d, const phase &p)
    {
        return p.input * v.stride[d] + p.tap - v.pad[d];
    }
    /* The channels of the sample, and the input under the first tap. */
    __device__ tfr_spot column(int n) const
    {
        const conv::place p = conv::place_of(n, t.u_plane, t.u_row);
        return {0, (p.sample * t.conv.groups + group) * t.conv.filters * (int)t.conv.y_plane.d,
                p.row + down.input, p.across + right.input};
    }
    /* Channels follow each other in the sum, under one tap after the other. */
    __device__ tfr_spot step(int k) const
    {
        const tfr_window &v = t.conv.window;
        const int n = tfr_divide(k, t.conv.filters_d), channel = k - n * (int)t.conv.filters_d.d;
        const int row = tfr_divide(n, t.taps_row[right.is_more]);
        const int across = n - row * (int)t.taps_row[right.is_more].d;
        return {(group * t.conv.filters + channel) * M * (int)t.conv.taps.d +
                    (down.tap + row * v.stride[0]) * v.kernel[1] + right.tap + across * v.stride[1],
                channel * (int)t.conv.y_plane.d, -row * t.step[0], -across * t.step[1]};
    }
    __device__ float a(int at) const
    {
        return tfr_load(w[at]);
    }
    __device__ float b(const tfr_spot &column, const tfr_spot &step, bool is_there) const
    {
        const tfr_window &v = t.conv.window;
        const int row = column.row + step.row, across = column.across + step.across;
        const bool is_inside =
            is_there & ((unsigned)row < (unsigned)v.y[0]) & ((unsigned)across < (unsigned)v.y[1]);
        return is_inside ? tfr_load(x[column.b + step.b + row * v.y[1] + across]) : 0;
    }
    /* -1: the phase has one output less. */
    __device__ int out(int n) const
    {
        const tfr_window &v = t.conv.window;
        const conv::place p = conv::place_of(n, t.u_plane, t.u_row);
        const int row = p.row * v.stride[0] + first(v, 0, down);
        const int across = p.across * v.stride[1] + first(v, 1, right);
        if (row >= v.x[0] || across >= v.x[1])
            return -1;
        return (p.sample * t.conv.groups + group) * M * (int)t.conv.x_plane.d + row * v.x[1] +
               across;
    }
    __device__ void put(int out, int m, int, float sum) const
    {
        if (out < 0)
            return;
        if (bias)
            sum += tfr_load(bias[group * M + m]);
        y[out + m * (int)t.conv.x_plane.d] = tfr_store<T>::of(sum);
    }
};

template <class T, int S>
__device__ inline void run(TFR_PTR(const T) x, TFR_PTR(const T) w, TFR_PTR(const T) bias,
                           TFR_PTR(T) y, const tfr_transposed &t)
{
    const tfr_conv &c = t.conv;
    const tfr_window &v = c.window;
    tfr_part p = tfr_part_of<S>(c.tiling, 0);
    const int number = p.outer / c.groups, group = p.outer - number * c.groups;
    const phase down(v, 0, number / t.phase[1]), right(v, 1, number % t.phase[1]);
    const operands<T> o = {t,
                           x,
                           w,
                           bias,
                           y,
                           down,
                           right,
                           group,
                           c.channels,
                           c.batch * (int)t.u_plane.d,
                           (int)c.taps.d};
    /* none where the kernel is smaller than the stride, for some phases */
    tfr_cut<S>(c.tiling,
               c.filters * (v.kernel[0] / v.stride[0] + down.is_more) *
                   (v.kernel[1] / v.stride[1] + right.is_more),
               &p);
    tfr_tile<S>(o, p, c.tiling);
}

template <class T, int S>
__device__ inline void run_dilated(TFR_PTR(const T) x, TFR_PTR(const T) w, TFR_PTR(const T) bias,
                                   TFR_PTR(T) y, const tfr_conv &c)
{
    const tfr_part p = tfr_part_of<S>(c.tiling, c.filters * (int)c.taps.d);
    const with_bias<T> o = {
        {c, x, w, y, p.outer, c.channels, c.batch * (int)c.x_plane.d, (int)c.taps.d}, bias};
    tfr_tile<S>(o, p, c.tiling);
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

#define CONV_TRANSPOSE(type, T, S)                                                                 \
    TFR_GLOBAL(conv_transpose_##S##_##type, TFR_MORE_REGISTERS(tfr_shape<S>::threads),             \
               (TFR_PTR(const T) x, TFR_PTR(const T) w, TFR_PTR(const T) bias, TFR_PTR(T) y,       \
                tfr_transposed t))                                                                 \
    {                                                                                              \
        conv_transpose::run<T, S>(x, w, bias, y, t);                                               \
    }                                                                                              \
    TFR_GLOBAL(                                                                                    \
        conv_transpose_dilated_##S##_##type, TFR_MORE_REGISTERS(tfr_shape<S>::threads),            \
        (TFR_PTR(const T) x, TFR_PTR(const T) w, TFR_PTR(const T) bias, TFR_PTR(T) y, tfr_conv c)) \
    {                                                                                              \
        conv_transpose::run_dilated<T, S>(x, w, bias, y, c);                                       \
    }
#define CONV_TRANSPOSES(type, T)                                                                   \
    CONV_TRANSPOSE(type, T, 64)                                                                    \
    CONV_TRANSPOSE(type, T, 16)                                                                    \
    TFR_GLOBAL(                                                                                    \
        conv_transpose_bias_##type, 256,                                                           \
        (TFR_PTR(const T) bias, TFR_PTR(T) y, int32_t n, tfr_divisor plane, tfr_divisor channels)) \
    {                                                                                              \
        conv_transpose::add_bias<T>(bias, y, n, plane, channels);                                  \
    }

CONV_TRANSPOSES(f32, float)
CONV_TRANSPOSES(f16, tfr_f16)
CONV_TRANSPOSES(bf16, tfr_bf16)
#undef CONV_TRANSPOSES
#undef CONV_TRANSPOSE
