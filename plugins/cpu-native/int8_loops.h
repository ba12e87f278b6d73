/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int8_loops.h: the loops of int8.h, written once and compiled by int8_avx512.c, int8_avx2.c and
 * int8_portable.c, each of which includes this file once. Blocks of a constant length let compilers
 * make vectors of plain C.
 *
 * A quotient is limited to what the type holds less the zero point, which is an integer, so that
 * rounding first would give the same. Its sum with 1.5 * 2^23 has the nearest integer, ties to
 * even, in the low bits: a conversion that every processor has in vectors.
 */
#include <string.h>

#include "int8.h"
#include "vec.h"

enum { BLOCK = 64, FEW = 16, BITS_OF_ROUNDER = 0x4b400000 };
#define ROUNDER 0x1.8p23f

#if defined(__clang__)
#define EACH_ALONE
#else
#define EACH_ALONE _Pragma("GCC ivdep")
#endif

#define LOOP_OF(length, count, ...)                                                                \
    do {                                                                                           \
        int64_t block = 0, j;                                                                      \
        for (; block + (length) <= (count); block += (length)) {                                   \
            EACH_ALONE for (int k = 0; k < (length); k++)                                          \
            {                                                                                      \
                j = block + k;                                                                     \
                __VA_ARGS__;                                                                       \
            }                                                                                      \
        }                                                                                          \
        for (j = block; j < (count); j++) {                                                        \
            __VA_ARGS__;                                                                           \
        }                                                                                          \
    } while (0)
#define LOOP(count, ...) LOOP_OF(BLOCK, count, __VA_ARGS__)

static inline uint8_t quantize_one(float x, float scale, float zero, float low, float high)
{
    float v = x / scale, sum;
    int32_t bits;

    v = v < low - zero ? low - zero : v;
    v = v > high - zero ? high - zero : v;
    sum = v + ROUNDER;
    memcpy(&bits, &sum, sizeof bits);
    bits = bits - BITS_OF_ROUNDER + (int32_t)zero;
    return (uint8_t)(bits & -(int32_t)(v == v)); /* NaN is 0 */
}

#ifdef LOOPS_AVX2
/* A NaN stays one. */
static inline __m256 quotients(const float *x, __m256 scale, __m256 low, __m256 high)
{
    const __m256 v = _mm256_div_ps(_mm256_loadu_ps(x), scale);

    return _mm256_min_ps(high, _mm256_max_ps(low, v));
}

static inline __m256i nearest_16(__m256 a, __m256 b)
{
    return _mm256_packs_epi32(_mm256_cvtps_epi32(a), _mm256_cvtps_epi32(b));
}

