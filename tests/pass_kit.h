/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass_kit.h: what passes make of graphs: nodes before and after, and the same results. The
 * reference backend stands for a fast one here: a test raises its priority, so that all composite
 * ops are claimed, or lacks some of them. Included once per test program.
 */
#ifndef TFR_PASS_KIT_H
#define TFR_PASS_KIT_H

#include <tfrun/compare.h>

#include "base/alloc.h"
#include "graph_text.h"
#include "run/session.h"

static tfr_err err = TFR_ERR_INIT;

/*
 * A runtime whose backend is above the reference and does not claim these ops (commas between);
 * NULL = the reference as it is.
 */
static inline tfr_runtime *runtime_without(const char *ops)
{
    tfr_runtime *runtime = NULL;
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &err), &err);
    for (uint32_t i = 0; ops && i < runtime->devices[0].n_backends; i++) {
        tfr__backend *b = &runtime->devices[0].backends[i];
        char op[32];
        b->priority = 100;
        for (const char *p = ops; b->claims && *p; p += *p == ',') {
            size_t n = strcspn(p, ",");
            snprintf(op, sizeof op, "%.*s", (int)n, p);
            b->claims[tfr__op_number(tfr__op_find("", op))] = TFR__CLAIM_NONE;
            p += n;
        }
    }
    return runtime;
}

static inline tfr_runtime *new_runtime(bool fast)
{
    return runtime_without(fast ? "" : NULL);
}

static inline tfr_session *new_session(tfr_runtime *runtime, tfr_graph *graph, const char *passes)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    options.device = "naive:0";
    options.passes = passes;
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
    return session;
}

/* "Conv Relu", with what stands in subgraphs in brackets. */
static inline void list_ops(const tfr_graph *graph, char *text, size_t capacity)
{
    size_t used = strlen(text);
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const tfr__node *node = &graph->nodes[i];
        snprintf(text + used, capacity - used, "%s%s", used && text[used - 1] != '(' ? " " : "",
                 node->op->name);
        for (uint32_t k = 0; k < node->n_subgraphs; k++) {
            snprintf(text + strlen(text), capacity - strlen(text), "(");
            list_ops(node->subgraphs[k], text, capacity);
            snprintf(text + strlen(text), capacity - strlen(text), ")");
        }
        used = strlen(text);
    }
}

/* With the same inputs each time; returns how many outputs there are. */
static inline uint32_t run(tfr_session *session, tfr_tensor **outputs)
{
    const tfr_graph *g = session->graph;
    tfr_tensor *in[4];
    for (uint32_t i = 0; i < g->n_inputs; i++)
        in[i] = random_input(g->source ? g->source : g, i, 5, i + 1, -3, 3);
    CHECK_OK(tfr_session_run(session, in, g->n_inputs, outputs, g->n_outputs, &err), &err);
    for (uint32_t i = 0; i < g->n_inputs; i++)
        tfr_tensor_release(in[i]);
    return g->n_outputs;
}

static inline void check_results(tfr_session *before, tfr_session *after)
{
    tfr_tensor *expected[4] = {NULL}, *obtained[4] = {NULL};
    uint32_t n = run(before, expected);
    CHECK_UINT(n, run(after, obtained));
    for (uint32_t i = 0; i < n; i++) {
        tfr_compare_report report = {.size = sizeof report};
        if (CHECK(expected[i] && obtained[i]))
            CHECK(tfr_tensor_compare(expected[i], obtained[i], 2e-5, 2e-5, &report));
        CHECK_STR("", report.text);
        tfr_tensor_release(expected[i]);
        tfr_tensor_release(obtained[i]);
    }
}

/* When any request for memory fails there is no session, or one with the same results. */
static inline void check_without_memory(tfr_runtime *runtime, tfr_graph *graph, const char *passes,
                                        tfr_session *before)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    bool failed = true;
    options.device = "naive:0";
    options.passes = passes;
    for (uint64_t n = 1; failed; n++) {
        const uint64_t requests = tfr__alloc_count();
        tfr_session *session = NULL;
        tfr_status status;
        tfr__alloc_fail_at(n);
        status = tfr_session_create(runtime, graph, &options, &session, &err);
        tfr__alloc_fail_at(0);
        failed = tfr__alloc_count() - requests >= n;
        CHECK_INT(status == TFR_OK, session != NULL);
        CHECK_STATUS(status ? TFR_ENOMEM : TFR_OK, status, &err);
        if (failed && session)
            check_results(before, session);
        tfr_session_destroy(session);
    }
}

/* The ops after these passes, and the same results as without any. */
static inline void check_graph(tfr_runtime *runtime, tfr_graph *graph, const char *passes,
                               const char *want)
{
    tfr_session *before = new_session(runtime, graph, "none");
    tfr_session *after = new_session(runtime, graph, passes);
    char text[400] = "";
    list_ops(after->graph, text, sizeof text);
    CHECK_STR(want, text);
    check_results(before, after);
    check_without_memory(runtime, graph, passes, before);
    tfr_session_destroy(before);
    tfr_session_destroy(after);
}

static inline void check(const char *text, const char *passes, const char *want)
{
    tfr_runtime *runtime = new_runtime(true);
    tfr_graph *graph = graph_of_text(text);
    check_graph(runtime, graph, passes, want);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

/* ---- what graphs of several programs are written with --------------------------------------- */

#define TT "Transpose{perm=0,2,1}"
#define BN "BatchNormalization{epsilon=0.01}"
/* A layer normalization of what differs from the mean by d. */
#define LN_OF(d, axis, rest)                                                                       \
    "d = " d "; out Add(Mul(Div(d,Sqrt(Add(ReduceMean(Pow(d,2),[" axis "]),0.00001))),s),t)" rest

#endif
