/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int8_lists_avx2.h: products by panels of int8_lists.h, of four rows at a time. Where results are
 * bytes, sums are finished in the registers that they were made in:
 * on Zen 3 1 x 1 convolutions of 16 to 64 channels take 4 to 8 % less.
 */

enum { LIST_ROWS = 4 };

static inline __m256i weights_at(const int8_t *p)
{
    return _mm256_load_si256((const __m256i *)(const void *)p);
}

static inline __m256i wide_weights_at(const int8_t *p)
{
    return _mm256_cvtepi8_epi16(_mm_load_si128((const __m128i *)(const void *)p));
}

/* 16 terms of a row, of which shuffles take some for all columns. */
static inline __m256i window_at(const uint8_t *p)
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)p));
}

/* Eight terms of 8 columns, of which four or two are summed in 16 bits. */
static inline __attribute__((always_inline)) __m256i dot(const bool octet, __m256i a0, __m256i b0,
                                                         __m256i a1, __m256i b1)
{
    const __m256i one = _mm256_set1_epi16(1);
    const __m256i first = _mm256_maddubs_epi16(a0, b0), last = _mm256_maddubs_epi16(a1, b1);

    if (octet)
        return _mm256_madd_epi16(_mm256_add_epi16(first, last), one);
    return _mm256_add_epi32(_mm256_madd_epi16(first, one), _mm256_madd_epi16(last, one));
}

typedef __m256i list_sums[LIST_ROWS][2];

/* Octets, or quads. vectors: 2, or 1 where the second one's columns are none. */
static inline __attribute__((always_inline)) void
add_bytes(const int rows, const int vectors, const bool octets, list_sums s,
          const native_int8_tile *t, const native_int8_eight *e, int n, const int8_t *b)
{
    for (; n > 0; n--, e++, b += NATIVE_LIST_BYTES) {
        const uint8_t *a = t->a + e->first;
        const __m256i first = all_of(e->term), last = all_of(e->term + 4);
        const __m256i b0 = weights_at(b), b1 = weights_at(b + 64);
        const __m256i c0 = weights_at(b + 32), c1 = weights_at(b + 96);
        EVERY(int i = 0; i < rows; i++)
        {
            const __m256i all = window_at(a + i * t->a_step);
            const __m256i x = _mm256_shuffle_epi8(all, first);
            const __m256i y = _mm256_shuffle_epi8(all, last);
            s[i][0] = plus(s[i][0], dot(octets, x, b0, y, b1));
            if (vectors > 1)
                s[i][1] = plus(s[i][1], dot(octets, x, c0, y, c1));
        }
    }
}

/* Places of two bytes become those of two int16: the other bytes of them are zero. */
static inline __m256i wide_places(const uint8_t *term)
{
    return _mm256_set1_epi32((int)(0x80008000u | term[0] | (uint32_t)term[1] << 16));
}

static inline __attribute__((always_inline)) void add_wides(const int rows, const int vectors,
                                                            list_sums s, const native_int8_tile *t,
                                                            const native_int8_eight *e, int n,
                                                            const int8_t *b)
{
    for (; n > 0; n--, e++) {
        const uint8_t *a = t->a + e->first;
        for (int pair = 0; pair < NATIVE_LIST_TERMS / 2; pair++, b += 32) {
            const __m256i places = wide_places(e->term + 2 * pair);
            const __m256i b0 = wide_weights_at(b), c0 = wide_weights_at(b + 16);
            EVERY(int i = 0; i < rows; i++)
            {
                const __m256i x = _mm256_shuffle_epi8(window_at(a + i * t->a_step), places);
                s[i][0] = plus(s[i][0], _mm256_madd_epi16(x, b0));
                if (vectors > 1)
                    s[i][1] = plus(s[i][1], _mm256_madd_epi16(x, c0));
            }
        }
    }
}

