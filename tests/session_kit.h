/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_kit.h: what tests of sessions begin with: a runtime, with or without the fake
 * accelerator, graphs built node by node, and what a session says of itself. Graphs that a short
 * text can say come from graph_text.h. Included once per test program; brings the program's `err`.
 */
#ifndef TFR_SESSION_KIT_H
#define TFR_SESSION_KIT_H

#include <stdlib.h>
#include <tfrun/tfrun.h>

#include "tfr_test.h"

static tfr_err err = TFR_ERR_INIT;

/* ---- runtimes -------------------------------------------------------------------------------- */

static inline tfr_runtime *new_runtime(void)
{
    tfr_runtime *runtime = NULL;
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &err), &err);
    return runtime;
}

/* Of the last runtime with an accelerator: what the accelerator, or who ran it, did wrong. */
static char breaches[512];

/* Gets every line of its log, if it is set. */
static void (*log_reader)(const char *text);

static inline void note_breach(void *user, tfr_log_level level, const char *who, const char *text)
{
    (void)user;
    if (log_reader)
        log_reader(text);
    if (level == TFR_LOG_ERROR)
        snprintf(breaches, sizeof breaches, "%s: %s", who, text);
}

/* A runtime with the fake accelerator as "fakeacc:0", which is "NPU:0". */
static inline tfr_runtime *accelerator_runtime(const tfr_option *given, uint32_t n)
{
    char path[1024];
    const char *files[] = {path}, *build = getenv("TFR_BUILDDIR");
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    tfr_runtime *runtime = NULL;
    snprintf(path, sizeof path, "%s/tests/fakeacc/.libs/fakeacc.so", build ? build : ".");
    options.plugin_files = files;
    options.n_plugin_files = 1;
    options.options = given;
    options.n_options = n;
    options.log = note_breach;
    breaches[0] = '\0';
    REQUIRE_OK(tfr_runtime_create(&options, &runtime, &err), &err);
    return runtime;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

/* A graph with n inputs of no declared type, called x0, x1 and so on. */
static inline tfr_graph *new_graph(uint32_t n, tfr_value *inputs)
{
    tfr_graph *graph = NULL;
    REQUIRE_OK(tfr_graph_create("test", &graph, &err), &err);
    for (uint32_t i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%u", i);
        REQUIRE_OK(tfr_graph_add_input(graph, name, NULL, &inputs[i], &err), &err);
    }
    return graph;
}

/* A node with one output. */
static inline tfr_value add(tfr_graph *graph, const char *op, const tfr_value *in, uint32_t n)
{
    tfr_value out = TFR_VALUE_NONE;
    tfr_node_desc node = {
        .size = sizeof node, .op = op, .inputs = in, .n_inputs = n, .n_outputs = 1};
    REQUIRE_OK(tfr_graph_add_node(graph, &node, &out, &err), &err);
    return out;
}

static inline tfr_value unary(tfr_graph *graph, const char *op, tfr_value x)
{
    return add(graph, op, &x, 1);
}

static inline tfr_value binary(tfr_graph *graph, const char *op, tfr_value a, tfr_value b)
{
    const tfr_value in[] = {a, b};
    return add(graph, op, in, 2);
}

static inline void output(tfr_graph *graph, tfr_value v)
{
    REQUIRE_OK(tfr_graph_add_output(graph, v, NULL, &err), &err);
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* With these numbers, or what lies there. */
static inline tfr_tensor *new_tensor(tfr_dtype dtype, int32_t rank, const int64_t *dims,
                                     const void *data)
{
    tfr_shape shape = {0};
    tfr_tensor *t = NULL;
    REQUIRE_OK(tfr_shape_make(rank, dims, &shape, &err), &err);
    REQUIRE_OK(tfr_tensor_create(dtype, &shape, &t, &err), &err);
    if (data && tfr_tensor_bytes(t))
        memcpy(tfr_tensor_data(t), data, tfr_tensor_bytes(t));
    return t;
}

static inline tfr_tensor *floats(int32_t rank, const int64_t *dims, const float *data)
{
    return new_tensor(TFR_DTYPE_F32, rank, dims, data);
}

/* A list. */
static inline tfr_tensor *ints(int64_t n, const int64_t *data)
{
    return new_tensor(TFR_DTYPE_I64, 1, &n, data);
}

/* The numbers of most tests. */
static const float six[] = {1, -2, 3, -4, 5, -6};
static const int64_t two_by_three[] = {2, 3};

/* ---- sessions -------------------------------------------------------------------------------- */

/* A session that has taken over the runtime and the graph. */
static inline tfr_session *session_over(tfr_runtime *runtime, tfr_graph *graph, const char *device)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    options.device = device;
    options.passes = "-dead"; /* the report tells of nodes that do nothing, too */
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    return session;
}

/* All that a test without session_over has made. */
static inline void end_session(tfr_runtime *runtime, tfr_graph *graph, tfr_session *session,
                               tfr_tensor *in)
{
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_tensor_release(in);
    tfr_runtime_release(runtime);
}

static inline tfr_session_stats stats_of(const tfr_session *session)
{
    tfr_session_stats stats = {.size = sizeof stats};
    CHECK_OK(tfr_session_get_stats(session, &stats, &err), &err);
    return stats;
}

static inline tfr_placement row_of(const tfr_session *session, uint32_t i)
{
    tfr_placement row = {.size = sizeof row};
    REQUIRE_OK(tfr_session_placement(session, i, &row, &err), &err);
    return row;
}

#endif
