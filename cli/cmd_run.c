/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_run.c: `tfrun run`: runs a model on tensors from files and puts its outputs into files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tfrun/fail.h>

#include "commands.h"
#include "guard.h"
#include "loop_state.h"
#include "model.h"
#include "output_files.h"
#include "placement.h"
#include "reference.h"
#include "table.h"
#include "timing.h"
#include "top.h"
#include "trace_json.h"
#include "values.h"

#define SHOWN_VALUES 6

/* Seconds on the reference that are worth a warning: first runs pay for cold memory, too. */
#define LEAST_COLD 1e-3
#define LEAST_WARM 20e-6

typedef struct job {
    const cli_args *args;
    tfr_runtime *runtime;
    tfr_session *session;
    cli_model model;
    cli_output_files files;
    cli_labels labels, *keys; /* keys: of each output */
    tfr_tensor **outputs;
    uint32_t n_outputs;
    double *seconds; /* of each run */
    int64_t n_runs;
    cli_loop_state *loops;
    uint32_t n_loops;
} job;

/* ---- results --------------------------------------------------------------------------------- */

/* What names the columns of output i: --labels, or its keys. */
static const cli_labels *labels_of(const job *j, uint32_t i)
{
    return j->labels.n ? &j->labels : &j->keys[i];
}

static void add_values(const job *j, cli_table *table, uint32_t i)
{
    char text[400];
    if (j->keys[i].n)
        cli_format_map(&j->keys[i], j->outputs[i], SHOWN_VALUES, text, sizeof text);
    else
        cli_format_values(j->outputs[i], SHOWN_VALUES, text, sizeof text);
    cli_table_add(table, "%s", text);
}

static tfr_status print_outputs(const job *j, tfr_err *err)
{
    static const char *const titles[] = {"OUTPUT", "TYPE", "FIRST VALUES", "FILE"};
    static const uint32_t flags[] = {0, 0, CLI_WRAP, 0};
    cli_table *table = cli_table_create(j->files.n ? 4 : 3, titles, flags);
    for (uint32_t i = 0; i < j->n_outputs; i++) {
        char text[400];
        const char *path = cli_output_files_path(&j->files, i);
        cli_table_add(table, "%s", tfr_graph_output_name(j->model.graph, i));
        cli_table_add(table, "%s", cli_format_tensor(j->outputs[i], text, sizeof text));
        add_values(j, table, i);
        if (j->files.n)
            cli_table_add(table, "%s", path ? path : "-");
    }
    return cli_table_print(table, err);
}

static void print_times(const job *j)
{
    char least[32], median[32], most[32];
    cli_times t = cli_times_of(j->seconds, (uint64_t)j->n_runs);
    printf("%lld runs: median %s, min %s, max %s\n", (long long)j->n_runs,
           cli_format_seconds(t.median, median, sizeof median),
           cli_format_seconds(t.least, least, sizeof least),
           cli_format_seconds(t.most, most, sizeof most));
}

static json_t *loops_json(const job *j)
{
    json_t *rows = json_array();
    for (uint32_t i = 0; i < j->n_loops; i++) {
        const cli_loop_state *loop = &j->loops[i];
        json_t *row = json_object();
        cli_json_set(row, "output",
                     cli_json_text(tfr_graph_output_name(j->model.graph, loop->output)));
        cli_json_set(row, "input",
                     cli_json_text(cli_model_input_name(j->model.graph, loop->input)));
        cli_json_set(row, "appended", json_integer(loop->n_appended));
        cli_json_set(row, "copied_bytes", cli_json_int(loop->copied_bytes));
        cli_json_append(rows, row);
    }
    return rows;
}

