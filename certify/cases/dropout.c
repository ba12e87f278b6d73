/* SPDX-License-Identifier: Apache-2.0 */
/* Dropout as inference, and as training with a seed. */
#include "case.h"

const ops_case ops_dropout_cases[] = {
    {"Dropout", .vars = "R=0..4 d=0..7",
     .in = {{OPS_FLOATS, "d^R", NULL, "nizh", NULL}, {"f32", "", "0.5", NULL, "0|1"}},
     .outputs = "1|2"},
    {"Dropout/training", .vars = "R=0..4 d=0..7", .attrs = "seed:i=7",
     .in = {{OPS_FLOATS, "d^R", NULL, NULL, NULL},
            {"f32", "", "0|0.5", NULL, NULL},
            {"bool", "", "1", NULL, NULL}},
     .outputs = "1|2", .tolerance = OPS_ROUND, .varies = true},
    {"Dropout/training, large", .vars = "N=100..9000", .attrs = "seed:i=7",
     .in = {{"f32|f16", "N", NULL, NULL, NULL},
            {"f32", "", "0.1|0.5|1", NULL, NULL},
            {"bool", "", "1", NULL, NULL}},
     .outputs = "1|2", .tolerance = OPS_ROUND, .varies = true},
    {0},
};
