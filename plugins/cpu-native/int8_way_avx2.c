/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int8_way_avx2.c: products of 8-bit integers with AVX2.
 *
 * Two instructions multiply: vpmaddwd, 16 products of int16 into 8 sums of 32 bits, and vpmaddubsw,
 * 32 of bytes into 16 of 16 bits, which saturate. A variable B is multiplied by the first one:
 * nothing can saturate. A constant one is sorted by int8_lists.c into terms for which the second
 * one cannot saturate either; where its values are too large for that, rows of A are, by
 * int8_halves_avx2.h, if there are columns enough.
 *
 * On Zen 3, 3.2 GHz, one core, operands in the first cache: 80e9 products a second by vpmaddwd in
 * tiles of 6 x 16; 117e9 by octets, 95e9 by quads and 66e9 by wides in tiles of 4 x 16; float32
 * makes 51e9. Without shuffles octets would make 124e9 and quads 99e9, but few terms would be in
 * them.
 */
#include "int8_way.h"

#if defined(__x86_64__)

#include "int8_lists.h"
#include "vec_avx2.h"

#define NR 16
#define HAS_WIDE
#define HAS_BYTES
#define SUM_AVX2
#define FINISH_AVX2
#include "int8_finish.h"

/*
 * s + x in the register of s. Compilers put such a sum into another one and move it back, which a
 * loop of 24 multiplications and additions has no time for: it gets 6 instructions a cycle.
 */
static inline __m256i plus(__m256i s, __m256i x)
{
    __asm__("vpaddd %1, %0, %0" : "+x"(s) : "x"(x));
    return s;
}

typedef __m256i ivec;
#define MR             6
#define NV             2
#define GROUP_BYTES    16
#define I_ZERO()       _mm256_setzero_si256()
#define I_STORE(p, v)  _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define I_GROUP(p)     _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#define I_DOT(s, a, b) plus(s, _mm256_madd_epi16(a, b))
#define I_KEEP(x)      (void)0

static inline __m256i all_of(const uint8_t *p)
{
    int32_t group;

    memcpy(&group, p, sizeof group);
    return _mm256_set1_epi32(group);
}
#define I_ALL(p) all_of(p)

#include "int8_tile.h"

#include "int8_lists_avx2.h"

#include "int8_halves_avx2.h"

#include "int8_panel_avx2.h"

/* ---- depthwise ---- */

static inline __m256i channels_at(const uint8_t *p, bool is_signed)
{
    const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
    return is_signed ? _mm256_cvtepi8_epi16(x) : _mm256_cvtepu8_epi16(x);
}

/*
 * vpunpck works on halves of registers: sums come in the order 0-3, 8-11 and 4-7, 12-15. Weights of
 * PAIRS pairs, those of 3 x 3 taps, stay in registers for all rows.
 */
enum { PAIRS = 5 };

static inline __attribute__((always_inline)) void strip_of(const native_int8_strip *s,
                                                           const bool is_signed, const int pairs)
{
    const uint8_t *const *tap = s->taps;
    const int64_t channel = s->channel;
    __m256i kept[PAIRS][2];
    int row, pair;

    EVERY(int i = 0; i < PAIRS && pairs == PAIRS; i++)
    {
        const int16_t *w = s->weights + i * s->weights_step;
        kept[i][0] = _mm256_loadu_si256((const __m256i *)(const void *)w);
        kept[i][1] = _mm256_loadu_si256((const __m256i *)(const void *)(w + 16));
    }
    for (row = 0; row < s->rows; row++, tap += 2 * pairs) {
        __m256i low = _mm256_setzero_si256(), high = low;
        EVERY(pair = 0; pair < pairs; pair++)
        {
            const __m256i x = channels_at(tap[2 * pair] + channel, is_signed);
            const __m256i y = channels_at(tap[2 * pair + 1] + channel, is_signed);
            const int16_t *w = s->weights + pair * s->weights_step;
            const __m256i first = pairs == PAIRS
                                      ? kept[pair][0]
                                      : _mm256_loadu_si256((const __m256i *)(const void *)w);
            const __m256i second =
                pairs == PAIRS ? kept[pair][1]
                               : _mm256_loadu_si256((const __m256i *)(const void *)(w + 16));
            low = I_DOT(low, _mm256_unpacklo_epi16(x, y), first);
            high = I_DOT(high, _mm256_unpackhi_epi16(x, y), second);
        }
        I_STORE(s->sums + row * NR, _mm256_permute2x128_si256(low, high, 0x20));
        I_STORE(s->sums + row * NR + 8, _mm256_permute2x128_si256(low, high, 0x31));
    }
}

static void depthwise(const native_int8_strip *s)
{
    if (s->is_signed && s->pairs == PAIRS)
        strip_of(s, true, PAIRS);
    else if (s->is_signed)
        strip_of(s, true, s->pairs);
    else if (s->pairs == PAIRS)
        strip_of(s, false, PAIRS);
    else
        strip_of(s, false, s->pairs);
}

