/* SPDX-License-Identifier: Apache-2.0 */
/* The gradients of the losses over C classes. */
#include "case.h"

#define GRADIENT(label, given, vars_, shape)                                                       \
    {                                                                                              \
        .name = "SoftmaxCrossEntropyGrad" label, .domain = "tfrun", .vars = vars_,                 \
        .attrs = given " ignore_index?:i=0",                                                       \
        .in = {{OPS_FLOATS, shape, NULL, NULL, NULL},                                              \
               {"=0", "N,C,x^H", "-3..0", NULL, NULL},                                             \
               {"i64|i32", "N,x^H", "0..C-1", NULL, NULL},                                         \
               {"=0", "C", "0.1..3", NULL, "0|1"}},                                                \
        .tolerance = OPS_SUM                                                                       \
    }

#define FEW "N=1..4 C=1..5 H=0..2 x=1..4"

const ops_case ops_loss_grad_cases[] = {
    GRADIENT("", "reduction?:s=mean|sum", FEW, ""),
    GRADIENT("/many", "reduction?:s=mean|sum", "N=300|1025|1300 C=2..5 H=0 x=1", ""),
    GRADIENT("/each", "reduction:s=none", FEW, "N,x^H"),
    {0},
};
