/* SPDX-License-Identifier: Apache-2.0 */
/* TopK, with ties, and none or all of an axis. */
#include "case.h"

const ops_case ops_top_k_cases[] = {
    {"TopK", .vars = "R=1..4 d=1..7 A=0..R-1 B=0|1 K=0..d[A]",
     .attrs = "axis:i=A-R*B largest?:i=0|1 sorted?:i=1",
     .in = {{OPS_FLOATS "|" OPS_INTEGERS, "d^R", "-3..3|1|2", "iz", NULL},
            {"i64", "1", "K", NULL, NULL}},
     .outputs = "2"},
    {0},
};
