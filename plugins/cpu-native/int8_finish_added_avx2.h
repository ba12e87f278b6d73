/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int8_finish_added_avx2.h: two rows at a time of int8_finish_avx2.h's results with an addition.
 *
 * The nearest integer to a product is as there. What it becomes is computed as y * (scale /
 * sum_scale) + with * (with_scale / sum_scale) + c, a little less and a little more than that by
 * the most that roundings make of it, there and in the four steps that are to be matched. Where
 * both round to the same byte, it is the one that the steps give. Others are left to finish_rows,
 * and so is the rest of a panel with many of them: scales whose quotient is a fraction have.
 *
 * On Zen 3 an output takes 0.2 ns less than in finish_rows.
 */

/* 2^-24, and a little for products of it with itself. */
#define ROUNDING 0x1.01p-24

typedef struct adding {
    pair_i term;
    pair_f scale;
    __m256 low, high;                        /* of y less its zero point */
    __m256 ratio, with_ratio, less, between; /* between: of the less and the more */
    __m256i sum_low, sum_high, order;
    int cols;
} adding;

enum { MANY_UNSURE = 16 };

/*
 * Of 4 roundings of a number of at most 255 scales, 7 of one of 255 with_scales and 4 of one of
 * 256, in units of the sum.
 */
static inline double error_of(const native_int8_addition *t)
{
    const double y = 255.0 * t->scale / t->sum_scale, with = 255.0 * t->with_scale / t->sum_scale;

    return ROUNDING * (4 * fabs(y) + 7 * fabs(with) + 4 * 256);
}

static inline adding adding_of(const native_int8_band *b)
{
    const native_int8_finish *f = b->finish;
    const native_int8_addition *t = f->then;
    const float *scale = b->columns->scale;
    const float with_ratio = (float)((double)t->with_scale / t->sum_scale);
    const double error = error_of(t);
    const double c = t->sum_zero - (double)t->with_zero * with_ratio;

    return (adding){.term = load_pair(b->columns->term),
                    .scale = {_mm256_loadu_ps(scale), _mm256_loadu_ps(scale + 8)},
                    .low = _mm256_set1_ps((float)(f->low - f->zero)),
                    .high = _mm256_set1_ps((float)(f->high - f->zero)),
                    .ratio = _mm256_set1_ps((float)((double)t->scale / t->sum_scale)),
                    .with_ratio = _mm256_set1_ps(with_ratio),
                    .less = _mm256_set1_ps((float)(c - error)),
                    .between = _mm256_set1_ps((float)(2 * error)),
                    .sum_low = _mm256_set1_epi8((char)t->low),
                    .sum_high = _mm256_set1_epi8((char)t->high),
                    .order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7),
                    .cols = b->cols};
}

/* The nearest integers to y; `far` becomes the greatest distance of one. */
static inline __m256 nearest_of(const adding *a, __m256i sums, __m256 scale, __m256 *far)
{
    enum { HOW = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC };
    const __m256 size = _mm256_castsi256_ps(_mm256_set1_epi32(INT32_MAX));
    const __m256 y = _mm256_mul_ps(_mm256_cvtepi32_ps(sums), scale);
    const __m256 v = _mm256_min_ps(a->high, _mm256_max_ps(a->low, y));
    const __m256 w = _mm256_round_ps(v, HOW);

    *far = _mm256_max_ps(*far, _mm256_and_ps(_mm256_sub_ps(v, w), size));
    return w;
}

/* Eight sums: 32 bits each, below and above. */
static inline __attribute__((always_inline)) void add_eight(const bool is_signed, const adding *a,
                                                            __m256 y, const uint8_t *with,
                                                            __m256i *below, __m256i *above)
{
    const __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)with);
    const __m256i x = is_signed ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes);
    const __m256 less = _mm256_fmadd_ps(_mm256_cvtepi32_ps(x), a->with_ratio, a->less);
    const __m256 more = _mm256_add_ps(less, a->between);

    *below = _mm256_cvtps_epi32(_mm256_fmadd_ps(y, a->ratio, less));
    *above = _mm256_cvtps_epi32(_mm256_fmadd_ps(y, a->ratio, more));
}

