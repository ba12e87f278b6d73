/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_ops.c: `tfrun ops`: the op table, and which backends claim each op. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tfrun/fail.h>

#include "commands.h"
#include "json.h"
#include "suggest.h"
#include "table.h"

/* Has a list with commas this word? */
static bool list_has(const char *list, const char *word)
{
    size_t n = strlen(word);
    while (*list) {
        size_t item = strcspn(list, ",");
        if (item == n && memcmp(list, word, n) == 0)
            return true;
        list += item;
        list += strspn(list, ", ");
    }
    return false;
}

/* Plugins that claim op, each once, as "onednn, naive"; "core" for what the core does itself. */
static void claims_text(const tfr_runtime *runtime, uint32_t op, bool metadata, char *text,
                        size_t n)
{
    size_t used = (size_t)snprintf(text, n, "%s", metadata ? "core" : "");
    for (uint32_t d = 0; d < tfr_runtime_n_devices(runtime); d++) {
        tfr_backend_desc b = {.size = sizeof b};
        for (uint32_t i = 0; !tfr_runtime_backend(runtime, d, i, &b, NULL); i++)
            /* Logical devices share their plugins. */
            if (used < n && tfr_runtime_claims(runtime, d, i, op) && !list_has(text, b.plugin))
                used += (size_t)snprintf(text + used, n - used, "%s%s", used ? ", " : "", b.plugin);
    }
}

/* Is there a backend of this plugin that claims op? */
static bool is_claimed_by(const tfr_runtime *runtime, uint32_t op, const char *plugin)
{
    for (uint32_t d = 0; d < tfr_runtime_n_devices(runtime); d++) {
        tfr_backend_desc b = {.size = sizeof b};
        for (uint32_t i = 0; !tfr_runtime_backend(runtime, d, i, &b, NULL); i++)
            if (strcmp(b.plugin, plugin) == 0 && tfr_runtime_claims(runtime, d, i, op))
                return true;
    }
    return false;
}

static const char *op_name(const void *user, uint32_t i)
{
    tfr_op_desc op = {.size = sizeof op};
    (void)user;
    return tfr_op_describe(i, &op, NULL) ? "" : op.name;
}

/* Does the user want to see it? No words want all; DOMAIN::NAME is understood, too. */
static bool is_wanted(const cli_args *args, const tfr_runtime *runtime, uint32_t i,
                      const tfr_op_desc *op)
{
    bool named = args->n_words == 0;
    for (uint32_t w = 0; w < args->n_words; w++)
        named = named || strcasecmp(args->words[w], op->name) == 0;
    return named && (!args->backend || is_claimed_by(runtime, i, args->backend));
}

/* A word that names no op is answered with the nearest one. */
static tfr_status check_words(const cli_args *args, tfr_err *err)
{
    for (uint32_t w = 0; w < args->n_words; w++) {
        char hint[128];
        bool found = false;
        for (uint32_t i = 0; i < tfr_op_count() && !found; i++)
            found = strcasecmp(args->words[w], op_name(NULL, i)) == 0;
        if (!found)
            return tfr_fail(
                err, TFR_ENOTFOUND, "there is no op \"%s\"%s", args->words[w],
                *cli_did_you_mean(args->words[w], op_name, NULL, tfr_op_count(), hint, sizeof hint)
                    ? hint
                    : "; `tfrun ops` lists them");
    }
    return TFR_OK;
}

