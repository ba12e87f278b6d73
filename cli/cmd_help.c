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
                         o->value ? "=" : "", o->value ? o->value : "");
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
    printf("  --list-devices is the command devices, --version the command version\n");
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

static int print_env_json(const cli_args *args)
{
    json_t *object = cli_json_start("env"), *rows = json_array();
    tfr_env_desc desc = {.size = sizeof desc};
    tfr_err err = TFR_ERR_INIT;
    for (uint32_t i = 0; i < tfr_env_count(); i++) {
        json_t *row = json_object();
        if (tfr_env_describe(i, &desc, &err)) {
            json_decref(row);
            break;
        }
        cli_json_set(row, "name", cli_json_text(desc.name));
        cli_json_set(row, "meaning", cli_json_text(desc.meaning));
        cli_json_set(row, "key", cli_json_text(*desc.key ? desc.key : NULL));
        cli_json_set(row, "value", cli_json_text(desc.value));
        cli_json_set(row, "origin", cli_json_text(desc.value ? "environment" : NULL));
        cli_json_append(rows, row);
    }
    cli_json_set(object, "variables", rows);
    return cli_json_print(object, &err) || err.code ? cli_fail(args, &err) : CLI_EXIT_DONE;
}

static int print_env(const cli_args *args)
{
    static const char *const titles[] = {"VARIABLE", "VALUE", "CONFIGURATION KEY", "MEANING"};
    static const uint32_t flags[] = {0, CLI_WRAP, 0, CLI_WRAP};
    cli_table *table = cli_table_create(4, titles, flags);
    tfr_env_desc desc = {.size = sizeof desc};
    tfr_err err = TFR_ERR_INIT;
    for (uint32_t i = 0; i < tfr_env_count() && !tfr_env_describe(i, &desc, &err); i++) {
        cli_table_add(table, "%s", desc.name);
        cli_table_add(table, "%s", desc.value ? desc.value : "-");
        cli_table_add(table, "%s", *desc.key ? desc.key : "-");
        cli_table_add(table, "%s", desc.meaning);
    }
    if (cli_table_print(table, &err) || err.code)
        return cli_fail(args, &err);
    printf(
        "\nA value is as the environment has it; - is not set, or not read because the process\n"
        "is privileged. The files /etc/tfrun/tfrun.conf and tfrun/tfrun.conf in XDG_CONFIG_HOME\n"
        "set the same by `key = value`; the environment beats them, and options beat it.\n");
    return CLI_EXIT_DONE;
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
        return args->json ? print_env_json(args) : print_env(args);
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
