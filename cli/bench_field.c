/* SPDX-License-Identifier: Apache-2.0 */
/* bench_field.c: see bench_field.h. */
#include "bench_field.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tfrun/fail.h>

#include "json.h"
#include "model_folders.h"
#include "table.h"

#define MODEL_SECONDS 600 /* for a model and its peers, plans included */
#define MOST_WORDS    128
#define MOST_SETTINGS 16

/* ---- the process of a model ------------------------------------------------------------------ */

typedef struct child_words {
    const char *argv[MOST_WORDS];
    int n;
    bool full; /* there was more than it can hold */
    char self[4096], numbers[4][32], settings[MOST_SETTINGS][160];
} child_words;

static void add_option(child_words *w, const char *option, const char *value)
{
    if (!value)
        return;
    if (w->n + 3 >= MOST_WORDS) {
        w->full = true;
        return;
    }
    w->argv[w->n++] = option;
    w->argv[w->n++] = value;
}

/* The options that say how to measure are the child's, too. */
static void make_words(const cli_args *args, const char *peers, child_words *w)
{
    const ssize_t length = readlink("/proc/self/exe", w->self, sizeof w->self - 1);
    w->self[length > 0 ? length : 0] = 0;
    w->argv[w->n++] = w->self;
    w->argv[w->n++] = "bench";
    w->argv[w->n++] = "--json";
    if (args->pairs)
        snprintf(w->numbers[0], sizeof w->numbers[0], "%lld", (long long)args->pairs);
    if (args->threads)
        snprintf(w->numbers[1], sizeof w->numbers[1], "%lld", (long long)args->threads);
    if (args->time_limit > 0)
        snprintf(w->numbers[2], sizeof w->numbers[2], "%g", args->time_limit);
    add_option(w, "--pairs", *w->numbers[0] ? w->numbers[0] : NULL);
    add_option(w, "--threads", *w->numbers[1] ? w->numbers[1] : NULL);
    add_option(w, "--timeout", *w->numbers[2] ? w->numbers[2] : NULL);
    add_option(w, "--peers", peers);
    add_option(w, "--device", args->device);
    add_option(w, "--backend", args->backend);
    add_option(w, "--math-mode", args->math_mode);
    add_option(w, "--visible-devices", args->visible_devices);
    for (uint32_t i = 0; i < args->libraries.n; i++)
        add_option(w, "--library", args->libraries.items[i]);
    for (uint32_t i = 0; i < args->plugins.n; i++)
        add_option(w, "--plugin", args->plugins.items[i]);
    w->full = w->full || args->plugin_options.n > MOST_SETTINGS;
    for (uint32_t i = 0; i < args->plugin_options.n && !w->full; i++) {
        const int n =
            snprintf(w->settings[i], sizeof w->settings[i], "%s=%s",
                     args->plugin_options.items[i].key, args->plugin_options.items[i].value);
        w->full = n >= (int)sizeof w->settings[i];
        add_option(w, "--plugin-option", w->settings[i]);
    }
}

/* The report of a process that measures a model beside these peers. NULL without one, with the
 * signal of a crash or 0. */