static tfr_status print_ops(const cli_args *args, const tfr_runtime *runtime, tfr_err *err)
{
    static const char *const titles[] = {"OP", "DOMAIN", "SINCE", "BACKENDS"};
    static const char *const long_titles[] = {"OP",     "DOMAIN",  "SINCE",      "BACKENDS",
                                              "INPUTS", "OUTPUTS", "ATTRIBUTES", "TYPES"};
    static const uint32_t flags[] = {0, 0, CLI_RIGHT, 0, CLI_WRAP, CLI_WRAP, CLI_WRAP, CLI_WRAP};
    bool all = args->verbose || args->n_words;
    cli_table *table = cli_table_create(all ? 8 : 4, all ? long_titles : titles, flags);
    uint32_t n = 0, n_claimed = 0;
    tfr_status status;
    for (uint32_t i = 0; i < tfr_op_count(); i++) {
        tfr_op_desc op = {.size = sizeof op};
        char claims[256];
        status = tfr_op_describe(i, &op, err);
        if (status) {
            cli_table_destroy(table);
            return status;
        }
        if (!is_wanted(args, runtime, i, &op))
            continue;
        claims_text(runtime, i, op.metadata != 0, claims, sizeof claims);
        n++;
        n_claimed += *claims != 0;
        cli_table_add(table, "%s", op.name);
        cli_table_add(table, "%s", *op.domain ? op.domain : "ai.onnx");
        cli_table_add(table, "%d", (int)op.since_version);
        cli_table_add(table, "%s", *claims ? claims : "-");
        if (all) {
            cli_table_add(table, "%s", op.inputs);
            cli_table_add(table, "%s", op.outputs);
            cli_table_add(table, "%s", op.attrs);
            cli_table_add(table, "%s", op.types);
        }
    }
    status = cli_table_print(table, err);
    if (!status && !args->n_words)
        printf("%u ops, %u of them with a backend\n", (unsigned)n, (unsigned)n_claimed);
    return status;
}

static json_t *op_json(const tfr_runtime *runtime, uint32_t i, const tfr_op_desc *op)
{
    json_t *row = json_object(), *names = json_array();
    char claims[256], digest[24], *rest = claims, *name;
    claims_text(runtime, i, op->metadata != 0, claims, sizeof claims);
    while ((name = strsep(&rest, ", ")))
        if (*name)
            cli_json_append(names, cli_json_text(name));
    snprintf(digest, sizeof digest, "%016llx", (unsigned long long)op->digest);
    cli_json_set(row, "name", cli_json_text(op->name));
    cli_json_set(row, "domain", cli_json_text(op->domain));
    cli_json_set(row, "since_version", json_integer(op->since_version));
    cli_json_set(row, "compat_version", json_integer(op->compat_version));
    cli_json_set(row, "metadata", json_boolean(op->metadata));
    cli_json_set(row, "backends", names);
    cli_json_set(row, "inputs", cli_json_text(op->inputs));
    cli_json_set(row, "outputs", cli_json_text(op->outputs));
    cli_json_set(row, "attributes", cli_json_text(op->attrs));
    cli_json_set(row, "types", cli_json_text(op->types));
    cli_json_set(row, "digest", cli_json_text(digest));
    return row;
}

static tfr_status print_json(const cli_args *args, const tfr_runtime *runtime, tfr_err *err)
{
    json_t *object = cli_json_start("ops"), *rows = json_array();
    for (uint32_t i = 0; i < tfr_op_count(); i++) {
        tfr_op_desc op = {.size = sizeof op};
        if (!tfr_op_describe(i, &op, NULL) && is_wanted(args, runtime, i, &op))
            cli_json_append(rows, op_json(runtime, i, &op));
    }
    cli_json_set(object, "ops", rows);
    return cli_json_print(object, err);
}

static int ops_run(const cli_args *args)
{
    tfr_err err = TFR_ERR_INIT;
    tfr_runtime *runtime;
    tfr_status status;
    if (check_words(args, &err))
        return cli_fail_as(args, &err, CLI_EXIT_USAGE);
    status = cli_open_runtime(args, &runtime, &err);
    if (status)
        return cli_fail(args, &err);
    status = args->json ? print_json(args, runtime, &err) : print_ops(args, runtime, &err);
    tfr_runtime_release(runtime);
    return status ? cli_fail(args, &err) : CLI_EXIT_DONE;
}

static const cli_option ops_options[] = {{'b', "backend", "NAME", CLI_TEXT, CLI_FIELD(backend),
                                          "backend", 0, 0, "only the ops that this backend claims"},
                                         CLI_OPTION_END};

const cli_command cli_ops = {
    .name = "ops",
    .words = "[OP]...",
    .most_words = UINT32_MAX,
    .word_values = "op",
    .summary = "List the ops that tfrun knows and the backends that claim them",
    .text = "With names of ops, or with --verbose, the inputs, outputs, attributes and types\n"
            "are listed, too. \"core\" is what the core does itself on every device.",
    .log_level = TFR_LOG_WARNING,
    .options = ops_options,
    .run = ops_run,
};
