/* SPDX-License-Identifier: Apache-2.0 */
/* Transpose, Expand, Tile. */
#include "case.h"

const ops_case ops_transpose_cases[] = {
    {"Expand", .vars = "R=0..5 d=0..5",
     .in = {{OPS_ANY, "~d^R", NULL, "nizh", NULL}, {"i64", "R", "=d^R", NULL, NULL}}},
    {"Expand/shape with ones", .vars = "R=1..4 d=1..5 b=0|1",
     .in = {{OPS_ANY, "d^R", NULL, NULL, NULL}, {"i64", "R", "=(b?d:1)^R", NULL, NULL}}},
    {"Expand/rows", .vars = "N=1..9 C=1..200",
     .in = {{OPS_ANY, "N,1", NULL, NULL, NULL}, {"i64", "2", "=N,C", NULL, NULL}}},
    {"Tile", .vars = "R=0..4 d=0..4 t=0..3",
     .in = {{OPS_ANY, "d^R", NULL, "nizh", NULL}, {"i64", "R", "=t^R", NULL, NULL}}},
    {"Tile/large", .vars = "d=1..40 t=1..4",
     .in = {{OPS_FLOATS "|u8", "d^3"}, {"i64", "3", "=t^3"}}},
    {"Transpose", .vars = "R=1..5 d=0..7 p=perm(R)", .attrs = "perm?:is=p^R",
     .in = {{OPS_ANY "|i4|u4|i2|u2|f4e2m1|f8e8m0|f8e4m3fn|f8e4m3fnuz|f8e5m2|f8e5m2fnuz", "d^R",
             NULL, "nizh", NULL}}},
    {"Transpose/images", .vars = "R=4 d=1..7|16", .attrs = "perm:is=0,2,3,1",
     .in = {{"f32|bf16|i32|i8|u8", "d^R", NULL, "nizh", NULL}}, .bench = "d=1|64|56"},
    {"Transpose/matrices", .vars = "N=1..3 R=1..80 C=1..80", .attrs = "perm:is=0,2,1",
     .in = {{OPS_ANY, "N,R,C", NULL, "nizh", NULL}}},
    {"Transpose/of pages", .vars = "R=1..80 C=1024", .attrs = "perm:is=1,0",
     .in = {{"f32|f64|f16|u8", "R,C", NULL, NULL, NULL}}},
    {"Transpose/to pages", .vars = "R=1024 C=1..80", .attrs = "perm:is=1,0",
     .in = {{"f32|f64|f16|u8", "R,C", NULL, NULL, NULL}}},
    {"Transpose/rows", .vars = "R=4 d=1..7 e=1..70", .attrs = "perm:is=0,2,1,3",
     .in = {{OPS_ANY, "(i==3?e:d)^R", NULL, NULL, NULL}}},
    {"Transpose/scalar", .in = {{OPS_ANY, "", NULL, NULL, NULL}}},
    {0},
};
