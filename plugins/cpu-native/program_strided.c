/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_strided.c: items that only move elements, such as those that cut heads out of rows, are
 * left out where who reads them can read their source in steps: another that moves, a product of
 * computed sides. Parts that are put together and then turned are turned one by one. What samples
 * lie next to each other for is found so, too, where a transposition in between has put them
 * elsewhere.
 */
#include "program.h"

#include <stdlib.h>
#include <string.h>

/* Of a value: whose elements it has, and where they lie there. */
typedef struct origin {
    int base;
    native_strided at;
} origin;

typedef struct pass {
    native_ir *ir;
    origin *origins; /* of each value; only those that can be followed lie anywhere */
    int *makers;     /* the item of each, or -1 */
    bool staged;
} pass;

void native_lies_plain(const native_value *v, native_strided *to)
{
    int64_t step = 1;
    int d;

    memset(to, 0, sizeof *to);
    to->rank = v->rank;
    for (d = v->rank - 1; d >= 0; d--) {
        to->dims[d] = v->dims[d];
        to->steps[d] = step;
        step *= v->dims[d];
    }
}

void native_lies_turned(const native_strided *from, const int *perm, native_strided *to)
{
    int d;

    memset(to, 0, sizeof *to);
    to->rank = from->rank;
    to->offset = from->offset;
    for (d = 0; d < from->rank; d++) {
        to->dims[d] = from->dims[perm[d]];
        to->steps[d] = from->steps[perm[d]];
    }
}

static bool is_plain(const native_strided *s)
{
    int64_t step = 1;
    int d;

    for (d = s->rank - 1; d >= 0; d--) {
        if (s->dims[d] != 1 && s->steps[d] != step)
            return false;
        step *= s->dims[d];
    }
    return s->offset == 0;
}

bool native_keeps_samples(const native_value *of, const native_strided *s)
{
    int64_t sample, first = s->offset, last = s->offset;
    int d;

    if (of->rank < 1 || s->rank < 1 || of->dims[0] < 1 || s->dims[0] != of->dims[0])
        return false;
    sample = native_elements(of) / of->dims[0];
    for (d = 1; d < s->rank; d++) {
        if (s->steps[d] < 0)
            first += (s->dims[d] - 1) * s->steps[d];
        else
            last += (s->dims[d] - 1) * s->steps[d];
    }
    return s->steps[0] == sample && first >= 0 && last < sample;
}

/* ---- what items make of an origin ---- */

/* The steps of an item count in its input as if that lay plain: now in what that is read from. */
static void compose(const native_strided *from, const native_strided *item, native_strided *to)
{
    const int more = item->rank - from->rank;
    int64_t plain = 1;
    int d;

    *to = *item;
    to->offset = from->offset;
    for (d = item->rank - 1; d >= 0; d--) {
        const int axis = d - more;
        to->steps[d] = axis < 0 ? 0 : item->steps[d] / plain * from->steps[axis];
        if (axis < 0)
            continue;
        to->offset += item->offset / plain % from->dims[axis] * from->steps[axis];
        plain *= from->dims[axis];
    }
}

/*
 * Does each dim of an item step along one dim of its input? Heads that Attention takes out of
 * [B, T, H * S] do not: two of their dims are one there.
 */
static bool is_along_axes(const native_strided *from, const native_strided *item)
{
    const int more = item->rank - from->rank;
    int64_t plain = 1;
    int d;

    for (d = item->rank - 1; d >= 0; d--) {
        if (item->dims[d] > 1 && item->steps[d] != 0 && (d < more || item->steps[d] % plain != 0))
            return false;
        plain *= d < more ? 1 : from->dims[d - more];
    }
    return true;
}

/*
 * Other dims of the same elements; false: their steps would not be even. Dims of both go together
 * in the smallest groups of equally many elements.
 */
static bool reshape(const native_strided *from, const native_value *y, native_strided *to)
{
    native_strided old = {.rank = 0};
    int first = 0, end, at = 0, next, d;

    for (d = 0; d < from->rank; d++) {
        if (from->dims[d] == 1)
            continue;
        old.dims[old.rank] = from->dims[d];
        old.steps[old.rank++] = from->steps[d];
    }
    native_lies_plain(y, to);
    to->offset = from->offset;
    while (at < y->rank && first < old.rank) {
        int64_t here = y->dims[at], there = old.dims[first];
        next = at + 1;
        end = first + 1;
        while (here != there) {
            if (here < there)
                here *= y->dims[next++];
            else
                there *= old.dims[end++];
        }
        for (d = first; d + 1 < end; d++) {
            if (old.steps[d] != old.dims[d + 1] * old.steps[d + 1])
                return false;
        }
        to->steps[next - 1] = old.steps[end - 1];
        for (d = next - 1; d > at; d--)
            to->steps[d - 1] = to->steps[d] * y->dims[d];
        at = next;
        first = end;
    }
    return true;
}

