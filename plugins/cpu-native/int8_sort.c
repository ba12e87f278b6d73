/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int8_sort.c: sorts 16 terms of constant weights by how much their products may sum to.
 *
 * All pairs are looked at once. Octets are searched for depth first, the term with the greatest
 * weights first, within a number of tries; what is left is paired, those that fit the fewest others
 * first. A window takes 2.4 us: a model's weights are sorted when it is planned.
 */
#include "int8_sort.h"

#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

enum { COLUMNS = NATIVE_LIST_COLUMNS, WINDOW = NATIVE_LIST_WINDOW, EIGHT = NATIVE_LIST_TERMS };
enum { TRIES = 60, GROUP = 4 };

/* ---- what products may sum to ---- */

#if defined(__SSE2__)
static inline __m128i sums_of(const uint8_t *a, const uint8_t *b)
{
    return _mm_adds_epu8(_mm_loadu_si128((const __m128i *)(const void *)a),
                         _mm_loadu_si128((const __m128i *)(const void *)b));
}

/* Sums end at 255. */
static inline void add_parts(const native_int8_parts *a, const native_int8_parts *b,
                             native_int8_parts *to)
{
    _mm_storeu_si128((__m128i *)(void *)to->above, sums_of(a->above, b->above));
    _mm_storeu_si128((__m128i *)(void *)to->below, sums_of(a->below, b->below));
}

static inline bool fit(const native_int8_parts *a, const native_int8_parts *b)
{
    const __m128i most = _mm_max_epu8(sums_of(a->above, b->above), sums_of(a->below, b->below));
    const __m128i beyond = _mm_subs_epu8(most, _mm_set1_epi8((char)NATIVE_LIST_MOST));

    return _mm_movemask_epi8(_mm_cmpeq_epi8(beyond, _mm_setzero_si128())) == 0xffff;
}
#else
static inline uint8_t limited_sum(int a, int b)
{
    return (uint8_t)(a + b > UINT8_MAX ? UINT8_MAX : a + b);
}

static inline void add_parts(const native_int8_parts *a, const native_int8_parts *b,
                             native_int8_parts *to)
{
    for (int j = 0; j < COLUMNS; j++) {
        to->above[j] = limited_sum(a->above[j], b->above[j]);
        to->below[j] = limited_sum(a->below[j], b->below[j]);
    }
}

static inline bool fit(const native_int8_parts *a, const native_int8_parts *b)
{
    for (int j = 0; j < COLUMNS; j++)
        if (a->above[j] + b->above[j] > NATIVE_LIST_MOST ||
            a->below[j] + b->below[j] > NATIVE_LIST_MOST)
            return false;
    return true;
}
#endif

/* ---- a window ---- */

static int lowest(uint32_t bits)
{
    return __builtin_ctz(bits);
}

/* Takes it out. */
static int take_lowest(uint32_t *bits)
{
    const int i = lowest(*bits);

    *bits &= *bits - 1;
    return i;
}

static void find_fits(native_int8_terms *s, int n)
{
    memset(s->fits, 0, sizeof s->fits);
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            if (fit(&s->term[i], &s->term[j])) {
                s->fits[i] |= 1u << j;
                s->fits[j] |= 1u << i;
                add_parts(&s->term[i], &s->term[j], &s->pair[i][j]);
            }
}

/*
 * Puts the terms of `left` into groups of four whose products may be summed, `wanted` of them. The
 * greatest term has to be in one; the greatest others are tried first.
 */
static bool find_groups(native_int8_terms *s, uint32_t left, int wanted, uint8_t (*groups)[GROUP])
{
    const int i = wanted ? lowest(left) : 0;
    uint32_t js, ks, ls;

    if (!wanted)
        return true;
    for (js = left & s->fits[i]; js;) {
        const int j = take_lowest(&js);
        for (ks = js & s->fits[j]; ks;) {
            const int k = take_lowest(&ks);
            for (ls = ks & s->fits[k]; ls;) {
                const int l = take_lowest(&ls);
                const uint8_t group[GROUP] = {(uint8_t)i, (uint8_t)j, (uint8_t)k, (uint8_t)l};
                if (--s->tries < 0)
                    return false;
                if (!fit(&s->pair[i][j], &s->pair[k][l]))
                    continue;
                memcpy(groups[0], group, sizeof group);
                if (find_groups(s, left & ~(1u << i | 1u << j | 1u << k | 1u << l), wanted - 1,
                                groups + 1))
                    return true;
            }
        }
    }
    return false;
}

