/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions. H spatial axes: x input, k kernel, e dilation, s stride, p and q pads; G groups. */
#include "case.h"

#define VARS                                                                                       \
    "H=1..3 N=1|2 C=1..3 M=1..3 G=1|1|2 k=1..3 e=1|1|2 s=1|2 p=0..2 q=0..2 "                       \
    "x=(k-1)*e+1..(k-1)*e+5"
#define WINDOW "kernel_shape?:is=k^H dilations:is=e^H strides?:is=s^H group:i=G"
#define WEIGHTS                                                                                    \
    {"=0", "M*G,C,k^H", NULL, NULL, NULL},                                                         \
    {                                                                                              \
        "=0", "M*G", NULL, NULL, "0|1"                                                             \
    }

/* Integers with a scale: small zero points. */
#define I8 "u8|i8"

const ops_case ops_conv_cases[] = {
    {"Conv", .vars = VARS, .attrs = WINDOW " pads?:is=p^H,q^H",
     .in = {{OPS_FLOATS, "N,C*G,x^H", NULL, NULL, NULL}, WEIGHTS}, .tolerance = OPS_SUM},
    {"Conv/same or valid", .vars = VARS, .attrs = WINDOW " auto_pad:s=SAME_UPPER|SAME_LOWER|VALID",
     .in = {{OPS_FLOATS, "N,C*G,x^H", NULL, NULL, NULL}, WEIGHTS}, .tolerance = OPS_SUM},
    {"Conv/many channels",
     .vars = "H=2 N=1 C=3|16|33 M=8|16|32 G=1 k=1|3 e=1 s=1|2 p=0|1 q=0|1 x=5..9",
     .attrs = WINDOW " pads?:is=p^H,q^H",
     .in = {{"f32|bf16", "N,C*G,x^H", NULL, NULL, NULL}, WEIGHTS}, .tolerance = OPS_SUM,
     .bench = "C=64 M=64 k=3 s=1 p=1 q=1 x=56"},
    {"Conv/3 x 3",
     .vars = "N=1|2|3|5 C=1|3|8|19 M=1|7|8|9|20|33 G=1|1|2 p=0..2 q=0..2 r=3..16 x=3..17",
     .attrs = "pads:is=p,q,q,p group:i=G",
     .in = {{"f32", "N,C*G,r,x", NULL, NULL, NULL},
            {"=0", "M*G,C,3,3", NULL, NULL, NULL},
            {"=0", "M*G", NULL, NULL, "0|1"}},
     .tolerance = OPS_SUM},
    {"Conv/3 x 3, long rows", .vars = "N=1|2 C=1|3 M=1|9 p=0..2 q=0..2 r=3..5 x=60|300|900|1100",
     .attrs = "pads:is=p,q,q,p",
     .in = {{"f32", "N,C,r,x", NULL, NULL, NULL}, {"=0", "M,C,3,3", NULL, NULL, NULL}},
     .tolerance = OPS_SUM},
    {"Conv/depthwise",
     .vars = "H=1..3 N=1|2 C=1 M=1|2 G=2|7|16|32 k=1|3|5 e=1 s=1|2 p=0|1|2 q=0|1 "
             "x=5..9",
     .attrs = WINDOW " pads?:is=p^H,q^H",
     .in = {{"f32|bf16", "N,C*G,x^H", NULL, NULL, NULL}, WEIGHTS}, .tolerance = OPS_SUM},
    {"Conv/groups",
     .vars = "H=1|2 N=1|2 C=2|3|4|8|12|16|24 M=2|4|8|9|16 G=2|3|4 k=1|3 e=1|1|2 s=1|2 p=0|1 q=0|1 "
             "x=5..9",
     .attrs = WINDOW " pads?:is=p^H,q^H",
     .in = {{"f32|bf16", "N,C*G,x^H", NULL, NULL, NULL}, WEIGHTS}, .tolerance = OPS_SUM,
     .bench = "C=8 M=8 G=16 k=3 e=1 s=1 p=1 q=1 x=28"},
    {"Conv/three axes",
     .vars = "H=3 N=1|2 C=3|16|21 M=3|16|24 G=1|1|2 k=1|3 e=1|1|2 s=1|1|2 p=0|1 q=0|1 x=5..8",
     .attrs = WINDOW " pads?:is=p^H,q^H",
     .in = {{"f32|bf16", "N,C*G,x^H", NULL, NULL, NULL}, WEIGHTS}, .tolerance = OPS_SUM},
    /* Windows over frames alone, over rows and columns alone, and with steps of their own. */
    {"Conv/frames and planes",
     .vars = "N=1|2 C=3|16|40 M=16|19 d=1|2|3 k=1|3 e=1|2 s=1|2 t=1|2 o=0|1 p=0|1 f=3..5 x=6..9",
     .attrs = "dilations:is=e,1,1 strides:is=s,t,t pads:is=o,p,0,o,p,p",
     .in = {{"f32", "N,C,f,x,9", NULL, NULL, NULL},
            {"=0", "M,C,d,k,k", NULL, NULL, NULL},
            {"=0", "M", NULL, NULL, "0|1"}},
     .tolerance = OPS_SUM},
    {"Conv/depthwise, wide rows",
     .vars = "H=1|2|2 N=1 C=1 M=1 G=8|17 k=3|5|7 e=1|1|2 s=1|2|3 p=0..3 q=0..3 x=13..24",
     .attrs = WINDOW " pads?:is=p^H,q^H", .in = {{"f32", "N,C*G,x^H", NULL, NULL, NULL}, WEIGHTS},
     .tolerance = OPS_SUM, .bench = "H=2 G=192 k=3 e=1 s=1 p=1 q=1 x=14"},
    {"Conv/depthwise, large windows",
     .vars = "H=1|2|2 N=1 C=1 M=1 G=8|17 k=9..13 e=1|1|2 s=1|1|2 p=0..(k-1)*e q=0..(k-1)*e "
             "x=(k-1)*e+1..(k-1)*e+14",
     .attrs = WINDOW " pads?:is=p^H,q^H", .in = {{"f32", "N,C*G,x^H", NULL, NULL, NULL}, WEIGHTS},
     .tolerance = OPS_SUM, .bench = "H=2 G=64 k=13 e=1 s=1 p=6 q=6 x=14"},
    {"Conv/depthwise, windows larger than images",
     .vars = "H=1|2|2 N=1 C=1 M=1 G=8|17 k=9..13 e=1|1|2 s=1|1|2 p=(k-1)*e-2..(k-1)*e "
             "q=(k-1)*e-2..(k-1)*e x=5..9",
     .attrs = WINDOW " pads:is=p^H,q^H", .in = {{"f32", "N,C*G,x^H", NULL, NULL, NULL}, WEIGHTS},
     .tolerance = OPS_SUM},
    {"Conv/depthwise, frames and planes",
     .vars = "N=1|2 G=3|16|40 d=1|2|3 k=1|3 e=1|2 s=1|2 t=1|2 o=0|1 p=0|1 f=3..5 x=6..9",
     .attrs = "dilations:is=e,1,1 strides:is=s,t,t pads:is=o,p,0,o,p,p group:i=G",
     .in = {{"f32", "N,G,f,x,9", NULL, NULL, NULL},
            {"=0", "G,1,d,k,k", NULL, NULL, NULL},
            {"=0", "G", NULL, NULL, "0|1"}},
     .tolerance = OPS_SUM},
    {"Conv/NaN and infinity, three axes", .vars = "N=1 C=2|16 M=16 d=1|3 x=3..7",
     .attrs = "pads:is=d-1,1,1,0,1,1",
     .in = {{"f32", "N,C,3,x^2", "0.5..3", "ni", NULL}, {"=0", "M,C,d,3,3", NULL, NULL, NULL}},
     .tolerance = OPS_SUM},
    /* Taps so far apart that some are in the padding for every output. */
    {"Conv/far apart",
     .vars = "H=2 N=1|2 C=1|3|16 M=1|8|19 G=1 k=2|3|5 e=2|4|9 s=1|2 p=0..(k-1)*e "
             "q=(k-1)*e-p..(k-1)*e-p+2 x=4..9",
     .attrs = WINDOW " pads:is=p^H,q^H",
     .in = {{"f32|bf16", "N,C*G,x^H", NULL, NULL, NULL}, WEIGHTS}, .tolerance = OPS_SUM},
    {"Conv/empty batch", .vars = "H=1..3 C=1..3 M=1..3 k=1..3 x=3..5", .attrs = "",
     .in = {{OPS_FLOATS, "0,C,x^H", NULL, NULL, NULL}, {"=0", "M,C,k^H", NULL, NULL, NULL}},
     .tolerance = OPS_SUM},
    {"Conv/NaN and infinity", .vars = "N=1 C=1..3 M=1..3 k=1..3 x=3..7",
     .in = {{OPS_FLOATS, "N,C,x^2", NULL, NULL, NULL}, {"=0", "M,C,k^2", "0.5..3", "ni", NULL}},
     .tolerance = OPS_SUM},
    {"ConvInteger", .vars = VARS, .attrs = WINDOW " pads?:is=p^H,q^H",
     .in = {{I8, "N,C*G,x^H", NULL, "h", NULL},
            {I8, "M*G,C,k^H", NULL, "h", NULL},
            {"=0", "", NULL, NULL, "0|1"},
            {"=1", "", NULL, NULL, "0|1"}}},
    {"QLinearConv", .vars = VARS, .attrs = WINDOW " pads?:is=p^H,q^H",
     .in = {{I8, "N,C*G,x^H", NULL, "h", NULL},
            {"f32", "", "0.1..2", NULL, NULL},
            {"=0", "", NULL, NULL, NULL},
            {I8, "M*G,C,k^H", NULL, "h", NULL},
            {"f32", "", "0.1..2", NULL, NULL},
            {"=3", "", NULL, NULL, NULL},
            {"f32", "", "1..9", NULL, NULL},
            {I8, "", NULL, NULL, NULL},
            {"i32", "M*G", NULL, NULL, "0|1"}}},
    {0},
};