/* ---- items ---- */

/* The value is of float32, has elements and few enough dims. */
static bool can_follow(const native_value *v)
{
    return v->dtype == TFR_DTYPE_F32 && v->rank <= NATIVE_STRIDED_RANK && native_elements(v) > 0;
}

/* Nobody but the item reads its input. */
static bool is_alone(const pass *p, int value)
{
    return p->ir->values[value].readers == 1 && !p->ir->values[value].output;
}

/* The item reads the origin's base in steps. */
static void read_origin(pass *p, native_item *item, const origin *from)
{
    const int at = native_new_strided(p->ir, 1);
    native_strided plain;

    if (at < 0)
        return;
    item->kind = NATIVE_ITEM_STRIDED;
    item->inputs[0] = from->base;
    item->n_inputs = 1;
    item->strided = at;
    p->ir->strided[at] = from->at;
    native_lies_plain(&p->ir->values[item->output], &plain);
    memcpy(p->ir->strided[at].to_steps, plain.steps, sizeof plain.steps);
    p->ir->n_fused++;
}

/* A view of what would only be made for it is read from where that comes from. */
static void follow_view(pass *p, native_item *item)
{
    const int in = item->inputs[0];
    const origin *from = &p->origins[in];
    origin *to = &p->origins[item->output];
    native_strided at;

    if (!reshape(&from->at, &p->ir->values[item->output], &at))
        return;
    to->base = from->base;
    to->at = at;
    if (!is_plain(&from->at) && is_alone(p, in))
        read_origin(p, item, to);
}

static native_item *maker_of(const pass *p, int value)
{
    return p->makers[value] >= 0 ? &p->ir->items[p->makers[value]] : NULL;
}

/* What is put together along an axis and then turned: each part goes to its place at once. */
static bool turn_parts(pass *p, native_item *item)
{
    native_item *parts = maker_of(p, item->inputs[0]);
    const native_value *y = &p->ir->values[item->output];
    native_strided plain;
    int64_t place = 0;
    int at, k, axis = 0;

    if (item->kind != NATIVE_ITEM_TRANSPOSE || !parts || parts->kind != NATIVE_ITEM_CONCAT ||
        !is_alone(p, item->inputs[0]))
        return false;
    for (k = 0; k < parts->n_inputs; k++) {
        if (parts->inputs[k] < 0 || !can_follow(&p->ir->values[parts->inputs[k]]))
            return false;
    }
    at = native_new_strided(p->ir, parts->n_inputs);
    if (at < 0)
        return false;
    native_lies_plain(y, &plain);
    while (item->perm[axis] != (parts->axis + y->rank) % y->rank)
        axis++;
    for (k = 0; k < parts->n_inputs; k++) {
        const origin *from = &p->origins[parts->inputs[k]];
        native_strided *s = &p->ir->strided[at + k];
        native_lies_turned(&from->at, item->perm, s);
        memcpy(s->to_steps, plain.steps, sizeof plain.steps);
        s->to_offset = place * plain.steps[axis];
        place += s->dims[axis];
        item->inputs[k] = from->base;
    }
    item->kind = NATIVE_ITEM_STRIDED;
    item->n_inputs = parts->n_inputs;
    item->strided = at;
    parts->kind = NATIVE_ITEM_NONE;
    p->ir->n_fused++;
    return true;
}

/*
 * What lies plain is read in steps only if samples are found so: those who turn what lies plain
 * have their own steps.
 */
static void follow_move(pass *p, native_item *item)
{
    const origin *from = &p->origins[item->inputs[0]];
    origin *to = &p->origins[item->output];
    const native_value *base = &p->ir->values[from->base];

    if (turn_parts(p, item) || (item->kind == NATIVE_ITEM_STRIDED &&
                                !is_along_axes(&from->at, &p->ir->strided[item->strided])))
        return;
    to->base = from->base;
    if (item->kind == NATIVE_ITEM_TRANSPOSE)
        native_lies_turned(&from->at, item->perm, &to->at);
    else
        compose(&from->at, &p->ir->strided[item->strided], &to->at);
    if (from->base == item->inputs[0])
        return;
    if (!is_plain(&from->at) || native_are_tokens(base, &to->at) ||
        (native_keeps_samples(base, &to->at) &&
         !(item->kind == NATIVE_ITEM_TRANSPOSE && item->perm[0] == 0)))
        read_origin(p, item, to);
}

