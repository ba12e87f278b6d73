/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Support vector machines of domain ai.onnx.ml: one to four classes of some vectors each, all
 * kernels, within lists of 64 numbers. rho keeps scores off 0, where the label would hang on the
 * last bit.
 */
#include "case.h"

#define ML        .domain = "ai.onnx.ml"
#define TRANSFORM " post_transform?:s=NONE|SOFTMAX|LOGISTIC|SOFTMAX_ZERO|PROBIT"
#define KERNEL                                                                                     \
    " kernel_type:s=LINEAR|POLY|RBF|SIGMOID"                                                       \
    " kernel_params:fs=0.25|0.125,0.5|-0.25,D"
#define COEFFICIENTS(n) " coefficients:fs=((w-5)/8)^(" n ")"
#define VECTORS(n)      " support_vectors:fs=((u-5)/4)^(" n ")"

/* V vectors of each of C classes. */
#define CLASSIFIER(name, classes, labels, rho, more)                                               \
    {                                                                                              \
        "SVMClassifier/" name, ML,                                                                 \
            .vars = "N=1..40 V=1..5 F=1..(64/(" classes "*V)) D=0..4 w=0..9 u=0..9",               \
            .attrs =                                                                               \
                "classlabels_" labels " vectors_per_class:is=V^" classes " rho:fs=" rho KERNEL     \
                COEFFICIENTS(classes "*V*(" classes "-1)") VECTORS(classes "*V*F") more,           \
            .in = {{"f32|f64|i32|i64", "N,F", NULL, "nz", NULL}}, .outputs = "2",                  \
            .tolerance = OPS_SUM                                                                   \
    }
#define LINEAR(name, classes, labels)                                                              \
    {                                                                                              \
        "SVMClassifier/" name, ML,                                                                 \
            .vars = "N=1..40 F=1..(64/" classes ") w=0..9",                                        \
            .attrs = "classlabels_" labels " rho:fs=0.3047" COEFFICIENTS(classes "*F") TRANSFORM,  \
            .in = {{"f32|f64|i32|i64", "N,F", NULL, "nz", NULL}}, .outputs = "2",                  \
            .tolerance = OPS_SUM                                                                   \
    }

const ops_case ops_svm_cases[] = {
    CLASSIFIER("two labels", "2", "ints:is=3,-2", "0.3047", TRANSFORM),
    CLASSIFIER("two probabilities", "2", "ints:is=3,-2", "0.3047",
               " prob_a:fs=-1.25 prob_b:fs=0.125"),
    CLASSIFIER("four labels", "4", "ints:is=3,0,9,-1",
               "0.3047,-0.7079,0.1031,0.9041,-0.2111,0.5077", TRANSFORM),
    CLASSIFIER("four probabilities", "4", "ints:is=3,0,9,-1",
               "0.3047,-0.7079,0.1031,0.9041,-0.2111,0.5077",
               " prob_a:fs=-1.25^6 prob_b:fs=0.125^6"),
    CLASSIFIER("two strings", "2", "strings:ss=no,yes", "0.3047", TRANSFORM),
    CLASSIFIER("three strings", "3", "strings:ss=no,,yes", "0.3047,-0.7079,0.1031", TRANSFORM),
    LINEAR("two strings without vectors", "2", "strings:ss=no,yes"),
    LINEAR("one label without vectors", "1", "ints:is=7"),
    LINEAR("two labels without vectors", "2", "ints:is=3,-2"),
    LINEAR("three labels without vectors", "3", "ints:is=3,0,9"),
    {"SVMRegressor", ML, .vars = "N=1..40 V=1..64 F=1..(64/V) D=0..4 w=0..9 u=0..9",
     .attrs = "n_supports:i=V one_class?:i=0..1 rho:fs=0.3047" KERNEL COEFFICIENTS("V")
         VECTORS("V*F") TRANSFORM,
     .in = {{"f32|f64|i32|i64", "N,F", NULL, "nz", NULL}}, .tolerance = OPS_SUM},
    {"SVMRegressor/without vectors", ML, .vars = "N=1..40 F=1..64 w=0..9",
     .attrs = "rho:fs=0.3047 one_class?:i=0..1" COEFFICIENTS("F") TRANSFORM,
     .in = {{"f32|f64|i32|i64", "N,F", NULL, "nz", NULL}}, .tolerance = OPS_SUM},
    {0},
};
