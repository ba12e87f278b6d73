/* SPDX-License-Identifier: Apache-2.0 */
/* Regions of interest: MaxRoiPool, RoiAlign. */
#include "case.h"

const ops_case ops_roi_cases[] = {
    {"MaxRoiPool", .vars = "N=1|2 C=1..3 M=1..3", .attrs = "pooled_shape:is=2,2",
     .in = {{"f32|f64", "N,C,6,6", NULL, NULL, NULL}, {"=0", "1,5", "=0,1,1,4,5", NULL, NULL}}},
    {"MaxRoiPool/bins of several pixels", .vars = "N=1|2 C=1..40 M=1..4 P=1..5 Q=1..5",
     .attrs = "pooled_shape:is=P,Q spatial_scale:f=3|9|17",
     .in = {{"f32|f64", "N,C,14,37", NULL, "niz", NULL}, {"=0", "M,5", "0..N-1", NULL, NULL}}},
    {"RoiAlign", .vars = "N=1..3 C=1..3 M=1..4",
     .attrs = "mode?:s=avg|max output_height:i=2 output_width:i=3 sampling_ratio?:i=2 "
              "coordinate_transformation_mode?:s=half_pixel|output_half_pixel",
     .in = {{OPS_FLOATS, "N,C,6,6", NULL, NULL, NULL},
            {"=0", "M,4", "0..5", NULL, NULL},
            {"i64", "M", "0..N-1", NULL, NULL}},
     .tolerance = OPS_SUM},
    {"RoiAlign/as many points as pixels", .vars = "N=1|2 C=1..70 M=1..4 P=1..3 Q=1..3",
     .attrs = "mode?:s=avg|max output_height:i=P output_width:i=Q spatial_scale?:f=0.5|2 "
              "coordinate_transformation_mode?:s=half_pixel|output_half_pixel",
     .in = {{"f32|f64", "N,C,9,20", NULL, "niz", NULL},
            {"=0", "M,4", "-2..24", NULL, NULL},
            {"i64", "M", "0..N-1", NULL, NULL}},
     .tolerance = OPS_SUM},
    {"RoiAlign/many points", .vars = "C=1|2 M=1|2",
     .attrs = "mode?:s=avg|max output_height:i=2 output_width:i=2 sampling_ratio:i=300 "
              "coordinate_transformation_mode?:s=half_pixel|output_half_pixel",
     .in = {{"f32|f64", "1,C,5,4", NULL, NULL, NULL},
            {"=0", "M,4", "-2..6", NULL, NULL},
            {"i64", "M", "0", NULL, NULL}},
     .tolerance = OPS_SUM},
    {0},
};
