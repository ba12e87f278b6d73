/* SPDX-License-Identifier: Apache-2.0 */
/* Philox 4x32-10 and the distributions drawn from it; see philox.h. */
#include "philox.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

int32_t naive_random_prepare(naive_kernel *kernel, tfr_err *err)
{
    static atomic_uint_fast64_t kernels;
    uint64_t *number = naive_keep(kernel, sizeof(*number));

    if (!number)
        return tfr_fail(err, TFR_ENOMEM, "no memory for the random state of %s", kernel->op->name);
    *number = atomic_fetch_add(&kernels, 1) + 1;
    kernel->state = number;
    return TFR_OK;
}

naive_random naive_random_start(const naive_kernel *kernel, const tfr_launch *launch, bool each_run)
{
    const tfr_attr *seed = tfr_call_attr(&kernel->call, "seed");
    const uint64_t *number = kernel->state;
    naive_random r = {{0, 0}, {0, 0}};
    uint64_t bits = 0;

    if (seed && seed->type == TFR_ATTR_INT && seed->n == 1)
        bits = (uint64_t)seed->ints[0];
    else if (seed && seed->type == TFR_ATTR_FLOAT && seed->n == 1)
        memcpy(&bits, seed->floats, sizeof(float));
    else
        bits = ~*number;
    r.key[0] = (uint32_t)bits;
    r.key[1] = (uint32_t)(bits >> 32);
    if (!seed || each_run) {
        r.run[0] = (uint32_t)launch->run;
        r.run[1] = (uint32_t)(launch->run >> 32);
    }
    return r;
}

void naive_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4])
{
    uint32_t k0 = key[0], k1 = key[1], c0 = counter[0], c1 = counter[1], c2 = counter[2],
             c3 = counter[3];
    int round;

    for (round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53 * c0, p1 = (uint64_t)0xCD9E8D57 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9; /* golden ratio */
        k1 += 0xBB67AE85; /* sqrt(3) - 1 */
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

static void draw(const naive_random *r, int64_t i, uint32_t out[4])
{
    uint32_t counter[4] = {(uint32_t)i, (uint32_t)((uint64_t)i >> 32), r->run[0], r->run[1]};

    naive_philox(r->key, counter, out);
}

double naive_random_uniform(const naive_random *r, int64_t i, int32_t dtype)
{
    uint32_t w[4];

    draw(r, i, w);
    if (dtype == TFR_DTYPE_F64)
        return (double)((uint64_t)w[0] << 21 | w[1] >> 11) * 0x1p-53;
    return (w[0] >> 8) * 0x1p-24;
}

/* Box and Muller 1958. The first uniform is in (0, 1], so that its logarithm is finite. */
double naive_random_normal(const naive_random *r, int64_t i)
{
    uint32_t w[4];
    double u, v;

    draw(r, i, w);
    u = ((double)w[0] + 1) * 0x1p-32;
    v = w[1] * 0x1p-32;
    return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v);
}
