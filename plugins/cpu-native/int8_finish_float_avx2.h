/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int8_finish_float_avx2.h: int8_finish.h's results of float32, 16 columns of a row in registers:
 * the same numbers to the bit. What columns have in common is loaded once for all rows.
 *
 * What is not there is what changes no number: a factor of 1, a sum with -0 and limits of infinity.
 */

typedef struct float_columns {
    pair_i term;
    pair_f scale, addend;
    __m256 low, high;
    __m256i mask[2]; /* the columns that there are */
} float_columns;

static inline float_columns float_columns_of(const native_int8_band *b)
{
    const native_int8_columns *c = b->columns;
    const __m256i order = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256 none = _mm256_set1_ps(-0.0f);
    const bool adds = b->finish->addend != NULL;

    return (float_columns){.term = load_pair(c->term),
                           .scale = {_mm256_loadu_ps(c->scale), _mm256_loadu_ps(c->scale + 8)},
                           .addend = {adds ? _mm256_loadu_ps(c->addend) : none,
                                      adds ? _mm256_loadu_ps(c->addend + 8) : none},
                           .low = _mm256_set1_ps(b->finish->low_f),
                           .high = _mm256_set1_ps(b->finish->high_f),
                           .mask = {_mm256_cmpgt_epi32(_mm256_set1_epi32(b->cols), order),
                                    _mm256_cmpgt_epi32(_mm256_set1_epi32(b->cols - 8), order)}};
}

static inline pair_f plus_pair(pair_f x, __m256 low, __m256 high)
{
    return (pair_f){_mm256_add_ps(x.low, low), _mm256_add_ps(x.high, high)};
}

/* The finished row of sums that terms are added to. whole: all columns are there. */
static inline __attribute__((always_inline)) void put_floats(const native_int8_band *b,
                                                             const float_columns *f,
                                                             const bool whole, const bool adds,
                                                             int row, pair_i sums)
{
    const __m256 row_scale = _mm256_set1_ps(b->row_scale ? b->row_scale[row] : 1.0f);
    float *to = (float *)b->c + row * b->ldc;
    pair_f y = times(to_floats(sums), f->scale.low, f->scale.high);

    y = times(y, row_scale, row_scale);
    y = plus_pair(y, f->addend.low, f->addend.high);
    if (adds) {
        const float *r = b->residual + row * b->ldc;
        y = whole ? plus_pair(y, _mm256_loadu_ps(r), _mm256_loadu_ps(r + 8))
                  : plus_pair(y, _mm256_maskload_ps(r, f->mask[0]),
                              _mm256_maskload_ps(r + 8, f->mask[1]));
    }
    y = limit(y, f->low, f->high);
    if (whole) {
        _mm256_storeu_ps(to, y.low);
        _mm256_storeu_ps(to + 8, y.high);
    } else {
        _mm256_maskstore_ps(to, f->mask[0], y.low);
        _mm256_maskstore_ps(to + 8, f->mask[1], y.high);
    }
}

static inline __attribute__((always_inline)) void
finish_floats(const native_int8_band *b, const bool whole, const bool adds, const bool corrects)
{
    const float_columns f = float_columns_of(b);

    for (int row = 0; row < b->rows; row++) {
        const pair_i s = sums_of_row(b, row, f.term);
        put_floats(b, &f, whole, adds, row, corrects ? corrected(b, row, s) : s);
    }
}

static void finish_tile_of_floats(const native_int8_band *b)
{
    const bool whole = b->cols == NR, adds = b->residual, corrects = has_corrections(b);

    if (corrects && adds)
        finish_floats(b, false, true, true);
    else if (corrects)
        finish_floats(b, false, false, true);
    else if (whole && adds)
        finish_floats(b, true, true, false);
    else if (adds)
        finish_floats(b, false, true, false);
    else if (whole)
        finish_floats(b, true, false, false);
    else
        finish_floats(b, false, false, false);
}
