/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_profile.c: `tfrun profile`: where the time of a model's runs goes, against the roofs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tfrun/fail.h>

#include "commands.h"
#include "json.h"
#include "model.h"
#include "profile.h"
#include "table.h"
#include "trace_json.h"

#define DEFAULT_RUNS 20
#define WARM_UP_RUNS 2

typedef struct job {
    const cli_args *args;
    tfr_runtime *runtime;
    tfr_session *session;
    cli_model model;
    tfr_tensor **outputs;
    uint32_t n_outputs;
    int64_t n_runs;
    cli_profile_by by;
    bench_roofs roofs;
    cli_profile profile;
    tfr_session_stats stats;
} job;

/* ---- the runs -------------------------------------------------------------------------------- */

static uint32_t count_threads(const tfr_runtime *runtime)
{
    tfr_device_desc d = {.size = sizeof d};
    return tfr_runtime_n_devices(runtime) && !tfr_runtime_device(runtime, 0, &d, NULL) &&
                   d.n_threads
               ? d.n_threads
               : 1;
}

static tfr_status prepare(job *j, tfr_err *err)
{
    const cli_args *args = j->args;
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_status status = cli_model_load(args, args->words[0], true, &j->model, err);
    if (!status)
        status = cli_open_runtime(args, &j->runtime, err);
    if (status)
        return status;
    options.device = args->device;
    options.passes = args->passes;
    options.math_mode = args->math_mode;
    options.deterministic = args->deterministic;
    options.fallback = args->fallback;
    options.no_programs = args->programs == 2;
    j->n_runs = args->runs ? args->runs : DEFAULT_RUNS;
    j->by = args->by ? (cli_profile_by)args->by : CLI_BY_OP;
    j->n_outputs = tfr_graph_n_outputs(j->model.graph);
    j->outputs = calloc((size_t)j->n_outputs + 1, sizeof *j->outputs);
    if (!j->outputs)
        return tfr_fail(err, TFR_ENOMEM, "no memory for the results");
    return tfr_session_create(j->runtime, j->model.graph, &options, &j->session, err);
}

static tfr_status run_times(job *j, int64_t n, tfr_err *err)
{
    tfr_status status = TFR_OK;
    for (int64_t i = 0; !status && i < n; i++) {
        status = tfr_session_run(j->session, j->model.inputs, j->model.n_inputs, j->outputs,
                                 j->n_outputs, err);
        for (uint32_t k = 0; k < j->n_outputs; k++) {
            tfr_tensor_release(j->outputs[k]);
            j->outputs[k] = NULL;
        }
    }
    return status;
}

static tfr_status measure(job *j, tfr_err *err)
{
    double plan_seconds = 0;
    tfr_session_stats stats = {.size = sizeof stats};
    tfr_status status = tfr_session_prepare(j->session, j->model.inputs, j->model.n_inputs, err);
    /* What follows a value that decides shapes, and bodies of control flow, the first run plans. */
    for (int i = 0; !status && i <= WARM_UP_RUNS; i++) {
        status = tfr_session_get_stats(j->session, &stats, err);
        plan_seconds += (double)stats.plan_ns * 1e-9;
        if (!status && i < WARM_UP_RUNS)
            status = run_times(j, 1, err);
    }
    bench_roofs_measure(count_threads(j->runtime), &j->roofs);
    if (!status)
        status = tfr_trace_start(j->session, CLI_TRACE_EVENTS, err);
    if (!status)
        status = run_times(j, j->n_runs, err);
    if (!status)
        status = cli_trace_end(j->args, j->session, err);
    if (!status)
        status = cli_profile_make(j->session, j->by, &j->roofs, &j->profile, err);
    j->profile.plan_seconds += plan_seconds;
    if (!status)
        status = tfr_session_get_stats(j->session, &j->stats, err);
    return status;
}

/* ---- what is shown --------------------------------------------------------------------------- */

static double rate(double amount, double seconds)
{
    return amount > 0 && seconds > 0 ? amount / seconds : NAN;
}

/* A number, or a dash for one that is not known. */
static void add_number(cli_table *table, const char *format, double value)
{
    char text[32];
    snprintf(text, sizeof text, format, value);
    cli_table_add(table, "%s", isfinite(value) ? text : "-");
}

