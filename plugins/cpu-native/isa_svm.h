/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa_svm.h: kernels of support vector machines, a part of isa_kernels.h. Vectors lie in panels of
 * LANES of them, feature by feature. Squared distances are summed as differences in float: all
 * terms are positive, and nothing cancels as it would in |a|^2 - 2 a.b + |b|^2. Products cancel,
 * and a power of them is unbounded: they are summed in double.
 */
#include "svm.h"

typedef double svm_wide __attribute__((vector_size(LANES * sizeof(double))));
typedef float svm_floats __attribute__((vector_size(LANES * sizeof(float))));

/* clang-format off */
#define SVM_WIDEN(v) __builtin_convertvector((svm_floats)(v), svm_wide)
/* clang-format on */

static inline __attribute__((always_inline)) void svm_distances(const native_svm_tile *t,
                                                                const float *panel, const int rows,
                                                                const int panels, double *to)
{
    const int64_t step = t->features * LANES;
    const vec scale = V_ALL(-(float)t->gamma);
    vec s[8];
    svm_wide wide;
    int64_t f;

    UNROLL for (int i = 0; i < rows * panels; i++) s[i] = V_ZERO();
    for (f = 0; f < t->features; f++, panel += LANES) {
        UNROLL for (int p = 0; p < panels; p++)
        {
            const vec v = V_LOAD(panel + p * step);
            UNROLL for (int r = 0; r < rows; r++)
            {
                const vec d = V_SUB(V_ALL(t->x[r][f]), v);
                s[r * panels + p] = V_FMA(d, d, s[r * panels + p]);
            }
        }
    }
    UNROLL for (int r = 0; r < rows; r++)
    {
        UNROLL for (int p = 0; p < panels; p++)
        {
            wide = SVM_WIDEN(v_exp_or_0(V_MUL(scale, s[r * panels + p])));
            memcpy(to + r * t->to_step + p * LANES, &wide, sizeof wide);
        }
    }
}

static inline __attribute__((always_inline)) void
svm_products(const native_svm_tile *t, const float *panel, const int rows, double *to)
{
    svm_wide s[4];
    int64_t f;

    UNROLL for (int r = 0; r < rows; r++) s[r] = (svm_wide){0};
    for (f = 0; f < t->features; f++, panel += LANES) {
        const svm_wide v = SVM_WIDEN(V_LOAD(panel));
        UNROLL for (int r = 0; r < rows; r++) s[r] += v * (double)t->x[r][f];
    }
    UNROLL for (int r = 0; r < rows; r++) memcpy(to + r * t->to_step, &s[r], sizeof s[r]);
}

/* By repeated squares; 1 for degree 0, of NaN, too, as pow. */
static void svm_powers(const native_svm_tile *t, double *to, int64_t n)
{
    int64_t i;
    int bit;

    for (i = 0; i < n; i += LANES) {
        svm_wide x, p = (svm_wide){0} + 1;
        memcpy(&x, to + i, sizeof x);
        x = x * t->gamma + t->coef0;
        for (bit = t->degree; bit; bit >>= 1, x *= x)
            if (bit & 1)
                p *= x;
        memcpy(to + i, &p, sizeof p);
    }
}

static void svm_tanhs(const native_svm_tile *t, double *to, int64_t n)
{
    float x[LANES];
    int64_t i;
    int l;

    for (i = 0; i < n; i += LANES) {
        for (l = 0; l < LANES; l++)
            x[l] = (float)(to[i + l] * t->gamma + t->coef0);
        V_STORE(x, v_tanh(V_LOAD(x)));
        for (l = 0; l < LANES; l++)
            to[i + l] = (double)x[l];
    }
}

static void svm_kernels(const native_svm_tile *t)
{
    const int64_t step = t->features * LANES;
    int64_t p = 0;
    int r;

    if (t->kernel == 'R') {
        const int at_once = t->rows == 4 ? 2 : 4;
        for (; p + at_once <= t->panels; p += at_once) {
            if (t->rows == 4)
                svm_distances(t, t->vectors + p * step, 4, 2, t->to + p * LANES);
            else
                svm_distances(t, t->vectors + p * step, 1, 4, t->to + p * LANES);
        }
    }
    for (; p < t->panels; p++) {
        if (t->kernel == 'R' && t->rows == 4)
            svm_distances(t, t->vectors + p * step, 4, 1, t->to + p * LANES);
        else if (t->kernel == 'R')
            svm_distances(t, t->vectors + p * step, 1, 1, t->to + p * LANES);
        else if (t->rows == 4)
            svm_products(t, t->vectors + p * step, 4, t->to + p * LANES);
        else
            svm_products(t, t->vectors + p * step, 1, t->to + p * LANES);
    }
    for (r = 0; r < t->rows; r++) {
        if (t->kernel == 'P')
            svm_powers(t, t->to + r * t->to_step, t->panels * LANES);
        else if (t->kernel == 'S')
            svm_tanhs(t, t->to + r * t->to_step, t->panels * LANES);
    }
}

/* The sum of coefficients[v] kernels[v]. */
static double svm_sum(const float *coefficients, const double *kernels, int64_t n)
{
    svm_wide s = {0};
    double sum = 0;
    int64_t i;
    int l;

    for (i = 0; i + LANES <= n; i += LANES) {
        svm_wide k;
        memcpy(&k, kernels + i, sizeof k);
        s += SVM_WIDEN(V_LOAD(coefficients + i)) * k;
    }
    for (; i < n; i++)
        sum += (double)coefficients[i] * kernels[i];
    for (l = 0; l < LANES; l++)
        sum += s[l];
    return sum;
}
