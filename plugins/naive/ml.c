/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ml.c: scores and labels of the ops of domain ai.onnx.ml. ONNX names the transforms without
 * formulas; these are the ones of its reference implementation:
 *
 *   SOFTMAX       exp(s - max) / sum
 *   LOGISTIC      1 / (1 + exp(-s))
 *   SOFTMAX_ZERO  SOFTMAX, but a score within 1e-7 of zero counts s * exp(-max) instead of its
 *                 exponential; 0.5 each if all count 0
 *   PROBIT        sqrt(2) * erfinv(2 s - 1), by Winitzki's formula for erfinv (2008, a = 0.147,
 *                 off by up to 0.2 %); 0 for s = 0 and s = 1, NaN outside
 */
#include "ml.h"

#include <math.h>

#define PI 3.14159265358979323846

static const char *const transform_names[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO",
                                              "PROBIT"};

naive_transform naive_transform_of(const tfr_call *call)
{
    const char *name = tfr_call_string(call, "post_transform", "NONE");
    int i;

    for (i = NAIVE_PROBIT; i > 0 && strcmp(name, transform_names[i]) != 0;)
        i--;
    return (naive_transform)i;
}

double naive_logistic(double x)
{
    double v = 1 / (1 + exp(-fabs(x)));

    return x < 0 ? 1 - v : v;
}

static double inverse_erf(double x)
{
    double product = (1 - x) * (1 + x), l, v;

    if (product == 0)
        return 0;
    l = log(product);
    v = 2 / (PI * 0.147) + 0.5 * l;
    return copysign(sqrt(sqrt(v * v - l / 0.147) - v), x);
}

static void softmax(double *scores, int64_t n, bool keep_zeros)
{
    double most = -INFINITY, sum = 0;
    int64_t i;

    for (i = 0; i < n; i++)
        if (!(scores[i] <= most))
            most = scores[i];
    for (i = 0; i < n; i++) {
        if (keep_zeros && fabs(scores[i]) <= 1e-7)
            scores[i] *= exp(-most);
        else
            scores[i] = exp(scores[i] - most);
        sum += scores[i];
    }
    for (i = 0; i < n; i++)
        scores[i] = keep_zeros && sum == 0 ? 0.5 : scores[i] / sum;
}

void naive_transform_scores(naive_transform transform, double *scores, int64_t n)
{
    int64_t i;

    if (transform == NAIVE_SOFTMAX || transform == NAIVE_SOFTMAX_ZERO)
        softmax(scores, n, transform == NAIVE_SOFTMAX_ZERO);
    for (i = 0; transform == NAIVE_LOGISTIC && i < n; i++)
        scores[i] = naive_logistic(scores[i]);
    for (i = 0; transform == NAIVE_PROBIT && i < n; i++)
        scores[i] = sqrt(2) * inverse_erf(2 * scores[i] - 1);
}

int64_t naive_best(const double *scores, int64_t n)
{
    int64_t best = 0, i;

    for (i = 1; i < n && !isnan(scores[best]); i++)
        if (!(scores[i] <= scores[best]))
            best = i;
    return best;
}

int32_t naive_write_label(const tfr_call *call, const char *ints, const naive_tensor *y, int64_t i,
                          int64_t index, tfr_err *err)
{
    const tfr_attr *labels = tfr_call_attr(call, ints);

    if (!y->operand)
        return TFR_OK;
    if (y->dtype == TFR_DTYPE_I64) {
        naive_write_int(y, i, index < 0 || !labels ? 0 : labels->ints[index]);
        return TFR_OK;
    }
    labels = tfr_call_attr(call, "classlabels_strings");
    if (index < 0 || !labels)
        return naive_set_string((tfr_string *)y->out + i, "", 0, err);
    return naive_set_string((tfr_string *)y->out + i, labels->strings[index].data,
                            labels->strings[index].bytes, err);
}
