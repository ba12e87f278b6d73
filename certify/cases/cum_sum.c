/* SPDX-License-Identifier: Apache-2.0 */
/* CumSum and CumProd. */
#include "case.h"

#define CUMULATE(op, values)                                                                       \
    {                                                                                              \
        .name = op, .vars = "R=1..4 d=0..7 A=0..R-1 B=0|1",                                        \
        .attrs = "exclusive?:i=0|1 reverse?:i=0|1",                                                \
        .in = {{OPS_FLOATS "|i32|i64|u32|u64", "d^R", values, "ni", NULL},                         \
               {"i64|i32", "", "A-R*B", NULL, NULL}},                                              \
        .tolerance = OPS_SUM                                                                       \
    }

const ops_case ops_cum_sum_cases[] = {
    CUMULATE("CumProd", "0.5..2|-1"),
    CUMULATE("CumSum", NULL),
    {"CumSum/many lanes", .vars = "A=0..2 N=1..90", .attrs = "exclusive?:i=0|1 reverse?:i=0|1",
     .in = {{"f32|f64|i32|i64", "3,60,N", "-3..3", NULL, NULL}, {"i64", "", "A", NULL, NULL}},
     .tolerance = OPS_SUM},
    /* Rows that several blocks add up. */
    {"CumSum/long", .vars = "N=1|2 A=40|900|5000|9000 C=1|2",
     .attrs = "exclusive?:i=0|1 reverse?:i=0|1",
     .in = {{"f32|f64|i32", "N,A,C", NULL, NULL, NULL}, {"i64", "", "1", NULL, NULL}},
     .tolerance = OPS_SUM},
    {0},
};
