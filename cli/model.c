/* SPDX-License-Identifier: Apache-2.0 */
/* model.c: see model.h. */
#include "model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tfrun/fail.h>
#include <tfrun/onnx.h>
#include <tfrun/op.h>

#include "dims.h"
#include "input_file.h"
#include "made_up.h"
#include "suggest.h"
#include "text.h"

/* ---- names ----------------------------------------------------------------------------------- */

const char *cli_model_input_name(const tfr_graph *graph, uint32_t i)
{
    return tfr_graph_value_name(graph, tfr_graph_input(graph, i));
}

static const char *input_name(const void *user, uint32_t i)
{
    return cli_model_input_name(user, i);
}

static const char *output_name(const void *user, uint32_t i)
{
    return tfr_graph_output_name(user, i);
}

tfr_status cli_model_split(const tfr_graph *graph, bool output, const char *word, uint32_t *number,
                           const char **rest, tfr_err *err)
{
    const char *what = output ? "output" : "input", *equal = strchr(word, '=');
    cli_name_fn name = output ? output_name : input_name;
    uint32_t n = output ? tfr_graph_n_outputs(graph) : tfr_graph_n_inputs(graph);
    char list[300], hint[128], given[96];
    if (!equal && n == 1) {
        *number = 0;
        *rest = word;
        return TFR_OK;
    }
    /* Names of values may hold a '=' themselves. */
    for (uint32_t i = 0; i < n; i++) {
        size_t bytes = strlen(name(graph, i));
        if (strncmp(word, name(graph, i), bytes) == 0 && word[bytes] == '=') {
            *number = i;
            *rest = word + bytes + 1;
            return TFR_OK;
        }
    }
    if (!equal)
        return tfr_fail(err, TFR_EINVAL, "--%s %s names no %s, write NAME=%s; %ss are %s", what,
                        word, what, word, what, cli_join(name, graph, n, list, sizeof list));
    snprintf(given, sizeof given, "%.*s", (int)(equal - word), word);
    return tfr_fail(err, TFR_EINVAL, "the model has no %s \"%s\"%s %ss are %s", what, given,
                    *cli_did_you_mean(given, name, graph, n, hint, sizeof hint) ? hint : ";", what,
                    n ? cli_join(name, graph, n, list, sizeof list) : "none");
}

/* ---- shapes ---------------------------------------------------------------------------------- */

tfr_status cli_parse_dims(const char *option, const char *name, const char *text, tfr_shape *out,
                          tfr_err *err)
{
    int64_t dims[TFR_MAX_RANK];
    int32_t rank = 0;
    const char *at = text;
    while (*at) {
        char *end;
        long long value;
        if (rank == TFR_MAX_RANK)
            return tfr_fail(err, TFR_ESHAPE, "--%s %s=%s has more than %d dims", option, name, text,
                            TFR_MAX_RANK);
        errno = 0;
        value = strtoll(at, &end, 10);
        if (errno || end == at || value < 0 || (*end && *end != ',' && *end != 'x') ||
            (*end && !end[1]))
            return tfr_fail(err, TFR_ESHAPE,
                            "--%s %s=%s is no list of dims, write it like 1,3,224,224", option,
                            name, text);
        dims[rank++] = value;
        at = end + (*end != 0);
    }
    return tfr_shape_make(rank, dims, out, err);
}

/* ---- inputs ---------------------------------------------------------------------------------- */

/* Tells which inputs lack a value, with their types. */
static tfr_status fail_missing(const cli_model *model, tfr_err *err)
{
    char list[360] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < model->n_inputs; i++) {
        const tfr_value_type *type =
            tfr_graph_value_type(model->graph, tfr_graph_input(model->graph, i));
        char text[160];
        if (model->inputs[i])
            continue;
        if (used + 24 > sizeof list)
            break;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s\"%s\" (%s)", used ? ", " : "",
                                 cli_model_input_name(model->graph, i),
                                 cli_format_type(type, text, sizeof text));
        if (used >= sizeof list) {
            memcpy(list + sizeof list - 4, "...", 4);
            break;
        }
    }
    return tfr_fail(err, TFR_EINVAL,
                    "%s: no value for %s; give --input NAME=FILE, or --random-inputs SEED",
                    model->path, list);
}

/* All inputs that an archive has arrays for, and at least one. */
static tfr_status load_npz(const cli_args *args, cli_model *model, const char *path, tfr_err *err)
{
    tfr_status status = TFR_ENOTFOUND;
    bool found = false;
    for (uint32_t i = 0; i < model->n_inputs && (!status || status == TFR_ENOTFOUND); i++) {
        if (model->inputs[i])
            continue;
        status = cli_input_load(args, model->graph, i, path, &model->inputs[i], err);
        found = found || !status;
    }
    return found && status == TFR_ENOTFOUND ? TFR_OK : status;
}

static tfr_status load_inputs(const cli_args *args, cli_model *model, tfr_err *err)
{
    for (uint32_t k = 0; k < args->inputs.n; k++) {
        const char *path = args->inputs.items[k];
        uint32_t i;
        tfr_status status;
        if (cli_input_is_npz(path) && !strchr(path, '=') && model->n_inputs > 1) {
            status = load_npz(args, model, path, err);
            if (status)
                return status;
            continue;
        }
        status = cli_model_split(model->graph, false, args->inputs.items[k], &i, &path, err);
        if (!status && model->inputs[i])
            status = tfr_fail(err, TFR_EINVAL, "input \"%s\" is given twice",
                              cli_model_input_name(model->graph, i));
        if (!status)
            status = cli_input_load(args, model->graph, i, path, &model->inputs[i], err);
        if (status)
            return status;
    }
    return TFR_OK;
}

