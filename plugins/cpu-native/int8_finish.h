/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int8_finish.h: what becomes of the sums of a tile, and the packing of rows of A, as plain loops
 * over NR columns that compilers make vectors of. Each way's file includes it once, with NR, and
 * with SUM_AVX2 if it may use AVX2, and FINISH_AVX2 if NR is 16, too.
 *
 * A result of 8 bits is the nearest integer to a product of doubles. float32 finds the same one
 * except next to a tie: its product is wrong by at most three roundings, 3 * 2^-24 of at most 511,
 * so what is farther than that from a tie is right, and the few others are computed in double.
 */
#include <math.h>
#include <string.h>

#include "int8_way.h"

#define ROUNDER 0x1.8p23f /* a sum with it has the nearest integer in its low bits */
enum { BITS_OF_ROUNDER = 0x4b400000, PIECE = 32, SMALL_PIECE = 8 };
#define SURE 0.4999f

#if defined(__clang__)
#define EACH_ALONE
#else
#define EACH_ALONE _Pragma("GCC ivdep")
#endif
#define EACH_COLUMN EACH_ALONE for (int j = 0; j < NR; j++)

/* ---- sums ---- */

static void read_sums(const native_int8_band *b, int row, int32_t *restrict to)
{
    const native_int8_columns *c = b->columns;
    const int32_t *s = b->sums + row * NR;

    EACH_COLUMN to[j] = (int32_t)((uint32_t)s[j] + (uint32_t)c->term[j]);
    if (b->row_terms) {
        const uint32_t term = (uint32_t)b->row_terms[row];
        EACH_COLUMN to[j] = (int32_t)((uint32_t)to[j] - term);
    }
    if (b->row_sums) {
        const uint32_t sum = (uint32_t)b->row_sums[row];
        EACH_COLUMN to[j] = (int32_t)((uint32_t)to[j] - sum * (uint32_t)c->zero[j]);
    }
    if (b->row_zeros) {
        const uint32_t zero = (uint32_t)b->row_zeros[row];
        EACH_COLUMN to[j] = (int32_t)((uint32_t)to[j] - zero * (uint32_t)c->sum[j]);
    }
}

/* ---- float32 ---- */

static void finish_f32(const native_int8_band *b, int row, const int32_t *restrict s,
                       float *restrict y)
{
    const native_int8_columns *c = b->columns;
    const native_int8_finish *f = b->finish;
    const float low = f->low_f, high = f->high_f;

    EACH_COLUMN y[j] = (float)s[j] * c->scale[j];
    if (b->row_scale) {
        const float scale = b->row_scale[row];
        EACH_COLUMN y[j] *= scale;
    }
    if (f->addend)
        EACH_COLUMN y[j] += c->addend[j];
    if (b->residual) {
        float r[NR] = {0};
        memcpy(r, b->residual + row * b->ldc, (size_t)b->cols * sizeof *r);
        EACH_COLUMN y[j] += r[j];
    }
    EACH_COLUMN
    {
        y[j] = y[j] < low ? low : y[j];
        y[j] = y[j] > high ? high : y[j];
    }
}

/* ---- 8 bits ---- */

static int32_t limited(double v, const native_int8_finish *f)
{
    v = nearbyint(v) + f->zero;
    v = v < f->low ? f->low : v > f->high ? f->high : v;
    return v == v ? (int32_t)v : 0;
}

/* The finished integers. */
static void finish_i8(const native_int8_band *b, const int32_t *restrict s, int32_t *restrict y)
{
    const native_int8_columns *c = b->columns;
    const native_int8_finish *f = b->finish;
    const float low = (float)(f->low - f->zero), high = (float)(f->high - f->zero);
    const int32_t shift = f->zero - BITS_OF_ROUNDER;
    int32_t unsure = f->bias_is_far;

    EACH_COLUMN
    {
        float v = (float)s[j] * c->scale[j], sum, rest;
        v = v < low ? low : v;
        v = v > high ? high : v;
        sum = v + ROUNDER;
        rest = fabsf(v - (sum - ROUNDER));
        memcpy(&y[j], &sum, sizeof sum);
        y[j] += shift;
        unsure |= !(rest <= SURE);
    }
    if (unsure)
        for (int j = 0; j < NR; j++)
            y[j] = limited(((double)s[j] + c->far_bias[j]) * c->rescale[j], f);
}

