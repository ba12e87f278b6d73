/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_bench.c: `tfrun bench`: measures tfrun beside its peers. What is measured, and how, is in
 * bench/; here are the options and the report as a table, as JSON and as CSV.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bench/bench.h>
#include <tfrun/fail.h>

#include "bench_field.h"
#include "commands.h"
#include "guard.h"
#include "json.h"
#include "model.h"
#include "table.h"
#include "text.h"

#define MOST_SIZES 32
#define EPOCH      60000 /* samples of MNIST */
#define BUSY_LOAD  0.5   /* above it a line says that the machine is not quiet */

static const char *const names[] = {"dispatch", "matmul",  "model", "field",
                                    "train",    "startup", "memory"};
enum { DISPATCH, MATMUL, MODEL, FIELD, TRAIN, STARTUP, MEMORY, N_NAMES };

typedef struct job {
    const cli_args *args;
    int what;
    bench_options options;
    bench_report report;
    int64_t sizes[MOST_SIZES];
} job;

/* ---- people ---------------------------------------------------------------------------------- */

/* "-" for what does not apply. */
static void add_number(cli_table *table, const char *format, double value)
{
    char text[48];
    snprintf(text, sizeof text, format, value);
    cli_table_add(table, "%s", isnan(value) ? "-" : text);
}

static void add_seconds(cli_table *table, double value)
{
    char text[48];
    cli_table_add(table, "%s", isnan(value) ? "-" : cli_format_seconds(value, text, sizeof text));
}

/* Which columns some side has something for. */
typedef struct columns {
    bool rates, errors, bytes, samples, accuracies;
} columns;

static void add_side(cli_table *table, const bench_row *row, const bench_side *side,
                     const columns *has)
{
    char text[64];
    cli_table_add(table, "%s", row->what);
    cli_table_add(table, "%s", side->who);
    add_seconds(table, side->seconds.median);
    add_seconds(table, side->seconds.p10);
    add_seconds(table, side->seconds.p90);
    add_number(table, "%.2f", side->ratio.median);
    snprintf(text, sizeof text, "%.2f-%.2f", side->ratio.least, side->ratio.most);
    cli_table_add(table, "%s", isnan(side->ratio.median) ? "-" : text);
    if (has->samples) {
        add_number(table, "%.0f", side->samples / side->seconds.median);
        add_seconds(table, side->seconds.median * EPOCH / side->samples);
    }
    if (has->accuracies)
        add_number(table, "%.2f%%", side->accuracy * 100);
    if (has->rates) {
        add_number(table, "%.1f", side->rate / 1e9);
        add_number(table, "%.0f%%", side->roof_share * 100);
    }
    if (has->errors)
        add_number(table, "%.1e", side->error);
    if (has->bytes)
        cli_table_add(table, "%s",
                      side->bytes ? cli_format_bytes(side->bytes, text, sizeof text) : "-");
    cli_table_add(table, "%s", side->note);
}

static columns columns_of(const bench_report *report)
{
    columns has = {0};
    for (uint32_t r = 0; r < report->n_rows; r++)
        for (uint32_t i = 0; i < report->rows[r].n_sides; i++) {
            const bench_side *side = &report->rows[r].sides[i];
            has.rates = has.rates || !isnan(side->rate);
            has.errors = has.errors || !isnan(side->error);
            has.bytes = has.bytes || side->bytes;
            has.samples = has.samples || !isnan(side->samples);
            has.accuracies = has.accuracies || !isnan(side->accuracy);
        }
    return has;
}

