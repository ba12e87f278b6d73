/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_wide.c: what a training step counts with in float64 and int64 that becomes fewer numbers:
 * hits, sums of losses. They are few, so plain loops do, but without them a step would be cut in
 * pieces that wait for each other.
 */
#include "program.h"

#include <math.h>
#include <string.h>

typedef struct wide {
    void (*run)(const struct wide *w, const void *from, void *to, int64_t i);
    native_ref from, to;
    int64_t terms; /* of each result */
} wide;

typedef void wide_fn(const wide *w, const void *from, void *to, int64_t i);

/* ---- one element ---- */

/* The first of equal ones; NaN is greater than all. */
static void arg_max(const wide *w, const void *from, void *to, int64_t i)
{
    const float *x = (const float *)from + i * w->terms;
    int64_t best = 0, k;

    for (k = 1; k < w->terms && !isnan(x[best]); k++) {
        if (x[k] > x[best] || isnan(x[k]))
            best = k;
    }
    ((int64_t *)to)[i] = best;
}

static void sum_f64(const wide *w, const void *from, void *to, int64_t i)
{
    double sum = 0.0;
    int64_t k;

    for (k = 0; k < w->terms; k++)
        sum += ((const double *)from)[k];
    ((double *)to)[i] = sum;
}

/* ---- forms ---- */

/* Of rows; the op's other switch has the last of equal ones. */
static bool arg_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    const int64_t axis = tfr_call_int(call, "axis", 0);

    return x->rank > 0 && (axis == -1 || axis == x->rank - 1) && x->dims[x->rank - 1] > 0 &&
           !tfr_call_int(call, "select_last_index", 0);
}

/* Of all elements. */
static bool total_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    const tfr_attr *axes = tfr_call_attr(call, "axes");

    return axes && axes->n == (uint64_t)x->rank;
}

typedef struct wide_row {
    native_form form;
    int32_t inputs, output; /* their types */
    wide_fn *run;
} wide_row;

#define ROW(name, ok, inputs, output, run)                                                         \
    {                                                                                              \
        {name, ok, NATIVE_ITEM_WIDE, 0, NULL}, TFR_DTYPE_##inputs, TFR_DTYPE_##output, run         \
    }

static const wide_row rows[] = {
    ROW("ArgMax", arg_form, F32, I64, arg_max),
    ROW("ReduceSum", total_form, F64, F64, sum_f64), /* its axes are in an attribute, too */
};

static const wide_row *row_of(const tfr_call *call)
{
    size_t i;

    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].form.name, call->name) == 0 && !call->domain[0] && call->n_inputs > 0 &&
            tfr_call_input(call, 0)->dtype == rows[i].inputs &&
            tfr_call_output(call, 0)->dtype == rows[i].output && rows[i].form.ok(call))
            return &rows[i];
    }
    return NULL;
}

const native_form *native_find_wide(const tfr_call *call)
{
    const wide_row *row = row_of(call);
    return row ? &row->form : NULL;
}

/* ---- the step ---- */

static void run_wide(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const wide *w = params;
    int64_t i;

    for (i = begin; i < end; i++)
        w->run(w, native_at(bases, &w->from), native_at(bases, &w->to), i);
}

void native_plan_wide(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->output];
    const wide_row *row = row_of(item->call);
    const int64_t n = native_count(p, y);
    wide *w = native_keep(p, sizeof *w);

    if (!w || !row)
        return;
    w->run = row->run;
    w->from = native_ref_of(p, item->inputs[0]);
    w->to = native_ref_of(p, item->output);
    if (n > 0)
        w->terms = native_elements(x) / native_elements(y);
    native_add_run(p, run_wide, w, n, (double)(n * (1 + w->terms)) * 2.0);
}
