/* SPDX-License-Identifier: Apache-2.0 */
/* Ops of domain ai.onnx.ml that prepare features, and those that look elements up. */
#include "case.h"

#define ML    .domain = "ai.onnx.ml"
#define TYPES "f32|f64|i32|i64"

/* Keys and values of four elements, one of which is there twice. */
#define MAP(name, types, draw, keys, values)                                                       \
    {                                                                                              \
        "LabelEncoder/" name, ML, .vars = "R=1..3 d=1..9", .attrs = keys " " values, .in = {       \
            {types, "d^R", draw, "niz", NULL}                                                      \
        }                                                                                          \
    }
#define WORDS "keys_strings:ss=a,tensor,b,a"
#define INTS  "keys_int64s:is=1,-2,0,1"
#define REALS "keys_floats:fs=1,-2,0,1"

const ops_case ops_features_cases[] = {
    {"ArrayFeatureExtractor", ML, .vars = "N=1..9 F=1..9 M=1..9",
     .in = {{TYPES, "N,F"}, {"i64", "M", "-F..F-1"}}},
    {"ArrayFeatureExtractor/of one row", ML, .vars = "F=1..9 M=1..9",
     .in = {{TYPES, "F"}, {"i64", "1,M", "0..F-1"}}},
    {"Binarizer", ML, .vars = "N=1..9 F=1..9", .attrs = "threshold?:f=-2..2",
     .in = {{TYPES, "N,F", NULL, "niz", NULL}}},
    {"CategoryMapper/to numbers", ML, .vars = "N=1..90",
     .attrs = "cats_strings:ss=a,tensor,A,a cats_int64s:is=1,2,3,4 default_int64?:i=7",
     .in = {{"string", "N", NULL, NULL, NULL}}},
    {"CategoryMapper/to strings", ML, .vars = "N=1..90",
     .attrs = "cats_strings:ss=p,q,r,s cats_int64s:is=1,2,3,1 default_string?:s=none",
     .in = {{"i64", "N", "0..4"}}},
    {"FeatureVectorizer", ML, .vars = "N=1..9 d=1..9 w=1..9", .attrs = "inputdimensions?:is=w,w[1]",
     .in = {{TYPES, "N,d", NULL, "niz", NULL}, {"=0", "N,d[1]", NULL, "niz", NULL}},
     .tolerance = OPS_ROUND},
    MAP("strings to numbers", "string", NULL, WORDS, "values_int64s:is=7,8,9,6 default_int64?:i=5"),
    MAP("strings to floats", "string", NULL, WORDS,
        "values_floats:fs=0.5,1,2,3 default_float?:f=5"),
    MAP("strings to strings", "string", NULL, WORDS,
        "values_strings:ss=p,,long_word,s default_string?:s=none"),
    MAP("numbers to strings", "i64", "-2..2", INTS, "values_strings:ss=p,q,r,s"),
    MAP("numbers to numbers", "i64", "-2..2", INTS, "values_int64s:is=7,8,9,6"),
    MAP("floats to numbers", "f32", "-2..2", REALS, "values_int64s:is=7,8,9,6"),
    MAP("floats to floats", "f32", "-2..2", REALS, "values_floats:fs=0.5,1,2,3"),
    MAP("tensors", "f32", "-2..2", "keys_tensor:t=1,-2,0,1",
        "values_tensor:t=0.5,1,2,3 default_tensor?:t=5"),
    {"LabelEncoder/many", ML, .vars = "N=4000..6000",
     .attrs = "keys_int64s:is=(i*3)^20 values_floats:fs=(i/4)^20", .in = {{"i64", "N", "0..60"}}},
    {"Imputer", ML, .vars = "N=1..9 F=1..9", .attrs = "imputed_value_floats:fs=(F/4)^F",
     .in = {{"f32|f64", "N,F", NULL, "niz", NULL}}, .tolerance = OPS_ROUND},
    {"Imputer/one integer for all", ML, .vars = "N=1..40 F=1..600 r=0..3",
     .attrs = "imputed_value_int64s:is=7 replaced_value_int64?:i=r",
     .in = {{"i32|i64", "N,F", "0..3"}}},
    {"OneHotEncoder", ML, .vars = "N=1..9 F=1..9 C=1..9",
     .attrs = "cats_int64s:is=(C+2)^C,-3,5 zeros?:i=1", .in = {{"i32|i64", "N,F", "-4..9"}}},
    {"OneHotEncoder/many", ML, .vars = "N=900..1000 C=1..9",
     .attrs = "cats_int64s:is=C,3,1,0,-1000,2 zeros:i=0", .in = {{"i32|i64", "N,5", "0..3"}}},
    {"OneHotEncoder/strings", ML, .vars = "N=1..9 F=1..9",
     .attrs = "cats_strings:ss=a,tensor,A,a zeros?:i=1",
     .in = {{"string", "N,F", NULL, NULL, NULL}}},
    {"OneHotEncoder/floats", ML, .vars = "N=1..9 F=1..9",
     .attrs = "cats_int64s:is=1,-2,0,9000000,1",
     .in = {{"f32|f64", "N,F", "-5..5|9000000", "niz", NULL}}},
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