#include "int8_line_avx2.h"

#include "int8_gathered_avx2.h"

/* ---- Winograd ---- */

#undef GROUP_BYTES
#undef I_GROUP
#define GROUP_BYTES 32
#define I_GROUP(p)  _mm256_load_si256((const __m256i *)(const void *)(p))
#define tile        tile_16
#define tile_of     tile_16_of
#include "int8_tile.h"
#undef tile
#undef tile_of

/* Of one line or column of a tile. */
static inline void transform_4(const __m256i *x, int step, __m256i *to, int to_step)
{
    to[0] = _mm256_sub_epi16(x[0], x[2 * step]);
    to[to_step] = _mm256_add_epi16(x[step], x[2 * step]);
    to[2 * to_step] = _mm256_sub_epi16(x[2 * step], x[step]);
    to[3 * to_step] = _mm256_sub_epi16(x[step], x[3 * step]);
}

static inline __attribute__((always_inline)) void transform_of(const native_int8_patch *p,
                                                               const bool is_signed)
{
    const __m256i zero = _mm256_set1_epi16((int16_t)(4 * p->zero));

    for (int64_t c = 0; c < p->channels; c += 16) {
        int16_t *to = p->to + c;
        __m256i columns[16], all[16];
        EVERY(int i = 0; i < 4; i++)
        {
            __m256i pixels[4];
            EVERY(int j = 0; j < 4; j++)
            {
                pixels[j] = channels_at(p->pixels[4 * j + i] + c, is_signed);
            }
            transform_4(pixels, 1, columns + i, 4);
        }
        EVERY(int i = 0; i < 4; i++)
        {
            transform_4(columns + 4 * i, 1, all + 4 * i, 1);
        }
        all[5] = _mm256_sub_epi16(all[5], zero);
        EVERY(int i = 0; i < 16; i++)
        {
            I_STORE(to + i * p->step, all[i]);
        }
    }
}

static void transform(const native_int8_patch *patch)
{
    if (patch->is_signed)
        transform_of(patch, true);
    else
        transform_of(patch, false);
}

static inline __m256i sums_at(const int32_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

static inline __m256i first_sum(__m256i a, __m256i b, __m256i c)
{
    return _mm256_add_epi32(_mm256_add_epi32(a, b), c);
}

static inline __m256i second_sum(__m256i b, __m256i c, __m256i d)
{
    return _mm256_sub_epi32(_mm256_sub_epi32(b, c), d);
}

/* Two pixels of a line from the sums of its four columns. */
static inline void put_pixels(const __m256i *x, int32_t *to)
{
    I_STORE(to, _mm256_srai_epi32(first_sum(x[0], x[1], x[2]), 2));
    I_STORE(to + NR, _mm256_srai_epi32(second_sum(x[1], x[2], x[3]), 2));
}

static void sum_tiles(const int32_t *from, int64_t step, int n, int32_t *upper, int32_t *lower)
{
    for (int i = 0; i < 2 * n; i++) {
        const int64_t at = i / 2 * (2 * NR) + i % 2 * 8;
        const int32_t *p = from + i * 8;
        __m256i above[4], below[4];
        EVERY(int j = 0; j < 4; j++)
        {
            const __m256i a = sums_at(p + j * step), b = sums_at(p + (4 + j) * step);
            const __m256i c = sums_at(p + (8 + j) * step), d = sums_at(p + (12 + j) * step);
            above[j] = first_sum(a, b, c);
            below[j] = second_sum(b, c, d);
        }
        put_pixels(above, upper + at);
        put_pixels(below, lower + at);
    }
}

static const native_int8_winograd_loops winograd = {transform, tile_16, sum_tiles};

const native_int8_way native_int8_way_avx2 = {
    .name = "avx2",
    .mr = MR,
    .nr = NR,
    .wide = true,
    .tile = tile,
    .panel = wide_panel,
    .finish = finish,
    .take = take_wide,
    .sum = sum_wide,
    .depthwise = depthwise,
    .line = line,
    .winograd = &winograd,
    .gathered = gathered,
};

const native_int8_way native_int8_way_avx2_halves = {
    .name = "avx2 halves",
    .mr = HALF_ROWS,
    .nr = NR,
    .wide = true,
    .panel = half_panel,
    .finish = finish,
    .take = take_wide,
    .sum = sum_wide,
    .halve = halve_rows,
    .list_bytes = half_bytes,
    .take_halved = take_halved,
};

const native_int8_way native_int8_way_avx2_lists = {
    .name = "avx2 lists",
    .mr = LIST_ROWS,
    .nr = NR,
    .lists = true,
    .tile = list_tile,
    .panel = list_panel,
    .finish = finish,
    .take = take_bytes,
    .sum = sum_bytes,
};

#include "vec_end.h"
#else
typedef int native_no_int8_way_avx2; /* C wants one declaration in a file */
#endif
