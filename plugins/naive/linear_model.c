/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LinearRegressor and LinearClassifier (ai.onnx.ml 1). X [N F] or [F], coefficients [E F]:
 *
 *   s[n,e] = sum over f of X[n,f] * coefficients[e,f] + intercepts[e];   Y (Z) = transform(s[n,:])
 *
 * A classifier with one row and two labels has the scores -s and s. Its label is that of the
 * largest transformed score; with one label it is that one if the score is at least 0.5 (0 without
 * a transform), else 0 or the empty string. multi_class has no effect. In double, rounded once.
 */
#include "ml.h"

static double score(const tfr_call *call, const naive_tensor *x, int64_t n, int64_t e)
{
    int64_t F = naive_features(x), f;
    uint64_t n_weights, n_intercepts;
    const float *weights = naive_attr_floats(call, "coefficients", &n_weights);
    const float *intercepts = naive_attr_floats(call, "intercepts", &n_intercepts);
    double sum = n_intercepts ? (double)intercepts[e] : 0;

    for (f = 0; f < F; f++)
        sum += naive_read(x, n * F + f) * (double)weights[e * F + f];
    return sum;
}

static int32_t run_regressor(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), y = naive_output(k, launch, 0);
    naive_transform transform = naive_transform_of(&k->call);
    int64_t N = naive_samples(&x), E = y.dims[1], n, e;
    double *scores = launch->workspace;

    (void)err;
    for (n = 0; n < N; n++) {
        for (e = 0; e < E; e++)
            scores[e] = score(&k->call, &x, n, e);
        naive_transform_scores(transform, scores, E);
        for (e = 0; e < E; e++)
            naive_write(&y, n * E + e, scores[e]);
    }
    return TFR_OK;
}

static uint64_t regressor_workspace(const tfr_call *call)
{
    return (uint64_t)tfr_call_output(call, 0)->dims[1] * sizeof(double);
}

static uint64_t count(const tfr_call *call, const char *name)
{
    const tfr_attr *a = tfr_call_attr(call, name);

    return a ? a->n : 0;
}

static uint64_t count_labels(const tfr_call *call)
{
    return count(call, "classlabels_ints") + count(call, "classlabels_strings");
}

static int32_t run_classifier(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), y = naive_output(k, launch, 0),
                 z = naive_output(k, launch, 1);
    naive_transform transform = naive_transform_of(&k->call);
    int64_t N = naive_samples(&x), C = (int64_t)count_labels(&k->call), n, c;
    bool pair = C == 2 && count(&k->call, "coefficients") == (uint64_t)naive_features(&x);
    double *scores = launch->workspace;
    int32_t status = TFR_OK;

    for (n = 0; n < N && !status; n++) {
        int64_t label = 0;
        for (c = 0; c < C; c++)
            scores[c] = score(&k->call, &x, n, pair ? 0 : c);
        if (pair)
            scores[0] = -scores[0];
        naive_transform_scores(transform, scores, C);
        if (C > 1)
            label = naive_best(scores, C);
        else if (!(scores[0] >= (transform == NAIVE_NONE ? 0 : 0.5)))
            label = -1;
        status = naive_write_label(&k->call, "classlabels_ints", &y, n, label, err);
        for (c = 0; z.operand && c < C; c++)
            naive_write(&z, n * C + c, scores[c]);
    }
    return status;
}

static uint64_t classifier_workspace(const tfr_call *call)
{
    return count_labels(call) * sizeof(double);
}

const naive_op naive_linear_model_ops[] = {
    {.domain = "ai.onnx.ml",
     .name = "LinearClassifier",
     .since_version = 1,
     .run = run_classifier,
     .workspace = classifier_workspace},
    {.domain = "ai.onnx.ml",
     .name = "LinearRegressor",
     .since_version = 1,
     .run = run_regressor,
     .workspace = regressor_workspace},
    {.name = NULL},
};
