/* SPDX-License-Identifier: Apache-2.0 */
/* ConvTranspose; letters as in conv.c, o output padding, z output shape. */
#include "case.h"

#define VARS                                                                                       \
    "H=1..3 N=1|2 C=1..3 M=1..3 G=1|1|2 k=1..3 e=1|1|2 s=1..3 p=0|1 q=0|1 x=3..6 "                 \
    "o=0..s-1 z=(x-1)*s+1..(x-1)*s+(k-1)*e+1"
#define WINDOW "kernel_shape?:is=k^H dilations:is=e^H strides:is=s^H group:i=G"
#define OPERANDS                                                                                   \
    {                                                                                              \
        {OPS_FLOATS, "N,C*G,x^H", NULL, NULL, NULL}, {"=0", "C*G,M,k^H", NULL, NULL, NULL},        \
        {                                                                                          \
            "=0", "M*G", NULL, NULL, "0|1"                                                         \
        }                                                                                          \
    }

const ops_case ops_conv_transpose_cases[] = {
    {"ConvTranspose", .vars = VARS, .attrs = WINDOW " pads?:is=p^H,q^H output_padding?:is=o^H",
     .in = OPERANDS, .tolerance = OPS_SUM},
    {"ConvTranspose/output shape", .vars = VARS,
     .attrs = WINDOW " output_shape:is=z^H auto_pad?:s=SAME_UPPER|SAME_LOWER", .in = OPERANDS,
     .tolerance = OPS_SUM},
    {"ConvTranspose/same or valid", .vars = VARS,
     .attrs = WINDOW " auto_pad:s=SAME_UPPER|SAME_LOWER|VALID", .in = OPERANDS,
     .tolerance = OPS_SUM},
    {"ConvTranspose/many channels",
     .vars = "H=2 N=1 C=16|33 M=8|16 G=1 k=2|3 e=1 s=2 p=0|1 q=0|1 x=5..8",
     .attrs = WINDOW " pads?:is=p^H,q^H", .in = OPERANDS, .tolerance = OPS_SUM,
     .bench = "C=32 M=32 k=3 s=2 p=1 q=1 x=28"},
    {"ConvTranspose/few outputs",
     .vars = "H=1|2 N=1|2 C=16|21|64 M=1..4 G=1 k=1..6 e=1|1|2|3 s=1..4 p=0|1 q=0|1 x=3..13",
     .attrs = WINDOW " pads?:is=p^H,q^H", .in = OPERANDS, .tolerance = OPS_SUM,
     .bench = "H=2 N=1 C=64 M=3 G=1 k=4 e=1 s=2 p=1 q=1 x=56"},
    {"ConvTranspose/groups",
     .vars = "H=1|2 N=1|2 C=1|2|5|16 M=1|3|8 G=2..5 k=2|3 e=1|1|2 s=1..3 p=0|1 q=0|1 x=4..8",
     .attrs = WINDOW " pads?:is=p^H,q^H", .in = OPERANDS, .tolerance = OPS_SUM,
     .bench = "H=2 N=1 C=16 M=8 G=4 k=4 e=1 s=2 p=1 q=1 x=32"},
    {"ConvTranspose/depthwise",
     .vars = "H=1|2 N=1|2 C=1 M=1 G=2|5|16|19 k=2..5 e=1|1|2|3 s=1..4 p=0|1 q=0|1 x=3..9",
     .attrs = WINDOW " pads?:is=p^H,q^H", .in = OPERANDS, .tolerance = OPS_SUM,
     .bench = "H=2 N=1 G=64 k=4 e=1 s=2 p=1 q=1 x=32"},
    {"ConvTranspose/cubes",
     .vars = "H=3 N=1|2 C=1|5|17 M=1|8|9 G=1|1|2 k=1..3 e=1|1|2 s=1..3 p=0|1 q=0|1 x=3..5",
     .attrs = WINDOW " pads?:is=p^H,q^H", .in = OPERANDS, .tolerance = OPS_SUM,
     .bench = "N=1 C=32 M=16 G=1 k=2 e=1 s=2 p=0 q=0 x=12"},
    {"ConvTranspose/one pixel",
     .vars = "H=1|2 N=1|2|9 C=5|16|40 M=1|3|16 G=1 k=3..7 e=1|1|2 s=1..3 p=0|1 q=0|1 x=1",
     .attrs = WINDOW " pads?:is=p^H,q^H", .in = OPERANDS, .tolerance = OPS_SUM,
     .bench = "H=2 N=1 C=100 M=512 k=4 e=1 s=1 p=0 q=0"},
    {0},
};
