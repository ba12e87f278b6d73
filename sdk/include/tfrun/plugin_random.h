/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/plugin_random.h: random numbers; included by tfrun/plugin.h.
 *
 * All backends draw the same numbers, whatever the order and the threads in which they compute the
 * elements, and a training that goes on from a checkpoint draws those that it would have drawn. So
 * there is one generator, a function of a key and a counter without a state of its own:
 * Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011. It gives
 * blocks of 4 words of 32 bits.
 *
 *   key      = seed, low word first
 *   counter  = block low word, block high word + (replica << 16), subsequence + pass * 0x9E3779B9,
 *              low word of step
 *
 * where seed, step, pass and replica are of tfr_random_state, subsequence is of the call, and block
 * follows from the number i of the output's element:
 *
 *   uniform in [0, 1), float64:          words a, b = 2 (i % 2) and the next one of block i / 2;
 *                                        ((a << 21) + (b >> 11)) 2^-53
 *   uniform in [0, 1), any other type:   word i % 4 of block i / 4; (word >> 8) 2^-24
 *   normal, mean 0 and deviation 1:      words a, b = 2 (i % 4 / 2) and the next one of block i /
 * 4; u = (a + 1) 2^-32, v = b 2^-32; sqrt(-2 ln u) cos(2 pi v) if i is even, else sin (Box and
 * Muller 1958)
 *
 * An op with an attribute seed draws with that as its seed (a float's bits as a number) and
 * subsequence 0; step and pass are 0 as well, so that all runs draw the same, but for Dropout.
 */
#ifndef TFRUN_PLUGIN_RANDOM_H
#define TFRUN_PLUGIN_RANDOM_H

#include <tfrun/plugin_types.h>

/*
 * What the numbers of a launch are drawn from, in memory of space 0: captured launches read it
 * anew. The core writes it in the order of the queue, before the launch.
 */
typedef struct tfr_random_state {
    uint64_t seed;    /* of the session */
    uint64_t step;    /* runs before this one */
    uint32_t pass;    /* in a body of control flow: which pass through bodies it is, from 1 */
    uint32_t replica; /* of a training on several devices; 0 = the only one */
} tfr_random_state;

#ifdef __CUDACC__
#define TFR_ANY_INLINE __host__ __device__ static inline
#else
#define TFR_ANY_INLINE static inline
#endif

TFR_ANY_INLINE void tfr_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4])
{
    uint32_t k0 = key[0], k1 = key[1];
    int round, i;
    for (i = 0; i < 4; i++)
        out[i] = counter[i];
    for (round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * out[0], p1 = (uint64_t)0xCD9E8D57u * out[2];
        out[0] = (uint32_t)(p1 >> 32) ^ out[1] ^ k0;
        out[1] = (uint32_t)p1;
        out[2] = (uint32_t)(p0 >> 32) ^ out[3] ^ k1;
        out[3] = (uint32_t)p0;
        k0 += 0x9E3779B9u; /* golden ratio */
        k1 += 0xBB67AE85u; /* sqrt(3) - 1 */
    }
}

TFR_ANY_INLINE void tfr_random_block(const tfr_random_state *state, uint32_t subsequence,
                                     uint64_t block, uint32_t out[4])
{
    uint32_t key[2], counter[4];
    key[0] = (uint32_t)state->seed;
    key[1] = (uint32_t)(state->seed >> 32);
    counter[0] = (uint32_t)block;
    counter[1] = (uint32_t)(block >> 32) + (state->replica << 16);
    counter[2] = subsequence + state->pass * 0x9E3779B9u;
    counter[3] = (uint32_t)state->step;
    tfr_philox(key, counter, out);
}

#endif
