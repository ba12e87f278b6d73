/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autodiff_matmul.c: products of matrices, and what is made of whole matrices. The gradients of a
 * product Y = A B are dA = G B' and dB = A' G.
 */
#include <string.h>

#include "autodiff.h"

static tfr_value gemm(tfr__diff *d, tfr_value a, tfr_value b, float alpha, bool trans_a,
                      bool trans_b)
{
    const tfr_attr attrs[] = {TFR_SET_FLOAT("alpha", alpha), TFR_SET_INT("transA", trans_a),
                              TFR_SET_INT("transB", trans_b)};
    return tfr__diff_node(d, "Gemm", (const tfr_value[]){a, b}, 2, attrs, 3);
}

void tfr__diff_gemm(tfr__diff *d, tfr_value g)
{
    tfr_value a = tfr__diff_in(d, 0), b = tfr__diff_in(d, 1), c = tfr__diff_in(d, 2);
    float alpha = tfr__diff_float(d, "alpha", 1), beta = tfr__diff_float(d, "beta", 1);
    bool ta = tfr__diff_int(d, "transA", 0) != 0, tb = tfr__diff_int(d, "transB", 0) != 0;
    if (tfr__diff_wants(d, 0))
        tfr__diff_give(d, 0,
                       ta ? gemm(d, b, g, alpha, tb, true) : gemm(d, g, b, alpha, false, !tb));
    if (tfr__diff_wants(d, 1))
        tfr__diff_give(d, 1,
                       tb ? gemm(d, g, a, alpha, true, ta) : gemm(d, a, g, alpha, !ta, false));
    if (tfr__diff_wants(d, 2)) {
        if (beta != 1)
            g = tfr__diff_op2(d, "Mul", g, tfr__diff_scalar(d, (double)beta, c));
        tfr__diff_give(d, 2, tfr__diff_sum_to(d, g, c));
    }
}

static tfr_value unsqueeze(tfr__diff *d, tfr_value v, int64_t axis)
{
    return tfr__diff_op2(d, "Unsqueeze", v, tfr__diff_ints(d, &axis, 1));
}

/* The last two of rank dims exchanged. */
static tfr_value transposed(tfr__diff *d, tfr_value v, int32_t rank)
{
    int64_t perm[TFR_MAX_RANK];
    tfr_attr attr = {.size = sizeof attr, .type = TFR_ATTR_INTS, .name = "perm", .ints = perm};
    attr.n = (uint64_t)rank;
    for (int32_t i = 0; i < rank; i++)
        perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    return tfr__diff_node(d, "Transpose", &v, 1, &attr, 1);
}

static tfr_value einsum(tfr__diff *d, const char *equation, tfr_value a, tfr_value b)
{
    const tfr_string text = {equation, strlen(equation)};
    tfr_attr attr = {.size = sizeof attr, .type = TFR_ATTR_STRING, .name = "equation", .n = 1};
    attr.strings = &text;
    return tfr__diff_node(d, "Einsum", (const tfr_value[]){a, b}, 2, &attr, 1);
}

/* Ranks that are not known are taken to be 2 or more. */
static void matmul_of_any_rank(tfr__diff *d, tfr_value g, tfr_value a, tfr_value b)
{
    if (tfr__diff_wants(d, 0))
        tfr__diff_give(d, 0, tfr__diff_sum_to(d, einsum(d, "...ik,...jk->...ij", g, b), a));
    if (tfr__diff_wants(d, 1))
        tfr__diff_give(d, 1, tfr__diff_sum_to(d, einsum(d, "...ji,...jk->...ik", a, g), b));
}

/* All rows of v, of rank dims: [rows, columns]. */
static tfr_value rows_of(tfr__diff *d, tfr_value v, int32_t rank)
{
    const tfr_attr axis[] = {TFR_SET_INT("axis", rank - 1)};
    return rank == 2 ? v : tfr__diff_node(d, "Flatten", &v, 1, axis, 1);
}

/* As input i was before it got a dim more. */
static void give_matrix(tfr__diff *d, uint32_t i, tfr_value share, bool is_vector)
{
    tfr__diff_give(d, i, is_vector ? tfr__diff_reshape_like(d, share, tfr__diff_in(d, i)) : share);
}

/* Where B is one matrix for all rows of A, so is its gradient: one product sums over all of them.
 */