static inline __attribute__((always_inline)) void
sum_lists(const int rows, const int vectors, list_sums s, const native_int8_tile *t, pair_i begin)
{
    const native_int8_lists *l = (const native_int8_lists *)(const void *)t->b;
    const native_int8_eight *e = (const native_int8_eight *)(const void *)(l + 1);
    const int8_t *b = t->b + l->weights;

    EVERY(int i = 0; i < rows; i++)
    {
        s[i][0] = begin.low;
        s[i][1] = begin.high;
    }
    add_bytes(rows, vectors, true, s, t, e, l->octets, b);
    e += l->octets;
    b += (int64_t)l->octets * NATIVE_LIST_BYTES;
    add_bytes(rows, vectors, false, s, t, e, l->quads, b);
    e += l->quads;
    b += (int64_t)l->quads * NATIVE_LIST_BYTES;
    add_wides(rows, vectors, s, t, e, l->wides, b);
}

static inline __attribute__((always_inline)) void list_of(const int rows, const int vectors,
                                                          const native_int8_tile *t)
{
    list_sums s;

    sum_lists(rows, vectors, s, t, (pair_i){_mm256_setzero_si256(), _mm256_setzero_si256()});
    EVERY(int i = 0; i < rows; i++)
    {
        I_STORE(t->sums + i * NR, s[i][0]);
        I_STORE(t->sums + i * NR + 8, s[i][1]);
    }
}

static void list_tile(const native_int8_tile *t)
{
    const bool half = t->cols <= NR / 2;

    switch (t->rows) {
    case 1:
        list_of(1, 2, t);
        break;
    case 2:
        list_of(2, 2, t);
        break;
    case 3:
        list_of(3, 2, t);
        break;
    default:
        if (half)
            list_of(4, 1, t);
        else
            list_of(4, 2, t);
    }
}

/* ---- sums that do not leave their registers ---- */

/* Two rows with sums that are next to a tie. */
static void finish_again(const native_int8_band *band, int row, const int32_t *sums)
{
    native_int8_band again = native_int8_band_from(band, row);

    again.sums = sums;
    finish_row(&again, 0);
    finish_row(&again, 1);
}

/* Without what is taken off for the zero point of B. */
static inline __attribute__((always_inline)) void take_row_terms(const int rows, __m256i (*s)[2],
                                                                 const int32_t *terms)
{
    EVERY(int i = 0; i < rows; i++)
    {
        const __m256i term = _mm256_set1_epi32(terms[i]);
        s[i][0] = _mm256_sub_epi32(s[i][0], term);
        s[i][1] = _mm256_sub_epi32(s[i][1], term);
    }
}

static inline __attribute__((always_inline)) pair_i pair_of(const __m256i *s)
{
    return (pair_i){s[0], s[1]};
}

/* As they were made: finish_row adds and takes off the terms once more. */
static inline __m256i without(__m256i term, __m256i sums, const native_int8_band *b, int row)
{
    const __m256i less = _mm256_sub_epi32(sums, term);

    return b->row_terms ? _mm256_add_epi32(less, _mm256_set1_epi32(b->row_terms[row])) : less;
}

/* Writes rows `row` and the next one by their sums, to `to`. */
static inline __attribute__((always_inline)) void
put_two(const bool is_signed, const pair_form form, const rounding *r, __m256i (*s)[2],
        const native_int8_band *band, int row, uint8_t *to)
{
    const around x = sums_around(pair_of(s[0]), r), y = sums_around(pair_of(s[1]), r);
    int32_t sums[2 * NR]; /* a copy, so that s has no address */

    if (put_pair(is_signed, form, r, x, y, to, to + band->ldc))
        return;
    EVERY(int j = 0; j < 4; j++)
    {
        I_STORE(sums + j * 8,
                without(j % 2 ? r->term.high : r->term.low, s[j / 2][j % 2], band, row + j / 2));
    }
    finish_again(band, row, sums);
}

