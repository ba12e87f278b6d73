/* SPDX-License-Identifier: Apache-2.0 */
/* TensorScatter: updates of caches. */
#include "case.h"

const ops_case ops_tensor_scatter_cases[] = {
    {"TensorScatter", .vars = "N=1..3 R=0..2 d=0..3 T=1..6 U=1..T D=1..4 S=0..T-U",
     .attrs = "axis:i=R+1 mode:s=linear",
     .in = {{OPS_ANY, "N,d^R,T,D"}, {"=0", "N,d^R,U,D"}, {"i64", "N", "0..S", NULL, "0|1"}}},
    {"TensorScatter/circular", .vars = "N=1..3 R=0..2 d=1..3 T=1..6 U=1..T D=1..4",
     .attrs = "axis:i=-2 mode:s=circular",
     .in = {{OPS_ANY "|f8e4m3fn|f8e4m3fnuz|f8e5m2|f8e5m2fnuz|f8e8m0", "N,d^R,T,D"},
            {"=0", "N,d^R,U,D"},
            {"i64", "N", "0..2*T"}}},
    {"TensorScatter/large", .vars = "N=2 H=4 T=100..200 U=1..9 D=64", .attrs = "axis?:i=2",
     .in = {{"f32|f16|u8", "N,H,T,D"}, {"=0", "N,H,U,D"}, {"i64", "N", "0..T-U"}},
     .bench = "N=4 H=8 T=1024 U=1 D=64"},
    {0},
};
