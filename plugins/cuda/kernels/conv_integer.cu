/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_integer.cu: ConvInteger and QLinearConv as implicit products of bytes, by tile_integer.h: Y
 * [filters, batch * y] = W [filters, channels * taps] * windows, whose padding is the zero point.
 * Block number: tiles across, tiles down, group.
 */
#include "conv.h"
#include "tile_integer.h"

namespace conv_bytes
{

template <class ending> struct operands {
    const tfr_conv &c;
    const tfr_integers &q;
    TFR_PTR(const uint8_t) w;
    TFR_PTR(const uint8_t) x;
    TFR_PTR(const uint8_t) w_zero;
    const ending &end;
    int group, x_zero;
    int M, N, K;

    __device__ conv::place at(int n) const
    {
        return conv::place_of(n, c.y_plane, c.y_row);
    }
    __device__ int a(int m, int k) const
    {
        return tfr_signed_byte(w, (group * M + m) * K + k, q.a_flip);
    }
    __device__ int b(const conv::place &p, int k) const
    {
        const tfr_window &v = c.window;
        const conv::tap t = conv::tap_of(k, c);
        const int row = p.row * v.stride[0] + t.row * v.dilation[0] - v.pad[0];
        const int across = p.across * v.stride[1] + t.across * v.dilation[1] - v.pad[1];
        if (row < 0 || row >= v.x[0] || across < 0 || across >= v.x[1])
            return x_zero;
        return tfr_signed_byte(x,
                               ((p.sample * c.groups + group) * c.channels + t.channel) * v.x[0] *
                                       v.x[1] +
                                   row * v.x[1] + across,
                               q.b_flip);
    }
    __device__ void put(int m, int n, int sum, int of_a, int of_b) const
    {
        const int sample = tfr_divide(n, c.y_plane), plane = (int)c.y_plane.d;
        const int f = group * M + m, zero = tfr_zero_point(w_zero, f * q.a_zeros, q.a_flip);
        end.put((sample * c.groups * M + f) * plane + n - sample * plane, f,
                tfr_without_zeros(sum, of_a, of_b, zero, x_zero, K));
    }
};

struct whole {
    TFR_PTR(int32_t) y;

    __device__ void put(int i, int, int sum) const
    {
        y[i] = sum;
    }
};

struct quantized {
    const tfr_integers &q;
    TFR_PTR(const float) x_scale;
    TFR_PTR(const float) w_scale;
    TFR_PTR(const float) y_scale;
    TFR_PTR(const uint8_t) y_zero;
    TFR_PTR(const int32_t) bias;
    TFR_PTR(uint8_t) y;

    __device__ void put(int i, int filter, int sum) const
    {
        const double scale =
            (double)x_scale[0] * (double)w_scale[filter * q.a_scales] / (double)y_scale[0];
        const double all = (double)sum + (bias ? (double)bias[filter] : 0);
        y[i] = tfr_requantize(all * scale, y_zero, q.y_signed != 0);
    }
};

template <class ending>
__device__ inline void run(TFR_PTR(const uint8_t) x, TFR_PTR(const uint8_t) x_zero,
                           TFR_PTR(const uint8_t) w, TFR_PTR(const uint8_t) w_zero,
                           const ending &end, const tfr_conv &c, const tfr_integers &q)
{
    constexpr int S = TFR_INTEGER_TILE;
    const int M = c.filters, N = c.batch * (int)c.y_plane.d, number = (int)blockIdx.x;
    const int across = (N + S - 1) / S, down = (M + S - 1) / S;
    const int zero = tfr_zero_point(x_zero, 0, q.b_flip);
    const operands<ending> o = {
        c, q, w, x, w_zero, end, number / across / down, zero, M, N, c.channels * (int)c.taps.d};
    tfr_tile_integer(o, number / across % down, number % across);
}

} // namespace conv_bytes

TFR_GLOBAL(conv_integer, 256,
           (TFR_PTR(const uint8_t) x, TFR_PTR(const uint8_t) x_zero, TFR_PTR(const uint8_t) w,
            TFR_PTR(const uint8_t) w_zero, TFR_PTR(int32_t) y, tfr_conv c, tfr_integers q))
{
    conv_bytes::run(x, x_zero, w, w_zero, conv_bytes::whole{y}, c, q);
}

TFR_GLOBAL(qlinear_conv, 256,
           (TFR_PTR(const uint8_t) x, TFR_PTR(const float) x_scale, TFR_PTR(const uint8_t) x_zero,
            TFR_PTR(const uint8_t) w, TFR_PTR(const float) w_scale, TFR_PTR(const uint8_t) w_zero,
            TFR_PTR(const float) y_scale, TFR_PTR(const uint8_t) y_zero,
            TFR_PTR(const int32_t) bias, TFR_PTR(uint8_t) y, tfr_conv c, tfr_integers q))
{
    const conv_bytes::quantized end = {q, x_scale, w_scale, y_scale, y_zero, bias, y};
    conv_bytes::run(x, x_zero, w, w_zero, end, c, q);
}
