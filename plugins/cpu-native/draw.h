/* SPDX-License-Identifier: Apache-2.0 */
/*
 * draw.h: random numbers of tfrun/plugin_random.h, some blocks at a time, for random.c. isa_draw.h
 * has the loops.
 */
#ifndef NATIVE_DRAW_H
#define NATIVE_DRAW_H

#include <stdint.h>

enum { NATIVE_DRAW_BLOCKS = 32, NATIVE_DRAWN = 4 * NATIVE_DRAW_BLOCKS /* words */ };

/* The key, and the counter of the first block. */
typedef struct native_draw {
    uint32_t key[2];
    uint64_t block;
    uint32_t high; /* is added to the high word of the block */
    uint32_t c, d; /* the words behind it */
} native_draw;

typedef struct native_draw_table {
    void (*words)(const native_draw *draw, uint32_t *to); /* in the order of elements */
    /* Numbers of as many words: low + range u, and mean + scale z. */
    void (*uniform)(const uint32_t *words, double low, double range, float *to);
    void (*normal)(const uint32_t *words, double mean, double scale, float *to);
} native_draw_table;

#endif
