/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int8_halves_avx2.h: products by constant weights of any size by vpmaddubsw, which sums two
 * products of a uint8 and an int8 in 16 bits and saturates. It cannot where the two of A sum to at
 * most 256: 256 * 127 and 256 * -128 fit. That holds for most terms that are near their zero point
 * or made by a Relu, and is seen once for all columns of B. So rows are packed as bytes, `shift`
 * above their differences to the zero point, in tiles of four rows, and groups of four terms
 *
 *   in which two sum to more       are halves: the other halves are added later
 *   with a difference below -shift are cut there: what is missing is taken off later
 *
 * A tile with too many such groups stays differences of 16 bits, which vpmaddwd multiplies. In one
 * with few in which four of A sum to more, two groups are an eight, as in int8_lists.h: its sums of
 * four products stay in 16 bits too, and where they would not fit, the second group is added later.
 * Rows behind a Relu or a Gelu are mostly so. All sums are exact.
 *
 * On Zen 3, operands in the first cache: 99e9 products a second where no group is special, 81e9 by
 * int8_tile.h. 197 x 3072 by 3072 x 768 behind a Gelu take 4.9 ms with eights, 5.5 without.
 */

enum { HALF_ROWS = 4, HALF_BAND = 24, HALF_SHIFT = 76, HALF_MOST = 256 };

/* Four terms of a row that are added or taken off, and their group. */
typedef struct half_group {
    int32_t group;
    uint8_t terms[4];
} half_group;

/* Of a tile; then its groups, those of each row one after the other, what is taken off first. */
typedef struct half_lists {
    int32_t shift, is_wide; /* is_wide: rows are 16 bits */
    int32_t in_eights;
    int32_t cuts[HALF_ROWS], halves[HALF_ROWS]; /* halves: and second groups of eights */
} half_lists;

/* So many groups of lists take as long as what they save. */
static inline int64_t half_most(int64_t k)
{
    return k / 6;
}

/* One of twelve eights: a group of a list takes as long as four or five of them save. */
static inline int64_t half_most_eights(int64_t k, int rows)
{
    return k * rows / 96;
}

static int64_t half_bytes(int64_t k)
{
    return (int64_t)(sizeof(half_lists) + (size_t)half_most(k) * sizeof(half_group));
}

/* ---- rows ---- */

static inline int16_t *half_row(uint8_t *rows, int64_t step, int64_t i)
{
    return (int16_t *)(void *)(rows + i * step);
}

/* Bits of the groups of four among 16 terms: halves in the low ones, cuts 8 above them. */
static inline uint32_t special_groups(const int16_t *row, __m256i shift)
{
    const __m256i zero = _mm256_setzero_si256(), x = _mm256_add_epi16(terms_at(row), shift);
    const __m256i pairs = _mm256_madd_epi16(_mm256_max_epi16(x, zero), _mm256_set1_epi16(1));
    const __m256i large = _mm256_cmpgt_epi32(pairs, _mm256_set1_epi32(HALF_MOST));
    const __m256i either = _mm256_or_si256(large, _mm256_slli_epi64(large, 32));
    const __m256i below = _mm256_and_si256(x, _mm256_set1_epi16(INT16_MIN));
    const __m256i none = _mm256_cmpeq_epi64(zero, below);
    const uint32_t halves = (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(either));

    return halves | ((uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(none)) ^ 0xf) << 8;
}

static int64_t count_special(const int16_t *row, int64_t k, int shift)
{
    const __m256i up = _mm256_set1_epi16((int16_t)shift);
    int64_t found = 0;

    for (int64_t i = 0; i < k; i += 16)
        found += __builtin_popcount(special_groups(row + i, up));
    return found;
}

/* A half of each of four terms, of which the row keeps the other one. */
static void take_halves(int16_t *x, int shift, uint8_t *to)
{
    for (int j = 0; j < 4; j++) {
        const int above = x[j] + shift > 0 ? x[j] + shift : 0;
        to[j] = (uint8_t)(above - above / 2);
        x[j] = (int16_t)(above / 2 - shift);
    }
}

/* What four terms lack, of which the row will have 0. */
static void take_cuts(const int16_t *x, int shift, uint8_t *to)
{
    for (int j = 0; j < 4; j++)
        to[j] = (uint8_t)(x[j] + shift < 0 ? -(x[j] + shift) : 0);
}

