/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_dispatch.c: what tfrun itself costs: chains of nodes whose kernels do nothing
 * (null_plugin.c), run by tfr_binding_run and by tfr_session_run, beside as many bare indirect
 * calls and beside ONNX Runtime, whose nodes add one element. A line through the times of 1 and of
 * 1000 nodes gives the cost of a node and the cost of a run.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <core/base/beside.h>
#include <tfrun/fail.h>

#include "contest.h"
#include "peer.h"

static const int64_t default_sizes[] = {1, 10, 100, 1000};

/* A runtime with the null backend alone. */
static tfr_status open_null(tfr_runtime **out, tfr_err *err)
{
    char path[1200];
    const char *files[] = {
        tfr__beside_find("bench", "tfrun-null.so", TFR_EXEC_DIR, path, sizeof path)};
    tfr_option only[] = {{"disable", "*"}, {"enable", "null"}};
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    options.plugin_files = files;
    options.n_plugin_files = 1;
    options.options = only;
    options.n_options = 2;
    options.n_threads = 1;
    if (access(path, R_OK))
        return tfr_fail(err, TFR_ENOTFOUND, "%s is missing, which has the empty kernels", path);
    return tfr_runtime_create(&options, out, err);
}

/* ---- a chain --------------------------------------------------------------------------------- */

typedef struct chain {
    tfr_graph *graph;
    tfr_session *session;
    tfr_binding *binding;
    tfr_tensor *in, *out;
    int64_t n_nodes;
} chain;

static void chain_finish(chain *c)
{
    tfr_binding_destroy(c->binding);
    tfr_session_destroy(c->session);
    tfr_graph_release(c->graph);
    tfr_tensor_release(c->in);
    tfr_tensor_release(c->out);
}

/* y = x + x, then y = y + x again and again: no two nodes are the same, and none can go. */
static tfr_status chain_graph(chain *c, tfr_err *err)
{
    tfr_value_type type = {.size = sizeof type, .dtype = TFR_DTYPE_F32, .rank_known = 1, .rank = 1};
    tfr_value in[2];
    tfr_node_desc add = {
        .size = sizeof add, .op = "Add", .n_inputs = 2, .n_outputs = 1, .inputs = in};
    tfr_status status = tfr_graph_create("dispatch", &c->graph, err);
    type.dims[0] = 1;
    if (!status)
        status = tfr_graph_add_input(c->graph, "x", &type, &in[1], err);
    in[0] = in[1];
    for (int64_t i = 0; !status && i < c->n_nodes; i++)
        status = tfr_graph_add_node(c->graph, &add, &in[0], err);
    return status ? status : tfr_graph_add_output(c->graph, in[0], "y", err);
}

static tfr_status run_binding(void *user, tfr_err *err)
{
    chain *c = user;
    return tfr_binding_run(c->binding, err);
}

static tfr_status run_session(void *user, tfr_err *err)
{
    chain *c = user;
    tfr_tensor *out = NULL;
    tfr_status status = tfr_session_run(c->session, &c->in, 1, &out, 1, err);
    tfr_tensor_release(out);
    return status;
}

static tfr_status chain_init(chain *c, tfr_runtime *runtime, int64_t n_nodes, tfr_err *err)
{
    tfr_shape shape = {1, {1}};
    tfr_session_stats stats = {.size = sizeof stats};
    tfr_status status;
    *c = (chain){.n_nodes = n_nodes};
    status = chain_graph(c, err);
    if (!status)
        status = tfr_tensor_create(TFR_DTYPE_F32, &shape, &c->in, err);
    if (!status)
        status = tfr_tensor_create(TFR_DTYPE_F32, &shape, &c->out, err);
    if (!status)
        status = tfr_session_create(runtime, c->graph, NULL, &c->session, err);
    if (!status)
        status = tfr_binding_create(c->session, &c->in, 1, &c->out, 1, &c->binding, err);
    if (!status)
        status = run_session(c, err);
    if (!status)
        status = tfr_session_get_stats(c->session, &stats, err);
    if (!status && stats.n_launches != n_nodes)
        status = tfr_fail(err, TFR_EINTERNAL, "a chain of %lld nodes has %u launches",
                          (long long)n_nodes, stats.n_launches);
    return status;
}

