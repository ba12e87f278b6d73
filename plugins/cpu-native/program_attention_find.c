/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_attention_find.c: softmax(scale Q K' + mask) V in parts becomes one item, with what cuts
 * heads out of rows and puts them back. Exporters scale the product, or Q, or both Q and K; and
 * they replace by 0 what a row that sees no key makes of its softmax.
 */
#include "program.h"

#include <string.h>

typedef struct parts {
    native_item *softmax, *scores, *product;
    native_item *is_nan, *guard; /* NULL = rows that see no key are NaN */
    int mask;                    /* value, or -1 */
    float scale;
    int n_taken; /* other items that went */
} parts;

/* The item that makes a value of which nobody else knows; NULL = none, or it is of another kind. */
static native_item *only_maker(const native_ir *ir, int value, native_item_kind kind)
{
    native_item *item = native_only_maker(ir, value);

    return item && item->kind == kind ? item : NULL;
}

/* The one that reads it as its first input. */
static native_item *only_reader(const native_ir *ir, int value, native_item_kind kind)
{
    native_item *item = native_only_reader(ir, value);

    return item && item->kind == kind && item->inputs[0] == value ? item : NULL;
}

static bool is_number(const native_value *v)
{
    return v->known && v->dtype == TFR_DTYPE_F32 && native_elements(v) == 1;
}

static bool is_zero(const native_value *v)
{
    float x = 1.0f;

    if (is_number(v))
        memcpy(&x, v->known, sizeof x);
    return x == 0.0f;
}

/* Dim d of [B, H, rows, keys]; scores of three axes have one head. */
static int64_t dim_of(const native_value *scores, int d)
{
    return scores->rank == 4 ? scores->dims[d] : d == 1 ? 1 : scores->dims[d > 0 ? d - 1 : 0];
}

/* The axis of those that is axis i, counted from the end, of a mask. */
static int axis_of(const native_value *scores, int i)
{
    return scores->rank == 3 && i == 3 ? 0 : 4 - i;
}

/* Whether a mask may be added to scores: rows of all keys, the same ones for some dims or all. */
static bool is_mask(const native_value *v, const native_value *scores)
{
    int i;

    if (v->dtype != TFR_DTYPE_F32 || v->rank < 1 || v->rank > scores->rank ||
        v->dims[v->rank - 1] != dim_of(scores, 3))
        return false;
    for (i = 2; i <= v->rank; i++) {
        if (v->dims[v->rank - i] != 1 && v->dims[v->rank - i] != dim_of(scores, axis_of(scores, i)))
            return false;
    }
    return true;
}

/* From the softmax back: a mask, a scale, the product. */
static bool find_scores(const native_ir *ir, parts *p, int value)
{
    native_item *item = only_maker(ir, value, NATIVE_ITEM_BINARY);
    int k;

    p->scores = only_maker(ir, value, NATIVE_ITEM_BATCHED_PRODUCT);
    if (p->scores)
        return true;
    if (!item)
        return false;
    p->n_taken++;
    if (item->binary == NATIVE_MUL || item->binary == NATIVE_DIV) {
        for (k = 0; k < (item->binary == NATIVE_MUL ? 2 : 1); k++) {
            const native_value *other = &ir->values[item->inputs[1 - k]];
            if (p->scale == 1.0f && is_number(other)) {
                float x;
                memcpy(&x, other->known, sizeof x); /* not aligned yet */
                p->scale = item->binary == NATIVE_MUL ? x : 1.0f / x;
                return find_scores(ir, p, item->inputs[k]);
            }
        }
        return false;
    }
    for (k = 0; k < 2 && item->binary == NATIVE_ADD; k++) {
        parts with = *p;
        with.mask = item->inputs[1 - k];
        if (p->mask < 0 && p->scale == 1.0f &&
            ir->values[item->inputs[k]].rank == ir->values[value].rank &&
            is_mask(&ir->values[with.mask], &ir->values[item->inputs[k]]) &&
            find_scores(ir, &with, item->inputs[k])) {
            *p = with;
            return true;
        }
    }
    return false;
}

static bool has_perm(const native_item *item, int a, int b, int c, int d)
{
    return item->perm[0] == a && item->perm[1] == b && item->perm[2] == c && item->perm[3] == d;
}

/* Steps of [B, H, S, D]. */
static void set_steps(int64_t *steps, int64_t heads, int64_t rows, int64_t depth)
{
    steps[2] = depth;
    steps[1] = rows * depth;
    steps[0] = heads * rows * depth;
}

/* Steps of the same out of [B, S, H, D]. */
static void set_turned_steps(int64_t *steps, int64_t heads, int64_t rows, int64_t depth)
{
    steps[1] = depth;
    steps[2] = heads * depth;
    steps[0] = rows * heads * depth;
}

/*
 * Where(IsNaN(s), 0, s) of a softmax: all of a row is NaN or nothing, for its sum is. False: the
 * softmax has other readers.
 */
static bool find_guard(const native_ir *ir, parts *p)
{
    const int value = p->softmax->output;
    int i;

    if (ir->values[value].readers == 1)
        return !ir->values[value].output;
    for (i = 0; i < ir->n_items; i++) {
        native_item *item = &ir->items[i];
        if (item->kind == NATIVE_ITEM_ELEMENTWISE && item->inputs[0] == value && item->call &&
            strcmp(item->call->name, "IsNaN") == 0)
            p->is_nan = item;
        if ((item->kind == NATIVE_ITEM_SELECT || item->kind == NATIVE_ITEM_ELEMENTWISE) &&
            item->n_inputs == 3 && item->inputs[2] == value && item->call &&
            strcmp(item->call->name, "Where") == 0)
            p->guard = item;
    }
    return p->is_nan && p->guard && p->guard->inputs[0] == p->is_nan->output &&
           ir->values[value].readers == 2 && !ir->values[value].output &&
           ir->values[p->is_nan->output].readers == 1 && !ir->values[p->is_nan->output].output &&
           is_zero(&ir->values[p->guard->inputs[1]]) &&
           native_elements(&ir->values[p->guard->output]) == native_elements(&ir->values[value]);
}

static void set_mask_steps(int64_t *steps, const native_value *mask, const native_value *scores)
{
    int64_t step = mask->dims[mask->rank - 1];
    int i;

    for (i = 2; i <= mask->rank; i++) {
        int64_t n = mask->dims[mask->rank - i];
        steps[axis_of(scores, i)] = n > 1 ? step : 0;
        step *= n;
    }
}

/* Where Q, K and V lie: K and V as often for each head, or each of them once. */
static void set_operands(const native_ir *ir, native_item *item, const parts *p)
{
    const int from[] = {p->scores->inputs[0], p->scores->inputs[1], p->product->inputs[1]};
    native_heads *h = &item->heads;
    native_operand_lie lies[3];
    bool groups = true;
    int i;

    do {
        native_find_lie(ir, from[0], NATIVE_LIE_ROWS, false, &lies[0]);
        native_find_lie(ir, from[1], NATIVE_LIE_KEYS, groups, &lies[1]);
        native_find_lie(ir, from[2], NATIVE_LIE_VALUES, groups, &lies[2]);
        groups = !groups;
    } while (lies[1].group != lies[2].group && !groups);
    h->group = lies[1].group;
    for (i = 0; i < 3; i++) {
        int64_t *steps = i == 0 ? h->q : i == 1 ? h->k : h->v;
        memcpy(steps, lies[i].steps, 3 * sizeof *steps);
        h->first_at[i] = lies[i].offset;
        item->inputs[i] = lies[i].base;
        item->alpha *= lies[i].scale;
    }
    /* K' has its axes the other way round. */
    h->k_term = lies[1].steps[2];
    h->k[2] = lies[1].steps[3];
    if (h->depth == 1 || h->k_term == 1)
        h->k_term = 1;
    else
        h->k[2] = 1;
}

/* Heads go back into rows, behind views of the same dims. */
static void turn_back(native_ir *ir, native_item *item)
{
    native_heads *h = &item->heads;
    const native_value *y = &ir->values[item->output];
    native_item *view = only_reader(ir, item->output, NATIVE_ITEM_VIEW), *turn;
    const bool same =
        view && ir->values[view->output].rank == y->rank &&
        memcmp(ir->values[view->output].dims, y->dims, (size_t)y->rank * sizeof *y->dims) == 0;

    set_steps(h->to, h->heads, h->rows, h->width);
    turn = only_reader(ir, same ? view->output : item->output, NATIVE_ITEM_TRANSPOSE);
    if (y->rank != 4 || !turn || !has_perm(turn, 0, 2, 1, 3))
        return;
    set_turned_steps(h->to, h->heads, h->rows, h->width);
    item->output = turn->output;
    turn->kind = NATIVE_ITEM_NONE;
    if (same)
        view->kind = NATIVE_ITEM_NONE;
    ir->n_fused += 1 + same;
}

/* What only the scores read goes, too. */
static void drop_unread(native_ir *ir, int value)
{
    native_item *item;
    int i, k;

    do {
        item = NULL;
        for (i = 0; i < ir->n_items; i++) {
            if (ir->items[i].kind != NATIVE_ITEM_NONE && ir->items[i].output == value)
                item = &ir->items[i];
        }
        if (!item || ir->values[value].readers > 0 || ir->values[value].output ||
            (item->kind != NATIVE_ITEM_VIEW && item->kind != NATIVE_ITEM_TRANSPOSE &&
             item->kind != NATIVE_ITEM_STRIDED && item->kind != NATIVE_ITEM_BINARY))
            return;
        for (k = 0; k < item->n_inputs; k++)
            ir->values[item->inputs[k]].readers--;
        value = item->inputs[item->kind == NATIVE_ITEM_BINARY &&
                             is_number(&ir->values[item->inputs[0]])];
        item->kind = NATIVE_ITEM_NONE;
        ir->n_fused++;
    } while (item);
}

/* Scores of [B, H, rows, keys] or [B, rows, keys], of which there are some. */
static bool are_heads(const native_ir *ir, const parts *p)
{
    const native_value *scores = &ir->values[p->scores->output];
    const native_value *y = &ir->values[p->product->output];

    return (scores->rank == 3 || scores->rank == 4) && y->rank == scores->rank &&
           native_elements(scores) > 0 && native_elements(y) > 0 &&
           ir->values[p->scores->inputs[0]].rank == y->rank &&
           ir->values[p->scores->inputs[1]].rank == y->rank &&
           ir->values[p->product->inputs[1]].rank == y->rank &&
           native_elements(&ir->values[p->scores->inputs[0]]) > 0;
}

static void join(native_ir *ir, parts *p)
{
    const native_value *scores = &ir->values[p->scores->output];
    const native_value *q = &ir->values[p->scores->inputs[0]];
    const native_value *v = &ir->values[p->product->inputs[1]];
    const int from[] = {p->scores->inputs[0], p->scores->inputs[1], p->product->inputs[1]};
    native_item *item = p->product;
    native_heads *h = &item->heads;
    int i;

    h->heads = dim_of(scores, 1);
    h->left = h->right = -1;
    h->rows = dim_of(scores, 2);
    h->keys = dim_of(scores, 3);
    h->depth = q->dims[q->rank - 1];
    h->width = v->dims[v->rank - 1];
    h->nan_rows = p->guard != NULL;
    item->alpha = p->scale;
    set_operands(ir, item, p);
    turn_back(ir, item);
    if (p->mask >= 0)
        set_mask_steps(h->mask, &ir->values[p->mask], scores);
    item->kind = NATIVE_ITEM_ATTENTION;
    item->n_inputs = 4;
    item->inputs[3] = p->mask;
    p->softmax->kind = p->scores->kind = NATIVE_ITEM_NONE;
    if (p->guard)
        p->guard->kind = p->is_nan->kind = NATIVE_ITEM_NONE;
    ir->n_fused += 2 + p->n_taken + 2 * (p->guard != NULL);
    native_merge_rows(h);
    native_count_readers(ir);
    for (i = 0; i < 3; i++)
        drop_unread(ir, from[i]);
}

/* Scales and masks between the scores and their softmax. */
static void drop_between(native_ir *ir, const parts *p)
{
    int value = p->softmax->inputs[0];
    native_item *item;

    while ((item = only_maker(ir, value, NATIVE_ITEM_BINARY)) != NULL) {
        int k = 0;
        while (k < 1 && (item->inputs[k] == p->mask || is_number(&ir->values[item->inputs[k]])))
            k++;
        item->kind = NATIVE_ITEM_NONE;
        value = item->inputs[k];
    }
}

/* The op Attention of [B, H, S, D] that are made out of rows, and whose result goes back there. */
static void turn_heads(native_ir *ir, native_item *item)
{
    native_heads *h = &item->heads;
    const int64_t heads[] = {h->heads, h->heads / h->group, h->heads / h->group};
    const int64_t rows[] = {h->rows, h->keys, h->keys}, depth[] = {h->depth, h->depth, h->width};
    const int from[] = {item->inputs[0], item->inputs[1], item->inputs[2]};
    int64_t *steps[] = {h->q, h->k, h->v}, plain[3];
    native_operand_lie at;
    int k;

    if (h->next == 0)
        return;
    for (k = 0; k < 3; k++) {
        set_steps(plain, heads[k], rows[k], depth[k]);
        if (ir->values[from[k]].rank != 4 || memcmp(plain, steps[k], sizeof plain) != 0)
            continue;
        native_find_lie(ir, from[k], k == 2 ? NATIVE_LIE_VALUES : NATIVE_LIE_ROWS, false, &at);
        memcpy(steps[k], at.steps, sizeof plain);
        h->first_at[k] = at.offset;
        item->inputs[k] = at.base;
        item->alpha *= at.scale;
    }
    if (ir->values[item->output].rank == 4)
        turn_back(ir, item);
    native_count_readers(ir);
    for (k = 0; k < 3; k++)
        drop_unread(ir, from[k]);
}

void native_fuse_attention(native_ir *ir)
{
    int i;

    for (i = 0; i < ir->n_items; i++) {
        if (ir->items[i].kind == NATIVE_ITEM_ATTENTION)
            turn_heads(ir, &ir->items[i]);
    }
    for (i = 0; i < ir->n_items; i++) {
        parts p = {.softmax = &ir->items[i], .mask = -1, .scale = 1.0f};
        if (p.softmax->kind != NATIVE_ITEM_SOFTMAX)
            continue;
        if (!find_guard(ir, &p))
            continue;
        p.product = only_reader(ir, p.guard ? p.guard->output : p.softmax->output,
                                NATIVE_ITEM_BATCHED_PRODUCT);
        if (!p.product || !find_scores(ir, &p, p.softmax->inputs[0]) || !are_heads(ir, &p))
            continue;
        drop_between(ir, &p);
        join(ir, &p);
        native_count_readers(ir);
    }
}