static tfr_status print_sides(const bench_report *report, tfr_err *err)
{
    const char *titles[CLI_MAX_COLUMNS] = {"CASE", "WHO", "MEDIAN", "P10", "P90", "RATIO", "RANGE"};
    uint32_t flags[CLI_MAX_COLUMNS] = {0, 0, CLI_RIGHT, CLI_RIGHT, CLI_RIGHT, CLI_RIGHT, CLI_RIGHT};
    uint32_t n = 7;
    columns has = columns_of(report);
    const struct {
        bool there;
        const char *title;
    } more[] = {{has.samples, "SAMPLES/S"}, {has.samples, "EPOCH"}, {has.accuracies, "ACCURACY"},
                {has.rates, "GFLOP/S"},     {has.rates, "ROOF"},    {has.errors, "ERROR"},
                {has.bytes, "PEAK RSS"}};
    cli_table *table;
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (more[i].there) {
            flags[n] = CLI_RIGHT;
            titles[n++] = more[i].title;
        }
    flags[n] = CLI_WRAP;
    titles[n++] = "WITH";
    table = cli_table_create(n, titles, flags);
    for (uint32_t r = 0; r < report->n_rows; r++)
        for (uint32_t i = 0; i < report->rows[r].n_sides; i++)
            add_side(table, &report->rows[r], &report->rows[r].sides[i], &has);
    return cli_table_print(table, err);
}

static void print_figures(const char *what, const bench_figure *figures, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const bench_figure *f = &figures[i];
        char text[48];
        if (strcmp(f->unit, "B") == 0)
            cli_format_bytes((uint64_t)f->value, text, sizeof text);
        else if (strcmp(f->unit, "s") == 0)
            cli_format_seconds(f->value, text, sizeof text);
        else
            snprintf(text, sizeof text, "%.4g%s%s", f->value, *f->unit ? " " : "", f->unit);
        if (i == 0 && what)
            printf("%s: ", what);
        printf("%s %s%s", f->text, text, what && i + 1 < n ? ", " : "\n");
    }
}

static void print_skips(const bench_skip *skips, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        cli_line(stdout, "skipped: %s: %s", skips[i].who, skips[i].why);
}

static tfr_status print_table(const job *j, tfr_err *err)
{
    const bench_report *report = &j->report;
    tfr_status status;
    cli_line(stdout, "%s, %u thread%s%s", report->cpu, report->n_threads,
             report->n_threads == 1 ? "" : "s", isnan(report->fma_roof) ? "" : "; roof:");
    if (!isnan(report->fma_roof))
        printf("  %.1f GFLOP/s of float32 multiply-adds (%s), %.1f GB/s read from memory\n",
               report->fma_roof / 1e9, report->fma_kernel, report->read_roof / 1e9);
    if (report->load > BUSY_LOAD)
        printf("  not quiet: the load was %.1f before the start, so times are of little worth\n",
               report->load);
    status = print_sides(report, err);
    for (uint32_t r = 0; r < report->n_rows; r++)
        print_figures(report->rows[r].what, report->rows[r].figures, report->rows[r].n_figures);
    print_figures(NULL, report->figures, report->n_figures);
    for (uint32_t r = 0; r < report->n_rows; r++) {
        bool seen = r > 0 && report->rows[r].n_skips == report->rows[0].n_skips;
        for (uint32_t i = 0; seen && i < report->rows[r].n_skips; i++)
            seen = strcmp(report->rows[r].skips[i].why, report->rows[0].skips[i].why) == 0;
        if (!seen)
            print_skips(report->rows[r].skips, report->rows[r].n_skips);
    }
    print_skips(report->skips, report->n_skips);
    printf("ratio: its time / the first one's in the same round; above 1 the first is faster\n");
    if (report->error_is)
        printf("error: %s\n", report->error_is);
    return status;
}

/* ---- programs -------------------------------------------------------------------------------- */

static json_t *real(double value)
{
    return isnan(value) ? json_null() : cli_json_real(value);
}

static json_t *spread(const bench_spread *s)
{
    json_t *object = json_object();
    if (isnan(s->median)) {
        json_decref(object);
        return json_null();
    }
    cli_json_set(object, "min", real(s->least));
    cli_json_set(object, "p10", real(s->p10));
    cli_json_set(object, "median", real(s->median));
    cli_json_set(object, "p90", real(s->p90));
    cli_json_set(object, "max", real(s->most));
    return object;
}

