/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Softmax, LogSoftmax, Hardmax (ONNX 13) along axis, m = max(x):
 *   Softmax     exp(x - m) / sum(exp(x - m))
 *   LogSoftmax  (x - m) - log(sum(exp(x - m)))
 *   Hardmax     1 at the first greatest element, else 0
 * In double, one rounding at the end. A NaN, or a lane without a finite maximum, makes the lane NaN
 * (in Hardmax the first NaN counts as the greatest).
 */
#include "naive.h"

#include <math.h>
#include <string.h>

typedef struct lane {
    int32_t dtype;
    const void *x;
    void *y;
    int64_t base, n, step;
} lane;

/* Index of the greatest element, the first NaN above all. */
static int64_t greatest(const lane *l)
{
    double best = 0, v;
    int64_t at = 0, j;

    for (j = 0; j < l->n; j++) {
        v = naive_get(l->dtype, l->x, l->base + j * l->step);
        if (j == 0 || v > best || (isnan(v) && !isnan(best))) {
            best = v;
            at = j;
        }
    }
    return at;
}

static void hardmax(const lane *l)
{
    int64_t at = greatest(l), j;

    for (j = 0; j < l->n; j++)
        naive_set(l->dtype, l->y, l->base + j * l->step, j == at);
}

static void softmax(const lane *l, bool logarithm)
{
    double m = naive_get(l->dtype, l->x, l->base + greatest(l) * l->step), sum = 0, v;
    int64_t j;

    for (j = 0; j < l->n; j++)
        sum += exp(naive_get(l->dtype, l->x, l->base + j * l->step) - m);
    for (j = 0; j < l->n; j++) {
        v = naive_get(l->dtype, l->x, l->base + j * l->step) - m;
        naive_set(l->dtype, l->y, l->base + j * l->step, logarithm ? v - log(sum) : exp(v) / sum);
    }
}

static int32_t run_softmax(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *x = tfr_call_input(&k->call, 0);
    int64_t axis = tfr_call_int(&k->call, "axis", x->rank - 1), o, i;
    naive_lanes l = {1, 1, 1};

    (void)err;
    if (x->rank > 0)
        l = naive_lanes_of(x, axis < 0 ? axis + x->rank : axis);
    if (l.n == 0)
        return TFR_OK;
    for (o = 0; o < l.outer; o++) {
        for (i = 0; i < l.inner; i++) {
            lane one = {x->dtype,
                        naive_in(k, launch, 0),
                        naive_out(k, launch, 0),
                        o * l.n * l.inner + i,
                        l.n,
                        l.inner};
            if (k->op->name[0] == 'H')
                hardmax(&one);
            else
                softmax(&one, k->op->name[0] == 'L');
        }
    }
    return TFR_OK;
}

const naive_op naive_softmax_ops[] = {
    {"", "Hardmax", 13, NULL, run_softmax, NULL, 0, NULL},
    {"", "LogSoftmax", 13, NULL, run_softmax, NULL, 0, NULL},
    {"", "Softmax", 13, NULL, run_softmax, NULL, 0, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};
