/* SPDX-License-Identifier: Apache-2.0 */
/* LRN, LpNormalization, MeanVarianceNormalization. */
#include "case.h"

const ops_case ops_norm_cases[] = {
    {"LRN", .vars = "N=0..2 C=1..20 H=1..3 x=1..5 S=1|3|5",
     .attrs = "size:i=S alpha?:f=0.001|0.5 beta?:f=0.5|1 bias?:f=2",
     .in = {{OPS_FLOATS, "N,C,x^H", NULL, NULL, NULL}}, .tolerance = OPS_SUM},
    {"LRN/planes", .vars = "N=1..2 C=1..40 H=1|9|23 W=1|30 S=1..7",
     .attrs = "size:i=S alpha?:f=0.001|0.5 beta?:f=0.5|0.75|0.6|1 bias?:f=2",
     .in = {{"f32|f16", "N,C,H,W", NULL, NULL, NULL}}, .tolerance = OPS_SUM},
    {"LpNormalization", .vars = "R=1..4 d=0..7 a=perm(R) b=0|1", .attrs = "axis?:i=a-R*b p?:i=1|2",
     .in = {{OPS_FLOATS, "d^R", "0.1..3", NULL, NULL}}, .tolerance = OPS_SUM},
    {"LpNormalization/zeros", .vars = "R=1..3 d=1..9|70 a=perm(R)", .attrs = "axis:i=a p?:i=1|2",
     .in = {{OPS_FLOATS, "d^R", "0|0|0|0|-2|3", "niz", NULL}}, .tolerance = OPS_SUM},
    {"LpNormalization/many rows", .vars = "N=60..140 C=1..40", .attrs = "axis:i=1 p?:i=1|2",
     .in = {{"f32|f64", "N,C", "-3..3|1e-18|1e18", NULL, NULL}}, .tolerance = OPS_SUM},
    {"LpNormalization/far", .vars = "N=1..70 C=1..20|50 b=0|1", .attrs = "axis:i=1 p:i=1",
     .in = {{"f32", "N,C", "b?1e36:1e-37|b?-1e36:-2e-37|0", NULL, NULL}}, .tolerance = OPS_SUM},
    {"LpNormalization/large", .vars = "N=1..3 C=100..200 D=60..90 A=0..2",
     .attrs = "axis:i=A p?:i=1|2", .in = {{"f32|f64", "N,C,D"}}, .tolerance = OPS_SUM,
     .bench = "N=4 C=256 D=256"},
    {"MeanVarianceNormalization", .vars = "R=1..4 d=1..7 M=1..R p=perm(R)", .attrs = "axes:is=p^M",
     .in = {{OPS_FLOATS, "d^R", NULL, NULL, NULL}}, .tolerance = OPS_NORM},
    {0},
};