/* quantize_one of 32 with one scale; false = one is a NaN, and they are to do again. */
static inline bool quantize_32(const float *x, __m256 scale, __m256 low, __m256 high, __m256i zero,
                               uint8_t *to)
{
    const __m256 a = quotients(x, scale, low, high), b = quotients(x + 8, scale, low, high);
    const __m256 c = quotients(x + 16, scale, low, high), d = quotients(x + 24, scale, low, high);
    const __m256i byte = _mm256_set1_epi16(0xff);
    const __m256i ab = _mm256_and_si256(_mm256_add_epi16(nearest_16(a, b), zero), byte);
    const __m256i cd = _mm256_and_si256(_mm256_add_epi16(nearest_16(c, d), zero), byte);
    const __m256 nan =
        _mm256_or_ps(_mm256_cmp_ps(a, b, _CMP_UNORD_Q), _mm256_cmp_ps(c, d, _CMP_UNORD_Q));

    _mm256_storeu_si256((__m256i *)(void *)to,
                        _mm256_permutevar8x32_epi32(_mm256_packus_epi16(ab, cd),
                                                    _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
    return _mm256_movemask_ps(nan) == 0;
}

/* How many are done. */
static int64_t quantize_most(const native_quantized_span *s, const float *x, uint8_t *to)
{
    const float scale = *s->scale, zero = *s->zero;
    const __m256 scales = _mm256_set1_ps(scale), low = _mm256_set1_ps(s->low - zero);
    const __m256 high = _mm256_set1_ps(s->high - zero);
    const __m256i zeros = _mm256_set1_epi16((int16_t)zero);
    int64_t i;

    for (i = 0; i + 32 <= s->n; i += 32)
        if (!quantize_32(x + i, scales, low, high, zeros, to + i))
            for (int j = 0; j < 32; j++)
                to[i + j] = quantize_one(x[i + j], scale, zero, s->low, s->high);
    return i;
}
#else
static int64_t quantize_most(const native_quantized_span *s, const float *x, uint8_t *to)
{
    (void)s, (void)x, (void)to;
    return 0;
}
#endif

static void quantize(const native_quantized_span *s, const float *x, uint8_t *to)
{
    const float *scales = s->scale, *zeros = s->zero;
    const float scale = *scales, zero = *zeros, low = s->low, high = s->high;
    int64_t done = 0;

    if (s->each) {
        LOOP(s->n, to[j] = quantize_one(x[j], scales[j], zeros[j], low, high));
        return;
    }
    done = quantize_most(s, x, to);
    x += done;
    to += done;
    LOOP(s->n - done, to[j] = quantize_one(x[j], scale, zero, low, high));
}

/* The difference is exact, and the product rounded once. */
#define DEQUANTIZE(name, type)                                                                     \
    static void dequantize_##name(const native_quantized_span *s, const type *x, float *to)        \
    {                                                                                              \
        const float *scales = s->scale, *zeros = s->zero;                                          \
        const float scale = *scales, zero = *zeros;                                                \
                                                                                                   \
        if (s->each)                                                                               \
            LOOP(s->n, to[j] = ((float)x[j] - zeros[j]) * scales[j]);                              \
        else                                                                                       \
            LOOP(s->n, to[j] = ((float)x[j] - zero) * scale);                                      \
    }
DEQUANTIZE(u8, uint8_t)
DEQUANTIZE(i8, int8_t)

static inline uint8_t scale_one(uint8_t x, float factor, float term, float low, float high)
{
    float v = (float)x * factor + term;
    int32_t bits;

    v = v < low ? low : v;
    v = v > high ? high : v;
    v += ROUNDER;
    memcpy(&bits, &v, sizeof bits);
    return (uint8_t)bits;
}

#ifdef LOOPS_AVX2
/* scale_one of 8: its low byte, in 32 bits. */
static inline __m256i scale_8(const uint8_t *x, __m256i flip, const float *factors,
                              const float *terms, bool each, __m256 low, __m256 high)
{
    const __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)x);
    const __m256i n = _mm256_xor_si256(_mm256_cvtepu8_epi32(bytes), flip);
    const __m256 factor = each ? _mm256_loadu_ps(factors) : _mm256_set1_ps(*factors);
    const __m256 term = each ? _mm256_loadu_ps(terms) : _mm256_set1_ps(*terms);
    __m256 v = _mm256_add_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(n), factor), term);

    v = _mm256_min_ps(high, _mm256_max_ps(low, v));
    v = _mm256_add_ps(v, _mm256_set1_ps(ROUNDER));
    return _mm256_and_si256(_mm256_castps_si256(v), _mm256_set1_epi32(0xff));
}

/* As many as are in 32s; how many. GCC's vectors of the plain loop take 0.32 ns for a byte on Zen
 * 3, these 0.15. */
static inline __attribute__((always_inline)) int64_t
scale_32s(const native_byte_scale *s, const bool each, const uint8_t *x, uint8_t *to)
{
    const __m256i flip = _mm256_set1_epi32(s->flip), zero = _mm256_set1_epi8((char)s->zero);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256 low = _mm256_set1_ps(s->low), high = _mm256_set1_ps(s->high);
    int64_t i = 0;

    for (; i + 32 <= s->n; i += 32) {
        __m256i y[4];
        _Pragma("GCC unroll 4") for (int k = 0; k < 4; k++)
        {
            const int64_t at = each ? i + 8 * k : 0;
            y[k] = scale_8(x + i + 8 * k, flip, s->factor + at, s->term + at, each, low, high);
        }
        const __m256i all =
            _mm256_packus_epi16(_mm256_packus_epi32(y[0], y[1]), _mm256_packus_epi32(y[2], y[3]));
        _mm256_storeu_si256((__m256i *)(void *)(to + i),
                            _mm256_add_epi8(_mm256_permutevar8x32_epi32(all, order), zero));
    }
    return i;
}

static int64_t scale_vectors(const native_byte_scale *s, const uint8_t *x, uint8_t *to)
{
    return s->each ? scale_32s(s, true, x, to) : scale_32s(s, false, x, to);
}
#else
static int64_t scale_vectors(const native_byte_scale *s, const uint8_t *x, uint8_t *to)
{
    (void)s, (void)x, (void)to;
    return 0;
}
#endif

