/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NegativeLogLikelihoodLoss (ONNX 22) and SoftmaxCrossEntropyLoss (ONNX 13). x is [N, C, D...],
 * target [N, D...] with classes, weight [C] or absent (all ones):
 *   l[n][d] = -x[n][c][d] * weight[c], c = target[n][d]; 0 where c is ignore_index
 * reduction none gives l, sum its sum, mean the sum over the sum of the weights that were applied
 * (0 / 0, when all is ignored, is NaN). The cross entropy takes log_softmax(x) over C for x, and
 * gives it as second output. In double, one rounding. A class outside [0, C) is an error.
 */
#include "naive.h"

#include <math.h>
#include <string.h>

typedef struct loss {
    const tfr_operand *x, *target, *weight;
    const void *px, *pt, *pw;
    int64_t classes, inner; /* C, product of D */
    bool entropy;           /* take log_softmax of x */
    bool has_ignore;
    int64_t ignore;
} loss;

/* log(sum(exp(x[n][..][d]))), or 0 where x holds logarithms already. */
static double log_sum(const loss *l, int64_t at)
{
    double m = -INFINITY, sum = 0, v;
    int64_t c;

    if (!l->entropy)
        return 0;
    for (c = 0; c < l->classes; c++) {
        v = naive_get(l->x->dtype, l->px, at + c * l->inner);
        m = v > m || isnan(v) ? v : m;
    }
    for (c = 0; c < l->classes; c++)
        sum += exp(naive_get(l->x->dtype, l->px, at + c * l->inner) - m);
    return m + log(sum);
}

/* The loss of target i and the weight that it was multiplied with. */
static int32_t one_loss(const loss *l, int64_t i, double *value, double *weight, tfr_err *err)
{
    int64_t c = naive_get_int(l->target->dtype, l->pt, i);
    int64_t at = i / l->inner * l->classes * l->inner + i % l->inner;

    *value = *weight = 0;
    if (l->has_ignore && c == l->ignore)
        return TFR_OK;
    if (c < 0 || c >= l->classes)
        return tfr_fail(err, TFR_EINVAL, "target %lld is class %lld, the scores have %lld",
                        (long long)i, (long long)c, (long long)l->classes);
    *weight = l->weight ? naive_get(l->weight->dtype, l->pw, c) : 1;
    *value = -(naive_get(l->x->dtype, l->px, at + c * l->inner) - log_sum(l, at)) * *weight;
    return TFR_OK;
}

static void write_log_softmax(const loss *l, const tfr_operand *y, void *py)
{
    int64_t n, d, c, at;

    for (n = 0; n < l->x->dims[0]; n++) {
        for (d = 0; d < l->inner; d++) {
            at = n * l->classes * l->inner + d;
            for (c = 0; c < l->classes; c++)
                naive_set(y->dtype, py, at + c * l->inner,
                          naive_get(l->x->dtype, l->px, at + c * l->inner) - log_sum(l, at));
        }
    }
}

static int32_t run_loss(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *y = tfr_call_output(&k->call, 0), *log_prob = tfr_call_output(&k->call, 1);
    const tfr_attr *ignore = tfr_call_attr(&k->call, "ignore_index");
    const char *reduction = tfr_call_string(&k->call, "reduction", "mean");
    loss l = {
        .x = tfr_call_input(&k->call, 0),
        .target = tfr_call_input(&k->call, 1),
        .weight = tfr_call_input(&k->call, 2),
        .px = naive_in(k, launch, 0),
        .pt = naive_in(k, launch, 1),
        .pw = naive_in(k, launch, 2),
        .entropy = k->op->name[0] == 'S',
        .has_ignore = ignore != NULL,
        .ignore = ignore ? ignore->ints[0] : 0,
    };
    double sum = 0, weights = 0, value, weight;
    void *py = naive_out(k, launch, 0);
    int64_t n = tfr_operand_elements(l.target), i;
    int32_t status;

    l.classes = l.x->dims[1];
    l.inner = naive_product(l.x->dims, 2, l.x->rank);
    for (i = 0; i < n; i++) {
        status = one_loss(&l, i, &value, &weight, err);
        if (status)
            return status;
        sum += value;
        weights += weight;
        if (strcmp(reduction, "none") == 0)
            naive_set(y->dtype, py, i, value);
    }
    if (strcmp(reduction, "none") != 0)
        naive_set(y->dtype, py, 0, strcmp(reduction, "mean") == 0 ? sum / weights : sum);
    if (log_prob)
        write_log_softmax(&l, log_prob, naive_out(k, launch, 1));
    return TFR_OK;
}

const naive_op naive_loss_ops[] = {
    {"", "NegativeLogLikelihoodLoss", 22, NULL, run_loss, NULL, 0, NULL},
    {"", "SoftmaxCrossEntropyLoss", 13, NULL, run_loss, NULL, 0, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};