static tfr_status print_json(const job *j, tfr_err *err)
{
    cli_times t = cli_times_of(j->seconds, (uint64_t)j->n_runs);
    json_t *object = cli_json_start("run"), *rows = json_array(), *times = json_object();
    for (uint32_t i = 0; i < j->n_outputs; i++) {
        json_t *row = json_object();
        cli_json_set(row, "name", cli_json_text(tfr_graph_output_name(j->model.graph, i)));
        cli_json_set_tensor(row, j->outputs[i]);
        cli_json_set(row, "first_values", cli_json_values(j->outputs[i], SHOWN_VALUES));
        if (j->keys[i].n) {
            json_t *keys = json_array();
            for (int64_t k = 0; k < j->keys[i].n; k++)
                cli_json_append(keys, cli_json_text(j->keys[i].items[k]));
            cli_json_set(row, "keys", keys);
        }
        if (j->args->top)
            cli_json_set(row, "top", cli_top_json(j->args, labels_of(j, i), j->outputs[i]));
        cli_json_set(row, "file", cli_json_text(cli_output_files_path(&j->files, i)));
        cli_json_append(rows, row);
    }
    cli_json_set(times, "runs", json_integer(j->n_runs));
    cli_json_set(times, "median", cli_json_real(t.median));
    cli_json_set(times, "min", cli_json_real(t.least));
    cli_json_set(times, "max", cli_json_real(t.most));
    cli_json_set(object, "model", cli_json_text(j->args->words[0]));
    cli_json_set(object, "outputs", rows);
    cli_json_set(object, "seconds", times);
    if (j->n_loops)
        cli_json_set(object, "loop_states", loops_json(j));
    cli_json_set(object, "nodes", cli_json_placements(j->session));
    cli_json_set(object, "stats", cli_json_stats(j->session));
    return cli_json_print(object, err);
}

/* ---- what a run leaves to the next one ------------------------------------------------------ */

/* The input that OUTPUT=INPUT names, of those that no other has. */
static tfr_status find_input(const job *j, const char *name, uint32_t *input, tfr_err *err)
{
    const tfr_graph *graph = j->model.graph;
    for (uint32_t i = 0; i < tfr_graph_n_inputs(graph); i++) {
        if (strcmp(name, cli_model_input_name(graph, i)) != 0)
            continue;
        for (uint32_t k = 0; k < j->n_loops; k++)
            if (j->loops[k].input == i)
                return tfr_fail(err, TFR_EINVAL,
                                "--loop-state gives input \"%s\" two values, those of outputs "
                                "\"%s\" and \"%s\"",
                                name, tfr_graph_output_name(graph, j->loops[k].output),
                                tfr_graph_output_name(graph, j->loops[j->n_loops].output));
        *input = i;
        return TFR_OK;
    }
    return tfr_fail(err, TFR_EINVAL,
                    "--loop-state: the model has no input \"%s\"; `tfrun inspect %s` lists them",
                    name, j->args->words[0]);
}

static tfr_status find_loops(job *j, tfr_err *err)
{
    const cli_list *given = &j->args->loop_states;
    tfr_status status = TFR_OK;
    j->loops = calloc((size_t)given->n + 1, sizeof *j->loops);
    if (!j->loops)
        return tfr_fail(err, TFR_ENOMEM, "no memory for the results");
    for (; !status && j->n_loops < given->n; j->n_loops += !status) {
        cli_loop_state *loop = &j->loops[j->n_loops];
        const char *word = given->items[j->n_loops], *name;
        if (!strchr(word, '='))
            return tfr_fail(err, TFR_EINVAL, "--loop-state %s: write OUTPUT=INPUT", word);
        status = cli_model_split(j->model.graph, true, word, &loop->output, &name, err);
        if (!status)
            status = find_input(j, name, &loop->input, err);
    }
    return status;
}

/* The next run reads what the last one has made. */
static tfr_status pass_on(job *j, tfr_err *err)
{
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; !status && i < j->n_loops; i++) {
        cli_loop_state *loop = &j->loops[i];
        if (j->outputs[loop->output])
            status = cli_loop_state_pass(loop, j->outputs[loop->output],
                                         &j->model.inputs[loop->input], err);
    }
    return status;
}

