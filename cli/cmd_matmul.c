/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_matmul.c: `tfrun matmul DEVICE N`: sum(X * transpose(X)) for a random N x N matrix X of
 * float32 in [0,1), on the device. The first thing to try on a new machine.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tfrun/fail.h>

#include "commands.h"
#include "json.h"
#include "tensor_file.h"
#include "text.h"
#include "timing.h"

#define MOST_N 100000

typedef struct job {
    const cli_args *args;
    int64_t n, n_runs;
    tfr_runtime *runtime;
    tfr_graph *graph;
    tfr_session *session;
    tfr_tensor *inputs[2]; /* X and a view of it with the strides swapped */
    tfr_tensor *sum;
    double *seconds;
} job;

/* product = MatMul(x, t); sum = ReduceSum(product) over all axes. The sum alone leaves the device.
 */
static tfr_status build_graph(job *j, tfr_err *err)
{
    tfr_value_type type = {
        .size = sizeof type, .kind = TFR_KIND_TENSOR, .dtype = TFR_DTYPE_F32, .rank_known = 1};
    tfr_attr no_keepdims[] = {TFR_SET_INT("keepdims", 0)};
    tfr_value x[2], product, sum;
    tfr_node_desc matmul = {.size = sizeof matmul,
                            .op = "MatMul",
                            .name = "product",
                            .n_inputs = 2,
                            .n_outputs = 1,
                            .inputs = x};
    tfr_node_desc reduce = {.size = sizeof reduce,
                            .op = "ReduceSum",
                            .name = "sum",
                            .n_inputs = 1,
                            .n_outputs = 1,
                            .inputs = &product,
                            .n_attrs = 1,
                            .attrs = no_keepdims};
    tfr_status status = tfr_graph_create("matmul", &j->graph, err);
    type.rank = 2;
    type.dims[0] = type.dims[1] = j->n;
    if (!status)
        status = tfr_graph_add_input(j->graph, "x", &type, &x[0], err);
    if (!status)
        status = tfr_graph_add_input(j->graph, "transposed", &type, &x[1], err);
    if (!status)
        status = tfr_graph_add_node(j->graph, &matmul, &product, err);
    if (!status)
        status = tfr_graph_add_node(j->graph, &reduce, &sum, err);
    if (!status)
        status = tfr_graph_add_output(j->graph, sum, "sum", err);
    return status;
}

static tfr_status make_inputs(job *j, tfr_err *err)
{
    tfr_shape shape = {2, {j->n, j->n}};
    int64_t swapped[] = {1, j->n};
    uint64_t seed = j->args->seed < 0 ? 0 : (uint64_t)j->args->seed;
    tfr_status status = cli_tensor_random(TFR_DTYPE_F32, &shape, seed, 0, 2, &j->inputs[0], err);
    if (!status)
        status = tfr_tensor_view(j->inputs[0], 0, &shape, swapped, &j->inputs[1], err);
    return status;
}

static tfr_status run(job *j, tfr_err *err)
{
    tfr_status status = tfr_session_prepare(j->session, j->inputs, 2, err);
    for (int64_t i = 0; !status && i < j->n_runs; i++) {
        double began = cli_now();
        tfr_tensor_release(j->sum);
        j->sum = NULL;
        status = tfr_session_run(j->session, j->inputs, 2, &j->sum, 1, err);
        j->seconds[i] = cli_now() - began;
    }
    return status;
}

/* ---- results --------------------------------------------------------------------------------- */

static tfr_status find_product(const job *j, tfr_placement *out, tfr_err *err)
{
    for (uint32_t i = 0; i < tfr_session_n_placements(j->session); i++) {
        tfr_status status;
        *out = (tfr_placement){.size = sizeof *out};
        status = tfr_session_placement(j->session, i, out, err);
        if (status || strcmp(out->op, "MatMul") == 0)
            return status;
    }
    return tfr_fail(err, TFR_EINTERNAL, "the plan has no MatMul");
}

