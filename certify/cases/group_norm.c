/* SPDX-License-Identifier: Apache-2.0 */
/* GroupNormalization of G groups of C channels, InstanceNormalization. */
#include "case.h"

const ops_case ops_group_norm_cases[] = {
    {"GroupNormalization", .vars = "H=0..3 N=0..3 C=1..9 G=1..4 x=1..7",
     .attrs = "num_groups:i=G epsilon:f=0.001|0.1",
     .in = {{OPS_FLOATS, "N,C*G,x^H", NULL, NULL, NULL},
            {"=0", "C*G", NULL, NULL, NULL},
            {"=0", "C*G", NULL, NULL, NULL}},
     .tolerance = OPS_NORM},
    {"InstanceNormalization", .vars = "H=1..3 N=0..3 C=1..20 x=1..7",
     .attrs = "epsilon:f=0.001|0.1",
     .in = {{OPS_FLOATS, "N,C,x^H", NULL, NULL, NULL},
            {"=0", "C", NULL, NULL, NULL},
            {"=0", "C", NULL, NULL, NULL}},
     .tolerance = OPS_NORM, .bench = "N=1 H=2 C=64 x=56"},
    /* Beyond the first of a loop's parts, of numbers far from 0, too. */
    {"GroupNormalization/wide", .vars = "N=1|2 C=1|3 G=1|4 x=47|50|300",
     .attrs = "num_groups:i=G epsilon:f=0.001",
     .in = {{"f32", "N,C*G,x,9", "-1..1|3..4", NULL, NULL},
            {"f32", "C*G", NULL, NULL, NULL},
            {"f32", "C*G", NULL, NULL, NULL}},
     .tolerance = OPS_NORM},
    {0},
};
