/* SPDX-License-Identifier: Apache-2.0 */
/* The gradients of Conv; letters as in conv.c, y the positions of the window. */
#include "case.h"

#define VARS                                                                                       \
    "H=1..3 N=1|2 C=1..3 M=1..3 G=1|1|2 k=1..3 e=1|1|2 s=1|2 p=0..2 q=0..2 "                       \
    "x=(k-1)*e+1..(k-1)*e+5 y=floor((x+p+q-(k-1)*e-1)/s)+1"
#define SAME   "H=1..3 N=1|2 C=1..3 M=1..3 G=1|1|2 k=1..3 e=1|1|2 s=1|2 x=1..7 y=floor((x+s-1)/s)"
#define WINDOW "kernel_shape?:is=k^H dilations:is=e^H strides:is=s^H group:i=G"
#define BY_X                                                                                       \
    {                                                                                              \
        {OPS_FLOATS, "N,M*G,y^H", NULL, NULL, NULL}, {"=0", "M*G,C,k^H", NULL, NULL, NULL},        \
        {                                                                                          \
            "i64", "H+2", "=N,C*G,x^H", NULL, NULL                                                 \
        }                                                                                          \
    }
#define BY_W                                                                                       \
    {                                                                                              \
        {OPS_FLOATS, "N,M*G,y^H", NULL, NULL, NULL}, {"=0", "N,C*G,x^H", NULL, NULL, NULL},        \
        {                                                                                          \
            "i64", "H+2", "=M*G,C,k^H", NULL, NULL                                                 \
        }                                                                                          \
    }

const ops_case ops_conv_grad_cases[] = {
    {"ConvGradFilter", .domain = "tfrun", .vars = VARS, .attrs = WINDOW " pads:is=p^H,q^H",
     .in = BY_W, .tolerance = OPS_SUM, .bench = "H=2 N=1 C=64 M=64 G=1 k=3 s=1 p=1 q=1 x=56"},
    {"ConvGradFilter/same", .domain = "tfrun", .vars = SAME,
     .attrs = WINDOW " auto_pad:s=SAME_UPPER|SAME_LOWER", .in = BY_W, .tolerance = OPS_SUM},
    {"ConvGradInput", .domain = "tfrun", .vars = VARS, .attrs = WINDOW " pads:is=p^H,q^H",
     .in = BY_X, .tolerance = OPS_SUM, .bench = "H=2 N=1 C=64 M=64 G=1 k=3 s=1 p=1 q=1 x=56"},
    {"ConvGradInput/same", .domain = "tfrun", .vars = SAME,
     .attrs = WINDOW " auto_pad:s=SAME_UPPER|SAME_LOWER", .in = BY_X, .tolerance = OPS_SUM},
    {"ConvGradInput/3 x 3", .domain = "tfrun",
     .vars = "N=1|2|3|5 C=1|7|8|9|20|33 M=1|3|8|19 G=1|1|2 p=0..2 q=0..2 r=3..16 x=3..17",
     .attrs = "pads:is=p,q,q,p group:i=G",
     .in = {{"f32", "N,M*G,r+p+q-2,x+p+q-2", NULL, NULL, NULL},
            {"=0", "M*G,C,3,3", NULL, NULL, NULL},
            {"i64", "4", "=N,C*G,r,x", NULL, NULL}},
     .tolerance = OPS_SUM},
    {"ConvGradFilter/3 x 3", .domain = "tfrun",
     .vars = "N=1|2|3|5 C=1|3|8|19 M=1|7|8|9|20|33 G=1|1|2 p=0..2 q=0..2 r=3..16 x=3..17",
     .attrs = "pads:is=p,q,q,p group:i=G",
     .in = {{"f32", "N,M*G,r+p+q-2,x+p+q-2", NULL, NULL, NULL},
            {"=0", "N,C*G,r,x", NULL, NULL, NULL},
            {"i64", "4", "=M*G,C,3,3", NULL, NULL}},
     .tolerance = OPS_SUM},
    {0},
};