/* As many rows as are in fours; how many. */
static inline __attribute__((always_inline)) int
finish_lists(const bool is_signed, const int vectors, const pair_form form,
             const native_int8_tile *tile, const native_int8_band *band)
{
    const rounding r = rounding_of(band);
    native_int8_tile t = *tile;
    uint8_t *to = band->c;
    int row = 0;

    for (; row + LIST_ROWS <= band->rows; row += LIST_ROWS, t.a += LIST_ROWS * t.a_step) {
        list_sums s;
        sum_lists(LIST_ROWS, vectors, s, &t, r.term);
        if (band->row_terms)
            take_row_terms(LIST_ROWS, s, band->row_terms + row);
        EVERY(int i = 0; i < LIST_ROWS; i += 2)
        {
            put_two(is_signed, form, &r, s + i, band, row + i, to);
            to += 2 * band->ldc;
        }
    }
    return row;
}

/* Writes rows `row` and the next one with what is added to them; whether all were sure. */
static inline __attribute__((always_inline)) bool
put_two_added(const bool is_signed, const bool whole, const adding *a, __m256i (*s)[2],
              const native_int8_band *band, int row)
{
    const int64_t at = row * band->ldc;
    native_int8_band again;
    int32_t sums[2 * NR];

    if (put_added(is_signed, whole, a, s[0], s[1], band->with + at, band->ldc,
                  (uint8_t *)band->c + at))
        return true;
    EVERY(int j = 0; j < 4; j++)
    {
        I_STORE(sums + j * 8,
                without(j % 2 ? a->term.high : a->term.low, s[j / 2][j % 2], band, row + j / 2));
    }
    again = native_int8_band_from(band, row);
    again.sums = sums;
    again.rows = 2;
    finish_added_again(&again);
    return false;
}

/* As many rows as are in fours, up to where many are unsure; how many. */
static inline __attribute__((always_inline)) int add_lists(const bool is_signed, const int vectors,
                                                           const bool whole,
                                                           const native_int8_tile *tile,
                                                           const native_int8_band *band)
{
    const adding a = adding_of(band);
    native_int8_tile t = *tile;
    int row = 0, unsure = 0;

    for (; row + LIST_ROWS <= band->rows && unsure < MANY_UNSURE;
         row += LIST_ROWS, t.a += LIST_ROWS * t.a_step) {
        list_sums s;
        sum_lists(LIST_ROWS, vectors, s, &t, a.term);
        if (band->row_terms)
            take_row_terms(LIST_ROWS, s, band->row_terms + row);
        EVERY(int i = 0; i < LIST_ROWS; i += 2)
        {
            unsure += !put_two_added(is_signed, whole, &a, s + i, band, row + i);
        }
    }
    return row;
}

static inline __attribute__((always_inline)) int
add_lists_of(const bool is_signed, const native_int8_tile *t, const native_int8_band *band)
{
    if (band->cols == NR)
        return add_lists(is_signed, 2, true, t, band);
    return band->cols > NR / 2 ? add_lists(is_signed, 2, false, t, band)
                               : add_lists(is_signed, 1, false, t, band);
}

static inline __attribute__((always_inline)) int
finish_lists_of(const bool is_signed, const native_int8_tile *t, const native_int8_band *band)
{
    switch (pair_form_of(is_signed, band)) {
    case ALL_UNLIMITED:
        return finish_lists(is_signed, 2, ALL_UNLIMITED, t, band);
    case ALL_COLUMNS:
        return finish_lists(is_signed, 2, ALL_COLUMNS, t, band);
    default:
        return band->cols > NR / 2 ? finish_lists(is_signed, 2, SOME_COLUMNS, t, band)
                                   : finish_lists(is_signed, 1, SOME_COLUMNS, t, band);
    }
}

static int list_panel(const native_int8_tile *t, const native_int8_band *band)
{
    if (!is_for_avx2(band->finish))
        return 0;
    if (is_for_added(band))
        return band->finish->then->sum_signed ? add_lists_of(true, t, band)
                                              : add_lists_of(false, t, band);
    if (!is_for_pairs(band))
        return 0;
    return band->finish->result == NATIVE_INT8_TO_I8 ? finish_lists_of(true, t, band)
                                                     : finish_lists_of(false, t, band);
}
