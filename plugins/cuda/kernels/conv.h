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

/* o with o * stride = at, or -1 */
__device__ inline int window_at(int at, const tfr_divisor &stride, int dim)
{
    if (at < 0)
        return -1;
    const int o = tfr_divide(at, stride);
    return o < dim && o * (int)stride.d == at ? o : -1;
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
    __device__ float b(const tfr_spot &column, const tfr_spot &step) const
    {
        const tfr_window &v = c.window;
        const int row = window_at(column.row + step.row, c.stride[0], v.y[0]);
        const int across = window_at(column.across + step.across, c.stride[1], v.y[1]);
        if (row < 0 || across < 0)
            return 0;
        return tfr_load(dy[column.b + step.b + row * v.y[1] + across]);
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
