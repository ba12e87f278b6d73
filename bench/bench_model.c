/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_model.c: one model on one set of inputs, ours with everything bound against ONNX Runtime
 * with everything bound; plan time and memory beside it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tfrun/fail.h>
#include <tfrun/onnx.h>
#include <tfrun/trace.h>

#include "contest.h"
#include "peer.h"
#include "product.h"

typedef struct subject {
    tfr_session *session;
    tfr_binding *binding; /* NULL = this graph cannot be bound, and runs through the session */
    tfr_tensor *const *inputs;
    tfr_tensor **outputs;
    uint32_t n_inputs, n_outputs;
} subject;

static tfr_status run_bound(void *user, tfr_err *err)
{
    subject *s = user;
    return tfr_binding_run(s->binding, err);
}

static tfr_status run_session(void *user, tfr_err *err)
{
    subject *s = user;
    tfr_tensor **fresh = calloc(s->n_outputs + 1u, sizeof *fresh);
    tfr_status status =
        fresh ? tfr_session_run(s->session, s->inputs, s->n_inputs, fresh, s->n_outputs, err)
              : tfr_fail(err, TFR_ENOMEM, "no memory for %u outputs", s->n_outputs);
    for (uint32_t i = 0; fresh && i < s->n_outputs; i++)
        tfr_tensor_release(fresh[i]);
    free(fresh);
    return status;
}

/* The tensors of the first run become those of the binding, cleared in between, so that a binding
 * which writes nothing is noticed by whoever compares. */
static tfr_status bind(subject *s, char *note, size_t capacity, tfr_err *err)
{
    tfr_status status;
    for (uint32_t i = 0; i < s->n_outputs; i++)
        if (tfr_tensor_kind(s->outputs[i]) == TFR_KIND_TENSOR &&
            tfr_tensor_dtype(s->outputs[i]) != TFR_DTYPE_STRING &&
            tfr_tensor_is_plain(s->outputs[i]))
            memset(tfr_tensor_data(s->outputs[i]), 0, tfr_tensor_bytes(s->outputs[i]));
    status = tfr_binding_create(s->session, s->inputs, s->n_inputs, s->outputs, s->n_outputs,
                                &s->binding, err);
    if (status == TFR_EUNSUPPORTED) {
        snprintf(note, capacity, "tfr_session_run, for it cannot be bound: %s", err->text);
        for (uint32_t i = 0; i < s->n_outputs; i++) {
            tfr_tensor_release(s->outputs[i]);
            s->outputs[i] = NULL;
        }
        return tfr_session_run(s->session, s->inputs, s->n_inputs, s->outputs, s->n_outputs, err);
    }
    return status ? status : tfr_binding_run(s->binding, err);
}

static tfr_status prepare(subject *s, const bench_options *options, tfr_graph *graph,
                          double *plan_seconds, char *note, size_t capacity, tfr_err *err)
{
    tfr_session_options session_options = TFR_SESSION_OPTIONS_INIT;
    tfr_status status;
    double began;
    s->n_outputs = tfr_graph_n_outputs(graph);
    s->outputs = calloc(s->n_outputs + 1u, sizeof *s->outputs);
    if (!s->outputs)
        return tfr_fail(err, TFR_ENOMEM, "no memory for %u outputs", s->n_outputs);
    session_options.device = options->device;
    session_options.math_mode = options->math_mode;
    session_options.timeout_ns = options->timeout_ns;
    status = tfr_session_create(options->runtime, graph, &session_options, &s->session, err);
    began = bench_now();
    if (!status)
        status = tfr_session_prepare(s->session, s->inputs, s->n_inputs, err);
    *plan_seconds = bench_now() - began;
    if (!status)
        status = tfr_session_run(s->session, s->inputs, s->n_inputs, s->outputs, s->n_outputs, err);
    return status ? status : bind(s, note, capacity, err);
}

/* From the file to a session with a plan, as a process that runs the model does it. */
static double time_ready(const bench_options *options, const char *path, const subject *s)
{
    tfr_session_options session_options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    tfr_graph *graph = NULL;
    double began = bench_now(), seconds = NAN;
    session_options.device = options->device;
    session_options.math_mode = options->math_mode;
    session_options.timeout_ns = options->timeout_ns;
    if (!tfr_onnx_load(path, &graph, NULL) &&
        !tfr_session_create(options->runtime, graph, &session_options, &session, NULL) &&
        !tfr_session_prepare(session, s->inputs, s->n_inputs, NULL))
        seconds = bench_now() - began;
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    return seconds;
}

/* Operations of one run, as tfrun estimates them for the shapes; 0 = not known. All contenders are
 * given the same number, whatever they leave out. */
