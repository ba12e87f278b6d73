/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_wide.c: what a training step counts and prepares in float64, int64 and bool: samples,
 * hits, steps, the corrections of Adam. They are few numbers, so plain loops do, but without them
 * a step would be cut in pieces that wait for each other.
 */
#include "program.h"

#include <math.h>
#include <string.h>

typedef struct wide {
    void (*run)(const struct wide *w, const void *const *in, void *to, int64_t i);
    native_ref in[3], to;
    int n_inputs;
    int64_t steps[3]; /* from element to element, 0 = there is one */
    int64_t n;        /* elements of the result */
    int64_t terms;    /* of each, where many become one */
} wide;

typedef void wide_fn(const wide *w, const void *const *in, void *to, int64_t i);

/* ---- one element ---- */

#define X(type) (((const type *)in[0])[i * w->steps[0]])
#define Y(type) (((const type *)in[1])[i * w->steps[1]])
#define EACH(name, result, value)                                                                  \
    static void name(const wide *w, const void *const *in, void *to, int64_t i)                    \
    {                                                                                              \
        ((result *)to)[i] = (value);                                                               \
    }

EACH(add_f64, double, X(double) + Y(double))
EACH(sub_f64, double, X(double) - Y(double))
EACH(mul_f64, double, X(double) * Y(double))
EACH(div_f64, double, X(double) / Y(double))
EACH(pow_f64, double, pow(X(double), Y(double)))
EACH(sqrt_f64, double, sqrt(X(double)))
/* What is too large wraps, as bits. */
EACH(add_i64, uint64_t, X(uint64_t) + Y(uint64_t))
EACH(sub_i64, uint64_t, X(uint64_t) - Y(uint64_t))
EACH(mul_i64, uint64_t, X(uint64_t) * Y(uint64_t))
EACH(equal_i64, uint8_t, X(int64_t) == Y(int64_t))
EACH(and_bool, uint8_t, X(uint8_t) && Y(uint8_t))
EACH(or_bool, uint8_t, X(uint8_t) || Y(uint8_t))
EACH(not_bool, uint8_t, !X(uint8_t))

#define CHOSEN(type)                                                                               \
    (X(uint8_t) ? ((const type *)in[1])[i * w->steps[1]] : ((const type *)in[2])[i * w->steps[2]])

EACH(where_f64, double, CHOSEN(double))
EACH(where_i64, int64_t, CHOSEN(int64_t))

/* The first of equal ones; NaN is greater than all. */
static void arg_max(const wide *w, const void *const *in, void *to, int64_t i)
{
    const float *x = (const float *)in[0] + i * w->terms;
    int64_t best = 0, k;

    for (k = 1; k < w->terms && !isnan(x[best]); k++) {
        if (x[k] > x[best] || isnan(x[k]))
            best = k;
    }
    ((int64_t *)to)[i] = best;
}

static void sum_f64(const wide *w, const void *const *in, void *to, int64_t i)
{
    double sum = 0.0;
    int64_t k;

    for (k = 0; k < w->terms; k++)
        sum += ((const double *)in[0])[k];
    ((double *)to)[i] = sum;
}

/* ---- forms ---- */

static int64_t elements(const tfr_operand *o)
{
    return tfr_operand_elements(o);
}

/* Inputs have as many elements as the output, or one. */
static bool even_form(const tfr_call *call)
{
    const tfr_operand *y = tfr_call_output(call, 0);
    uint32_t i;

    for (i = 0; i < call->n_inputs; i++) {
        const tfr_operand *x = tfr_call_input(call, i);
        if (!x || (elements(x) != 1 && !tfr_operand_same_dims(x, y)))
            return false;
    }
    return call->n_outputs == 1;
}

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
    int32_t inputs, output; /* their types; all of Where but the first */
    wide_fn *run;
} wide_row;

#define ROW(name, ok, inputs, output, run)                                                         \
    {                                                                                              \
        {name, ok, NATIVE_ITEM_WIDE, 0, NULL}, TFR_DTYPE_##inputs, TFR_DTYPE_##output, run         \
    }

static const wide_row rows[] = {
    ROW("Add", even_form, F64, F64, add_f64),     ROW("Add", even_form, I64, I64, add_i64),
    ROW("And", even_form, BOOL, BOOL, and_bool),  ROW("ArgMax", arg_form, F32, I64, arg_max),
    ROW("Div", even_form, F64, F64, div_f64),     ROW("Equal", even_form, I64, BOOL, equal_i64),
    ROW("Mul", even_form, F64, F64, mul_f64),     ROW("Mul", even_form, I64, I64, mul_i64),
    ROW("Not", even_form, BOOL, BOOL, not_bool),  ROW("Or", even_form, BOOL, BOOL, or_bool),
    ROW("Pow", even_form, F64, F64, pow_f64),     ROW("ReduceSum", total_form, F64, F64, sum_f64),
    ROW("Sqrt", even_form, F64, F64, sqrt_f64),   ROW("Sub", even_form, F64, F64, sub_f64),
    ROW("Sub", even_form, I64, I64, sub_i64),     ROW("Where", even_form, F64, F64, where_f64),
    ROW("Where", even_form, I64, I64, where_i64),
};

static bool has_types(const wide_row *row, const tfr_call *call)
{
    const bool chooses = strcmp(row->form.name, "Where") == 0;
    const bool sums = row->run == sum_f64; /* the axes are in an attribute, too */
    uint32_t i;

    for (i = 0; i < (sums ? 1 : call->n_inputs); i++) {
        const tfr_operand *x = tfr_call_input(call, i);
        if (!x || x->dtype != (chooses && i == 0 ? (int32_t)TFR_DTYPE_BOOL : row->inputs))
            return false;
    }
    return tfr_call_output(call, 0)->dtype == row->output;
}

static const wide_row *row_of(const tfr_call *call)
{
    size_t i;

    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].form.name, call->name) == 0 && !call->domain[0] && call->n_inputs > 0 &&
            call->n_inputs <= 3 && has_types(&rows[i], call) && rows[i].form.ok(call))
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
    const void *in[3] = {NULL};
    void *to = native_at(bases, &w->to);
    int64_t i;
    int k;

    for (k = 0; k < w->n_inputs; k++)
        in[k] = native_at(bases, &w->in[k]);
    for (i = begin; i < end; i++)
        w->run(w, in, to, i);
}

void native_plan_wide(native_planner *p, const native_item *item)
{
    const wide_row *row = row_of(item->call);
    wide *w = native_keep(p, sizeof *w);
    int k;

    if (!w || !row)
        return;
    w->run = row->run;
    w->to = native_ref_of(p, item->output);
    w->n = native_count(p, &p->ir->values[item->output]);
    w->n_inputs = item->n_inputs < 3 ? item->n_inputs : 3;
    for (k = 0; k < w->n_inputs; k++) {
        const int64_t n = native_elements(&p->ir->values[item->inputs[k]]);
        w->in[k] = native_ref_of(p, item->inputs[k]);
        w->steps[k] = n > 1;
        if (k == 0 && w->n > 0)
            w->terms = n / native_elements(&p->ir->values[item->output]);
    }
    native_add_run(p, run_wide, w, w->n, (double)(w->n * (1 + w->terms)) * 2.0);
}
