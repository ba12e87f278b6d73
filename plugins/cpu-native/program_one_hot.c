/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_one_hot.c: Cast(Equal(ids, [0, 1, ..., K-1])) times a known matrix, which is how JAX and
 * Keras write an embedding: rows of the matrix by their numbers, and zeros for a number that is
 * none of them. The matrix becomes a table with a row more for that, and what follows element by
 * element is computed for the rows of the table while the program is compiled, where there are
 * fewer of them than of the ids.
 */
#include <math.h>
#include <stdlib.h>

#include "program_quantized.h"

enum { MOST_NUMBERS = 1 << 22 /* of a table */, MADE = -1000 /* how, in keys: this and below */ };

typedef struct one_hot {
    native_ir *ir;
    native_unpacked *kept;
    uint64_t *constant_bytes;
    const float **tables; /* of values that are rows of one, or NULL */
    int n_tables;         /* values that there were when it was made */
    int ids, like;        /* values: the numbers, and the product */
    int64_t rows, width;  /* of the table, with the last row */
} one_hot;

/* ---- what is looked for ---- */

static bool is_iota(const native_value *v, int64_t n)
{
    int64_t i, x = -1;
    int32_t narrow;

    if (!v->known || native_elements(v) != n || v->rank < 1 || v->dims[v->rank - 1] != n)
        return false;
    for (i = 0; i < n && x == i - 1; i++) {
        if (v->dtype == TFR_DTYPE_I64) {
            memcpy(&x, (const char *)v->known + i * (int64_t)sizeof x, sizeof x);
        } else {
            memcpy(&narrow, (const char *)v->known + i * (int64_t)sizeof narrow, sizeof narrow);
            x = narrow;
        }
    }
    return x == n - 1;
}

static bool is_op(const native_item *item, const char *name)
{
    return item && item->call && item->call->name && strcmp(item->call->name, name) == 0;
}

/* The numbers whose comparison with all places is made floats in this value, or -1. */
static int find_ids(const native_ir *ir, int value, native_item **cast, native_item **equal)
{
    const native_value *y = &ir->values[value];
    const int64_t n = y->rank > 1 ? y->dims[y->rank - 1] : 0;
    int i;

    *cast = native_only_maker(ir, value);
    if (n == 0 || !is_op(*cast, "Cast"))
        return -1;
    *equal = native_only_maker(ir, (*cast)->inputs[0]);
    if (!is_op(*equal, "Equal") || (*equal)->n_inputs != 2)
        return -1;
    for (i = 0; i < 2; i++) {
        const native_value *ids = &ir->values[(*equal)->inputs[i]];
        if ((ids->dtype == TFR_DTYPE_I32 || ids->dtype == TFR_DTYPE_I64) && ids->rank == y->rank &&
            ids->dims[ids->rank - 1] == 1 && native_elements(ids) * n == native_elements(y) &&
            is_iota(&ir->values[(*equal)->inputs[1 - i]], n))
            return (*equal)->inputs[i];
    }
    return -1;
}

static bool is_product(const native_ir *ir, const native_item *item)
{
    const native_value *w;

    if (item->kind != NATIVE_ITEM_PRODUCT || item->quantized || item->integer >= 0 ||
        item->alpha != 1.0f || item->residual >= 0 || item->act.kind != NATIVE_ACT_NONE ||
        ir->values[item->inputs[0]].known || !native_has_row(ir, item))
        return false;
    w = &ir->values[item->inputs[1]];
    return w->known && w->dtype == TFR_DTYPE_F32 && w->rank == 2 && native_elements(w) > 0 &&
           native_elements(w) <= MOST_NUMBERS;
}

/* 0 times what is not is not 0. */
static bool is_finite(const native_value *w)
{
    const int64_t n = native_elements(w);
    int64_t i = 0;

    while (i < n && isfinite(native_float_at(w->known, i)))
        i++;
    return i == n;
}

/* ---- tables ---- */

static float *keep(one_hot *o, const native_constant_key *key, bool *made)
{
    return native_keep_unpacked(o->ir, o->kept, key, o->rows * o->width, o->constant_bytes, made);
}

/* A sum that begins with 0 is never -0. */
static const float *table_of(one_hot *o, const native_item *product)
{
    const void *w = o->ir->values[product->inputs[1]].known;
    const int row = product->n_inputs > 2 ? product->inputs[2] : -1;
    const void *bias = row >= 0 ? o->ir->values[row].known : NULL;
    const native_constant_key key = {{w, bias}, {MADE, product->transposed, o->rows, o->width}};
    bool made = false;
    float *to = keep(o, &key, &made);
    int64_t i, j;

    for (i = 0; to && made && i < o->rows; i++)
        for (j = 0; j < o->width; j++) {
            const int64_t at = product->transposed ? j * (o->rows - 1) + i : i * o->width + j;
            const float x = i < o->rows - 1 ? 0.0f + native_float_at(w, at) : 0.0f;
            to[i * o->width + j] = bias ? x + native_float_at(bias, j) : x;
        }
    return to;
}

/* The item is from now on the rows of this table by the numbers. */
static void pick(one_hot *o, native_item *item, const float *table)
{
    const native_value v = {.rank = 2, .dims = {o->rows, o->width}, .dtype = TFR_DTYPE_F32};
    const int value = native_new_value(o->ir, &v);

    if (o->ir->failed)
        return;
    o->ir->values[value].known = table;
    o->tables[item->output] = table;
    item->kind = NATIVE_ITEM_GATHER;
    item->axis = 0;
    item->zero_rows = true;
    item->transposed = false;
    item->inputs[0] = value;
    item->inputs[1] = o->ids;
    item->n_inputs = 2;
}

