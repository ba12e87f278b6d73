/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_epilogue.h: what follows a product, on a tile in the cache, written once for every vector
 * length. Included by the ISA's files after gemm_tile.h, with its vf.
 *
 * The activations are float32 throughout; their errors against float64, over all inputs, are a few
 * units in the last place (tests/test_gemm.c holds them to 2e-6 relative to 1 + |x|).
 */
#ifndef NATIVE_GEMM_EPILOGUE_H
#define NATIVE_GEMM_EPILOGUE_H

#include "gemm_tile.h"

typedef int32_t vi __attribute__((vector_size(LANES * 4)));

ALWAYS_INLINE vf vf_select(vi mask, vf yes, vf no)
{
    return (vf)(((vi)yes & mask) | ((vi)no & ~mask));
}

/* NaN stays NaN. */
ALWAYS_INLINE vf vf_clamp(vf x, float low, float high)
{
    const vf l = vf_splat(low), h = vf_splat(high);
    x = vf_select((vi)(x < l), l, x);
    return vf_select((vi)(x > h), h, x);
}

/*
 * e^x = 2^n * e^r with |r| <= ln 2 / 2; ln 2 is taken away in two parts (Cody and Waite), e^r is
 * the Taylor polynomial of degree 7. x is held in [-87, 88]: what lies below is smaller than any
 * user of it can see, and what lies above overflows its users anyway.
 */
ALWAYS_INLINE vf vf_exp(vf x)
{
    const vf magic = vf_splat(12582912.0f); /* 1.5 * 2^23: adding it rounds to an integer */
    vf n, r, p;

    x = vf_clamp(x, -87.0f, 88.0f);
    n = vf_fma(x, vf_splat(1.44269504f), magic);
    vi bits = ((vi)n - (vi)magic + 127) << 23;
    n = n - magic;
    r = vf_fma(n, vf_splat(-0.693359375f), x);
    r = vf_fma(n, vf_splat(2.12194440e-4f), r);
    p = vf_splat(1.0f / 5040);
    p = vf_fma(p, r, vf_splat(1.0f / 720));
    p = vf_fma(p, r, vf_splat(1.0f / 120));
    p = vf_fma(p, r, vf_splat(1.0f / 24));
    p = vf_fma(p, r, vf_splat(1.0f / 6));
    p = vf_fma(p, r, vf_splat(0.5f));
    p = vf_fma(p, r, vf_splat(1.0f));
    p = vf_fma(p, r, vf_splat(1.0f));
    return p * (vf)bits;
}

ALWAYS_INLINE vf vf_sigmoid(vf x)
{
    return vf_splat(1.0f) / (vf_splat(1.0f) + vf_exp(-x));
}

ALWAYS_INLINE vf vf_abs(vf x)
{
    return (vf)((vi)x & 0x7fffffff);
}

ALWAYS_INLINE vf vf_with_sign(vf x, vf sign)
{
    return (vf)((vi)x | ((vi)sign & (vi)vf_splat(-0.0f)));
}

/* Odd Taylor polynomial below 0.4, where 1 - 2 / (e^2x + 1) would cancel; that beyond. */
ALWAYS_INLINE vf vf_tanh(vf x)
{
    const vf a = vf_abs(x), s = x * x;
    vf big = vf_splat(1.0f) - vf_splat(2.0f) / (vf_exp(a + a) + vf_splat(1.0f));
    vf p = vf_splat(-929569.0f / 638512875.0f);

    p = vf_fma(p, s, vf_splat(21844.0f / 6081075.0f));
    p = vf_fma(p, s, vf_splat(-1382.0f / 155925.0f));
    p = vf_fma(p, s, vf_splat(62.0f / 2835.0f));
    p = vf_fma(p, s, vf_splat(-17.0f / 315.0f));
    p = vf_fma(p, s, vf_splat(2.0f / 15.0f));
    p = vf_fma(p, s, vf_splat(-1.0f / 3.0f));
    p = vf_fma(p * s, x, x);
    return vf_select((vi)(a < vf_splat(0.4f)), p, vf_with_sign(big, x));
}

/*
 * erfc(x) for x >= 0: t * e^(-x^2 + p(t)), t = 1 / (1 + x / 2); W. Press et al., Numerical Recipes,
 * function erfcc, whose fit has a relative error of 1.2e-7 everywhere.
 */
