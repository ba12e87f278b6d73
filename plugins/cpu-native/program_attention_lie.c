/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_attention_lie.c: where the operands of an attention lie behind the views, turns, slices,
 * repetitions and multiples that exporters put between what computes them and their product. An
 * axis may be made of several ones of the memory: heads of queries are heads of keys times how
 * often each is repeated, and a repeated one takes no step.
 */
#include "program.h"

#include <string.h>

enum { PARTS = 16, CHAIN = 12 };

/* A part of an axis: `n` places, `step` floats apart. */
typedef struct part {
    int axis;
    int64_t n, step;
} part;

/* Parts of axes in their order, the outer ones first; axes of one place have none. */
typedef struct lie {
    int n;
    part parts[PARTS];
    int64_t offset;
} lie;

static bool add(lie *to, int axis, int64_t n, int64_t step)
{
    part *last = to->n ? &to->parts[to->n - 1] : NULL;

    if (n == 1)
        return true;
    if (last && last->axis == axis && last->step == n * step) {
        last->n *= n;
        last->step = step;
        return true;
    }
    if (to->n == PARTS)
        return false;
    to->parts[to->n++] = (part){axis, n, step};
    return true;
}

static bool lie_plain(const native_value *v, lie *to)
{
    native_strided plain;
    bool ok = true;
    int d;

    memset(to, 0, sizeof *to);
    native_lies_plain(v, &plain);
    for (d = 0; d < v->rank; d++)
        ok = ok && v->dims[d] > 0 && add(to, d, v->dims[d], plain.steps[d]);
    return ok;
}

static bool turn(const lie *from, const int *perm, int rank, lie *to)
{
    bool ok = true;
    int d, i;

    *to = (lie){.offset = from->offset};
    for (d = 0; d < rank; d++) {
        for (i = 0; i < from->n; i++) {
            if (from->parts[i].axis == perm[d])
                ok = ok && add(to, d, from->parts[i].n, from->parts[i].step);
        }
    }
    return ok;
}

/* Other dims of the same elements: parts are divided where these do. */
static bool view(const lie *from, const native_value *y, lie *to)
{
    lie left = *from;
    int at = 0, d;

    *to = (lie){.offset = from->offset};
    for (d = 0; d < y->rank; d++) {
        int64_t more = y->dims[d];
        while (more > 1) {
            part *p = &left.parts[at];
            const int64_t n = at < left.n && p->n < more ? p->n : more;
            if (at == left.n || more % n || p->n % n || !add(to, d, n, p->n / n * p->step))
                return false;
            p->n /= n;
            more /= n;
            at += p->n == 1;
        }
    }
    return at == left.n;
}

/* `n` places of an axis from `first` on, each `step` of them: of an axis in parts all or none. */
static bool read_axis(const lie *from, int axis, int64_t first, int64_t step, int64_t n,
                      int to_axis, lie *to)
{
    int64_t whole = 1, there = 0;
    int i, n_parts = 0;
    bool ok = true;

    for (i = 0; i < from->n; i++) {
        if (from->parts[i].axis == axis) {
            whole *= from->parts[i].n;
            there = from->parts[i].step;
            n_parts++;
        }
    }
    if (n_parts <= 1) {
        to->offset += first * there;
        return add(to, to_axis, n, step * there);
    }
    for (i = 0; i < from->n; i++) {
        if (from->parts[i].axis == axis)
            ok = ok && add(to, to_axis, from->parts[i].n, from->parts[i].step);
    }
    return ok && first == 0 && step == 1 && n == whole;
}

/* What an item STRIDED with one input reads: its steps count in that as if it lay plain. */
static bool read(const lie *from, const native_value *x, const native_strided *s, lie *to)
{
    native_strided plain;
    int64_t rest = s->offset;
    bool ok = true;
    int d;

    native_lies_plain(x, &plain);
    *to = (lie){.offset = from->offset};
    for (d = 0; d < s->rank; d++) {
        const int axis = d - (s->rank - x->rank);
        const int64_t unit = axis < 0 ? 1 : plain.steps[axis], first = axis < 0 ? 0 : rest / unit;
        rest -= first * unit;
        if (axis < 0)
            ok = ok && s->steps[d] == 0 && add(to, d, s->dims[d], 0);
        else
            ok = ok && s->steps[d] % unit == 0 &&
                 read_axis(from, axis, first, s->steps[d] / unit, s->dims[d], d, to);
    }
    return ok && rest == 0;
}

/* ---- items ---- */

static const native_item *maker_of(const native_ir *ir, int value)
{
    int i;

    for (i = 0; i < ir->n_items; i++) {
        if (ir->items[i].kind != NATIVE_ITEM_NONE && ir->items[i].output == value)
            return &ir->items[i];
    }
    return NULL;
}

/* The multiple of its operand that an item is, if nobody else reads that; else 0. */
static float multiple(const native_ir *ir, const native_item *item, int *operand)
{
    const native_value *y = &ir->values[item->output];
    native_act act;

    if (y->readers != 1 || y->output || item->act.kind != NATIVE_ACT_NONE ||
        !native_is_linear(ir, item, &act, operand) || act.b != 0.0f ||
        native_elements(&ir->values[item->inputs[*operand]]) != native_elements(y))
        return 0.0f;
    return act.a;
}

