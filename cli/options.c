/* SPDX-License-Identifier: Apache-2.0 */
/* options.c: see options.h. getopt_long does the parsing; the tables do the rest. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suggest.h"

const cli_option cli_shared_options[] = {
    {'h', "help", NULL, CLI_FLAG, CLI_FIELD(help), "none", 0, 0, "explain the command"},
    {'j', "json", NULL, CLI_FLAG, CLI_FIELD(json), "none", 0, 0,
     "print one JSON object instead of tables"},
    {'v', "verbose", NULL, CLI_COUNT, CLI_FIELD(verbose), "none", 0, 0,
     "say more on standard error"},
    {'q', "quiet", NULL, CLI_COUNT, CLI_FIELD(quiet), "none", 0, 0, "say less on standard error"},
    {0, "log-level", "LEVEL", CLI_CHOICE, CLI_FIELD(log_level), "error|warning|info|debug", 0, 0,
     "log level: error, warning, info or debug"},
    {0, "color", "WHEN", CLI_CHOICE, CLI_FIELD(color), "auto|always|never", 0, 0,
     "colours: auto, always or never"},
    {0, "plugin", "FILE", CLI_LIST, CLI_FIELD(plugins), "file", 0, 0,
     "use this plugin file, too, before all others"},
    {0, "plugin-path", "DIR", CLI_LIST, CLI_FIELD(plugin_paths), "dir", 0, 0,
     "look for plugins here first"},
    {0, "plugin-option", "NAME.KEY=VALUE", CLI_SETTING, CLI_FIELD(plugin_options), "none", 0, 0,
     "set an option of plugin NAME, for example acme.memory_limit=1000000000"},
    {0, "visible-devices", "LIST", CLI_TEXT, CLI_FIELD(visible_devices), "device", 0, 0,
     "use these devices only, for example CPU:0,GPU:1"},
    {0, "logical-cpus", "N", CLI_NUMBER, CLI_FIELD(logical_cpus), "none", 1, 1024,
     "split the threads into N CPU devices"},
    {0, "threads", "N", CLI_NUMBER, CLI_FIELD(threads), "none", 0, CLI_ALL_THREADS,
     "threads for computing; 0, the default, is all processors"},
    CLI_OPTION_END};

/* Options that are commands, for those who expect them. */
static const struct {
    const char *option, *command;
} command_options[] = {
    {"list-devices", "devices"}, {"version", "version"}, {"build-info", "version"}};

#define N_COMMAND_OPTIONS 3

#define FIRST_VALUE 256 /* getopt's number of option 0, beyond all letters */

