/* SPDX-License-Identifier: Apache-2.0 */
/* Ops of two inputs that broadcast against each other, element by element. */
#include "case.h"

#define VARS    "R=0..5 d=0..7"
#define SPECIAL "nizh"

#define BINARY(op, types, values, kind)                                                            \
    {                                                                                              \
        .name = op, .vars = VARS,                                                                  \
        .in = {{types, "~d^R", values, SPECIAL, NULL}, {"=0", "~d^R", values, SPECIAL, NULL}},     \
        .tolerance = kind                                                                          \
    }
/* What a backend must do to be worth choosing: no broadcasting but of a number or a channel. */
#define SIMPLE(op, values)                                                                         \
    {.name = op "/equal shapes",                                                                   \
     .vars = "R=1..5 d=1..7",                                                                      \
     .in = {{"f32", "d^R", values, "nizh", NULL}, {"=0", "d^R", values, "nizh", NULL}},            \
     .tolerance = OPS_ROUND,                                                                       \
     .bench = "R=4 d=40"},                                                                         \
        {.name = op "/by a number",                                                                \
         .vars = "R=1..5 d=1..7",                                                                  \
         .in = {{"f32", "d^R", values, "nizh", NULL}, {"=0", "1^(R-1)", values, NULL, NULL}},      \
         .tolerance = OPS_ROUND},                                                                  \
    {                                                                                              \
        .name = op "/by a channel", .vars = "N=1|2 C=1..20 x=1..5 H=0..3",                         \
        .in = {{"f32", "N,C,x^H", values, "nizh", NULL}, {"=0", "C,1^H", values, NULL, NULL}},     \
        .tolerance = OPS_ROUND                                                                     \
    }

const ops_case ops_binary_cases[] = {
    BINARY("Add", OPS_FLOATS "|" OPS_INTEGERS, NULL, OPS_ROUND),
    SIMPLE("Add", NULL),
    BINARY("And", "bool", NULL, OPS_EXACT),
    {"BitShift", .vars = VARS, .attrs = "direction:s=LEFT|RIGHT",
     .in = {{OPS_INTEGERS, "~d^R", NULL, "h", NULL}, {"=0", "~d^R", "0..7", NULL, NULL}}},
    BINARY("BitwiseAnd", OPS_INTEGERS, NULL, OPS_EXACT),
    BINARY("BitwiseOr", OPS_INTEGERS, NULL, OPS_EXACT),
    BINARY("BitwiseXor", OPS_INTEGERS, NULL, OPS_EXACT),
    {"Div", .vars = VARS,
     .in = {{OPS_FLOATS "|" OPS_INTEGERS, "~d^R", NULL, SPECIAL, NULL},
            {"=0", "~d^R", "1..9", "nizh", NULL}},
     .tolerance = OPS_ROUND},
    SIMPLE("Div", "0.1..9"),
    BINARY("Equal", OPS_FLOATS "|" OPS_INTEGERS "|bool|string", "0..2", OPS_EXACT),
    BINARY("Greater", OPS_FLOATS "|" OPS_INTEGERS, "0..2", OPS_EXACT),
    BINARY("GreaterOrEqual", OPS_FLOATS "|" OPS_INTEGERS, "0..2", OPS_EXACT),
    BINARY("Less", OPS_FLOATS "|" OPS_INTEGERS, "0..2", OPS_EXACT),
    BINARY("LessOrEqual", OPS_FLOATS "|" OPS_INTEGERS, "0..2", OPS_EXACT),
    {"Mod/fmod", .vars = VARS, .attrs = "fmod:i=1",
     .in = {{OPS_FLOATS "|" OPS_INTEGERS, "~d^R", "-9..9", SPECIAL, NULL},
            {"=0", "~d^R", "1..5", NULL, NULL}},
     .tolerance = OPS_ROUND},
    {"Mod", .vars = VARS,
     .in = {{OPS_INTEGERS, "~d^R", "-9..9", "h", NULL}, {"=0", "~d^R", "1..5|-5..-1", "h", NULL}}},
    BINARY("Mul", OPS_FLOATS "|" OPS_INTEGERS, NULL, OPS_ROUND),
    SIMPLE("Mul", NULL),
    BINARY("Or", "bool", NULL, OPS_EXACT),
    {"PRelu", .vars = VARS,
     .in = {{OPS_FLOATS "|i32|i64", "d^R", NULL, SPECIAL, NULL}, {"=0", "~d^R", NULL, NULL, NULL}},
     .tolerance = OPS_ROUND},
    {"PRelu/by a channel", .vars = "N=1|2 C=1..20 x=1..5 H=0..3",
     .in = {{"f32|bf16", "N,C,x^H", NULL, NULL, NULL}, {"=0", "C,1^H", NULL, NULL, NULL}},
     .tolerance = OPS_ROUND},
    {"Pow", .vars = VARS,
     .in = {{OPS_FLOATS "|i32|i64", "~d^R", "0.5..3", SPECIAL, NULL},
            {OPS_FLOATS "|" OPS_INTEGERS, "~d^R", "0..3", "niz", NULL}},
     .tolerance = OPS_MATH},
    {"Pow/by a number", .vars = "R=1..5 d=1..7",
     .in = {{"f32|bf16|f16", "d^R", NULL, "niz", NULL},
            {"f32|bf16|f16", "", "2|1|-1|0.5|3", NULL, NULL}},
     .tolerance = OPS_MATH},
    BINARY("Sub", OPS_FLOATS "|" OPS_INTEGERS, NULL, OPS_ROUND),
    SIMPLE("Sub", NULL),
    BINARY("Xor", "bool", NULL, OPS_EXACT),
    {0},
};