static json_t *figures_of(const bench_figure *figures, uint32_t n)
{
    json_t *object = json_object();
    for (uint32_t i = 0; i < n; i++)
        cli_json_set(object, figures[i].name, real(figures[i].value));
    return object;
}

static json_t *skips_of(const bench_skip *skips, uint32_t n)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < n; i++) {
        json_t *object = json_object();
        cli_json_set(object, "who", cli_json_text(skips[i].who));
        cli_json_set(object, "reason", cli_json_text(skips[i].why));
        cli_json_append(array, object);
    }
    return array;
}

static json_t *side_of(const bench_side *side)
{
    json_t *object = json_object();
    cli_json_set(object, "who", cli_json_text(side->who));
    cli_json_set(object, "with", cli_json_text(side->note));
    cli_json_set(object, "rounds", cli_json_int(side->n));
    cli_json_set(object, "seconds", spread(&side->seconds));
    cli_json_set(object, "ratio", spread(&side->ratio));
    cli_json_set(object, "flops_per_second", real(side->rate));
    cli_json_set(object, "roof_share", real(side->roof_share));
    cli_json_set(object, "samples_per_second", real(side->samples / side->seconds.median));
    cli_json_set(object, "epoch_seconds", real(side->seconds.median * EPOCH / side->samples));
    cli_json_set(object, "accuracy", real(side->accuracy));
    cli_json_set(object, "error", real(side->error));
    cli_json_set(object, "peak_rss_bytes", side->bytes ? cli_json_int(side->bytes) : json_null());
    return object;
}

static tfr_status print_json(const job *j, tfr_err *err)
{
    const bench_report *report = &j->report;
    json_t *object = cli_json_start("bench"), *rows = json_array(), *roof = json_object();
    for (uint32_t r = 0; r < report->n_rows; r++) {
        json_t *row = json_object(), *sides = json_array();
        for (uint32_t i = 0; i < report->rows[r].n_sides; i++)
            cli_json_append(sides, side_of(&report->rows[r].sides[i]));
        cli_json_set(row, "case", cli_json_text(report->rows[r].what));
        cli_json_set(row, "size", json_integer(report->rows[r].size));
        cli_json_set(row, "sides", sides);
        cli_json_set(row, "figures",
                     figures_of(report->rows[r].figures, report->rows[r].n_figures));
        cli_json_set(row, "skipped", skips_of(report->rows[r].skips, report->rows[r].n_skips));
        cli_json_append(rows, row);
    }
    cli_json_set(roof, "flops_per_second", real(report->fma_roof));
    cli_json_set(roof, "kernel", cli_json_text(report->fma_kernel));
    cli_json_set(roof, "read_bytes_per_second", real(report->read_roof));
    cli_json_set(object, "bench", cli_json_text(report->name));
    cli_json_set(object, "version", cli_json_text(tfr_version()));
    cli_json_set(object, "cpu", cli_json_text(report->cpu));
    cli_json_set(object, "threads", cli_json_int(report->n_threads));
    cli_json_set(object, "load_before", real(report->load));
    cli_json_set(object, "roof", roof);
    cli_json_set(object, "error_is", cli_json_text(report->error_is));
    cli_json_set(object, "rows", rows);
    cli_json_set(object, "figures", figures_of(report->figures, report->n_figures));
    cli_json_set(object, "skipped", skips_of(report->skips, report->n_skips));
    return cli_json_print(object, err);
}

/* A field of CSV: quoted, for names of processors hold commas. */
static void put_text(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if (*text == '"')
            putchar('"');
        if ((unsigned char)*text >= 32 && *text != 127)
            putchar(*text);
    }
    printf("\",");
}

static void put_real(double value, const char *after)
{
    if (!isnan(value))
        printf("%.6g", value);
    printf("%s", after);
}

