/* SPDX-License-Identifier: Apache-2.0 */
/* ScatterElements and ScatterND. Indices are unique where no reduction orders what they write. */
#include "case.h"

#define NUMBERS OPS_FLOATS "|i32|i64|u8|i8"

const ops_case ops_scatter_cases[] = {
    {"ScatterElements", .vars = "R=1..3 d=1..5 q=1..d p=perm(d[R-1])", .attrs = "axis:i=R-1",
     .in = {{OPS_ANY, "d^R", NULL, "nizh", NULL},
            {"i64|i32", "1^(R-1),q[R-1]", "=p^q[R-1]", NULL, NULL},
            {"=0", "1^(R-1),q[R-1]", NULL, NULL, NULL}}},
    {"ScatterElements/reduced", .vars = "R=1..4 d=1..5 q=0..d A=0..R-1 B=0|1",
     .attrs = "axis:i=A-R*B reduction:s=add|mul|max|min",
     .in = {{NUMBERS, "d^R", NULL, NULL, NULL},
            {"i64|i32", "q^R", "-d[A]..d[A]-1", NULL, NULL},
            {"=0", "q^R", NULL, NULL, NULL}},
     .tolerance = OPS_SUM},
    /* Long lists with many updates of one element, in order. */
    {"ScatterElements/long", .vars = "A=3|40|700 C=1|2 q=70|300|600",
     .attrs = "axis:i=0 reduction:s=add|max|min",
     .in = {{"f32|f64|i32|u8", "A,C", NULL, NULL, NULL},
            {"i64|i32", "q,C", "-A..A-1", NULL, NULL},
            {"=0", "q,C", NULL, NULL, NULL}},
     .tolerance = OPS_SUM},
    /* More than a thread takes alone, to rows and along the only dim. */
    {"ScatterElements/much", .vars = "A=7 C=1|37|130 q=70|300",
     .attrs = "axis:i=0 reduction:s=add|mul|max|min",
     .in = {{"f32|i32", "A,C", NULL, NULL, NULL},
            {"i64|i32", "q,C", "-A..A-1", NULL, NULL},
            {"=0", "q,C", NULL, NULL, NULL}},
     .tolerance = OPS_SUM},
    {"ScatterElements/one dim", .vars = "A=5 q=20000", .attrs = "axis:i=0 reduction:s=add|max",
     .in = {{"i32|i64", "A", NULL, NULL, NULL},
            {"i64|i32", "q", "-A..A-1", NULL, NULL},
            {"=0", "q", NULL, NULL, NULL}}},
    {"ScatterND", .vars = "D=1..6 Q=1..D p=perm(D) R=0..3 d=1..4",
     .in = {{OPS_ANY, "D,d^R", NULL, "nizh", NULL},
            {"i64", "Q,1", "=p^Q", NULL, NULL},
            {"=0", "Q,d^R", NULL, NULL, NULL}}},
    {"ScatterND/reduced", .vars = "M=1..3 R=0..2 d=1..4 q=0..4 Q=1|2",
     .attrs = "reduction:s=add|mul|max|min",
     .in = {{NUMBERS, "3^M,d^R", NULL, NULL, NULL},
            {"i64", "q^Q,M", "-3..2", NULL, NULL},
            {"=0", "q^Q,d^R", NULL, NULL, NULL}},
     .tolerance = OPS_SUM},
    {"ScatterND/long", .vars = "A=3|40|700 C=1|3|70 q=70|300|600",
     .attrs = "reduction:s=add|max|min",
     .in = {{"f32|f64|i32|u8", "A,C", NULL, NULL, NULL},
            {"i64", "q,1", "-A..A-1", NULL, NULL},
            {"=0", "q,C", NULL, NULL, NULL}},
     .tolerance = OPS_SUM},
    {0},
};
