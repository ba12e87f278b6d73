/* SPDX-License-Identifier: Apache-2.0 */
/* Concat along axis A, where each input has its own dim, and Split, its reverse. */
#include "case.h"

const ops_case ops_concat_cases[] = {
    {"Concat", .vars = "R=1..5 d=0..5 e=0..5 A=0..R-1 B=0|1", .attrs = "axis:i=A-R*B",
     .in = {{OPS_ANY, "(i==A?e[0]:d)^R", NULL, "nizh", NULL},
            {"=0", "(i==A?e[j+1]:d)^R", NULL, "nizh", "0..4"}}},
    {"Concat/nothing empty", .vars = "R=1..5 d=1..5 e=1..5|16 A=0..R-1", .attrs = "axis:i=A",
     .in = {{"f32|bf16|i32|u8|i8", "(i==A?e[0]:d)^R", NULL, "nizh", NULL},
            {"=0", "(i==A?e[j+1]:d)^R", NULL, "nizh", "1..4"}},
     .bench = "R=4 A=1 d=28 e=64"},
    {"Concat/rows", .vars = "N=1..200 e=0..70", .attrs = "axis:i=1",
     .in = {{OPS_ANY, "N,e[0]", NULL, NULL, NULL}, {"=0", "N,e[j+1]", NULL, NULL, "0..4"}}},
    {"Split", .vars = "R=1..5 d=0..5 A=0..R-1 B=0|1 M=1..4 s=0..4", .attrs = "axis:i=A-R*B",
     .in = {{OPS_ANY, "(i==A?s[0]+(M>1?s[1]:0)+(M>2?s[2]:0)+(M>3?s[3]:0):d)^R", NULL, "nizh", NULL},
            {"i64", "M", "=s^M", NULL, NULL}},
     .outputs = "M"},
    {"Split/by number", .vars = "R=1..5 d=0..7 A=0..R-1 M=1..4",
     .attrs = "axis:i=A num_outputs:i=M",
     .in = {{OPS_ANY, "(i==A?max(d,2*M):d)^R", NULL, NULL, NULL}}, .outputs = "M"},
    {0},
};
