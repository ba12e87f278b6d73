/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_kit.h: products for the tests of plugins/cpu-native/gemm.h: made-up operands, what float64
 * makes of them, and the comparison. The plugin's files are compiled into the tests.
 */
#ifndef TFR_TESTS_GEMM_KIT_H
#define TFR_TESTS_GEMM_KIT_H

#include <stdlib.h>

#include "gemm.h"
#include "tfr_test.h"

/* From the least to the most; what the machine lacks computes like the one before. */
static const char *const all_features[] = {
    "",
    "avx2 fma",
    "avx2 fma avx512f avx512bw avx512vl avx512dq",
    "avx2 fma avx512f avx512bw avx512vl avx512dq avx512_bf16 amx_tile amx_bf16",
};
enum { N_FEATURES = sizeof all_features / sizeof all_features[0], GUARD = 8 };
static const float guard = -12345.5f;

static uint32_t seed = 1;

static float next_value(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (float)(int32_t)seed / 2147483648.0f;
}

/* A matrix in a block of its own, so that a read beyond it is seen by a sanitizer. */
static float *make_matrix(int64_t n)
{
    float *p = malloc((size_t)(n > 0 ? n : 1) * sizeof *p);
    int64_t i;
    for (i = 0; p && i < n; i++)
        p[i] = next_value();
    return p;
}

static void *make_aligned(size_t bytes)
{
    return aligned_alloc(64, (bytes + 64) & ~(size_t)63);
}

typedef struct product {
    native_gemm_shape shape;
    native_gemm_args args; /* but for c and, if packed, b */
    double slack;          /* of the error bound: 1 for float32 */
    double relative;       /* error of a factor's product, of the math mode */
    double absolute;       /* error of the activation */
} product;

static product make_product(int64_t m, int64_t n, int64_t k)
{
    product p = {.slack = 1};
    p.shape.m = m;
    p.shape.n = n;
    p.shape.k = k;
    p.shape.lda = k;
    p.shape.ldb = p.shape.ldc = n;
    p.shape.epilogue.alpha = 1;
    p.args.a = make_matrix(m * k);
    p.args.b = make_matrix(k * n);
    return p;
}

static void free_product(product *p)
{
    free((void *)(uintptr_t)p->args.a);
    free((void *)(uintptr_t)p->args.b);
}

static double activated(const native_epilogue *e, double x)
{
    switch (e->activation) {
    case NATIVE_GEMM_RELU:
        return x < 0 ? 0 : x;
    case NATIVE_GEMM_CLIP:
        return x < e->low ? e->low : x > e->high ? e->high : x;
    case NATIVE_GEMM_SIGMOID:
        return 1 / (1 + exp(-x));
    case NATIVE_GEMM_TANH:
        return tanh(x);
    case NATIVE_GEMM_SILU:
        return x / (1 + exp(-x));
    case NATIVE_GEMM_GELU_ERF:
        return 0.5 * x * erfc(-x / sqrt(2.0));
    case NATIVE_GEMM_GELU_TANH:
        return 0.5 * x * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
    default:
        return x;
    }
}

/* Element [i, j] and how much a float32 computation of it may be off. */
static double expected(const product *p, int64_t i, int64_t j, double *bound)
{
    const native_gemm_shape *s = &p->shape;
    const native_epilogue *e = &s->epilogue;
    const float *b = p->args.b;
    double sum = 0, size = 0;
    int64_t k;

    for (k = 0; k < s->k; k++) {
        double x = p->args.a[s->trans_a ? k * s->lda + i : i * s->lda + k];
        double y = b[s->trans_b ? j * s->ldb + k : k * s->ldb + j];
        sum += x * y;
        size += fabs(x * y);
    }
    *bound = size * ((double)(s->k + 8) * 0x1p-24 * p->slack + p->relative) * fabs(e->alpha);
    sum *= e->alpha;
    if (p->args.addend)
        sum += (double)e->beta * p->args.addend[i * e->addend_row + j * e->addend_column];
    if (p->args.row_bias)
        sum += p->args.row_bias[i];
    if (p->args.column_bias)
        sum += p->args.column_bias[j];
    if (p->args.residual)
        sum += p->args.residual[i * e->ld_residual + j];
    *bound += fabs(sum) * 0x1p-22 + p->absolute * (1 + fabs(sum));
    return activated(e, sum);
}

