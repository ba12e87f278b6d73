/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int8_turn.c: transposes bytes by blocks of 16 x 16, which are 64 instructions of SSE2, and int32
 * by blocks that stay in the cache. Three rows, as the colours of an image, become pixels of three
 * bytes, two of them stored with two bytes more that the next ones replace.
 */
#include "int8_turn.h"

#include <string.h>

enum { BLOCK = 16 };

#if defined(__SSE2__)
#include <immintrin.h>

/*
 * Four times the same step: row i of the first half woven with row i of the second one, which moves
 * one bit of a byte's row number behind its column number.
 */
static void turn_block(const uint8_t *from, int64_t from_step, uint8_t *to, int64_t to_step)
{
    __m128i x[BLOCK], y[BLOCK];
    int i, step;

    for (i = 0; i < BLOCK; i++)
        x[i] = _mm_loadu_si128((const __m128i *)(const void *)(from + i * from_step));
    for (step = 0; step < 2; step++) {
        for (i = 0; i < BLOCK / 2; i++) {
            y[2 * i] = _mm_unpacklo_epi8(x[i], x[i + BLOCK / 2]);
            y[2 * i + 1] = _mm_unpackhi_epi8(x[i], x[i + BLOCK / 2]);
        }
        for (i = 0; i < BLOCK / 2; i++) {
            x[2 * i] = _mm_unpacklo_epi8(y[i], y[i + BLOCK / 2]);
            x[2 * i + 1] = _mm_unpackhi_epi8(y[i], y[i + BLOCK / 2]);
        }
    }
    for (i = 0; i < BLOCK; i++)
        _mm_storeu_si128((__m128i *)(void *)(to + i * to_step), x[i]);
}

static void weave_block(const uint8_t *a, const uint8_t *b, uint8_t *to)
{
    const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)a);
    const __m128i y = _mm_loadu_si128((const __m128i *)(const void *)b);

    _mm_storeu_si128((__m128i *)(void *)to, _mm_unpacklo_epi8(x, y));
    _mm_storeu_si128((__m128i *)(void *)(to + BLOCK), _mm_unpackhi_epi8(x, y));
}

/* Four pixels of three bytes and one that is 0: 12 bytes, and two more behind them. */
static inline void store_4(__m128i pixels, uint8_t *to)
{
    const __m128i first = _mm_and_si128(pixels, _mm_set1_epi64x(0xffffff));
    const __m128i two = _mm_or_si128(first, _mm_slli_epi64(_mm_srli_epi64(pixels, 32), 24));

    _mm_storel_epi64((__m128i *)(void *)to, two);
    _mm_storel_epi64((__m128i *)(void *)(to + 6), _mm_unpackhi_epi64(two, two));
}

/* How many columns are done: the last one is not, since behind it nothing may be written. */
static int64_t turn_3(const uint8_t *from, int64_t from_step, int64_t columns, uint8_t *to)
{
    const __m128i zero = _mm_setzero_si128();
    int64_t c;

    for (c = 0; c + BLOCK < columns; c += BLOCK, to += 3 * BLOCK) {
        __m128i x[3];
        for (int i = 0; i < 3; i++)
            x[i] = _mm_loadu_si128((const __m128i *)(const void *)(from + i * from_step + c));
        const __m128i low = _mm_unpacklo_epi8(x[0], x[1]), high = _mm_unpackhi_epi8(x[0], x[1]);
        const __m128i low_z = _mm_unpacklo_epi8(x[2], zero), high_z = _mm_unpackhi_epi8(x[2], zero);
        store_4(_mm_unpacklo_epi16(low, low_z), to);
        store_4(_mm_unpackhi_epi16(low, low_z), to + 12);
        store_4(_mm_unpacklo_epi16(high, high_z), to + 24);
        store_4(_mm_unpackhi_epi16(high, high_z), to + 36);
    }
    return c;
}
#else
static int64_t turn_3(const uint8_t *from, int64_t from_step, int64_t columns, uint8_t *to)
{
    (void)from;
    (void)from_step;
    (void)columns;
    (void)to;
    return 0;
}

static void weave_block(const uint8_t *a, const uint8_t *b, uint8_t *to)
{
    for (int i = 0; i < BLOCK; i++) {
        to[2 * i] = a[i];
        to[2 * i + 1] = b[i];
    }
}

static void turn_block(const uint8_t *from, int64_t from_step, uint8_t *to, int64_t to_step)
{
    for (int r = 0; r < BLOCK; r++)
        for (int c = 0; c < BLOCK; c++)
            to[c * to_step + r] = from[r * from_step + c];
}
#endif

/* Where a block begins: one at the end may have elements of the one in front of it, too. */
static int64_t begin_of(int64_t at, int64_t n)
{
    return at + BLOCK <= n || n < BLOCK ? at : n - BLOCK;
}

void native_int8_turn(const uint8_t *from, int64_t from_step, int64_t rows, int64_t columns,
                      uint8_t *to, int64_t to_step)
{
    const int64_t done = rows == 3 && to_step == 3 ? turn_3(from, from_step, columns, to) : 0;
    int64_t r, c, i, k;

    for (r = 0; r < rows; r += BLOCK)
        for (c = done; c < columns; c += BLOCK) {
            const int64_t row = begin_of(r, rows), column = begin_of(c, columns);
            const uint8_t *x = from + row * from_step + column;
            uint8_t *y = to + column * to_step + row;
            if (rows >= BLOCK && columns >= BLOCK) {
                turn_block(x, from_step, y, to_step);
                continue;
            }
            for (i = 0; i < BLOCK && row + i < rows; i++)
                for (k = 0; k < BLOCK && column + k < columns; k++)
                    y[k * to_step + i] = x[i * from_step + k];
        }
}

void native_int8_turn_sums(const int32_t *from, int64_t from_step, int64_t rows, int64_t columns,
                           int32_t *to, int64_t to_step)
{
    int64_t r, c, i, k;

    for (r = 0; r < rows; r += BLOCK)
        for (c = 0; c < columns; c += BLOCK)
            for (i = c; i < c + BLOCK && i < columns; i++)
                for (k = r; k < r + BLOCK && k < rows; k++)
                    to[i * to_step + k] = from[k * from_step + i];
}

void native_int8_weave(const uint8_t *a, const uint8_t *b, int64_t n, uint8_t *to)
{
    int64_t i;

    for (i = 0; i < n && n >= BLOCK; i += BLOCK) {
        const int64_t at = begin_of(i, n);
        weave_block(a + at, b + at, to + 2 * at);
    }
    for (i = 0; i < n && n < BLOCK; i++) {
        to[2 * i] = a[i];
        to[2 * i + 1] = b[i];
    }
}
