/* SPDX-License-Identifier: Apache-2.0 */
/* Attention and its position code. */
#include "case.h"

const ops_case ops_attention_cases[] = {
    {"Attention", .vars = "N=1|2 H=1..3 S=1..4 T=1..5 E=1..4 F=1..4",
     .attrs = "is_causal?:i=0|1 scale?:f=0.5",
     .in = {{OPS_FLOATS, "N,H,S,E", NULL, NULL, NULL},
            {"=0", "N,H,T,E", NULL, NULL, NULL},
            {"=0", "N,H,T,F", NULL, NULL, NULL},
            {"=0", "S,T", NULL, NULL, "0|1"}},
     .tolerance = OPS_SUM},
    {"RotaryEmbedding", .vars = "N=1|2 H=1..3 S=1..4 E=1..3", .attrs = "interleaved?:i=0|1",
     .in = {{"f32|f16|bf16", "N,H,S,2*E", NULL, NULL, NULL},
            {"=0", "8,E", NULL, NULL, NULL},
            {"=0", "8,E", NULL, NULL, NULL},
            {"i64", "N,S", "0..7", NULL, NULL}},
     .tolerance = OPS_SUM},
    {"RotaryEmbedding/many tokens", .vars = "N=1|2 H=4|5 S=60 E=8..13 P=0..2",
     .attrs = "interleaved?:i=0|1 num_heads:i=H rotary_embedding_dim:i=2*E",
     .in = {{"f32", "N,S,H*2*(E+P)"}, {"=0", "N,S,E"}, {"=0", "N,S,E"}}, .tolerance = OPS_SUM},
    {0},
};