/* How many there are of a kind. */
static int take_special(int16_t *row, int64_t k, int shift, bool cuts, half_group *to)
{
    const __m256i up = _mm256_set1_epi16((int16_t)shift);
    int found = 0;

    for (int64_t i = 0; i < k; i += 16) {
        uint32_t bits = special_groups(row + i, up) >> (cuts ? 8 : 0) & 0xf;
        for (; bits; bits &= bits - 1, to++, found++) {
            const int64_t first = i + 4 * __builtin_ctz(bits);
            to->group = (int32_t)(first / 4);
            if (cuts)
                take_cuts(row + first, shift, to->terms);
            else
                take_halves(row + first, shift, to->terms);
        }
    }
    return found;
}

/* To bytes, in front of what is still to be read. */
static void narrow_row(int16_t *row, int64_t k, int shift)
{
    const __m256i up = _mm256_set1_epi16((int16_t)shift);
    uint8_t *to = (uint8_t *)row;

    for (int64_t i = 0; i < k; i += 16) {
        const __m256i x = _mm256_add_epi16(terms_at(row + i), up);
        const __m128i y =
            _mm_packus_epi16(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
        _mm_storeu_si128((__m128i *)(void *)(to + i), y);
    }
}

/*
 * n rows of k differences, padded to 16. Cuts come first, while groups that become halves still
 * have them.
 */
static void halve_tile(uint8_t *rows, int64_t step, int n, int64_t k, int shift, half_lists *l)
{
    half_group *to = (half_group *)(void *)(l + 1);
    int64_t found = 0;

    *l = (half_lists){.shift = shift, .is_wide = 1};
    for (int i = 0; i < n && shift >= 0; i++)
        found += count_special(half_row(rows, step, i), k, shift);
    if (shift < 0 || found > half_most(k))
        return;
    l->is_wide = 0;
    for (int i = 0; i < n; i++) {
        int16_t *row = half_row(rows, step, i);
        to += l->cuts[i] = take_special(row, k, shift, true, to);
        to += l->halves[i] = take_special(row, k, shift, false, to);
        narrow_row(row, k, shift);
    }
}

/* Above differences, where all rows have one zero point; halves and cuts are at most 128 then. */
static inline int half_shift(int32_t a_zero)
{
    const int above = a_zero - HALF_MOST / 2 > HALF_SHIFT ? a_zero - HALF_MOST / 2 : HALF_SHIFT;

    return a_zero < HALF_SHIFT ? a_zero : above;
}

static void halve_rows(uint8_t *rows, int64_t step, int64_t n, int64_t k, int32_t a_zero,
                       uint8_t *lists)
{
    const int shift = half_shift(a_zero);

    for (int64_t i = 0; i < n; i += HALF_ROWS, lists += half_bytes(k))
        halve_tile(rows + i * step, step, (int)(n - i < HALF_ROWS ? n - i : HALF_ROWS), k, shift,
                   (half_lists *)(void *)lists);
}

/* ---- rows where they lie ---- */

/* Rows of bytes become the same without 16 bits between; and eights, which others are not in. */
enum { HALF_WORDS = 256, HALF_WORD = 32 /* terms */ };
typedef struct half_rows {
    const native_int8_rows *rows; /* of one tile */
    uint8_t flip;                 /* makes them unsigned */
    int32_t zero;
    int off; /* of which the bytes are the differences */
    /* Of 32 terms: bits of groups as special_groups has them, 16 above them those of eights. */
    uint32_t special[HALF_ROWS][HALF_WORDS];
    int64_t groups, eights; /* so many are special */
} half_rows;

/* Eights in which four that are summed together have more, from the sums of pairs. */
static inline uint32_t large_eights(__m256i pairs)
{
    const __m256i fours = _mm256_add_epi16(pairs, _mm256_srli_epi64(pairs, 32));
    const __m256i large = _mm256_cmpgt_epi16(fours, _mm256_set1_epi16(HALF_MOST));
    const __m256i few = _mm256_cmpeq_epi64(_mm256_slli_epi64(large, 32), _mm256_setzero_si256());

    return (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(few)) ^ 0xf;
}

/* The bytes of 32 terms; what is special. */
static inline uint32_t halve_word(const half_rows *h, __m256i x, uint8_t *to)
{
    const __m256i off = _mm256_set1_epi8((char)h->off);
    const __m256i y = _mm256_subs_epu8(x, off), below = _mm256_subs_epu8(off, x);
    const __m256i pairs = _mm256_maddubs_epi16(y, _mm256_set1_epi8(1));
    const __m256i large = _mm256_cmpgt_epi16(pairs, _mm256_set1_epi16(HALF_MOST));
    const __m256i few = _mm256_cmpeq_epi32(large, _mm256_setzero_si256());
    const __m256i none = _mm256_cmpeq_epi32(below, _mm256_setzero_si256());

    _mm256_storeu_si256((__m256i *)(void *)to, y);
    return ((uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(few)) ^ 0xff) |
           ((uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(none)) ^ 0xff) << 8 |
           large_eights(pairs) << 16;
}

/* The bytes of a row; behind its end are zero points. */
static void halve_words(half_rows *h, int row)
{
    const native_int8_rows *r = h->rows;
    const uint8_t *from = r->from + row * r->from_step;
    uint8_t *to = (uint8_t *)r->to + row * r->to_step, last[HALF_WORD];
    const __m256i flip = _mm256_set1_epi8((char)h->flip);

    for (int64_t i = 0; i < r->n; i += HALF_WORD) {
        const uint8_t *p = from + i;
        uint32_t bits;
        if (i + HALF_WORD > r->n) {
            memset(last, h->zero ^ h->flip, sizeof last);
            memcpy(last, p, (size_t)(r->n - i));
            p = last;
        }
        bits = halve_word(h, _mm256_xor_si256(terms_at(p), flip), to + i);
        h->special[row][i / HALF_WORD] = bits;
        h->groups += __builtin_popcount(bits & 0xffff);
        h->eights += __builtin_popcount(bits >> 16);
    }
}

/* What four terms lack of the row's bytes, which are 0 there. */
static void take_missing(const half_rows *h, int row, int64_t first, uint8_t *to)
{
    const native_int8_rows *r = h->rows;
    const uint8_t *from = r->from + row * r->from_step;

    for (int64_t j = 0; j < 4; j++) {
        const int x = first + j < r->n ? from[first + j] ^ h->flip : h->off;
        to[j] = (uint8_t)(x < h->off ? h->off - x : 0);
    }
}

static void halve_bytes(uint8_t *y, uint8_t *to)
{
    for (int j = 0; j < 4; j++) {
        to[j] = (uint8_t)(y[j] - y[j] / 2);
        y[j] /= 2;
    }
}

static int list_special(const half_rows *h, int row, bool cuts, half_group *to)
{
    const int64_t words = (h->rows->n + HALF_WORD - 1) / HALF_WORD;
    uint8_t *y = (uint8_t *)h->rows->to + row * h->rows->to_step;
    int found = 0;

    for (int64_t w = 0; w < words; w++) {
        uint32_t bits = h->special[row][w] >> (cuts ? 8 : 0) & 0xff;
        for (; bits; bits &= bits - 1, to++, found++) {
            const int64_t group = w * (HALF_WORD / 4) + __builtin_ctz(bits);
            to->group = (int32_t)group;
            if (cuts)
                take_missing(h, row, group * 4, to->terms);
            else
                halve_bytes(y + group * 4, to->terms);
        }
    }
    return found;
}

/* The second groups of large eights, which the row has no more then. */
static int move_groups(const half_rows *h, int row, half_group *to)
{
    const int64_t words = (h->rows->n + HALF_WORD - 1) / HALF_WORD;
    uint8_t *y = (uint8_t *)h->rows->to + row * h->rows->to_step;
    int found = 0;

    for (int64_t w = 0; w < words; w++) {
        for (uint32_t bits = h->special[row][w] >> 16; bits; bits &= bits - 1) {
            const int64_t group = w * (HALF_WORD / 4) + 2 * __builtin_ctz(bits) + 1;
            if (group * 4 >= h->rows->n) /* behind the end, where no weights are */
                continue;
            to->group = (int32_t)group;
            memcpy(to->terms, y + group * 4, 4);
            memset(y + group * 4, 0, 4);
            to++;
            found++;
        }
    }
    return found;
}

/* As differences of 16 bits, padded. */
static void take_padded(const native_int8_rows *r, int64_t k)
{
    take_wide(r);
    for (int64_t i = 0; i < r->rows && k > r->n; i++)
        memset((int16_t *)(void *)((char *)r->to + i * r->to_step) + r->n, 0,
               (size_t)(k - r->n) * sizeof(int16_t));
}

static void take_tile(half_rows *h, int64_t k, half_lists *l)
{
    const int rows = (int)h->rows->rows;
    half_group *to = (half_group *)(void *)(l + 1);

    *l = (half_lists){.shift = h->zero - h->off};
    h->groups = h->eights = 0;
    for (int i = 0; i < rows; i++)
        halve_words(h, i);
    if (h->groups > half_most(k)) {
        l->is_wide = 1;
        take_padded(h->rows, k);
        return;
    }
    l->in_eights = h->eights <= half_most_eights(k, rows) && h->groups + h->eights <= half_most(k);
    for (int i = 0; i < rows; i++) {
        int moved = 0;
        to += l->cuts[i] = list_special(h, i, true, to);
        to += l->halves[i] = list_special(h, i, false, to);
        if (l->in_eights)
            moved = move_groups(h, i, to);
        l->halves[i] += moved;
        to += moved;
    }
}

/* k: r->n, padded to 16. */
static bool take_halved(const native_int8_rows *r, int64_t k, uint8_t *lists)
{
    native_int8_rows some = *r;
    half_rows h = {.rows = &some, .flip = r->is_signed ? 0x80 : 0};

    if (k > HALF_WORDS * HALF_WORD)
        return false;
    h.zero = r->zero + h.flip;
    h.off = h.zero - half_shift(h.zero);
    for (int64_t i = 0; i < r->rows; i += HALF_ROWS, lists += half_bytes(k)) {
        some.to = (char *)r->to + i * r->to_step;
        some.from = r->from + i * r->from_step;
        some.rows = r->rows - i < HALF_ROWS ? r->rows - i : HALF_ROWS;
        take_tile(&h, k, (half_lists *)(void *)lists);
    }
    return true;
}

/* ---- tiles ---- */

static inline __m256i dot_bytes(__m256i a, __m256i b)
{
    return _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), _mm256_set1_epi16(1));
}

