/* SPDX-License-Identifier: Apache-2.0 */
/* The losses over C classes. */
#include "case.h"

#define ATTRS "reduction?:s=mean|sum|none ignore_index?:i=0"

const ops_case ops_loss_cases[] = {
    {"NegativeLogLikelihoodLoss", .vars = "N=1..4 C=1..5 H=0..2 x=1..4", .attrs = ATTRS,
     .in = {{OPS_FLOATS, "N,C,x^H", NULL, NULL, NULL},
            {"i64|i32", "N,x^H", "0..C-1", NULL, NULL},
            {"=0", "C", "0.1..3", NULL, "0|1"}},
     .tolerance = OPS_SUM},
    {"SoftmaxCrossEntropyLoss", .vars = "N=1..4 C=1..5 H=0..2 x=1..4", .attrs = ATTRS,
     .in = {{OPS_FLOATS, "N,C,x^H", NULL, NULL, NULL},
            {"i64|i32", "N,x^H", "0..C-1", NULL, NULL},
            {"=0", "C", "0.1..3", NULL, "0|1"}},
     .outputs = "1|2", .tolerance = OPS_SUM},
    {"SoftmaxCrossEntropyLoss/many", .vars = "N=300|1025|1300 C=2..5", .attrs = ATTRS,
     .in = {{"f32", "N,C", NULL, NULL, NULL},
            {"i32", "N", "0..C-1", NULL, NULL},
            {"f32", "C", "0.1..3", NULL, "0|1"}},
     .outputs = "1|2", .tolerance = OPS_SUM},
    {0},
};
