/* SPDX-License-Identifier: Apache-2.0 */
/* optimize_check.c: see optimize_check.h. */
#include "optimize_check.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tfrun/compare.h>
#include <tfrun/fail.h>
#include <tfrun/onnx.h>

#define RELATIVE_TO_GREATEST 1e-6

static tfr_status put(void *file, const void *bytes, size_t n, tfr_err *err)
{
    return fwrite(bytes, 1, n, file) == n
               ? TFR_OK
               : tfr_fail(err, TFR_EIO, "a temporary file cannot be written: %s", strerror(errno));
}

/* The graph as it is in a file. One of more than 2 GiB is taken as it is. */
static tfr_status read_back(const tfr_graph *graph, tfr_graph **out, tfr_err *err)
{
    FILE *file = tmpfile();
    char path[64];
    tfr_status status =
        file ? tfr_onnx_write(graph, put, file, err)
             : tfr_fail(err, TFR_EIO, "a temporary file cannot be made: %s", strerror(errno));
    if (!status && fflush(file))
        status = tfr_fail(err, TFR_EIO, "a temporary file cannot be written: %s", strerror(errno));
    if (!status) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fileno(file));
        status = tfr_onnx_load(path, out, err);
    } else if (status == TFR_ELIMIT) {
        *out = tfr_graph_retain((tfr_graph *)(uintptr_t)graph);
        status = TFR_OK;
    }
    if (file)
        fclose(file);
    return status;
}

static tfr_status run(const cli_args *args, tfr_runtime *runtime, tfr_graph *graph,
                      const cli_model *model, tfr_tensor **outputs, uint32_t n, bool *random,
                      tfr_err *err)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_placement row = {.size = sizeof row};
    tfr_session *session = NULL;
    tfr_status status;
    options.device = args->device;
    options.passes = "none"; /* a session's own would make the same of both */
    status = tfr_session_create(runtime, graph, &options, &session, err);
    if (!status)
        status = tfr_session_run(session, model->inputs, model->n_inputs, outputs, n, err);
    for (uint32_t i = 0; !status && !tfr_session_placement(session, i, &row, NULL); i++)
        *random = *random || row.random;
    tfr_session_destroy(session);
    return status;
}

static bool same_form(const tfr_tensor *a, const tfr_tensor *b)
{
    return tfr_tensor_kind(a) == tfr_tensor_kind(b) && tfr_tensor_dtype(a) == tfr_tensor_dtype(b) &&
           tfr_shape_equal(tfr_tensor_shape(a), tfr_tensor_shape(b));
}

/*
 * Passes change the order of sums, and the rounding errors of a sum depend on its terms, of which
 * the greatest elements tell more than a small one does.
 */
static double tolerance(const cli_args *args, const tfr_tensor *expected)
{
    double greatest = 0, *values = NULL;
    tfr_tensor *plain = NULL;
    int64_t n;
    if (args->check_atol >= 0)
        return args->check_atol;
    if (tfr_tensor_kind(expected) != TFR_KIND_TENSOR ||
        !tfr_dtype_is_float(tfr_tensor_dtype(expected)))
        return 0;
    n = tfr_tensor_elements(expected);
    values = calloc((size_t)n + 1, sizeof *values);
    if (values && !tfr_tensor_copy(expected, &plain, NULL) &&
        !tfr_dtype_convert(TFR_DTYPE_F64, values, tfr_tensor_dtype(plain), tfr_tensor_data(plain),
                           n, NULL))
        for (int64_t i = 0; i < n; i++)
            if (isfinite(values[i]) && fabs(values[i]) > greatest)
                greatest = fabs(values[i]);
    tfr_tensor_release(plain);
    free(values);
    return RELATIVE_TO_GREATEST * greatest;
}

static void compare(const cli_args *args, const tfr_graph *graph, tfr_tensor *const *expected,
                    tfr_tensor *const *obtained, bool random, cli_comparison *out)
{
    uint32_t n = tfr_graph_n_outputs(graph);
    for (uint32_t i = 0; i < n && !out->differs; i++) {
        tfr_compare_report report = {.size = sizeof report};
        bool same = tfr_tensor_compare(expected[i], obtained[i], args->rtol,
                                       tolerance(args, expected[i]), &report);
        if (!same && random && same_form(expected[i], obtained[i]))
            continue;
        out->n_outputs++;
        out->differs = !same;
        if (report.max_abs_error > out->max_abs_error)
            out->max_abs_error = report.max_abs_error;
        if (!same)
            snprintf(out->text, sizeof out->text, "output \"%.100s\" differs: %s",
                     tfr_graph_output_name(graph, i), report.text);
    }
    if (!out->differs && out->n_outputs < n)
        snprintf(out->text, sizeof out->text,
                 "the model draws random numbers: %u of %u outputs differ, and have the same "
                 "types and shapes",
                 (unsigned)(n - out->n_outputs), (unsigned)n);
}

tfr_status cli_optimize_check(const cli_args *args, tfr_runtime *runtime, const cli_model *model,
                              const tfr_graph *result, cli_comparison *out, tfr_err *err)
{
    uint32_t n = tfr_graph_n_outputs(model->graph);
    tfr_tensor **outputs = calloc(2 * (size_t)n + 1, sizeof *outputs);
    tfr_graph *graph = NULL;
    bool random = false;
    tfr_status status = outputs
                            ? read_back(result, &graph, err)
                            : tfr_fail(err, TFR_ENOMEM, "no memory for %u outputs", (unsigned)n);
    if (!status)
        status = run(args, runtime, model->graph, model, outputs, n, &random, err);
    if (!status)
        status = run(args, runtime, graph, model, outputs + n, n, &random, err);
    if (!status)
        compare(args, model->graph, outputs, outputs + n, random, out);
    for (uint32_t i = 0; outputs && i < 2 * n; i++)
        tfr_tensor_release(outputs[i]);
    free(outputs);
    tfr_graph_release(graph);
    return status;
}
