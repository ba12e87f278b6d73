/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_verify.c: `tfrun verify`: finds models with test data, has them tried, and adds up. What
 * cannot be done is skipped with its reason, what is done wrong has failed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tfrun/fail.h>

#include "commands.h"
#include "json.h"
#include "model_folders.h"
#include "text.h"
#include "verify.h"

/* ---- finding models -------------------------------------------------------------------------- */

static tfr_status find_all(const cli_args *args, cli_folders *f, tfr_err *err)
{
    for (uint32_t i = 0; i < args->n_words; i++) {
        uint32_t before = f->n;
        char *dir = args->words[i];
        size_t n = strlen(dir);
        tfr_status status;
        while (n > 1 && dir[n - 1] == '/')
            dir[--n] = 0;
        status = cli_folders_find(f, dir, err);
        if (status)
            return status;
        if (f->n == before)
            return tfr_fail(err, TFR_EINVAL,
                            "%s holds no model.onnx, and no folder in it does; verify wants "
                            "DIR/model.onnx and DIR/test_data_set_0/{input,output}_0.pb",
                            dir);
    }
    return TFR_OK;
}

/* ---- results --------------------------------------------------------------------------------- */

typedef struct sums {
    const cli_args *args;
    const cli_folders *models;
    json_t *rows; /* with --json */
    uint32_t n[3];
    uint32_t n_broken;    /* models at which a plugin did not keep its word */
    uint32_t n_no_memory; /* of those that were skipped */
} sums;

static const struct {
    const char *word;
    cli_color color;
} results[] = {{"passed", CLI_GREEN}, {"failed", CLI_RED}, {"skipped", CLI_YELLOW}};

static const char *model_name(const char *dir)
{
    const char *slash = strrchr(dir, '/');
    return slash ? slash + 1 : dir;
}

static void report(void *user, uint32_t model, const cli_verdict *v)
{
    sums *s = user;
    const char *dir = s->models->items[model], *word = results[v->result].word;
    char text[sizeof v->text];
    s->n[v->result]++;
    s->n_broken += v->n_broken > 0;
    s->n_no_memory += v->result == CLI_PASSED_OVER && v->code == TFR_ENOMEM;
    if (s->rows) {
        json_t *row = json_object();
        cli_json_set(row, "name", cli_json_text(model_name(dir)));
        cli_json_set(row, "path", cli_json_text(dir));
        cli_json_set(row, "result", json_string(word));
        cli_json_set(row, "reason", cli_json_text(*v->text ? v->text : NULL));
        cli_json_set(row, "code",
                     v->code ? json_string(tfr_status_name((tfr_status)v->code)) : json_null());
        cli_json_set(row, "data_sets", cli_json_int(v->n_sets));
        cli_json_set(row, "fallbacks", cli_json_int(v->n_fallbacks));
        cli_json_set(row, "broken_promises", cli_json_int(v->n_broken));
        cli_json_set(row, "seconds", cli_json_real(v->seconds));
        cli_json_append(s->rows, row);
        return;
    }
    /* Cleaned apart, for the colour's bytes must stay. */
    snprintf(text, sizeof text, "%s", v->text);
    cli_clean(text);
    printf("%s: %s%s%s%s%s\n", model_name(dir), cli_color_on(results[v->result].color), word,
           cli_color_off(results[v->result].color), *text ? ": " : "", text);
    fflush(stdout);
}

static int finish(sums *s)
{
    tfr_err err = TFR_ERR_INIT;
    if (s->rows) {
        json_t *object = cli_json_start("verify");
        cli_json_set(object, "rtol", cli_json_real(s->args->rtol));
        cli_json_set(object, "atol", cli_json_real(s->args->atol));
        cli_json_set(object, "models", s->rows);
        cli_json_set(object, "passed", cli_json_int(s->n[CLI_PASSED]));
        cli_json_set(object, "failed", cli_json_int(s->n[CLI_DIFFERENT]));
        cli_json_set(object, "broken_promises", cli_json_int(s->n_broken));
        cli_json_set(object, "skipped", cli_json_int(s->n[CLI_PASSED_OVER]));
        s->rows = NULL;
        if (cli_json_print(object, &err))
            return cli_fail(s->args, &err);
    } else {
        printf("%u passed, %u failed, %u skipped\n", (unsigned)s->n[CLI_PASSED],
               (unsigned)s->n[CLI_DIFFERENT], (unsigned)s->n[CLI_PASSED_OVER]);
        if (s->n_broken)
            cli_line(
                stderr,
                "tfrun: in %u of %u models a plugin did not keep its word; `tfrun certify FILE` "
                "says more of it",
                (unsigned)s->n_broken, (unsigned)s->models->n);
    }
    if (s->n[CLI_DIFFERENT])
        return CLI_EXIT_DIFFERS;
    if (s->n_no_memory) {
        cli_line(stderr, "tfrun: %u of %u models could not be tried for lack of memory",
                 (unsigned)s->n_no_memory, (unsigned)s->models->n);
        return CLI_EXIT_MEMORY;
    }
    return s->n[CLI_PASSED] ? CLI_EXIT_DONE : CLI_EXIT_SKIPPED;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int verify_run(const cli_args *args)
{
    tfr_err err = TFR_ERR_INIT;
    cli_folders models = {0};
    sums s = {.args = args, .models = &models};
    int status;
    if (find_all(args, &models, &err)) {
        status = cli_fail(args, &err);
    } else {
        s.rows = args->json ? json_array() : NULL;
        status = cli_verify_all(args, models.items, models.n, report, &s);
        if (!status)
            status = finish(&s);
        json_decref(s.rows);
    }
    cli_folders_finish(&models);
    return status;
}

static const cli_option verify_options[] = {
    CLI_OPTION_DEVICE,
    CLI_OPTION_BACKEND,
    CLI_OPTION_FALLBACK,
    CLI_OPTION_PASSES,
    CLI_OPTION_MATH_MODE,
    CLI_OPTION_DETERMINISTIC,
    CLI_OPTION_PROGRAMS,
    CLI_OPTION_CAPTURE,
    CLI_OPTION_RTOL,
    {0, "atol", "A", CLI_REAL, CLI_FIELD(atol), "none", 0, 1e30,
     "absolute tolerance; default is 1e-7"},
    {0, "jobs", "N", CLI_NUMBER, CLI_FIELD(jobs), "none", 1, 256,
     "models at the same time; default is the number of processors"},
    {0, "timeout", "SECONDS", CLI_NUMBER, CLI_FIELD(timeout), "none", 1, 1e6,
     "time for one model, and for each of its runs; default is 600"},
    CLI_OPTION_END};

const cli_command cli_verify = {
    .name = "verify",
    .words = "DIR...",
    .least_words = 1,
    .most_words = UINT32_MAX,
    .word_values = "dir",
    .summary = "Run models on their test data and compare the outputs",
    .text = "Each DIR holds model.onnx and test_data_set_N/{input,output}_K.pb, the layout\n"
            "of ONNX's backend tests, or folders that do. An output passes if everywhere\n"
            "|obtained - expected| <= A + R * |expected|. Models run in processes of their\n"
            "own, so that a crash fails one model only. A model with an op or a feature that\n"
            "tfrun does not support is skipped, and the reason names it.",
    .log_level = TFR_LOG_ERROR,
    .checks = true,
    .options = verify_options,
    .run = verify_run,
};
