/* SPDX-License-Identifier: Apache-2.0 */
/* int8_lists.c: sorts the terms of constant weights by how much their products may sum to. */
#include "int8_lists.h"

#include <string.h>

enum { COLUMNS = NATIVE_LIST_COLUMNS, OCTET = 8, QUAD = 4, LINE = 64 };

/* Of 16 bits, so that compilers make vectors of the loops over columns. */
typedef struct octet {
    int16_t w[OCTET][COLUMNS];
} octet;

static int64_t ceil_to(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

size_t native_int8_lists_bytes(int64_t k, int64_t halves)
{
    const int64_t quads = ceil_to(k, QUAD) / QUAD;

    return (size_t)(ceil_to((int64_t)sizeof(native_int8_lists) + (quads + halves) * 4, LINE) +
                    quads * QUAD * COLUMNS + ceil_to(halves * QUAD * COLUMNS / 2, LINE));
}

/* ---- one octet ---- */

static void read_octet(const native_int8_matrix *b, bool is_signed, int64_t k0, int64_t k,
                       int64_t column, int columns, octet *to)
{
    const uint8_t *at = (const uint8_t *)b->at + column * b->n_step;
    const uint8_t flip = is_signed ? 0 : 0x80;

    memset(to, 0, sizeof *to);
    for (int i = 0; i < OCTET && k0 + i < k; i++) {
        const int64_t term = k0 + i;
        const uint8_t *from =
            at + term / b->inner * b->outer_step + term % b->inner * b->inner_step;
        for (int j = 0; j < columns; j++)
            to->w[i][j] = (int8_t)(from[j * b->n_step] ^ flip);
    }
}

static inline int16_t above(int16_t w, int16_t least)
{
    return w > least ? (int16_t)(w - least) : 0;
}

/* Whether four products may be summed in 16 bits. */
static bool is_narrow(const octet *o)
{
    int16_t most = 0;

    for (int i = 0; i < QUAD; i += 2)
        for (int j = 0; j < COLUMNS; j++) {
            const int16_t a = o->w[i][j], b = o->w[i + 1][j];
            const int16_t c = o->w[i + QUAD][j], d = o->w[i + QUAD + 1][j];
            const int16_t high = (int16_t)(above(a, 0) + above(b, 0) + above(c, 0) + above(d, 0));
            const int16_t low = (int16_t)(high - (a + b + c + d)), more = high > low ? high : low;
            most = most > more ? most : more;
        }
    return most <= NATIVE_LIST_MOST;
}

/*
 * Leaves pairs in the quad whose products may be summed, and takes the rest off; which halves? Only
 * two of the same sign can be too much, and then the rest has that sign, too.
 */
static int split_quad(int16_t (*w)[COLUMNS], int16_t (*rest)[COLUMNS])
{
    int16_t any[COLUMNS] = {0};
    int which = 0;

    memset(rest, 0, QUAD * sizeof *rest);
    for (int i = 0; i < QUAD; i += 2)
        for (int j = 0; j < COLUMNS; j++) {
            const int16_t sum = (int16_t)(w[i][j] + w[i + 1][j]);
            const int16_t r =
                (int16_t)(above(sum, NATIVE_LIST_MOST) - above((int16_t)-sum, NATIVE_LIST_MOST));
            rest[i][j] = r;
            w[i][j] = (int16_t)(w[i][j] - r);
            any[j] |= r;
        }
    for (int j = 0; j < COLUMNS; j++)
        which |= any[j] ? j < COLUMNS / 2 ? 1 : 2 : 0;
    return which;
}

/* ---- a panel ---- */

/* [8][4], for lists are of x86, which has the lowest byte first. */
static void put_half_quad(int8_t *to, int16_t (*w)[COLUMNS], int column)
{
    uint32_t four[COLUMNS / 2];

    for (int j = 0; j < COLUMNS / 2; j++)
        four[j] = (uint32_t)(w[0][column + j] & 0xff) | (uint32_t)(w[1][column + j] & 0xff) << 8 |
                  (uint32_t)(w[2][column + j] & 0xff) << 16 |
                  (uint32_t)(w[3][column + j] & 0xff) << 24;
    memcpy(to, four, sizeof four);
}

static void put_quad(int8_t *to, int16_t (*w)[COLUMNS])
{
    put_half_quad(to, w, 0);
    put_half_quad(to + QUAD * COLUMNS / 2, w, COLUMNS / 2);
}

/* What each octet becomes: counted in the first pass, written in the second. */
typedef struct places {
    int64_t octet, quad, half; /* the next ones, in the order of the lists */
} places;

static void put_half(const native_int8_lists *l, places *at, int64_t group, bool last,
                     int16_t (*rest)[COLUMNS])
{
    int32_t *number = (int32_t *)(uintptr_t)(l + 1);
    int8_t *weights = (int8_t *)(uintptr_t)l + l->weights;

    number[l->octets + l->quads + at->half] = (int32_t)group | (last ? NATIVE_LIST_LAST_8 : 0);
    weights += ((int64_t)l->octets * 2 + l->quads) * QUAD * COLUMNS;
    put_half_quad(weights + at->half * QUAD * COLUMNS / 2, rest, last ? COLUMNS / 2 : 0);
    at->half++;
}

static void put_whole_quad(const native_int8_lists *l, places *at, int64_t group,
                           int16_t (*w)[COLUMNS])
{
    int32_t *number = (int32_t *)(uintptr_t)(l + 1);
    int8_t *weights = (int8_t *)(uintptr_t)l + l->weights;

    number[l->octets + at->quad] = (int32_t)group;
    put_quad(weights + ((int64_t)l->octets * 2 + at->quad) * QUAD * COLUMNS, w);
    at->quad++;
}

static void put_octet(const native_int8_lists *l, places *at, int64_t group, octet *o)
{
    int32_t *number = (int32_t *)(uintptr_t)(l + 1);
    int8_t *weights = (int8_t *)(uintptr_t)l + l->weights + at->octet * OCTET * COLUMNS;

    number[at->octet++] = (int32_t)group;
    put_quad(weights, o->w);
    put_quad(weights + QUAD * COLUMNS, o->w + QUAD);
}

/* One quad of an octet that is too much, or that has only one. */
static void do_quad(const native_int8_lists *l, places *at, int64_t group, int16_t (*w)[COLUMNS])
{
    int16_t rest[QUAD][COLUMNS];
    const int which = split_quad(w, rest);

    if (!l) {
        at->quad++;
        at->half += (which & 1) + (which >> 1);
        return;
    }
    put_whole_quad(l, at, group, w);
    if (which & 1)
        put_half(l, at, group, false, rest);
    if (which & 2)
        put_half(l, at, group, true, rest);
}

static void do_octets(const native_int8_matrix *b, bool is_signed, int64_t k, int64_t column,
                      int columns, const native_int8_lists *l, places *at)
{
    const int64_t quads = ceil_to(k, QUAD) / QUAD;
    int64_t q;
    octet o;

    for (q = 0; q < quads; q += 2) {
        read_octet(b, is_signed, q * QUAD, k, column, columns, &o);
        if (q + 1 < quads && is_narrow(&o)) {
            if (l)
                put_octet(l, at, q, &o);
            else
                at->octet++;
            continue;
        }
        do_quad(l, at, q, o.w);
        if (q + 1 < quads)
            do_quad(l, at, q + 1, o.w + QUAD);
    }
}

void native_int8_make_lists(const native_int8_matrix *b, bool is_signed, int64_t k, int64_t column,
                            int columns, int64_t *halves, int64_t *others, native_int8_lists *to)
{
    places n = {0}, at = {0};

    do_octets(b, is_signed, k, column, columns, NULL, &n);
    if (halves) {
        *halves = n.half;
        *others = n.octet * 2 + n.quad;
    }
    if (!to)
        return;
    to->octets = (int32_t)n.octet;
    to->quads = (int32_t)n.quad;
    to->halves = (int32_t)n.half;
    to->weights = (int32_t)ceil_to((int64_t)sizeof *to + (n.octet + n.quad + n.half) * 4, LINE);
    do_octets(b, is_signed, k, column, columns, to, &at);
}
