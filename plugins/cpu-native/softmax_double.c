/* SPDX-License-Identifier: Apache-2.0 */
/*
 * softmax_double.c: Softmax and LogSoftmax of float64 along any axis, by the loops of fold.h: the
 * greatest of a lane, the sum of e^(x - greatest), and what is left of that or of its logarithm.
 * Lanes that lie beside each other go together.
 */
#include "softmax_double.h"

#include <math.h>
#include <string.h>

#include "lanes.h"
#include "program.h"

enum {
    PART = 4 * 1024,             /* elements of a thread, at least */
    TOGETHER = NATIVE_LANE_GROUP /* powers that are computed at once */
};

typedef struct state {
    native_lanes lanes;
    bool logarithm;
    const native_fold_table *folds;
    native_span_fn divide;
    const double *known;
} state;

typedef struct work {
    const state *s;
    const double *from;
    double *to;
} work;

/* Powers below e^-700 are no numbers that count: the loop has e^-700 for them. */
static void drop_least(double *y, int64_t n)
{
    int64_t i;

    for (i = 0; i < n; i++)
        y[i] = y[i] < 0x1p-1009 ? 0.0 : y[i];
}

static void find_powers(const state *s, const double *x, const double *tops, double *y, int64_t n)
{
    memset(y, 0, (size_t)n * sizeof *y);
    s->folds->rows[NATIVE_FOLD_EXP][NATIVE_FOLD_F64](
        &(native_fold){.x = x, .rows = 1, .n = n, .to = y, .top = tops});
    drop_least(y, n);
}

static void divide(const state *s, double *y, const double *by, int step, int64_t n)
{
    s->divide(&(native_span){.in = {y, by}, .step = {1, step}, .n_in = 2, .to = y, .n = n});
}

static void do_row(const state *s, const double *x, double *y)
{
    const int64_t n = s->lanes.n;
    double tops[TOGETHER], top = x[0], sum = 0.0;
    int64_t i, some;

    s->folds->ones[NATIVE_FOLD_GREATEST][NATIVE_FOLD_F64](
        &(native_fold){.x = x, .rows = 1, .n = n, .to = &top});
    for (i = 0; i < TOGETHER; i++)
        tops[i] = top;
    for (i = 0; i < n; i += some) {
        some = n - i < TOGETHER ? n - i : TOGETHER;
        find_powers(s, x + i, tops, y + i, some);
    }
    s->folds->ones[NATIVE_FOLD_SUM][NATIVE_FOLD_F64](
        &(native_fold){.x = y, .rows = 1, .n = n, .to = &sum});
    if (!s->logarithm) {
        divide(s, y, &sum, 0, n);
        return;
    }
    sum = log(sum);
    for (i = 0; i < n; i++)
        y[i] = x[i] - top - sum;
}

static void do_columns(const state *s, const double *x, double *y, int64_t columns)
{
    const int64_t n = s->lanes.n, step = s->lanes.inner;
    native_fold f = {.x = x, .rows = n, .step = step, .n = columns};
    double tops[TOGETHER], sums[TOGETHER] = {0.0};
    int64_t i, k;

    memcpy(tops, x, (size_t)columns * sizeof *x);
    f.to = tops;
    s->folds->rows[NATIVE_FOLD_GREATEST][NATIVE_FOLD_F64](&f);
    for (i = 0; i < n; i++)
        find_powers(s, x + i * step, tops, y + i * step, columns);
    f.x = y;
    f.to = sums;
    s->folds->rows[NATIVE_FOLD_SUM][NATIVE_FOLD_F64](&f);
    for (k = 0; k < columns && s->logarithm; k++)
        sums[k] = log(sums[k]);
    for (i = 0; i < n; i++) {
        if (!s->logarithm)
            divide(s, y + i * step, sums, 1, columns);
        for (k = 0; k < columns && s->logarithm; k++)
            y[i * step + k] = x[i * step + k] - tops[k] - sums[k];
    }
}

static void run_groups(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    int64_t at, lanes;

    for (; begin < end; begin++) {
        lanes = native_lane_group(&w->s->lanes, begin, &at);
        if (w->s->lanes.inner == 1)
            do_row(w->s, w->from + at, w->to + at);
        else
            do_columns(w->s, w->from + at, w->to + at, lanes);
    }
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    work w = {.s = s, .from = launch->args[0].address, .to = launch->args[1].address};

    (void)err;
    if (!w.from)
        w.from = s->known;
    native_lanes_run(device, &s->lanes, PART, run_groups, &w);
    return TFR_OK;
}

static bool is_double(const tfr_call *call)
{
    return tfr_call_input(call, 0)->dtype == TFR_DTYPE_F64 && tfr_call_input(call, 0)->rank > 0;
}

void native_softmax_supports(const tfr_plugin_device *device, const tfr_call *call,
                             tfr_answer *answer)
{
    if (!is_double(call))
        native_item_supports(device, call, answer);
}

void native_softmax_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    const int64_t axis = tfr_call_int(call, "axis", -1);
    const native_elementwise *row = b->device->isa->elementwise;
    state *s;

    if (!is_double(call)) {
        native_item_prepare(b, call);
        return;
    }
    s = native_set_function(b, run, NULL, sizeof *s, "softmax");
    if (!s)
        return;
    while (strcmp(row->op, "Div") != 0 || row->inputs != TFR_DTYPE_F64)
        row++;
    s->divide = row->run;
    s->folds = b->device->isa->folds;
    s->lanes = native_lanes_along(x, axis < 0 ? axis + x->rank : axis);
    s->logarithm = call->name[0] == 'L';
    s->known = x->data;
}