/* The floor: a call through a pointer that the compiler does not know, with launch's arguments. */
static int32_t nothing(void *device, void *queue, void *kernel, const void *launch, tfr_err *err)
{
    (void)device;
    (void)queue;
    (void)kernel;
    (void)launch;
    (void)err;
    return 0;
}

typedef int32_t (*launch_fn)(void *device, void *queue, void *kernel, const void *launch,
                             tfr_err *err);

static tfr_status run_calls(void *user, tfr_err *err)
{
    static const volatile launch_fn call = nothing;
    chain *c = user;
    int32_t status = 0;
    for (int64_t i = 0; !status && i < c->n_nodes; i++)
        status = call(c, NULL, c, c, err);
    return (tfr_status)status;
}

static void add(bench_contest *contest, const char *who, const char *note,
                tfr_status (*run)(void *user, tfr_err *err), chain *c)
{
    bench_contender *contender = bench_contest_add(contest, who);
    snprintf(contender->note, sizeof contender->note, "%s", note);
    contender->run = run;
    contender->user = c;
    contender->ours = run == run_binding;
}

static tfr_status measure(const bench_options *options, tfr_runtime *runtime, int64_t n,
                          bench_report *report, tfr_err *err)
{
    chain c;
    bench_contest contest = {.options = options, .report = report};
    tfr_status status;
    contest.row = bench_add_row(report, n, n == 1 ? "%lld node" : "%lld nodes", (long long)n);
    status = chain_init(&c, runtime, n, err);
    if (!status) {
        add(&contest, "tfr_binding_run", "kernels that do nothing", run_binding, &c);
        add(&contest, "tfr_session_run", "the same, with a new output", run_session, &c);
        add(&contest, "indirect calls", "the floor", run_calls, &c);
        bench_add_ort_chain(&contest, n);
        status = bench_contest_run(&contest, err);
    }
    bench_contest_finish(&contest);
    chain_finish(&c);
    return status;
}

/* ---- slopes ---------------------------------------------------------------------------------- */

static double median_of(const bench_row *row, const char *who)
{
    for (uint32_t i = 0; i < row->n_sides; i++)
        if (strcmp(row->sides[i].who, who) == 0)
            return row->sides[i].seconds.median;
    return NAN;
}

static void add_slope(bench_report *report, const char *who, const char *name)
{
    const bench_row *first = &report->rows[0], *last = &report->rows[report->n_rows - 1];
    double nodes = (double)(last->size - first->size);
    double slope = (median_of(last, who) - median_of(first, who)) / nodes;
    char key[80], text[120];
    if (isnan(slope))
        return;
    snprintf(key, sizeof key, "%s_ns_per_node", name);
    snprintf(text, sizeof text, "%s, a node", who);
    bench_add_figure(report, NULL, key, text, "ns", slope * 1e9);
    snprintf(key, sizeof key, "%s_ns_per_run", name);
    snprintf(text, sizeof text, "%s, a run call without nodes", who);
    bench_add_figure(report, NULL, key, text, "ns",
                     (median_of(first, who) - slope * (double)first->size) * 1e9);
}

tfr_status bench_dispatch(const bench_options *options, bench_report *report, tfr_err *err)
{
    const int64_t *sizes = options->n_sizes ? options->sizes : default_sizes;
    uint32_t n = options->n_sizes ? options->n_sizes : 4;
    tfr_runtime *runtime;
    tfr_status status = open_null(&runtime, err);
    if (status)
        return status;
    for (uint32_t i = 0; !status && i < n; i++)
        status = measure(options, runtime, sizes[i], report, err);
    tfr_runtime_release(runtime);
    if (!status && report->n_rows > 1 && report->rows[0].size < report->rows[n - 1].size) {
        add_slope(report, "tfr_binding_run", "binding");
        add_slope(report, "tfr_session_run", "session");
        add_slope(report, "indirect calls", "call");
        add_slope(report, "onnxruntime", "onnxruntime");
    }
    return status;
}