static void print_csv(const job *j)
{
    const bench_report *report = &j->report;
    printf("version,cpu,threads,bench,case,who,with,n,median,p10,p90,min,max,unit,ratio,"
           "flops_per_second,roof_share,error,peak_rss_bytes,samples_per_second,accuracy\n");
    for (uint32_t r = 0; r < report->n_rows; r++)
        for (uint32_t i = 0; i < report->rows[r].n_sides; i++) {
            const bench_side *side = &report->rows[r].sides[i];
            put_text(tfr_version());
            put_text(report->cpu);
            printf("%u,", report->n_threads);
            put_text(report->name);
            put_text(report->rows[r].what);
            put_text(side->who);
            put_text(side->note);
            printf("%llu,", (unsigned long long)side->n);
            put_real(side->seconds.median, ",");
            put_real(side->seconds.p10, ",");
            put_real(side->seconds.p90, ",");
            put_real(side->seconds.least, ",");
            put_real(side->seconds.most, ",s,");
            put_real(side->ratio.median, ",");
            put_real(side->rate, ",");
            put_real(side->roof_share, ",");
            put_real(side->error, ",");
            put_real(side->bytes ? (double)side->bytes : NAN, ",");
            put_real(side->samples / side->seconds.median, ",");
            put_real(side->accuracy, "\n");
        }
}

/* ---- the command ----------------------------------------------------------------------------- */

/* "1,64" into sizes. Returns how many, or 0 after telling of the mistake. */
static uint32_t take_sizes(job *j, const char *option, const char *text, int64_t most)
{
    uint32_t n = 0;
    for (const char *at = text;;) {
        char *end;
        long long value;
        errno = 0;
        value = strtoll(at, &end, 10);
        if (errno || end == at || value < 1 || value > most || (*end && *end != ',') ||
            n == MOST_SIZES) {
            cli_usage(j->args,
                      "--%s takes at most %d numbers from 1 to %lld with commas between, "
                      "not \"%s\"",
                      option, MOST_SIZES, (long long)most, text);
            return 0;
        }
        j->sizes[n++] = value;
        if (!*end)
            return n;
        at = end + 1;
    }
}

static tfr_status run_model(job *j, tfr_err *err)
{
    tfr_status status = TFR_OK;
    uint32_t n = j->options.n_sizes ? j->options.n_sizes : 1;
    for (uint32_t i = 0; !status && i < n; i++) {
        cli_args args = *j->args;
        cli_model model;
        args.batch = j->options.n_sizes ? j->sizes[i] : 0; /* by the dim's name */
        status = cli_model_load(&args, args.words[1], true, &model, err);
        if (!status)
            status = bench_model(&j->options, model.path, model.graph, model.inputs, model.n_inputs,
                                 args.batch ? args.batch : 1, &j->report, err);
        cli_model_finish(&model);
    }
    return status;
}

static tfr_status run(job *j, tfr_err *err)
{
    const cli_args *args = j->args;
    tfr_device_desc device = {.size = sizeof device};
    uint32_t number;
    int32_t backend;
    tfr_status status = cli_open_runtime(args, &j->options.runtime, err);
    if (!status && args->device) /* startup would find it out in each of many processes */
        status = tfr_runtime_find(j->options.runtime, args->device, &number, &backend, err);
    if (status)
        return status;
    j->options.n_threads = args->threads < CLI_ALL_THREADS ? (uint32_t)args->threads : 0;
    for (uint32_t i = 0; !j->options.n_threads; i++) {
        if (tfr_runtime_device(j->options.runtime, i, &device, NULL))
            j->options.n_threads = 1;
        else if (strcmp(device.type, "CPU") == 0)
            j->options.n_threads = device.n_threads ? device.n_threads : 1;
    }
    if (j->what == DISPATCH)
        j->options.n_threads = 1;
    bench_report_init(&j->report, names[j->what], &j->options);
    switch (j->what) {
    case DISPATCH:
        status = bench_dispatch(&j->options, &j->report, err);
        break;
    case MATMUL:
        status = bench_matmul(&j->options, &j->report, err);
        if (!status && args->svg)
            status = bench_svg_write(&j->report, args->svg, err);
        break;
    case TRAIN:
        status = bench_train(&j->options, &j->report, err);
        break;
    case STARTUP:
        status = bench_startup(&j->options, &j->report, err);
        break;
    case MEMORY:
        status = bench_memory(&j->options, &j->report, err);
        break;
    case FIELD:
        status = cli_bench_field(args, &j->report, err);
        break;
    default:
        status = run_model(j, err);
    }
    if (!status && j->report.lost)
        status = tfr_fail(err, TFR_ENOMEM, "no memory for the report");
    if (!status && args->json)
        status = print_json(j, err);
    else if (!status && args->csv)
        print_csv(j);
    else if (!status && j->what == FIELD)
        status = cli_bench_field_print(&j->report, err);
    else if (!status)
        status = print_table(j, err);
    return status;
}

