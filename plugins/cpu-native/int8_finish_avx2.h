/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int8_finish_avx2.h: int8_finish.h's results of 8 bits, 16 columns of a row in registers: the same
 * numbers to the bit. What columns have in common is loaded once for all rows of a tile.
 *
 * The quotient of an addition is a product with the reciprocal: wrong by less than 2^-22 of at most
 * 511, so that it has the same nearest integer but next to a tie. Rows in which one is next to a
 * tie are divided: scales whose quotient is near a fraction have many of them. Rows in which a
 * product is next to a tie are done again by the plain loops.
 *
 * On Zen 3 an output of 32 rows takes 0.23 ns instead of the 0.53 of the plain loops, which GCC
 * makes vectors of; one with an addition 0.55 instead of 1.72.
 */

/* 8 numbers of 32 bits each. */
typedef struct pair_i {
    __m256i low, high;
} pair_i;
typedef struct pair_f {
    __m256 low, high;
} pair_f;

static inline pair_i load_pair(const int32_t *p)
{
    return (pair_i){_mm256_loadu_si256((const __m256i *)(const void *)p),
                    _mm256_loadu_si256((const __m256i *)(const void *)(p + 8))};
}

static inline pair_f to_floats(pair_i x)
{
    return (pair_f){_mm256_cvtepi32_ps(x.low), _mm256_cvtepi32_ps(x.high)};
}

static inline pair_f times(pair_f x, __m256 low, __m256 high)
{
    return (pair_f){_mm256_mul_ps(x.low, low), _mm256_mul_ps(x.high, high)};
}

/* A NaN stays one. */
static inline pair_f limit(pair_f x, __m256 low, __m256 high)
{
    return (pair_f){_mm256_min_ps(high, _mm256_max_ps(low, x.low)),
                    _mm256_min_ps(high, _mm256_max_ps(low, x.high))};
}

static inline pair_f nearest(pair_f x)
{
    enum { HOW = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC };

    return (pair_f){_mm256_round_ps(x.low, HOW), _mm256_round_ps(x.high, HOW)};
}

/* Whether one is so near to a tie, or a NaN, that w may be wrong. */
static inline bool is_unsure(pair_f x, pair_f w)
{
    const __m256 size = _mm256_castsi256_ps(_mm256_set1_epi32(INT32_MAX));
    const __m256 low = _mm256_and_ps(_mm256_sub_ps(x.low, w.low), size);
    const __m256 high = _mm256_and_ps(_mm256_sub_ps(x.high, w.high), size);
    const __m256 sure = _mm256_set1_ps(SURE);

    return _mm256_movemask_ps(_mm256_or_ps(_mm256_cmp_ps(low, sure, _CMP_NLE_UQ),
                                           _mm256_cmp_ps(high, sure, _CMP_NLE_UQ))) != 0;
}

static inline __m256i less_product(__m256i x, int32_t a, const int32_t *b)
{
    return _mm256_sub_epi32(
        x, _mm256_mullo_epi32(_mm256_set1_epi32(a),
                              _mm256_loadu_si256((const __m256i *)(const void *)b)));
}

static inline pair_i sums_of_row(const native_int8_band *b, int row, pair_i term)
{
    const pair_i s = load_pair(b->sums + row * NR);

    return (pair_i){_mm256_add_epi32(s.low, term.low), _mm256_add_epi32(s.high, term.high)};
}

static inline bool has_corrections(const native_int8_band *b)
{
    return b->row_sums || b->row_terms || b->row_zeros;
}

/* Less what zero points of both sides add. */
static inline pair_i corrected(const native_int8_band *b, int row, pair_i s)
{
    const native_int8_columns *c = b->columns;

    if (b->row_terms) {
        const __m256i term = _mm256_set1_epi32(b->row_terms[row]);
        s.low = _mm256_sub_epi32(s.low, term);
        s.high = _mm256_sub_epi32(s.high, term);
    }
    if (b->row_sums) {
        s.low = less_product(s.low, b->row_sums[row], c->zero);
        s.high = less_product(s.high, b->row_sums[row], c->zero + 8);
    }
    if (b->row_zeros) {
        s.low = less_product(s.low, b->row_zeros[row], c->sum);
        s.high = less_product(s.high, b->row_zeros[row], c->sum + 8);
    }
    return s;
}

/* ---- the addition ---- */

typedef struct addition {
    __m256 scale, with_scale, sum_scale, reciprocal, with_zero, low, high;
    bool is_signed;
} addition;

static inline addition addition_of(const native_int8_addition *t)
{
    addition a = {.is_signed = t->with_signed};

    a.scale = _mm256_set1_ps(t->scale);
    a.with_scale = _mm256_set1_ps(t->with_scale);
    a.sum_scale = _mm256_set1_ps(t->sum_scale);
    a.reciprocal = _mm256_set1_ps(1 / t->sum_scale);
    a.with_zero = _mm256_set1_ps((float)t->with_zero);
    a.low = _mm256_set1_ps((float)(t->low - t->sum_zero));
    a.high = _mm256_set1_ps((float)(t->high - t->sum_zero));
    return a;
}

