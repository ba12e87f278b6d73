/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products. R batch dims d, which broadcast where f or g is 0; B may have fewer (Q). */
#include "case.h"

#define TYPES "f32|f64|f16|bf16|i32|i64|u32|u64"
#define VARS  "R=0..3 Q=0..R d=1..4 f=0|1|1 g=0|1|1 M=0..9|33 N=0..9|33 K=0..9|40"
#define A     "(f?d:1)^R,M,K"
#define B     "(g?d[i+R-Q]:1)^Q,K,N"

const ops_case ops_matmul_cases[] = {
    {"MatMul", .vars = VARS, .in = {{TYPES, A, NULL, "n", NULL}, {"=0", B, NULL, NULL, NULL}},
     .tolerance = OPS_SUM},
    {"MatMul/two matrices", .vars = "M=1..40 N=1..40 K=1..70",
     .in = {{"f32|bf16", "M,K", NULL, "n", NULL}, {"=0", "K,N", NULL, NULL, NULL}},
     .tolerance = OPS_SUM, .bench = "M=256 N=256 K=256"},
    {"MatMul/a vector on the left", .vars = VARS,
     .in = {{TYPES, "K", NULL, NULL, NULL}, {"=0", B, NULL, NULL, NULL}}, .tolerance = OPS_SUM},
    {"MatMul/a vector on the right", .vars = VARS,
     .in = {{TYPES, A, NULL, NULL, NULL}, {"=0", "K", NULL, NULL, NULL}}, .tolerance = OPS_SUM},
    {"MatMul/two vectors", .vars = VARS,
     .in = {{TYPES, "K", NULL, NULL, NULL}, {"=0", "K", NULL, NULL, NULL}}, .tolerance = OPS_SUM},
    {"MatMulInteger", .vars = VARS,
     .in = {{"u8|i8", A, NULL, "h", NULL},
            {"u8|i8", B, NULL, "h", NULL},
            {"=0", "", NULL, NULL, "0|1"},
            {"=1", "", NULL, NULL, "0|1"}}},
    {"MatMulInteger/zero points of rows", .vars = "M=1..9 N=1..9 K=1..9",
     .in = {{"u8|i8", "M,K", NULL, "h", NULL},
            {"u8|i8", "K,N", NULL, "h", NULL},
            {"=0", "M", NULL, NULL, NULL},
            {"=1", "N", NULL, NULL, NULL}}},
    {"QLinearMatMul", .vars = VARS,
     .in = {{"u8|i8", A, NULL, "h", NULL},
            {"f32|f16|bf16", "", "0.1..2", NULL, NULL},
            {"=0", "", NULL, NULL, NULL},
            {"u8|i8", B, NULL, "h", NULL},
            {"=1", "", "0.1..2", NULL, NULL},
            {"=3", "", NULL, NULL, NULL},
            {"=1", "", "1..9", NULL, NULL},
            {"u8|i8", "", NULL, NULL, NULL}}},
    {0},
};
