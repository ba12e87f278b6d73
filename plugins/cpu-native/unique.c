/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unique.c: Unique of numbers, what plugins/naive/unique.c says of it. Elements become integers
 * that are ordered as they are, equal where they are, and are sorted byte by byte, stably, so that
 * the first of equal ones stays in front; bytes that all have in common cost nothing. Slices are
 * sorted by their elements from the last to the first.
 */
#include "select.h"

#include <string.h>

typedef enum order_kind { UNSIGNED, SIGNED, FLOAT } order_kind;

typedef struct state {
    int64_t outer, n, inner, elements; /* inner: bytes; elements: of a slice along inner */
    int width;                         /* bytes of an element */
    order_kind kind;
    uint64_t infinity; /* the bits of one */
    bool sorted;
    int32_t rank, axis; /* of output 0 */
    int64_t dims[TFR_MAX_RANK];
    const void *known;
} state;

typedef struct work {
    const state *s;
    const char *from;
    uint64_t *keys, *other_keys;    /* in order */
    uint32_t *order, *other_order;  /* numbers of slices */
    uint32_t *place, *first, *rank; /* of slices: their group; of groups: */
    int64_t count;
} work;

static uint64_t key_at(const state *s, const char *from)
{
    const int bits = 8 * s->width;
    const uint64_t sign = (uint64_t)1 << (bits - 1), ones = sign | (sign - 1);
    uint64_t key;

    if (s->width == 1) {
        key = *(const uint8_t *)from;
    } else if (s->width == 2) {
        uint16_t v;
        memcpy(&v, from, sizeof v);
        key = v;
    } else if (s->width == 4) {
        uint32_t v;
        memcpy(&v, from, sizeof v);
        key = v;
    } else {
        memcpy(&key, from, sizeof key);
    }
    if (s->kind == UNSIGNED)
        return key;
    if (s->kind == SIGNED)
        return key ^ sign;
    if ((key & ~sign) > s->infinity)
        return ones; /* all that are no numbers, behind those that are */
    if (!(key & ~sign))
        return sign; /* both zeros */
    return key & sign ? ~key & ones : key | sign;
}

/* Element e of slice i, e counting as in memory. */
static const char *element(const work *w, int64_t i, int64_t e)
{
    const state *s = w->s;

    return w->from + (e / s->elements * s->n + i) * s->inner + e % s->elements * s->width;
}

/* ---- sorting ---- */

static void swap_halves(work *w)
{
    uint64_t *keys = w->keys;
    uint32_t *order = w->order;

    w->keys = w->other_keys;
    w->other_keys = keys;
    w->order = w->other_order;
    w->other_order = order;
}

/* By one byte, the lowest or a higher one. */
static void sort_by_byte(work *w, int shift)
{
    const int64_t n = w->s->n;
    uint32_t at[256] = {0}, sum = 0;
    int64_t i;

    for (i = 0; i < n; i++)
        at[w->keys[i] >> shift & 255]++;
    for (i = 0; i < 256; i++) {
        const uint32_t count = at[i];
        at[i] = sum;
        sum += count;
    }
    for (i = 0; i < n; i++) {
        const uint32_t to = at[w->keys[i] >> shift & 255]++;
        w->other_keys[to] = w->keys[i];
        w->other_order[to] = w->order[i];
    }
    swap_halves(w);
}

static void sort_by_keys(work *w)
{
    uint64_t differ = 0;
    int64_t i;
    int shift;

    for (i = 1; i < w->s->n; i++)
        differ |= w->keys[i] ^ w->keys[0];
    for (shift = 0; shift < 64; shift += 8)
        if (differ >> shift & 255)
            sort_by_byte(w, shift);
}

static void sort(work *w)
{
    const state *s = w->s;
    int64_t i, e;

    for (i = 0; i < s->n; i++)
        w->order[i] = (uint32_t)i;
    for (e = s->outer * s->elements - 1; e >= 0; e--) {
        for (i = 0; i < s->n; i++)
            w->keys[i] = key_at(s, element(w, w->order[i], e));
        sort_by_keys(w);
    }
}

/* ---- groups of equal slices ---- */

/* Of sorted slices i - 1 and i. */
static bool are_equal(const work *w, int64_t i)
{
    const state *s = w->s;
    int64_t e;

    if (w->keys[i - 1] != w->keys[i])
        return false;
    for (e = 1; e < s->outer * s->elements; e++)
        if (key_at(s, element(w, w->order[i - 1], e)) != key_at(s, element(w, w->order[i], e)))
            return false;
    return true;
}