static inline __m256 scaled_with(const addition *a, const uint8_t *bytes)
{
    const __m128i x = _mm_loadl_epi64((const __m128i *)(const void *)bytes);
    const __m256i whole = a->is_signed ? _mm256_cvtepi8_epi32(x) : _mm256_cvtepu8_epi32(x);

    return _mm256_mul_ps(_mm256_sub_ps(_mm256_cvtepi32_ps(whole), a->with_zero), a->with_scale);
}

static inline pair_f sum_with(const addition *a, const uint8_t *with, pair_f y)
{
    const pair_f v = times(y, a->scale, a->scale);

    return (pair_f){_mm256_add_ps(v.low, scaled_with(a, with)),
                    _mm256_add_ps(v.high, scaled_with(a, with + 8))};
}

static inline pair_f quotient(const addition *a, pair_f v)
{
    v.low = _mm256_div_ps(v.low, a->sum_scale);
    v.high = _mm256_div_ps(v.high, a->sum_scale);
    return limit(v, a->low, a->high);
}

/* y becomes what it is with the addition; false = something is no number. */
static inline bool add_quantized(const addition *a, const uint8_t *with, pair_f *y)
{
    const pair_f sum = sum_with(a, with, *y);
    pair_f v = limit(times(sum, a->reciprocal, a->reciprocal), a->low, a->high);
    const pair_f likely = nearest(v);

    *y = likely;
    if (!is_unsure(v, likely))
        return true;
    v = quotient(a, sum);
    *y = nearest(v);
    return _mm256_movemask_ps(_mm256_or_ps(_mm256_cmp_ps(v.low, v.low, _CMP_UNORD_Q),
                                           _mm256_cmp_ps(v.high, v.high, _CMP_UNORD_Q))) == 0;
}

/* Whether the reciprocal is as exact as said. */
static inline bool has_reciprocal(const native_int8_addition *t)
{
    return t->sum_scale > 0x1p-100f && t->sum_scale < 0x1p100f;
}

/* ---- rows ---- */

