/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_complete.c: the hidden `tfrun __complete`: prints completion/tfrun.bash, made from the option
 * tables; and the lists that the script and the tests ask for.
 */
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "options.h"

enum { MOST_SEEN = 2 * CLI_MAX_OPTIONS }; /* names of options of all commands together */

/* ---- lists ----------------------------------------------------------------------------------- */

static int print_devices(const cli_args *args, bool plugins)
{
    tfr_err err = TFR_ERR_INIT;
    tfr_runtime *runtime;
    if (cli_open_runtime(args, &runtime, &err))
        return cli_fail(args, &err);
    for (uint32_t i = 0; i < tfr_runtime_n_devices(runtime); i++) {
        tfr_device_desc d = {.size = sizeof d};
        tfr_backend_desc b = {.size = sizeof b};
        if (!plugins && !tfr_runtime_device(runtime, i, &d, NULL))
            printf("%s\n", d.name);
        for (uint32_t k = 0; !tfr_runtime_backend(runtime, i, k, &b, NULL); k++)
            printf("%s\n", plugins ? b.plugin : b.name);
    }
    tfr_runtime_release(runtime);
    return CLI_EXIT_DONE;
}

static int print_ops(void)
{
    tfr_op_desc op = {.size = sizeof op};
    for (uint32_t i = 0; !tfr_op_describe(i, &op, NULL); i++)
        printf("%s\n", op.name);
    return CLI_EXIT_DONE;
}

/* "run --device=NAME", a line for each option of each command; shared ones under "*". */
static int print_options(void)
{
    const cli_option *o;
    for (uint32_t i = 0; cli_commands[i] && !cli_commands[i]->hidden; i++)
        for (o = cli_commands[i]->options; o && o->name; o++)
            printf("%s --%s%s%s\n", cli_commands[i]->name, o->name,
                   o->value && o->kind != CLI_SWITCH ? "=" : "",
                   o->value && o->kind != CLI_SWITCH ? o->value : "");
    for (o = cli_shared_options; o->name; o++)
        printf("* --%s%s%s\n", o->name, o->value ? "=" : "", o->value ? o->value : "");
    return CLI_EXIT_DONE;
}

/* ---- the script ------------------------------------------------------------------------------ */

static void print_commands(const char *between)
{
    for (uint32_t i = 0; cli_commands[i] && !cli_commands[i]->hidden; i++)
        printf("%s%s", i ? between : "", cli_commands[i]->name);
}

/* The names of a table's options, each with two dashes. */
static void print_names(const cli_option *options)
{
    for (const cli_option *o = options; o && o->name; o++)
        printf(" --%s", o->name);
}

/* What fills COMPREPLY with values of this kind. */
static void print_values(const char *values)
{
    if (strcmp(values, "file") == 0)
        printf("COMPREPLY=($(compgen -f -- \"${cur#*=}\"))\n");
    else if (strcmp(values, "dir") == 0)
        printf("COMPREPLY=($(compgen -d -- \"$cur\"))\n");
    else if (strcmp(values, "none") == 0)
        printf("COMPREPLY=()\n");
    else if (strchr(values, '|')) {
        printf("COMPREPLY=($(compgen -W '");
        for (; *values; values++)
            putchar(*values == '|' ? ' ' : *values);
        printf("' -- \"$cur\"))\n");
    } else if (strcmp(values, "command") == 0) {
        printf("COMPREPLY=($(compgen -W '");
        print_commands(" ");
        printf(" env' -- \"$cur\"))\n");
    } else {
        printf("_tfrun_ask %ss\n", values);
    }
}

/* One case for each option that takes a value; the same name means the same in all commands. */
static void print_value_cases(void)
{
    const cli_option *seen[MOST_SEEN];
    uint32_t n_seen = 0;
    for (uint32_t i = 0; cli_commands[i]; i++) {
        const cli_option *all[CLI_MAX_OPTIONS];
        uint32_t n = cli_options_of(cli_commands[i], all);
        for (uint32_t k = 0; k < n; k++) {
            bool known = !all[k]->value || all[k]->kind == CLI_SWITCH || n_seen == MOST_SEEN;
            for (uint32_t s = 0; s < n_seen; s++)
                known = known || strcmp(seen[s]->name, all[k]->name) == 0;
            if (known)
                continue;
            seen[n_seen++] = all[k];
            printf("    --%s", all[k]->name);
            if (all[k]->letter)
                printf(" | -%c", all[k]->letter);
            printf(")\n        ");
            print_values(all[k]->values);
            printf("        return\n        ;;\n");
        }
    }
}

