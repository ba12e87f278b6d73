/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_layout.h: where the parts of operands lie, for gemm_plan.c, which needs their sizes, and
 * gemm.c, which computes with them.
 */
#ifndef NATIVE_GEMM_LAYOUT_H
#define NATIVE_GEMM_LAYOUT_H

#include "gemm_isa.h"

enum { NATIVE_GEMM_ALIGNMENT = 64 };

static inline size_t aligned(size_t bytes)
{
    return (bytes + NATIVE_GEMM_ALIGNMENT - 1) & ~(size_t)(NATIVE_GEMM_ALIGNMENT - 1);
}

static inline int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static inline int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* A packed block of K of A, and behind it a byte of each panel: that it could not be packed. */
static inline size_t shared_block_bytes(const native_gemm *g)
{
    return aligned((size_t)g->row_panels * g->isa->a_bytes(g->k_block)) +
           aligned((size_t)g->row_panels);
}

/* Of a panel of A and of one of B as floats, for values that the math mode's format lacks. */
static inline size_t strict_bytes(const native_gemm *g)
{
    return aligned(g->strict->a_bytes(g->k_block)) +
           aligned((size_t)(g->k_block * g->isa->nr) * sizeof(float));
}

/* Rows from i of A, or columns from i of B, and k from k0 of n_k. */
static inline native_source source_of(const float *at, int64_t ld, bool k_is_row, int64_t i,
                                      int64_t n, int64_t k0, int64_t n_k)
{
    native_source s;

    s.major_step = k_is_row ? 1 : ld;
    s.k_step = k_is_row ? ld : 1;
    s.at = at + i * s.major_step + k0 * s.k_step;
    s.n = n;
    s.k = n_k;
    return s;
}

static inline native_source source_of_a(const native_gemm *g, const float *a, int64_t row,
                                        int64_t rows, int64_t k0, int64_t k)
{
    return source_of(a, g->shape.lda, g->shape.trans_a, row, rows, k0, k);
}

static inline native_source source_of_b(const native_gemm *g, const float *b, int64_t column,
                                        int64_t columns, int64_t k0, int64_t k)
{
    return source_of(b, g->shape.ldb, !g->shape.trans_b, column, columns, k0, k);
}

/* Packed B is all panels of the first block of K, then those of the next. */
static inline size_t packed_at(const native_gemm *g, int64_t k0, int64_t k, int64_t panel)
{
    return g->isa->b_bytes(g->k_block) * (size_t)(k0 / g->k_block * g->n_panels) +
           g->isa->b_bytes(k) * (size_t)panel;
}

/* The rows of panel i; panels are of equal height where the tile can be. */
static inline int64_t panel_row(const native_gemm *g, int64_t i)
{
    if (g->isa->whole_panels)
        return smaller(i * g->isa->mr, g->shape.m);
    return g->shape.m * i / g->row_panels;
}

#endif
