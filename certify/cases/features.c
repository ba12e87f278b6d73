/* SPDX-License-Identifier: Apache-2.0 */
/* Ops of domain ai.onnx.ml that prepare features. */
#include "case.h"

#define ML    .domain = "ai.onnx.ml"
#define TYPES "f32|f64|i32|i64"

const ops_case ops_features_cases[] = {
    {"ArrayFeatureExtractor", ML, .vars = "N=1..9 F=1..9 M=1..9",
     .in = {{TYPES, "N,F"}, {"i64", "M", "-F..F-1"}}},
    {"ArrayFeatureExtractor/of one row", ML, .vars = "F=1..9 M=1..9",
     .in = {{TYPES, "F"}, {"i64", "1,M", "0..F-1"}}},
    {"Imputer", ML, .vars = "N=1..9 F=1..9", .attrs = "imputed_value_floats:fs=(F/4)^F",
     .in = {{"f32|f64", "N,F", NULL, "niz", NULL}}, .tolerance = OPS_ROUND},
    {"Imputer/one integer for all", ML, .vars = "N=1..40 F=1..600 r=0..3",
     .attrs = "imputed_value_int64s:is=7 replaced_value_int64?:i=r",
     .in = {{"i32|i64", "N,F", "0..3"}}},
    {"OneHotEncoder", ML, .vars = "N=1..9 F=1..9 C=1..9",
     .attrs = "cats_int64s:is=(C+2)^C,-3,5 zeros?:i=1", .in = {{"i32|i64", "N,F", "-4..9"}}},
    {"OneHotEncoder/many", ML, .vars = "N=900..1000 C=1..9",
     .attrs = "cats_int64s:is=C,3,1,0,-1000,2 zeros:i=0", .in = {{"i32|i64", "N,5", "0..3"}}},
    {"Normalizer", ML, .vars = "N=1..4 F=1..9", .attrs = "norm?:s=MAX|L1|L2",
     .in = {{TYPES, "N,F", NULL, "niz", NULL}}, .tolerance = OPS_ROUND},
    {"Normalizer/long rows", ML, .vars = "N=1..40 F=300..600", .attrs = "norm?:s=MAX|L1|L2",
     .in = {{TYPES, "N,F", NULL, NULL, NULL}}, .tolerance = OPS_ROUND},
    {"Scaler", ML, .vars = "N=1..4 F=1..9 f=0..9 g=1..9",
     .attrs = "offset:fs=(f-5)^F scale:fs=(g/4)^F", .in = {{TYPES, "N,F", NULL, "niz", NULL}},
     .tolerance = OPS_ROUND},
    {"Scaler/one for all", ML, .vars = "N=1..40 F=1..600", .attrs = "offset?:fs=0.3 scale?:fs=1.7",
     .in = {{TYPES, "N,F", NULL, NULL, NULL}}, .tolerance = OPS_ROUND},
    {0},
};
