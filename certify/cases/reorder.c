/* SPDX-License-Identifier: Apache-2.0 */
/* Reorder: a copy. */
#include "case.h"

const ops_case ops_reorder_cases[] = {
    {"Reorder", .domain = "tfrun", .vars = "R=0..4 d=0..5",
     .in = {{OPS_ANY, "d^R", NULL, "nizh", NULL}}},
    {0},
};
