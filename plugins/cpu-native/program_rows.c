/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_rows.c: what works on rows of a plain tensor: softmax, layer normalization.
 */
#include "program.h"

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
