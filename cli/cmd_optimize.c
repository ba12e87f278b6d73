/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_optimize.c: `tfrun optimize`: applies the graph passes to a model and writes the result, for
 * tfrun or any other runtime. With --check both are run and compared first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tfrun/fail.h>
#include <tfrun/onnx.h>

#include "commands.h"
#include "json.h"
#include "model.h"
#include "optimize_check.h"
#include "placement.h"
#include "text.h"

enum { MOST_PASSES = 32 };

typedef struct job {
    const cli_args *args;
    tfr_runtime *runtime;
    cli_model model; /* its inputs are for --check */
    tfr_graph *result;
    cli_comparison comparison;
    struct {
        char name[24], text[96];
        tfr_pass pass;
    } passes[MOST_PASSES];
    uint32_t n_passes;
} job;

/* ---- passes ---------------------------------------------------------------------------------- */

/* The texts go with the report. */
static void note_pass(void *user, const tfr_pass *pass)
{
    job *j = user;
    if (j->n_passes == MOST_PASSES)
        return;
    snprintf(j->passes[j->n_passes].name, sizeof j->passes[0].name, "%s", pass->name);
    snprintf(j->passes[j->n_passes].text, sizeof j->passes[0].text, "%s", pass->text);
    j->passes[j->n_passes++].pass = *pass;
}

static tfr_status fold_shapes(const job *j, tfr_err *err)
{
    for (uint32_t k = 0; k < j->args->fold_shapes.n; k++) {
        const char *rest;
        uint32_t i;
        tfr_shape shape;
        tfr_status status =
            cli_model_split(j->model.graph, false, j->args->fold_shapes.items[k], &i, &rest, err);
        if (!status)
            status = cli_parse_dims("fold-shapes", cli_model_input_name(j->model.graph, i), rest,
                                    &shape, err);
        if (!status)
            status = tfr_graph_set_input_shape(j->model.graph, i, &shape, err);
        if (status)
            return status;
    }
    return TFR_OK;
}

static tfr_status optimize(job *j, tfr_err *err)
{
    tfr_optimize_options options = TFR_OPTIMIZE_OPTIONS_INIT;
    tfr_status status;
    options.opset = (int32_t)j->args->opset;
    options.passes = j->args->passes;
    options.report = note_pass;
    options.user = j;
    status = cli_model_open(j->args, j->args->words[0], &j->model, err);
    if (!status)
        status = fold_shapes(j, err);
    if (!status && j->args->check)
        status = cli_model_fill(j->args, true, &j->model, err);
    if (!status)
        status = cli_open_runtime(j->args, &j->runtime, err);
    return status ? status
                  : tfr_graph_optimize(j->model.graph, j->runtime, &options, &j->result, err);
}

/* ---- results --------------------------------------------------------------------------------- */

static void print_passes(const job *j)
{
    const char *title = "passes";
    for (uint32_t i = 0; i < j->n_passes; i++) {
        if (!j->passes[i].pass.n_changes)
            continue;
        cli_line(stdout, "%-10s %s: %s; %d fewer", title, j->passes[i].name, j->passes[i].text,
                 (int)j->passes[i].pass.nodes_removed);
        title = "";
    }
    if (*title)
        printf("passes     nothing changed\n");
}

static void print_comparison(const job *j)
{
    const cli_comparison *c = &j->comparison;
    if (!j->args->check)
        return;
    if (*c->text)
        cli_line(stdout, "check      %s", c->text);
    else
        cli_line(stdout, "check      %u outputs agree, the greatest error is %.3g",
                 (unsigned)c->n_outputs, c->max_abs_error);
}

