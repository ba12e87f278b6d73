/* SPDX-License-Identifier: Apache-2.0 */
/* Quantization by tensor, by axis A and by blocks of S along it. */
#include "case.h"

#define Q8   "u8|i8|u16|i16|f8e4m3fn|f8e5m2"
#define QX   "u8|i8|i32|u16|i16|f8e4m3fn|f8e5m2|i4|u4"
#define TO   "u8|i8|u16|i16|f8e4m3fn|f8e4m3fnuz|f8e5m2|f8e5m2fnuz|i4|u4"
#define VARS "R=1..4 d=1..5 A=0..R-1 B=0|1 S=1..3 T=" TO

const ops_case ops_quantize_cases[] = {
    {"DequantizeLinear", .vars = VARS,
     .in = {{QX, "d^R", NULL, "h", NULL},
            {"f32|f16|bf16", "", "0.1..2", NULL, NULL},
            {"=0", "", "0", NULL, "0|1"}},
     .tolerance = OPS_ROUND},
    {"DequantizeLinear/by axis", .vars = VARS, .attrs = "axis:i=A-R*B",
     .in = {{QX, "d^R", NULL, "h", NULL},
            {"f32|f16|bf16", "d[A]", "0.1..2", NULL, NULL},
            {"=0", "d[A]", "0", NULL, "0|1"}},
     .tolerance = OPS_ROUND},
    {"DequantizeLinear/by blocks", .vars = VARS, .attrs = "axis:i=A-R*B block_size:i=S",
     .in = {{QX, "(i==A?d*S:d)^R", NULL, "h", NULL},
            {"f32|f16|bf16", "d^R", "0.1..2", NULL, NULL},
            {"=0", "d^R", "0", NULL, "0|1"}},
     .tolerance = OPS_ROUND},
    {"DequantizeLinear/by blocks of a vector", .vars = "d=2..5 S=2..3",
     .attrs = "axis:i=0 block_size:i=S",
     .in = {{"u8|i8", "d*S", NULL, "h", NULL},
            {"f32", "d", "0.1..2", NULL, NULL},
            {"=0", "d", "0", NULL, "0|1"}},
     .tolerance = OPS_ROUND},
    {"DynamicQuantizeLinear", .vars = "R=0..4 d=1..5", .in = {{"f32", "d^R", NULL, NULL, NULL}},
     .outputs = "3"},
    {"QuantizeLinear", .vars = VARS, .attrs = "saturate?:i=0|1",
     .in = {{"f32|f16|bf16", "d^R", "-3..3|-300..300", NULL, NULL},
            {"=0", "", "0.5|1|2", NULL, NULL},
            {TO, "", "0|1", NULL, NULL}}},
    {"QuantizeLinear/no zero point", .vars = VARS, .attrs = "output_dtype?:i=T",
     .in = {{"f32|f16|bf16|i32", "d^R", NULL, NULL, NULL}, {"=0", "", "1|2", NULL, NULL}}},
    {"QuantizeLinear/by axis", .vars = VARS, .attrs = "axis:i=A-R*B",
     .in = {{"f32|f16|bf16", "d^R", NULL, NULL, NULL},
            {"=0", "d[A]", "0.5|1|2", NULL, NULL},
            {Q8, "d[A]", "0|1", NULL, NULL}}},
    {"QuantizeLinear/by blocks", .vars = VARS, .attrs = "axis:i=A-R*B block_size:i=S",
     .in = {{"f32|f16|bf16", "(i==A?d*S:d)^R", NULL, NULL, NULL},
            {"=0", "d^R", "0.5|1|2", NULL, NULL},
            {Q8, "d^R", "0|1", NULL, NULL}}},
    {0},
};
