/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_rows.c: what works on rows of a plain tensor, and on the matrices in its last two dims:
 * softmax, layer normalization, transposition.
 */
#include "program.h"

#include <string.h>

/* ---- rows ---- */

typedef struct rows {
    const native_isa *isa;
    native_ref from, scale, shift, to;
    bool has_shift, softmax;
    int64_t n;
    float epsilon;
} rows;

static void run_rows(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const rows *r = params;
    const float *from = native_at(bases, &r->from);
    float *to = native_at(bases, &r->to);
    int64_t i;

    for (i = begin; i < end; i++) {
        if (r->softmax)
            r->isa->softmax(from + i * r->n, 1.0f, NULL, to + i * r->n, r->n);
        else
            r->isa->layer_norm(from + i * r->n, native_at(bases, &r->scale),
                               r->has_shift ? native_at(bases, &r->shift) : NULL, r->epsilon,
                               to + i * r->n, r->n);
    }
}

void native_plan_rows(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]];
    rows *r = native_keep(p, sizeof *r);
    int64_t n = native_count(p, x);

    if (!r)
        return;
    r->isa = p->isa;
    r->from = native_ref_of(p, item->inputs[0]);
    r->to = native_ref_of(p, item->output);
    r->softmax = item->kind == NATIVE_ITEM_SOFTMAX;
    r->n = x->dims[x->rank - 1];
    r->epsilon = item->epsilon;
    if (!r->softmax) {
        r->scale = native_ref_of(p, item->inputs[1]);
        r->has_shift = item->n_inputs > 2 && item->inputs[2] >= 0;
        if (r->has_shift)
            r->shift = native_ref_of(p, item->inputs[2]);
    }
    native_add_run(p, run_rows, r, n / r->n, (double)n * 0.5);
}

/* ---- transposition ---- */

enum { AXES = 6 };

/*
 * Dims that stay together are one. Then the innermost is copied as a run, or, where it moves, the
 * two innermost dims of source and result are matrices to turn.
 */
typedef struct turn {
    const native_isa *isa;
    native_ref from, to;
    int rank;
    int64_t dims[AXES], steps[AXES]; /* of the result, and its steps in the source */
    int64_t to_steps[AXES];
    int matrix; /* dim of the result that is innermost in the source */
} turn;

static void run_turn(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const turn *t = params;
    const float *from = native_at(bases, &t->from);
    float *to = native_at(bases, &t->to);
    const int last = t->rank - 1;
    int64_t i;

    for (i = begin; i < end; i++) {
        int64_t rest = i, at = 0, place = 0;
        int d;
        for (d = last - 1; d >= 0; d--) {
            if (d == t->matrix)
                continue;
            at += rest % t->dims[d] * t->steps[d];
            place += rest % t->dims[d] * t->to_steps[d];
            rest /= t->dims[d];
        }
        if (t->matrix == last)
            memcpy(to + place, from + at, (size_t)t->dims[last] * sizeof *to);
        else
            t->isa->transpose(from + at, t->steps[last], to + place, t->to_steps[t->matrix],
                              t->dims[last], t->dims[t->matrix]);
    }
}

void native_plan_transpose(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]];
    int64_t in_steps[TFR_MAX_RANK], step = 1, work;
    turn *t = native_keep(p, sizeof *t);
    int d, previous = -2;

    if (!t)
        return;
    t->isa = p->isa;
    t->from = native_ref_of(p, item->inputs[0]);
    t->to = native_ref_of(p, item->output);
    for (d = x->rank - 1; d >= 0; d--) {
        in_steps[d] = step;
        step *= d == 0 ? native_first_dim(p, x) : x->dims[d];
    }
    for (d = 0; d < x->rank; d++) {
        int axis = item->perm[d];
        int64_t n = axis == 0 ? native_first_dim(p, x) : x->dims[axis];
        if (axis == previous + 1) {
            t->dims[t->rank - 1] *= n;
            t->steps[t->rank - 1] = in_steps[axis];
        } else {
            t->dims[t->rank] = n;
            t->steps[t->rank++] = in_steps[axis];
        }
        previous = axis;
    }
    if (t->rank == 0)
        t->rank = 1, t->dims[0] = t->steps[0] = 1;
    for (d = t->rank - 1, step = 1; d >= 0; d--) {
        t->to_steps[d] = step;
        step *= t->dims[d];
        if (t->steps[d] == 1)
            t->matrix = d;
    }
    work = step / t->dims[t->rank - 1];
    if (t->matrix != t->rank - 1)
        work /= t->dims[t->matrix];
    native_add_run(p, run_turn, t, work, (double)step * 0.4);
}
