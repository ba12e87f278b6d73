/* SPDX-License-Identifier: Apache-2.0 */
/* Cast and CastLike between all types but strings, where values are exact, and a few with text. */
#include "case.h"

#define SOME  "f32|f64|f16|bf16|i8|i16|i32|i64|u8|u16|u32|u64|bool"
#define SMALL "f8e4m3fn|f8e4m3fnuz|f8e5m2|f8e5m2fnuz|f4e2m1|i4|u4|i2|u2"

const ops_case ops_cast_cases[] = {
    {"Cast", .vars = "R=0..4 d=0..7 T=" SOME, .attrs = "to:i=T",
     .in = {{SOME, "d^R", NULL, "z", NULL}}, .tolerance = OPS_ROUND},
    {"Cast/float to float", .vars = "R=0..4 d=0..7 T=" OPS_FLOATS, .attrs = "to:i=T",
     .in = {{OPS_FLOATS, "d^R", NULL, "nizh", NULL}}, .tolerance = OPS_ROUND},
    {"Cast/to small types", .vars = "R=0..4 d=0..7 T=" SMALL "|f8e8m0",
     .attrs = "to:i=T saturate?:i=0|1",
     .in = {{OPS_FLOATS, "d^R", "-3..3|-900..900", "nizh", NULL}}, .tolerance = OPS_ROUND},
    {"Cast/from small types", .vars = "R=0..4 d=0..7 T=" OPS_FLOATS, .attrs = "to:i=T",
     .in = {{SMALL "|f8e8m0", "d^R", NULL, NULL, NULL}}, .tolerance = OPS_ROUND},
    {"Cast/to string", .vars = "R=0..3 d=0..4", .attrs = "to:i=8",
     .in = {{SOME, "d^R", NULL, "nizh", NULL}}},
    {"CastLike", .vars = "R=0..4 d=0..7",
     .in = {{SOME, "d^R", NULL, "z", NULL}, {SOME, "1", NULL, NULL, NULL}}, .tolerance = OPS_ROUND},
    {0},
};
