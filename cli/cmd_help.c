/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_help.c: `tfrun help`, `tfrun help COMMAND`, `tfrun help env` and --help. The texts about
 * options come from the option tables.
 */
#include <stdio.h>
#include <string.h>

#include <tfrun/fail.h>

#include "commands.h"
#include "help.h"
#include "json.h"
#include "options.h"
#include "suggest.h"
#include "table.h"

#define HELP_COLUMN 28 /* where the explanation of an option starts */
#define HELP_WIDTH  80

/* Prints text from column `at` on, broken at blanks before HELP_WIDTH. */
static void print_wrapped(const char *text, int at, int column)
{
    while (*text) {
        size_t n = strcspn(text, " ");
        if (column > at && column + 1 + (int)n > HELP_WIDTH) {
            printf("\n%*s", at, "");
            column = at;
        } else if (column > at) {
            putchar(' ');
            column++;
        }
        printf("%.*s", (int)n, text);
        column += (int)n;
        text += n;
        text += *text == ' ';
    }
    putchar('\n');
}

static void print_options(const cli_option *options)
{
    for (const cli_option *o = options; o && o->name; o++) {
        char text[64];
        int n = snprintf(text, sizeof text, "  %c%c%s --%s%s%s", o->letter ? '-' : ' ',
                         o->letter ? o->letter : ' ', o->letter ? "," : " ", o->name,
                         o->value && o->kind != CLI_SWITCH ? "=" : "", o->value ? o->value : "");
        printf("%s", text);
        if (n >= HELP_COLUMN)
            printf("\n%*s", HELP_COLUMN, "");
        else
            printf("%*s", HELP_COLUMN - n, "");
        print_wrapped(o->help, HELP_COLUMN, HELP_COLUMN);
    }
}

void cli_print_help(const cli_command *command)
{
    printf("usage: tfrun %s [OPTION]...%s%s\n\n%s.\n", command->name, *command->words ? " " : "",
           command->words, command->summary);
    if (command->text)
        printf("\n%s\n", command->text);
    if (command->options) {
        printf("\noptions:\n");
        print_options(command->options);
    }
    printf("\noptions of every command:\n");
    print_options(cli_shared_options);
}

static int print_overview(void)
{
    printf("usage: tfrun COMMAND [OPTION]... [WORD]...\n\n"
           "Runs deep-learning models on the devices that its plugins drive.\n\ncommands:\n");
    for (uint32_t i = 0; cli_commands[i] && !cli_commands[i]->hidden; i++)
        printf("  %-10s %s\n", cli_commands[i]->name, cli_commands[i]->summary);
    printf("  --list-devices is the command devices, --version the command version,\n"
           "  --build-info version --build-info\n");
    printf("\noptions of every command:\n");
    print_options(cli_shared_options);
    printf("\nexit status:\n");
#define HELP_EXIT(name, number, text) printf("  %2d  %s\n", number, text);
    CLI_EXIT_LIST(HELP_EXIT)
#undef HELP_EXIT
    printf("\n`tfrun help COMMAND` explains a command, `tfrun help env` the environment.\n");
    return CLI_EXIT_DONE;
}

/* ---- the environment ------------------------------------------------------------------------- */

/* A variable, its value here and where that comes from; both NULL if nobody set it. */
typedef struct env_row {
    tfr_env_desc desc;
    const char *value, *origin;
} env_row;

/* False at the end. Without a runtime, the files of the configuration are not known. */
static bool env_row_at(const tfr_runtime *runtime, uint32_t i, env_row *out, tfr_err *err)
{
    out->desc = (tfr_env_desc){.size = sizeof out->desc};
    if (i >= tfr_env_count() || tfr_env_describe(i, &out->desc, err))
        return false;
    out->value = out->desc.value;
    out->origin = out->value ? "environment" : NULL;
    if (!out->value && runtime && *out->desc.key)
        (void)tfr_runtime_setting(runtime, out->desc.key, &out->value, &out->origin);
    return true;
}

static void print_env_json(const tfr_runtime *runtime, tfr_err *err)
{
    json_t *object = cli_json_start("env"), *rows = json_array();
    env_row r;
    for (uint32_t i = 0; env_row_at(runtime, i, &r, err); i++) {
        json_t *row = json_object();
        cli_json_set(row, "name", cli_json_text(r.desc.name));
        cli_json_set(row, "meaning", cli_json_text(r.desc.meaning));
        cli_json_set(row, "key", cli_json_text(*r.desc.key ? r.desc.key : NULL));
        cli_json_set(row, "value", cli_json_text(r.value));
        cli_json_set(row, "origin", cli_json_text(r.origin));
        cli_json_append(rows, row);
    }
    cli_json_set(object, "variables", rows);
    (void)!cli_json_print(object, err);
}

static void print_env_table(const tfr_runtime *runtime, tfr_err *err)
{
    static const char *const titles[] = {"VARIABLE", "VALUE", "ORIGIN", "CONFIGURATION KEY",
                                         "MEANING"};
    static const uint32_t flags[] = {0, CLI_WRAP, CLI_WRAP, 0, CLI_WRAP};
    cli_table *table = cli_table_create(5, titles, flags);
    env_row r;
    for (uint32_t i = 0; env_row_at(runtime, i, &r, err); i++) {
        cli_table_add(table, "%s", r.desc.name);
        cli_table_add(table, "%s", r.value ? r.value : "-");
        cli_table_add(table, "%s", r.origin ? r.origin : "-");
        cli_table_add(table, "%s", *r.desc.key ? r.desc.key : "-");
        cli_table_add(table, "%s", r.desc.meaning);
    }
    if (!cli_table_print(table, err))
        printf("\n- is not set, or not read because the process is privileged. The files\n"
               "/etc/tfrun/tfrun.conf and tfrun/tfrun.conf in XDG_CONFIG_HOME set the same by\n"
               "`key = value`; the environment beats them, and options beat it.\n");
}

static int print_env(const cli_args *args)
{
    tfr_runtime *runtime = NULL;
    tfr_err err = TFR_ERR_INIT;
    if (cli_open_runtime(args, &runtime, &err))
        return cli_fail(args, &err);
    if (args->json)
        print_env_json(runtime, &err);
    else
        print_env_table(runtime, &err);
    tfr_runtime_release(runtime);
    return err.code ? cli_fail(args, &err) : CLI_EXIT_DONE;
}

/* ---- the command ----------------------------------------------------------------------------- */

static const char *command_name(const void *user, uint32_t i)
{
    (void)user;
    return cli_commands[i]->name;
}

static int help_run(const cli_args *args)
{
    const cli_command *command;
    char hint[128];
    uint32_t n = 0;
    if (!args->n_words)
        return print_overview();
    if (strcmp(args->words[0], "env") == 0)
        return print_env(args);
    command = cli_find_command(args->words[0]);
    if (command) {
        cli_print_help(command);
        return CLI_EXIT_DONE;
    }
    while (cli_commands[n])
        n++;
    return cli_usage(args, "there is no command \"%s\"%s", args->words[0],
                     cli_did_you_mean(args->words[0], command_name, NULL, n, hint, sizeof hint));
}

const cli_command cli_help = {
    .name = "help",
    .words = "[COMMAND|env]",
    .most_words = 1,
    .word_values = "command",
    .summary = "Explain tfrun, a command, or the environment variables",
    .log_level = TFR_LOG_WARNING,
    .run = help_run,
};