/* The addition of what is quantized, too. */
static void add_i8(const native_int8_band *b, int row, int32_t *restrict y)
{
    const native_int8_addition *t = b->finish->then;
    const float zero = (float)b->finish->zero, with_zero = (float)t->with_zero;
    const float low = (float)(t->low - t->sum_zero), high = (float)(t->high - t->sum_zero);
    const float scale = t->scale, with_scale = t->with_scale, sum_scale = t->sum_scale;
    const int32_t shift = t->sum_zero - BITS_OF_ROUNDER;
    uint8_t bytes[NR] = {0};
    float with[NR];

    memcpy(bytes, b->with + row * b->ldc, (size_t)b->cols);
    if (t->with_signed)
        EACH_COLUMN with[j] = (float)(int8_t)bytes[j];
    else
        EACH_COLUMN with[j] = (float)bytes[j];
    EACH_COLUMN
    {
        float v = ((float)y[j] - zero) * scale, w = (with[j] - with_zero) * with_scale, sum;
        v = v + w;
        v = v / sum_scale;
        v = v < low ? low : v;
        v = v > high ? high : v;
        sum = v + ROUNDER;
        memcpy(&y[j], &sum, sizeof sum);
        y[j] += shift;
    }
}

static void finish_bytes(const native_int8_band *b, int row, const int32_t *s, uint8_t *restrict to)
{
    int32_t y[NR];

    finish_i8(b, s, y);
    if (b->with)
        add_i8(b, row, y);
    EACH_COLUMN to[j] = (uint8_t)y[j];
}

static void finish_row(const native_int8_band *b, int row)
{
    int32_t s[NR];
    float y[NR];
    uint8_t bytes[NR];
    const int64_t at = row * b->ldc;

    read_sums(b, row, s);
    switch (b->finish->result) {
    case NATIVE_INT8_TO_I32:
        memcpy((int32_t *)b->c + at, s, (size_t)b->cols * sizeof *s);
        break;
    case NATIVE_INT8_TO_F32:
        finish_f32(b, row, s, y);
        memcpy((float *)b->c + at, y, (size_t)b->cols * sizeof *y);
        break;
    default:
        finish_bytes(b, row, s, bytes);
        if (b->cols == NR)
            memcpy((uint8_t *)b->c + at, bytes, NR);
        else
            memcpy((uint8_t *)b->c + at, bytes, (size_t)b->cols);
    }
}

#ifdef FINISH_AVX2
#include "int8_finish_avx2.h"
#include "int8_finish_float_avx2.h"

static bool is_for_avx2(const native_int8_finish *f)
{
    return (f->result == NATIVE_INT8_TO_U8 || f->result == NATIVE_INT8_TO_I8) && !f->bias_is_far &&
           (!f->then || has_reciprocal(f->then));
}
#endif

static void finish(const native_int8_band *b)
{
    int row;

#ifdef FINISH_AVX2
    if (is_for_avx2(b->finish)) {
        finish_tile_of_bytes(b);
        return;
    }
    if (b->finish->result == NATIVE_INT8_TO_F32) {
        finish_tile_of_floats(b);
        return;
    }
#endif
    for (row = 0; row < b->rows; row++)
        finish_row(b, row);
}

/* ---- rows of A ---- */

/* Vectors to the end: where elements remain, the last vector begins among those that are done. */
#define TAKE(count, ...)                                                                           \
    do {                                                                                           \
        int64_t at = 0, j;                                                                         \
        TAKE_PIECES(PIECE, count, __VA_ARGS__);                                                    \
        if ((count) < PIECE)                                                                       \
            TAKE_PIECES(SMALL_PIECE, count, __VA_ARGS__);                                          \
        if ((count) < SMALL_PIECE)                                                                 \
            for (j = 0; j < (count); j++) {                                                        \
                __VA_ARGS__;                                                                       \
            }                                                                                      \
    } while (0)

#define TAKE_PIECES(length, count, ...)                                                            \
    while ((count) >= (length) && at < (count)) {                                                  \
        at = at + (length) <= (count) ? at : (count) - (length);                                   \
        EACH_ALONE for (int i = 0; i < (length); i++)                                              \
        {                                                                                          \
            j = at + i;                                                                            \
            __VA_ARGS__;                                                                           \
        }                                                                                          \
        at += (length);                                                                            \
    }

