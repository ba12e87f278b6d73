/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa_draw.h: the loops of draw.h, a part of isa_kernels.h: plain C that compilers turn into
 * vectors. Results are those of the formulas in tfrun/plugin_random.h with the functions of the C
 * library, to the bit: normal numbers are computed by the functions of isa_functions.h, which are
 * within 1e-11 of these, and once more by the formula where ten times that might round otherwise.
 */
#include "draw.h"

static void draw_words(const native_draw *draw, uint32_t *to)
{
    uint32_t a[NATIVE_DRAW_BLOCKS], b[NATIVE_DRAW_BLOCKS];
    uint32_t c[NATIVE_DRAW_BLOCKS], d[NATIVE_DRAW_BLOCKS];
    uint32_t k0 = draw->key[0], k1 = draw->key[1];
    int round, i;

    for (i = 0; i < NATIVE_DRAW_BLOCKS; i++) {
        const uint64_t block = draw->block + (uint64_t)i;
        a[i] = (uint32_t)block;
        b[i] = (uint32_t)(block >> 32) + draw->high;
        c[i] = draw->c;
        d[i] = draw->d;
    }
    for (round = 0; round < 10; round++) {
        for (i = 0; i < NATIVE_DRAW_BLOCKS; i++) {
            const uint64_t p0 = (uint64_t)0xD2511F53u * a[i], p1 = (uint64_t)0xCD9E8D57u * c[i];
            a[i] = (uint32_t)(p1 >> 32) ^ b[i] ^ k0;
            b[i] = (uint32_t)p1;
            c[i] = (uint32_t)(p0 >> 32) ^ d[i] ^ k1;
            d[i] = (uint32_t)p0;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    for (i = 0; i < NATIVE_DRAW_BLOCKS; i++) {
        to[4 * i] = a[i];
        to[4 * i + 1] = b[i];
        to[4 * i + 2] = c[i];
        to[4 * i + 3] = d[i];
    }
}

static void draw_uniform(const uint32_t *words, double low, double range, float *to)
{
    int i;

    for (i = 0; i < NATIVE_DRAWN; i++)
        to[i] = (float)(low + range * ((double)(int32_t)(words[i] >> 8) * 0x1p-24));
}

/* By the bits of 2^52 + x. */
static inline double double_of_word(uint32_t x)
{
    const uint64_t bits = UINT64_C(0x4330000000000000) | x;
    double sum;

    memcpy(&sum, &bits, sizeof sum);
    return sum - 0x1p52;
}

static float normal_of(uint32_t a, uint32_t b, bool odd, double mean, double scale)
{
    const double length = sqrt(-2 * log(((double)a + 1) * 0x1p-32));
    const double angle = 2 * 3.14159265358979323846 * (b * 0x1p-32);

    return (float)(mean + scale * (length * (odd ? sin(angle) : cos(angle))));
}

static void draw_normal(const uint32_t *words, double mean, double scale, float *to)
{
    enum { PAIRS_OF = NATIVE_DRAWN / 2 };
    uint32_t a[PAIRS_OF], b[PAIRS_OF];
    float low[2][PAIRS_OF], high[2][PAIRS_OF];
    int i, k;

    for (i = 0; i < PAIRS_OF; i++) {
        a[i] = words[2 * i];
        b[i] = words[2 * i + 1];
    }
    for (i = 0; i < PAIRS_OF; i++) {
        const double u = (double_of_word(a[i]) + 1.0) * 0x1p-32;
        const double length = root(-2.0 * logarithm(u)), most = fabs(scale) * length * 1e-10;
        const double angle = 2 * 3.14159265358979323846 * (double_of_word(b[i]) * 0x1p-32);
        const double even = mean + scale * (length * cosine(angle));
        const double odd = mean + scale * (length * sine(angle));
        low[0][i] = (float)(even - most);
        high[0][i] = (float)(even + most);
        low[1][i] = (float)(odd - most);
        high[1][i] = (float)(odd + most);
    }
    for (i = 0; i < PAIRS_OF; i++) {
        for (k = 0; k < 2; k++)
            to[2 * i + k] = low[k][i] == high[k][i]
                                ? low[k][i]
                                : normal_of(words[2 * i], words[2 * i + 1], k == 1, mean, scale);
    }
}

static const native_draw_table draw_table = {draw_words, draw_uniform, draw_normal};
