/* SPDX-License-Identifier: Apache-2.0 */
/* LayerNormalization and RMSNormalization over the axes from A on. */
#include "case.h"

#define VARS  "R=1..4 d=1..7|16 A=0..R-1 B=0|1"
#define INNER "(d[min(i+A,R-1)])^(R-A)"

const ops_case ops_layer_norm_cases[] = {
    {"LayerNormalization", .vars = VARS, .attrs = "axis:i=A-R*B epsilon:f=0.001|0.1",
     .in = {{OPS_FLOATS, "d^R", NULL, NULL, NULL},
            {"=0", INNER, NULL, NULL, NULL},
            {"=0", INNER, NULL, NULL, "0|1"}},
     .outputs = "1|1|3", .tolerance = OPS_NORM, .bench = "R=2 A=1 d=512"},
    {"LayerNormalization/last axis", .vars = VARS, .attrs = "epsilon:f=0.001|0.1",
     .in = {{"f32|bf16", "d^R", NULL, NULL, NULL},
            {"=0", "d[R-1]", NULL, NULL, NULL},
            {"=0", "d[R-1]", NULL, NULL, NULL}},
     .tolerance = OPS_NORM},
    {"RMSNormalization", .vars = VARS, .attrs = "axis:i=A-R*B epsilon:f=0.001|0.1",
     .in = {{OPS_FLOATS, "d^R", NULL, NULL, NULL}, {"=0", INNER, NULL, NULL, NULL}},
     .tolerance = OPS_NORM},
    {0},
};