static void find_groups(work *w)
{
    const int64_t n = w->s->n;
    uint32_t next = 0;
    int64_t i;

    for (i = 0; i < n; i++) {
        if (i == 0 || !are_equal(w, i))
            w->first[w->count++] = w->order[i];
        w->place[w->order[i]] = (uint32_t)w->count - 1;
    }
    if (w->s->sorted)
        return;
    /* Groups are numbered anew, in the order in which slices meet them. */
    for (i = 0; i < n; i++) {
        const uint32_t group = w->place[i];
        if (w->first[group] == (uint32_t)i)
            w->rank[group] = next++;
        w->place[i] = w->rank[group];
    }
    for (i = n - 1; i >= 0; i--)
        w->first[w->place[i]] = (uint32_t)i;
}

static void write_slices(const work *w, char *y)
{
    const state *s = w->s;
    int64_t o, i;

    for (o = 0; o < s->outer; o++)
        for (i = 0; i < w->count; i++)
            memcpy(y + (o * w->count + i) * s->inner, w->from + (o * s->n + w->first[i]) * s->inner,
                   (size_t)s->inner);
}

static void write_outputs(const work *w, const tfr_arg *y)
{
    const state *s = w->s;
    int64_t *indices = y[1].address, *inverse = y[2].address, *counts = y[3].address, i;

    if (y[0].address)
        write_slices(w, y[0].address);
    for (i = 0; i < w->count && indices; i++)
        indices[i] = w->first[i];
    for (i = 0; i < s->n && inverse; i++)
        inverse[i] = w->place[i];
    for (i = 0; i < w->count && counts; i++)
        counts[i] = 0;
    for (i = 0; i < s->n && counts; i++)
        counts[w->place[i]]++;
}

static void write_dims(const state *s, const tfr_arg *y, int64_t count)
{
    int i;

    if (y[0].dims) {
        memcpy(y[0].dims, s->dims, (size_t)s->rank * sizeof *s->dims);
        y[0].dims[s->axis] = count;
    }
    for (i = 1; i < 4; i++)
        if (y[i].dims)
            y[i].dims[0] = i == 2 ? s->n : count;
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    const tfr_arg absent = {0};
    tfr_arg y[4];
    work w = {.s = s};
    uint32_t i;

    (void)device, (void)err;
    for (i = 0; i < 4; i++)
        y[i] = 1 + i < launch->n_args ? launch->args[1 + i] : absent;
    w.from = launch->args[0].address ? launch->args[0].address : s->known;
    w.keys = launch->workspace;
    w.other_keys = w.keys + s->n;
    w.order = (uint32_t *)(void *)(w.other_keys + s->n);
    w.other_order = w.order + s->n;
    w.place = w.other_order + s->n;
    w.first = w.place + s->n;
    w.rank = w.first + s->n;
    sort(&w);
    find_groups(&w);
    write_dims(s, y, w.count);
    write_outputs(&w, y);
    return TFR_OK;
}

/* ---- what it is ---- */

void native_unique_supports(const tfr_plugin_device *device, const tfr_call *call,
                            tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    int64_t outer, n, inner;

    (void)device;
    if (!native_has_type(call, answer))
        return;
    native_select_lanes(x, tfr_call_attr(call, "axis"), &outer, &n, &inner);
    answer->workspace_bytes = (size_t)n * (2 * sizeof(uint64_t) + 5 * sizeof(uint32_t));
}

void native_unique_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    const tfr_attr *axis = tfr_call_attr(call, "axis");
    state *s = native_set_function(b, run, NULL, sizeof *s, "unique");

    if (!s)
        return;
    native_select_lanes(x, axis, &s->outer, &s->n, &s->inner);
    s->width = (int)tfr_dtype_bits(x->dtype) / 8;
    s->elements = s->inner / s->width;
    s->sorted = tfr_call_int(call, "sorted", 1) != 0;
    s->rank = axis ? x->rank : 1;
    s->axis = axis ? (int32_t)axis->ints[0] : 0;
    if (axis)
        memcpy(s->dims, x->dims, (size_t)x->rank * sizeof *s->dims);
    if (x->dtype == TFR_DTYPE_F32 || x->dtype == TFR_DTYPE_F64 || x->dtype == TFR_DTYPE_F16 ||
        x->dtype == TFR_DTYPE_BF16) {
        s->kind = FLOAT;
        s->infinity = x->dtype == TFR_DTYPE_F32    ? 0x7f800000
                      : x->dtype == TFR_DTYPE_F64  ? 0x7ff0000000000000
                      : x->dtype == TFR_DTYPE_BF16 ? 0x7f80
                                                   : 0x7c00;
    } else if (x->dtype == TFR_DTYPE_I8 || x->dtype == TFR_DTYPE_I16 || x->dtype == TFR_DTYPE_I32 ||
               x->dtype == TFR_DTYPE_I64) {
        s->kind = SIGNED;
    }
    s->known = x->data;
}
