/* SPDX-License-Identifier: Apache-2.0 */
/* Compress of slices and of elements. */
#include "case.h"

const ops_case ops_compress_cases[] = {
    {"Compress", .vars = "R=1..4 d=1..5 A=0..R-1 B=0|1", .attrs = "axis:i=A-R*B",
     .in = {{OPS_ANY, "d^R", NULL, NULL, NULL}, {"bool", "d[A]", NULL, NULL, NULL}}},
    {"Compress/flat", .vars = "R=1..4 d=1..5 Q=0..d[0]",
     .in = {{OPS_ANY, "d^R", NULL, NULL, NULL}, {"bool", "Q", NULL, NULL, NULL}}},
    {"Compress/short", .vars = "R=1..3 d=1..5 A=0..R-1 Q=0..d[A]", .attrs = "axis:i=A",
     .in = {{OPS_FLOATS "|u8", "d^R"}, {"bool", "Q"}}},
    {"Compress/large", .vars = "N=15000..60000",
     .in = {{OPS_FLOATS "|" OPS_INTEGERS "|c128", "N"}, {"bool", "N", "0|1"}}, .bench = "N=50000"},
    {"Compress/large rows", .vars = "N=100..900 D=20..90 A=0|1", .attrs = "axis:i=A",
     .in = {{OPS_FLOATS "|i64", "N,D"}, {"bool", "A?D:N", "0|1"}}},
    {0},
};
