/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_columns.c: Softmax and LogSoftmax along an axis that is not the last: of the columns of
 * [rows, inner] for each place of the axes before it. Vectors lie along the inner axes, so no
 * element moves.
 */
#include "program.h"

#include <string.h>

enum { COLUMNS = 64 }; /* of a unit */

typedef struct columns {
    void (*run)(const float *x, int64_t step, float *to, int64_t n, int64_t columns);
    native_ref from, to;
    int64_t rows, inner;
    int64_t blocks; /* units of each place of the axes before */
} columns;

static void run_columns(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const columns *c = params;
    const float *from = native_at(bases, &c->from);
    float *to = native_at(bases, &c->to);

    for (; begin < end; begin++) {
        const int64_t first = begin % c->blocks * COLUMNS, left = c->inner - first;
        const int64_t at = begin / c->blocks * c->rows * c->inner + first;
        c->run(from + at, c->inner, to + at, c->rows, left < COLUMNS ? left : COLUMNS);
    }
}

void native_plan_columns(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]];
    columns *c = native_keep(p, sizeof *c);
    const int axis = native_axis(item->call, -1);
    int64_t outer = 1;
    int d;

    if (!c)
        return;
    c->run = strcmp(item->call->name, "Softmax") == 0 ? p->isa->softmax_columns
                                                      : p->isa->log_softmax_columns;
    c->from = native_ref_of(p, item->inputs[0]);
    c->to = native_ref_of(p, item->output);
    c->rows = axis == 0 ? native_first_dim(p, x) : x->dims[axis];
    c->inner = 1;
    for (d = 0; d < axis; d++)
        outer *= d == 0 ? native_first_dim(p, x) : x->dims[d];
    for (d = axis + 1; d < x->rank; d++)
        c->inner *= x->dims[d];
    c->blocks = (c->inner + COLUMNS - 1) / COLUMNS;
    native_add_run(p, run_columns, c, outer * c->blocks, (double)native_count(p, x) * 0.5);
}

const native_form *native_find_columns(const tfr_call *call)
{
    static const native_form form = {"", NULL, NATIVE_ITEM_COLUMN_SOFTMAX, 0, NULL};
    const tfr_operand *x;
    int axis;

    if ((strcmp(call->name, "Softmax") != 0 && strcmp(call->name, "LogSoftmax") != 0) ||
        call->domain[0] || call->n_inputs < 1)
        return NULL;
    x = tfr_call_input(call, 0);
    axis = native_axis(call, -1);
    if (x->dtype != TFR_DTYPE_F32 || axis < 0 || axis >= x->rank || tfr_operand_elements(x) == 0)
        return NULL;
    return &form;
}
