/* SPDX-License-Identifier: Apache-2.0 */
/* Clip with both bounds, one, or none. */
#include "case.h"

const ops_case ops_clip_cases[] = {
    {"Clip", .vars = "R=0..5 d=0..7",
     .in = {{OPS_FLOATS "|" OPS_INTEGERS, "d^R", NULL, "nizh", NULL},
            {"=0", "", "-1|0|1", NULL, "0|1"},
            {"=0", "", "1..3", NULL, "0|1"}}},
    {"Clip/crossed bounds", .vars = "R=0..5 d=1..7",
     .in = {{OPS_FLOATS, "d^R", NULL, NULL, NULL},
            {"=0", "", "2", NULL, NULL},
            {"=0", "", "-2|1", NULL, NULL}}},
    {"Clip/relu 6", .vars = "R=1..5 d=1..7",
     .in = {{"f32|bf16", "d^R", "-9..9", "nizh", NULL},
            {"=0", "", "0", NULL, NULL},
            {"=0", "", "6", NULL, NULL}},
     .bench = "R=4 d=40"},
    {0},
};
