/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ml.c: scores and attributes of the ops of domain ai.onnx.ml. Scores are computed in double, with
 * the formulas of plugins/naive/ml.c, for labels hang on their order.
 */
#include "ml.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

/* ---- scores ---- */

native_transform native_transform_of(const tfr_call *call)
{
    static const char *const names[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
    const char *name = tfr_call_string(call, "post_transform", "NONE");
    int i;

    for (i = NATIVE_PROBIT; i > 0 && strcmp(name, names[i]) != 0;)
        i--;
    return (native_transform)i;
}

double native_logistic(double x)
{
    double v = 1 / (1 + exp(-fabs(x)));

    return x < 0 ? 1 - v : v;
}

/* Winitzki's formula. */
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

void native_transform_scores(native_transform transform, double *scores, int64_t n)
{
    int64_t i;

    if (transform == NATIVE_SOFTMAX || transform == NATIVE_SOFTMAX_ZERO)
        softmax(scores, n, transform == NATIVE_SOFTMAX_ZERO);
    for (i = 0; transform == NATIVE_LOGISTIC && i < n; i++)
        scores[i] = native_logistic(scores[i]);
    for (i = 0; transform == NATIVE_PROBIT && i < n; i++)
        scores[i] = sqrt(2) * inverse_erf(2 * scores[i] - 1);
}

int64_t native_best(const double *scores, int64_t n)
{
    int64_t best = 0, i;

    for (i = 1; i < n && !isnan(scores[best]); i++)
        if (!(scores[i] <= scores[best]))
            best = i;
    return best;
}

/* ---- attributes ---- */

int64_t native_attr_length(const tfr_call *call, const char *name)
{
    const tfr_attr *a = tfr_call_attr(call, name);

    if (!a)
        return 0;
    return a->tensor ? tfr_operand_elements(a->tensor) : (int64_t)a->n;
}

const int64_t *native_attr_ints(const tfr_call *call, const char *name)
{
    const tfr_attr *a = tfr_call_attr(call, name);

    return a && a->n ? a->ints : NULL;
}

const float *native_attr_floats(const tfr_call *call, const char *name)
{
    const tfr_attr *a = tfr_call_attr(call, name);

    return a && a->n ? a->floats : NULL;
}

double native_attr_value(const tfr_call *call, const char *list, const char *tensor, int64_t i)
{
    const float *values = native_attr_floats(call, list);
    const tfr_attr *t = tfr_call_attr(call, tensor);
    double v = 0;

    if (values)
        return (double)values[i];
    if (t && t->tensor)
        native_read_doubles(t->tensor->dtype, t->tensor->data, i, 1, &v);
    return v;
}

bool native_attr_is_float(const tfr_call *call, const char *tensor)
{
    const tfr_attr *t = tfr_call_attr(call, tensor);

    return !t || !t->tensor || t->tensor->dtype == TFR_DTYPE_F32 ||
           t->tensor->dtype == TFR_DTYPE_F64;
}

bool native_numbers_supports(const tfr_call *call, tfr_answer *answer)
{
    switch (tfr_call_input(call, 0)->dtype) {
    case TFR_DTYPE_F32:
    case TFR_DTYPE_F64:
    case TFR_DTYPE_I32:
    case TFR_DTYPE_I64:
        return true;
    default:
        tfr_decline(answer, TFR_REASON_DTYPE,
                    "only float32, float64, int32 and int64 are done here");
        return false;
    }
}

void native_read_doubles(int32_t dtype, const void *x, int64_t i, int64_t n, double *out)
{
    int64_t k;

    switch (dtype) {
    case TFR_DTYPE_F32:
        for (k = 0; k < n; k++)
            out[k] = (double)((const float *)x)[i + k];
        break;
    case TFR_DTYPE_F64:
        memcpy(out, (const double *)x + i, (size_t)n * sizeof *out);
        break;
    case TFR_DTYPE_I32:
        for (k = 0; k < n; k++)
            out[k] = ((const int32_t *)x)[i + k];
        break;
    default: /* int64 */
        for (k = 0; k < n; k++)
            out[k] = (double)((const int64_t *)x)[i + k];
    }
}