/* The low bytes of y + zero. */
static inline __m128i to_bytes(pair_f y, __m256i zero)
{
    __m256i x = _mm256_packs_epi32(_mm256_cvtps_epi32(y.low), _mm256_cvtps_epi32(y.high));

    x = _mm256_and_si256(_mm256_add_epi16(x, zero), _mm256_set1_epi16(0xff));
    x = _mm256_permute4x64_epi64(x, 0xd8);
    return _mm_packus_epi16(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
}

/* Fewer than 16. */
static inline const uint8_t *copy_some(uint8_t *to, const uint8_t *from, int n)
{
    int i = 0;

    if (n & 8)
        memcpy(to, from, i = 8);
    if (n & 4) {
        memcpy(to + i, from + i, 4);
        i += 4;
    }
    for (; i < n; i++)
        to[i] = from[i];
    return to;
}

/*
 * Bits of the result are rows to do again, where nothing is added: so nothing is called between
 * rows. With an addition it is done at once, for what is added may lie where results go.
 */
static inline __attribute__((always_inline)) uint64_t
finish_rows(const native_int8_band *b, const bool adds, const bool whole, const bool corrects)
{
    const native_int8_finish *f = b->finish;
    const __m256 low = _mm256_set1_ps((float)(f->low - f->zero));
    const __m256 high = _mm256_set1_ps((float)(f->high - f->zero));
    const __m256 scale_low = _mm256_loadu_ps(b->columns->scale);
    const __m256 scale_high = _mm256_loadu_ps(b->columns->scale + 8);
    const __m256i zero = _mm256_set1_epi16((int16_t)(adds ? f->then->sum_zero : f->zero));
    const pair_i term = load_pair(b->columns->term);
    const addition a = adds ? addition_of(f->then) : (addition){.is_signed = false};
    const uint8_t *with = b->with;
    const int64_t ldc = b->ldc;
    const int rows = b->rows;
    uint8_t *to = b->c, some[NR] = {0};
    uint64_t again = 0;

    for (int row = 0; row < rows; row++, to += ldc, with += adds ? ldc : 0) {
        const pair_i sums = sums_of_row(b, row, term);
        const pair_f products = to_floats(corrects ? corrected(b, row, sums) : sums);
        const pair_f v = limit(times(products, scale_low, scale_high), low, high);
        pair_f y = nearest(v);
        bool unsure = is_unsure(v, y);
        if (adds)
            unsure |= !add_quantized(&a, whole ? with : copy_some(some, with, b->cols), &y);
        if (adds && unsure) {
            finish_row(b, row);
            continue;
        }
        again |= (uint64_t)unsure << row;
        if (whole) {
            _mm_storeu_si128((__m128i *)(void *)to, to_bytes(y, zero));
        } else {
            _mm_storeu_si128((__m128i *)(void *)some, to_bytes(y, zero));
            copy_some(to, some, b->cols);
        }
    }
    return again;
}

/* ---- rows in pairs ---- */

/*
 * Whether products stay inside of int32, so that integers can be limited after they are rounded:
 * in 16 bits, which takes less than in float32.
 */
static inline bool has_small_scales(const native_int8_columns *c)
{
    const __m256 size = _mm256_castsi256_ps(_mm256_set1_epi32(INT32_MAX));
    const __m256 most = _mm256_set1_ps(0.99f);
    const __m256 low = _mm256_and_ps(_mm256_loadu_ps(c->scale), size);
    const __m256 high = _mm256_and_ps(_mm256_loadu_ps(c->scale + 8), size);

    return _mm256_movemask_ps(_mm256_and_ps(_mm256_cmp_ps(low, most, _CMP_LT_OQ),
                                            _mm256_cmp_ps(high, most, _CMP_LT_OQ))) == 0xff;
}

/*
 * The bytes of two rows, rounded twice: a little less than the number, and a little more. Where
 * both give the same byte, it is the one that the number has. The number is wrong by 5e-5 at most
 * where it is inside of a type; beyond that both saturate. This takes five instructions less for 16
 * outputs than the distance to the nearest integer does.
 */
#define LITTLE 1e-4f

typedef struct around {
    __m256i below, above;
} around;

typedef struct rounding {
    pair_i term;
    pair_f scale;
    __m256 less, more; /* zero, and a little */
    __m256i low, high, order;
    int cols;
} rounding;

static inline rounding rounding_of(const native_int8_band *b)
{
    const native_int8_finish *f = b->finish;
    const float *scale = b->columns->scale;

    return (rounding){.term = load_pair(b->columns->term),
                      .scale = {_mm256_loadu_ps(scale), _mm256_loadu_ps(scale + 8)},
                      .less = _mm256_set1_ps((float)f->zero - LITTLE),
                      .more = _mm256_set1_ps((float)f->zero + LITTLE),
                      .low = _mm256_set1_epi8((char)f->low),
                      .high = _mm256_set1_epi8((char)f->high),
                      .order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7),
                      .cols = b->cols};
}

/* Of the sums of a row: 16 bits of columns 0-3, 8-11, 4-7, 12-15. */
static inline __attribute__((always_inline)) around sums_around(pair_i s, const rounding *r)
{
    const pair_f x = to_floats(s);
    around a;

    a.below =
        _mm256_packs_epi32(_mm256_cvtps_epi32(_mm256_fmadd_ps(x.low, r->scale.low, r->less)),
                           _mm256_cvtps_epi32(_mm256_fmadd_ps(x.high, r->scale.high, r->less)));
    a.above =
        _mm256_packs_epi32(_mm256_cvtps_epi32(_mm256_fmadd_ps(x.low, r->scale.low, r->more)),
                           _mm256_cvtps_epi32(_mm256_fmadd_ps(x.high, r->scale.high, r->more)));
    return a;
}

static inline __attribute__((always_inline)) around
row_around(const native_int8_band *b, int row, const bool corrects, const rounding *r)
{
    const pair_i s = sums_of_row(b, row, r->term);

    return sums_around(corrects ? corrected(b, row, s) : s, r);
}

static inline __attribute__((always_inline)) __m256i to_type(const bool is_signed, __m256i x,
                                                             __m256i y)
{
    return is_signed ? _mm256_packs_epi16(x, y) : _mm256_packus_epi16(x, y);
}

static inline __attribute__((always_inline)) __m256i within(const bool is_signed, __m256i x,
                                                            __m256i low, __m256i high)
{
    return is_signed ? _mm256_min_epi8(_mm256_max_epi8(x, low), high)
                     : _mm256_min_epu8(_mm256_max_epu8(x, low), high);
}

/* The first `cols` of 16, which are all where whole says so. */
static inline __attribute__((always_inline)) void put_columns(const bool whole, int cols,
                                                              __m128i bytes, uint8_t *to)
{
    uint8_t some[NR];

    _mm_storeu_si128((__m128i *)(void *)(whole ? to : some), bytes);
    if (!whole)
        copy_some(to, some, cols);
}

/*
 * What pairs of rows have: some of the 16 columns, all of them, or all and no other limits than
 * those of the type, which cost nothing: as with Relu and a zero point of 0.
 */
typedef enum pair_form { SOME_COLUMNS, ALL_COLUMNS, ALL_UNLIMITED } pair_form;

