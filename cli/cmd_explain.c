/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_explain.c: `tfrun explain`: plans a model and says where each node would run and why, and
 * what the plan costs. The model runs only if it cannot be planned as a whole before.
 */
#include <stdio.h>
#include <stdlib.h>

#include <tfrun/fail.h>

#include "commands.h"
#include "model.h"
#include "placement.h"
#include "text.h"

static void print_inputs(const cli_model *model)
{
    for (uint32_t i = 0; i < model->n_inputs; i++) {
        char text[200];
        cli_line(stdout, "input            %s: %s%s", cli_model_input_name(model->graph, i),
                 cli_format_tensor(model->inputs[i], text, sizeof text),
                 model->is_random[i] ? ", made up" : "");
    }
}

static json_t *inputs_json(const cli_model *model)
{
    json_t *rows = json_array();
    for (uint32_t i = 0; i < model->n_inputs; i++) {
        json_t *row = json_object();
        cli_json_set(row, "name", cli_json_text(cli_model_input_name(model->graph, i)));
        cli_json_set_tensor(row, model->inputs[i]);
        cli_json_set(row, "made_up", json_boolean(model->is_random[i]));
        cli_json_append(rows, row);
    }
    return rows;
}

static tfr_status print_math_mode(const cli_args *args, const tfr_session *session, tfr_err *err)
{
    tfr_session_stats s = {.size = sizeof s};
    tfr_status status = tfr_session_get_stats(session, &s, err);
    if (!status)
        printf("math mode        %s: %u of %u nodes are computed in it, the others strictly\n",
               args->math_mode, (unsigned)s.n_math_mode, (unsigned)s.n_nodes);
    return status;
}

static tfr_status show(const cli_args *args, const cli_model *model, const tfr_session *session,
                       tfr_err *err)
{
    tfr_status status;
    if (args->json) {
        json_t *object = cli_json_start("explain");
        cli_json_set(object, "model", cli_json_text(args->words[0]));
        cli_json_set(object, "inputs", inputs_json(model));
        cli_json_set(object, "passes", cli_json_passes(session));
        cli_json_set(object, "nodes", cli_json_placements(session));
        cli_json_set(object, "programs", cli_json_programs(session));
        cli_json_set(object, "stats", cli_json_stats(session));
        return cli_json_print(object, err);
    }
    status = cli_print_placements(session, err);
    if (status)
        return status;
    printf("\n");
    print_inputs(model);
    cli_print_passes(session);
    cli_print_programs(session);
    status = cli_print_stats(session, err);
    if (!status && args->math_mode)
        status = print_math_mode(args, session, err);
    return status;
}

/*
 * Plans the model. What stands behind a value that decides shapes and that only a run tells, and
 * the bodies of control flow, are planned by running it once.
 */
static tfr_status plan(const cli_model *model, tfr_session *session, tfr_err *err)
{
    const uint32_t n = tfr_graph_n_outputs(model->graph);
    tfr_session_stats stats = {.size = sizeof stats};
    tfr_tensor **outputs;
    tfr_status status = tfr_session_prepare(session, model->inputs, model->n_inputs, err);
    if (!status)
        status = tfr_session_get_stats(session, &stats, err);
    if (status || !stats.n_unplanned)
        return status;
    outputs = calloc((size_t)n + 1, sizeof *outputs);
    if (!outputs)
        return tfr_fail(err, TFR_ENOMEM, "no memory for the results");
    status = tfr_session_run(session, model->inputs, model->n_inputs, outputs, n, err);
    for (uint32_t i = 0; i < n; i++)
        tfr_tensor_release(outputs[i]);
    free(outputs);
    return status;
}

static tfr_status explain(const cli_args *args, const cli_model *model, tfr_runtime *runtime,
                          tfr_err *err)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session;
    tfr_status status, shown = TFR_OK;
    options.device = args->device;
    options.passes = args->passes;
    options.math_mode = args->math_mode;
    options.deterministic = args->deterministic;
    /* The table tells of fallbacks; warnings would tell it twice. */
    options.fallback = args->fallback ? args->fallback : TFR_FALLBACK_ALLOW;
    options.no_programs = args->programs == 2;
    options.no_capture = args->capture == 2;
    status = tfr_session_create(runtime, model->graph, &options, &session, err);
    if (status)
        return status;
    status = plan(model, session, err);
    if (!status || tfr_session_n_placements(session)) /* a run that fails has planned some */
        shown = show(args, model, session, status ? NULL : err);
    tfr_session_destroy(session);
    return status ? status : shown;
}

static int explain_run(const cli_args *args)
{
    tfr_err err = TFR_ERR_INIT;
    cli_model model;
    tfr_runtime *runtime = NULL;
    tfr_status status = cli_model_load(args, args->words[0], true, &model, &err);
    if (!status)
        status = cli_open_runtime(args, &runtime, &err);
    if (!status)
        status = explain(args, &model, runtime, &err);
    tfr_runtime_release(runtime);
    cli_model_finish(&model);
    return status ? cli_fail(args, &err) : CLI_EXIT_DONE;
}

static const cli_option explain_options[] = {
    CLI_OPTION_DEVICE,  CLI_OPTION_BACKEND, CLI_OPTION_FALLBACK,  CLI_OPTION_PROGRAMS,
    CLI_OPTION_CAPTURE, CLI_OPTION_PASSES,  CLI_OPTION_MATH_MODE, CLI_OPTION_DETERMINISTIC,
    CLI_OPTION_INPUT,   CLI_OPTION_CAST,    CLI_OPTION_RANDOM,    CLI_OPTION_DIM,
    CLI_OPTION_SHAPE,   CLI_OPTION_END};

const cli_command cli_explain = {
    .name = "explain",
    .words = "MODEL",
    .least_words = 1,
    .most_words = 1,
    .word_values = "file",
    .summary = "Say where each node of a model runs and why, and what the plan costs",
    .text = "Inputs that are not given are made up, as with run --random-inputs=0. The table\n"
            "has the nodes that passes left of the model; what each pass did stands below it.\n"
            "A model with control flow, or with shapes that only a run tells, is run once and\n"
            "has several plans; each node has the number of its own.\n"
            "A time is what was measured in earlier runs, or an estimate if it has a tilde.\n"
            "The arena is the memory for what nodes pass on; the lower bound is what lives at\n"
            "once at the worst step.",
    .log_level = TFR_LOG_WARNING,
    .options = explain_options,
    .run = explain_run,
};
