/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c: the command line of the op tests:
 *   ops [--list FILE] [--case NAME[:SEED]] [--seeds N] [--seed FIRST] [--option KEY=VALUE] [-v]
 *       MODE[,MODE] BACKEND
 * Modes: value, hostile, claims, support (a table), bench (CSV). Ends with "N passed, N failed, N
 * skipped", but for the tables; exits 77 when there is no such backend.
 */
#include <stdlib.h>
#include <string.h>

#include "guard.h"
#include "modes.h"

typedef struct options {
    const char *list, *modes;
    char only[64];
    char key[64]; /* of a plugin's option */
    tfr_option option;
} options;

static int usage(void)
{
    fprintf(stderr, "usage: ops [--list FILE] [--case NAME[:SEED]] [--seeds N] [--seed FIRST] "
                    "[--option KEY=VALUE] [-v] MODE[,MODE] BACKEND\nmodes: value hostile claims "
                    "support bench\n");
    return 2;
}

static void set_case(ops_run *run, options *o, const char *text)
{
    snprintf(o->only, sizeof o->only, "%.*s", (int)strcspn(text, ":"), text);
    run->only = o->only;
    if (strchr(text, ':')) {
        run->first_seed = strtoull(strchr(text, ':') + 1, NULL, 10);
        run->n_seeds = 1;
    }
}

static void set_option(options *o, const char *text)
{
    const size_t length = strcspn(text, "=");
    snprintf(o->key, sizeof o->key, "%.*s", (int)length, text);
    o->option = (tfr_option){o->key, text + length + (text[length] == '=')};
}

static bool parse(int argc, char **argv, ops_run *run, options *o)
{
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "-v") == 0) {
            run->verbose = true;
            continue;
        }
        if (i + 1 == argc)
            return false;
        const char *value = argv[++i];
        if (strcmp(argv[i - 1], "--list") == 0)
            o->list = value;
        else if (strcmp(argv[i - 1], "--case") == 0)
            set_case(run, o, value);
        else if (strcmp(argv[i - 1], "--seeds") == 0)
            run->n_seeds = strtoull(value, NULL, 10);
        else if (strcmp(argv[i - 1], "--option") == 0)
            set_option(o, value);
        else if (strcmp(argv[i - 1], "--seed") == 0)
            run->first_seed = strtoull(value, NULL, 10);
        else
            return false;
    }
    if (argc - i != 2)
        return false;
    o->modes = argv[i];
    run->backend = argv[i + 1];
    return true;
}

/* No call of a description is worth a warning, so one is kept for whoever judges the call. */
static void hear(void *user, tfr_log_level level, const char *who, const char *text)
{
    ops_run *run = user;
    /* A bad size that makes gigabytes is announced, and refused by who cannot have them. */
    const bool announced = strcmp(who, "session") == 0 && strstr(text, " of memory");
    if (level <= TFR_LOG_WARNING && !announced)
        snprintf(run->talk, sizeof run->talk, "%s: %s", who, text);
}

static bool run_modes(ops_run *run, const char *modes)
{
    static const struct {
        const char *name;
        void (*mode)(ops_run *);
    } all[] = {{"value", ops_mode_value},
               {"hostile", ops_mode_hostile},
               {"claims", ops_mode_claims},
               {"support", ops_mode_support},
               {"bench", ops_mode_bench}};
    const size_t n = sizeof all / sizeof all[0];
    while (*modes) {
        size_t length = strcspn(modes, ","), m = 0;
        while (m < n && (strlen(all[m].name) != length || strncmp(all[m].name, modes, length) != 0))
            m++;
        if (m == n)
            return false;
        all[m].mode(run);
        modes += length;
        modes += *modes == ',';
    }
    return true;
}

int main(int argc, char **argv)
{
    static ops_run run = {.first_seed = 1, .n_seeds = 24, .watch = ops_guard_call};
    options o = {0};
    tfr_err err = TFR_ERR_INIT;
    setvbuf(stdout, NULL, _IOLBF, 0);
    run.out = stdout;
    if (!parse(argc, argv, &run, &o))
        return usage();
    if (o.list && !ops_list_read(o.list))
        return 1;
    tfr_runtime_options runtime = TFR_RUNTIME_OPTIONS_INIT;
    runtime.log = hear;
    runtime.log_user = &run;
    runtime.options = &o.option;
    runtime.n_options = o.option.key ? 1 : 0;
    ops_must(tfr_runtime_create(&runtime, &run.runtime, &err), &err, "the runtime");
    tfr_status status =
        tfr_runtime_find(run.runtime, run.backend, &run.device, &run.backend_index, &err);
    if (status == TFR_ENOTFOUND) {
        printf("skipped: %s\n0 passed, 0 failed, 1 skipped\n", err.text);
        tfr_runtime_release(run.runtime);
        return 77;
    }
    ops_must(status, &err, run.backend);
    run.is_reference = strncmp(run.backend, "naive", 5) == 0;
    bool table = strstr(o.modes, "support") || strstr(o.modes, "bench");
    if (!table)
        printf("seeds %llu to %llu\n", (unsigned long long)run.first_seed,
               (unsigned long long)(run.first_seed + run.n_seeds - 1));
    bool known = run_modes(&run, o.modes);
    tfr_runtime_release(run.runtime);
    if (!known)
        return usage();
    if (!table)
        printf("%llu passed, %llu failed, 0 skipped\n", (unsigned long long)run.n_passed,
               (unsigned long long)run.n_failed);
    return run.n_failed > 0 || (!table && run.n_passed == 0);
}
