/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SVMRegressor and SVMClassifier (ai.onnx.ml 1), as libsvm and liblinear evaluate their models
 * (Chang and Lin, LIBSVM: a library for support vector machines, 2011). X [N F] or [F], V vectors
 * [V F], kernel_params gamma, coef0, degree:
 *
 *   K(a, b) = a.b | (gamma a.b + coef0)^degree | exp(-gamma |a - b|^2) | tanh(gamma a.b + coef0)
 *   regressor    y = sum over v of coefficients[v] K(x, v) + rho[0], without vectors
 *                coefficients.x + rho[0]; with one_class 1 if that is above 0, else -1
 *   classifier   for each pair of classes i < j: s = rho[pair] + sum over the vectors of i with row
 *                j - 1 of coefficients [C-1 V] + those of j with row i; i gets a vote if s > 0,
 *                else j. With prob_a and prob_b the scores are the classes' probabilities (Wu, Lin
 *                and Weng, 2004, as libsvm couples them), else the s. Without vectors there is one
 *                s = coefficients[c].x + rho[0] for each class.
 *
 * Two labels with one score and one rho get the scores -s and s; a single score is not transformed
 * but by PROBIT. The label is the class with most votes, or the largest score where nobody votes.
 * If there is one rho: two labels without votes for probabilities and with coefficients all >= 0
 * give the second label to a maximum of 0.5 or more; one label is its own number only for a score
 * above 0. In double, rounded once.
 */
#include "ml.h"

#include <math.h>

typedef struct svm {
    const float *coefficients, *vectors, *rho, *prob_a, *prob_b;
    const int64_t *per_class;
    uint64_t n_coefficients, n_rho, n_prob;
    double gamma, coef0, degree;
    char kernel; /* the first letter of kernel_type */
    int64_t V, C, F;
    double *work;
} svm;

static uint64_t count(const tfr_call *call, const char *name)
{
    const tfr_attr *a = tfr_call_attr(call, name);

    return a ? a->n : 0;
}

/* Reads the attributes; V is n_supports or the sum of vectors_per_class. */
static svm svm_of(const tfr_call *call)
{
    svm m = {.V = tfr_call_int(call, "n_supports", 0), .F = 1};
    uint64_t n, i;
    const float *params = naive_attr_floats(call, "kernel_params", &n);
    const tfr_operand *x = tfr_call_input(call, 0);

    if (n == 3) {
        m.gamma = (double)params[0];
        m.coef0 = (double)params[1];
        m.degree = trunc((double)params[2]);
    }
    m.coefficients = naive_attr_floats(call, "coefficients", &m.n_coefficients);
    m.vectors = naive_attr_floats(call, "support_vectors", &n);
    m.rho = naive_attr_floats(call, "rho", &m.n_rho);
    m.prob_a = naive_attr_floats(call, "prob_a", &m.n_prob);
    m.prob_b = naive_attr_floats(call, "prob_b", &n);
    m.per_class = naive_attr_ints(call, "vectors_per_class", &n);
    for (i = 0; i < n; i++)
        m.V += m.per_class[i];
    m.C = (int64_t)(count(call, "classlabels_ints") + count(call, "classlabels_strings"));
    m.kernel = m.V > 0 ? *tfr_call_string(call, "kernel_type", "LINEAR") : 'L';
    m.F = x->dims[x->rank - 1];
    return m;
}

static double kernel_of(const svm *m, const naive_tensor *x, int64_t n, const float *v)
{
    double sum = 0;
    int64_t f;

    for (f = 0; f < m->F; f++) {
        double a = naive_read(x, n * m->F + f), b = (double)v[f];
        sum += m->kernel == 'R' ? (a - b) * (a - b) : a * b;
    }
    switch (m->kernel) {
    case 'P':
        return pow(m->gamma * sum + m->coef0, m->degree);
    case 'R':
        return exp(-m->gamma * sum);
    case 'S':
        return tanh(m->gamma * sum + m->coef0);
    default:
        return sum;
    }
}