static tfr_status show(const job *j, tfr_err *err)
{
    tfr_placement p;
    cli_times t = cli_times_of(j->seconds, (uint64_t)j->n_runs);
    float sum = *(const float *)tfr_tensor_data(j->sum);
    /* N*N dot products of N products each. */
    double flops = 2.0 * (double)j->n * (double)j->n * (double)j->n;
    double rate = t.median > 0 ? flops / t.median : 0;
    char time[32];
    tfr_status status = find_product(j, &p, err);
    if (status)
        return status;
    if (j->args->json) {
        json_t *object = cli_json_start("matmul"), *shape = json_array();
        cli_json_append(shape, json_integer(j->n));
        cli_json_append(shape, json_integer(j->n));
        cli_json_set(object, "sum", cli_json_real(sum));
        cli_json_set(object, "shape", shape);
        cli_json_set(object, "dtype", json_string("float32"));
        cli_json_set(object, "device", cli_json_text(p.device));
        cli_json_set(object, "backend", cli_json_text(p.backend));
        cli_json_set(object, "runs", json_integer(j->n_runs));
        cli_json_set(object, "seconds", cli_json_real(t.median));
        cli_json_set(object, "flops_per_second", cli_json_real(rate));
        return cli_json_print(object, err);
    }
    printf("sum     %.9g\n", (double)sum);
    printf("shape   %lldx%lld float32\n", (long long)j->n, (long long)j->n);
    cli_line(stdout, "device  %s, backend %s", p.device, p.backend);
    printf("time    %s", cli_format_seconds(t.median, time, sizeof time));
    if (j->n_runs > 1)
        printf(" (median of %lld runs, %.1f GFLOP/s)\n", (long long)j->n_runs, rate / 1e9);
    else
        printf(" (first run, %.1f GFLOP/s)\n", rate / 1e9);
    return TFR_OK;
}

/* ---- the command ----------------------------------------------------------------------------- */

static tfr_status matmul(job *j, tfr_err *err)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_status status;
    j->n_runs = j->args->runs ? j->args->runs : 1;
    j->seconds = calloc((size_t)j->n_runs, sizeof *j->seconds);
    if (!j->seconds)
        return tfr_fail(err, TFR_ENOMEM, "no memory for %lld times", (long long)j->n_runs);
    options.device = j->args->words[0];
    options.fallback = j->args->fallback;
    status = cli_open_runtime(j->args, &j->runtime, err);
    if (!status)
        status = build_graph(j, err);
    if (!status)
        status = tfr_session_create(j->runtime, j->graph, &options, &j->session, err);
    if (!status)
        status = make_inputs(j, err);
    if (!status)
        status = run(j, err);
    return status ? status : show(j, err);
}

static int matmul_run(const cli_args *args)
{
    tfr_err err = TFR_ERR_INIT;
    job j = {.args = args};
    char *end;
    tfr_status status;
    errno = 0;
    j.n = strtoll(args->words[1], &end, 10);
    if (errno || end == args->words[1] || *end || j.n < 1 || j.n > MOST_N)
        return cli_usage(args, "N is a number from 1 to %d, not \"%s\"", MOST_N, args->words[1]);
    status = matmul(&j, &err);
    tfr_tensor_release(j.sum);
    tfr_tensor_release(j.inputs[1]);
    tfr_tensor_release(j.inputs[0]);
    tfr_session_destroy(j.session);
    tfr_graph_release(j.graph);
    tfr_runtime_release(j.runtime);
    free(j.seconds);
    return status ? cli_fail(args, &err) : CLI_EXIT_DONE;
}

static const cli_option matmul_options[] = {CLI_OPTION_FALLBACK,
                                            {0, "random-inputs", "SEED", CLI_NUMBER,
                                             CLI_FIELD(seed), "none", 0, 9007199254740992.0,
                                             "seed of the matrix; default is 0"},
                                            {0, "runs", "N", CLI_NUMBER, CLI_FIELD(runs), "none", 1,
                                             1e9, "run N times and print the median; default is 1"},
                                            CLI_OPTION_END};

const cli_command cli_matmul = {
    .name = "matmul",
    .words = "DEVICE N",
    .least_words = 2,
    .most_words = 2,
    .word_values = "device",
    .summary = "Multiply a random N x N matrix by its transpose on a device and sum the product",
    .text = "DEVICE is a device (CPU:0) or one backend of it (onednn:0). Prints the sum, the\n"
            "shape, where it ran and how long it took, without making the matrix and the\n"
            "plan.",
    .log_level = TFR_LOG_WARNING,
    .options = matmul_options,
    .run = matmul_run,
};
