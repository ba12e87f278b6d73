/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_plugins.c: `tfrun plugins`: every plugin file that was found, and what became of it. */
#include <stdio.h>

#include "commands.h"
#include "json.h"
#include "table.h"

static const char *kind_name(uint32_t kind)
{
    return kind == TFR_PLUGIN_BACKEND ? "backend" : "-";
}

static const char *or_dash(const char *text)
{
    return *text ? text : "-";
}

static cli_color state_color(int32_t state)
{
    return cli_plugin_is_usable(state)                                    ? CLI_GREEN
           : state == TFR_PLUGIN_DISABLED || state == TFR_PLUGIN_SHADOWED ? CLI_YELLOW
                                                                          : CLI_RED;
}

/* Whether the note could be read; there was no ABI 0.0. */
static bool has_note(const tfr_plugin_desc *p)
{
    return p->abi_major || p->abi_minor;
}

static void add_row(cli_table *table, const tfr_plugin_desc *p)
{
    const bool known = has_note(p);
    cli_table_add(table, "%s", or_dash(p->name));
    cli_table_add(table, "%s", tfr_plugin_state_name((tfr_plugin_state)p->state));
    cli_table_color(table, state_color(p->state));
    cli_table_add(table, "%s", kind_name(p->kind));
    cli_table_add(table, "%s", or_dash(p->version));
    if (known) {
        cli_table_add(table, "%u.%u", (unsigned)p->abi_major, (unsigned)p->abi_minor);
        cli_table_add(table, "%d", (int)p->priority);
        cli_table_add(table, "%u", (unsigned)p->n_devices);
        cli_table_add(table, "%u", (unsigned)p->n_ops);
    } else {
        for (int i = 0; i < 4; i++)
            cli_table_add(table, "-");
    }
    cli_table_add(table, "%s", p->path);
}

/* What does not fit into the table: why not, and with --verbose who made it. */
static void print_notes(const tfr_runtime *runtime, bool verbose)
{
    tfr_plugin_desc p = {.size = sizeof p};
    bool first = true;
    for (uint32_t i = 0; !tfr_runtime_plugin(runtime, i, &p, NULL); i++) {
        bool told = !cli_plugin_is_usable(p.state) || *p.reason;
        if (!told && !verbose)
            continue;
        if (first)
            printf("\n");
        first = false;
        if (told)
            cli_line(stdout, "%s: %s%s%s", *p.name ? p.name : p.path, p.reason,
                     *p.next_step ? "; " : "", p.next_step);
        if (verbose && (*p.vendor || *p.build_info))
            cli_line(stdout, "%s: made by %s%s%s", p.name, *p.vendor ? p.vendor : "unknown",
                     *p.build_info ? "; " : "", p.build_info);
    }
}

static tfr_status print_plugins(const tfr_runtime *runtime, bool verbose, tfr_err *err)
{
    static const char *const titles[] = {"PLUGIN",   "STATE",   "KIND", "VERSION", "ABI",
                                         "PRIORITY", "DEVICES", "OPS",  "FILE"};
    static const uint32_t flags[] = {0, 0, 0, 0, 0, CLI_RIGHT, CLI_RIGHT, CLI_RIGHT, CLI_WRAP};
    uint32_t n = tfr_runtime_n_plugins(runtime);
    cli_table *table;
    tfr_status status;
    if (!n) {
        printf("no plugin was found\n");
        return TFR_OK;
    }
    table = cli_table_create(9, titles, flags);
    for (uint32_t i = 0; i < n; i++) {
        tfr_plugin_desc p = {.size = sizeof p};
        status = tfr_runtime_plugin(runtime, i, &p, err);
        if (status) {
            cli_table_destroy(table);
            return status;
        }
        add_row(table, &p);
    }
    status = cli_table_print(table, err);
    if (!status)
        print_notes(runtime, verbose);
    return status;
}

static tfr_status print_json(const tfr_runtime *runtime, tfr_err *err)
{
    json_t *object = cli_json_start("plugins"), *rows = json_array();
    for (uint32_t i = 0; i < tfr_runtime_n_plugins(runtime); i++) {
        tfr_plugin_desc p = {.size = sizeof p};
        json_t *row;
        if (tfr_runtime_plugin(runtime, i, &p, NULL))
            break;
        row = json_object();
        cli_json_set(row, "name", cli_json_text(p.name));
        cli_json_set(row, "state", cli_json_text(tfr_plugin_state_name((tfr_plugin_state)p.state)));
        cli_json_set(row, "kind", cli_json_text(has_note(&p) ? kind_name(p.kind) : NULL));
        cli_json_set(row, "version", cli_json_text(p.version));
        cli_json_set(row, "abi_major", has_note(&p) ? json_integer(p.abi_major) : json_null());
        cli_json_set(row, "abi_minor", has_note(&p) ? json_integer(p.abi_minor) : json_null());
        cli_json_set(row, "priority", json_integer(p.priority));
        cli_json_set(row, "devices", cli_json_int(p.n_devices));
        cli_json_set(row, "ops", cli_json_int(p.n_ops));
        cli_json_set(row, "path", cli_json_text(p.path));
        cli_json_set(row, "vendor", cli_json_text(p.vendor));
        cli_json_set(row, "build_info", cli_json_text(p.build_info));
        cli_json_set(row, "reason", cli_json_text(p.reason));
        cli_json_set(row, "next_step", cli_json_text(p.next_step));
        cli_json_append(rows, row);
    }
    cli_json_set(object, "plugins", rows);
    return cli_json_print(object, err);
}

static int plugins_run(const cli_args *args)
{
    tfr_err err = TFR_ERR_INIT;
    tfr_runtime *runtime;
    tfr_status status = cli_open_runtime(args, &runtime, &err);
    if (status)
        return cli_fail(args, &err);
    status =
        args->json ? print_json(runtime, &err) : print_plugins(runtime, args->verbose > 0, &err);
    tfr_runtime_release(runtime);
    return status ? cli_fail(args, &err) : CLI_EXIT_DONE;
}

static const cli_option plugins_options[] = {CLI_OPTION_REFRESH, CLI_OPTION_END};

const cli_command cli_plugins = {
    .name = "plugins",
    .words = "",
    .summary = "List every plugin file that was found and what became of it",
    .text = "Below the table stand the reasons of those that are not usable; with --verbose\n"
            "also who made each plugin and from what.",
    .log_level = TFR_LOG_WARNING,
    .lists_plugins = true,
    .options = plugins_options,
    .run = plugins_run,
};
