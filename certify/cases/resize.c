/* SPDX-License-Identifier: Apache-2.0 */
/* Resize. Scales are quarters, so that no output lies near a tie of rounding by accident. */
#include "case.h"

#define RULES                                                                                      \
    "coordinate_transformation_mode?:s=half_pixel|half_pixel_symmetric|pytorch_half_pixel|"        \
    "align_corners|asymmetric "
#define ROUNDS "nearest_mode?:s=round_prefer_floor|round_prefer_ceil|floor|ceil "
#define ROI                                                                                        \
    {                                                                                              \
        "f32", "0", NULL, NULL, "0"                                                                \
    }
#define SCALES                                                                                     \
    {                                                                                              \
        "f32", "H+2", "=1,1,t^H", NULL, NULL                                                       \
    }
#define SIZES                                                                                      \
    {                                                                                              \
        "i64", "H+2", "=N,C,z^H", NULL, NULL                                                       \
    }

#define VARS "H=1..3 N=1|2 C=1..3 x=1..6 z=1..9 t=0.5|1|2|1.5|0.75|3"

const ops_case ops_resize_cases[] = {
    {"Resize/nearest by scales", .vars = VARS, .attrs = RULES ROUNDS "mode?:s=nearest",
     .in = {{"f32|f64|f16|bf16|u8|i32", "N,C,(x+1)^H", NULL, NULL, NULL}, ROI, SCALES}},
    {"Resize/nearest by sizes", .vars = VARS, .attrs = RULES ROUNDS "mode?:s=nearest",
     .in = {{"f32|f64|f16|bf16|u8|i32", "N,C,x^H", NULL, NULL, NULL},
            ROI,
            {"f32", "0", NULL, NULL, "0"},
            SIZES}},
    {"Resize/linear by scales", .vars = VARS, .attrs = RULES "mode:s=linear",
     .in = {{OPS_FLOATS, "N,C,(x+1)^H", NULL, NULL, NULL}, ROI, SCALES}, .tolerance = OPS_SUM},
    {"Resize/linear by sizes", .vars = VARS, .attrs = RULES "mode:s=linear antialias?:i=0|1",
     .in = {{OPS_FLOATS, "N,C,x^H", NULL, NULL, NULL}, ROI, {"f32", "0", NULL, NULL, "0"}, SIZES},
     .tolerance = OPS_SUM},
    {"Resize/linear of wide rows", .vars = "H=1..3 N=1 C=1..3 x=7..12 z=5..20",
     .attrs = RULES "mode:s=linear antialias?:i=0|1",
     .in = {{"f32", "N,C,x^H", NULL, NULL, NULL}, ROI, {"f32", "0", NULL, NULL, "0"}, SIZES},
     .tolerance = OPS_SUM, .bench = "H=2 C=3 x=65 z=520"},
    {"Resize/cubic by sizes", .vars = VARS,
     .attrs = RULES "mode:s=cubic exclude_outside?:i=0|1 cubic_coeff_a?:f=-0.5|-0.75",
     .in = {{OPS_FLOATS, "N,C,x^2", NULL, NULL, NULL},
            ROI,
            {"f32", "0", NULL, NULL, "0"},
            {"i64", "4", "=N,C,z^2", NULL, NULL}},
     .tolerance = OPS_SUM},
    {"Resize/twice as large", .vars = "N=1|2 C=1..8 x=1..6 S=2|3|4",
     .attrs = "mode:s=nearest coordinate_transformation_mode:s=asymmetric nearest_mode:s=floor",
     .in = {{"f32|bf16", "N,C,x^2", NULL, NULL, NULL}, ROI, {"f32", "4", "=1,1,S,S", NULL, NULL}},
     .bench = "N=1 C=64 x=28 S=2"},
    {"Resize/ties", .vars = "N=1 C=1..3", .attrs = ROUNDS "mode:s=nearest",
     .in = {{"f32", "N,C,6,6", NULL, NULL, NULL},
            ROI,
            {"f32", "0", NULL, NULL, "0"},
            {"i64", "4", "=N,C,7,7", NULL, NULL}}},
    {"Resize/a region of interest", .vars = "N=1 C=1..3 x=2..6 z=1..7 u=0|0.25|-0.25 v=1|0.75|1.25",
     .attrs = "coordinate_transformation_mode:s=tf_crop_and_resize mode?:s=linear|cubic "
              "extrapolation_value?:f=2",
     .in = {{OPS_FLOATS, "N,C,x^2", NULL, NULL, NULL},
            {"f32", "8", "=0,0,u^2,1,1,v^2", NULL, NULL},
            {"f32", "0", NULL, NULL, "0"},
            {"i64", "4", "=N,C,z^2", NULL, NULL}},
     .tolerance = OPS_SUM},
    {"Resize/keeping the aspect ratio", .vars = "N=1 C=1..3 x=1..6 z=1..9",
     .attrs = "axes:is=2,3 mode?:s=linear keep_aspect_ratio_policy:s=not_larger|not_smaller",
     .in = {{"f32", "N,C,x^2", NULL, NULL, NULL},
            ROI,
            {"f32", "0", NULL, NULL, "0"},
            {"i64", "2", "=z^2", NULL, NULL}},
     .tolerance = OPS_SUM},
    {"Resize/some axes", .vars = "R=2..4 d=1..5 p=perm(R) z=1..7", .attrs = "axes:is=p[0],p[1]",
     .in = {{"f32|u8", "d^R", NULL, NULL, NULL},
            ROI,
            {"f32", "0", NULL, NULL, "0"},
            {"i64", "2", "=z^2", NULL, NULL}}},
    {0},
};
