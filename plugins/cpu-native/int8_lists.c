/* SPDX-License-Identifier: Apache-2.0 */
/* int8_lists.c: reads constant weights by windows of 16 terms, and writes what they are sorted
 * into. */
#include "int8_lists.h"

#include <string.h>

#include "int8_sort.h"

enum { COLUMNS = NATIVE_LIST_COLUMNS, WINDOW = NATIVE_LIST_WINDOW, EIGHT = NATIVE_LIST_TERMS };
enum { LINE = 64 };

static int64_t ceil_to(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static int64_t weights_at(int64_t k)
{
    const int64_t eights = ceil_to(k, EIGHT) / EIGHT;

    return ceil_to(
        (int64_t)(sizeof(native_int8_lists) + (size_t)eights * sizeof(native_int8_eight)), LINE);
}

size_t native_int8_lists_bytes(int64_t k)
{
    return (size_t)(weights_at(k) + ceil_to(k, EIGHT) / EIGHT * NATIVE_LIST_BYTES);
}

/* ---- reading ---- */

static void read_term(const native_int8_matrix *b, uint8_t flip, int64_t term, int64_t column,
                      int columns, int8_t *to)
{
    const uint8_t *from = (const uint8_t *)b->at + column * b->n_step +
                          term / b->inner * b->outer_step + term % b->inner * b->inner_step;

    for (int j = 0; j < columns; j++)
        to[j] = (int8_t)(from[j * b->n_step] ^ flip);
}

static void split_term(const int8_t *w, native_int8_parts *to)
{
    for (int j = 0; j < COLUMNS; j++) {
        to->above[j] = (uint8_t)(w[j] > 0 ? w[j] : 0);
        to->below[j] = (uint8_t)(w[j] < 0 ? -w[j] : 0);
    }
}

/* Sums of squares with the number of the term in the low bits, the greatest first. */
static void sort_sizes(int32_t *sizes, int n)
{
    for (int i = 1; i < n; i++) {
        const int32_t size = sizes[i];
        int j = i;
        for (; j > 0 && sizes[j - 1] < size; j--)
            sizes[j] = sizes[j - 1];
        sizes[j] = size;
    }
}

/* Terms [k0, k0 + n), of which the first is byte `offset` of the 16; how many there are then. */
static int read_window(native_int8_terms *s, const native_int8_matrix *b, bool is_signed,
                       int64_t k0, int n, int offset, int64_t column, int columns)
{
    int8_t w[WINDOW][COLUMNS];
    int32_t sizes[WINDOW];

    memset(w, 0, sizeof w);
    for (int i = 0; i < n; i++) {
        int32_t size = 0;
        read_term(b, is_signed ? 0 : 0x80, k0 + i, column, columns, w[i]);
        for (int j = 0; j < COLUMNS; j++)
            size += w[i][j] * w[i][j];
        sizes[i] = size * WINDOW + i;
    }
    sort_sizes(sizes, n);
    for (int i = 0; i < WINDOW; i++) {
        const int from = i < n ? sizes[i] % WINDOW : i;
        memcpy(s->w[i], w[from], COLUMNS);
        split_term(s->w[i], &s->term[i]);
        s->place[i] = (uint8_t)(i < n ? from + offset : NATIVE_LIST_NONE);
    }
    return n <= EIGHT ? EIGHT : WINDOW;
}

/* ---- writing ---- */

/* [columns][n], of terms that follow each other. */
static int8_t *put_terms(const native_int8_terms *s, const uint8_t *terms, int n, int8_t *to)
{
    for (int j = 0; j < COLUMNS; j++)
        for (int i = 0; i < n; i++)
            *to++ = s->w[terms[i]][j];
    return to;
}

static void put_eight(const native_int8_terms *s, const native_int8_sorted *e, int32_t first,
                      native_int8_eight *to, int8_t *weights)
{
    const int n = e->list == NATIVE_INT8_WIDE ? 2 : 4;

    to->first = first;
    for (int i = 0; i < EIGHT; i++)
        to->term[i] = s->place[e->term[i]];
    for (int i = 0; i < EIGHT; i += n)
        weights = put_terms(s, e->term + i, n, weights);
}

static native_int8_eight *eight_of(native_int8_lists *l, int64_t i)
{
    return (native_int8_eight *)(l + 1) + i;
}

static int8_t *weights_of(native_int8_lists *l, int64_t i)
{
    return (int8_t *)l + l->weights + i * NATIVE_LIST_BYTES;
}

static void move_eight(native_int8_lists *l, int64_t from, int64_t to)
{
    if (from == to)
        return;
    *eight_of(l, to) = *eight_of(l, from);
    memcpy(weights_of(l, to), weights_of(l, from), NATIVE_LIST_BYTES);
}

/* Octets from the front on; of `all` eights wides are the last ones, and quads in front of them. */
static int64_t place_of(native_int8_lists *l, native_int8_list which, int64_t all)
{
    const int64_t quads = all - l->wides - l->quads;

    switch (which) {
    case NATIVE_INT8_OCTET:
        return l->octets++;
    case NATIVE_INT8_QUADS:
        l->quads++;
        return quads - 1;
    default: /* the place of a quad, which goes to the front of them */
        l->wides++;
        move_eight(l, all - l->wides, quads - 1);
        return all - l->wides;
    }
}

void native_int8_make_lists(const native_int8_matrix *b, bool is_signed, int64_t k, int64_t column,
                            int columns, native_int8_lists *to)
{
    const int64_t all = ceil_to(k, EIGHT) / EIGHT;
    int64_t k0;
    native_int8_terms s;

    memset(to, 0, sizeof *to);
    to->weights = (int32_t)weights_at(k);
    for (k0 = 0; k0 < k; k0 += WINDOW) {
        const int n = (int)(k - k0 < WINDOW ? k - k0 : WINDOW);
        /* The last one ends where the row does, which may be the end of memory. */
        const int64_t first = n < WINDOW && k > WINDOW ? k - WINDOW : k0;
        native_int8_sorted eights[2];
        const int slots = read_window(&s, b, is_signed, k0, n, (int)(k0 - first), column, columns);
        native_int8_sort_terms(&s, slots, eights);
        for (int i = 0; i < slots / EIGHT; i++) {
            const int64_t at = place_of(to, eights[i].list, all);
            put_eight(&s, &eights[i], (int32_t)first, eight_of(to, at), weights_of(to, at));
        }
    }
}

/* ---- whether ---- */

/*
 * By what an eight takes in each list, in hundredths of a cycle for a row on Zen 3; vpmaddwd in
 * tiles of 6 rows takes 510, int8_halves_avx2.h 470, and their rows have to be packed for all
 * panels. A tile of lists begins and ends more slowly than one of vpmaddwd, by 450 for a row:
 * 3136 x 32 by 32 x 192 take 0.43 ms with quads, and 0.36 by vpmaddwd.
 */
bool native_int8_suits_lists(const native_int8_matrix *b, bool is_signed, int64_t k, int64_t n,
                             bool halves, bool in_place)
{
    enum { SAMPLES = 16, EACH = 510, HALVED = 470, PACKED = 100, START = 450 };
    static const int costs[] = {
        [NATIVE_INT8_OCTET] = 350, [NATIVE_INT8_QUADS] = 430, [NATIVE_INT8_WIDE] = 640};
    const int64_t windows = ceil_to(k, WINDOW) / WINDOW, panels = ceil_to(n, COLUMNS) / COLUMNS;
    const int64_t start = halves ? 0 : START / (ceil_to(k, EIGHT) / EIGHT);
    int cost = 0, found = 0;
    native_int8_terms s;

    for (int i = 0; i < SAMPLES; i++) {
        const int64_t k0 = windows * (i * 7 % SAMPLES) / SAMPLES * WINDOW;
        const int64_t column = panels * i / SAMPLES * COLUMNS;
        const int columns = (int)(n - column < COLUMNS ? n - column : COLUMNS);
        native_int8_sorted eights[2];
        const int slots = read_window(&s, b, is_signed, k0,
                                      (int)(k - k0 < WINDOW ? k - k0 : WINDOW), 0, column, columns);
        native_int8_sort_terms(&s, slots, eights);
        for (int e = 0; e < slots / EIGHT; e++)
            cost += costs[eights[e].list];
        found += slots / EIGHT;
    }
    return cost + found * start <=
           found * ((halves ? HALVED : EACH) + (in_place ? PACKED / panels : 0));
}
