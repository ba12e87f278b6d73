/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that make tensors: random ones with a seed, ranges, constants, windows. */
#include "case.h"

const ops_case ops_random_cases[] = {
    {"Bernoulli", .vars = "R=0..4 d=0..5 T=" OPS_FLOATS "|i32|bool", .attrs = "seed:f=3 dtype?:i=T",
     .in = {{OPS_FLOATS, "d^R", "0..1", NULL, NULL}}},
    {"BlackmanWindow", .vars = "N=0..20", .attrs = "periodic?:i=0|1",
     .in = {{"i64|i32", "", "N", NULL, NULL}}, .tolerance = OPS_SUM},
    {"ConstantOfShape", .vars = "R=0..4 d=0..5", .in = {{"i64", "R", "=d^R", NULL, NULL}}},
    {"HammingWindow", .vars = "N=0..20", .attrs = "periodic?:i=0|1",
     .in = {{"i64|i32", "", "N", NULL, NULL}}, .tolerance = OPS_SUM},
    {"HannWindow", .vars = "N=0..20", .attrs = "periodic?:i=0|1",
     .in = {{"i64|i32", "", "N", NULL, NULL}}, .tolerance = OPS_SUM},
    {"Multinomial", .vars = "N=1..3 C=1..5 M=1..5", .attrs = "seed:f=3 sample_size:i=M",
     .in = {{OPS_FLOATS, "N,C", NULL, NULL, NULL}}},
    {"RandomNormal", .vars = "R=0..4 d=0..5 T=" OPS_FLOATS,
     .attrs = "seed:f=3 shape:is=d^R dtype?:i=T mean?:f=1 scale?:f=2"},
    {"RandomNormalLike", .vars = "R=0..4 d=0..5 T=" OPS_FLOATS, .attrs = "seed:f=3 dtype:i=T",
     .in = {{OPS_ANY, "d^R", NULL, NULL, NULL}}},
    {"RandomUniform", .vars = "R=0..4 d=0..5 T=" OPS_FLOATS,
     .attrs = "seed:f=3 shape:is=d^R dtype?:i=T low?:f=-1 high?:f=2"},
    {"RandomUniformLike", .vars = "R=0..4 d=0..5 T=" OPS_FLOATS, .attrs = "seed:f=3 dtype:i=T",
     .in = {{OPS_ANY, "d^R", NULL, NULL, NULL}}},
    {"RandomNormalLike/large", .vars = "N=100..9000",
     .attrs = "seed:f=3 dtype:i=f32 mean?:f=1 scale?:f=2", .in = {{"f32|i64", "N"}}},
    {"RandomUniformLike/large", .vars = "N=100..9000",
     .attrs = "seed:f=3 dtype:i=f32 low?:f=-1 high?:f=2", .in = {{"f32|i64", "N"}}},
    {"Range", .vars = "A=-5..5 B=-5..5 S=1..3|-3..-1",
     .in = {{"f32|f64|i16|i32|i64|f16|bf16", "", "A", NULL, NULL},
            {"=0", "", "B", NULL, NULL},
            {"=0", "", "S", NULL, NULL}}},
    {0},
};