static void follow_product(pass *p, native_item *item)
{
    bool reads = false;
    int k, at;

    for (k = 0; k < 2; k++) {
        const origin *from = &p->origins[item->inputs[k]];
        if (!can_follow(&p->ir->values[item->inputs[k]]) ||
            !native_keeps_samples(&p->ir->values[from->base], &from->at))
            return;
        reads = reads || (from->base != item->inputs[k] && !is_plain(&from->at));
    }
    at = reads ? native_new_strided(p->ir, 2) : -1;
    if (at < 0)
        return;
    for (k = 0; k < 2; k++) {
        const origin *from = &p->origins[item->inputs[k]];
        p->ir->strided[at + k] = from->at;
        item->inputs[k] = from->base;
    }
    item->strided = at;
    p->ir->n_fused++;
}

static void follow(pass *p, native_item *item)
{
    if (item->kind == NATIVE_ITEM_NONE || item->n_inputs < 1 || item->inputs[0] < 0 ||
        !can_follow(&p->ir->values[item->inputs[0]]) || !can_follow(&p->ir->values[item->output]))
        return;
    if (item->kind == NATIVE_ITEM_VIEW)
        follow_view(p, item);
    else if (item->kind == NATIVE_ITEM_TRANSPOSE ||
             (item->kind == NATIVE_ITEM_STRIDED && item->n_inputs == 1))
        follow_move(p, item);
    else if (item->kind == NATIVE_ITEM_BATCHED_PRODUCT && p->staged)
        follow_product(p, item);
}

/* ---- the pass ---- */

/* A sum over no dims is what it sums. */
static void remove_sums(native_ir *ir)
{
    int i, j, k;

    for (i = 0; i < ir->n_items; i++) {
        native_item *sum = &ir->items[i];
        if (sum->kind != NATIVE_ITEM_SUM || sum->axes || ir->values[sum->output].output)
            continue;
        for (j = i + 1; j < ir->n_items; j++) {
            native_item *reader = &ir->items[j];
            for (k = 0; k < reader->n_inputs; k++) {
                if (reader->inputs[k] == sum->output)
                    reader->inputs[k] = sum->inputs[0];
            }
            if (reader->residual == sum->output)
                reader->residual = sum->inputs[0];
        }
        sum->kind = NATIVE_ITEM_NONE;
        ir->n_fused++;
    }
}

static void remove_unread(native_ir *ir)
{
    int i, k;

    native_count_readers(ir);
    for (i = ir->n_items - 1; i >= 0; i--) {
        native_item *item = &ir->items[i];
        if ((item->kind != NATIVE_ITEM_VIEW && item->kind != NATIVE_ITEM_TRANSPOSE &&
             item->kind != NATIVE_ITEM_STRIDED) ||
            ir->values[item->output].readers > 0)
            continue;
        for (k = 0; k < item->n_inputs; k++)
            ir->values[item->inputs[k]].readers--;
        item->kind = NATIVE_ITEM_NONE;
    }
}

static void follow_all(pass *p)
{
    native_ir *ir = p->ir;
    int i;

    for (i = 0; i < ir->n_values; i++) {
        p->origins[i].base = i;
        p->makers[i] = -1;
        if (can_follow(&ir->values[i]))
            native_lies_plain(&ir->values[i], &p->origins[i].at);
    }
    for (i = 0; i < ir->n_items; i++) {
        if (ir->items[i].kind != NATIVE_ITEM_NONE)
            p->makers[ir->items[i].output] = i;
    }
    for (i = 0; i < ir->n_items && !ir->failed; i++)
        follow(p, &ir->items[i]);
}

void native_fuse_strided(native_ir *ir)
{
    pass p = {.ir = ir, .staged = native_wants_stages(ir)};

    remove_sums(ir);
    native_count_readers(ir);
    p.origins = malloc(((size_t)ir->n_values + 1) * (sizeof *p.origins + sizeof *p.makers));
    p.makers = p.origins ? (int *)(void *)(p.origins + ir->n_values) : NULL;
    if (p.origins)
        follow_all(&p);
    else
        ir->failed = true;
    free(p.origins);
    if (!ir->failed)
        remove_unread(ir);
}