/* "emulated" is the arithmetic of the math modes on the least processor. */
static void find_cpu(native_gemm_cpu *cpu, const char *features)
{
    const bool emulated = strcmp(features, "emulated") == 0;
    native_gemm_find_cpu(cpu, emulated ? "" : features);
    if (emulated)
        native_gemm_emulate_modes(cpu);
}

/* Computes with the features and compares every element; true = all good. */
static bool product_agrees(const product *p, const char *features, int threads, bool packed)
{
    native_gemm_cpu cpu;
    native_gemm_shape shape = p->shape;
    native_gemm_args args = p->args;
    native_gemm g;
    const int64_t n_c = shape.m * shape.ldc;
    float *c = make_matrix(n_c + GUARD);
    void *scratch, *b = NULL;
    bool good = c != NULL;
    int64_t i, j;

    shape.b_packed = packed;
    find_cpu(&cpu, features);
    native_gemm_plan(&g, &cpu, &shape, threads);
    scratch = make_aligned(g.scratch_bytes);
    if (packed) {
        b = make_aligned(g.packed_bytes);
        if (good && b && !native_gemm_pack(&g, args.b, b)) { /* as the header says */
            good = shape.math_mode != TFR_MATH_STRICT;
            shape.math_mode = TFR_MATH_STRICT;
            native_gemm_plan(&g, &cpu, &shape, threads);
            free(b);
            free(scratch);
            scratch = make_aligned(g.scratch_bytes);
            b = make_aligned(g.packed_bytes);
            good = good && b && native_gemm_pack(&g, args.b, b);
        }
        args.b = b;
    }
    if (good && scratch) {
        for (i = 0; i < GUARD; i++)
            c[n_c + i] = guard;
        args.c = c;
        for (i = g.n_tiles - 1; i >= 0; i--) /* any order, any split */
            native_gemm_run(&g, &args, scratch, i, i + 1);
        for (i = 0; i < GUARD; i++)
            good = good && c[n_c + i] == guard;
        for (i = 0; i < shape.m; i++)
            for (j = 0; j < shape.n; j++) {
                double bound, y = expected(p, i, j, &bound), x = c[i * shape.ldc + j];
                bool same = isnan(y) ? isnan(x) : isinf(y) ? x == y : fabs(x - y) <= bound + 1e-37;
                if (!same && good)
                    printf("  \"%s\" %jd x %jd x %jd, packed %d: [%jd, %jd] is %.9g, not %.9g\n",
                           features, (intmax_t)shape.m, (intmax_t)shape.n, (intmax_t)shape.k,
                           packed, (intmax_t)i, (intmax_t)j, x, y);
                good = good && same;
            }
    }
    free(b);
    free(scratch);
    free(c);
    return good;
}

/* A host that runs the last range first. */
static void run_backwards(tfr_range_fn fn, void *user, int64_t n, int64_t grain)
{
    int64_t i;

    grain = grain > 0 ? grain : 3;
    for (i = (n - 1) / grain * grain; i >= 0; i -= grain)
        fn(user, i, i + grain < n ? i + grain : n);
}

/*
 * The product with A packed for all stripes, ahead of them or, with one thread, by the first of
 * them, in one or several rounds, against the one whose stripes pack it themselves; so small a
 * second cache makes several.
 */
static void check_shared_a(const product *p, const char *features, int64_t blocks, int threads)
{
    const tfr_host host = {.size = sizeof host, .parallel_for = run_backwards};
    const int64_t size = p->shape.m * p->shape.ldc;
    float *own = make_matrix(size), *shared = make_matrix(size);
    native_gemm_args args = p->args;
    native_gemm_cpu cpu;
    native_gemm g;
    void *memory;

    REQUIRE(own && shared);
    find_cpu(&cpu, features);
    cpu.l2_bytes = 128 << 10;
    native_gemm_plan(&g, &cpu, &p->shape, threads);
    CHECK(g.shared_blocks >= blocks);
    g.shared_blocks = blocks;
    memory = make_aligned(native_gemm_workspace(&g, 2));
    REQUIRE(memory != NULL);
    args.c = own;
    native_gemm_run(&g, &args, memory, 0, g.n_tiles);
    args.c = shared;
    native_gemm_run_all(&g, &args, memory, &host, 2);
    CHECK(memcmp(own, shared, (size_t)size * sizeof *own) == 0);
    free(memory);
    free(own);
    free(shared);
}

#endif