/* Two outputs of one value, or two states of one input, are passed on as they are made. */
static void allow_appending(job *j)
{
    for (uint32_t i = 0; i < j->n_loops; i++)
        j->loops[i].plain =
            tfr_session_append(j->session, j->loops[i].output, j->loops[i].input, NULL) != TFR_OK;
}

/* ---- the run --------------------------------------------------------------------------------- */

static tfr_status prepare(job *j, tfr_err *err)
{
    const cli_args *args = j->args;
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_status status = cli_labels_load(args, &j->labels, err);
    if (!status)
        status = cli_model_load(args, args->words[0], false, &j->model, err);
    if (!status)
        status = find_loops(j, err);
    if (!status)
        status = cli_output_files_init(args, j->model.graph, &j->files, err);
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
    options.no_capture = args->capture == 2;
    options.log_placement = args->log_placement;
    options.timeout_ns = (uint64_t)(args->time_limit * 1e9);
    j->n_runs = args->runs ? args->runs : 1;
    j->n_outputs = tfr_graph_n_outputs(j->model.graph);
    j->outputs = calloc((size_t)j->n_outputs + 1, sizeof *j->outputs);
    j->seconds = calloc((size_t)j->n_runs, sizeof *j->seconds);
    j->keys = calloc((size_t)j->n_outputs + 1, sizeof *j->keys);
    if (!j->outputs || !j->seconds || !j->keys)
        return tfr_fail(err, TFR_ENOMEM, "no memory for the results");
    for (uint32_t i = 0; !status && i < j->n_outputs; i++)
        status = cli_labels_of_output(j->model.graph, i, &j->keys[i], err);
    if (status)
        return status;
    status = tfr_session_create(j->runtime, j->model.graph, &options, &j->session, err);
    if (!status)
        allow_appending(j);
    return status;
}

static void release_outputs(job *j)
{
    for (uint32_t i = 0; j->outputs && i < j->n_outputs; i++) {
        tfr_tensor_release(j->outputs[i]);
        j->outputs[i] = NULL;
    }
}

static tfr_status run_once(job *j, double *seconds, tfr_err *err)
{
    double began = cli_now();
    tfr_status status;
    cli_watch_limit(j->args, true);
    status = pass_on(j, err);
    release_outputs(j);
    if (!status)
        status = tfr_session_run(j->session, j->model.inputs, j->model.n_inputs, j->outputs,
                                 j->n_outputs, err);
    *seconds = cli_now() - began;
    for (uint32_t i = 0; !status && i < j->n_loops; i++)
        j->loops[i].n_appended += cli_loop_state_appended(
            &j->loops[i], j->outputs[j->loops[i].output], j->model.inputs[j->loops[i].input]);
    return status;
}

/* Without --trace, the last run is traced if the reference may be what holds the model up. */
static tfr_status run_all(job *j, tfr_err *err)
{
    const bool trace = j->args->trace != NULL;
    const bool watch = cli_reference_may_matter(j->args, j->runtime, j->session);
    tfr_status status = TFR_OK;
    for (int64_t i = 0; !status && i < j->n_runs; i++) {
        if (!trace && watch && i == j->n_runs - 1)
            status = tfr_trace_start(j->session, CLI_TRACE_EVENTS, err);
        if (!status)
            status = run_once(j, &j->seconds[i], err);
    }
    cli_watch_limit(NULL, false);
    if (!status && trace)
        status = cli_trace_end(j->args, j->session, err);
    else
        tfr_trace_stop(j->session);
    if (!status && watch)
        cli_reference_tell(j->args, j->session, j->n_runs > 1 ? LEAST_WARM : LEAST_COLD);
    return status;
}

static tfr_status run(job *j, tfr_err *err)
{
    tfr_status status = TFR_OK;
    cli_watch_limit(j->args, true);
    if (j->args->trace)
        status = tfr_trace_start(j->session, CLI_TRACE_EVENTS, err);
    if (!status)
        status = tfr_session_prepare(j->session, j->model.inputs, j->model.n_inputs, err);
    if (!status)
        status = run_all(j, err);
    if (!status)
        status = cli_output_files_save(&j->files, j->model.graph, j->outputs, err);
    return status;
}

