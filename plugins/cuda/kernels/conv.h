/* SPDX-License-Identifier: Apache-2.0 */
/* conv.h: what the implicit products of convolutions share: from the number of a column to its
 * place in a plane, from a step of the sum to its tap. */
#ifndef TFR_CUDA_CONV_H
#define TFR_CUDA_CONV_H

#include "index.h"

namespace conv
{

/* What an element of a column has in common: the sample, and the place in its plane. */
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
    int group, M, N, k_begin, k_end;
    static constexpr bool a_by_k = false;

    __device__ place at(int n) const
    {
        return place_of(n, c.x_plane, c.x_row);
    }
    __device__ float a(int m, int k) const
    {
        const int filter = tfr_divide(k, c.taps), t = k - filter * (int)c.taps.d;
        return tfr_load(w[((group * c.filters + filter) * M + m) * (int)c.taps.d + t]);
    }
    __device__ float b(const place &p, int k) const
    {
        const tfr_window &v = c.window;
        const tap t = tap_of(k, c);
        const int row = window_at(p.row + v.pad[0] - t.row * v.dilation[0], c.stride[0], v.y[0]);
        const int across =
            window_at(p.across + v.pad[1] - t.across * v.dilation[1], c.stride[1], v.y[1]);
        if (row < 0 || across < 0)
            return 0;
        return tfr_load(
            dy[((p.sample * c.groups + group) * c.filters + t.channel) * (int)c.y_plane.d +
               row * v.y[1] + across]);
    }
    __device__ void put(int m, int n, float sum) const
    {
        const int sample = tfr_divide(n, c.x_plane);
        dx[((sample * c.groups + group) * M + m) * (int)c.x_plane.d + n -
           sample * (int)c.x_plane.d] = tfr_store<T>::of(sum);
    }
};

} // namespace conv

#endif
