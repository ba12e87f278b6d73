/* SPDX-License-Identifier: Apache-2.0 */
/* Slice: M axes in any order, bounds beyond the data, steps of both signs. */
#include "case.h"

const ops_case ops_slice_cases[] = {
    {"Slice",
     .vars = "R=1..5 d=0..7 M=0..R p=perm(R) s=-9..9 e=-9..9|9223372036854775807 t=1..3|-3..-1",
     .in = {{OPS_ANY, "d^R", NULL, "nizh", NULL},
            {"i64|i32", "M", "=s^M", NULL, NULL},
            {"=1", "M", "=e^M", NULL, NULL},
            {"=1", "M", "=p^M", NULL, NULL},
            {"=1", "M", "=t^M", NULL, "0|1"}}},
    {"Slice/all axes", .vars = "R=1..5 d=1..7 s=-9..9 e=-9..9",
     .in = {{OPS_ANY, "d^R", NULL, NULL, NULL},
            {"i64|i32", "R", "=s^R", NULL, NULL},
            {"=1", "R", "=e^R", NULL, NULL}}},
    {0},
};