static tfr_status show(const job *j, tfr_err *err)
{
    tfr_status status;
    if (j->args->json)
        return print_json(j, err);
    status = print_outputs(j, err);
    for (uint32_t i = 0; !status && j->args->top && i < j->n_outputs; i++)
        status = cli_top_print(j->args, labels_of(j, i), tfr_graph_output_name(j->model.graph, i),
                               j->outputs[i], err);
    if (!status && j->n_runs > 1)
        print_times(j);
    return status;
}

static int run_run(const cli_args *args)
{
    tfr_err err = TFR_ERR_INIT;
    job j = {.args = args};
    if (args->labels && !args->top)
        return cli_usage(args, "--labels names what --top shows; give --top, too");
    if (args->loop_states.n && args->runs < 2)
        return cli_usage(args, "--loop-state passes on from run to run; give --runs, too");
    tfr_status status = prepare(&j, &err);
    if (!status)
        status = run(&j, &err);
    if (!status)
        status = show(&j, &err);
    release_outputs(&j);
    for (uint32_t i = 0; j.keys && i < j.n_outputs; i++)
        cli_labels_finish(&j.keys[i]);
    free(j.keys);
    free(j.outputs);
    free(j.seconds);
    free(j.loops);
    tfr_session_destroy(j.session);
    tfr_runtime_release(j.runtime);
    cli_output_files_finish(&j.files);
    cli_labels_finish(&j.labels);
    cli_model_finish(&j.model);
    return status ? cli_fail(args, &err) : CLI_EXIT_DONE;
}

static const cli_option run_options[] = {
    CLI_OPTION_INPUT,
    CLI_OPTION_CAST,
    CLI_OPTION_IMAGES,
    {'o', "output", "NAME=FILE", CLI_LIST, CLI_FIELD(outputs), "file", 0, 0,
     "write this output to a .npy or .pb file; NAME= may go when there is one output"},
    {0, "top", "K", CLI_NUMBER, CLI_FIELD(top), "none", 1, 1000,
     "print the K largest values along the last dim of each output, with their indices"},
    {0, "labels", "FILE", CLI_TEXT, CLI_FIELD(labels), "file", 0, 0,
     "names for the indices of --top, one a line"},
    CLI_OPTION_DEVICE,
    CLI_OPTION_BACKEND,
    CLI_OPTION_FALLBACK,
    CLI_OPTION_PASSES,
    CLI_OPTION_MATH_MODE,
    CLI_OPTION_DETERMINISTIC,
    CLI_OPTION_PROGRAMS,
    CLI_OPTION_CAPTURE,
    {0, "log-device-placement", NULL, CLI_FLAG, CLI_FIELD(log_placement), "none", 0, 0,
     "say where each node runs, and why there"},
    CLI_OPTION_RANDOM,
    CLI_OPTION_DIM,
    CLI_OPTION_SHAPE,
    {0, "runs", "N", CLI_NUMBER, CLI_FIELD(runs), "none", 1, 1e9,
     "run N times, plan apart, and print the times"},
    {0, "loop-state", "OUTPUT=INPUT", CLI_LIST, CLI_FIELD(loop_states), "none", 0, 0,
     "with --runs: from the second run on the input is what the run before gave as this output"},
    CLI_OPTION_TIMEOUT,
    CLI_OPTION_TRACE,
    CLI_OPTION_END};

const cli_command cli_run = {
    .name = "run",
    .words = "MODEL",
    .least_words = 1,
    .most_words = 1,
    .word_values = "file",
    .summary = "Run an ONNX model",
    .text = "Prints the outputs' types and first values. Files of outputs are written all or\n"
            "not at all. Example:\n"
            "\n"
            "  tfrun run model.onnx --input x=x.npy --output y=y.npy --log-device-placement",
    .log_level = TFR_LOG_WARNING,
    .options = run_options,
    .run = run_run,
};
