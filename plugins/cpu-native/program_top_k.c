/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_top_k.c: TopK by selection. An element and its place in the row are one key: numbers as
 * integers of the same order, NaN above all and the zeros equal, and below them the place turned
 * about, so that of equal ones the first is greater and no two keys are the same.
 */
#include "program_fold.h"
#include "row_search.h"

#include <string.h>

__extension__ typedef unsigned __int128 wide_key;

#define SELECT_KEY   uint64_t
#define SELECT(name) name##_narrow
#include "program_select.h"
#undef SELECT_KEY
#undef SELECT
#define SELECT_KEY   wide_key
#define SELECT(name) name##_wide
#include "program_select.h"

enum { COLUMNS = 16, TURNED = 1 << 18 /* numbers that are turned at once, but for one column */ };

typedef struct top_k {
    const native_isa *isa;
    native_ref from, values, places;
    bool has_places, smallest;
    native_fold_type type;
    int64_t n, k, inner;
    int64_t columns, turned_at; /* of a block, of the bytes of the scratch memory */
} top_k;

/* ---- numbers in order ---- */

static inline uint32_t order_F32(float x)
{
    uint32_t bits;

    x += 0.0f;
    memcpy(&bits, &x, sizeof bits);
    return x != x ? UINT32_MAX : bits ^ ((uint32_t)((int32_t)bits >> 31) | 0x80000000u);
}

static inline uint64_t order_F64(double x)
{
    uint64_t bits;

    x += 0.0;
    memcpy(&bits, &x, sizeof bits);
    return x != x ? UINT64_MAX : bits ^ ((uint64_t)((int64_t)bits >> 63) | 1ull << 63);
}

static inline uint32_t order_I32(int32_t x)
{
    return (uint32_t)x ^ 0x80000000u;
}

static inline uint64_t order_I64(int64_t x)
{
    return (uint64_t)x ^ 1ull << 63;
}

/* ---- rows ---- */

/*
 * The place is the low part of the key. Of numbers beside each other those that lie in one group
 * are looked at one by one only if some are beyond the least of the best so far: an equal one comes
 * later, so that its key is less.
 */