static tfr_status print_rows(const job *j, tfr_err *err)
{
    static const char *const names[] = {"OP", "NODE", "BACKEND"};
    const char *titles[] = {names[j->by - 1], "CALLS", "TOTAL", "MEAN",   "SHARE",
                            "GFLOP/S",        "GB/S",  "ROOF",  "BACKEND"};
    static const uint32_t flags[] = {0,         CLI_RIGHT, CLI_RIGHT, CLI_RIGHT, CLI_RIGHT,
                                     CLI_RIGHT, CLI_RIGHT, CLI_RIGHT, 0};
    cli_table *table = cli_table_create(j->by == CLI_BY_BACKEND ? 8 : 9, titles, flags);
    for (uint32_t i = 0; i < j->profile.n_rows; i++) {
        const cli_profile_row *row = &j->profile.rows[i];
        char text[32];
        if (j->by == CLI_BY_NODE && row->op[0])
            cli_table_add(table, "%s (%s)", row->name, row->op);
        else
            cli_table_add(table, "%s", row->name);
        cli_table_add(table, "%llu", (unsigned long long)row->calls);
        cli_table_add(table, "%s", cli_format_seconds(row->seconds, text, sizeof text));
        cli_table_add(table, "%s",
                      cli_format_seconds(row->seconds / (double)row->calls, text, sizeof text));
        add_number(table, "%.1f %%", 100 * row->seconds / j->profile.run_seconds);
        add_number(table, "%.1f", 1e-9 * rate(row->flops, row->seconds));
        add_number(table, "%.1f", 1e-9 * rate(row->bytes, row->seconds));
        add_number(table, "%.0f %%", 100 * cli_profile_roof_share(row));
        if (j->by != CLI_BY_BACKEND)
            cli_table_add(table, "%s", row->backend[0] ? row->backend : "-");
    }
    return cli_table_print(table, err);
}

static void print_part(const char *name, double seconds, double whole)
{
    char text[32];
    printf("%s: %s, %.1f %%\n", name, cli_format_seconds(seconds, text, sizeof text),
           100 * seconds / whole);
}

static void print_sums(const job *j)
{
    const cli_profile *p = &j->profile;
    const bench_roofs *r = &j->roofs;
    char total[32], mean[32], plan[32];
    printf("\n%llu runs: %s, mean %s; planned once in %s", (unsigned long long)p->n_runs,
           cli_format_seconds(p->run_seconds, total, sizeof total),
           cli_format_seconds(p->run_seconds / (double)p->n_runs, mean, sizeof mean),
           cli_format_seconds(p->plan_seconds, plan, sizeof plan));
    if (j->stats.n_plans > 1)
        printf(", %llu plans", (unsigned long long)j->stats.n_plans);
    printf("\n");
    print_part("outside of kernels", p->outside_seconds, p->run_seconds);
    if (p->wait_seconds > 0)
        print_part("waiting for queues", p->wait_seconds, p->run_seconds);
    printf("roofs of %u thread%s: %.0f GFLOP/s (%s, float32)", r->n_threads,
           r->n_threads == 1 ? "" : "s", 1e-9 * r->flops, r->kernel);
    for (uint32_t i = 0; i < BENCH_ROOF_LEVELS; i++)
        printf(", %s %.0f GB/s", r->levels[i].name, 1e-9 * r->levels[i].read);
    printf("\n");
}

static json_t *rows_json(const job *j)
{
    json_t *rows = json_array();
    for (uint32_t i = 0; i < j->profile.n_rows; i++) {
        const cli_profile_row *row = &j->profile.rows[i];
        double share = cli_profile_roof_share(row);
        json_t *o = json_object();
        cli_json_set(o, "name", cli_json_text(row->name));
        cli_json_set(o, "op", cli_json_text(row->op[0] ? row->op : NULL));
        cli_json_set(o, "backend", cli_json_text(row->backend[0] ? row->backend : NULL));
        cli_json_set(o, "kind", cli_json_text(row->kind));
        cli_json_set(o, "queue", json_boolean(row->queue));
        cli_json_set(o, "calls", cli_json_int(row->calls));
        cli_json_set(o, "seconds", cli_json_real(row->seconds));
        cli_json_set(o, "share", cli_json_real(row->seconds / j->profile.run_seconds));
        cli_json_set(o, "flops", cli_json_real(row->flops));
        cli_json_set(o, "bytes", cli_json_real(row->bytes));
        cli_json_set(o, "roof_share", isfinite(share) ? json_real(share) : json_null());
        cli_json_append(rows, o);
    }
    return rows;
}