static inline pair_form pair_form_of(const bool is_signed, const native_int8_band *b)
{
    const int32_t low = is_signed ? INT8_MIN : 0, high = is_signed ? INT8_MAX : UINT8_MAX;

    if (b->cols < NR)
        return SOME_COLUMNS;
    return b->finish->low > low || b->finish->high < high ? ALL_COLUMNS : ALL_UNLIMITED;
}

/* Writes two rows; whether all of them are sure, those of no column, too. */
static inline __attribute__((always_inline)) bool put_pair(const bool is_signed,
                                                           const pair_form form, const rounding *r,
                                                           around x, around y, uint8_t *to,
                                                           uint8_t *other)
{
    const bool whole = form != SOME_COLUMNS;
    const __m256i below = to_type(is_signed, x.below, y.below);
    const __m256i above = to_type(is_signed, x.above, y.above);
    const __m256i limited =
        form == ALL_UNLIMITED ? below : within(is_signed, below, r->low, r->high);
    const __m256i bytes = _mm256_permutevar8x32_epi32(limited, r->order);

    put_columns(whole, r->cols, _mm256_castsi256_si128(bytes), to);
    put_columns(whole, r->cols, _mm256_extracti128_si256(bytes, 1), other);
    return _mm256_movemask_epi8(_mm256_cmpeq_epi8(below, above)) == -1;
}

/* Nothing added. Bits of the result are rows to do again. */
static inline __attribute__((always_inline)) uint64_t finish_pairs(const native_int8_band *b,
                                                                   const pair_form form,
                                                                   const bool corrects,
                                                                   const bool is_signed)
{
    const rounding r = rounding_of(b);
    const int rows = b->rows;
    uint8_t *to = b->c;
    uint64_t again = 0;

    for (int row = 0; row < rows; row += 2, to += 2 * b->ldc) {
        const int other = row + 1 < rows ? 1 : 0;
        const around x = row_around(b, row, corrects, &r);
        const around y = row_around(b, row + other, corrects, &r);
        if (!put_pair(is_signed, form, &r, x, y, to, to + other * b->ldc))
            again |= (uint64_t)(1 + 2 * other) << row;
    }
    return again;
}

static inline __attribute__((always_inline)) uint64_t
finish_pairs_of(const native_int8_band *b, const bool corrects, const bool is_signed)
{
    switch (pair_form_of(is_signed, b)) {
    case ALL_UNLIMITED:
        return finish_pairs(b, ALL_UNLIMITED, corrects, is_signed);
    case ALL_COLUMNS:
        return finish_pairs(b, ALL_COLUMNS, corrects, is_signed);
    default:
        return finish_pairs(b, SOME_COLUMNS, corrects, is_signed);
    }
}

static uint64_t finish_all_pairs(const native_int8_band *b, bool corrects)
{
    if (b->finish->result == NATIVE_INT8_TO_I8)
        return corrects ? finish_pairs_of(b, true, true) : finish_pairs_of(b, false, true);
    return corrects ? finish_pairs_of(b, true, false) : finish_pairs_of(b, false, false);
}

/* Whether finish_pairs does it, with nothing but one number for a row taken off for zero points. */
static inline bool is_for_pairs(const native_int8_band *b)
{
    return !b->with && !b->row_sums && !b->row_zeros && has_small_scales(b->columns);
}

#include "int8_finish_added_avx2.h"

/* Additions, divided where they are unsure. */
static uint64_t finish_added_again(const native_int8_band *b)
{
    const bool whole = b->cols == NR;

    if (has_corrections(b))
        return whole ? finish_rows(b, true, true, true) : finish_rows(b, true, false, true);
    return whole ? finish_rows(b, true, true, false) : finish_rows(b, true, false, false);
}

static void finish_all_added(const native_int8_band *b)
{
    const int done = is_for_added(b) ? finish_added_rows(b) : 0;
    native_int8_band rest = native_int8_band_from(b, done);

    rest.sums = b->sums + done * NR;
    rest.rows = b->rows - done;
    finish_added_again(&rest);
}

static uint64_t finish_most(const native_int8_band *b)
{
    const bool whole = b->cols == NR, corrects = has_corrections(b);

    if (b->with) {
        finish_all_added(b);
        return 0;
    }
    if (has_small_scales(b->columns))
        return finish_all_pairs(b, corrects);
    if (corrects)
        return whole ? finish_rows(b, false, true, true) : finish_rows(b, false, false, true);
    return whole ? finish_rows(b, false, true, false) : finish_rows(b, false, false, false);
}

/* Of at most 64 rows. */
static void finish_tile_of_bytes(const native_int8_band *b)
{
    uint64_t again = finish_most(b);

    for (int row = 0; row < b->rows && again; row++, again >>= 1)
        if (again & 1)
            finish_row(b, row);
}
