/* SPDX-License-Identifier: Apache-2.0 */
/* RNN, GRU, LSTM: S steps, N batch, I inputs, H hidden units, D directions, layout L. */
#include "case.h"

#define VARS  "S=1..4 N=1..3 X=1..4 H=1..5 D=1 L=0|1"
#define BOTH  "S=1..4 N=1..3 X=1..4 H=1..5 D=2 L=0|1"
#define MANY  "S=1..3 N=1..9 X=1..4 H=17..70 D=1..2 L=0|1"
#define ATTRS "hidden_size?:i=H layout?L:i=L clip?:f=0.5|2 "

/* n gates; B has two halves. */
#define OPERANDS(n)                                                                                \
    {OPS_FLOATS, "L?N:S,L?S:N,X", NULL, NULL, NULL}, {"=0", "D," n "*H,X", "-1..1", NULL, NULL},   \
        {"=0", "D," n "*H,H", "-1..1", NULL, NULL}, {"=0", "D,2*" n "*H", "-1..1", NULL, "0|1"},   \
        {"i32", "N", "1..S", NULL, "0|1"},                                                         \
    {                                                                                              \
        "=0", "L?N:D,L?D:N,H", NULL, NULL, "0|1"                                                   \
    }
#define CELL(op, gates, more, n_outputs)                                                           \
    {.name = op,                                                                                   \
     .vars = VARS,                                                                                 \
     .attrs = ATTRS more "direction?:s=forward|reverse",                                           \
     .in = {OPERANDS(gates)},                                                                      \
     .outputs = n_outputs,                                                                         \
     .tolerance = OPS_SUM},                                                                        \
    {                                                                                              \
        .name = op "/both directions", .vars = BOTH,                                               \
        .attrs = ATTRS more "direction:s=bidirectional", .in = {OPERANDS(gates)},                  \
        .outputs = n_outputs, .tolerance = OPS_SUM                                                 \
    },                                                                                             \
    {                                                                                              \
        .name = op "/many units", .vars = MANY,                                                    \
        .attrs = ATTRS more "direction?D-1:s=bidirectional", .in = {OPERANDS(gates)},              \
        .outputs = n_outputs, .tolerance = OPS_SUM                                                 \
    }

const ops_case ops_recurrent_cases[] = {
    CELL("GRU", "3", "linear_before_reset?:i=0|1 ", "1|2"),
    CELL("LSTM", "4", "input_forget?:i=0|1 ", "1|2|3"),
    {"LSTM/peepholes", .vars = VARS, .attrs = ATTRS,
     .in = {OPERANDS("4"),
            {"=0", "L?N:D,L?D:N,H", NULL, NULL, NULL},
            {"=0", "D,3*H", NULL, NULL, NULL}},
     .outputs = "3", .tolerance = OPS_SUM},
    CELL("RNN", "1", "", "1|2"),
    {"RNN/activations", .vars = VARS, .attrs = ATTRS "activations:ss=Relu", .in = {OPERANDS("1")},
     .outputs = "2", .tolerance = OPS_SUM},
    {"RNN/activations of directions", .vars = BOTH,
     .attrs = ATTRS "direction:s=bidirectional activations:ss=Elu,Softplus "
                    "activation_alpha?:fs=0.5|0.75",
     .in = {OPERANDS("1")}, .outputs = "2", .tolerance = OPS_SUM},
    {"GRU/activations", .vars = VARS,
     .attrs = ATTRS "linear_before_reset?:i=0|1 activations:ss=LeakyRelu,Affine "
                    "activation_alpha?:fs=0.5,0.75 activation_beta?:fs=0.25|0.5",
     .in = {OPERANDS("3")}, .outputs = "2", .tolerance = OPS_SUM},
    {"LSTM/activations", .vars = VARS,
     .attrs = ATTRS "activations:ss=HardSigmoid,ScaledTanh,Softsign "
                    "activation_alpha?:fs=0.25,0.75 activation_beta?:fs=0.25,1.5",
     .in = {OPERANDS("4")}, .outputs = "3", .tolerance = OPS_SUM},
    {0},
};
