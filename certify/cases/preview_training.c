/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adagrad, Adam and Momentum of one and two tensors. The squares that were added up are not
 * negative; step 0 has rules of its own.
 */
#include "case.h"

#define TYPES "f32|f64"
#define VARS  "R=0..4 d=1..9 Q=0..2 e=0|1|300"

/* clang-format off */
#define RATE          {TYPES, "", "1/8|1/1000", NULL, NULL}
#define STEP          {"i64", "", "0|1|7|1000", NULL, NULL}
#define FIRST(type)   {type, "d^R", NULL, NULL, NULL}
#define SECOND        {"=2", "e^Q", NULL, NULL, NULL}
#define SQUARES(dims) {"=2", dims, "0..3", NULL, NULL}
/* clang-format on */

const ops_case ops_preview_training_cases[] = {
    {"Adagrad", .domain = "ai.onnx.preview.training", .vars = VARS,
     .attrs = "decay_factor?:f=0|1/10 epsilon?:f=1/1000 norm_coefficient?:f=0|1/4",
     .in = {RATE, STEP, FIRST(TYPES), FIRST("=2"), SQUARES("d^R")}, .outputs = "2",
     .tolerance = OPS_SUM},
    {"Adagrad/two tensors", .domain = "ai.onnx.preview.training", .vars = VARS,
     .attrs = "decay_factor?:f=0|1/10",
     .in = {RATE, STEP, FIRST(TYPES), SECOND, FIRST("=2"), SECOND, SQUARES("d^R"), SQUARES("e^Q")},
     .outputs = "4", .tolerance = OPS_SUM},
    {"Adam", .domain = "ai.onnx.preview.training", .vars = VARS,
     .attrs = "alpha?:f=1/2 beta?:f=7/8 epsilon?:f=1/1000 norm_coefficient?:f=0|1/4 "
              "norm_coefficient_post?:f=1/8",
     .in = {RATE, STEP, FIRST(TYPES), FIRST("=2"), FIRST("=2"), SQUARES("d^R")}, .outputs = "3",
     .tolerance = OPS_SUM, .bench = "R=1 d=300000"},
    {"Adam/two tensors", .domain = "ai.onnx.preview.training", .vars = VARS,
     .attrs = "epsilon?:f=1/1000",
     .in = {RATE, STEP, FIRST(TYPES), SECOND, FIRST("=2"), SECOND, FIRST("=2"), SECOND,
            SQUARES("d^R"), SQUARES("e^Q")},
     .outputs = "6", .tolerance = OPS_SUM},
    {"Momentum", .domain = "ai.onnx.preview.training", .vars = VARS,
     .attrs = "alpha:f=9/10 beta:f=1|1/2 mode:s=standard|nesterov norm_coefficient:f=0|1/4",
     .in = {RATE, STEP, FIRST(TYPES), FIRST("=2"), FIRST("=2")}, .outputs = "2",
     .tolerance = OPS_SUM},
    {"Momentum/two tensors", .domain = "ai.onnx.preview.training", .vars = VARS,
     .attrs = "alpha:f=9/10 beta:f=1 mode:s=standard|nesterov norm_coefficient:f=0",
     .in = {RATE, STEP, FIRST(TYPES), SECOND, FIRST("=2"), SECOND, FIRST("=2"), SECOND},
     .outputs = "4", .tolerance = OPS_SUM},
    {0},
};
