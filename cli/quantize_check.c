/* SPDX-License-Identifier: Apache-2.0 */
/* quantize_check.c: see quantize_check.h. */
#include "quantize_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tfrun/fail.h>

#include "table.h"

tfr_status cli_sample_inputs(const cli_args *args, const cli_model *model,
                             const cli_samples *samples, uint32_t i, tfr_tensor **inputs,
                             tfr_err *err)
{
    if (samples->n)
        return cli_samples_load(args, samples, i, model->graph, inputs, err);
    for (uint32_t k = 0; k < model->n_inputs; k++)
        inputs[k] = tfr_tensor_retain(model->inputs[k]);
    return TFR_OK;
}

/* ---- runs ------------------------------------------------------------------------------------ */

typedef struct check {
    const cli_args *args;
    const cli_model *model;
    tfr_graph *result;
    tfr_session *before, *after;
    uint32_t n_inputs, n_outputs;
    tfr_tensor **inputs, **same_inputs, **expected, **obtained;
} check;

static void release_all(tfr_tensor **tensors, uint32_t n)
{
    for (uint32_t i = 0; tensors && i < n; i++) {
        tfr_tensor_release(tensors[i]);
        tensors[i] = NULL;
    }
}

/* Inputs of the new model may be float16 where those of the model are float32. */
static tfr_status convert(tfr_tensor *from, const tfr_value_type *type, tfr_tensor **out,
                          tfr_err *err)
{
    tfr_tensor *plain = NULL;
    tfr_status status;
    if (tfr_tensor_kind(from) != TFR_KIND_TENSOR || type->dtype != TFR_DTYPE_F16 ||
        tfr_tensor_dtype(from) != TFR_DTYPE_F32) {
        *out = tfr_tensor_retain(from);
        return TFR_OK;
    }
    status = tfr_tensor_copy(from, &plain, err);
    if (!status)
        status = tfr_tensor_create(TFR_DTYPE_F16, tfr_tensor_shape(from), out, err);
    if (!status)
        status = tfr_dtype_convert(TFR_DTYPE_F16, tfr_tensor_data(*out), TFR_DTYPE_F32,
                                   tfr_tensor_data(plain), tfr_tensor_elements(plain), err);
    tfr_tensor_release(plain);
    return status;
}

/* No hidden state has so many elements, but vocabularies do. */
enum { LEAST_WORDS = 10000 };

/* Scores of classes: a row a sample; or a row a token, as language models have them. */
static bool is_classifier(const tfr_tensor *output, const char *name)
{
    const tfr_shape *shape = tfr_tensor_shape(output);
    return tfr_dtype_is_float(tfr_tensor_dtype(output)) &&
           (shape->rank == 2 ||
            (shape->rank == 3 && (strcasestr(name, "logits") || shape->dims[2] >= LEAST_WORDS))) &&
           shape->dims[shape->rank - 1] > 1;
}

static tfr_status compare(const check *c, cli_accuracy *rows, tfr_err *err)
{
    for (uint32_t i = 0; i < c->n_outputs; i++) {
        const tfr_tensor *expected = c->expected[i];
        tfr_status status;
        if (tfr_tensor_kind(expected) != TFR_KIND_TENSOR ||
            tfr_tensor_dtype(expected) == TFR_DTYPE_STRING) {
            rows[i].is_none = true;
            continue;
        }
        rows[i].numbers.size = sizeof rows[i].numbers;
        rows[i].is_classifier = is_classifier(expected, tfr_graph_output_name(c->model->graph, i));
        status = tfr_accuracy_add(&rows[i].numbers, expected, c->obtained[i], err);
        /* Where the data decide the shape, as with boxes that were found, other numbers may. */
        if (status == TFR_ESHAPE)
            rows[i].is_none = true;
        else if (status)
            return status;
    }
    return TFR_OK;
}

static tfr_status try_sample(check *c, const cli_samples *samples, uint32_t i, cli_accuracy *rows,
                             tfr_err *err)
{
    tfr_status status = cli_sample_inputs(c->args, c->model, samples, i, c->inputs, err);
    for (uint32_t k = 0; !status && k < c->n_inputs; k++)
        status =
            convert(c->inputs[k], tfr_graph_value_type(c->result, tfr_graph_input(c->result, k)),
                    &c->same_inputs[k], err);
    if (!status)
        status = tfr_session_run(c->before, c->inputs, c->n_inputs, c->expected, c->n_outputs, err);
    if (!status)
        status =
            tfr_session_run(c->after, c->same_inputs, c->n_inputs, c->obtained, c->n_outputs, err);
    if (!status)
        status = compare(c, rows, err);
    release_all(c->inputs, c->n_inputs);
    release_all(c->same_inputs, c->n_inputs);
    release_all(c->expected, c->n_outputs);
    release_all(c->obtained, c->n_outputs);
    return status;
}

