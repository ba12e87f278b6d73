/* SPDX-License-Identifier: Apache-2.0 */
/* int8_way_portable.c: products of 8-bit integers on every processor. */
#include "int8_way.h"

#define NR 16
#define HAS_WIDE
#include "int8_finish.h"

/* Two terms of a column lie beside each other. */
static void tile(const native_int8_tile *t)
{
    int row, i, j;
    int64_t g;

    for (row = 0; row < t->rows; row++) {
        const int16_t *a = (const int16_t *)(const void *)(t->a + row * t->a_step);
        int32_t sums[NR] = {0};
        for (g = 0; g < t->groups; g++) {
            const int8_t *b = t->b + g * 2 * NR;
            const int32_t first = a[2 * g], second = a[2 * g + 1];
            for (j = 0; j < NR; j++)
                sums[j] = (int32_t)((uint32_t)sums[j] +
                                    (uint32_t)(first * b[2 * j] + second * b[2 * j + 1]));
        }
        for (i = 0; i < NR; i++)
            t->sums[row * NR + i] = sums[i];
    }
}

static void depthwise(const native_int8_strip *s)
{
    int row, pair, j;

    for (row = 0; row < s->rows; row++) {
        const uint8_t *const *taps = s->taps + (int64_t)row * 2 * s->pairs;
        int32_t *sums = s->sums + row * NR;
        memset(sums, 0, NR * sizeof *sums);
        for (pair = 0; pair < s->pairs; pair++) {
            const uint8_t *x = taps[2 * pair] + s->channel;
            const uint8_t *y = taps[2 * pair + 1] + s->channel;
            const int16_t *w = s->weights + pair * s->weights_step;
            for (j = 0; j < NR; j++) {
                const int32_t first = s->is_signed ? (int8_t)x[j] : x[j];
                const int32_t second = s->is_signed ? (int8_t)y[j] : y[j];
                const int16_t *at = w + 2 * native_int8_place(j);
                sums[j] += first * at[0] + second * at[1];
            }
        }
    }
}

const native_int8_way native_int8_way_portable = {
    .name = "portable",
    .mr = 4,
    .nr = NR,
    .wide = true,
    .tile = tile,
    .finish = finish,
    .take = take_wide,
    .sum = sum_wide,
    .depthwise = depthwise,
};
