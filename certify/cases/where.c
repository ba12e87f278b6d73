/* SPDX-License-Identifier: Apache-2.0 */
/* Where: three operands that broadcast against each other. */
#include "case.h"

const ops_case ops_where_cases[] = {
    {"Where", .vars = "R=0..5 d=0..5",
     .in = {{"bool", "~d^R", NULL, NULL, NULL},
            {OPS_ANY, "~d^R", NULL, "nizh", NULL},
            {"=1", "~d^R", NULL, "nizh", NULL}}},
    {0},
};