ALWAYS_INLINE vf vf_erfc_positive(vf x)
{
    const vf t = vf_splat(1.0f) / vf_fma(x, vf_splat(0.5f), vf_splat(1.0f));
    vf p = vf_splat(0.17087277f);

    p = vf_fma(p, t, vf_splat(-0.82215223f));
    p = vf_fma(p, t, vf_splat(1.48851587f));
    p = vf_fma(p, t, vf_splat(-1.13520398f));
    p = vf_fma(p, t, vf_splat(0.27886807f));
    p = vf_fma(p, t, vf_splat(-0.18628806f));
    p = vf_fma(p, t, vf_splat(0.09678418f));
    p = vf_fma(p, t, vf_splat(0.37409196f));
    p = vf_fma(p, t, vf_splat(1.00002368f));
    p = vf_fma(p, t, vf_splat(-1.26551223f));
    return t * vf_exp(vf_fma(-x, x, p));
}

/* x * (1 + erf(x / sqrt 2)) / 2, by erfc of |x|, so that the negative side keeps its digits. */
ALWAYS_INLINE vf vf_gelu_erf(vf x)
{
    const vf half = vf_splat(0.5f) * vf_erfc_positive(vf_abs(x) * vf_splat(0.70710678f));
    const vf p = vf_select((vi)(x < vf_splat(0.0f)), half, vf_splat(1.0f) - half);
    /* -inf * 0 would be NaN, and the limit is 0. */
    return vf_clamp(x, -20.0f, __builtin_inff()) * p;
}

ALWAYS_INLINE vf vf_gelu_tanh(vf x)
{
    /* (1 + tanh u) / 2 = sigmoid(2 u) */
    const vf u = x * vf_fma(x * x, vf_splat(0.0713548163f), vf_splat(1.59576912f));
    return vf_clamp(x, -20.0f, __builtin_inff()) * vf_sigmoid(u);
}

ALWAYS_INLINE vf vf_activate(const native_epilogue *e, vf x)
{
    switch (e->activation) {
    case NATIVE_GEMM_RELU:
        return vf_select((vi)(x < vf_splat(0.0f)), vf_splat(0.0f), x);
    case NATIVE_GEMM_CLIP:
        return vf_clamp(x, e->low, e->high);
    case NATIVE_GEMM_SIGMOID:
        return vf_sigmoid(x);
    case NATIVE_GEMM_TANH:
        return vf_tanh(x);
    case NATIVE_GEMM_SILU:
        return vf_clamp(x, -104.0f, __builtin_inff()) * vf_sigmoid(x);
    case NATIVE_GEMM_GELU_ERF:
        return vf_gelu_erf(x);
    case NATIVE_GEMM_GELU_TANH:
        return vf_gelu_tanh(x);
    default:
        return x;
    }
}

/* n <= LANES floats that lie step apart, 0 = all the same. */
ALWAYS_INLINE vf vf_load_some(const float *p, int64_t step, int n)
{
    float x[LANES] = {0};
    int i;

    if (step == 0)
        return vf_splat(*p);
    if (step == 1 && n == LANES)
        return vf_load(p);
    for (i = 0; i < n; i++)
        x[i] = p[i * step];
    return vf_load(x);
}

static void finish_tile(const native_epilogue *e, const native_gemm_args *args, float *c,
                        int64_t ldc, int64_t row, int64_t column, int rows, int cols)
{
    int i, j;

    for (i = 0; i < rows; i++) {
        const float *addend = NULL, *residual = NULL;
        float row_bias = args->row_bias ? args->row_bias[row + i] : 0.0f;
        if (args->addend)
            addend = args->addend + (row + i) * e->addend_row + column * e->addend_column;
        if (args->residual)
            residual = args->residual + (row + i) * e->ld_residual + column;
        for (j = 0; j < cols; j += LANES) {
            const int n = cols - j < LANES ? cols - j : LANES;
            float *y = c + i * ldc + j;
            vf x = vf_load_some(y, 1, n) * vf_splat(e->alpha);
            if (addend)
                x = vf_fma(vf_load_some(addend + j * e->addend_column, e->addend_column, n),
                           vf_splat(e->beta), x);
            if (args->row_bias)
                x = x + vf_splat(row_bias);
            if (args->column_bias)
                x = x + vf_load_some(args->column_bias + column + j, 1, n);
            if (residual)
                x = x + vf_load_some(residual + j, 1, n);
            x = vf_activate(e, x);
            if (n == LANES)
                vf_store(y, x);
            else
                memcpy(y, &x, (size_t)n * sizeof(float));
        }
    }
}

#endif
