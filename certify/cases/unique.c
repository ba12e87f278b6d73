/* SPDX-License-Identifier: Apache-2.0 */
/* Unique of slices and of elements. */
#include "case.h"

const ops_case ops_unique_cases[] = {
    {"Unique", .vars = "R=1..3 d=1..6 A=0..R-1", .attrs = "axis:i=A sorted?:i=0|1",
     .in = {{OPS_FLOATS "|" OPS_INTEGERS "|bool|string", "d^R", "0|1|2", NULL, NULL}},
     .outputs = "1|4"},
    {"Unique/flat", .vars = "R=0..3 d=1..6", .attrs = "sorted?:i=0|1",
     .in = {{OPS_FLOATS "|" OPS_INTEGERS "|bool|string", "d^R", "0|1|2", "nz", NULL}},
     .outputs = "1|4"},
    {"Unique/any numbers", .vars = "N=1..300", .attrs = "sorted?:i=0|1",
     .in = {{OPS_FLOATS "|" OPS_INTEGERS, "N", "-90..90", "nizh", NULL}}, .outputs = "1..4"},
    {"Unique/large", .vars = "N=1000..5000 D=1..3", .attrs = "axis:i=0 sorted?:i=0|1",
     .in = {{"f32|f16|i32|i64", "N,D", "-900..900"}}, .outputs = "1|4", .bench = "N=20000 D=3"},
    {0},
};
