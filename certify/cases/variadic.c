/* SPDX-License-Identifier: Apache-2.0 */
/* Max, Mean, Min, Sum of any number of inputs that broadcast. */
#include "case.h"

/* A sum may overflow on the way in one order and not in another, so it gets no huge terms. */
#define VARIADIC(op, types, special, kind)                                                         \
    {.name = op,                                                                                   \
     .vars = "R=0..4 d=0..7",                                                                      \
     .in = {{types, "~d^R", NULL, special, NULL}, {"=0", "~d^R", NULL, special, "0..4"}},          \
     .tolerance = kind},                                                                           \
    {                                                                                              \
        .name = op "/equal shapes", .vars = "R=1..4 d=1..7",                                       \
        .in = {{"f32|bf16", "d^R", NULL, special, NULL}, {"=0", "d^R", NULL, special, "1..4"}},    \
        .tolerance = kind                                                                          \
    }

const ops_case ops_variadic_cases[] = {
    VARIADIC("Max", OPS_FLOATS "|" OPS_INTEGERS, "nizh", OPS_EXACT),
    VARIADIC("Mean", OPS_FLOATS, "niz", OPS_SUM),
    VARIADIC("Min", OPS_FLOATS "|" OPS_INTEGERS, "nizh", OPS_EXACT),
    VARIADIC("Sum", OPS_FLOATS, "niz", OPS_SUM),
    {"Sum/many", .vars = "R=0..2 d=1..4",
     .in = {{"f32|f64", "~d^R", NULL, NULL, NULL}, {"=0", "~d^R", NULL, NULL, "7|8|14|15"}},
     .tolerance = OPS_SUM},
    {0},
};
