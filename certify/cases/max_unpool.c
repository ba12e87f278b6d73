/* SPDX-License-Identifier: Apache-2.0 */
/* MaxUnpool; indices of a plane, of all planes, and of a plane smaller than the output's. */
#include "case.h"

const ops_case ops_max_unpool_cases[] = {
    {"MaxUnpool", .vars = "N=1 C=1|2 x=1..3", .attrs = "kernel_shape:is=2,2 strides:is=2,2",
     .in = {{OPS_FLOATS, "N,C,x^2", NULL, NULL, NULL},
            {"i64", "N,C,x^2", "0..4*x[0]*x[1]-1", NULL, NULL}}},
    {"MaxUnpool/windows", .vars = "H=1..3 N=1|2 C=1..3 k=1..3 s=1..3 p=0..k-1 x=2..4",
     .attrs = "kernel_shape:is=k^H strides?:is=s^H pads?:is=p^H,0^H",
     .in = {{OPS_FLOATS, "N,C,x^H", NULL, "nz", NULL}, {"i64", "N,C,x^H", "0..1", NULL, NULL}}},
    {"MaxUnpool/into a larger plane", .vars = "C=1|2 x=2..5 y=2*x..2*x+3",
     .attrs = "kernel_shape:is=2,2 strides:is=2,2",
     .in = {{OPS_FLOATS, "1,C,x^2"},
            {"i64", "1,C,x^2", "0..4*x[0]*x[1]-1", NULL, NULL},
            {"i64", "4", "=1,C,y^2", NULL, NULL}}},
    {"MaxUnpool/large", .vars = "x=40..60", .attrs = "kernel_shape:is=2,2 strides:is=2,2",
     .in = {{"f32|f64|f16", "1,1,x^2"}, {"i64", "1,1,x^2", "0..4*x[0]*x[1]-1"}}, .bench = "x=128"},
    {0},
};
