/* SPDX-License-Identifier: Apache-2.0 */
/* Ops of one input, element by element. */
#include "case.h"

#define VARS "R=0..5 d=0..7"

/* values = where the function is defined and a little beyond. */
#define MATH(op, values)                                                                           \
    {                                                                                              \
        .name = op, .vars = VARS, .in = {{OPS_FLOATS, "d^R", values, "nizh", NULL}},               \
        .tolerance = OPS_MATH                                                                      \
    }
#define WITH(op, attributes, values)                                                               \
    {                                                                                              \
        .name = op, .vars = VARS, .attrs = attributes,                                             \
        .in = {{OPS_FLOATS, "d^R", values, "nizh", NULL}}, .tolerance = OPS_MATH                   \
    }
/* Beyond what has powers of e. */
#define FAR(op)                                                                                    \
    {                                                                                              \
        .name = op "/far", .vars = "N=1..200",                                                     \
        .in = {{"f64", "N", "-800..800|-9..9|-1e-9..1e-9", "nizh", NULL}}, .tolerance = OPS_MATH   \
    }
#define EXACT(op, types)                                                                           \
    {                                                                                              \
        .name = op, .vars = VARS, .in = { {types, "d^R", NULL, "nizh", NULL} }                     \
    }

const ops_case ops_unary_cases[] = {
    {"Abs", .vars = VARS, .in = {{OPS_FLOATS "|" OPS_INTEGERS, "d^R", NULL, "nizh", NULL}},
     .tolerance = OPS_ROUND},
    MATH("Acos", "-1..1"),
    MATH("Acosh", "1..9|0"),
    MATH("Asin", "-1..1"),
    MATH("Asinh", "-9..9"),
    MATH("Atan", "-9..9"),
    MATH("Atanh", "-1..1"),
    EXACT("BitwiseNot", OPS_INTEGERS),
    MATH("Ceil", NULL),
    WITH("Celu", "alpha?:f=0.5|1|2|-1|inf", NULL),
    MATH("Cos", "-9..9"),
    MATH("Cosh", "-9..9"),
    WITH("Elu", "alpha?:f=0.5|1|2|-1", NULL),
    MATH("Erf", NULL),
    {"Exp", .vars = VARS, .in = {{OPS_FLOATS, "d^R", "-9..9|-100..80", "nizh", NULL}},
     .tolerance = OPS_MATH, .bench = "R=4 d=56"},
    FAR("Exp"),
    MATH("Floor", NULL),
    WITH("Gelu", "approximate?:s=none|tanh", "-6..6"),
    WITH("HardSigmoid", "alpha?:f=0.2|1 beta?:f=0.5|0", "-6..6"),
    MATH("HardSwish", "-6..6"),
    EXACT("IsInf", OPS_FLOATS),
    {"IsInf/one side", .vars = VARS, .attrs = "detect_negative:i=0|1 detect_positive:i=0|1",
     .in = {{OPS_FLOATS, "d^R", NULL, "i", NULL}}},
    EXACT("IsNaN", OPS_FLOATS),
    WITH("LeakyRelu", "alpha?:f=0.01|0.5|0|-1|inf", NULL),
    {"Log", .vars = VARS, .in = {{OPS_FLOATS, "d^R", "0..9|-1..2", "nizh", NULL}},
     .tolerance = OPS_MATH},
    {"Log/all magnitudes", .vars = "N=1..40",
     .in = {{OPS_FLOATS, "N", "0..1e-42|1e-40..1e-37|0.5..2|1..1e38", "nizh", NULL}},
     .tolerance = OPS_MATH},
    MATH("Mish", NULL),
    {"Neg", .vars = VARS, .in = {{OPS_FLOATS "|i8|i16|i32|i64", "d^R", NULL, "nizh", NULL}},
     .tolerance = OPS_ROUND},
    EXACT("Not", "bool"),
    MATH("Reciprocal", NULL),
    {"Relu", .vars = VARS, .in = {{OPS_FLOATS "|i8|i16|i32|i64", "d^R", NULL, "nizh", NULL}},
     .bench = "R=4 d=56"},
    MATH("Round", "-9..9|-2.5|-1.5|-0.5|0.5|1.5|2.5"),
    WITH("Selu", "alpha?:f=1|2 gamma?:f=0.5|1", NULL),
    {"Shrink", .vars = VARS, .attrs = "bias?:f=0|1 lambd?:f=0.5|1",
     .in = {{"f32|f64|f16|" OPS_INTEGERS, "d^R", NULL, "nizh", NULL}}, .tolerance = OPS_MATH},
    MATH("Sigmoid", "-9..9"),
    FAR("Sigmoid"),
    EXACT("Sign", OPS_FLOATS "|" OPS_INTEGERS),
    MATH("Sin", "-9..9"),
    MATH("Sinh", "-9..9"),
    MATH("Softplus", "-20..20"),
    MATH("Softsign", NULL),
    MATH("Sqrt", "0..9|-1..2"),
    WITH("Swish", "alpha?:f=0.5|1|2", NULL),
    MATH("Tan", "-1.5..1.5"),
    {"Tanh", .vars = VARS, .in = {{OPS_FLOATS, "d^R", "-9..9|-0.01..0.01", "nizh", NULL}},
     .tolerance = OPS_MATH, .bench = "R=4 d=56"},
    FAR("Tanh"),
    WITH("ThresholdedRelu", "alpha?:f=0.5|1|2", NULL),
    {0},
};
