/* SPDX-License-Identifier: Apache-2.0 */
/* DepthToSpace and SpaceToDepth by blocks of S. */
#include "case.h"

const ops_case ops_depth_cases[] = {
    {"DepthToSpace", .vars = "N=0..2 C=1..3 S=1..3 x=0..4",
     .attrs = "blocksize:i=S mode?:s=DCR|CRD", .in = {{OPS_ANY, "N,C*S*S,x^2", NULL, NULL, NULL}}},
    {"SpaceToDepth", .vars = "N=0..2 C=1..3 S=1..3 x=0..4",
     .attrs = "blocksize:i=S mode?:s=DCR|CRD", .in = {{OPS_ANY, "N,C,(x*S)^2", NULL, NULL, NULL}}},
    {"DepthToSpace/large", .vars = "N=2 C=3 S=2|3 x=30..50",
     .attrs = "blocksize:i=S mode?:s=DCR|CRD", .in = {{OPS_FLOATS "|u8", "N,C*S*S,x^2"}}},
    {"SpaceToDepth/large", .vars = "N=2 C=3 S=2|3 x=30..50",
     .attrs = "blocksize:i=S mode?:s=DCR|CRD", .in = {{OPS_FLOATS "|u8", "N,C,(x*S)^2"}}},
    {0},
};
