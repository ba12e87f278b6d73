/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_certify.c: `tfrun certify`: loads the checks of certify/, has them made in worker processes,
 * so that a plugin that crashes or hangs fails a check, and reports.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <certify/certify.h>
#include <core/base/beside.h>
#include <tfrun/fail.h>

#include "commands.h"
#include "crew.h"
#include "guard.h"
#include "json.h"
#include "suggest.h"
#include "text.h"

#define DEFAULT_TIMEOUT 120 /* seconds for a check */
#define PLACE_BYTES     256

typedef struct report {
    const cli_args *args;
    const certify_module *checks;
    certify_options options;
    json_t *rows; /* with --json */
    uint32_t n[4];
    bool is_over; /* no other check can be made */
} report;

static const struct {
    const char *word;
    cli_color color;
} results[] = {[CERTIFY_NOT_MADE] = {"", CLI_PLAIN},
               [CERTIFY_PASSED] = {"passed", CLI_GREEN},
               [CERTIFY_FAILED] = {"failed", CLI_RED},
               [CERTIFY_UNSUPPORTED] = {"unsupported", CLI_YELLOW}};

/* ---- one check ------------------------------------------------------------------------------- */

/* Checks that are not wanted cost no work: their numbers are answered at once. */
static void do_check(void *user, void **state, uint32_t job, void *result)
{
    const report *r = user;
    certify_subject *subject = *state;
    if (!r->checks->is_wanted(&r->options, job))
        return;
    cli_exit_guard_install();
    r->checks->run(&r->options, &subject, job, result);
    *state = subject;
}

static void finish_worker(void *user, void *state)
{
    const report *r = user;
    r->checks->finish(state);
}

static void lose_check(void *user, uint32_t job, const char *why, double seconds, void *result)
{
    const report *r = user;
    certify_verdict *v = result;
    (void)job, (void)seconds;
    v->result = CERTIFY_FAILED;
    snprintf(v->text, sizeof v->text, "%s%s%.200s", why, *r->options.place ? ": " : "",
             r->options.place);
    r->options.place[0] = 0;
}

static void print_row(const certify_check *check, const certify_verdict *v)
{
    char text[sizeof v->text];
    /* Cleaned apart, for the colour's bytes must stay. */
    snprintf(text, sizeof text, "%s", v->text);
    cli_clean(text);
    printf("%s%s%s: %s%s%s%s%s\n", check->op, *check->op ? " " : "", check->name,
           cli_color_on(results[v->result].color), results[v->result].word,
           cli_color_off(results[v->result].color), *text ? ": " : "", text);
    for (const char *line = v->call; *line;) {
        size_t n = strcspn(line, "\n");
        cli_line(stdout, "%.*s", (int)n, line);
        line += n + (line[n] == '\n');
    }
    fflush(stdout);
}

static void add_row(json_t *rows, const certify_check *check, const certify_verdict *v)
{
    json_t *row = json_object();
    cli_json_set(row, "check", json_string(check->name));
    cli_json_set(row, "op", cli_json_text(*check->op ? check->op : NULL));
    cli_json_set(row, "result", json_string(results[v->result].word));
    cli_json_set(row, "text", cli_json_text(v->text));
    cli_json_set(row, "calls", cli_json_int(v->n_calls));
    cli_json_set(row, "refused", cli_json_int(v->n_refused));
    cli_json_set(row, "call", cli_json_text(*v->call ? v->call : NULL));
    cli_json_append(rows, row);
}

