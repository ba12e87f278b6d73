/* SPDX-License-Identifier: Apache-2.0 */
/* Ops on images that sample: deformed windows, columns, maxima put back; determinants. */
#include "case.h"

#define WINDOW "kernel_shape:is=k^H strides?:is=s^H pads?:is=p^H,q^H"

const ops_case ops_image_cases[] = {
    {"Col2Im", .vars = "N=1|2 C=1..3 A=2..5 B=2..5 K=1|2 L=1|2",
     .in = {{"f32|f64|i32", "N,C*K*L,(A-K+1)*(B-L+1)", NULL, NULL, NULL},
            {"i64", "2", "=A,B", NULL, NULL},
            {"i64", "2", "=K,L", NULL, NULL}},
     .tolerance = OPS_SUM},
    {"DeformConv", .vars = "H=2 N=1|2 C=1..3 M=1..3 k=1..3 p=0|1 q=0|1 x=3..6 z=x+p+q-k+1",
     .attrs = "kernel_shape?:is=k^H pads:is=p^H,q^H",
     .in = {{OPS_FLOATS, "N,C,x^H", NULL, NULL, NULL},
            {"=0", "M,C,k^H", NULL, NULL, NULL},
            {"=0", "N,2*k[0]*k[1],z^H", "-1..1", NULL, NULL},
            {"=0", "M", NULL, NULL, "0|1"}},
     .tolerance = OPS_SUM},
    {"Det", .vars = "R=0..2 d=0..3 N=1..5", .in = {{OPS_FLOATS, "d^R,N,N", NULL, NULL, NULL}},
     .tolerance = OPS_SUM},
    {"MaxUnpool", .vars = "N=1 C=1|2 x=1..3", .attrs = "kernel_shape:is=2,2 strides:is=2,2",
     .in = {{OPS_FLOATS, "N,C,x^2", NULL, NULL, NULL},
            {"i64", "N,C,x^2", "0..4*x[0]*x[1]-1", NULL, NULL}}},
    {0},
};