uint32_t cli_options_of(const cli_command *command, const cli_option **out)
{
    const cli_option *tables[2] = {command ? command->options : NULL, cli_shared_options};
    uint32_t n = 0;
    for (int t = 0; t < 2; t++)
        for (const cli_option *o = tables[t]; o && o->name && n < CLI_MAX_OPTIONS; o++)
            out[n++] = o;
    return n;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* The place of a word in "a|b|c", from 1; 0 = it is not there. */
static int32_t choice_of(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (int32_t i = 1;; i++) {
        size_t item = strcspn(list, "|");
        if (item == n && memcmp(list, word, n) == 0)
            return i;
        if (!list[item])
            return 0;
        list += item + 1;
    }
}

static int take_number(cli_args *args, const cli_option *o, void *field, const char *text)
{
    char *end;
    errno = 0;
    if (o->kind == CLI_NUMBER) {
        long long value = strtoll(text, &end, 10);
        if (errno || end == text || *end || (double)value < o->least || (double)value > o->most)
            return cli_usage(args, "--%s takes a number from %.0f to %.0f, not \"%s\"", o->name,
                             o->least, o->most, text);
        *(int64_t *)field = value;
    } else {
        double value = strtod(text, &end);
        if (errno || end == text || *end || !(value >= o->least && value <= o->most))
            return cli_usage(args, "--%s takes a number from %g to %g, not \"%s\"", o->name,
                             o->least, o->most, text);
        *(double *)field = value;
    }
    return 0;
}

/* The name of a plugin is lower case, as in its note. */
static int take_setting(cli_args *args, const cli_option *o, cli_settings *settings, char *text)
{
    static const char name[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    size_t n = strspn(text, name);
    char *equal = strchr(text, '=');
    if (!n || text[n] != '.' || !equal || equal <= text + n + 1)
        return cli_usage(args, "--%s takes %s, for example acme.threads=2, not \"%s\"", o->name,
                         o->value, text);
    *equal = 0;
    settings->items[settings->n++] = (tfr_option){text, equal + 1};
    return 0;
}

static int take_value(cli_args *args, const cli_option *o, char *text)
{
    void *field = (char *)args + o->field;
    cli_list *list = field;
    switch (o->kind) {
    case CLI_FLAG:
        *(bool *)field = true;
        return 0;
    case CLI_COUNT:
        ++*(uint32_t *)field;
        return 0;
    case CLI_TEXT:
        *(const char **)field = text;
        return 0;
    case CLI_LIST:
        list->items[list->n++] = text;
        return 0;
    case CLI_SETTING:
        return take_setting(args, o, field, text);
    case CLI_CHOICE:
        *(int32_t *)field = choice_of(o->values, text);
        return *(int32_t *)field
                   ? 0
                   : cli_usage(args, "--%s takes one of %s, not \"%s\"", o->name, o->values, text);
    case CLI_SWITCH:
        *(int32_t *)field = text ? 1 + choice_of(o->values, text) : 1;
        return !text || *(int32_t *)field > 1
                   ? 0
                   : cli_usage(args, "--%s takes no value or one of %s, not \"%s\"", o->name,
                               o->values, text);
    case CLI_NUMBER:
    case CLI_REAL:
        break;
    }
    return take_number(args, o, field, text);
}

/* ---- parsing --------------------------------------------------------------------------------- */

static const char *command_name(const void *user, uint32_t i)
{
    (void)user;
    return cli_commands[i]->name;
}

/* Visible commands stand first in the list. */
static uint32_t n_visible_commands(void)
{
    uint32_t n = 0;
    while (cli_commands[n] && !cli_commands[n]->hidden)
        n++;
    return n;
}

static int unknown_command(cli_args *args, const char *word)
{
    char hint[128], list[256];
    uint32_t n = n_visible_commands();
    return cli_usage(args, "there is no command \"%s\"%s commands are %s", word,
                     *cli_did_you_mean(word, command_name, NULL, n, hint, sizeof hint) ? hint : ";",
                     cli_join(command_name, NULL, n, list, sizeof list));
}

/* Names of a command's options, then of the options that are commands. */
typedef struct known_options {
    const cli_option *options[CLI_MAX_OPTIONS];
    uint32_t n;
} known_options;

static const char *option_name(const void *user, uint32_t i)
{
    const known_options *known = user;
    return i < known->n ? known->options[i]->name : command_options[i - known->n].option;
}

static int unknown_option(cli_args *args, const char *word, bool first)
{
    known_options known;
    char hint[128], name[96];
    const char *nearest;
    known.n = cli_options_of(args->command, known.options);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    nearest = cli_nearest(name + strspn(name, "-"), option_name, &known,
                          known.n + (first ? N_COMMAND_OPTIONS : 0));
    snprintf(hint, sizeof hint, ", did you mean --%s?", nearest ? nearest : "");
    return cli_usage(args, "there is no option %s%s", name, nearest ? hint : "");
}

typedef struct parser {
    const cli_option *options[CLI_MAX_OPTIONS];
    struct option longs[CLI_MAX_OPTIONS + 4];
    char letters[2 * CLI_MAX_OPTIONS + 4];
    uint32_t n;
} parser;

/* first: only options before the command's name, and the options that are commands. */
static void parser_init(parser *p, const cli_command *command, bool first)
{
    uint32_t used = 0, n_longs;
    memset(p, 0, sizeof *p);
    p->n = cli_options_of(command, p->options);
    if (first)
        p->letters[used++] = '+';
    p->letters[used++] = ':';
    for (uint32_t i = 0; i < p->n; i++) {
        const cli_option *o = p->options[i];
        int argument = o->kind == CLI_SWITCH ? optional_argument
                       : o->value            ? required_argument
                                             : no_argument;
        p->longs[i] = (struct option){o->name, argument, NULL, FIRST_VALUE + (int)i};
        if (o->letter) {
            p->letters[used++] = o->letter;
            if (o->value)
                p->letters[used++] = ':';
        }
    }
    n_longs = p->n;
    for (int i = 0; first && i < N_COMMAND_OPTIONS; i++)
        p->longs[n_longs++] = (struct option){command_options[i].option, no_argument, NULL,
                                              FIRST_VALUE + (int)p->n + i};
}

static const cli_option *parser_option(const parser *p, int value)
{
    if (value >= FIRST_VALUE)
        return value < FIRST_VALUE + (int)p->n ? p->options[value - FIRST_VALUE] : NULL;
    for (uint32_t i = 0; value && i < p->n; i++)
        if (p->options[i]->letter == value)
            return p->options[i];
    return NULL;
}

/* Parses from optind on. Stops after an option that is a command. */
static int parse_options(int argc, char **argv, cli_args *args, bool first)
{
    parser p;
    int value;
    parser_init(&p, args->command, first);
    while ((value = getopt_long(argc, argv, p.letters, p.longs, NULL)) != -1) {
        const cli_option *o;
        int status;
        if (value == ':')
            return cli_usage(args, "%s needs a value", argv[optind - 1]);
        if (value == '?') {
            char letter[] = {'-', (char)optopt, 0};
            bool is_letter = optopt && optopt < FIRST_VALUE;
            o = parser_option(&p, optopt);
            if (o && !o->value)
                return cli_usage(args, "--%s takes no value", o->name);
            return unknown_option(args, is_letter ? letter : argv[optind - 1], first);
        }
        o = parser_option(&p, value);
        if (!o) {
            const int i = value - FIRST_VALUE - (int)p.n;
            args->command = cli_find_command(command_options[i].command);
            args->build_info = strcmp(command_options[i].option, "build-info") == 0;
            return 0;
        }
        status = take_value(args, o, optarg);
        if (status)
            return status;
    }
    return 0;
}

static int check_words(cli_args *args)
{
    const cli_command *command = args->command;
    if (args->help)
        return 0;
    if (args->n_words < command->least_words)
        return cli_usage(args, "%s is missing", command->words);
    if (args->n_words > command->most_words)
        return command->most_words
                   ? cli_usage(args, "there is a word too many: \"%s\"",
                               args->words[command->most_words])
                   : cli_usage(args, "it takes no words, but got \"%s\"", args->words[0]);
    return 0;
}

static bool lists_init(cli_args *args, int argc)
{
    cli_list *lists[] = {&args->plugins,       &args->plugin_paths,   &args->inputs,
                         &args->outputs,       &args->shapes,         &args->libraries,
                         &args->fold_shapes,   &args->dims,           &args->loop_states,
                         &args->quantize.only, &args->quantize.except};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        if (!(lists[i]->items = calloc((size_t)argc + 1, sizeof *lists[i]->items)))
            return false;
    args->plugin_options.items = calloc((size_t)argc + 1, sizeof *args->plugin_options.items);
    return args->plugin_options.items != NULL;
}

int cli_args_parse(int argc, char **argv, cli_args *args)
{
    int status;
    memset(args, 0, sizeof *args);
    args->seed = -1;
    args->threads = -1;
    args->rtol = 1e-3;
    args->atol = 1e-7;
    args->check_atol = -1;
    args->train = (cli_training){.epochs = -1,
                                 .batch = -1,
                                 .keep = -1,
                                 .rate = -1,
                                 .momentum = -1,
                                 .beta_1 = -1,
                                 .beta_2 = -1,
                                 .epsilon = -1,
                                 .decay = -1,
                                 .clip_value = -1,
                                 .clip_norm = -1};
    if (!lists_init(args, argc)) {
        tfr_err err = {.size = sizeof err, .code = TFR_ENOMEM, .text = "no memory for arguments"};
        return cli_fail(args, &err);
    }
    /* A mistake that comes before --json is told as JSON, too. */
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        args->json = args->json || strcmp(argv[i], "--json") == 0;
    opterr = 0;
    status = parse_options(argc, argv, args, true);
    if (status)
        return status;
    if (!args->command && optind < argc) {
        args->command = cli_find_command(argv[optind]);
        if (!args->command)
            return unknown_command(args, argv[optind]);
        optind++;
    }
    if (!args->command && !args->help)
        return cli_usage(args, "a command is missing");
    if (!args->command) {
        args->command = cli_find_command("help");
        args->help = false;
        args->threads = 0;
        return 0;
    }
    /* From here on options may stand between words, which getopt learns only when it starts anew;
     * it skips the first word, which is the command's name. */
    argc -= optind - 1;
    argv += optind - 1;
    optind = 0;
    status = parse_options(argc, argv, args, false);
    args->words = argv + optind;
    args->n_words = (uint32_t)(argc - optind);
    args->threads = args->threads < 0 ? 0 : args->threads ? args->threads : CLI_ALL_THREADS;
    return status ? status : check_words(args);
}

void cli_args_finish(cli_args *args)
{
    free(args->plugins.items);
    free(args->plugin_paths.items);
    free(args->plugin_options.items);
    free(args->inputs.items);
    free(args->outputs.items);
    free(args->shapes.items);
    free(args->libraries.items);
    free(args->fold_shapes.items);
    free(args->dims.items);
    free(args->loop_states.items);
    free(args->quantize.only.items);
    free(args->quantize.except.items);
}
