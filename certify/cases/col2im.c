/* SPDX-License-Identifier: Apache-2.0 */
/* Col2Im, with windows of one axis to three. */
#include "case.h"

/* A window with all that it may have, and y, its positions. */
#define SPREAD                                                                                     \
    "k=1..3 e=1|1|2 s=1..3 p=0..2 q=0..2 x=(k-1)*e+1..(k-1)*e+5 "                                  \
    "y=floor((x+p+q-(k-1)*e-1)/s)+1"

const ops_case ops_col2im_cases[] = {
    {"Col2Im", .vars = "N=1|2 C=1..3 A=2..5 B=2..5 K=1|2 L=1|2",
     .in = {{"f32|f64|i32", "N,C*K*L,(A-K+1)*(B-L+1)", NULL, NULL, NULL},
            {"i64", "2", "=A,B", NULL, NULL},
            {"i64", "2", "=K,L", NULL, NULL}},
     .tolerance = OPS_SUM},
    {"Col2Im/windows", .vars = "H=2 N=1|2 C=1..4 " SPREAD,
     .attrs = "strides:is=s^H dilations:is=e^H pads:is=p^H,q^H",
     .in = {{"f32|f32|f64|i32|i64", "N,C*k[0]*k[1],y[0]*y[1]", NULL, "n", NULL},
            {"i64", "H", "=x^H", NULL, NULL},
            {"i64", "H", "=k^H", NULL, NULL}},
     .tolerance = OPS_SUM, .bench = "N=1 C=64 k=3 e=1 s=1 p=1 q=1 x=64 y=64"},
    {"Col2Im/one axis", .vars = "H=1 N=1|2 C=1..40 " SPREAD,
     .attrs = "strides:is=s^H dilations:is=e^H pads:is=p^H,q^H",
     .in = {{"f32|f64|i64", "N,C*k[0],y[0]"}, {"i64", "H", "=x^H"}, {"i64", "H", "=k^H"}},
     .tolerance = OPS_SUM},
    {"Col2Im/three axes", .vars = "H=3 N=1|2 C=1..3 " SPREAD,
     .attrs = "strides:is=s^H dilations:is=e^H pads:is=p^H,q^H",
     .in = {{"f32|f64|i32", "N,C*k[0]*k[1]*k[2],y[0]*y[1]*y[2]"},
            {"i64", "H", "=x^H"},
            {"i64", "H", "=k^H"}},
     .tolerance = OPS_SUM},
    {0},
};
