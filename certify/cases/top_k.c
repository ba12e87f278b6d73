/* SPDX-License-Identifier: Apache-2.0 */
/* TopK, with ties, and none or all of an axis. */
#include "case.h"

const ops_case ops_top_k_cases[] = {
    {"TopK", .vars = "R=1..4 d=1..7 A=0..R-1 B=0|1 K=0..d[A]",
     .attrs = "axis:i=A-R*B largest?:i=0|1 sorted?:i=1",
     .in = {{OPS_FLOATS "|" OPS_INTEGERS, "d^R", "-3..3|1|2", "iz", NULL},
            {"i64", "1", "K", NULL, NULL}},
     .outputs = "2"},
    /* Long rows with NaN: lists of few, cut lists, and all of the row. */
    {"TopK/long", .vars = "N=1|5 A=70|600|3000 C=1|3 K=1|5|16|17|60|70",
     .attrs = "axis:i=1 largest?:i=0|1 sorted?:i=1",
     .in = {{"f32|f64|i32|i64", "N,A,C", "-9..9|1|2", "niz", NULL}, {"i64", "1", "K", NULL, NULL}},
     .outputs = "2"},
    {"TopK/many", .vars = "A=600|3000 K=300|599|600",
     .attrs = "axis:i=0 largest?:i=0|1 sorted?:i=1",
     .in = {{"f32|f64|i32|i64", "A", "-99..99|0|1", "niz", NULL}, {"i64", "1", "K", NULL, NULL}},
     .outputs = "2"},
    /* More columns than go together. */
    {"TopK/columns", .vars = "N=1|2 A=3..40 C=15..50 K=1..3", .attrs = "axis:i=1 largest?:i=0|1",
     .in = {{"f32|f64|i32|i64", "N,A,C", "-9..9|1|2", "niz", NULL}, {"i64", "1", "K", NULL, NULL}},
     .outputs = "2"},
    {0},
};
