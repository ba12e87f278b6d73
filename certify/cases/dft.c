/* SPDX-License-Identifier: Apache-2.0 */
/* DFT and STFT: lengths with small factors, with large ones, and primes. */
#include "case.h"

const ops_case ops_dft_cases[] = {
    {"DFT", .vars = "N=1|2 T=1..9 C=1|2", .attrs = "inverse?:i=0|1",
     .in = {{OPS_FLOATS, "N,T,C", NULL, NULL, NULL}}, .tolerance = OPS_SUM},
    {"DFT/lengths", .vars = "T=1..70|97|128|210|254|289 L=1..70|134 C=1|2 A=0..1 I=1..3",
     .attrs = "inverse?:i=0|1",
     .in = {{"f32|f64", "A?I:T,A?T:I,C"}, {"i64", "", "L", NULL, "0|1"}, {"i64", "", "A"}},
     .tolerance = OPS_SUM},
    {"DFT/one side", .vars = "N=1|2 T=2..40 V=0|1", .attrs = "inverse:i=V onesided:i=1",
     .in = {{"f32|f64", "N,T,V+1"}}, .tolerance = OPS_SUM},
    {"STFT", .vars = "N=1|2 T=8..20 F=4|5", .attrs = "onesided?:i=0|1",
     .in = {{OPS_FLOATS, "N,T,1", NULL, NULL, NULL},
            {"i64", "", "2", NULL, NULL},
            {"=0", "F", NULL, NULL, NULL},
            {"i64", "", "F", NULL, NULL}},
     .tolerance = OPS_SUM},
    {"STFT/with a window", .vars = "N=1|2 T=60..90 F=20..40 S=1..9", .attrs = "onesided?:i=0|1",
     .in = {{"f32|f64", "N,T,1"}, {"i64", "", "S"}, {"=0", "F"}, {"i64", "", "F"}},
     .tolerance = OPS_SUM},
    {0},
};