/* Groups of a list, of one row. */
static inline __attribute__((always_inline)) const half_group *
add_special(const bool less, __m256i *s, const half_group *h, int n, const int8_t *b)
{
    for (; n > 0; n--, h++) {
        const __m256i x = all_of(h->terms);
        const __m256i y = dot_bytes(x, weights_at(b + (int64_t)h->group * 64));
        const __m256i z = dot_bytes(x, weights_at(b + (int64_t)h->group * 64 + 32));
        s[0] = less ? _mm256_sub_epi32(s[0], y) : plus(s[0], y);
        s[1] = less ? _mm256_sub_epi32(s[1], z) : plus(s[1], z);
    }
    return h;
}

/* From a tile whose rows are bytes; begin: what its sums begin with, of each column. */
static inline __attribute__((always_inline)) void
sum_halves(const int rows, const native_int8_tile *t, const half_lists *l, pair_i begin)
{
    const half_group *h = (const half_group *)(const void *)(l + 1);
    const uint8_t *a = t->a;
    const int8_t *b = t->b;
    __m256i s[HALF_ROWS][2];
    int64_t g = 0;

    EVERY(int i = 0; i < rows; i++)
    {
        s[i][0] = begin.low;
        s[i][1] = begin.high;
    }
    if (l->in_eights)
        for (; g + 2 <= t->groups; g += 2, a += 8, b += 128) {
            const __m256i b0 = weights_at(b), b1 = weights_at(b + 32);
            const __m256i c0 = weights_at(b + 64), c1 = weights_at(b + 96);
            EVERY(int i = 0; i < rows; i++)
            {
                const __m256i x = all_of(a + i * t->a_step), y = all_of(a + 4 + i * t->a_step);
                s[i][0] = plus(s[i][0], dot(true, x, b0, y, c0));
                s[i][1] = plus(s[i][1], dot(true, x, b1, y, c1));
            }
        }
    for (; g < t->groups; g++, a += 4, b += 64) {
        const __m256i b0 = weights_at(b), b1 = weights_at(b + 32);
        EVERY(int i = 0; i < rows; i++)
        {
            const __m256i x = all_of(a + i * t->a_step);
            s[i][0] = plus(s[i][0], dot_bytes(x, b0));
            s[i][1] = plus(s[i][1], dot_bytes(x, b1));
        }
    }
    EVERY(int i = 0; i < rows; i++)
    {
        h = add_special(true, s[i], h, l->cuts[i], t->b);
        h = add_special(false, s[i], h, l->halves[i], t->b);
        I_STORE(t->sums + i * NR, s[i][0]);
        I_STORE(t->sums + i * NR + 8, s[i][1]);
    }
}

