/* SPDX-License-Identifier: Apache-2.0 */
/* Gemm: a factor may be transposed (S, T), C broadcasts to the result. */
#include "case.h"

const ops_case ops_gemm_cases[] = {
    {"Gemm", .vars = "M=0..9|33 N=0..9|33 K=0..9|40 S=0|1 T=0|1",
     .attrs = "transA?S:i=S transB?T:i=T alpha?:f=0.5|2|0 beta?:f=0.5|2|0",
     .in = {{"f32|f64|f16|bf16|i32|i64|u32|u64", "S?K:M,S?M:K", NULL, NULL, NULL},
            {"=0", "T?N:K,T?K:N", NULL, NULL, NULL},
            {"=0", "~M,N", NULL, NULL, "0|1"}},
     .tolerance = OPS_SUM, .bench = "M=64 N=512 K=512 S=0 T=1"},
    {"Gemm/a fully connected layer", .vars = "M=1..4 N=1..40 K=1..70", .attrs = "transB:i=1",
     .in = {{"f32|bf16", "M,K", NULL, NULL, NULL},
            {"=0", "N,K", NULL, NULL, NULL},
            {"=0", "N", NULL, NULL, "0|1"}},
     .tolerance = OPS_SUM},
    {"Gemm/an addend that does not count", .vars = "M=1..4 N=1..40 K=1..70 B=0|1",
     .attrs = "beta:f=0",
     .in = {{"f32|f64|f16|bf16", "M,K", NULL, NULL, NULL},
            {"=0", "K,N", NULL, NULL, NULL},
            {"=0", "B?M:1,N", "inf|-inf|1", "n", NULL}},
     .tolerance = OPS_SUM},
    {0},
};
