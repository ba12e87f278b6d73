/* SPDX-License-Identifier: Apache-2.0 */
/* NonZero. */
#include "case.h"

const ops_case ops_non_zero_cases[] = {
    {"NonZero", .vars = "R=1..4 d=0..5", .in = {{OPS_ANY, "d^R", "0|1", "nizh", NULL}}},
    {0},
};