static const char script_head[] =
    "# SPDX-License-Identifier: Apache-2.0\n"
    "# Completion of tfrun for bash. Made by `tfrun __complete`; do not edit.\n"
    "\n"
    "# Asks tfrun for a list: devices, backends, ops.\n"
    "_tfrun_ask() {\n"
    "    COMPREPLY=($(compgen -W \"$(\"${COMP_WORDS[0]}\" __complete \"$1\" 2>/dev/null)\" "
    "-- \"$cur\"))\n"
    "    # Names hold a colon, at which bash splits words.\n"
    "    if declare -F __ltrim_colon_completions >/dev/null; then\n"
    "        __ltrim_colon_completions \"$cur\"\n"
    "    fi\n"
    "}\n"
    "\n"
    "_tfrun() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command= i\n"
    "    if declare -F _get_comp_words_by_ref >/dev/null; then\n"
    "        _get_comp_words_by_ref -n := cur prev\n"
    "    fi\n"
    "    # --option=value\n"
    "    if [[ $cur == --*=* ]]; then\n"
    "        prev=${cur%%=*} cur=${cur#*=}\n"
    "    fi\n"
    "    COMPREPLY=()\n"
    "    case $prev in\n";

static int print_script(void)
{
    fputs(script_head, stdout);
    print_value_cases();
    printf("    esac\n    for ((i = 1; i < COMP_CWORD; i++)); do\n"
           "        case ${COMP_WORDS[i]} in\n        ");
    print_commands(" | ");
    printf(")\n            command=${COMP_WORDS[i]}\n            break\n            ;;\n"
           "        esac\n    done\n    if [[ $cur == -* ]]; then\n        local options='");
    print_names(cli_shared_options);
    printf("'\n        case $command in\n        '') options+=' --list-devices --version "
           "--build-info' ;;\n");
    for (uint32_t i = 0; cli_commands[i]; i++) {
        if (!cli_commands[i]->options)
            continue;
        printf("        %s) options+='", cli_commands[i]->name);
        print_names(cli_commands[i]->options);
        printf("' ;;\n");
    }
    printf("        esac\n        COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
           "        return\n    fi\n    case $command in\n"
           "    '')\n        COMPREPLY=($(compgen -W '");
    print_commands(" ");
    printf("' -- \"$cur\"))\n        ;;\n");
    for (uint32_t i = 0; cli_commands[i]; i++) {
        if (cli_commands[i]->hidden || !cli_commands[i]->word_values)
            continue;
        printf("    %s)\n        ", cli_commands[i]->name);
        print_values(cli_commands[i]->word_values);
        printf("        ;;\n");
    }
    printf("    esac\n}\n"
           "complete -o filenames -o bashdefault -F _tfrun tfrun\n");
    return CLI_EXIT_DONE;
}

static int complete_run(const cli_args *args)
{
    const char *what = args->n_words ? args->words[0] : "bash";
    if (strcmp(what, "bash") == 0)
        return print_script();
    if (strcmp(what, "devices") == 0 || strcmp(what, "backends") == 0)
        return print_devices(args, *what == 'b');
    if (strcmp(what, "ops") == 0)
        return print_ops();
    if (strcmp(what, "options") == 0)
        return print_options();
    return cli_usage(
        args, "there is no list \"%s\"; lists are bash, devices, backends, ops, options", what);
}

const cli_command cli_complete = {
    .name = "__complete",
    .words = "[bash|devices|backends|ops|options]",
    .most_words = 1,
    .summary = "Print what completion needs",
    .log_level = TFR_LOG_ERROR,
    .hidden = true,
    .run = complete_run,
};