static void scale_rest(const native_byte_scale *s, const uint8_t *x, uint8_t *to)
{
    const float *factors = s->factor, *terms = s->term;
    const float factor = *factors, term = *terms, low = s->low, high = s->high;
    const uint8_t flip = s->flip, zero = (uint8_t)s->zero;

    if (s->each)
        LOOP_OF(FEW, s->n,
                to[j] = (uint8_t)(scale_one(x[j] ^ flip, factors[j], terms[j], low, high) + zero));
    else
        LOOP_OF(FEW, s->n,
                to[j] = (uint8_t)(scale_one(x[j] ^ flip, factor, term, low, high) + zero));
}

static void scale_bytes(const native_byte_scale *s, const uint8_t *x, uint8_t *to)
{
    const int64_t done = scale_vectors(s, x, to);
    native_byte_scale rest = *s;

    if (done == s->n)
        return;
    rest.n -= done;
    if (s->each) {
        rest.factor += done;
        rest.term += done;
    }
    scale_rest(&rest, x + done, to + done);
}

#ifdef LOOPS_AVX2
/*
 * A shuffle looks up 16 bytes. An index less 16 * i, with 0x70 added and saturated, has its high
 * bit clear in the i-th 16 bytes of the table alone; all other shuffles give 0. On Zen 3 this takes
 * 0.17 ns for a byte, loads of one after the other 0.35 to 0.6.
 */
static void look_up_64(const uint8_t *table, const uint8_t *x, uint8_t *to)
{
    const __m256i next = _mm256_set1_epi8(16), end = _mm256_set1_epi8(0x70);
    __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)x);
    __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(x + 32));
    __m256i first = _mm256_setzero_si256(), second = first;

    for (int i = 0; i < 16; i++) {
        const __m256i some = _mm256_broadcastsi128_si256(
            _mm_loadu_si128((const __m128i *)(const void *)(table + 16 * i)));
        first = _mm256_or_si256(first, _mm256_shuffle_epi8(some, _mm256_adds_epu8(a, end)));
        second = _mm256_or_si256(second, _mm256_shuffle_epi8(some, _mm256_adds_epu8(b, end)));
        a = _mm256_sub_epi8(a, next);
        b = _mm256_sub_epi8(b, next);
    }
    _mm256_storeu_si256((__m256i *)(void *)to, first);
    _mm256_storeu_si256((__m256i *)(void *)(to + 32), second);
}
#endif

static void look_up(const uint8_t *table, const uint8_t *x, uint8_t *to, int64_t n)
{
    int64_t i = 0;

#ifdef LOOPS_AVX2
    for (; i + 64 <= n; i += 64)
        look_up_64(table, x + i, to + i);
#endif
    for (; i < n; i++)
        to[i] = table[x[i]];
}

/* What is made stays in registers; the last block may begin among channels that are done. */
#define IN_BLOCKS(n, of, ...)                                                                      \
    do {                                                                                           \
        int64_t c = 0;                                                                             \
                                                                                                   \
        for (; c + BLOCK <= (n); c += BLOCK)                                                       \
            of(__VA_ARGS__, c, BLOCK);                                                             \
        for (; c + FEW <= (n); c += FEW)                                                           \
            of(__VA_ARGS__, c, FEW);                                                               \
        if (c < (n) && (n) >= FEW)                                                                 \
            of(__VA_ARGS__, (n)-FEW, FEW);                                                         \
        else                                                                                       \
            for (; c < (n); c++)                                                                   \
                of(__VA_ARGS__, c, 1);                                                             \
    } while (0)

static inline __attribute__((always_inline)) void
maxima_of(const uint8_t *const *taps, int n_taps, uint8_t flip, uint8_t *to, int64_t c, const int n)
{
    uint8_t most[BLOCK];

    EACH_ALONE for (int j = 0; j < n; j++) most[j] = taps[0][c + j] ^ flip;
    for (int i = 1; i < n_taps; i++) {
        const uint8_t *from = taps[i] + c;
        EACH_ALONE for (int j = 0; j < n; j++)
        {
            const uint8_t x = from[j] ^ flip;
            most[j] = most[j] > x ? most[j] : x;
        }
    }
    EACH_ALONE for (int j = 0; j < n; j++) to[c + j] = most[j] ^ flip;
}

static void maxima(const uint8_t *const *taps, int n_taps, int64_t n, uint8_t flip, uint8_t *to)
{
    IN_BLOCKS(n, maxima_of, taps, n_taps, flip, to);
}

static inline uint8_t byte_of(float v, float low, float high, int32_t zero)
{
    int32_t bits;

    v = v < low ? low : v;
    v = v > high ? high : v;
    v += ROUNDER;
    memcpy(&bits, &v, sizeof bits);
    return (uint8_t)(bits + zero);
}