static int report_check(void *user, uint32_t job, const void *result)
{
    report *r = user;
    const certify_verdict *v = result;
    const certify_check check = r->checks->describe(job);
    if (v->code) {
        tfr_err err = TFR_ERR_INIT;
        (void)tfr_fail(&err, (tfr_status)v->code, "%s", v->text);
        return cli_fail(r->args, &err);
    }
    if (v->result == CERTIFY_NOT_MADE)
        return 0;
    r->n[v->result]++;
    if (r->rows)
        add_row(r->rows, &check, v);
    else
        print_row(&check, v);
    r->is_over = v->is_last;
    return v->is_last ? CLI_EXIT_FAILED : 0;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int finish(report *r)
{
    tfr_err err = TFR_ERR_INIT;
    if (r->rows) {
        json_t *object = cli_json_start("certify");
        cli_json_set(object, "tfrun", json_string(tfr_version()));
        cli_json_set(object, "plugin", cli_json_text(r->options.file));
        cli_json_set(object, "checks", r->rows);
        cli_json_set(object, "passed", cli_json_int(r->n[CERTIFY_PASSED]));
        cli_json_set(object, "failed", cli_json_int(r->n[CERTIFY_FAILED]));
        cli_json_set(object, "unsupported", cli_json_int(r->n[CERTIFY_UNSUPPORTED]));
        r->rows = NULL;
        if (cli_json_print(object, &err))
            return cli_fail(r->args, &err);
    } else {
        printf("%u passed, %u failed, %u unsupported\n", (unsigned)r->n[CERTIFY_PASSED],
               (unsigned)r->n[CERTIFY_FAILED], (unsigned)r->n[CERTIFY_UNSUPPORTED]);
    }
    return r->n[CERTIFY_FAILED] ? CLI_EXIT_FAILED : CLI_EXIT_DONE;
}

static const char *op_name(const void *user, uint32_t i)
{
    tfr_op_desc op = {.size = sizeof op};
    (void)user;
    return tfr_op_describe(i, &op, NULL) ? "" : op.name;
}

static int run_checks(report *r)
{
    const cli_crew crew = {
        .args = r->args,
        .n_jobs = r->checks->n_checks(),
        .n_workers = 1, /* a device may be there for one process only */
        .result_bytes = sizeof(certify_verdict),
        .seconds = r->args->timeout ? r->args->timeout : DEFAULT_TIMEOUT,
        .user = r,
        .work = do_check,
        .finish = finish_worker,
        .lose = lose_check,
        .report = report_check,
    };
    int status = cli_crew_run(&crew);
    return status && !r->is_over ? status : finish(r);
}

/* The plugin's file, then those of --plugin. */
static tfr_status set_runtime(const cli_args *args, const char **files, certify_options *o,
                              tfr_err *err)
{
    tfr_runtime_options *runtime = &o->runtime;
    if (access(o->file, R_OK) != 0)
        return tfr_fail(err, TFR_EIO, "%s cannot be read: %s", o->file, strerror(errno));
    files[0] = o->file;
    for (uint32_t i = 0; i < args->plugins.n; i++)
        files[1 + i] = args->plugins.items[i];
    runtime->plugin_files = files;
    runtime->n_plugin_files = 1 + args->plugins.n;
    runtime->plugin_dirs = args->plugin_paths.items;
    runtime->n_plugin_dirs = args->plugin_paths.n;
    runtime->options = args->plugin_options.items;
    runtime->n_options = args->plugin_options.n;
    runtime->visible_devices = args->visible_devices;
    runtime->n_threads = (uint32_t)args->threads;
    runtime->logical_cpus = (uint32_t)args->logical_cpus;
    o->place = mmap(NULL, PLACE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    o->place_capacity = PLACE_BYTES;
    return o->place != MAP_FAILED ? TFR_OK : tfr_fail(err, TFR_ENOMEM, "no memory for a report");
}

/* The module stays loaded until the process ends. */
static tfr_status load_checks(const certify_module **out, tfr_err *err)
{
    char path[1200];
    void *module =
        dlopen(tfr__beside_find("certify", "tfrun-certify.so", TFR_EXEC_DIR, path, sizeof path),
               RTLD_NOW | RTLD_LOCAL);
    const char *why = module ? NULL : dlerror();
    *out = module ? dlsym(module, CERTIFY_MODULE) : NULL;
    if (*out && strcmp((*out)->version, PACKAGE_VERSION) != 0)
        why = "it belongs to another version";
    else if (*out)
        return TFR_OK;
    return tfr_fail(err, TFR_EIO,
                    "the checks of plugins cannot be loaded: %s: %s; install this tfrun again",
                    path, why ? why : "it has no " CERTIFY_MODULE);
}

static int certify_main(const cli_args *args)
{
    report r = {.args = args,
                .options = {.runtime = TFR_RUNTIME_OPTIONS_INIT,
                            .file = args->words[0],
                            .device = args->device,
                            .ops = args->ops}};
    char name[64], hint[128];
    const char **files;
    tfr_err err = TFR_ERR_INIT;
    int status;
    if (load_checks(&r.checks, &err))
        return cli_fail(args, &err);
    if (r.checks->has_unknown(args->ops, name, sizeof name))
        return cli_usage(args, "there is no op \"%s\"%s", name,
                         *cli_did_you_mean(name, op_name, NULL, tfr_op_count(), hint, sizeof hint)
                             ? hint
                             : "; `tfrun ops` lists them");
    files = calloc(args->plugins.n + 1, sizeof *files);
    if (!files) {
        (void)tfr_fail(&err, TFR_ENOMEM, "no memory for the names of plugins");
        return cli_fail(args, &err);
    }
    if (set_runtime(args, files, &r.options, &err)) {
        status = cli_fail(args, &err);
    } else {
        r.rows = args->json ? json_array() : NULL;
        status = run_checks(&r);
        json_decref(r.rows);
        munmap(r.options.place, PLACE_BYTES);
    }
    free(files);
    return status;
}

static const cli_option certify_table[] = {
    {'d', "device", "NAME", CLI_TEXT, CLI_FIELD(device), "device", 0, 0,
     "the device, or backend of the plugin, to check; default is its first one"},
    {0, "ops", "LIST", CLI_TEXT, CLI_FIELD(ops), "op", 0, 0,
     "check these ops only, for example Relu,Conv; default is all that the plugin claims"},
    {0, "timeout", "SECONDS", CLI_NUMBER, CLI_FIELD(timeout), "none", 1, 1e6,
     "time for one check; default is 120"},
    CLI_OPTION_END};

const cli_command cli_certify = {
    .name = "certify",
    .words = "PLUGIN",
    .least_words = 1,
    .most_words = 1,
    .word_values = "file",
    .summary = "Check a plugin: its facts, its life cycle, and every op against the reference",
    .text = "PLUGIN is the file of a backend. Each op that it claims is tried on the calls\n"
            "that tfrun's own backends are tested with: values, strided, unaligned, constant\n"
            "and empty operands, runs that are repeated, and calls that are wrong. A result\n"
            "must agree with naive:0 and come from the plugin. Kernels are launched between\n"
            "guards, too, and queues, fences, failures and allocations are tried one by one,\n"
            "as far as the plugin has them. Checks run in a process of\n"
            "their own, so that a crash fails one check only. What the plugin says no to is\n"
            "unsupported, and its reason stands there. The status is 1 if a check failed.",
    .log_level = TFR_LOG_ERROR,
    .options = certify_table,
    .run = certify_main,
};