static int32_t run_regressor(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), y = naive_output(k, launch, 0);
    naive_transform transform = naive_transform_of(&k->call);
    bool one_class = tfr_call_int(&k->call, "one_class", 0) != 0;
    svm m = svm_of(&k->call);
    int64_t n, v;

    (void)err;
    for (n = 0; n < naive_samples(&x); n++) {
        double s = (double)m.rho[0];
        for (v = 0; v < m.V; v++)
            s += (double)m.coefficients[v] * kernel_of(&m, &x, n, m.vectors + v * m.F);
        if (m.V <= 0)
            s += kernel_of(&m, &x, n, m.coefficients);
        if (one_class)
            s = s > 0 ? 1 : -1;
        naive_transform_scores(transform, &s, 1);
        naive_write(&y, n, s);
    }
    return TFR_OK;
}

/* ---- the classifier ---- */

/* Workspace: K of the V vectors, C votes, scores of pairs and classes; couple()'s R, Q, p, Qp. */
static double *votes_of(const svm *m)
{
    return m->work + m->V;
}

static double *scores_of(const svm *m)
{
    return votes_of(m) + m->C;
}

static int64_t count_pairs(const svm *m)
{
    return m->C * (m->C - 1) / 2;
}

/* Scores and votes of the pairs of classes. */
static void score_pairs(const svm *m, const naive_tensor *x, int64_t n)
{
    double *K = m->work, *votes = votes_of(m), *scores = scores_of(m);
    int64_t i, j, v, pair = 0, begin_i = 0, begin_j;

    for (v = 0; v < m->V; v++)
        K[v] = kernel_of(m, x, n, m->vectors + v * m->F);
    for (i = 0; i < m->C; i++)
        votes[i] = 0;
    for (i = 0; i < m->C; begin_i += m->per_class[i++]) {
        begin_j = begin_i + m->per_class[i];
        for (j = i + 1; j < m->C; begin_j += m->per_class[j++], pair++) {
            double s = (double)m->rho[pair];
            for (v = begin_i; v < begin_i + m->per_class[i]; v++)
                s += (double)m->coefficients[(j - 1) * m->V + v] * K[v];
            for (v = begin_j; v < begin_j + m->per_class[j]; v++)
                s += (double)m->coefficients[i * m->V + v] * K[v];
            scores[pair] = s;
            votes[s > 0 ? i : j] += 1;
        }
    }
}

/* One round of the coupling; true if p has settled. */
static bool couple_step(int64_t C, double *p, const double *Q, double *Qp)
{
    double pQp = 0, error = 0, diff;
    int64_t t, j;

    for (t = 0; t < C; t++) {
        Qp[t] = 0;
        for (j = 0; j < C; j++)
            Qp[t] += Q[t * C + j] * p[j];
        pQp += p[t] * Qp[t];
    }
    for (t = 0; t < C; t++)
        error = fmax(error, fabs(Qp[t] - pQp));
    if (error < 0.005 / (double)C)
        return true;
    for (t = 0; t < C; t++) {
        diff = (pQp - Qp[t]) / Q[t * C + t];
        p[t] += diff;
        pQp = (pQp + diff * (diff * Q[t * C + t] + 2 * Qp[t])) / (1 + diff) / (1 + diff);
        for (j = 0; j < C; j++) {
            Qp[j] = (Qp[j] + diff * Q[t * C + j]) / (1 + diff);
            p[j] /= 1 + diff;
        }
    }
    return false;
}

/* Replaces the scores of the pairs by the probabilities of the classes. */
static void couple(const svm *m)
{
    int64_t C = m->C, i, j, pair = 0, round;
    double *scores = scores_of(m), *R = scores + count_pairs(m) + C, *Q = R + C * C;
    double *p = Q + C * C, *Qp = p + C;

    for (i = 0; i < C; i++) {
        for (j = i + 1; j < C; j++, pair++) {
            double r = 1 - naive_logistic(scores[pair] * (double)m->prob_a[pair] +
                                          (double)m->prob_b[pair]);
            r = fmin(fmax(r, 1e-7), 1 - 1e-7);
            R[i * C + j] = r;
            R[j * C + i] = 1 - r;
        }
    }
    for (i = 0; i < C; i++) {
        p[i] = 1 / (double)C;
        Q[i * C + i] = 0;
        for (j = 0; j < C; j++) {
            if (j == i)
                continue;
            Q[i * C + i] += R[j * C + i] * R[j * C + i];
            Q[i * C + j] = -R[j * C + i] * R[i * C + j];
        }
    }
    for (round = 0; round < (C > 100 ? C : 100) && !couple_step(C, p, Q, Qp); round++)
        ;
    for (i = 0; i < C; i++)
        scores[i] = p[i];
}