static int bench_run(const cli_args *args)
{
    job j = {.args = args};
    tfr_err err = TFR_ERR_INIT;
    tfr_status status;
    bench_remember_cores();
    while (j.what < N_NAMES && strcmp(names[j.what], args->words[0]) != 0)
        j.what++;
    if (j.what == N_NAMES)
        return cli_usage(args,
                         "there is no benchmark \"%s\"; benchmarks are dispatch, matmul, "
                         "model, field, train, startup and memory",
                         args->words[0]);
    if ((args->n_words == 2) != (j.what == MODEL || j.what == FIELD))
        return j.what == MODEL   ? cli_usage(args, "MODEL is missing")
               : j.what == FIELD ? cli_usage(args, "the folder of models is missing")
                                 : cli_usage(args, "bench %s takes no file, but got \"%s\"",
                                             names[j.what], args->words[1]);
    if (args->json && args->csv)
        return cli_usage(args, "--json and --csv exclude each other");
    if (args->sizes && !(j.options.n_sizes = take_sizes(&j, "size", args->sizes, 100000)))
        return CLI_EXIT_USAGE;
    if (args->batches && !(j.options.n_sizes = take_sizes(&j, "batch", args->batches, 1 << 20)))
        return CLI_EXIT_USAGE;
    j.options.device = args->device;
    j.options.timeout_ns = (uint64_t)(args->time_limit * 1e9);
    j.options.n_pairs = (uint32_t)args->pairs;
    j.options.peers = args->peers;
    j.options.libraries = args->libraries.items;
    j.options.n_libraries = args->libraries.n;
    j.options.sizes = j.sizes;
    j.options.seed = args->seed < 0 ? 0 : (uint64_t)args->seed;
    j.options.constant = args->constant;
    j.options.math_mode = args->math_mode;
    j.options.batch = (uint32_t)args->train_batch;
    j.options.n_epochs = (uint32_t)args->train_epochs;
    j.options.data = args->train_data;
    cli_watch_limit(args, false);
    status = run(&j, &err);
    cli_watch_limit(NULL, false);
    bench_report_finish(&j.report);
    tfr_runtime_release(j.options.runtime);
    return status ? cli_fail(args, &err) : CLI_EXIT_DONE;
}

