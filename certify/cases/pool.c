/* SPDX-License-Identifier: Apache-2.0 */
/* Poolings; letters as in conv.c. Pads are smaller than the window, as ONNX wants. */
#include "case.h"

#define VARS                                                                                       \
    "H=1..3 N=0..2 C=1..20 k=1..3 e=1|1|2 s=1..3 p=0..k-1 q=0..k-1 "                               \
    "x=(k-1)*e+1..(k-1)*e+5"
/* Pads over a window's reach, and elements that fall between a window's taps. */
#define WIDE                                                                                       \
    "H=1|1|2|3 N=1..2 C=1..20 k=2..3 e=1..4 s=1..3 p=0..(k-1)*e+1 q=(k-1)*e..(k-1)*e+1 x=1..4"
#define WIDE_PADS " pads:is=p^H,q^H"
#define WINDOW    "kernel_shape:is=k^H dilations?:is=e^H strides?:is=s^H ceil_mode?:i=0|1"
#define PADS      " pads?:is=p^H,q^H"
#define SAME      " auto_pad:s=SAME_UPPER|SAME_LOWER|VALID"
#define INPUT(types)                                                                               \
    {                                                                                              \
        {                                                                                          \
            types, "N,C,x^H", NULL, NULL, NULL                                                     \
        }                                                                                          \
    }
/* Longer than what goes together, with steps of every kind. */
#define LONG                                                                                       \
    "H=1|2 N=1 C=1|2 k=1..4 e=1|2|60 s=1|2|3|16|17 p=0..k-1 q=0..k-1 "                             \
    "x=(k-1)*e+1..(k-1)*e+900"
#define LONG_WINDOW                                                                                \
    "kernel_shape:is=2^(H-1),k dilations:is=1^(H-1),e strides:is=1^(H-1),s "                       \
    "pads?:is=1^(H-1),p,1^(H-1),q"
#define LONG_INPUT                                                                                 \
    {                                                                                              \
        {                                                                                          \
            "f32", "N,C,3^(H-1),x", NULL, NULL, NULL                                               \
        }                                                                                          \
    }
#define GLOBAL(op, attributes)                                                                     \
    {                                                                                              \
        .name = op, .vars = "H=1..3 N=0..2 C=1..20 x=1..7", .attrs = attributes,                   \
        .in = INPUT(OPS_FLOATS), .tolerance = OPS_SUM, .bench = "N=1 H=2 C=512 x=7"                \
    }

