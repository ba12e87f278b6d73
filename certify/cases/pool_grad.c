/* SPDX-License-Identifier: Apache-2.0 */
/* The gradients of pools; letters as in pool.c, y the positions of the window. */
#include "case.h"

#define VARS                                                                                       \
    "H=1..3 N=0..2 C=1..20 k=1..3 e=1|1|2 s=1..3 p=0..k-1 q=0..k-1 "                               \
    "x=(k-1)*e+1..(k-1)*e+5 y=floor((x+p+q-(k-1)*e-1)/s)+1"
#define WINDOW "kernel_shape:is=k^H dilations:is=e^H strides:is=s^H pads:is=p^H,q^H"

const ops_case ops_pool_grad_cases[] = {
    {"AveragePoolGrad", .domain = "tfrun", .vars = VARS,
     .attrs = WINDOW " count_include_pad?:i=0|1",
     .in = {{OPS_FLOATS, "N,C,y^H", NULL, NULL, NULL}, {"i64", "H+2", "=N,C,x^H", NULL, NULL}},
     .tolerance = OPS_SUM, .bench = "N=8 H=2 C=64 k=3 e=1 s=2 p=1 q=1 x=56 y=28"},
    {"MaxPoolGrad", .domain = "tfrun",
     .vars = "k=1..3 s=1..3 A=3..7 B=3..7 y=floor(((i==0?A:B)-k)/s)+1",
     .attrs = "kernel_shape:is=k^2 strides:is=s^2",
     .in = {{OPS_FLOATS, "1,1,y^2", NULL, NULL, NULL},
            {"i64", "1,1,y^2", "-1|0..A*B-1|0..A*B-1", NULL, NULL},
            {"i64", "4", "=1,1,A,B", NULL, NULL}},
     .tolerance = OPS_SUM},
    /* Each window has its maximum at the same of its taps; the first one not always. */
    {"MaxPoolGrad/apart", .domain = "tfrun",
     .vars = "N=1|2 K=1..3 S=max(K,2)..4 P=0..K-1 Q=0..K-1-P D=P..K-1-Q E=P..K-1-Q A=5..8 B=5..11 "
             "Y=floor((A+P+Q-K)/S)+1 Z=floor((B+P+Q-K)/S)+1 O=0|0|2",
     .attrs = "kernel_shape:is=K^2 strides:is=S^2 pads:is=P,P,Q,Q",
     .in = {{OPS_FLOATS, "N,1,Y,Z", NULL, NULL, NULL},
            {"i64", "N,1,Y,Z",
             "=(floor(i/(Y*Z))*A*B+((floor(i/Z)-Y*floor(i/(Y*Z)))*S+D-P)*B+"
             "(i-Z*floor(i/Z))*S+E-P+(i==0?O:0))^(N*Y*Z)",
             NULL, NULL},
            {"i64", "4", "=N,1,A,B", NULL, NULL}},
     .tolerance = OPS_SUM},
    {0},
};