static json_t *roofs_json(const bench_roofs *r)
{
    json_t *o = json_object(), *levels = json_object();
    cli_json_set(o, "threads", cli_json_int(r->n_threads));
    cli_json_set(o, "kernel", cli_json_text(r->kernel));
    cli_json_set(o, "flops_per_second", cli_json_real(r->flops));
    cli_json_set(o, "flops_per_second_of_one", cli_json_real(r->flops_one));
    for (uint32_t i = 0; i < BENCH_ROOF_LEVELS; i++)
        cli_json_set(levels, r->levels[i].name, cli_json_real(r->levels[i].read));
    cli_json_set(o, "bytes_per_second", levels);
    return o;
}

static tfr_status print_json(const job *j, tfr_err *err)
{
    static const char *const names[] = {"op", "node", "backend"};
    const cli_profile *p = &j->profile;
    json_t *object = cli_json_start("profile"), *seconds = json_object();
    cli_json_set(object, "model", cli_json_text(j->args->words[0]));
    cli_json_set(object, "by", cli_json_text(names[j->by - 1]));
    cli_json_set(object, "runs", cli_json_int(p->n_runs));
    cli_json_set(object, "plans", cli_json_int(j->stats.n_plans));
    cli_json_set(object, "rows", rows_json(j));
    cli_json_set(seconds, "runs", cli_json_real(p->run_seconds));
    cli_json_set(seconds, "plan", cli_json_real(p->plan_seconds));
    cli_json_set(seconds, "outside", cli_json_real(p->outside_seconds));
    cli_json_set(seconds, "wait", cli_json_real(p->wait_seconds));
    cli_json_set(object, "seconds", seconds);
    cli_json_set(object, "dropped_events", cli_json_int(p->n_dropped));
    cli_json_set(object, "roofs", roofs_json(&j->roofs));
    return cli_json_print(object, err);
}

static tfr_status show(const job *j, tfr_err *err)
{
    tfr_status status;
    if (j->args->json)
        return print_json(j, err);
    status = print_rows(j, err);
    if (!status)
        print_sums(j);
    return status;
}

static int profile_run(const cli_args *args)
{
    tfr_err err = TFR_ERR_INIT;
    job j = {.args = args, .stats = {.size = sizeof j.stats}};
    tfr_status status = prepare(&j, &err);
    if (!status)
        status = measure(&j, &err);
    if (!status)
        status = show(&j, &err);
    cli_profile_finish(&j.profile);
    free(j.outputs);
    tfr_session_destroy(j.session);
    tfr_runtime_release(j.runtime);
    cli_model_finish(&j.model);
    return status ? cli_fail(args, &err) : CLI_EXIT_DONE;
}

static const cli_option profile_options[] = {
    CLI_OPTION_INPUT,
    CLI_OPTION_CAST,
    CLI_OPTION_DEVICE,
    CLI_OPTION_BACKEND,
    CLI_OPTION_FALLBACK,
    CLI_OPTION_PROGRAMS,
    CLI_OPTION_PASSES,
    CLI_OPTION_MATH_MODE,
    CLI_OPTION_DETERMINISTIC,
    CLI_OPTION_RANDOM,
    CLI_OPTION_DIM,
    CLI_OPTION_SHAPE,
    {0, "runs", "N", CLI_NUMBER, CLI_FIELD(runs), "none", 1, 1e9,
     "measure N runs, after 2 that do not count; default 20"},
    {0, "by", "WHAT", CLI_CHOICE, CLI_FIELD(by), "op|node|backend", 0, 0,
     "add up by op, node or backend; default op"},
    CLI_OPTION_TRACE,
    CLI_OPTION_END};

const cli_command cli_profile_command = {
    .name = "profile",
    .words = "MODEL",
    .least_words = 1,
    .most_words = 1,
    .word_values = "file",
    .summary = "Say where the time of a model's runs goes, against what the processor can do",
    .text = "Inputs that are not given are made up, as with run --random-inputs=0. Flops and\n"
            "bytes are those of the direct formula with every operand moved once. ROOF is the\n"
            "higher of two shares: of the flops, and of the reading speed of the smallest\n"
            "cache that the operands fit into, both measured in the same process. Example:\n"
            "\n"
            "  tfrun profile model.onnx --by node --trace trace.json",
    .log_level = TFR_LOG_WARNING,
    .options = profile_options,
    .run = profile_run,
};