const ops_case ops_pool_cases[] = {
    {"AveragePool", .vars = VARS, .attrs = WINDOW PADS " count_include_pad?:i=0|1",
     .in = INPUT(OPS_FLOATS), .tolerance = OPS_SUM,
     .bench = "N=1 H=2 C=64 k=3 s=2 p=1 q=1 x=56 e=1"},
    {"AveragePool/windows in the padding", .vars = WIDE,
     .attrs = WINDOW WIDE_PADS " count_include_pad?:i=0|1", .in = INPUT(OPS_FLOATS),
     .tolerance = OPS_SUM},
    {"AveragePool/same or valid", .vars = VARS, .attrs = WINDOW SAME " count_include_pad?:i=0|1",
     .in = INPUT(OPS_FLOATS), .tolerance = OPS_SUM},
    {"AveragePool/wide rows", .vars = "H=2 N=1 C=9 k=2..4 e=1|1|2 s=1..3 p=0..k-1 q=0..k-1 x=9..24",
     .attrs = WINDOW PADS " count_include_pad?:i=0|1", .in = INPUT("f32"), .tolerance = OPS_SUM},
    {"AveragePool/frames",
     .vars = "N=1|2 C=1..9 k=2..5 e=1|1|2 s=1|1|2 p=0..k-1 q=0..k-1 x=(k-1)*e+1..(k-1)*e+5 z=1..5",
     .attrs = "kernel_shape:is=k,1,1 dilations?:is=e,1,1 strides?:is=s,1,1 pads:is=p,0,0,q,0,0 "
              "count_include_pad?:i=0|1",
     .in = {{"f32", "N,C,x,z,3", NULL, NULL, NULL}}, .tolerance = OPS_SUM},
    {"AveragePool/long rows", .vars = LONG, .attrs = LONG_WINDOW " count_include_pad?:i=0|1",
     .in = LONG_INPUT, .tolerance = OPS_SUM},
    GLOBAL("GlobalAveragePool", ""),
    GLOBAL("GlobalLpPool", "p?:i=1|2|3"),
    GLOBAL("GlobalMaxPool", ""),
    {"LpPool", .vars = VARS, .attrs = WINDOW PADS " p?:i=1|2|3", .in = INPUT(OPS_FLOATS),
     .tolerance = OPS_SUM},
    {"LpPool/windows in the padding", .vars = WIDE, .attrs = WINDOW WIDE_PADS " p?:i=1|2|3",
     .in = INPUT(OPS_FLOATS), .tolerance = OPS_SUM},
    {"LpPool/long rows",
     .vars = "H=1|2 N=1 C=1|2 k=1..4 e=1|2|60|300 s=1|2|3|70 t=0..1 p=0..k-1 q=0..k-1 "
             "x=(k-1)*e+1..(k-1)*e+600",
     .attrs = "kernel_shape:is=2^(H-1),k dilations:is=1^(H-1),e strides:is=1^(H-1),s "
              "pads?:is=1^(H-1),p,1^(H-1),q p?:i=1|2|3|9",
     .in = {{OPS_FLOATS, "N,C,3^(H-1),x", NULL, NULL, NULL}}, .tolerance = OPS_SUM},
    {"LpPool/large and small", .vars = "H=2 N=1 C=2 k=1..3 e=1 s=1|2 x=5..9",
     .attrs = "kernel_shape:is=k^H strides?:is=s^H p:i=1|2",
     .in = {{"f32", "N,C,x^H", "-3..3|1e-18|1e18", NULL, NULL}}, .tolerance = OPS_SUM},
    {"LpPool/same or valid", .vars = VARS, .attrs = WINDOW SAME " p?:i=1|2|3",
     .in = INPUT(OPS_FLOATS), .tolerance = OPS_SUM},
    {"MaxPool", .vars = VARS, .attrs = WINDOW PADS, .in = INPUT(OPS_FLOATS "|u8|i8"),
     .bench = "N=1 H=2 C=64 k=3 s=2 p=1 q=1 x=56 e=1"},
    {"MaxPool/infinities", .vars = "N=1 C=1..3 k=1..3 x=3..6", .attrs = "kernel_shape:is=k^2",
     .in = {{OPS_FLOATS, "N,C,x^2", "-inf|-inf|-inf|-inf|1", "i", NULL}}},
    {"MaxPool/NaN",
     .vars = "H=1..3 N=1 C=1..20 k=1..5 e=1|1|2 s=1..3 p=0..k-1 q=0..k-1 x=(k-1)*e+1..(k-1)*e+9",
     .attrs = WINDOW PADS, .in = {{OPS_FLOATS "|f32|f32", "N,C,x^H", NULL, "n", NULL}}},
    {"MaxPool/NaN in long rows", .vars = LONG, .attrs = LONG_WINDOW,
     .in = {{"f32", "N,C,3^(H-1),x", NULL, "n", NULL}}},
    {"MaxPool/indices", .vars = VARS, .attrs = WINDOW PADS " storage_order?:i=0|1",
     .in = INPUT(OPS_FLOATS "|u8|i8"), .outputs = "2"},
    {"MaxPool/windows in the padding", .vars = WIDE, .attrs = WINDOW WIDE_PADS,
     .in = INPUT(OPS_FLOATS "|f32|f32|u8|i8"), .outputs = "1|1|2"},
    {"MaxPool/wide rows", .vars = "H=2 N=1 C=9 k=2..5 e=1|1|2 s=1..3 p=0..k-1 q=0..k-1 x=9..24",
     .attrs = WINDOW PADS, .in = INPUT("f32")},
    {"MaxPool/long rows", .vars = LONG, .attrs = LONG_WINDOW, .in = LONG_INPUT},
    {"MaxPool/same or valid", .vars = VARS, .attrs = WINDOW SAME, .in = INPUT(OPS_FLOATS)},
    {0},
};