/* 16 bits of a row, in the order of sums_around(). */
static inline __attribute__((always_inline)) around added_around(const bool is_signed,
                                                                 const bool whole, const adding *a,
                                                                 const __m256i *s,
                                                                 const uint8_t *with, __m256 *far)
{
    const __m256 low = nearest_of(a, s[0], a->scale.low, far);
    const __m256 high = nearest_of(a, s[1], a->scale.high, far);
    uint8_t some[NR] = {0};
    const uint8_t *from = whole ? with : copy_some(some, with, a->cols);
    __m256i below[2], above[2];

    add_eight(is_signed, a, low, from, &below[0], &above[0]);
    add_eight(is_signed, a, high, from + 8, &below[1], &above[1]);
    return (around){_mm256_packs_epi32(below[0], below[1]), _mm256_packs_epi32(above[0], above[1])};
}

/*
 * Writes two rows by their sums, to which terms are added, unless one is unsure: what is added may
 * lie where they go.
 */
static inline __attribute__((always_inline)) bool
put_added(const bool is_signed, const bool whole, const adding *a, const __m256i *s,
          const __m256i *next, const uint8_t *with, int64_t ldc, uint8_t *to)
{
    __m256 far = _mm256_setzero_ps();
    const around x = added_around(is_signed, whole, a, s, with, &far);
    const around y = added_around(is_signed, whole, a, next, with + ldc, &far);
    const __m256i below = to_type(is_signed, x.below, y.below);
    const __m256i above = to_type(is_signed, x.above, y.above);
    const __m256i bytes =
        _mm256_permutevar8x32_epi32(within(is_signed, below, a->sum_low, a->sum_high), a->order);
    const int is_far = _mm256_movemask_ps(_mm256_cmp_ps(far, _mm256_set1_ps(SURE), _CMP_NLE_UQ));

    if (is_far || _mm256_movemask_epi8(_mm256_cmpeq_epi8(below, above)) != -1)
        return false;
    put_columns(whole, a->cols, _mm256_castsi256_si128(bytes), to);
    put_columns(whole, a->cols, _mm256_extracti128_si256(bytes, 1), to + ldc);
    return true;
}

/* Whether that is for the band: what is added and the sum are of one type, and scales are usual. */
static inline bool is_for_added(const native_int8_band *b)
{
    const native_int8_addition *t = b->finish->then;

    return b->with && t->with_signed == t->sum_signed && !b->row_sums && !b->row_zeros &&
           has_small_scales(b->columns) && error_of(t) < 0.01;
}

static inline pair_i sums_with_terms(const native_int8_band *b, int row, pair_i term)
{
    const pair_i s = sums_of_row(b, row, term);
    const __m256i less = _mm256_set1_epi32(b->row_terms ? b->row_terms[row] : 0);

    return (pair_i){_mm256_sub_epi32(s.low, less), _mm256_sub_epi32(s.high, less)};
}

static uint64_t finish_added_again(const native_int8_band *b);

/* Rows in pairs; how many: those behind them are for finish_rows. */
static inline __attribute__((always_inline)) int
finish_added(const native_int8_band *b, const bool is_signed, const bool whole)
{
    const adding a = adding_of(b);
    int row = 0, unsure = 0;

    for (; row + 2 <= b->rows && unsure < MANY_UNSURE / 4; row += 2) {
        const pair_i x = sums_with_terms(b, row, a.term);
        const pair_i y = sums_with_terms(b, row + 1, a.term);
        const __m256i s[2] = {x.low, x.high}, next[2] = {y.low, y.high};
        const int64_t at = row * b->ldc;
        if (!put_added(is_signed, whole, &a, s, next, b->with + at, b->ldc, (uint8_t *)b->c + at)) {
            native_int8_band some = native_int8_band_from(b, row);
            some.sums = b->sums + row * NR;
            some.rows = 2;
            finish_added_again(&some);
            unsure++;
        }
    }
    return row;
}

static int finish_added_rows(const native_int8_band *b)
{
    const bool whole = b->cols == NR;

    if (b->finish->then->sum_signed)
        return whole ? finish_added(b, true, true) : finish_added(b, true, false);
    return whole ? finish_added(b, false, true) : finish_added(b, false, false);
}