#define TOP_K_ROW(name, search, type, kind, key_type, order_type, bits)                            \
    static void row_##name(const top_k *t, const void *from, void *values, int64_t *places,        \
                           void *memory)                                                           \
    {                                                                                              \
        enum { AT_ONCE = NATIVE_SEARCH_BYTES / sizeof(type) };                                     \
        const order_type turn = t->smallest ? (order_type)-1 : 0;                                  \
        const type *x = from;                                                                      \
        const key_type *keys;                                                                      \
        best_##kind b;                                                                             \
        int64_t i, end;                                                                            \
                                                                                                   \
        begin_##kind(&b, memory, t->k);                                                            \
        for (i = 0; i < t->n; i = end) {                                                           \
            end = t->n - i < AT_ONCE ? t->n : i + AT_ONCE;                                         \
            if (b.least && end - i == AT_ONCE &&                                                   \
                !native_beyond_##search(x + i, x[(uint32_t) ~(uint32_t)b.least], t->smallest))     \
                continue;                                                                          \
            for (; i < end; i++) {                                                                 \
                const order_type order = order_##name(x[i]) ^ turn;                                \
                const key_type key = (key_type)order << (bits) | (uint32_t) ~(uint32_t)i;          \
                if (key > b.least)                                                                 \
                    keep_##kind(&b, key);                                                          \
            }                                                                                      \
        }                                                                                          \
        keys = end_##kind(&b);                                                                     \
        for (i = 0; i < t->k; i++) {                                                               \
            const int64_t place = (int64_t)(uint32_t) ~(uint32_t)keys[i];                          \
            ((type *)values)[i * t->inner] = x[place];                                             \
            if (places)                                                                            \
                places[i * t->inner] = place;                                                      \
        }                                                                                          \
    }

TOP_K_ROW(F32, f32, float, narrow, uint64_t, uint32_t, 32)
TOP_K_ROW(F64, f64, double, wide, wide_key, uint64_t, 64)
TOP_K_ROW(I32, i32, int32_t, narrow, uint64_t, uint32_t, 32)
TOP_K_ROW(I64, i64, int64_t, wide, wide_key, uint64_t, 64)

/* Numbers count blocks of columns, which are turned to rows, or rows that are there. */
static void run_top_k(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    static void (*const row[NATIVE_FOLD_TYPES])(const top_k *, const void *, void *, int64_t *,
                                                void *) = {row_F32, row_F64, row_I32, row_I64};
    const top_k *t = params;
    const int64_t bytes = t->type == NATIVE_FOLD_F32 || t->type == NATIVE_FOLD_I32 ? 4 : 8;
    const int64_t blocks = (t->inner + t->columns - 1) / t->columns;
    const char *from = (const char *)native_at(bases, &t->from);
    char *values = (char *)native_at(bases, &t->values), *turned = bases->scratch + t->turned_at;
    int64_t *places = t->has_places ? (int64_t *)(void *)native_at(bases, &t->places) : NULL, i;

    for (; begin < end; begin++) {
        const int64_t outer = begin / blocks, column = begin % blocks * t->columns;
        const int64_t left = t->inner - column, n = left < t->columns ? left : t->columns;
        const int64_t to = outer * t->k * t->inner + column;
        const char *x = from + (outer * t->n * t->inner + column) * bytes;
        if (t->inner > 1) {
            native_turn_rows(t->isa, x, t->inner, t->n, n, bytes, turned);
            x = turned;
        }
        for (i = 0; i < n; i++)
            row[t->type](t, x + i * t->n * bytes, values + (to + i) * bytes,
                         places ? places + to + i : NULL, bases->scratch);
    }
}

static int axis_of(const tfr_call *call)
{
    const int64_t axis = tfr_call_int(call, "axis", -1);

    return (int)(axis < 0 ? axis + tfr_call_input(call, 0)->rank : axis);
}

void native_plan_top_k(native_planner *p, const native_item *item)
{
    const tfr_operand *x = tfr_call_input(item->call, 0), *y = tfr_call_output(item->call, 0);
    const int axis = axis_of(item->call);
    const int64_t rows = (int64_t)tfr_operand_elements(x) / x->dims[axis];
    top_k *t = native_keep(p, sizeof *t);

    if (!t)
        return;
    t->from = native_ref_of(p, item->inputs[0]);
    t->values = native_ref_of(p, item->output);
    t->has_places = item->more[0] >= 0;
    if (t->has_places)
        t->places = native_ref_of(p, item->more[0]);
    t->type = (native_fold_type)native_fold_type_of(x->dtype);
    t->smallest = tfr_call_int(item->call, "largest", 1) == 0;
    t->n = x->dims[axis];
    t->k = y->dims[axis];
    t->inner = tfr_operand_span(x, axis + 1, x->rank);
    t->isa = p->isa;
    t->columns = t->inner == 1 ? 1 : t->n < TURNED / COLUMNS ? COLUMNS : 1;
    t->turned_at = 2 * keys_of_wide(t->k) * (int64_t)sizeof(wide_key);
    native_need_scratch(p, (uint64_t)t->turned_at +
                               (t->inner > 1 ? (uint64_t)(t->columns * t->n) * 8 : 0));
    native_add_run(p, run_top_k, t, rows / t->inner * ((t->inner + t->columns - 1) / t->columns),
                   (double)tfr_operand_elements(x) * 1.5 + (double)(rows * t->k) * 10.0);
}

const native_form *native_find_top_k(const tfr_call *call)
{
    static const native_form form = {"", NULL, NATIVE_ITEM_TOP_K, 0, NULL};
    const tfr_operand *x, *y;
    int axis, type;

    if (strcmp(call->name, "TopK") != 0 || call->domain[0] || call->n_inputs < 1)
        return NULL;
    x = tfr_call_input(call, 0);
    y = tfr_call_output(call, 0);
    axis = axis_of(call);
    type = native_fold_type_of(x->dtype);
    if (!y || y->flags & TFR_OPERAND_DYNAMIC || x->rank == 0 || axis < 0 || axis >= x->rank ||
        type < 0 || type > NATIVE_FOLD_I64 || tfr_operand_elements(x) == 0 || y->rank != x->rank ||
        y->dims[axis] < 1 || y->dims[axis] > x->dims[axis])
        return NULL;
    return &form;
}