/* Four terms of a row for four columns. */
static inline __m256i wide_group_at(const int16_t *p)
{
    return _mm256_broadcastq_epi64(_mm_loadl_epi64((const __m128i *)(const void *)p));
}

/* Of rows of 16 bits, 8 columns. */
static inline __attribute__((always_inline)) void
sum_wide_groups(const int rows, const native_int8_tile *t, int column)
{
    __m256i s[HALF_ROWS][2];

    EVERY(int i = 0; i < rows; i++)
    {
        s[i][0] = s[i][1] = _mm256_setzero_si256();
    }
    for (int64_t g = 0; g < t->groups; g++) {
        const int8_t *b = t->b + g * 64 + column * 4;
        const __m256i b0 = wide_weights_at(b), b1 = wide_weights_at(b + 16);
        EVERY(int i = 0; i < rows; i++)
        {
            const __m256i x =
                wide_group_at((const int16_t *)(const void *)(t->a + i * t->a_step) + g * 4);
            s[i][0] = plus(s[i][0], _mm256_madd_epi16(x, b0));
            s[i][1] = plus(s[i][1], _mm256_madd_epi16(x, b1));
        }
    }
    EVERY(int i = 0; i < rows; i++)
    {
        const __m256i sums = _mm256_hadd_epi32(s[i][0], s[i][1]);
        I_STORE(t->sums + i * NR + column, _mm256_permute4x64_epi64(sums, 0xd8));
    }
}

