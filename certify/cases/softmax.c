/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and its kin along one axis. */
#include "case.h"

#define ALONG(op, kind)                                                                            \
    {.name = op,                                                                                   \
     .vars = "R=1..5 d=0..6 a=perm(R) b=0|1",                                                      \
     .attrs = "axis?:i=a-R*b",                                                                     \
     .in = {{OPS_FLOATS, "d^R", "-9..9", "iz", NULL}},                                             \
     .tolerance = kind},                                                                           \
        {.name = op "/long rows",                                                                  \
         .vars = "N=1..9 C=1..9|16|100|257",                                                       \
         .attrs = "axis?:i=1",                                                                     \
         .in = {{OPS_FLOATS, "N,C", "-9..9", "iz", NULL}},                                         \
         .tolerance = kind,                                                                        \
         .bench = "N=512 C=512"},                                                                  \
    {                                                                                              \
        .name = op "/many rows", .vars = "N=60..140 C=1..150 D=1|9|70 b=0|1", .attrs = "axis:i=1", \
        .in = {{"f32|f64", "b?N:2,C,b?1:D", "-9..9", "n", NULL}}, .tolerance = kind                \
    }

const ops_case ops_softmax_cases[] = {
    ALONG("Hardmax", OPS_EXACT),
    {"Hardmax/no numbers", .vars = "R=1..3 d=1..20 a=perm(R)", .attrs = "axis:i=a",
     .in = {{OPS_FLOATS, "d^R", "-inf|-inf|-1..1", "ni", NULL}}},
    ALONG("LogSoftmax", OPS_MATH),
    ALONG("Softmax", OPS_MATH),
    {0},
};
