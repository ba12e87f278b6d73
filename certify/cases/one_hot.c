/* SPDX-License-Identifier: Apache-2.0 */
/* OneHot: indices in and out of range. */
#include "case.h"

const ops_case ops_one_hot_cases[] = {
    {"OneHot", .vars = "R=0..3 d=0..5 D=1..5 A=0..R B=0|1", .attrs = "axis?:i=A-(R+1)*B",
     .in = {{"i64|i32|u8|f32", "d^R", "-D..D-1|9", NULL, NULL},
            {"i64|i32|f32", "", "D", NULL, NULL},
            {OPS_ANY, "2", NULL, NULL, NULL}}},
    {"OneHot/many", .vars = "D=1..30 A=0..2", .attrs = "axis?:i=A",
     .in = {{"i64|i32", "40,50", "-D..D-1|99"}, {"i64", "", "D"}, {OPS_FLOATS, "2"}}},
    {0},
};
