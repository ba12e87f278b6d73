/* SPDX-License-Identifier: Apache-2.0 */
/* Gather, GatherElements, GatherND, with negative and with no indices. */
#include "case.h"

#define INDEX  "i64|i32"
#define WITHIN "-d[A]..d[A]-1"

const ops_case ops_gather_cases[] = {
    {"Gather", .vars = "R=1..4 d=1..5 A=0..R-1 B=0|1 Q=0..3 q=0..4", .attrs = "axis?A:i=A-R*B",
     .in = {{OPS_ANY, "d^R", NULL, "nizh", NULL}, {INDEX, "q^Q", WITHIN, NULL, NULL}}},
    {"Gather/rows", .vars = "V=1..9 C=1..9 Q=1|2 q=1..4 R=2 A=0 d=V",
     .in = {{OPS_FLOATS, "V,C", NULL, NULL, NULL}, {INDEX, "q^Q", "-V..V-1", NULL, NULL}},
     .bench = "V=1000 C=512 Q=1 q=64"},
    {"GatherElements", .vars = "R=1..4 d=1..5 A=0..R-1 B=0|1 q=0..d", .attrs = "axis?A:i=A-R*B",
     .in = {{OPS_ANY, "d^R", NULL, "nizh", NULL}, {INDEX, "q^R", WITHIN, NULL, NULL}}},
    {"GatherND", .vars = "R=1..4 d=1..5 Q=0..2 q=0..4 M=1..R D=min(5,d[0])",
     .in = {{OPS_ANY, "3^M,d^(R-M)", NULL, NULL, NULL}, {"i64", "q^Q,M", "-3..2", NULL, NULL}}},
    {"GatherND/batch", .vars = "N=1..3 R=1..3 d=1..5 q=1..4 M=1..R", .attrs = "batch_dims:i=1",
     .in = {{OPS_ANY, "N,3^M,d^(R-M)", NULL, NULL, NULL}, {"i64", "N,q,M", "-3..2", NULL, NULL}}},
    {0},
};
