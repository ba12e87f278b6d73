/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over some axes, all, or none. */
#include "case.h"

#define REDUCE(op, types, values, specials)                                                        \
    {.name = op,                                                                                   \
     .vars = "R=0..5 d=0..7 M=0..R p=perm(R) b=0|1",                                               \
     .attrs = "keepdims?:i=0|1 noop_with_empty_axes?:i=0|1",                                       \
     .in = {{types, "d^R", values, specials, NULL}, {"i64", "M", "=(p-R*b)^M", NULL, "0|1"}},      \
     .tolerance = OPS_SUM},                                                                        \
    {                                                                                              \
        .name = op "/last axes", .vars = "R=2..4 d=1..7|17 M=1..R", .attrs = "keepdims?:i=0|1",    \
        .in = {{"f32", "d^R", values, NULL, NULL}, {"i64", "M", "=(R-M+i)^M", NULL, NULL}},        \
        .tolerance = OPS_SUM, .bench = "R=4 d=32 M=2"                                              \
    }

/* Long rows, many rows and wide ones, around vectors and blocks. */
#define LONG(types, specials)                                                                      \
    .vars = "N=1|3|65 A=1|31|33|100|700 C=1|2|9|40|300 B=0..2", .attrs = "keepdims?:i=0|1",        \
    .in = {{types, "N,A,C", NULL, specials, NULL}, {"i64", "1", "B", NULL, NULL}},                 \
    .tolerance = OPS_SUM

/* Inside of kept dims that others are reduced around, and few numbers of few columns. */
#define INSIDE(types, specials)                                                                    \
    .vars = "N=1|2 A=1|5|40|300 B=1|7 C=1|3|8|40 D=2..5", .attrs = "keepdims?:i=0|1",              \
    .in = {{types, "N,A,B,C,D", NULL, specials, NULL}, {"i64", "3", "=1,2,4", NULL, NULL}},        \
    .tolerance = OPS_SUM
#define AROUND(types, specials)                                                                    \
    .vars = "N=1..9 A=1..7 B=1|3|50 C=1..20", .attrs = "keepdims?:i=0|1",                          \
    .in = {{types, "N,A,B,C", NULL, specials, NULL}, {"i64", "2", "=0,2", NULL, NULL}},            \
    .tolerance = OPS_SUM
#define FEW(types, specials)                                                                       \
    .vars = "N=1|63|64|65|200 A=2..9 C=2..9", .attrs = "keepdims?:i=0|1",                          \
    .in = {{types, "N,A,C", NULL, specials, NULL}, {"i64", "1", "1", NULL, NULL}},                 \
    .tolerance = OPS_SUM

/* Of channels, as the gradient of a bias is. */
#define CHANNELS(types, specials)                                                                  \
    .vars = "N=1|5|33 A=1..3 C=900|4099", .attrs = "keepdims?:i=0|1",                              \
    .in = {{types, "N,A,C", NULL, specials, NULL}, {"i64", "2", "=0,2", NULL, NULL}},              \
    .tolerance = OPS_SUM

const ops_case ops_reduce_cases[] = {
    REDUCE("ReduceL1", OPS_FLOATS "|i32|i64|u32|u64", NULL, "niz"),
    REDUCE("ReduceL2", OPS_FLOATS "|i32|i64|u32|u64", NULL, "niz"),
    REDUCE("ReduceLogSum", OPS_FLOATS, "0.1..3", "niz"),
    REDUCE("ReduceLogSumExp", OPS_FLOATS, NULL, "niz"),
    REDUCE("ReduceMax", OPS_FLOATS "|u8|u32|u64|i8|i32|i64|bool", NULL, "iz"),
    REDUCE("ReduceMean", OPS_FLOATS "|i32|i64|u32|u64", NULL, "niz"),
    REDUCE("ReduceMin", OPS_FLOATS "|u8|u32|u64|i8|i32|i64|bool", NULL, "iz"),
    REDUCE("ReduceProd", OPS_FLOATS "|i32|i64|u32|u64", "0.9..1.1|-1", "ni"),
    REDUCE("ReduceSum", OPS_FLOATS "|i32|i64|u32|u64", NULL, "niz"),
    REDUCE("ReduceSumSquare", OPS_FLOATS "|i32|i64|u32|u64", NULL, "niz"),
    {"ReduceMax/long", LONG("f32|f64|i32|i64", "n")},
    {"ReduceMin/long", LONG("f32|f64|i32|i64", "n")},
    {"ReduceSum/long", LONG("f32|f64|i32|i64", NULL)},
    {"ReduceLogSumExp/long", LONG("f32|f64", "i")},
    {"ReduceMax/inside", INSIDE("f32|f64|i32|i64|u8|i8", "n")},
    {"ReduceMean/inside", INSIDE("f32|f64|i32|i64", NULL)},
    {"ReduceL2/inside", INSIDE("f32|f64", NULL)},
    {"ReduceLogSumExp/inside", INSIDE("f32|f64", "i")},
    {"ReduceMin/around", AROUND("f32|f64|i32|i64|u8|i8", "n")},
    {"ReduceSum/around", AROUND("f32|f64|i32|i64", NULL)},
    {"ReduceMax/few", FEW("f32|f64|i32|i64|u8|i8", "n")},
    {"ReduceSumSquare/few", FEW("f32|f64|i32|i64", NULL)},
    {"ReduceMax/channels", CHANNELS("f32|f64|f16|bf16|i32|i64", "n")},
    {"ReduceSum/channels", CHANNELS("f32|f16|bf16|i32|i64", NULL)},
    {"ReduceMean/columns", .vars = "N=1|5 A=67|900 B=1|9 C=8|33|40", .attrs = "keepdims?:i=0|1",
     .in = {{"f32|f16|bf16", "N,A,B,C", NULL, NULL, NULL}, {"i64", "2", "=0,1", NULL, NULL}},
     .tolerance = OPS_SUM},
    {"ReduceSum/columns", .vars = "A=900|5000 B=1..3 C=8|33|40", .attrs = "keepdims?:i=0|1",
     .in = {{"f32|f16|bf16|i64", "A,B,C", NULL, NULL, NULL}, {"i64", "2", "=0,1", NULL, NULL}},
     .tolerance = OPS_SUM},
    {"SumTo", .domain = "tfrun", .vars = "N=1..4 C=1..20",
     .in = {{OPS_FLOATS, "N,C", NULL, NULL, NULL}, {"i64", "2", "=1,C", NULL, NULL}},
     .tolerance = OPS_SUM},
    {0},
};
