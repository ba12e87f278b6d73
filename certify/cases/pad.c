/* SPDX-License-Identifier: Apache-2.0 */
/* Pad in all modes, pads that cut among them, and CenterCropPad. */
#include "case.h"

#define BY "=q^(2*R)"

const ops_case ops_pad_cases[] = {
    {"Pad", .vars = "R=1..5 d=2..5 q=-1..3", .attrs = "mode?:s=constant",
     .in = {{OPS_ANY, "d^R", NULL, "nizh", NULL},
            {"i64", "2*R", BY, NULL, NULL},
            {"=0", "", NULL, NULL, "0|1"}}},
    {"Pad/some axes", .vars = "R=1..5 d=2..5 M=1..R p=perm(R) q=-1..3 b=0|1",
     .in = {{OPS_ANY, "d^R", NULL, NULL, NULL},
            {"i64", "2*M", "=q^(2*M)", NULL, NULL},
            {"=0", "", NULL, NULL, "0|1"},
            {"i64|i32", "M", "=(p-R*b)^M", NULL, NULL}}},
    {"Pad/empty data", .vars = "R=1..4 d=0|1|2 q=0..2",
     .in = {{OPS_ANY, "d^R", NULL, NULL, NULL}, {"i64", "2*R", BY, NULL, NULL}}},
    {"Pad/reflect", .vars = "R=1..4 d=1..5 q=-1..d[i%R]-1", .attrs = "mode:s=reflect",
     .in = {{OPS_ANY, "(d+2)^R", NULL, NULL, NULL}, {"i64", "2*R", BY, NULL, NULL}}},
    {"Pad/edge", .vars = "R=1..4 d=2..5 q=-1..4", .attrs = "mode:s=edge",
     .in = {{OPS_ANY, "d^R", NULL, NULL, NULL}, {"i64", "2*R", BY, NULL, NULL}}},
    {"Pad/wrap", .vars = "R=1..4 d=2..5 q=-1..4", .attrs = "mode:s=wrap",
     .in = {{OPS_ANY, "d^R", NULL, NULL, NULL}, {"i64", "2*R", BY, NULL, NULL}}},
    {"CenterCropPad", .vars = "R=1..4 d=1..5 z=1..8",
     .in = {{OPS_ANY, "d^R", NULL, NULL, NULL}, {"i64|i32", "R", "=z^R", NULL, NULL}}},
    {0},
};