/* What the item reads to move it, or -1; *scale: by what it multiplies that. */
static int moves(const native_ir *ir, const native_item *item, bool scales, float *scale)
{
    int operand = 0;

    *scale = 1.0f;
    if (item->n_inputs < 1)
        return -1;
    if (item->kind == NATIVE_ITEM_VIEW || item->kind == NATIVE_ITEM_TRANSPOSE ||
        (item->kind == NATIVE_ITEM_STRIDED && item->n_inputs == 1))
        return item->inputs[0];
    *scale = scales && item->kind == NATIVE_ITEM_BINARY ? multiple(ir, item, &operand) : 0.0f;
    return *scale != 0.0f ? item->inputs[operand] : -1;
}

/* Where the last of `n` items, of which the first reads a value that lies plain, lies in that. */
static bool lie_behind(const native_ir *ir, int base, const native_item *const *items, int n,
                       lie *to)
{
    bool ok = lie_plain(&ir->values[base], to);

    while (ok && n-- > 0) {
        const native_item *item = items[n];
        const native_value *x = &ir->values[item->inputs[0]], *y = &ir->values[item->output];
        const lie from = *to;
        if (item->kind == NATIVE_ITEM_VIEW)
            ok = view(&from, y, to);
        else if (item->kind == NATIVE_ITEM_TRANSPOSE)
            ok = turn(&from, item->perm, y->rank, to);
        else if (item->kind == NATIVE_ITEM_STRIDED)
            ok = read(&from, x, &ir->strided[item->strided], to);
    }
    return ok;
}

/* ---- heads ---- */

/* The step of an axis that is of one part; false: it is of more. */
static bool one_part(const lie *at, int axis, int64_t *step)
{
    int i, n = 0;

    *step = 0;
    for (i = 0; i < at->n; i++) {
        if (at->parts[i].axis == axis) {
            *step = at->parts[i].step;
            n++;
        }
    }
    return n <= 1;
}

/* Heads, of which each is there once, or `group` times behind each other. */
static bool find_group(const lie *at, int axis, native_operand_lie *to)
{
    int64_t n[2] = {1, 1}, step[2] = {0, 0};
    int i, k = 0;

    to->group = 1;
    for (i = 0; i < at->n; i++) {
        if (at->parts[i].axis != axis)
            continue;
        if (k == 2)
            return false;
        n[k] = at->parts[i].n;
        step[k++] = at->parts[i].step;
    }
    to->steps[1] = step[0];
    if (k > 0 && step[k - 1] == 0) {
        to->group = n[k - 1];
        to->steps[1] = k == 2 ? step[0] : 0;
        return true;
    }
    return k < 2;
}

/* The same as steps of [B, H, rows, columns], where threads find samples and vectors numbers. */
static bool as_steps(const native_value *base, const native_value *value, const lie *at,
                     native_operand_lie *to)
{
    const int more = 4 - value->rank;
    const int64_t sample =
        base->rank > 0 && base->dims[0] > 0 ? native_elements(base) / base->dims[0] : 0;

    memset(to->steps, 0, sizeof to->steps);
    to->offset = at->offset;
    to->group = 1;
    if (sample < 1 || base->dims[0] != value->dims[0] || !one_part(at, 0, &to->steps[0]) ||
        (value->dims[0] > 1 && to->steps[0] != sample) || at->offset < 0 || at->offset >= sample ||
        (more == 0 && !find_group(at, 1, to)) || !one_part(at, 2 - more, &to->steps[2]) ||
        !one_part(at, 3 - more, &to->steps[3]))
        return false;
    to->steps[0] = sample;
    return to->steps[2] >= 0 && to->steps[3] >= 0 && to->steps[1] >= 0;
}

/* Keys may have their numbers or their places next to each other, others their numbers. */
static bool has_rows(const native_value *v, const int64_t *steps, native_lie_want want)
{
    const int64_t *dims = &v->dims[v->rank - 2];

    return dims[1] == 1 || steps[3] == 1 ||
           (want == NATIVE_LIE_KEYS && (dims[0] == 1 || steps[2] == 1));
}

void native_find_lie(const native_ir *ir, int value, native_lie_want want, bool groups,
                     native_operand_lie *to)
{
    const native_value *y = &ir->values[value];
    const native_item *items[CHAIN];
    float scales[CHAIN], scale;
    int bases[CHAIN + 1], n = 0, k;
    lie at;

    bases[0] = value;
    while (n < CHAIN) {
        const native_item *item = maker_of(ir, bases[n]);
        const int from = item ? moves(ir, item, want != NATIVE_LIE_VALUES, &scale) : -1;
        if (from < 0 || ir->values[from].dtype != TFR_DTYPE_F32)
            break;
        items[n] = item;
        scales[n] = scale;
        bases[++n] = from;
    }
    /* From as far as it can be read; at least the value itself lies plain. */
    while (n > 0 && (!lie_behind(ir, bases[n], items, n, &at) ||
                     !as_steps(&ir->values[bases[n]], y, &at, to) || (to->group > 1 && !groups) ||
                     !has_rows(y, to->steps, want)))
        n--;
    if (n == 0) {
        lie_plain(y, &at);
        as_steps(y, y, &at, to);
    }
    to->base = bases[n];
    to->scale = 1.0f;
    for (k = 0; k < n; k++)
        to->scale *= scales[k];
}