static inline __attribute__((always_inline)) void half_tile_of(const int rows,
                                                               const native_int8_tile *t,
                                                               const half_lists *l,
                                                               const native_int8_columns *c)
{
    const __m256i shift = _mm256_set1_epi32(-l->shift);
    const pair_i all = load_pair(c->all);
    const pair_i begin = {_mm256_mullo_epi32(all.low, shift), _mm256_mullo_epi32(all.high, shift)};

    if (!l->is_wide) {
        sum_halves(rows, t, l, begin);
        return;
    }
    sum_wide_groups(rows, t, 0);
    sum_wide_groups(rows, t, 8);
}

static void half_tile(const native_int8_tile *t, const half_lists *l, const native_int8_columns *c)
{
    switch (t->rows) {
    case 1:
        half_tile_of(1, t, l, c);
        break;
    case 2:
        half_tile_of(2, t, l, c);
        break;
    case 3:
        half_tile_of(3, t, l, c);
        break;
    default:
        half_tile_of(4, t, l, c);
    }
}

/* All rows. */
static int half_panel(const native_int8_tile *tile, const native_int8_band *band)
{
    const int64_t k = (tile->groups * 4 + 15) / 16 * 16, bytes = half_bytes(k);
    _Alignas(64) int32_t sums[HALF_BAND * NR];
    native_int8_tile t = *tile;

    for (int row = 0; row < band->rows; row += HALF_BAND) {
        native_int8_band b = native_int8_band_from(band, row);
        b.sums = sums;
        b.rows = band->rows - row < HALF_BAND ? band->rows - row : HALF_BAND;
        for (int i = 0; i < b.rows; i += HALF_ROWS) {
            const uint8_t *l = band->lists + (row + i) / HALF_ROWS * bytes;
            t.a = tile->a + (row + i) * t.a_step;
            t.rows = b.rows - i < HALF_ROWS ? b.rows - i : HALF_ROWS;
            t.sums = sums + i * NR;
            half_tile(&t, (const half_lists *)(const void *)l, band->columns);
        }
        finish(&b);
    }
    return band->rows;
}