static const cli_option bench_options_table[] = {
    {0, "peers", "LIST", CLI_TEXT, CLI_FIELD(peers), "none", 0, 0,
     "only these, for example onednn,openblas,onnxruntime,numpy; none = tfrun alone"},
    {0, "library", "NAME=FILE", CLI_LIST, CLI_FIELD(libraries), "file", 0, 0,
     "where the library of onednn, openblas, onnxruntime or openvino is"},
    {0, "pairs", "N", CLI_NUMBER, CLI_FIELD(pairs), "none", 1, 10000,
     "rounds in which each has a turn; default is what fits into some seconds"},
    {0, "size", "LIST", CLI_TEXT, CLI_FIELD(sizes), "none", 0, 0,
     "sizes of matmul, or nodes of dispatch, for example 500,1024"},
    {0, "batch", "LIST", CLI_TEXT, CLI_FIELD(batches), "none", 0, 0,
     "model: sizes of the first dimension where the model leaves it open; default is 1"},
    {0, "batch-size", "N", CLI_NUMBER, CLI_FIELD(train_batch), "none", 1, 4096,
     "train: samples of a step; default is 64"},
    {0, "epochs", "N", CLI_NUMBER, CLI_FIELD(train_epochs), "none", 1, 1000,
     "train: whole epochs in turns, and accuracy after them; default is bursts of steps"},
    {0, "data", "SOURCE", CLI_TEXT, CLI_FIELD(train_data), "dir", 0, 0,
     "train: the folder of MNIST's files, or synthetic, which is the default"},
    {0, "csv", NULL, CLI_FLAG, CLI_FIELD(csv), "none", 0, 0,
     "print lines of values with commas between"},
    {0, "constant", NULL, CLI_FLAG, CLI_FIELD(constant), "none", 0, 0,
     "matmul: the right matrix is a constant, which all may pack beforehand"},
    {0, "svg", "FILE", CLI_TEXT, CLI_FIELD(svg), "file", 0, 0,
     "matmul: draw the rates as a plot, too"},
    CLI_OPTION_DEVICE,
    CLI_OPTION_BACKEND,
    CLI_OPTION_MATH_MODE,
    CLI_OPTION_TIMEOUT,
    CLI_OPTION_INPUT,
    CLI_OPTION_CAST,
    CLI_OPTION_RANDOM,
    CLI_OPTION_DIM,
    CLI_OPTION_SHAPE,
    CLI_OPTION_END};

const cli_command cli_bench = {
    .name = "bench",
    .words = "WHAT [MODEL|DIR]",
    .least_words = 1,
    .most_words = 2,
    .word_values = "dispatch|matmul|model|field|train|startup|memory",
    .summary = "Measure tfrun beside its peers, in turns in one run",
    .text = "dispatch  what a node and a run cost when kernels do nothing\n"
            "matmul    products of square matrices of float32, 500 to 2048\n"
            "model     MODEL against ONNX Runtime and OpenVINO, with plan time and memory;\n"
            "          a folder with model.onnx and test_data_set_0/input_K.pb is one, too\n"
            "field     all such folders in DIR, each in a process of its own, and how much\n"
            "          faster than the best peer we are, as a geometric mean\n"
            "train     a step of training of the CNN for MNIST of the TensorFlow guides\n"
            "startup   from the start of a process to its first product, 500 x 500\n"
            "memory    the peak resident memory of the same processes\n"
            "\n"
            "Peers whose library is not there are skipped with a line. bench/README.md\n"
            "says how it is measured. Example:\n"
            "\n"
            "  tfrun bench model resnet50.onnx --batch 1,64 --threads 2",
    .log_level = TFR_LOG_WARNING,
    .options = bench_options_table,
    .run = bench_run,
};

/* ---- the process that startup and memory start ----------------------------------------------- */

static int child_run(const cli_args *args)
{
    bench_options options = {.n_threads = args->threads ? (uint32_t)args->threads : 1,
                             .libraries = args->libraries.items,
                             .n_libraries = args->libraries.n};
    tfr_err err = TFR_ERR_INIT;
    long long n = strtoll(args->words[1], NULL, 10);
    if (n < 1 || n > 100000)
        return cli_usage(args, "N is a number from 1 to 100000, not \"%s\"", args->words[1]);
    return bench_child(&options, args->words[0], n, &err) ? cli_fail(args, &err) : CLI_EXIT_DONE;
}

static const cli_option child_options[] = {
    {0, "library", "NAME=FILE", CLI_LIST, CLI_FIELD(libraries), "file", 0, 0,
     "where the library of onednn, openblas, onnxruntime or openvino is"},
    CLI_OPTION_END};

const cli_command cli_bench_child = {
    .name = "__bench_child",
    .words = "WHO N",
    .least_words = 2,
    .most_words = 2,
    .word_values = "none",
    .summary = "Make one product with one library, for tfrun bench startup",
    .hidden = true,
    .log_level = TFR_LOG_WARNING,
    .options = child_options,
    .run = child_run,
};
