/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_epilogue.h: what follows a product, on a tile in the cache, written once for every vector
 * length. The activations are those of vec.h (tests/test_gemm.c holds them to 2e-6 relative to
 * 1 + |x|).
 */
#ifndef NATIVE_GEMM_EPILOGUE_H
#define NATIVE_GEMM_EPILOGUE_H

#include "gemm_tile.h"
#include "vec.h"

/* Below -20 or -104 what follows is 0 in float32, and -inf * 0 would be NaN. */
ALWAYS_INLINE vec v_activate(const native_epilogue *e, vec x)
{
    switch (e->activation) {
    case NATIVE_GEMM_RELU:
        return V_MAX(V_ZERO(), x);
    case NATIVE_GEMM_CLIP:
        return v_clip(x, e->low, e->high);
    case NATIVE_GEMM_SIGMOID:
        return v_sigmoid(x);
    case NATIVE_GEMM_TANH:
        return v_tanh(x);
    case NATIVE_GEMM_SILU:
        return V_MUL(V_MAX(V_ALL(-104.0f), x), v_sigmoid(x));
    case NATIVE_GEMM_GELU_ERF:
        return v_gelu(V_MAX(V_ALL(-20.0f), x));
    case NATIVE_GEMM_GELU_TANH:
        return v_gelu_tanh(V_MAX(V_ALL(-20.0f), x));
    default:
        return x;
    }
}

/* n <= LANES floats that lie step apart, 0 = all the same. */
ALWAYS_INLINE vec v_strided(const float *p, int64_t step, int n)
{
    float x[LANES] = {0};
    int i;

    if (step == 0)
        return V_ALL(*p);
    if (step == 1 && n == LANES)
        return V_LOAD(p);
    for (i = 0; i < n; i++)
        x[i] = p[i * step];
    return V_LOAD(x);
}

/* What most tiles are: all columns, a bias of them, a residual. The activation is a constant. */
ALWAYS_INLINE void finish_whole(const native_epilogue *e, const int activation, float *c,
                                int64_t ldc, const float *bias, const float *residual, int rows)
{
    native_epilogue fixed = *e;
    int i, j;

    fixed.activation = activation;
    for (i = 0; i < rows; i++, c += ldc) {
        vec x[NV];
        UNROLL_ALL
        for (j = 0; j < NV; j++) {
            x[j] = V_LOAD(c + j * LANES);
            if (bias)
                x[j] = V_ADD(x[j], V_LOAD(bias + j * LANES));
            if (residual)
                x[j] = V_ADD(x[j], V_LOAD(residual + i * e->ld_residual + j * LANES));
        }
        UNROLL_ALL
        for (j = 0; j < NV; j++)
            V_STORE(c + j * LANES, v_activate(&fixed, x[j]));
    }
}

#define FINISH_WHOLE(activation)                                                                   \
    case activation:                                                                               \
        finish_whole(e, activation, c, ldc, bias, residual, rows);                                 \
        return true;

/* False: it is another tile, such as one of a math mode, which may be wider. */
static bool finish_fast(const native_epilogue *e, const native_gemm_args *args, float *c,
                        int64_t ldc, int64_t row, int64_t column, int rows, int cols)
{
    const float *bias = args->column_bias ? args->column_bias + column : NULL;
    const float *residual = NULL;

    if (cols != NR || e->alpha != 1.0f || args->addend || args->row_bias)
        return false;
    if (args->residual)
        residual = args->residual + row * e->ld_residual + column;
    switch (e->activation) {
        FINISH_WHOLE(NATIVE_GEMM_NONE)
        FINISH_WHOLE(NATIVE_GEMM_RELU)
        FINISH_WHOLE(NATIVE_GEMM_CLIP)
        FINISH_WHOLE(NATIVE_GEMM_SIGMOID)
        FINISH_WHOLE(NATIVE_GEMM_TANH)
        FINISH_WHOLE(NATIVE_GEMM_SILU)
        FINISH_WHOLE(NATIVE_GEMM_GELU_ERF)
        FINISH_WHOLE(NATIVE_GEMM_GELU_TANH)
    }
    return false;
}

static void finish_tile(const native_epilogue *e, const native_gemm_args *args, float *c,
                        int64_t ldc, int64_t row, int64_t column, int rows, int cols)
{
    int i, j;

    if (finish_fast(e, args, c, ldc, row, column, rows, cols))
        return;
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
            vec x = V_MUL(v_strided(y, 1, n), V_ALL(e->alpha));
            if (addend)
                x = V_FMA(v_strided(addend + j * e->addend_column, e->addend_column, n),
                          V_ALL(e->beta), x);
            if (args->row_bias)
                x = V_ADD(x, V_ALL(row_bias));
            if (args->column_bias)
                x = V_ADD(x, v_strided(args->column_bias + column + j, 1, n));
            if (residual)
                x = V_ADD(x, v_strided(residual + j, 1, n));
            x = v_activate(e, x);
            if (n == LANES)
                V_STORE(y, x);
            else
                memcpy(y, &x, (size_t)n * sizeof(float));
        }
    }
}

#endif