static void matmul_by_matrix(tfr__diff *d, tfr_value g, tfr_value a, tfr_value b, int32_t rank_a,
                             const bool *is_vector)
{
    if (tfr__diff_wants(d, 0))
        give_matrix(d, 0,
                    rank_a == 2 ? gemm(d, g, b, 1, false, true)
                                : tfr__diff_op2(d, "MatMul", g, transposed(d, b, 2)),
                    is_vector[0]);
    if (tfr__diff_wants(d, 1))
        give_matrix(d, 1, gemm(d, rows_of(d, a, rank_a), rows_of(d, g, rank_a), 1, true, false),
                    is_vector[1]);
}

void tfr__diff_matmul(tfr__diff *d, tfr_value g)
{
    tfr_value a = tfr__diff_in(d, 0), b = tfr__diff_in(d, 1), share;
    int32_t rank_a = tfr__diff_fact_of(d, a).rank, rank_b = tfr__diff_fact_of(d, b).rank;
    bool is_vector[2];
    if (rank_a < 1 || rank_b < 1) {
        matmul_of_any_rank(d, g, a, b);
        return;
    }
    if (rank_b == 1) { /* a vector is a matrix of one column */
        b = unsqueeze(d, b, 1);
        g = unsqueeze(d, g, -1);
    }
    if (rank_a == 1) {
        a = unsqueeze(d, a, 0);
        g = unsqueeze(d, g, -2);
    }
    is_vector[0] = rank_a == 1;
    is_vector[1] = rank_b == 1;
    rank_a = rank_a < 2 ? 2 : rank_a;
    rank_b = rank_b < 2 ? 2 : rank_b;
    if (rank_b == 2) {
        matmul_by_matrix(d, g, a, b, rank_a, is_vector);
        return;
    }
    if (tfr__diff_wants(d, 0)) {
        share = tfr__diff_op2(d, "MatMul", g, transposed(d, b, rank_b));
        give_matrix(d, 0, tfr__diff_sum_to(d, share, a), is_vector[0]);
    }
    if (tfr__diff_wants(d, 1)) {
        share = tfr__diff_op2(d, "MatMul", transposed(d, a, rank_a), g);
        give_matrix(d, 1, tfr__diff_sum_to(d, share, b), is_vector[1]);
    }
}

/* ---- inverses -------------------------------------------------------------------------------- */

/* The rank of v, at least 2; 0 = it is not known, and the node is refused. */
static int32_t want_rank(tfr__diff *d, tfr_value v)
{
    int32_t rank = tfr__diff_fact_of(d, v).rank;
    if (rank < 2)
        tfr__diff_refuse(d, "the rank of its input is not known");
    return rank < 2 ? 0 : rank;
}

/* dX = -Y' G Y' */
void tfr__diff_inverse(tfr__diff *d, tfr_value g)
{
    int32_t rank = want_rank(d, tfr__diff_in(d, 0));
    tfr_value y = transposed(d, tfr__diff_out(d), rank);
    g = tfr__diff_op2(d, "MatMul", tfr__diff_op2(d, "MatMul", y, g), y);
    tfr__diff_give(d, 0, tfr__diff_op1(d, "Neg", g));
}

/* g y (X^-1)', so a singular matrix has none. */
void tfr__diff_det(tfr__diff *d, tfr_value g)
{
    tfr_value x = tfr__diff_in(d, 0), inverse = tfr__diff_op1(d, "Inverse", x);
    int32_t rank = want_rank(d, x);
    g = unsqueeze(d, unsqueeze(d, tfr__diff_op2(d, "Mul", g, tfr__diff_out(d)), -1), -1);
    tfr__diff_give(d, 0, tfr__diff_op2(d, "Mul", g, transposed(d, inverse, rank)));
}

/* A X = B: dB = A'^-1 G, dA = -dB X' */
void tfr__diff_solve(tfr__diff *d, tfr_value g)
{
    tfr_value a = tfr__diff_in(d, 0), b = tfr__diff_in(d, 1), y = tfr__diff_out(d), db;
    int32_t rank = want_rank(d, a), rank_y = want_rank(d, y);
    if (d->status)
        return;
    db = tfr__diff_op2(d, "Solve", transposed(d, a, rank), g);
    if (tfr__diff_wants(d, 1))
        tfr__diff_give(d, 1, tfr__diff_sum_to(d, db, b));
    if (tfr__diff_wants(d, 0)) {
        db = tfr__diff_op2(d, "MatMul", db, transposed(d, y, rank_y));
        tfr__diff_give(d, 0, tfr__diff_sum_to(d, tfr__diff_op1(d, "Neg", db), a));
    }
}