tfr_status cli_quantize_check(const cli_args *args, tfr_runtime *runtime, const cli_model *model,
                              tfr_graph *result, const cli_samples *samples, cli_accuracy *rows,
                              tfr_err *err)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    check c = {.args = args,
               .model = model,
               .result = result,
               .n_inputs = tfr_graph_n_inputs(model->graph),
               .n_outputs = tfr_graph_n_outputs(model->graph)};
    tfr_tensor **all = calloc(2 * ((size_t)c.n_inputs + c.n_outputs) + 1, sizeof *all);
    const uint32_t n = samples->n ? samples->n : 1;
    tfr_status status = all ? TFR_OK : tfr_fail(err, TFR_ENOMEM, "no memory for the outputs");
    options.device = args->device;
    c.inputs = all;
    c.same_inputs = all ? c.inputs + c.n_inputs : NULL;
    c.expected = all ? c.same_inputs + c.n_inputs : NULL;
    c.obtained = all ? c.expected + c.n_outputs : NULL;
    if (!status)
        status = tfr_session_create(runtime, model->graph, &options, &c.before, err);
    if (!status)
        status = tfr_session_create(runtime, result, &options, &c.after, err);
    for (uint32_t i = 0; !status && i < n; i++)
        status = try_sample(&c, samples, i, rows, err);
    tfr_session_destroy(c.before);
    tfr_session_destroy(c.after);
    free(all);
    return status;
}

/* ---- results --------------------------------------------------------------------------------- */

static bool has_top(const cli_accuracy *row)
{
    return row->is_classifier && row->numbers.n_rows;
}

tfr_status cli_print_accuracy(const tfr_graph *graph, const cli_accuracy *rows, tfr_err *err)
{
    static const char *const titles[] = {"output", "greatest error", "relative",  "SQNR",
                                         "cosine", "same top-1",     "not finite"};
    static const uint32_t flags[] = {0,         CLI_RIGHT, CLI_RIGHT, CLI_RIGHT,
                                     CLI_RIGHT, CLI_RIGHT, CLI_RIGHT};
    const uint32_t n = tfr_graph_n_outputs(graph);
    bool other = false;
    cli_table *table;
    for (uint32_t i = 0; i < n; i++)
        other = other || rows[i].numbers.n_other;
    table = cli_table_create(other ? 7 : 6, titles, flags);
    for (uint32_t i = 0; i < n; i++) {
        const tfr_accuracy *a = &rows[i].numbers;
        cli_table_add(table, "%s", tfr_graph_output_name(graph, i));
        if (rows[i].is_none || !a->n_elements) {
            for (int k = 0; k < 5; k++)
                cli_table_add(table, "-");
        } else {
            cli_table_add(table, "%.3g", a->max_abs_error);
            cli_table_add(table, "%.3g", tfr_accuracy_relative(a));
            cli_table_add(table, "%.1f dB", tfr_accuracy_sqnr(a));
            cli_table_add(table, "%.6f", tfr_accuracy_cosine(a));
            if (has_top(&rows[i]))
                cli_table_add(table, "%llu of %llu", (unsigned long long)a->n_rows_same,
                              (unsigned long long)a->n_rows);
            else
                cli_table_add(table, "-");
        }
        if (other)
            cli_table_add(table, "%llu", (unsigned long long)a->n_other);
    }
    return cli_table_print(table, err);
}

json_t *cli_json_accuracy(const tfr_graph *graph, const cli_accuracy *rows)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < tfr_graph_n_outputs(graph); i++) {
        const tfr_accuracy *a = &rows[i].numbers;
        json_t *row = json_object();
        cli_json_set(row, "output", cli_json_text(tfr_graph_output_name(graph, i)));
        cli_json_set(row, "compared", json_boolean(!rows[i].is_none && a->n_elements));
        if (!rows[i].is_none && a->n_elements) {
            cli_json_set(row, "elements", cli_json_int(a->n_elements));
            cli_json_set(row, "not_finite", cli_json_int(a->n_other));
            cli_json_set(row, "max_abs_error", cli_json_real(a->max_abs_error));
            cli_json_set(row, "relative_error", cli_json_real(tfr_accuracy_relative(a)));
            cli_json_set(row, "sqnr_db", cli_json_real(tfr_accuracy_sqnr(a)));
            cli_json_set(row, "cosine", cli_json_real(tfr_accuracy_cosine(a)));
        }
        if (!rows[i].is_none && has_top(&rows[i])) {
            cli_json_set(row, "top1_rows", cli_json_int(a->n_rows));
            cli_json_set(row, "top1_same", cli_json_int(a->n_rows_same));
        }
        cli_json_append(array, row);
    }
    return array;
}