static inline __attribute__((always_inline)) void add_lines_of(const native_line_sum *s, float *to,
                                                               int64_t c, const int n)
{
    const float zero = s->from;
    const uint8_t flip = s->flip;
    float sums[BLOCK];

    EACH_ALONE for (int j = 0; j < n; j++) sums[j] = 0.0f;
    for (int i = 0; i < s->n_lines; i++) {
        const uint8_t *from = s->lines[i] + c;
        const float weight = s->weights[i];
        EACH_ALONE for (int j = 0; j < n; j++) sums[j] += weight * ((float)(from[j] ^ flip) - zero);
    }
    EACH_ALONE for (int j = 0; j < n; j++) to[c + j] = sums[j];
}

static void add_lines(const native_line_sum *s, float *to)
{
    IN_BLOCKS(s->n, add_lines_of, s, to);
}

/* Of one pixel, whose taps begin at `tap`. */
static inline __attribute__((always_inline)) void add_pixels_of(const native_pixel_sum *s,
                                                                const float *row, int64_t tap,
                                                                float factor, uint8_t *to,
                                                                int64_t c, const int n)
{
    const float low = s->low, high = s->high;
    const int32_t zero = s->zero;
    float sums[BLOCK];

    EACH_ALONE for (int j = 0; j < n; j++) sums[j] = 0.0f;
    for (int t = 0; t < s->taps; t++) {
        const float *from = row + s->at[tap + t] * s->n + c, weight = s->weights[tap + t];
        EACH_ALONE for (int j = 0; j < n; j++) sums[j] += weight * from[j];
    }
    EACH_ALONE for (int j = 0; j < n; j++) to[c + j] = byte_of(sums[j] * factor, low, high, zero);
}

static void add_pixels(const native_pixel_sum *s, const float *row, uint8_t *to)
{
    for (int64_t i = 0; i < s->m; i++, to += s->n)
        IN_BLOCKS(s->n, add_pixels_of, s, row, i * s->taps, s->factors[i], to);
}

static inline __attribute__((always_inline)) void add_rows_of(const native_row_sum *s,
                                                              const int32_t *const *from,
                                                              int n_from, void *to, int64_t c,
                                                              const int n)
{
    const float low = s->low, high = s->high, *scale = s->scale + c;
    const int32_t zero = s->zero;
    uint32_t sums[BLOCK];

    EACH_ALONE for (int j = 0; j < n; j++) sums[j] = s->to_float ? 0 : (uint32_t)s->bias[c + j];
    for (int i = 0; i < n_from; i++) {
        const int32_t *row = from[i] + c;
        EACH_ALONE for (int j = 0; j < n; j++) sums[j] += (uint32_t)row[j];
    }
    if (s->to_float) {
        float *y = (float *)to + c;
        EACH_ALONE for (int j = 0; j < n; j++)
        {
            float v = (float)(int32_t)sums[j] * scale[j] + s->addend[c + j];
            v = v < low ? low : v;
            y[j] = v > high ? high : v;
        }
    } else {
        uint8_t *y = (uint8_t *)to + c;
        EACH_ALONE for (int j = 0; j < n; j++) y[j] =
            byte_of((float)(int32_t)sums[j] * scale[j], low, high, zero);
    }
}

static void add_rows(const native_row_sum *s, const int32_t *const *from, int n_from, void *to)
{
    IN_BLOCKS(s->n, add_rows_of, s, from, n_from, to);
}

/* A NaN is the first operand, which gives the second one. */
static void range(const float *x, int64_t n, float *low, float *high)
{
    vec least = V_ZERO(), most = V_ZERO();
    float ends[2][LANES];
    int64_t i;

    for (i = 0; i + LANES <= n; i += LANES) {
        const vec v = V_LOAD(x + i);
        least = V_MIN(v, least);
        most = V_MAX(v, most);
    }
    V_STORE(ends[0], least);
    V_STORE(ends[1], most);
    *low = *high = 0;
    for (int k = 0; k < LANES; k++) {
        *low = ends[0][k] < *low ? ends[0][k] : *low;
        *high = ends[1][k] > *high ? ends[1][k] : *high;
    }
    for (; i < n; i++) {
        *low = x[i] < *low ? x[i] : *low;
        *high = x[i] > *high ? x[i] : *high;
    }
}

const native_int8_isa ISA_TABLE = {
    .name = ISA_NAME,
    .quantize = quantize,
    .dequantize_u8 = dequantize_u8,
    .dequantize_i8 = dequantize_i8,
    .scale_bytes = scale_bytes,
    .look_up = look_up,
    .maxima = maxima,
    .add_lines = add_lines,
    .add_pixels = add_pixels,
    .add_rows = add_rows,
    .range = range,
};