/* A --shape for an input that is not made up is a mistake worth telling. */
static tfr_status check_shapes(const cli_args *args, const cli_model *model, tfr_err *err)
{
    for (uint32_t k = 0; k < args->shapes.n; k++) {
        const char *rest;
        uint32_t i;
        tfr_status status =
            cli_model_split(model->graph, false, args->shapes.items[k], &i, &rest, err);
        if (!status && !model->is_random[i])
            status = tfr_fail(err, TFR_EINVAL,
                              "--shape %s is for made-up inputs, and \"%s\" is given by --input",
                              args->shapes.items[k], cli_model_input_name(model->graph, i));
        if (status)
            return status;
    }
    return TFR_OK;
}

/* An op that is not known may be one that a plugin brings: a runtime puts those into the table. */
tfr_status cli_graph_load(const cli_args *args, const char *path, tfr_graph **out, tfr_err *err)
{
    const uint32_t n_ops = tfr_op_count();
    tfr_err none = TFR_ERR_INIT;
    tfr_runtime *runtime;
    cli_args quiet = *args; /* what it says, the runtime that runs the model says again */
    tfr_status status = tfr_onnx_load(path, out, err);
    quiet.log_level = TFR_LOG_ERROR;
    quiet.log_placement = 0;
    if ((status == TFR_EMODEL || status == TFR_EUNSUPPORTED) &&
        !cli_open_runtime(&quiet, &runtime, &none)) {
        if (tfr_op_count() > n_ops)
            status = tfr_onnx_load(path, out, err);
        tfr_runtime_release(runtime);
    }
    if (status)
        return status;
    status = cli_dims_fix(args, *out, err);
    if (status)
        tfr_graph_release(*out);
    if (status)
        *out = NULL;
    return status;
}

tfr_status cli_model_open(const cli_args *args, const char *path, cli_model *model, tfr_err *err)
{
    memset(model, 0, sizeof *model);
    model->path = path;
    return cli_graph_load(args, path, &model->graph, err);
}

/* Inputs that have no value yet are those of the folder's first test data, as far as it has any. */
static tfr_status load_test_data(const char *folder, cli_model *model, tfr_err *err)
{
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; !status && i < model->n_inputs; i++) {
        const tfr_value_type *type =
            tfr_graph_value_type(model->graph, tfr_graph_input(model->graph, i));
        char *path = NULL;
        if (model->inputs[i])
            continue;
        if (asprintf(&path, "%s/test_data_set_0/input_%u.pb", folder, (unsigned)i) < 0)
            return tfr_fail(err, TFR_ENOMEM, "no memory for a path");
        if (access(path, F_OK) == 0)
            status = tfr_onnx_load_tensor(path, (tfr_kind)type->kind, &model->inputs[i], err);
        free(path);
    }
    return status;
}

static tfr_status fill_model(const cli_args *args, const char *folder, bool fill, cli_model *model,
                             tfr_err *err)
{
    tfr_status status;
    model->n_inputs = tfr_graph_n_inputs(model->graph);
    model->inputs = calloc((size_t)model->n_inputs + 1, sizeof *model->inputs);
    model->is_random = calloc((size_t)model->n_inputs + 1, sizeof *model->is_random);
    if (!model->inputs || !model->is_random)
        return tfr_fail(err, TFR_ENOMEM, "no memory for %u inputs", (unsigned)model->n_inputs);
    status = load_inputs(args, model, err);
    if (!status && folder)
        status = load_test_data(folder, model, err);
    for (uint32_t i = 0; !status && i < model->n_inputs; i++) {
        if (model->inputs[i])
            continue;
        if (!fill && args->seed < 0)
            return fail_missing(model, err);
        status = cli_make_up(args, model, i, &model->inputs[i], err);
        model->is_random[i] = !status;
    }
    return status ? status : check_shapes(args, model, err);
}

tfr_status cli_model_fill(const cli_args *args, bool fill, cli_model *model, tfr_err *err)
{
    return fill_model(args, NULL, fill, model, err);
}

tfr_status cli_model_load(const cli_args *args, const char *path, bool fill, cli_model *model,
                          tfr_err *err)
{
    struct stat st;
    const bool is_folder = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    char *inside = NULL;
    tfr_status status;
    if (is_folder && asprintf(&inside, "%s/model.onnx", path) < 0) {
        memset(model, 0, sizeof *model);
        return tfr_fail(err, TFR_ENOMEM, "no memory for a path");
    }
    status = cli_model_open(args, inside ? inside : path, model, err);
    model->path_in_folder = inside;
    return status ? status : fill_model(args, is_folder ? path : NULL, fill, model, err);
}

void cli_model_finish(cli_model *model)
{
    for (uint32_t i = 0; model->inputs && i < model->n_inputs; i++)
        tfr_tensor_release(model->inputs[i]);
    free(model->inputs);
    free(model->is_random);
    free(model->path_in_folder);
    tfr_graph_release(model->graph);
    memset(model, 0, sizeof *model);
}
