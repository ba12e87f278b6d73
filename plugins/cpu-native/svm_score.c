/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svm_score.c: from sums over support vectors to votes, probabilities, scores and labels, sample by
 * sample in double with the formulas of plugins/naive/svm.c, which says what they are.
 */
#include "svm.h"

#include <math.h>

static int64_t count_pairs(const native_svm_model *m)
{
    return m->C * (m->C - 1) / 2;
}

int64_t native_svm_work(const native_svm_model *m)
{
    const int64_t C = m->C;

    /* votes; scores of pairs or classes, and one for a second column; R, Q, p and Qp */
    return C + count_pairs(m) + C + 1 + (m->probabilities ? 2 * C * C + 2 * C : 0);
}

static void score_pairs(const native_svm_model *m, const double *sums, double *votes,
                        double *scores)
{
    const int64_t C = m->C;
    int64_t i, j, pair = 0;

    for (i = 0; i < C; i++)
        votes[i] = 0;
    for (i = 0; i < C; i++) {
        for (j = i + 1; j < C; j++, pair++) {
            scores[pair] = (double)m->rho[pair] + sums[i * (C - 1) + j - 1] + sums[j * (C - 1) + i];
            votes[scores[pair] > 0 ? i : j] += 1;
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
static void couple(const native_svm_model *m, double *scores, double *R)
{
    const int64_t C = m->C;
    int64_t i, j, pair = 0, round;
    double *Q = R + C * C, *p = Q + C * C, *Qp = p + C;

    for (i = 0; i < C; i++) {
        for (j = i + 1; j < C; j++, pair++) {
            double r = 1 - native_logistic(scores[pair] * (double)m->prob_a[pair] +
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

static int64_t choose(const native_svm_model *m, const double *votes, const double *scores,
                      int64_t n_scores)
{
    const double *deciding = m->V ? votes : scores;
    int64_t best = native_best(deciding, m->V ? m->C : n_scores);

    if (!m->one_rho)
        return m->labels[best];
    if (m->C != 2)
        return deciding[best] > 0 ? 1 : 0;
    if (m->not_negative && !(m->V && m->probabilities) && deciding[best] >= 0.5)
        best = 1;
    return m->labels[best];
}

void native_svm_classify(const native_svm_model *m, const double *sums, double *work,
                         int64_t *label, float *to)
{
    double *votes = work, *scores = work + m->C;
    int64_t n_scores = m->V && !m->probabilities ? count_pairs(m) : m->C, c;

    if (m->V)
        score_pairs(m, sums, votes, scores);
    for (c = 0; !m->V && c < m->C; c++)
        scores[c] = (double)m->rho[0] + sums[c];
    if (m->V && m->probabilities)
        couple(m, scores, scores + count_pairs(m) + m->C + 1);
    if (label)
        *label = choose(m, votes, scores, n_scores);
    if (!to)
        return;
    if (n_scores == 1 && m->columns == 2) {
        scores[1] = scores[0];
        scores[0] = -scores[1];
    }
    if (m->columns > 1 || m->transform == NATIVE_PROBIT)
        native_transform_scores(m->transform, scores, m->columns);
    for (c = 0; c < m->columns; c++)
        to[c] = (float)scores[c];
}
