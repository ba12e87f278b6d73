/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa_linear.h: sums of linear models in double, a part of isa_kernels.h. Four scores of up to
 * eight samples at once: a score is summed in the order of the features, so that its bits are
 * naive's, and the samples are what a processor has to do while it waits for a sum.
 */
#include "linear_model.h"

typedef double linear_vec __attribute__((vector_size(NATIVE_LINEAR_SCORES * sizeof(double))));

static inline __attribute__((always_inline)) void
linear_tile(const native_linear_tile *t, const double *x, double *scores, const int rows)
{
    const double *w = t->weights;
    linear_vec s[8];
    int64_t f;

    UNROLL for (int r = 0; r < rows; r++) memcpy(&s[r], scores + r * t->step, sizeof s[r]);
    for (f = 0; f < t->features; f++, w += NATIVE_LINEAR_SCORES) {
        linear_vec v;
        memcpy(&v, w, sizeof v);
        UNROLL for (int r = 0; r < rows; r++) s[r] += v * x[r * t->x_step + f];
    }
    UNROLL for (int r = 0; r < rows; r++) memcpy(scores + r * t->step, &s[r], sizeof s[r]);
}

static void linear_sums(const native_linear_tile *t)
{
    const double *x = t->x;
    double *scores = t->scores;
    int left = t->rows;

    for (; left >= 8; left -= 8, x += 8 * t->x_step, scores += 8 * t->step)
        linear_tile(t, x, scores, 8);
    if (left >= 4) {
        linear_tile(t, x, scores, 4);
        left -= 4, x += 4 * t->x_step, scores += 4 * t->step;
    }
    if (left >= 2) {
        linear_tile(t, x, scores, 2);
        left -= 2, x += 2 * t->x_step, scores += 2 * t->step;
    }
    if (left)
        linear_tile(t, x, scores, 1);
}