/* The label of a sample; -1 and -2 are the numbers 0 and 1, of a model with one label. */
static int64_t choose(const svm *m, int64_t n_scores)
{
    const double *deciding = m->V > 0 ? votes_of(m) : scores_of(m);
    int64_t best = naive_best(deciding, m->V > 0 ? m->C : n_scores);
    bool positive = true;
    uint64_t i;

    if (m->n_rho != 1)
        return best;
    if (m->C != 2)
        return deciding[best] > 0 ? -2 : -1;
    for (i = 0; i < m->n_coefficients; i++)
        positive = positive && m->coefficients[i] >= 0;
    return positive && !(m->V > 0 && m->n_prob) && deciding[best] >= 0.5 ? 1 : best;
}

static int32_t write_label(const tfr_call *call, const naive_tensor *y, int64_t n, int64_t label,
                           tfr_err *err)
{
    if (label != -2)
        return naive_write_label(call, "classlabels_ints", y, n, label, err);
    if (!y->operand)
        return TFR_OK;
    if (y->dtype == TFR_DTYPE_STRING)
        return naive_set_string((tfr_string *)y->out + n, "1", 1, err);
    naive_write_int(y, n, 1);
    return TFR_OK;
}

static void write_scores(const naive_tensor *z, int64_t n, naive_transform transform,
                         double *scores, int64_t n_scores)
{
    int64_t width = z->dims[1], c;

    if (n_scores == 1 && width == 2) {
        scores[1] = scores[0];
        scores[0] = -scores[1];
    }
    if (width > 1 || transform == NAIVE_PROBIT)
        naive_transform_scores(transform, scores, width);
    for (c = 0; c < width; c++)
        naive_write(z, n * width + c, scores[c]);
}

static int32_t run_classifier(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), y = naive_output(k, launch, 0),
                 z = naive_output(k, launch, 1);
    naive_transform transform = naive_transform_of(&k->call);
    svm m = svm_of(&k->call);
    int32_t status = TFR_OK;
    int64_t n, c, n_scores = m.V > 0 && !m.n_prob ? count_pairs(&m) : m.C;
    double *scores;

    m.work = launch->workspace;
    scores = scores_of(&m);
    for (n = 0; n < naive_samples(&x) && !status; n++) {
        if (m.V > 0)
            score_pairs(&m, &x, n);
        for (c = 0; m.V <= 0 && c < m.C; c++)
            scores[c] = (double)m.rho[0] + kernel_of(&m, &x, n, m.coefficients + c * m.F);
        if (m.V > 0 && m.n_prob)
            couple(&m);
        status = write_label(&k->call, &y, n, choose(&m, n_scores), err);
        if (z.operand)
            write_scores(&z, n, transform, scores, n_scores);
    }
    return status;
}

static uint64_t classifier_workspace(const tfr_call *call)
{
    svm m = svm_of(call);
    uint64_t C = (uint64_t)m.C, coupling = m.n_prob ? 2 * C * C + 2 * C : 0;

    return ((uint64_t)m.V + 2 * C + (uint64_t)count_pairs(&m) + coupling) * sizeof(double);
}

const naive_op naive_svm_ops[] = {
    {.domain = "ai.onnx.ml",
     .name = "SVMClassifier",
     .since_version = 1,
     .run = run_classifier,
     .workspace = classifier_workspace},
    {.domain = "ai.onnx.ml", .name = "SVMRegressor", .since_version = 1, .run = run_regressor},
    {.name = NULL},
};