/* ---- what follows ---- */

/* What an operand is in rows of the table: one, a number, or a row. */
static bool has_rows(const one_hot *o, int value)
{
    const native_value *v = &o->ir->values[value];
    const int64_t n = native_elements(v);

    if (value < o->n_tables && o->tables[value])
        return true;
    return v->known && v->dtype == TFR_DTYPE_F32 &&
           (n == 1 || (n == o->width && v->dims[v->rank - 1] == n));
}

static bool follows(const one_hot *o, const native_item *item)
{
    const native_value *y = &o->ir->values[item->output], *x = &o->ir->values[o->like];
    bool any = false;
    int i;

    if ((item->kind != NATIVE_ITEM_BINARY && item->kind != NATIVE_ITEM_ACT) || item->n_inputs > 2 ||
        item->residual >= 0 || item->integer >= 0 ||
        (item->kind == NATIVE_ITEM_BINARY && item->act.kind != NATIVE_ACT_NONE) ||
        y->rank != x->rank || memcmp(y->dims, x->dims, (size_t)x->rank * sizeof *x->dims) != 0)
        return false;
    for (i = 0; i < item->n_inputs; i++) {
        if (item->inputs[i] < 0 || !has_rows(o, item->inputs[i]))
            return false;
        any = any || (item->inputs[i] < o->n_tables && o->tables[item->inputs[i]]);
    }
    return any;
}

/* An operand of the rows: the table, or an aligned copy of what the row has. */
static const float *operand(const one_hot *o, int value, int64_t *row_step, int *step, float *room)
{
    const native_value *v = &o->ir->values[value];
    const int64_t n = native_elements(v);

    if (value < o->n_tables && o->tables[value]) {
        *row_step = o->width;
        *step = 1;
        return o->tables[value];
    }
    memcpy(room, v->known, (size_t)n * sizeof *room);
    *row_step = 0;
    *step = n != 1 || o->width == 1;
    return room;
}

static int64_t bits_of(float x)
{
    int32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static const float *compute(one_hot *o, const native_item *item)
{
    const native_isa *isa = o->ir->device->isa;
    float *room = malloc((size_t)o->width * 2 * sizeof *room), *to = NULL;
    const float *x[2] = {NULL, NULL};
    int64_t row_step[2] = {0, 0}, row;
    native_constant_key key = {{NULL},
                               {MADE - 1 - (int)item->kind, (int)item->binary, (int)item->act.kind,
                                bits_of(item->act.a), bits_of(item->act.b), o->rows, o->width}};
    int step[2] = {0, 0}, i;
    bool made = false;

    for (i = 0; room && i < item->n_inputs; i++) {
        x[i] = operand(o, item->inputs[i], &row_step[i], &step[i], room + i * o->width);
        key.data[i] = row_step[i] ? x[i] : o->ir->values[item->inputs[i]].known;
        key.numbers[7 + i] = step[i];
    }
    if (room)
        to = keep(o, &key, &made);
    for (row = 0; made && to && row < o->rows; row++) {
        if (item->kind == NATIVE_ITEM_ACT)
            isa->act(&item->act, x[0] + row * row_step[0], to + row * o->width, o->width);
        else
            isa->binary(item->binary, x[0] + row * row_step[0], step[0], x[1] + row * row_step[1],
                        step[1], to + row * o->width, o->width);
    }
    free(room);
    return to;
}

/* Rows that nobody reads any more. */
static void drop_unread(native_ir *ir)
{
    int i;

    for (i = ir->n_items - 1; i >= 0; i--) {
        native_count_readers(ir);
        if (ir->items[i].kind == NATIVE_ITEM_GATHER && ir->items[i].zero_rows &&
            ir->values[ir->items[i].output].readers == 0)
            ir->items[i].kind = NATIVE_ITEM_NONE;
    }
}

static void rewrite(one_hot *o, int at)
{
    native_ir *ir = o->ir;
    native_item *cast, *equal, *item = &ir->items[at];
    const native_value *w = &ir->values[item->inputs[1]];
    const float *table;
    int i;

    o->ids = find_ids(ir, item->inputs[0], &cast, &equal);
    if (o->ids < 0 || !is_finite(w))
        return;
    o->rows = native_elements(w) / w->dims[!item->transposed] + 1;
    o->width = w->dims[!item->transposed];
    o->like = item->output;
    o->n_tables = ir->n_values;
    o->tables = calloc((size_t)ir->n_values, sizeof *o->tables);
    table = o->tables ? table_of(o, item) : NULL;
    ir->failed = ir->failed || !table;
    if (!ir->failed) {
        cast->kind = equal->kind = NATIVE_ITEM_NONE;
        pick(o, item, table);
        ir->n_fused += 2;
    }
    for (i = at + 1; i < ir->n_items && !ir->failed; i++) {
        item = &ir->items[i];
        if (native_elements(&ir->values[o->ids]) < o->rows || !follows(o, item))
            continue;
        table = compute(o, item);
        ir->failed = !table;
        if (table)
            pick(o, item, table);
        ir->n_fused++;
    }
    free(o->tables);
    drop_unread(ir);
}

void native_pick_rows(native_ir *ir, native_unpacked *kept, uint64_t *constant_bytes)
{
    one_hot o = {.ir = ir, .kept = kept, .constant_bytes = constant_bytes};
    int i;

    if (!(native_kinds(ir) & native_kind_bit(NATIVE_ITEM_ELEMENTWISE)))
        return;
    native_count_readers(ir);
    for (i = 0; i < ir->n_items && !ir->failed; i++)
        if (is_product(ir, &ir->items[i]))
            rewrite(&o, i);
}
