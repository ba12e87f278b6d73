/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random.h: rows of random words for data: what is drawn for a sample or an epoch is a function of
 * its numbers alone, so that there is no generator whose state must be kept.
 */
#ifndef TFR_NN_DATA_RANDOM_H
#define TFR_NN_DATA_RANDOM_H

#include <tfrun/plugin.h>

/* What the words are for: no two purposes draw the same ones. Never change the numbers. */
enum {
    TFR__DRAW_ORDER = 0x4f524445,   /* of an epoch */
    TFR__DRAW_AUGMENT = 0x41554754, /* (epoch, index) */
    TFR__DRAW_DIGITS = 0x44494749   /* (split, index) */
};

typedef struct tfr__draw {
    uint32_t key[2], counter[4], words[4];
    uint32_t left; /* of words */
} tfr__draw;

/* a is 32 bits of the counter, b 64 of which the lower 48 are used. */
static inline tfr__draw tfr__draw_begin(uint64_t seed, uint32_t purpose, uint32_t a, uint64_t b)
{
    tfr__draw d = {.key = {(uint32_t)seed, (uint32_t)(seed >> 32) ^ purpose}};
    d.counter[1] = (uint32_t)(b >> 32) << 16;
    d.counter[2] = (uint32_t)b;
    d.counter[3] = a;
    return d;
}

static inline uint32_t tfr__draw_word(tfr__draw *d)
{
    if (!d->left) {
        tfr_philox(d->key, d->counter, d->words);
        d->counter[1] += !++d->counter[0];
        d->left = 4;
    }
    return d->words[4 - d->left--];
}

/* 0 to n - 1, evenly but for n / 2^32. */
static inline uint32_t tfr__draw_below(tfr__draw *d, uint32_t n)
{
    return (uint32_t)((uint64_t)tfr__draw_word(d) * n >> 32);
}

/* [low, high) in steps of 2^-24 of the range. */
static inline float tfr__draw_float(tfr__draw *d, float low, float high)
{
    return low + (high - low) * ((float)(tfr__draw_word(d) >> 8) * 0x1p-24f);
}

#endif
