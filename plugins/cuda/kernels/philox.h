/* SPDX-License-Identifier: Apache-2.0 */
/*
 * philox.h: random numbers of kernels, the same as those of all other backends: tfrun/
 * plugin_random.h says which.
 */
#ifndef TFR_CUDA_PHILOX_H
#define TFR_CUDA_PHILOX_H

#include "args.h"
#include "hw.h"

#include <tfrun/plugin_random.h>

/* The state that a launch draws from: of the session, or of the call's own seed. */
__device__ inline tfr_random_state tfr_draw_state(TFR_PTR(const tfr_random_state) session,
                                                  const tfr_draw &draw, uint32_t *subsequence)
{
    tfr_random_state state = session[0];

    *subsequence = draw.subsequence;
    if (draw.has_seed) {
        *subsequence = 0;
        state.seed = draw.seed;
        if (!draw.each_run)
            state.step = state.pass = 0;
    }
    return state;
}

__device__ inline float tfr_to_uniform(uint32_t word)
{
    return (float)(word >> 8) * 0x1p-24f;
}

/* Element 0 or 1 of a pair, from its two words; in double, so that the bits are the same. */
__device__ inline double tfr_to_normal(uint32_t a, uint32_t b, bool second)
{
    const double length = sqrt(-2 * log(((double)a + 1) * 0x1p-32));
    const double angle = 2 * 3.14159265358979323846 * ((double)b * 0x1p-32);

    return length * (second ? sin(angle) : cos(angle));
}

#endif
