/* SPDX-License-Identifier: Apache-2.0 */
/* philox.c: where a launch's random numbers begin, and the two distributions; see philox.h. */
#include "philox.h"

#include <math.h>
#include <string.h>

naive_random naive_random_start(const naive_kernel *kernel, const tfr_launch *launch, bool each_run)
{
    const tfr_attr *seed = tfr_call_attr(&kernel->call, "seed");
    const tfr_random_state *state = launch->random;
    naive_random r = {*state, kernel->call.subsequence};

    if (!seed)
        return r;
    r.subsequence = 0;
    r.state.seed = 0;
    if (seed->type == TFR_ATTR_INT && seed->n == 1)
        r.state.seed = (uint64_t)seed->ints[0];
    else if (seed->type == TFR_ATTR_FLOAT && seed->n == 1)
        memcpy(&r.state.seed, seed->floats, sizeof(float));
    if (!each_run) {
        r.state.step = 0;
        r.state.pass = 0;
    }
    return r;
}

double naive_random_uniform(const naive_random *r, int64_t i, int32_t dtype)
{
    const uint64_t element = (uint64_t)i;
    uint32_t w[4];

    if (dtype == TFR_DTYPE_F64) {
        tfr_random_block(&r->state, r->subsequence, element / 2, w);
        return (double)((uint64_t)w[element % 2 * 2] << 21 | w[element % 2 * 2 + 1] >> 11) *
               0x1p-53;
    }
    tfr_random_block(&r->state, r->subsequence, element / 4, w);
    return (w[element % 4] >> 8) * 0x1p-24;
}

double naive_random_normal(const naive_random *r, int64_t i)
{
    const uint64_t element = (uint64_t)i;
    const uint32_t pair = (uint32_t)(element % 4 / 2 * 2);
    uint32_t w[4];
    double length, angle;

    tfr_random_block(&r->state, r->subsequence, element / 4, w);
    length = sqrt(-2 * log(((double)w[pair] + 1) * 0x1p-32));
    angle = 2 * 3.14159265358979323846 * (w[pair + 1] * 0x1p-32);
    return length * (element % 2 ? sin(angle) : cos(angle));
}