static json_t *bench_one(const cli_args *args, const char *peers, const char *folder, int *signal,
                         tfr_err *err)
{
    child_words words = {.n = 0};
    json_t *object = NULL;
    char *text;
    *signal = 0;
    make_words(args, peers, &words);
    add_option(&words, "model", folder);
    if (words.full) {
        (void)tfr_fail(err, TFR_ELIMIT,
                       "bench field passes %d options on, %d of them --plugin-option of %zu bytes; "
                       "use bench model for more",
                       MOST_WORDS / 2, MOST_SETTINGS, sizeof words.settings[0] - 1);
        return NULL;
    }
    if (bench_process_output(words.argv, MODEL_SECONDS, &text, signal, err))
        return NULL;
    if (!(object = json_loads(text, 0, NULL)))
        (void)tfr_fail(err, TFR_EIO,
                       *signal ? "its process crashed (signal %d)"
                               : "its process ended without a report",
                       *signal);
    free(text);
    return object;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static bench_spread spread_of(const json_t *object)
{
    return (bench_spread){number_of(object, "min"), number_of(object, "p10"),
                          number_of(object, "median"), number_of(object, "p90"),
                          number_of(object, "max")};
}

static void take_text(char *to, size_t capacity, const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    snprintf(to, capacity, "%s", text ? text : "");
}

/* From the first one on. */
static void take_sides(bench_report *report, bench_row *row, const json_t *sides, size_t first)
{
    for (size_t i = first; i < json_array_size(sides); i++) {
        const json_t *from = json_array_get(sides, i);
        bench_side *side = bench_add_side(report, row);
        if (!side)
            return;
        take_text(side->who, sizeof side->who, from, "who");
        take_text(side->note, sizeof side->note, from, "with");
        side->n = (uint64_t)fmax(0, number_of(from, "rounds"));
        side->seconds = spread_of(json_object_get(from, "seconds"));
        side->ratio = spread_of(json_object_get(from, "ratio"));
        side->rate = number_of(from, "flops_per_second");
        side->roof_share = number_of(from, "roof_share");
        side->error = number_of(from, "error");
    }
}

static void take_skips(bench_report *report, bench_row *row, const json_t *skips)
{
    for (size_t i = 0; i < json_array_size(skips); i++) {
        const json_t *skip = json_array_get(skips, i);
        const char *who = json_string_value(json_object_get(skip, "who"));
        const char *why = json_string_value(json_object_get(skip, "reason"));
        if (who && why)
            bench_add_skip(report, row, who, why);
    }
}

/* The row of a report, or the skip that its error is. */
static bench_row *take_report(bench_report *report, const char *name, const json_t *object)
{
    const json_t *from = json_array_get(json_object_get(object, "rows"), 0);
    const json_t *figures = json_object_get(from, "figures");
    const char *why = json_string_value(json_object_get(json_object_get(object, "error"), "text"));
    bench_row *row;
    if (!from) {
        bench_add_skip(report, NULL, name, why ? why : "its process gave an empty report");
        return NULL;
    }
    if (!(row = bench_add_row(report, 0, "%s", name)))
        return NULL;
    take_sides(report, row, json_object_get(from, "sides"), 0);
    take_skips(report, row, json_object_get(from, "skipped"));
    bench_add_figure(report, row, "plan_seconds", "plan", "s", number_of(figures, "plan_seconds"));
    bench_add_figure(report, row, "arena_bytes", "arena", "B", number_of(figures, "arena_bytes"));
    return row;
}

/* ---- a model --------------------------------------------------------------------------------- */

/* Adds what one process has measured to the row, if there is one already. */
static void add_measured(bench_report *report, bench_row **row, const char *name,
                         const json_t *object)
{
    const json_t *from = json_array_get(json_object_get(object, "rows"), 0);
    if (from && *row) {
        take_sides(report, *row, json_object_get(from, "sides"), 1);
        take_skips(report, *row, json_object_get(from, "skipped"));
    } else if (from) {
        *row = take_report(report, name, object);
    }
}

/*
 * A crash of a peer takes the process of a model with it, our figures included. So where a process
 * has crashed, each peer gets one of its own, beside which we are measured again.
 */
static bench_row *bench_apart(const cli_args *args, const char *name, const char *folder,
                              bench_report *report)
{
    static const char *const peers[] = {"onnxruntime", "openvino"};
    const bench_options options = {.peers = args->peers};
    bench_row *row = NULL;
    char why[2][80] = {"", ""};
    tfr_err err = TFR_ERR_INIT;
    for (int i = 0; i < 3; i++) { /* the third time without any */
        json_t *object = NULL;
        int how = 0;
        if (i == 2 ? !row : bench_wants(&options, peers[i]))
            object = bench_one(args, i < 2 ? peers[i] : "none", folder, &how, &err);
        add_measured(report, &row, name, object);
        if (i < 2 && how && !object)
            snprintf(why[i], sizeof why[i], "crashed (signal %d, %s)", how, strsignal(how));
        json_decref(object);
    }
    for (int i = 0; row && i < 2; i++)
        if (*why[i])
            bench_add_skip(report, row, peers[i], why[i]);
    return row;
}

static bench_row *add_model(const cli_args *args, const char *name, const char *folder,
                            bench_report *report)
{
    tfr_err err = TFR_ERR_INIT;
    int how = 0;
    json_t *object = bench_one(args, args->peers, folder, &how, &err);
    bench_row *row = NULL;
    if (object)
        row = take_report(report, name, object);
    else if (!how || !(row = bench_apart(args, name, folder, report)))
        bench_add_skip(report, NULL, name, err.text);
    json_decref(object);
    return row;
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* How much longer the peer takes than we do, at the medians; who NULL = the best of them. */
static double ratio_of(const bench_row *row, const char *who)
{
    double least = NAN;
    for (uint32_t i = 1; i < row->n_sides; i++)
        if (!who || strcmp(row->sides[i].who, who) == 0)
            least = fmin(least, row->sides[i].ratio.median);
    return least;
}

static void add_mean(bench_report *report, const char *who, const char *name)
{
    char key[40], text[80];
    double sum = 0;
    uint32_t n = 0, slower = 0;
    for (uint32_t i = 0; i < report->n_rows; i++) {
        const double ratio = ratio_of(&report->rows[i], who);
        if (isnan(ratio) || ratio <= 0)
            continue;
        sum += log(ratio);
        n++;
        slower += ratio < 0.9;
    }
    if (!n)
        return;
    snprintf(key, sizeof key, "geometric_mean_%s", name);
    snprintf(text, sizeof text, "time of %s / ours, geometric mean of %u models:", who ? who : name,
             n);
    bench_add_figure(report, NULL, key, text, "", exp(sum / n));
    snprintf(key, sizeof key, "below_0.9_%s", name);
    snprintf(text, sizeof text, "models where that is below 0.9:");
    bench_add_figure(report, NULL, key, text, "", slower);
}

static void tell(const bench_row *row, const char *name)
{
    char text[48];
    if (!row)
        return;
    printf("%-28s", name);
    for (uint32_t i = 0; i < row->n_sides; i++) {
        printf("  %s %s", row->sides[i].who,
               cli_format_seconds(row->sides[i].seconds.median, text, sizeof text));
        if (i)
            printf(" (%.2f)", row->sides[i].ratio.median);
    }
    printf("\n");
    fflush(stdout);
}

tfr_status cli_bench_field(const cli_args *args, bench_report *report, tfr_err *err)
{
    cli_folders folders = {0};
    tfr_status status = cli_folders_find(&folders, args->words[1], err);
    if (!status && !folders.n)
        status = tfr_fail(err, TFR_EINVAL,
                          "%s holds no model.onnx, and no folder in it does; "
                          "bench/field/get_models.py DIR makes some",
                          args->words[1]);
    report->error_is = "largest difference between its outputs and ours";
    for (uint32_t i = 0; !status && i < folders.n; i++) {
        const char *name = strrchr(folders.items[i], '/');
        const bench_row *row;
        name = name ? name + 1 : folders.items[i];
        row = add_model(args, name, folders.items[i], report);
        if (!args->json && !args->csv)
            tell(row, name);
    }
    cli_folders_finish(&folders);
    add_mean(report, "onnxruntime", "onnxruntime");
    add_mean(report, "openvino", "openvino");
    add_mean(report, NULL, "best_peer");
    return status;
}

/* ---- people ---------------------------------------------------------------------------------- */

static void add_peer(cli_table *table, const bench_row *row, const char *who)
{
    const bench_side *side = NULL;
    char text[48];
    for (uint32_t i = 1; i < row->n_sides; i++)
        if (strcmp(row->sides[i].who, who) == 0)
            side = &row->sides[i];
    cli_table_add(table, "%s",
                  side ? cli_format_seconds(side->seconds.median, text, sizeof text) : "-");
    if (side)
        cli_table_add(table, "%.2f [%.2f-%.2f]", side->ratio.median, side->ratio.p10,
                      side->ratio.p90);
    else
        cli_table_add(table, "-");
}

tfr_status cli_bench_field_print(const bench_report *report, tfr_err *err)
{
    static const char *const titles[] = {"MODEL",    "TFRUN", "ONNXRUNTIME", "RATIO",
                                         "OPENVINO", "RATIO", "BEST",        "PLAN"};
    static const uint32_t flags[] = {0,         CLI_RIGHT, CLI_RIGHT, CLI_RIGHT,
                                     CLI_RIGHT, CLI_RIGHT, CLI_RIGHT, CLI_RIGHT};
    cli_table *table = cli_table_create(8, titles, flags);
    tfr_status status;
    char text[48];
    cli_line(stdout, "%s, %u thread%s", report->cpu, report->n_threads,
             report->n_threads == 1 ? "" : "s");
    for (uint32_t i = 0; i < report->n_rows; i++) {
        const bench_row *row = &report->rows[i];
        const double best = ratio_of(row, NULL);
        cli_table_add(table, "%s", row->what);
        cli_table_add(table, "%s",
                      row->n_sides
                          ? cli_format_seconds(row->sides[0].seconds.median, text, sizeof text)
                          : "-");
        add_peer(table, row, "onnxruntime");
        add_peer(table, row, "openvino");
        snprintf(text, sizeof text, "%.2f", best);
        cli_table_add(table, "%s", isnan(best) ? "-" : text);
        cli_table_add(table, "%s", cli_format_seconds(row->figures[0].value, text, sizeof text));
    }
    status = cli_table_print(table, err);
    for (uint32_t i = 0; i < report->n_figures; i++)
        printf("%s %.3g\n", report->figures[i].text, report->figures[i].value);
    for (uint32_t i = 0; i < report->n_rows; i++)
        for (uint32_t k = 0; k < report->rows[i].n_skips; k++)
            cli_line(stdout, "skipped: %s: %s: %s", report->rows[i].what,
                     report->rows[i].skips[k].who, report->rows[i].skips[k].why);
    for (uint32_t i = 0; i < report->n_skips; i++)
        cli_line(stdout, "skipped: %s: %s", report->skips[i].who, report->skips[i].why);
    printf("ratio: the peer's time / ours in the same round; above 1 we are faster\n");
    return status;
}
