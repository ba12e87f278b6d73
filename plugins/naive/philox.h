/* SPDX-License-Identifier: Apache-2.0 */
/*
 * philox.h: the random numbers of the naive backend. Philox 4x32-10 (Salmon et al., "Parallel
 * random numbers: as easy as 1, 2, 3", SC 2011) is a function of a key and a counter, so that
 * element i has its number whatever the order of the elements. Key: attribute seed, or without one
 * a number that each prepared kernel gets. Counter: the element, and the session's run.
 */
#ifndef NAIVE_PHILOX_H
#define NAIVE_PHILOX_H

#include "naive.h"

typedef struct naive_random {
    uint32_t key[2];
    uint32_t run[2];
} naive_random;

/* The prepare slot of an op that draws. */
int32_t naive_random_prepare(naive_kernel *kernel, tfr_err *err);

/* each_run: runs differ with a seed, too. */
naive_random naive_random_start(const naive_kernel *kernel, const tfr_launch *launch,
                                bool each_run);

void naive_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]);

/* Number i of the launch, uniform in [0, 1): a multiple of 2^-24 (2^-53 if dtype is float64), so
 * that it is exact in float32. */
double naive_random_uniform(const naive_random *r, int64_t i, int32_t dtype);
/* Number i of the launch, normal with mean 0 and deviation 1. */
double naive_random_normal(const naive_random *r, int64_t i);

#endif
