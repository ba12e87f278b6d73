/* SPDX-License-Identifier: Apache-2.0 */
/*
 * passes.h: what is done to a graph before it is planned, once per session, on a copy of it. Each
 * pass is one file and one row of the list; a row is switched by name in tfr_session_options.
 */
#ifndef TFR_CORE_PASSES_H
#define TFR_CORE_PASSES_H

#include <tfrun/optimize.h>

#include "optimize/rewrite.h"

/*
 * In the order in which they run, again and again until nothing changes. The sentence takes the
 * number of changes. None of them changes a rounding on the reference backend.
 */
#define TFR__PASSES(X)                                                                             \
    X(fold, "%u nodes computed beforehand")                                                        \
    X(dead, "%u nodes that do nothing or that nobody reads removed")                               \
    X(loop, "%u values that loops carry without need taken out of them")                           \
    X(cse, "%u nodes that compute what another one does removed")                                  \
    X(transpose, "%u transposes cancelled, merged, moved or taken into products")                  \
    X(conv_bn, "%u BatchNormalization folded into Conv or ConvTranspose")                          \
    X(matmul_add, "%u MatMul and Add made one Gemm")                                               \
    X(activation, "%u activations found: Gelu, Swish, HardSwish, Mish")                            \
    X(layer_norm, "%u LayerNormalization or RMSNormalization found")                               \
    X(attention, "%u Attention found")                                                             \
    X(decompose, "%u composite ops that only the reference has written out")

enum {
#define TFR__PASS_NUMBER(name, text) TFR__PASS_##name,
    TFR__PASSES(TFR__PASS_NUMBER)
#undef TFR__PASS_NUMBER
        TFR__N_PASSES
};

/* One pass over one graph; returns the number of changes. */
#define TFR__PASS_FN(name, text) uint32_t tfr__pass_##name(tfr__rewrite *rw);
TFR__PASSES(TFR__PASS_FN)
#undef TFR__PASS_FN

/* A plain tensor of these axes of t, NULL = the other way round; NULL without memory. */
tfr_tensor *tfr__tensor_permute(tfr_tensor *t, const int64_t *perm);

/*
 * Removes the nodes that nobody reads and returns how many there were. No pass that can be switched
 * off: whether a model is valid must not depend on the passes, and what is not read takes no part.
 */
uint32_t tfr__rewrite_drop_unread(tfr__rewrite *rw);

/*
 * Nodes of plugins' ops that no backend takes become nodes of their decomposition (write_out.c).
 * *n of them, with *n_nodes in all; the new ones may be such nodes themselves, so call it again, in
 * the next round, once their types are known.
 */
tfr_status tfr__rewrite_write_out(tfr__rewrite *rw, uint32_t round, uint32_t *n, uint32_t *n_nodes,
                                  tfr_err *err);

/* Reads "all", "none" or a list: "fold,cse" are those alone, "-cse" all but that. NULL is all. */
tfr_status tfr__passes_parse(const char *list, uint32_t *mask, tfr_err *err);
/* What a pass did. */
typedef struct tfr__pass_row {
    const char *name;
    uint32_t rounds, n_changes, nodes_before;
    int32_t nodes_removed;
    uint64_t ns;
    char text[96];
} tfr__pass_row;

/* The same for the user; texts are the row's. */
tfr_pass tfr__pass_view(const tfr__pass_row *row);

/*
 * Replaces *graph by a copy without unread nodes that the passes of mask changed, if anything was
 * to be done. With loose_shapes the declared shapes of inputs are no promise. rows: one per pass,
 * zeroed.
 */
tfr_status tfr__passes_run(const tfr__kernel_env *env, bool loose_shapes, uint32_t mask,
                           tfr_graph **graph, tfr__pass_row *rows, tfr_err *err);

#endif
