/* SPDX-License-Identifier: Apache-2.0 */
/* BatchNormalization, as inference and as training. */
#include "case.h"

#define CHANNEL(values)                                                                            \
    {                                                                                              \
        "=0", "C", values, NULL, NULL                                                              \
    }

const ops_case ops_batch_norm_cases[] = {
    {"BatchNormalization", .vars = "H=0..3 N=0..3 C=1..20 x=1..7", .attrs = "epsilon:f=0.001|0.1",
     .in = {{OPS_FLOATS, "N,C,x^H", NULL, "ni", NULL},
            CHANNEL(NULL),
            CHANNEL(NULL),
            CHANNEL(NULL),
            CHANNEL("0.1..3")},
     .tolerance = OPS_NORM, .bench = "N=1 H=2 C=64 x=56"},
    {"BatchNormalization/training", .vars = "H=0..3 N=1..3 C=1..20 x=1..7",
     .attrs = "training_mode:i=1 epsilon:f=0.001 momentum?:f=0.5|0.9",
     .in = {{OPS_FLOATS, "N,C,x^H", NULL, NULL, NULL},
            CHANNEL(NULL),
            CHANNEL(NULL),
            CHANNEL(NULL),
            CHANNEL("0.1..3")},
     .outputs = "3", .tolerance = OPS_NORM},
    {"BatchNormGrad", .domain = "tfrun", .vars = "H=0..3 N=1..3 C=1..20 x=1..7",
     .in = {{OPS_FLOATS, "N,C,x^H", NULL, NULL, NULL},
            {"=0", "N,C,x^H", NULL, NULL, NULL},
            CHANNEL(NULL),
            CHANNEL(NULL),
            CHANNEL("0.1..3")},
     .outputs = "3", .tolerance = OPS_SUM},
    {"BatchNormTrain", .domain = "tfrun", .vars = "H=0..3 N=1..3 C=1..20 x=1..7",
     .attrs = "epsilon:f=0.001 momentum?:f=0.5|0.9 unbiased?:i=0|1",
     .in = {{OPS_FLOATS, "N,C,x^H", NULL, NULL, NULL},
            CHANNEL(NULL),
            CHANNEL(NULL),
            CHANNEL(NULL),
            CHANNEL("0.1..3")},
     .outputs = "1|3|5", .tolerance = OPS_NORM},
    {0},
};
