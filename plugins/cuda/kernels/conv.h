/* SPDX-License-Identifier: Apache-2.0 */
/* conv.h: what the implicit products of convolutions share: from the number of a column to its
 * place in a plane, from a step of the sum to its tap. */
#ifndef TFR_CUDA_CONV_H
#define TFR_CUDA_CONV_H

#include "tile.h"

namespace conv
{

/* A sample, and a place in its plane. */
struct place {
    int sample, row, across;
};

__device__ inline place place_of(int n, const tfr_divisor &plane, const tfr_divisor &row)
{
    place p;
    p.sample = tfr_divide(n, plane);
    n -= p.sample * (int)plane.d;
    p.row = tfr_divide(n, row);
    p.across = n - p.row * (int)row.d;
    return p;
}

struct tap {
    int channel, row, across;
};

__device__ inline tap tap_of(int k, const tfr_conv &c)
{
    tap t;
    t.channel = tfr_divide(k, c.taps);
    k -= t.channel * (int)c.taps.d;
    t.row = tfr_divide(k, c.kernel_row);
    t.across = k - t.row * (int)c.kernel_row.d;
    return t;
}

/* The product that the gradient of the input is, and a transposed convolution without a bias. */
template <class T> struct input {
    const tfr_conv &c;
    TFR_PTR(const T) dy;
    TFR_PTR(const T) w;
    TFR_PTR(T) dx;
    int group, M, N, a_row;
    static constexpr bool a_by_k = false, b_by_k = false, has_table = true, has_columns = false;

    __device__ tfr_spot step(int k) const
    {
        const tap t = tap_of(k, c);
        return {((group * c.filters + t.channel) * M - t.channel) * (int)c.taps.d + k,
                t.channel * (int)c.y_plane.d, -t.row * c.window.dilation[0],
                -t.across * c.window.dilation[1]};
    }
    __device__ tfr_spot column(int n) const
    {
        const place p = place_of(n, c.x_plane, c.x_row);
        return {0, (p.sample * c.groups + group) * c.filters * (int)c.y_plane.d,
                p.row + c.window.pad[0], p.across + c.window.pad[1]};
    }
    __device__ float a(int at) const
    {
        return tfr_load(w[at]);
    }
    __device__ float b(const tfr_spot &column, const tfr_spot &step, bool is_there) const
    {
        const tfr_window &v = c.window;
        const int down = column.row + step.row, right = column.across + step.across;
        const int row = tfr_divide(down, c.stride[0]), across = tfr_divide(right, c.stride[1]);
        const bool is_met = is_there & (down >= 0) & (row < v.y[0]) & (right >= 0) &
                            (across < v.y[1]) &
                            ((unsigned)row * (unsigned)v.stride[0] == (unsigned)down) &
                            ((unsigned)across * (unsigned)v.stride[1] == (unsigned)right);
        return is_met ? tfr_load(dy[column.b + step.b + row * v.y[1] + across]) : 0;
    }
    __device__ int out(int n) const
    {
        const int sample = tfr_divide(n, c.x_plane);
        return ((sample * c.groups + group) * M - sample) * (int)c.x_plane.d + n;
    }
    __device__ void put(int out, int m, int, float sum) const
    {
        dx[out + m * (int)c.x_plane.d] = tfr_store<T>::of(sum);
    }
};

} // namespace conv

#endif
