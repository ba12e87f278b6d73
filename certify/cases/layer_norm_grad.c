/* SPDX-License-Identifier: Apache-2.0 */
/* The gradients of LayerNormalization and RMSNormalization; letters as in layer_norm.c. */
#include "case.h"

#define VARS  "R=1..4 d=1..7|16 A=0..R-1 B=0|1"
#define INNER "(d[min(i+A,R-1)])^(R-A)"

const ops_case ops_layer_norm_grad_cases[] = {
    {"LayerNormGrad", .domain = "tfrun", .vars = VARS,
     .attrs = "axis:i=A-R*B epsilon:f=0.001|0.1 rms?:i=0|1",
     .in = {{OPS_FLOATS, "d^R", NULL, NULL, NULL},
            {"=0", "d^R", NULL, NULL, NULL},
            {"=0", INNER, NULL, NULL, NULL}},
     .outputs = "1|2", .tolerance = OPS_NORM, .bench = "R=2 A=1 d=512"},
    {0},
};