/* Of 16 bits. */
static int count(uint32_t bits)
{
    bits -= bits >> 1 & 0x5555;
    bits = (bits & 0x3333) + (bits >> 2 & 0x3333);
    bits = (bits + (bits >> 4)) & 0x0f0f;
    return (int)((bits + (bits >> 8)) & 0x1f);
}

/* The term of `among` that fits the fewest of `left`, or -1. */
static int most_picky(const native_int8_terms *s, uint32_t among, uint32_t left)
{
    int found = -1, least = WINDOW + 1;

    for (; among; among &= among - 1) {
        const int i = lowest(among), n = count(s->fits[i] & left);
        if (n < least) {
            least = n;
            found = i;
        }
    }
    return found;
}

/* Pairs that fit in front, then all other terms of `left`; the number of the former. */
static int find_pairs(const native_int8_terms *s, uint32_t left, uint8_t *terms)
{
    uint32_t alone = 0;
    int n = 0, at, i, j;

    while (left) {
        i = most_picky(s, left, left);
        j = most_picky(s, left & s->fits[i], left);
        left &= ~(1u << i);
        if (j < 0) {
            alone |= 1u << i;
            continue;
        }
        left &= ~(1u << j);
        terms[2 * n] = (uint8_t)i;
        terms[2 * n + 1] = (uint8_t)j;
        n++;
    }
    for (at = 2 * n; alone; alone &= alone - 1)
        terms[at++] = (uint8_t)lowest(alone);
    return n;
}

static void take_octet(uint8_t (*groups)[GROUP], native_int8_sorted *to)
{
    to->list = NATIVE_INT8_OCTET;
    for (int i = 0; i < 2; i++) {
        memcpy(to->term + 2 * i, groups[i], 2);
        memcpy(to->term + GROUP + 2 * i, groups[i] + 2, 2);
    }
}

/* Quads and wides of the terms of `left`; the number of the latter. */
static int put_pairs(const native_int8_terms *s, uint32_t left, native_int8_sorted *to)
{
    uint8_t terms[WINDOW];
    const int n = count(left) / EIGHT, fitting = find_pairs(s, left, terms) * 2 / EIGHT;

    for (int i = 0; i < n; i++) {
        to[i].list = i < fitting ? NATIVE_INT8_QUADS : NATIVE_INT8_WIDE;
        memcpy(to[i].term, terms + i * EIGHT, EIGHT);
    }
    return n - fitting;
}

void native_int8_sort_terms(native_int8_terms *s, int n, native_int8_sorted *to)
{
    const uint32_t all = (1u << n) - 1;
    uint8_t groups[WINDOW / GROUP][GROUP];
    int least = WINDOW, wides, skipped;
    native_int8_sorted some[2];

    find_fits(s, n);
    s->tries = TRIES;
    if (find_groups(s, all, n / GROUP, groups)) {
        for (int i = 0; i < n / EIGHT; i++)
            take_octet(groups + 2 * i, &to[i]);
        return;
    }
    for (skipped = 0; skipped <= n - EIGHT && n > EIGHT && least > 0; skipped += GROUP) {
        uint32_t left = all;
        s->tries = TRIES;
        if (!find_groups(s, all & ~((1u << skipped) - 1), 2, groups))
            continue;
        for (int i = 0; i < 2 * GROUP; i++)
            left &= ~(1u << groups[i / GROUP][i % GROUP]);
        take_octet(groups, &some[0]);
        wides = put_pairs(s, left, &some[1]);
        if (wides < least) {
            least = wides;
            memcpy(to, some, sizeof some);
        }
    }
    if (least == 0)
        return;
    wides = put_pairs(s, all, some);
    if (wides < least)
        memcpy(to, some, (size_t)(n / EIGHT) * sizeof *some);
}
