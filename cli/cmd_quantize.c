/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_quantize.c: `tfrun quantize`: writes a smaller model of 8 or 4 bits or of float16, then runs
 * both models and tells how far their outputs are apart.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <tfrun/fail.h>
#include <tfrun/onnx.h>
#include <tfrun/optimize.h>

#include "commands.h"
#include "quantize_check.h"
#include "table.h"
#include "text.h"

enum { DEFAULT_SAMPLES = 128, MOST_REASONS = 16, N_FATES = 5 };

/* Nodes that could have been quantized and are not, by the reason. */
typedef struct reason {
    char text[100];
    uint32_t n;
} reason;

typedef struct job {
    const cli_args *args;
    tfr_runtime *runtime;
    cli_model model;
    cli_samples samples;
    tfr_graph *simple; /* the model after passes */
    tfr_calibration *calibration;
    tfr_graph *result; /* as it was written and read again */
    cli_accuracy *accuracy;
    uint32_t n[N_FATES]; /* nodes by fate */
    reason reasons[MOST_REASONS];
    uint32_t n_reasons;
    cli_table *table; /* of nodes, with --verbose */
    json_t *rows;
    uint64_t bytes[2];
} job;

static const char *const fates[N_FATES] = {"quantized", "left", "other", "clamped", "merged"};

/* ---- what the library tells ------------------------------------------------------------------ */

static void count_reason(job *j, const char *text)
{
    uint32_t i = 0;
    while (i < j->n_reasons && strncmp(j->reasons[i].text, text, sizeof j->reasons[i].text - 1))
        i++;
    if (i == MOST_REASONS)
        return;
    if (i == j->n_reasons)
        snprintf(j->reasons[j->n_reasons++].text, sizeof j->reasons[i].text, "%s", text);
    j->reasons[i].n++;
}

static void take_note(void *user, const tfr_quantize_note *note)
{
    job *j = user;
    const char *fate = note->fate >= 0 && note->fate < N_FATES ? fates[note->fate] : "other";
    j->n[note->fate >= 0 && note->fate < N_FATES ? note->fate : TFR_QUANTIZE_OTHER]++;
    if (note->fate == TFR_QUANTIZE_CLAMPED && !j->args->quiet)
        cli_line(stderr, "tfrun: quantize: warning: constant \"%s\": %s", note->name, note->text);
    if (note->fate == TFR_QUANTIZE_LEFT)
        count_reason(j, note->text);
    if (j->table) {
        cli_table_add(j->table, "%s", note->name);
        cli_table_add(j->table, "%s", note->op);
        cli_table_add(j->table, "%s", fate);
        cli_table_add(j->table, "%s", note->text);
    }
    if (j->rows) {
        json_t *row = json_object();
        cli_json_set(row, "name", cli_json_text(note->name));
        cli_json_set(row, "op", cli_json_text(note->op));
        cli_json_set(row, "result", json_string(fate));
        cli_json_set(row, "text", cli_json_text(note->text));
        cli_json_append(j->rows, row);
    }
}

/* ---- what is asked for ----------------------------------------------------------------------- */

static int32_t form_of(const cli_args *args)
{
    return args->quantize.weights ? args->quantize.weights : TFR_QUANTIZE_INT8;
}

/* Options that would do nothing are mistakes. */
static int check_usage(const cli_args *args)
{
    const cli_quantizing *q = &args->quantize;
    const int32_t form = form_of(args);
    const bool is_static = form == TFR_QUANTIZE_INT8 && q->samples_in;
    if (!is_static && (q->activations || q->ranges))
        return cli_usage(args, "--activations and --ranges are for --weights int8 with "
                               "--calibrate; give it a folder of samples");
    if (q->dynamic && (form != TFR_QUANTIZE_INT8 || q->samples_in))
        return cli_usage(args, "--dynamic is for --weights int8 without --calibrate");
    if (form != TFR_QUANTIZE_INT8 && (q->per_tensor || q->reduce_range))
        return cli_usage(args, "--per-tensor and --reduce-range are for --weights int8");
    if (form != TFR_QUANTIZE_INT4 && (q->block || q->asymmetric))
        return cli_usage(args, "--block-size and --asymmetric are for --weights int4");
    if (form == TFR_QUANTIZE_F16 && q->tables)
        return cli_usage(args, "--tables is for integers; float16 has tables in any case");
    if (form != TFR_QUANTIZE_F16 && q->io)
        return cli_usage(args, "--io is for --weights f16; inputs and outputs stay as they are");
    if (q->samples && !q->samples_in)
        return cli_usage(args, "--samples is for --calibrate");
    return 0;
}

