/* SPDX-License-Identifier: Apache-2.0 */
/* ArgMax and ArgMin, with ties. */
#include "case.h"

#define TYPES "f32|f64|f16|bf16|i8|i16|i32|i64|u8|u16|u32|u64"
#define ARG(op)                                                                                    \
    {                                                                                              \
        .name = op, .vars = "R=1..5 d=1..7 a=perm(R) b=0|1",                                       \
        .attrs = "axis:i=a-R*b keepdims?:i=0|1 select_last_index?:i=0|1", .in = {                  \
            {TYPES, "d^R", "-3..3|1|2", "iz", NULL}                                                \
        }                                                                                          \
    }

/* Long rows, many rows and wide ones, around vectors and blocks, with NaN. */
#define LONG(op)                                                                                   \
    {                                                                                              \
        .name = op "/long", .vars = "N=1|3|65 A=1|31|33|100|700 C=1|2|9|70 B=0..2",                \
        .attrs = "axis:i=B select_last_index?:i=0|1", .in = {                                      \
            {"f32|f64|i32|i64", "N,A,C", "-3..3|1|2", "niz", NULL}                                 \
        }                                                                                          \
    }

/* Longer than what is looked at together, with one number often and few of the best. */
#define PARTS(op)                                                                                  \
    {                                                                                              \
        .name = op "/parts", .vars = "N=1|3 A=1000..5000",                                         \
        .attrs = "axis:i=1 select_last_index?:i=0|1", .in = {                                      \
            {"f32|f64|i32|i64", "N,A", "0..1|0|-9|9", NULL, NULL}                                  \
        }                                                                                          \
    }

const ops_case ops_arg_max_cases[] = {
    ARG("ArgMax"),   ARG("ArgMin"), LONG("ArgMax"), LONG("ArgMin"), PARTS("ArgMax"),
    PARTS("ArgMin"), {0},
};
