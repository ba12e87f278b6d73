/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify_workers.c: the models of `tfrun verify` as jobs of worker processes, where a crash fails
 * one model.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tfrun/fail.h>

#include "crew.h"
#include "verify.h"

#define DEFAULT_TIMEOUT 600 /* seconds for a model */
#define GRACE           3   /* more of them, for a run that ends itself after --timeout */

typedef struct batch {
    const cli_args *args;
    char *const *dirs;
    uint32_t n_threads; /* of each worker */
    cli_verdict_fn report;
    void *user;
} batch;

static tfr_status open_worker(const batch *b, tfr_runtime **runtime, tfr_err *err)
{
    cli_args args = *b->args;
    uint32_t device;
    int32_t backend;
    tfr_status status;
    if (!args.threads)
        args.threads = b->n_threads;
    *runtime = NULL;
    status = cli_open_runtime(&args, runtime, err);
    /* A wrong device is one mistake, not one a model. */
    if (!status && args.device)
        status = tfr_runtime_find(*runtime, args.device, &device, &backend, err);
    if (status) {
        tfr_runtime_release(*runtime);
        *runtime = NULL;
    }
    return status;
}

/* The plugins that broke the contract, one bit each; of the first 64. */
static uint64_t find_quarantined(const tfr_runtime *runtime)
{
    uint32_t n = tfr_runtime_n_plugins(runtime);
    uint64_t found = 0;
    for (uint32_t i = 0; i < n && i < 64; i++) {
        tfr_plugin_desc plugin = {.size = sizeof plugin};
        if (!tfr_runtime_plugin(runtime, i, &plugin, NULL) &&
            plugin.state == TFR_PLUGIN_QUARANTINED)
            found |= UINT64_C(1) << i;
    }
    return found;
}

/*
 * Tries one model. Where a backend accepted a call and then failed, the model has failed although
 * its node ran elsewhere and gave what is expected: who verifies wants to know of it. True: one
 * did, and the runtime, which does not ask it again, is of no use for the next model.
 */
static bool try_model(const batch *b, tfr_runtime *runtime, uint32_t model, cli_verdict *verdict)
{
    uint64_t before = find_quarantined(runtime), broke;
    tfr_plugin_desc plugin = {.size = sizeof plugin};
    uint32_t i = 0;
    cli_verify_model(b->args, runtime, b->dirs[model], verdict);
    broke = find_quarantined(runtime) & ~before;
    while (broke && !(broke >> i & 1))
        i++;
    if (broke && verdict->result != CLI_DIFFERENT &&
        !tfr_runtime_plugin(runtime, i, &plugin, NULL)) {
        verdict->result = CLI_DIFFERENT;
        verdict->code = TFR_EPLUGIN;
        snprintf(verdict->text, sizeof verdict->text, "plugin %s did not keep its word: %s",
                 plugin.name, plugin.reason);
    }
    if (verdict->n_broken && verdict->result != CLI_DIFFERENT) {
        verdict->result = CLI_DIFFERENT;
        verdict->code = TFR_EPLUGIN;
        snprintf(verdict->text, sizeof verdict->text, "%s", verdict->broken);
    }
    if (broke && !verdict->n_broken) /* a program, or a run that failed */
        verdict->n_broken = 1;
    return verdict->n_broken != 0;
}

static void finish_worker(void *user, void *state)
{
    (void)user;
    tfr_runtime_release(state);
}

static void do_model(void *user, void **state, uint32_t job, void *result)
{
    const batch *b = user;
    cli_verdict *verdict = result;
    tfr_runtime *runtime = *state;
    tfr_err err = TFR_ERR_INIT;
    if (!runtime && open_worker(b, &runtime, &err)) {
        verdict->code = err.code;
        verdict->fatal_exit = cli_exit_of(err.code);
        snprintf(verdict->text, sizeof verdict->text, "%s", err.text);
    } else if (try_model(b, runtime, job, verdict)) {
        tfr_runtime_release(runtime);
        runtime = NULL;
    }
    *state = runtime;
}

static void lose_model(void *user, uint32_t job, const char *why, double seconds, void *result)
{
    cli_verdict *verdict = result;
    (void)user, (void)job;
    verdict->result = CLI_DIFFERENT;
    verdict->seconds = seconds;
    snprintf(verdict->text, sizeof verdict->text, "%s", why);
}

static int report_model(void *user, uint32_t job, const void *result)
{
    const batch *b = user;
    const cli_verdict *verdict = result;
    if (verdict->fatal_exit) {
        tfr_err err = TFR_ERR_INIT;
        (void)tfr_fail(&err, (tfr_status)verdict->code, "%s", verdict->text);
        return cli_fail_as(b->args, &err, verdict->fatal_exit);
    }
    b->report(b->user, job, verdict);
    return 0;
}

int cli_verify_all(const cli_args *args, char *const *dirs, uint32_t n_dirs, cli_verdict_fn report,
                   void *user)
{
    batch b = {.args = args, .dirs = dirs, .report = report, .user = user};
    const cli_crew crew = {
        .args = args,
        .n_jobs = n_dirs,
        .n_workers = cli_crew_size(args->jobs, n_dirs),
        .result_bytes = sizeof(cli_verdict),
        .seconds = args->timeout ? args->timeout : DEFAULT_TIMEOUT,
        .grace = args->timeout ? GRACE : 0,
        .user = &b,
        .work = do_model,
        .finish = finish_worker,
        .lose = lose_model,
        .report = report_model,
    };
    /* As many workers as processors share the threads; a single model gets them all. */
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    b.n_threads = cpus > (long)crew.n_workers ? (uint32_t)(cpus / (long)crew.n_workers) : 1;
    return cli_crew_run(&crew);
}
