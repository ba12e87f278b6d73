/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SoftmaxCrossEntropyGrad (domain tfrun, 1): the gradient of SoftmaxCrossEntropyLoss (loss.c) by
 * its scores, from log_prob [N, C, D...], labels [N, D...] and weights [C] or absent (all ones):
 *
 *   dX[n,c,d] = g[n,d] * w * (exp(log_prob[n,c,d]) - (c = labels[n,d])),  w = weights[labels[n,d]],
 *   0 where labels[n,d] is ignore_index
 *
 * g is dY of reduction none [N, D...], the scalar dY of sum, and of mean dY over the sum of the
 * weights that were applied. In double, one rounding. A class outside [0, C) is an error.
 */
#include "tensor.h"

#include <math.h>

typedef struct loss_grad {
    naive_tensor dy, log_prob, labels, weights, dx;
    const tfr_attr *ignore;
    int64_t classes, inner; /* C, product of D */
} loss_grad;

static bool ignored(const loss_grad *l, int64_t class)
{
    return l->ignore && class == l->ignore->ints[0];
}

static double weight_of(const loss_grad *l, int64_t class)
{
    return l->weights.operand ? naive_read(&l->weights, class) : 1;
}

/* The sum of the weights of all labels that count. */
static int32_t sum_weights(const loss_grad *l, double *sum, tfr_err *err)
{
    int64_t i, class;

    *sum = 0;
    for (i = 0; i < l->labels.n; i++) {
        class = naive_read_int(&l->labels, i);
        if (ignored(l, class))
            continue;
        if (class < 0 || class >= l->classes)
            return tfr_fail(err, TFR_EINVAL, "label %lld is class %lld, the scores have %lld",
                            (long long)i, (long long)class, (long long)l->classes);
        *sum += weight_of(l, class);
    }
    return TFR_OK;
}

static int32_t run_loss_grad(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const char reduction = tfr_call_string(&k->call, "reduction", "mean")[0];
    loss_grad l = {
        .dy = naive_input(k, launch, 0),
        .log_prob = naive_input(k, launch, 1),
        .labels = naive_input(k, launch, 2),
        .weights = naive_input(k, launch, 3),
        .dx = naive_output(k, launch, 0),
        .ignore = tfr_call_attr(&k->call, "ignore_index"),
    };
    double weights, g;
    int64_t i, c, class, at;
    int32_t status;

    l.classes = l.dx.dims[1];
    l.inner = naive_product(l.dx.dims, 2, l.dx.rank);
    status = sum_weights(&l, &weights, err);
    for (i = 0; !status && i < l.labels.n; i++) {
        class = naive_read_int(&l.labels, i);
        g = 0;
        if (!ignored(&l, class))
            g = weight_of(&l, class) * naive_read(&l.dy, reduction == 'n' ? i : 0) /
                (reduction == 'm' ? weights : 1);
        for (c = 0; c < l.classes; c++) {
            at = (i / l.inner * l.classes + c) * l.inner + i % l.inner;
            naive_write(&l.dx, at,
                        ignored(&l, class)
                            ? 0
                            : g * (exp(naive_read(&l.log_prob, at)) - (c == class ? 1 : 0)));
        }
    }
    return status;
}

const naive_op naive_loss_grad_ops[] = {
    {"tfrun", "SoftmaxCrossEntropyGrad", 1, NULL, run_loss_grad, NULL, 0, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};