static double count_flops(subject *s)
{
    tfr_trace_event event = {.size = sizeof event};
    double flops = 0;
    if (tfr_trace_start(s->session, 0, NULL))
        return 0;
    if (run_session(s, NULL))
        flops = NAN;
    tfr_trace_stop(s->session);
    for (uint32_t i = 0; i < tfr_trace_count(s->session, NULL); i++)
        if (!tfr_trace_get(s->session, i, &event, NULL) &&
            (event.kind == TFR_TRACE_KERNEL || event.kind == TFR_TRACE_PROGRAM ||
             event.kind == TFR_TRACE_ENQUEUE))
            flops += (double)event.flops;
    return flops > 0 ? flops : 0;
}

static void add_figures(bench_report *report, bench_row *row, const subject *s, double plan_seconds,
                        double flops, double ready_seconds)
{
    tfr_session_stats stats = {.size = sizeof stats};
    tfr_err err = TFR_ERR_INIT;
    if (!row || tfr_session_get_stats(s->session, &stats, &err))
        return;
    bench_add_figure(report, row, "flops", "operations", "", flops);
    bench_add_figure(report, row, "plan_seconds", "plan", "s", plan_seconds);
    if (!isnan(ready_seconds))
        bench_add_figure(report, row, "ready_seconds", "ready", "s", ready_seconds);
    bench_add_figure(report, row, "arena_bytes", "arena", "B", (double)stats.arena_bytes);
    bench_add_figure(report, row, "arena_lower_bound", "lower bound", "B",
                     (double)stats.arena_lower_bound);
    if (stats.arena_lower_bound)
        bench_add_figure(report, row, "arena_ratio", "arena / bound", "",
                         (double)stats.arena_bytes / (double)stats.arena_lower_bound);
    bench_add_figure(report, row, "launches", "launches", "", stats.n_launches);
    bench_add_figure(report, row, "reorders", "reorders", "", stats.n_reorders);
    bench_add_figure(report, row, "copies", "copies", "", stats.n_copies);
}

static bool is_quantized(const tfr_graph *graph)
{
    tfr_node_view node = {.size = sizeof node};
    tfr_err err = TFR_ERR_INIT;
    for (uint32_t i = 0; i < tfr_graph_n_nodes(graph); i++)
        if (tfr_graph_node(graph, i, &node, &err) == TFR_OK && strstr(node.op, "QuantizeLinear"))
            return true;
    return false;
}

tfr_status bench_model(const bench_options *options, const char *path, tfr_graph *graph,
                       tfr_tensor *const *inputs, uint32_t n_inputs, int64_t batch,
                       bench_report *report, tfr_err *err)
{
    subject s = {.inputs = inputs, .n_inputs = n_inputs};
    bench_contest contest = {
        .options = options, .report = report, .quantized = is_quantized(graph)};
    const char *name = strrchr(path, '/');
    bench_contender *c;
    char who[48];
    double plan_seconds = NAN, ready_seconds = NAN, flops = 0;
    char note[160] = "everything bound";
    tfr_status status = prepare(&s, options, graph, &plan_seconds, note, sizeof note, err);
    report->error_is = "largest difference between its outputs and ours";
    if (!status) {
        flops = count_flops(&s);
        contest.row = bench_add_row(report, batch, "%s, batch %lld", name ? name + 1 : path,
                                    (long long)batch);
        c = bench_contest_add(&contest, bench_ours_name(options->math_mode, who, sizeof who));
        snprintf(c->note, sizeof c->note, "%s", note);
        c->run = s.binding ? run_bound : run_session;
        c->user = &s;
        c->ours = true;
        c->elsewhere = !bench_on_host(options->runtime, options->device);
        ready_seconds = time_ready(options, path, &s);
        bench_begin_peer("onnxruntime");
        bench_add_ort_model(&contest, path, graph, inputs, n_inputs, s.outputs, s.n_outputs);
        bench_begin_peer("openvino");
        bench_add_openvino_model(&contest, path, graph, inputs, n_inputs, s.outputs, s.n_outputs);
        bench_end_peer();
        for (uint32_t i = 0; i < contest.n; i++)
            contest.list[i].flops = flops;
        if (flops > 0)
            bench_add_fma_roof(&contest);
        status = bench_contest_run(&contest, err);
        add_figures(report, contest.row, &s, plan_seconds, flops, ready_seconds);
    }
    bench_contest_finish(&contest);
    tfr_binding_destroy(s.binding);
    for (uint32_t i = 0; s.outputs && i < s.n_outputs; i++)
        tfr_tensor_release(s.outputs[i]);
    free(s.outputs);
    tfr_session_destroy(s.session);
    return status;
}
