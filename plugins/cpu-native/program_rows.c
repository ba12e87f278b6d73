/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_rows.c: what works on rows of a plain tensor: softmax and its logarithm, layer
 * normalization. Where rows of softmax are short, some of them are turned to columns, of which
 * vectors are full.
 */
#include "program_fold.h"

enum { LEAST_LONG = 20 /* numbers of a row that is not turned */ };

/* ---- rows ---- */

typedef struct rows {
    const native_isa *isa;
    native_ref from, scale, shift, to;
    bool has_shift, softmax, logarithm;
    int64_t n;
    float epsilon;
} rows;

static void run_rows(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const rows *r = params;
    const float *from = native_at(bases, &r->from);
    float *to = native_at(bases, &r->to);
    int64_t i;

    if (r->softmax || r->logarithm) {
        (r->logarithm ? r->isa->log_softmax : r->isa->softmax_rows)(
            from + begin * r->n, to + begin * r->n, end - begin, r->n);
        return;
    }
    for (i = begin; i < end; i++)
        r->isa->layer_norm(from + i * r->n, native_at(bases, &r->scale),
                           r->has_shift ? native_at(bases, &r->shift) : NULL, r->epsilon,
                           to + i * r->n, r->n);
}

static void run_short(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const rows *r = params;
    const float *from = native_at(bases, &r->from);
    float *to = native_at(bases, &r->to), turned[NATIVE_SHORT * NATIVE_SHORT_ROWS];
    int64_t n;

    for (; begin < end; begin += n) {
        n = end - begin < NATIVE_SHORT_ROWS ? end - begin : NATIVE_SHORT_ROWS;
        r->isa->transpose(from + begin * r->n, r->n, turned, n, n, r->n);
        (r->logarithm ? r->isa->log_softmax_columns : r->isa->softmax_columns)(turned, n, turned,
                                                                               r->n, n);
        r->isa->transpose(turned, n, to + begin * r->n, r->n, r->n, n);
    }
}

/* The order of sums is that of the way, which the number of samples does not choose. */
static bool is_short(const rows *r)
{
    return r->n <= LEAST_LONG;
}

void native_plan_log_softmax(native_planner *p, const native_item *item)
{
    const native_value *y = &p->ir->values[item->output];
    const int64_t n = native_count(p, y);
    rows *r = native_keep(p, sizeof *r);

    if (!r)
        return;
    r->isa = p->isa;
    r->from = native_ref_of(p, item->inputs[0]);
    r->to = native_ref_of(p, item->output);
    r->logarithm = true;
    r->n = y->dims[y->rank - 1];
    native_add_run(p, is_short(r) ? run_short : run_rows, r, n / r->n, (double)n);
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
    native_add_run(p, r->softmax && is_short(r) ? run_short : run_rows, r, n / r->n,
                   (double)n * 0.5);
}
