/* SPDX-License-Identifier: Apache-2.0 */
/* AffineGrid and GridSample: places in and beside an image. */
#include "case.h"

const ops_case ops_grid_sample_cases[] = {
    {"AffineGrid", .vars = "N=1..3 C=1..3 H=2|3 x=1..5", .attrs = "align_corners?:i=0|1",
     .in = {{OPS_FLOATS, "N,H,H+1", NULL, NULL, NULL}, {"i64", "H+2", "=N,C,x^H", NULL, NULL}},
     .tolerance = OPS_SUM},
    {"GridSample", .vars = "N=1..3 C=1..3 H=2 x=1..5 z=1..5",
     .attrs = "align_corners?:i=0|1 mode?:s=linear|nearest|cubic "
              "padding_mode?:s=zeros|border|reflection",
     .in = {{"f32|f64", "N,C,x^H", NULL, NULL, NULL}, {"=0", "N,z^H,H", "-1.5..1.5", NULL, NULL}},
     .tolerance = OPS_SUM},
    {"GridSample/many places", .vars = "C=1..5 x=5..20 z=12..16",
     .attrs = "align_corners?:i=0|1 mode:s=linear|nearest|cubic "
              "padding_mode:s=zeros|border|reflection",
     .in = {{"f32|f64", "2,C,x^2"}, {"=0", "2,z^2,2", "-1.5..1.5"}}, .tolerance = OPS_SUM},
    {"GridSample/elements of any type", .vars = "N=1..3 C=1..3 H=2 x=1..5 z=1..5",
     .attrs = "align_corners?:i=0|1 mode:s=nearest padding_mode?:s=zeros|border|reflection",
     .in = {{OPS_ANY, "N,C,x^H"}, {"f32|f64", "N,z^H,H", "-1.5..1.5"}}},
    {"GridSample/no numbers", .vars = "C=1..3 x=1..9 z=1..9",
     .attrs = "align_corners:i=0|1 mode:s=linear|nearest padding_mode:s=zeros|border|reflection",
     .in = {{"f32|f64", "1,C,x^2", NULL, "ni"}, {"=0", "1,z^2,2", "-1|-0.5|0|0.5|1|-2..2"}},
     .tolerance = OPS_SUM},
    {"GridSample/volumes", .vars = "C=1..3 x=1..5 z=1..7",
     .attrs = "align_corners?:i=0|1 mode?:s=linear|nearest "
              "padding_mode?:s=zeros|border|reflection",
     .in = {{"f32|f64", "2,C,x^3"}, {"=0", "2,z^3,3", "-1.5..1.5"}}, .tolerance = OPS_SUM},
    {0},
};
