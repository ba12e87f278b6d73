/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trees of domain ai.onnx.ml: two of them, of two and of one branch. Samples are of few values, so
 * that they meet thresholds.
 */
#include "case.h"

#define ML    .domain = "ai.onnx.ml"
#define TYPES "f32|f64|i32|i64"

#define NODES                                                                                      \
    "nodes_treeids:is=0,0,0,0,0,1,1,1 nodes_nodeids:is=0,1,2,3,4,0,1,2 "                           \
    "nodes_featureids:is=0..F-1,0,0..F-1,0,0,0..F-1,0,0 "                                          \
    "nodes_truenodeids:is=1,0,3,0,0,1,0,0 nodes_falsenodeids:is=2,0,4,0,0,2,0,0 "                  \
    "nodes_values:fs=-1..1,0,-1..1,0,0,-1..1,0,0 "                                                 \
    "nodes_missing_value_tracks_true?:is=0|1,0,0|1,0,0,0|1,0,0 "
#define MODES(a, b, c)                                                                             \
    "nodes_modes:ss=BRANCH_" a ",LEAF,BRANCH_" b ",LEAF,LEAF,BRANCH_" c ",LEAF,LEAF "
#define TRANSFORM "post_transform?:s=NONE|SOFTMAX|LOGISTIC|SOFTMAX_ZERO|PROBIT "
#define WEIGHTS(of, targets)                                                                       \
    of "_treeids:is=0,0,0,1,1 " of "_nodeids:is=1,3,4,1,2 " of "_ids:is=" targets " " of           \
       "_weights:fs=0.5,-1..1,0.25,-0.75,-1..1 "

#define REGRESSOR(name, a, b, c)                                                                   \
    {                                                                                              \
        "TreeEnsembleRegressor/" name, ML,                                                         \
            .vars = "N=1..20 F=1..5 C=1..3",                                                       \
            .attrs = NODES MODES(a, b, c) TRANSFORM WEIGHTS(                                       \
                "target",                                                                          \
                "C-1,0,C-1,0,C-1") "n_targets:i=C aggregate_function?:s=SUM|AVERAGE|MIN|MAX "      \
                                   "base_values?:fs=1^C",                                          \
            .in = {{TYPES, "N,F", "-2..2", "niz", NULL}}, .tolerance = OPS_MATH                    \
    }
#define CLASSIFIER(name, labels, targets)                                                          \
    {                                                                                              \
        "TreeEnsembleClassifier/" name, ML,                                                        \
            .vars = "N=1..20 F=1..5",                                                              \
            .attrs = NODES MODES("LEQ", "LT", "LEQ")                                               \
                TRANSFORM WEIGHTS("class", targets) "classlabels_" labels " base_values?:fs=0.5",  \
            .in = {{TYPES, "N,F", "-2..2", "niz", NULL}}, .outputs = "2", .tolerance = OPS_MATH    \
    }

#define PLACES(mode)                                                                               \
    "nodes_featureids:is=0..F-1,0..F-1,0..F-1 nodes_truenodeids:is=0,1,3 "                         \
    "nodes_falsenodeids:is=1,2,4 nodes_trueleafs:is=1,1,1 nodes_falseleafs:is=0,1,1 "              \
    "nodes_missing_value_tracks_true?:is=0|1,0|1,0|1 nodes_modes:tb=" mode ",0..5,0..5 "           \
    "nodes_splits:t=-1..1,-1..1,-1..1 leaf_targetids:is=0,C-1,0,C-1,0 "                            \
    "leaf_weights:t=0.5,-1..1,0.25,-0.75,-1..1 tree_roots:is=0,2 n_targets:i=C "                   \
    "aggregate_function?:i=0..3 post_transform?:i=0..4 "

const ops_case ops_tree_ensemble_cases[] = {
    {"TreeEnsemble", ML, .vars = "N=1..20 F=1..5 C=1..3", .attrs = PLACES("0..5"),
     .in = {{"f32|f64|f16", "N,F", "-2..2", "niz", NULL}}, .tolerance = OPS_MATH},
    {"TreeEnsemble/members", ML, .vars = "N=1..20 F=1..5 C=1..3",
     .attrs = PLACES("6") "membership_values:t=1,-1",
     .in = {{"f32|f64|f16", "N,F", "-2..2", "niz", NULL}}, .tolerance = OPS_MATH},
    CLASSIFIER("one label", "int64s:is=7", "0,0,0,0,0"),
    CLASSIFIER("two labels and one class", "int64s:is=3,-2", "1,1,1,1,1"),
    CLASSIFIER("three labels", "int64s:is=3,0,9", "0,1,2,1,2"),
    CLASSIFIER("one string", "strings:ss=yes", "0,0,0,0,0"),
    CLASSIFIER("two strings and one class", "strings:ss=no,yes", "1,1,1,1,1"),
    CLASSIFIER("three strings", "strings:ss=no,,yes", "0,1,2,1,2"),
    REGRESSOR("at most", "LEQ", "LEQ", "LEQ"),
    REGRESSOR("less and more", "LT", "GT", "GTE"),
    REGRESSOR("equal", "EQ", "NEQ", "LEQ"),
    {0},
};
