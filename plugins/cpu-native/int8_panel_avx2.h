/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int8_panel_avx2.h: products of 16 bits by a panel, whose sums are bytes before they leave their
 * registers, where B has one zero point. What int8_tile.h and int8_finish_avx2.h say of it.
 * Convolutions of few channels to many have as much to finish as to multiply.
 */

typedef __m256i wide_sums[MR][NV];

static inline __attribute__((always_inline)) void sum_wides(const int vectors, wide_sums s,
                                                            const native_int8_tile *t, pair_i begin)
{
    const uint8_t *a = t->a, *later = a + 3 * t->a_step;
    const int8_t *b = t->b;

    EVERY(int i = 0; i < MR; i++)
    {
        s[i][0] = begin.low;
        s[i][1] = begin.high;
    }
    for (int64_t g = t->groups; g > 0; g--, a += 4, later += 4, b += NV * GROUP_BYTES) {
        const __m256i low = I_GROUP(b), high = vectors > 1 ? I_GROUP(b + GROUP_BYTES) : low;
        EVERY(int i = 0; i < MR; i++)
        {
            const __m256i x = all_of((i < 3 ? a : later) + i % 3 * t->a_step);
            s[i][0] = I_DOT(s[i][0], x, low);
            if (vectors > 1)
                s[i][1] = I_DOT(s[i][1], x, high);
        }
    }
}

/* As many rows as are in sixes; how many. */
static inline __attribute__((always_inline)) int
finish_wides(const bool is_signed, const int vectors, const pair_form form,
             const native_int8_tile *tile, const native_int8_band *band)
{
    const rounding r = rounding_of(band);
    native_int8_tile t = *tile;
    uint8_t *to = band->c;
    int row = 0;

    for (; row + MR <= band->rows; row += MR, t.a += MR * t.a_step) {
        wide_sums s;
        sum_wides(vectors, s, &t, r.term);
        if (band->row_terms)
            take_row_terms(MR, s, band->row_terms + row);
        EVERY(int i = 0; i < MR; i += 2)
        {
            put_two(is_signed, form, &r, s + i, band, row + i, to);
            to += 2 * band->ldc;
        }
    }
    return row;
}

static inline __attribute__((always_inline)) int
finish_wides_of(const bool is_signed, const native_int8_tile *t, const native_int8_band *band)
{
    switch (pair_form_of(is_signed, band)) {
    case ALL_UNLIMITED:
        return finish_wides(is_signed, 2, ALL_UNLIMITED, t, band);
    case ALL_COLUMNS:
        return finish_wides(is_signed, 2, ALL_COLUMNS, t, band);
    default:
        return band->cols > NR / 2 ? finish_wides(is_signed, 2, SOME_COLUMNS, t, band)
                                   : finish_wides(is_signed, 1, SOME_COLUMNS, t, band);
    }
}

/* The same with what is added to them, up to where many are unsure. */
static inline __attribute__((always_inline)) int add_to_wides(const bool is_signed,
                                                              const bool whole,
                                                              const native_int8_tile *tile,
                                                              const native_int8_band *band)
{
    const adding a = adding_of(band);
    native_int8_tile t = *tile;
    int row = 0, unsure = 0;

    for (; row + MR <= band->rows && unsure < MANY_UNSURE; row += MR, t.a += MR * t.a_step) {
        wide_sums s;
        sum_wides(2, s, &t, a.term);
        if (band->row_terms)
            take_row_terms(MR, s, band->row_terms + row);
        EVERY(int i = 0; i < MR; i += 2)
        {
            unsure += !put_two_added(is_signed, whole, &a, s + i, band, row + i);
        }
    }
    return row;
}

static int add_to_wides_of(const native_int8_tile *t, const native_int8_band *band)
{
    const bool whole = band->cols == NR;

    if (band->finish->then->sum_signed)
        return whole ? add_to_wides(true, true, t, band) : add_to_wides(true, false, t, band);
    return whole ? add_to_wides(false, true, t, band) : add_to_wides(false, false, t, band);
}

static int wide_panel(const native_int8_tile *t, const native_int8_band *band)
{
    if (!is_for_avx2(band->finish))
        return 0;
    if (is_for_added(band))
        return add_to_wides_of(t, band);
    if (!is_for_pairs(band))
        return 0;
    return band->finish->result == NATIVE_INT8_TO_I8 ? finish_wides_of(true, t, band)
                                                     : finish_wides_of(false, t, band);
}