static bool is_power_of_two(int64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

static tfr_status check_files(const cli_args *args, tfr_err *err)
{
    struct stat in, out;
    const bool both = stat(args->words[0], &in) == 0 && stat(args->words[1], &out) == 0;
    if (strcmp(args->words[0], args->words[1]) == 0 ||
        (both && in.st_dev == out.st_dev && in.st_ino == out.st_ino))
        return tfr_fail(err, TFR_EINVAL,
                        "%s is the model itself, which would be lost; give the result another name",
                        args->words[1]);
    if (args->quantize.block && !is_power_of_two(args->quantize.block))
        return tfr_fail(err, TFR_EINVAL, "--block-size takes a power of two, not %lld",
                        (long long)args->quantize.block);
    return TFR_OK;
}

static tfr_quantize_options options_of(job *j)
{
    const cli_quantizing *q = &j->args->quantize;
    tfr_quantize_options o = TFR_QUANTIZE_OPTIONS_INIT(form_of(j->args));
    o.calibration = j->calibration;
    o.range_method = q->ranges == 2 ? TFR_RANGE_MSE : TFR_RANGE_MIN_MAX;
    o.activations = q->activations == 2 ? TFR_DTYPE_U8 : TFR_DTYPE_I8;
    o.per_tensor = q->per_tensor;
    o.reduce_range = q->reduce_range;
    o.dynamic = q->dynamic;
    o.block_size = q->block;
    o.asymmetric = q->asymmetric;
    o.tables = q->tables;
    o.float16_io = q->io == 2;
    o.only = q->only.items;
    o.n_only = q->only.n;
    o.except = q->except.items;
    o.n_except = q->except.n;
    o.note = take_note;
    o.user = j;
    return o;
}

/* ---- the steps ------------------------------------------------------------------------------- */

/* Inputs are needed for all but weights that nobody checks. */
static tfr_status find_samples(job *j, tfr_err *err)
{
    const cli_quantizing *q = &j->args->quantize;
    j->model.n_inputs = tfr_graph_n_inputs(j->model.graph);
    if (q->samples_in)
        return cli_samples_find(j->model.graph, q->samples_in,
                                q->samples ? (uint32_t)q->samples : DEFAULT_SAMPLES, &j->samples,
                                err);
    return q->no_check ? TFR_OK : cli_model_fill(j->args, true, &j->model, err);
}

/* What to do where a run with inputs that nobody gave has failed. */
static const char *hint_of(const job *j)
{
    for (uint32_t i = 0; j->model.is_random && i < j->model.n_inputs; i++)
        if (j->model.is_random[i])
            return "; inputs are made up, give --calibrate, --input or --dim, or --no-check";
    return "";
}

/* float16 asks what values the model has wherever there are inputs. */
static tfr_status calibrate(job *j, tfr_err *err)
{
    tfr_err inner = TFR_ERR_INIT;
    const uint32_t n = j->samples.n ? j->samples.n : 1;
    const bool wanted = form_of(j->args) == TFR_QUANTIZE_F16
                            ? j->samples.n || !j->args->quantize.no_check
                            : form_of(j->args) == TFR_QUANTIZE_INT8 && j->samples.n;
    tfr_tensor **inputs;
    tfr_status status;
    if (!wanted)
        return TFR_OK;
    inputs = calloc((size_t)j->model.n_inputs + 1, sizeof *inputs);
    status = inputs ? tfr_calibration_create(j->runtime, j->simple, j->args->device,
                                             &j->calibration, err)
                    : tfr_fail(err, TFR_ENOMEM, "no memory for a sample");
    for (uint32_t i = 0; !status && i < n; i++) {
        status = cli_sample_inputs(j->args, &j->model, &j->samples, i, inputs, err);
        if (!status)
            status = tfr_calibration_add(j->calibration, inputs, j->model.n_inputs, &inner);
        if (*inner.text)
            status = tfr_fail(err, status, "%s%s", inner.text, hint_of(j));
        for (uint32_t k = 0; k < j->model.n_inputs; k++) {
            tfr_tensor_release(inputs[k]);
            inputs[k] = NULL;
        }
    }
    free(inputs);
    return status;
}

static tfr_status prepare(job *j, tfr_err *err)
{
    tfr_optimize_options options = TFR_OPTIMIZE_OPTIONS_INIT;
    tfr_status status = check_files(j->args, err);
    options.passes = j->args->passes;
    if (!status)
        status = cli_model_open(j->args, j->args->words[0], &j->model, err);
    if (!status)
        status = find_samples(j, err);
    if (!status)
        status = cli_open_runtime(j->args, &j->runtime, err);
    if (!status)
        status = tfr_graph_optimize(j->model.graph, j->runtime, &options, &j->simple, err);
    return status ? status : calibrate(j, err);
}

/* Bytes of a model: its file's, or its constants' where these are in other files. */
static uint64_t bytes_of(const char *path, const tfr_graph *graph)
{
    uint64_t constants = 0;
    struct stat st;
    for (uint32_t v = 0; v < tfr_graph_n_values(graph); v++) {
        tfr_value_view view = {.size = sizeof view};
        if (!tfr_graph_value(graph, (tfr_value)v, &view, NULL) && view.role == TFR_ROLE_CONSTANT &&
            tfr_tensor_kind(view.tensor) == TFR_KIND_TENSOR)
            constants += tfr_tensor_bytes(view.tensor);
    }
    return stat(path, &st) == 0 && (uint64_t)st.st_size > constants ? (uint64_t)st.st_size
                                                                    : constants;
}

/* Also where there is no result, of which it says why. */
static tfr_status print_table(job *j, tfr_err *err)
{
    const tfr_status status = j->table ? cli_table_print(j->table, err) : TFR_OK;
    j->table = NULL;
    return status;
}

static tfr_status write_model(job *j, tfr_err *err)
{
    const tfr_quantize_options options = options_of(j);
    const char *path = j->args->words[1];
    tfr_graph *made = NULL;
    tfr_status status = tfr_graph_quantize(j->simple, &options, &made, err);
    if (!status)
        status = print_table(j, err);
    if (!status && !j->n[TFR_QUANTIZE_DONE])
        status = tfr_fail(err, TFR_EUNSUPPORTED,
                          "%s has nothing to quantize in this form%s%s; --verbose lists its nodes",
                          j->args->words[0], j->n_reasons ? ": " : "",
                          j->n_reasons ? j->reasons[0].text : "");
    if (!status)
        status = tfr_onnx_save(made, path, NULL, err);
    tfr_graph_release(made);
    if (!status)
        status = cli_graph_load(j->args, path, &j->result, err);
    if (status)
        return status;
    j->bytes[0] = bytes_of(j->args->words[0], j->model.graph);
    j->bytes[1] = bytes_of(path, j->result);
    return TFR_OK;
}

static tfr_status check(job *j, tfr_err *err)
{
    tfr_err inner = TFR_ERR_INIT;
    tfr_status status;
    if (j->args->quantize.no_check)
        return TFR_OK;
    j->accuracy = calloc((size_t)tfr_graph_n_outputs(j->model.graph) + 1, sizeof *j->accuracy);
    if (!j->accuracy)
        return tfr_fail(err, TFR_ENOMEM, "no memory for the outputs");
    status = cli_quantize_check(j->args, j->runtime, &j->model, j->result, &j->samples, j->accuracy,
                                &inner);
    return status ? tfr_fail(err, status, "%s is written, but cannot be compared: %s%s",
                             j->args->words[1], inner.text, hint_of(j))
                  : TFR_OK;
}

/* ---- results --------------------------------------------------------------------------------- */

static void describe(const job *j, char *text, size_t n)
{
    const cli_quantizing *q = &j->args->quantize;
    const char *one = q->per_tensor ? "one scale" : "a scale a channel";
    if (form_of(j->args) == TFR_QUANTIZE_F16)
        snprintf(text, n, "float16");
    else if (form_of(j->args) == TFR_QUANTIZE_INT4)
        snprintf(text, n, "weights %s, blocks of %lld", q->asymmetric ? "uint4" : "int4",
                 (long long)(q->block ? q->block : 32));
    else if (!q->samples_in)
        snprintf(text, n, "weights int8, %s%s", one,
                 q->dynamic ? "; activations uint8 in each run" : "");
    else
        snprintf(text, n, "weights int8, %s; activations %s, ranges by %s", one,
                 q->activations == 2 ? "uint8" : "int8", q->ranges == 2 ? "mse" : "minmax");
}

static void print_nodes(const job *j)
{
    printf("nodes      %u quantized", (unsigned)j->n[TFR_QUANTIZE_DONE]);
    if (j->n[TFR_QUANTIZE_MERGED])
        printf(", %u merged", (unsigned)j->n[TFR_QUANTIZE_MERGED]);
    printf(", %u left, %u of other ops\n", (unsigned)j->n[TFR_QUANTIZE_LEFT],
           (unsigned)j->n[TFR_QUANTIZE_OTHER]);
    for (uint32_t i = 0; i < j->n_reasons; i++)
        cli_line(stdout, "           %u left: %s", (unsigned)j->reasons[i].n, j->reasons[i].text);
}

static const char *megabytes(uint64_t bytes, char *text, size_t n)
{
    if (bytes < 100000)
        snprintf(text, n, "%.1f kB", (double)bytes / 1e3);
    else
        snprintf(text, n, bytes < 10000000 ? "%.2f MB" : "%.1f MB", (double)bytes / 1e6);
    return text;
}

static tfr_status print(job *j, tfr_err *err)
{
    char text[200], before[32], after[32];
    describe(j, text, sizeof text);
    printf("form       %s\n", text);
    print_nodes(j);
    if (j->samples.n)
        printf("samples    %u of %s\n", (unsigned)j->samples.n, j->args->quantize.samples_in);
    else if (j->accuracy)
        printf("samples    1, made up where --input does not give it\n");
    printf("size       %s -> %s (%.2fx)\n", megabytes(j->bytes[0], before, sizeof before),
           megabytes(j->bytes[1], after, sizeof after),
           (double)j->bytes[0] / (double)(j->bytes[1] ? j->bytes[1] : 1));
    return j->accuracy ? cli_print_accuracy(j->model.graph, j->accuracy, err) : TFR_OK;
}

static tfr_status print_json(job *j, tfr_err *err)
{
    json_t *object = cli_json_start("quantize"), *reasons = json_array();
    char text[200];
    describe(j, text, sizeof text);
    cli_json_set(object, "model", cli_json_text(j->args->words[0]));
    cli_json_set(object, "result", cli_json_text(j->args->words[1]));
    cli_json_set(object, "form", json_string(text));
    cli_json_set(object, "nodes_quantized", cli_json_int(j->n[TFR_QUANTIZE_DONE]));
    cli_json_set(object, "nodes_merged", cli_json_int(j->n[TFR_QUANTIZE_MERGED]));
    cli_json_set(object, "nodes_left", cli_json_int(j->n[TFR_QUANTIZE_LEFT]));
    cli_json_set(object, "nodes_other", cli_json_int(j->n[TFR_QUANTIZE_OTHER]));
    for (uint32_t i = 0; i < j->n_reasons; i++) {
        json_t *row = json_object();
        cli_json_set(row, "reason", cli_json_text(j->reasons[i].text));
        cli_json_set(row, "nodes", cli_json_int(j->reasons[i].n));
        cli_json_append(reasons, row);
    }
    cli_json_set(object, "reasons", reasons);
    cli_json_set(object, "nodes", j->rows);
    j->rows = NULL;
    cli_json_set(object, "samples", cli_json_int(j->samples.n));
    cli_json_set(object, "bytes_before", cli_json_int(j->bytes[0]));
    cli_json_set(object, "bytes", cli_json_int(j->bytes[1]));
    if (j->accuracy)
        cli_json_set(object, "outputs", cli_json_accuracy(j->model.graph, j->accuracy));
    return cli_json_print(object, err);
}

/* ---- the command ----------------------------------------------------------------------------- */

static void finish(job *j)
{
    json_decref(j->rows);
    cli_table_destroy(j->table);
    free(j->accuracy);
    tfr_graph_release(j->result);
    tfr_calibration_destroy(j->calibration);
    tfr_graph_release(j->simple);
    cli_samples_finish(&j->samples);
    cli_model_finish(&j->model);
    tfr_runtime_release(j->runtime);
}

static int quantize_run(const cli_args *args)
{
    static const char *const titles[] = {"node", "op", "result", "why"};
    static const uint32_t flags[] = {0, 0, 0, CLI_WRAP};
    tfr_err err = TFR_ERR_INIT;
    job j = {.args = args};
    int usage = check_usage(args);
    tfr_status status;
    if (usage)
        return usage;
    if (args->verbose && !args->json)
        j.table = cli_table_create(4, titles, flags);
    j.rows = args->json ? json_array() : NULL;
    status = prepare(&j, &err);
    if (!status)
        status = write_model(&j, &err);
    if (!status)
        status = check(&j, &err);
    if (!status)
        status = args->json ? print_json(&j, &err) : print(&j, &err);
    finish(&j);
    return status ? cli_fail(args, &err) : CLI_EXIT_DONE;
}

#define OF(name) CLI_FIELD(quantize.name)

static const cli_option quantize_options[] = {
    {0, "weights", "FORM", CLI_CHOICE, OF(weights), "int8|int4|f16", 0, 0,
     "int8 (Conv, ConvTranspose, Gemm and MatMul), int4 (Gemm and MatMul) or f16, which computes "
     "in float16; default is int8"},
    {0, "calibrate", "DIR", CLI_TEXT, OF(samples_in), "dir", 0, 0,
     "a folder of samples, which makes activations integers with int8: folders with input_0.npy or "
     ".pb, .npz files, or for one input .npy files or images"},
    {0, "samples", "N", CLI_NUMBER, OF(samples), "none", 1, 1e6,
     "use the first N samples; default is 128"},
    {0, "activations", "TYPE", CLI_CHOICE, OF(activations), "int8|uint8", 0, 0,
     "type of activations; default is int8"},
    {0, "ranges", "METHOD", CLI_CHOICE, OF(ranges), "minmax|mse", 0, 0,
     "range of activations: all that the samples had, the default, or that with the least mean "
     "squared error, which cuts off far outliers"},
    {0, "dynamic", NULL, CLI_FLAG, OF(dynamic), "none", 0, 0,
     "int8 without samples: activations of MatMul and Gemm become uint8 in each run"},
    {0, "per-tensor", NULL, CLI_FLAG, OF(per_tensor), "none", 0, 0,
     "int8: one scale for all channels of weights"},
    {0, "reduce-range", NULL, CLI_FLAG, OF(reduce_range), "none", 0, 0,
     "int8: weights of 7 bits, for runtimes whose sums of 16 bits saturate on x86 without VNNI"},
    {0, "block-size", "N", CLI_NUMBER, OF(block), "none", 16, 1 << 20,
     "int4: weights that share a scale, a power of two; default is 32"},
    {0, "asymmetric", NULL, CLI_FLAG, OF(asymmetric), "none", 0, 0, "int4: uint4 with zero points"},
    {0, "tables", NULL, CLI_FLAG, OF(tables), "none", 0, 0,
     "int8, int4: tables that Gather reads, too"},
    {0, "io", "TYPE", CLI_CHOICE, OF(io), "f32|f16", 0, 0,
     "f16: type of inputs and outputs; default is f32"},
    {0, "nodes", "PATTERN", CLI_LIST, OF(only), "none", 0, 0,
     "quantize only nodes whose name or op matches, for example '/layer1/*' or Conv"},
    {0, "exclude", "PATTERN", CLI_LIST, OF(except), "none", 0, 0,
     "leave nodes alone whose name or op matches"},
    {0, "passes", "LIST", CLI_TEXT, CLI_FIELD(passes), "all|none", 0, 0,
     "what may change the graph before, as with optimize; default is all but decompose"},
    {0, "no-check", NULL, CLI_FLAG, OF(no_check), "none", 0, 0,
     "do not run the models to compare them"},
    CLI_OPTION_INPUT,
    CLI_OPTION_CAST,
    CLI_OPTION_IMAGES,
    CLI_OPTION_RANDOM,
    CLI_OPTION_DIM,
    CLI_OPTION_SHAPE,
    CLI_OPTION_DEVICE,
    CLI_OPTION_BACKEND,
    CLI_OPTION_END};

const cli_command cli_quantize = {
    .name = "quantize",
    .words = "IN OUT",
    .least_words = 2,
    .most_words = 2,
    .word_values = "file",
    .summary = "Write a smaller ONNX model of 8 or 4 bits or float16",
    .text = "Writes standard ONNX of opset 21 or what its ops need: integers behind\n"
            "DequantizeLinear, with --calibrate QuantizeLinear too. Then it runs both models,\n"
            "on the samples or on --input and made-up values, and prints for each output the\n"
            "greatest error, the error relative to the output as norms, the ratio of signal\n"
            "to noise, the cosine, and for scores of classes how often the best is the same.\n"
            "--verbose lists what became of each node. Example:\n"
            "\n"
            "  tfrun quantize model.onnx model.int8.onnx --calibrate samples",
    .log_level = TFR_LOG_WARNING,
    .options = quantize_options,
    .run = quantize_run,
};
