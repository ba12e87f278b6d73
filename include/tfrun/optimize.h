/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/optimize.h: runs the graph passes without a session, to keep the result or to save it
 * (tfrun/onnx.h). Sessions run the passes by themselves.
 */
#ifndef TFRUN_OPTIMIZE_H
#define TFRUN_OPTIMIZE_H

#include <tfrun/graph.h>
#include <tfrun/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What one pass did. Texts live as long as the session, or until report returns. */
typedef struct tfr_pass {
    uint32_t size;
    const char *name;      /* "fold" */
    const char *text;      /* "3 nodes computed beforehand" */
    uint32_t rounds;       /* how often it ran */
    uint32_t n_changes;    /* what the text counts */
    uint32_t nodes_before; /* of the graph and the graphs inside it, when it first ran */
    int32_t nodes_removed; /* fewer than before, in all its rounds; negative = it added some */
    uint64_t ns;           /* time that it took */
} tfr_pass;

typedef struct tfr_optimize_options {
    uint32_t size;
    /*
     * The result is for any runtime that implements this opset of ONNX: passes introduce only
     * standard ops that it has. 0 = 21.
     */
    int32_t opset;
    /*
     * As in tfr_session_options; NULL = all but decompose, which expands composite ops that are
     * newer than the opset. Constants are never dequantized.
     */
    const char *passes;
    /* Called for each pass that ran, in order; may be NULL. */
    void (*report)(void *user, const tfr_pass *pass);
    void *user;
} tfr_optimize_options;
#define TFR_OPTIMIZE_OPTIONS_INIT                                                                  \
    {                                                                                              \
        (uint32_t)sizeof(tfr_optimize_options), 0, NULL, NULL, NULL                                \
    }

/*
 * Runs the passes on a copy of the graph, which shares its constants; if nothing changes, *out is
 * another reference to the same graph. The given graph is frozen. Declared shapes of inputs are
 * relied on, and results may differ by rounding. Constants are computed by the reference backend of
 * runtime; with NULL, or without that backend, the nodes stay. options may be NULL. TFR_EINVAL for
 * an unknown pass or a subgraph.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_graph_optimize(tfr_graph *graph, tfr_runtime *runtime,
                                                     const tfr_optimize_options *options,
                                                     tfr_graph **out, tfr_err *err);

#ifdef __cplusplus
}
#endif

#endif