/* As many terms as one or two vectors have: the second one may begin in the first one. */
#define TAKE_TWO(type, length, r, ...)                                                             \
    for (int64_t row = 0; row < (r)->rows; row++) {                                                \
        type *restrict y = (type *)(void *)((char *)(r)->to + row * (r)->to_step);                 \
        const uint8_t *from = (r)->from + row * (r)->from_step;                                    \
        const int64_t last = (r)->n - (length);                                                    \
        EACH_ALONE for (int j = 0; j < (length); j++)                                              \
        {                                                                                          \
            __VA_ARGS__;                                                                           \
        }                                                                                          \
        y += last;                                                                                 \
        from += last;                                                                              \
        EACH_ALONE for (int j = 0; j < (length); j++)                                              \
        {                                                                                          \
            __VA_ARGS__;                                                                           \
        }                                                                                          \
    }

/*
 * What each row becomes. Rows of few terms, as windows of images with three channels have them, are
 * many, so that what is in front of their loops counts.
 */
#define TAKE_ROWS(type, r, ...)                                                                    \
    if ((r)->n >= SMALL_PIECE && (r)->n <= 2 * SMALL_PIECE) {                                      \
        TAKE_TWO(type, SMALL_PIECE, r, __VA_ARGS__)                                                \
    } else if ((r)->n > 2 * SMALL_PIECE && (r)->n <= 4 * SMALL_PIECE) {                            \
        TAKE_TWO(type, 2 * SMALL_PIECE, r, __VA_ARGS__)                                            \
    } else {                                                                                       \
        for (int64_t row = 0; row < (r)->rows; row++) {                                            \
            type *restrict y = (type *)(void *)((char *)(r)->to + row * (r)->to_step);             \
            const uint8_t *from = (r)->from + row * (r)->from_step;                                \
            TAKE((r)->n, __VA_ARGS__);                                                             \
        }                                                                                          \
    }

#ifdef HAS_WIDE
static void take_wide(const native_int8_rows *r)
{
    const int16_t off = (int16_t)r->zero;

    if (r->is_signed) {
        TAKE_ROWS(int16_t, r, y[j] = (int16_t)((int8_t)from[j] - off))
    } else {
        TAKE_ROWS(int16_t, r, y[j] = (int16_t)(from[j] - off))
    }
}
#endif

/* ---- sums of rows ---- */

#ifdef SUM_AVX2
static inline int32_t sum_of_lanes(__m256i x)
{
    __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));

    sum = _mm_add_epi32(sum, _mm_unpackhi_epi64(sum, sum));
    return _mm_cvtsi128_si32(_mm_add_epi32(sum, _mm_shuffle_epi32(sum, 1)));
}

static inline __m256i terms_at(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}
#endif

#ifdef HAS_WIDE
static int32_t sum_wide(const uint8_t *row, int64_t k)
{
    const int16_t *a = (const int16_t *)(const void *)row;
    int64_t i = 0;
    uint32_t sum = 0;

#ifdef SUM_AVX2
    __m256i sums = _mm256_setzero_si256();
    for (; i + 16 <= k; i += 16)
        sums = _mm256_add_epi32(sums, _mm256_madd_epi16(terms_at(a + i), _mm256_set1_epi16(1)));
    sum = (uint32_t)sum_of_lanes(sums);
#endif
    for (; i < k; i++)
        sum += (uint32_t)a[i];
    return (int32_t)sum;
}
#endif

#ifdef HAS_BYTES
static int32_t sum_bytes(const uint8_t *a, int64_t k)
{
    int64_t i = 0;
    uint32_t sum = 0;

#ifdef SUM_AVX2
    const __m256i zeros = _mm256_setzero_si256();
    __m256i sums = zeros;
    for (; i + 32 <= k; i += 32)
        sums = _mm256_add_epi32(sums, _mm256_sad_epu8(terms_at(a + i), zeros));
    sum = (uint32_t)sum_of_lanes(sums);
    for (; i + 8 <= k; i += 8)
        sum += (uint32_t)_mm_cvtsi128_si32(
            _mm_sad_epu8(_mm_loadl_epi64((const __m128i *)(const void *)(a + i)),
                         _mm256_castsi256_si128(zeros)));
#endif
    for (; i < k; i++)
        sum += a[i];
    return (int32_t)sum;
}

static void take_bytes(const native_int8_rows *r)
{
    const uint8_t flip = r->is_signed ? 0x80 : 0;

    TAKE_ROWS(uint8_t, r, y[j] = from[j] ^ flip)
}
#endif