static tfr_status show(const job *j, tfr_err *err)
{
    uint32_t before = tfr_graph_n_nodes(j->model.graph), after = tfr_graph_n_nodes(j->result);
    json_t *object, *rows;
    if (!j->args->json) {
        print_passes(j);
        print_comparison(j);
        printf("nodes      %u, %u before\n", (unsigned)after, (unsigned)before);
        return TFR_OK;
    }
    object = cli_json_start("optimize");
    rows = json_array();
    for (uint32_t i = 0; i < j->n_passes; i++) {
        tfr_pass pass = j->passes[i].pass;
        pass.name = j->passes[i].name;
        pass.text = j->passes[i].text;
        cli_json_append(rows, cli_json_pass(&pass));
    }
    cli_json_set(object, "model", cli_json_text(j->args->words[0]));
    cli_json_set(object, "result", cli_json_text(j->args->words[1]));
    cli_json_set(object, "nodes_before", cli_json_int(before));
    cli_json_set(object, "nodes", cli_json_int(after));
    cli_json_set(object, "passes", rows);
    if (j->args->check) {
        cli_json_set(object, "check", json_string(j->comparison.differs ? "failed" : "passed"));
        cli_json_set(object, "reason",
                     cli_json_text(*j->comparison.text ? j->comparison.text : NULL));
        cli_json_set(object, "max_abs_error", cli_json_real(j->comparison.max_abs_error));
    }
    return cli_json_print(object, err);
}

/* ---- the command ----------------------------------------------------------------------------- */

/* What differs is not written: OUT may be IN. */
static tfr_status finish(job *j, tfr_err *err)
{
    tfr_status status = TFR_OK;
    if (j->args->check)
        status = cli_optimize_check(j->args, j->runtime, &j->model, j->result, &j->comparison, err);
    if (!status && !j->comparison.differs)
        status = tfr_onnx_save(j->result, j->args->words[1], NULL, err);
    return status ? status : show(j, err);
}

static int optimize_run(const cli_args *args)
{
    tfr_err err = TFR_ERR_INIT;
    job j = {.args = args};
    tfr_status status = optimize(&j, &err);
    int result;
    if (!status)
        status = finish(&j, &err);
    result = status                 ? cli_fail(args, &err)
             : j.comparison.differs ? CLI_EXIT_DIFFERS
                                    : CLI_EXIT_DONE;
    tfr_graph_release(j.result);
    cli_model_finish(&j.model);
    tfr_runtime_release(j.runtime);
    return result;
}

static const cli_option optimize_options[] = {
    {0, "passes", "LIST", CLI_TEXT, CLI_FIELD(passes), "all|none", 0, 0,
     "what may change the graph: all, none, fold,cse for those, -cse for all but that; default is "
     "all but decompose"},
    {0, "opset", "N", CLI_NUMBER, CLI_FIELD(opset), "none", 1, 1000,
     "introduce only ops that this opset of ONNX has; default is 21"},
    {0, "fold-shapes", "NAME=DIMS", CLI_LIST, CLI_FIELD(fold_shapes), "none", 0, 0,
     "fix the shape of an input in the model, for example x=1,3,224,224"},
    {0, "check", NULL, CLI_FLAG, CLI_FIELD(check), "none", 0, 0,
     "run both models on the same inputs, and write nothing if the outputs differ"},
    CLI_OPTION_RTOL,
    {0, "atol", "A", CLI_REAL, CLI_FIELD(check_atol), "none", 0, 1e30,
     "absolute tolerance; default is 1e-6 of an output's greatest magnitude"},
    CLI_OPTION_INPUT,
    CLI_OPTION_RANDOM,
    CLI_OPTION_SHAPE,
    CLI_OPTION_DEVICE,
    CLI_OPTION_BACKEND,
    CLI_OPTION_END};

const cli_command cli_optimize = {
    .name = "optimize",
    .words = "IN OUT",
    .least_words = 2,
    .most_words = 2,
    .word_values = "file",
    .summary = "Simplify an ONNX model, for any runtime",
    .text = "Computes constants, merges BatchNormalization into Conv, recognises composite\n"
            "ops and removes nodes without effect. The result is standard ONNX, of opset 21\n"
            "or what its ops need; open shapes stay open. OUT may be IN. For --check, inputs\n"
            "that are not given are made up, and an output passes if everywhere\n"
            "|obtained - expected| <= A + R * |expected|.",
    .log_level = TFR_LOG_WARNING,
    .options = optimize_options,
    .run = optimize_run,
};
