/* SPDX-License-Identifier: Apache-2.0 */
/* DeformConv: offsets that lead into the padding, groups, masks. */
#include "case.h"

/* A window with all that it may have, and y, its positions. */
#define SPREAD                                                                                     \
    "k=1..3 e=1|1|2 s=1..3 p=0..2 q=0..2 x=(k-1)*e+1..(k-1)*e+5 "                                  \
    "y=floor((x+p+q-(k-1)*e-1)/s)+1"

const ops_case ops_deform_conv_cases[] = {
    {"DeformConv", .vars = "H=2 N=1|2 C=1..3 M=1..3 k=1..3 p=0|1 q=0|1 x=3..6 z=x+p+q-k+1",
     .attrs = "kernel_shape?:is=k^H pads:is=p^H,q^H",
     .in = {{OPS_FLOATS, "N,C,x^H", NULL, NULL, NULL},
            {"=0", "M,C,k^H", NULL, NULL, NULL},
            {"=0", "N,2*k[0]*k[1],z^H", "-1..1", NULL, NULL},
            {"=0", "M", NULL, NULL, "0|1"}},
     .tolerance = OPS_SUM},
    {"DeformConv/groups and masks", .vars = "H=2 N=1|2 G=1..3 O=1..2 C=1..3 M=1..9 " SPREAD,
     .attrs = "group:i=G offset_group:i=O strides:is=s^H dilations:is=e^H pads:is=p^H,q^H",
     .in = {{"f32|f32|f64|f16", "N,G*O*C,x^H", NULL, "n", NULL},
            {"=0", "G*M,O*C,k^H", NULL, NULL, NULL},
            {"=0", "N,O*2*k[0]*k[1],y^H", "-3..3|-0.5..0.5", "nih", NULL},
            {"=0", "G*M", NULL, NULL, "0|1"},
            {"=0", "N,O*k[0]*k[1],y^H", "0..1", "ni", "0|1"}},
     .tolerance = OPS_SUM},
    {"DeformConv/large", .vars = "N=1|2 C=1|16 M=1..9 x=8..14", .attrs = "pads:is=1,1,1,1",
     .in = {{"f32", "N,C,x^2"},
            {"f32", "M,C,3,3"},
            {"f32", "N,18,x^2", "-2..2"},
            {"f32", "M", NULL, NULL, "0|1"},
            {"f32", "N,9,x^2", "0..1", NULL, "0|1"}},
     .tolerance = OPS_SUM, .bench = "N=1 C=64 M=64 x=56"},
    {"DeformConv/lines and points", .vars = "N=1|2 C=1..3 A=1..4 B=1|2",
     .in = {{"f32", "N,C,A,B"}, {"f32", "2,C,1,1"}, {"f32", "N,2,A,B", "-1..1"}},
     .tolerance = OPS_SUM},
    {0},
};
