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

} // namespace conv

#endif
