/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Det; Inverse and Solve, of small numbers and a large one in each row and column:
 * well-conditioned. The large ones are P columns beside the diagonal, so that rows change places.
 */
#include "case.h"

/* `count` matrices of N x N. */
#define MATRICES(count) "=(i%N==(floor(i/N)+P)%N?3*N:(i*7+S)%5-2)^(" count "*N*N)"

const ops_case ops_solve_cases[] = {
    {"Det", .vars = "R=0..2 d=0..3 N=1..5", .in = {{OPS_FLOATS, "d^R,N,N", NULL, NULL, NULL}},
     .tolerance = OPS_SUM},
    {"Inverse", "tfrun", "N=1..4 B=0..2 C=1..2 P=0..3 S=0..20",
     .in = {{OPS_FLOATS, "B,C,N,N", MATRICES("B*C")}}, .tolerance = OPS_SUM},
    {"Inverse/a matrix", "tfrun", "N=0..8 P=0..7 S=0..20",
     .in = {{OPS_FLOATS, "N,N", MATRICES("1")}}, .tolerance = OPS_SUM},
    {"Solve", "tfrun", "N=1..4 K=0..9|40 B=0..2 C=1..2 P=0..3 S=0..20",
     .in = {{OPS_FLOATS, "B,C,N,N", MATRICES("B*C")}, {"=0", "B,C,N,K"}}, .tolerance = OPS_SUM},
    {"Solve/batches that broadcast", "tfrun", "N=1..4 K=1..5 B=1..2 C=1..2 P=0..3 S=0..20 M=0|1",
     .in = {{OPS_FLOATS, "M?C:B,M?1:C,N,N", MATRICES("(M?C:B*C)")}, {"=0", "M?B:C,N,K"}},
     .tolerance = OPS_SUM},
    {"Solve/a vector", "tfrun", "N=1..4 B=1..3 P=0..3 S=0..20",
     .in = {{OPS_FLOATS, "B,N,N", MATRICES("B")}, {"=0", "N"}}, .tolerance = OPS_SUM},
    {0},
};
