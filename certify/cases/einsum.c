/* SPDX-License-Identifier: Apache-2.0 */
/* Einsum: products, traces, transpositions, batches. */
#include "case.h"

#define EINSUM(what, equation_, a, b)                                                              \
    {                                                                                              \
        .name = "Einsum/" what, .vars = "N=1..5 M=1..5 K=0..5 H=1..3",                             \
        .attrs = "equation:s=" equation_,                                                          \
        .in = {{OPS_FLOATS "|i32|i64", a, NULL, NULL, NULL}, {"=0", b, NULL, NULL, NULL}},         \
        .tolerance = OPS_SUM                                                                       \
    }

const ops_case ops_einsum_cases[] = {
    EINSUM("a product", "mk,kn->mn", "M,K", "K,N"),
    EINSUM("a batch", "...mk,...kn->...mn", "H,M,K", "H,K,N"),
    EINSUM("outer", "i,j", "M", "N"),
    EINSUM("everything", "ab,ab->", "M,N", "M,N"),
    {"Einsum/one input", .vars = "N=1..5 M=1..5", .attrs = "equation:s=ij->ji|ij->i|ij->",
     .in = {{OPS_FLOATS "|i32|i64", "M,N", NULL, NULL, NULL}}, .tolerance = OPS_SUM},
    {"Einsum/diagonal", .vars = "N=1..5", .attrs = "equation:s=ii->i|ii->|ii",
     .in = {{OPS_FLOATS "|i32|i64", "N,N", NULL, NULL, NULL}}, .tolerance = OPS_SUM},
    {0},
};
