/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that go by the places of elements: ReverseSequence, Trilu, EyeLike. */
#include "case.h"

const ops_case ops_index_cases[] = {
    {"EyeLike", .vars = "M=0..6 N=0..6 K=-3..3 T=" OPS_FLOATS "|i32|bool",
     .attrs = "dtype?:i=T k?:i=K", .in = {{OPS_FLOATS "|i32|bool", "M,N", NULL, NULL, NULL}}},
    {"ReverseSequence", .vars = "T=1..5 N=1..4 R=0..2 d=0..4 L=0|1",
     .attrs = "time_axis:i=L batch_axis:i=1-L",
     .in = {{OPS_ANY, "L?N:T,L?T:N,d^R", NULL, NULL, NULL}, {"i64", "N", "1..T", NULL, NULL}}},
    {"ReverseSequence/large", .vars = "T=40 N=1..30 D=1..40 L=0|1",
     .attrs = "time_axis:i=L batch_axis:i=1-L",
     .in = {{OPS_FLOATS, "L?N:T,L?T:N,D"}, {"i64", "N", "1..T"}}},
    {"Trilu", .vars = "R=0..2 d=0..3 M=0..6 N=0..6 K=-7..7", .attrs = "upper?:i=0|1",
     .in = {{OPS_ANY, "d^R,M,N", NULL, "nizh", NULL}, {"i64", "", "K", NULL, "0|1"}}},
    {"Trilu/large", .vars = "M=90..120 N=90..120 K=-130..130", .attrs = "upper?:i=0|1",
     .in = {{OPS_FLOATS, "3,M,N"}, {"i64", "", "K", NULL, "0|1"}}},
    {0},
};
