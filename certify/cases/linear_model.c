/* SPDX-License-Identifier: Apache-2.0 */
/* Linear models of domain ai.onnx.ml. Coefficients are quarters. */
#include "case.h"

#define ML        .domain = "ai.onnx.ml"
#define TYPES     "f32|f64|i32|i64"
#define TRANSFORM " post_transform?:s=NONE|SOFTMAX|LOGISTIC|SOFTMAX_ZERO|PROBIT"

#define CLASSIFIER(name, rows, labels)                                                             \
    {                                                                                              \
        "LinearClassifier/" name, ML, .vars = "N=1..90 F=1..9 w=0..9",                             \
                                      .attrs = "coefficients:fs=((w-5)/4)^(F*" rows                \
                                               ") intercepts:fs=0.5^" rows " " labels TRANSFORM,   \
                                      .in = {{TYPES, "N,F", NULL, "niz", NULL}}, .outputs = "2",   \
                                      .tolerance = OPS_MATH                                        \
    }

const ops_case ops_linear_model_cases[] = {
    CLASSIFIER("one label", "1", "classlabels_ints:is=7"),
    CLASSIFIER("two labels of one row", "1", "classlabels_ints:is=3,-2"),
    CLASSIFIER("two labels", "2", "classlabels_ints:is=3,-2"),
    CLASSIFIER("five labels", "5", "classlabels_ints:is=3,0,9,-1,4"),
    CLASSIFIER("one string", "1", "classlabels_strings:ss=yes"),
    CLASSIFIER("two strings of one row", "1", "classlabels_strings:ss=no,yes"),
    CLASSIFIER("three strings", "3", "classlabels_strings:ss=no,,maybe_so"),
    {"LinearRegressor", ML, .vars = "N=1..90 F=1..9 E=1..6 w=0..9",
     .attrs = "coefficients:fs=((w-5)/4)^(F*E) intercepts?:fs=1.5^E targets:i=E" TRANSFORM,
     .in = {{TYPES, "N,F", NULL, "niz", NULL}}, .tolerance = OPS_MATH},
    {0},
};
