/* SPDX-License-Identifier: Apache-2.0 */
/*
 * philox.h: the random numbers of the naive backend, element by element, as tfrun/plugin_random.h
 * defines them.
 */
#ifndef NAIVE_PHILOX_H
#define NAIVE_PHILOX_H

#include "naive.h"

typedef struct naive_random {
    tfr_random_state state;
    uint32_t subsequence;
} naive_random;

/* each_run: runs differ with an attribute seed, too. */
naive_random naive_random_start(const naive_kernel *kernel, const tfr_launch *launch,
                                bool each_run);

/* Number i of the launch, uniform in [0, 1): a multiple of 2^-24 (2^-53 if dtype is float64), so
 * that it is exact in float32. */
double naive_random_uniform(const naive_random *r, int64_t i, int32_t dtype);
/* Number i of the launch, normal with mean 0 and deviation 1. */
double naive_random_normal(const naive_random *r, int64_t i);

#endif
