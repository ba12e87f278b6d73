/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_devices.c: `tfrun devices`, also `tfrun --list-devices`: what works, and what does not, with
 * the reason and the next step. One bad plugin never changes the rows of the others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "json.h"
#include "table.h"

/* ---- for people ------------------------------------------------------------------------------ */

static const char *memory_text(const tfr_device_desc *d, char *text, size_t n)
{
    char amount_free[32], amount_total[32];
    if (!d->memory_total)
        snprintf(text, n, "unknown");
    else
        snprintf(text, n, "%s / %s",
                 d->memory_free ? cli_format_bytes(d->memory_free, amount_free, sizeof amount_free)
                                : "?",
                 cli_format_bytes(d->memory_total, amount_total, sizeof amount_total));
    return text;
}

/* "onednn 2.6.3 (100), naive 0.1.0 (0)" */
static tfr_status backends_text(const tfr_runtime *runtime, uint32_t device, uint32_t n_backends,
                                char *text, size_t n, tfr_err *err)
{
    size_t used = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < n_backends && used < n; i++) {
        tfr_backend_desc b = {.size = sizeof b};
        tfr_status status = tfr_runtime_backend(runtime, device, i, &b, err);
        if (status)
            return status;
        used += (size_t)snprintf(text + used, n - used, "%s%s%s%s (%d)", i ? ", " : "", b.plugin,
                                 *b.version ? " " : "", b.version, (int)b.priority);
    }
    return TFR_OK;
}

static tfr_status print_devices(const tfr_runtime *runtime, tfr_err *err)
{
    static const char *const titles[] = {"DEVICE", "DESCRIPTION", "MEMORY FREE / TOTAL",
                                         "BACKENDS (PRIORITY)", "OPS"};
    static const uint32_t flags[] = {0, CLI_WRAP, 0, CLI_WRAP, CLI_RIGHT};
    cli_table *table;
    uint32_t n = tfr_runtime_n_devices(runtime);
    if (!n) {
        printf("no device can be used\n");
        return TFR_OK;
    }
    table = cli_table_create(5, titles, flags);
    for (uint32_t i = 0; i < n; i++) {
        tfr_device_desc d = {.size = sizeof d};
        char memory[80], backends[512];
        tfr_status status = tfr_runtime_device(runtime, i, &d, err);
        if (!status)
            status = backends_text(runtime, i, d.n_backends, backends, sizeof backends, err);
        if (status) {
            cli_table_destroy(table);
            return status;
        }
        cli_table_add(table, "%s", d.name);
        cli_table_color(table, CLI_GREEN);
        cli_table_add(table, "%s", d.description);
        cli_table_add(table, "%s", memory_text(&d, memory, sizeof memory));
        cli_table_add(table, "%s", backends);
        cli_table_add(table, "%u", (unsigned)d.n_ops);
    }
    return cli_table_print(table, err);
}

static const char *file_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static tfr_status print_unusable(const tfr_runtime *runtime, tfr_err *err)
{
    static const char *const titles[] = {"PLUGIN", "STATE", "REASON", "NEXT STEP"};
    static const uint32_t flags[] = {0, 0, CLI_WRAP, CLI_WRAP};
    cli_table *table = NULL;
    for (uint32_t i = 0; i < tfr_runtime_n_plugins(runtime); i++) {
        tfr_plugin_desc p = {.size = sizeof p};
        tfr_status status = tfr_runtime_plugin(runtime, i, &p, err);
        if (status) {
            cli_table_destroy(table);
            return status;
        }
        if (cli_plugin_is_usable(p.state))
            continue;
        if (!table) {
            printf("\nnot usable, because\n");
            table = cli_table_create(4, titles, flags);
        }
        cli_table_add(table, "%s", *p.name ? p.name : file_of(p.path));
        cli_table_add(table, "%s", tfr_plugin_state_name((tfr_plugin_state)p.state));
        cli_table_color(table, p.state == TFR_PLUGIN_DISABLED || p.state == TFR_PLUGIN_SHADOWED
                                   ? CLI_YELLOW
                                   : CLI_RED);
        cli_table_add(table, "%s", p.reason);
        cli_table_add(table, "%s", p.next_step);
    }
    return table ? cli_table_print(table, err) : TFR_OK;
}

/* ---- for programs ---------------------------------------------------------------------------- */

/* "key=value" lines as an object. */
static json_t *properties_json(const char *lines)
{
    json_t *object = json_object();
    char *copy = strdup(lines), *rest = copy, *line;
    while (rest && (line = strsep(&rest, "\n"))) {
        char *equal;
        cli_clean(line); /* makes it UTF-8, too */
        equal = strchr(line, '=');
        if (!equal)
            continue;
        *equal = 0;
        cli_json_set(object, line, cli_json_text(equal + 1));
    }
    if (!copy) {
        json_decref(object);
        object = NULL;
    }
    free(copy);
    return object;
}

static json_t *backends_json(const tfr_runtime *runtime, uint32_t device, uint32_t n)
{
    json_t *rows = json_array();
    for (uint32_t i = 0; i < n; i++) {
        tfr_backend_desc b = {.size = sizeof b};
        json_t *row;
        if (tfr_runtime_backend(runtime, device, i, &b, NULL))
            break;
        row = json_object();
        cli_json_set(row, "name", cli_json_text(b.name));
        cli_json_set(row, "plugin", cli_json_text(b.plugin));
        cli_json_set(row, "version", cli_json_text(b.version));
        cli_json_set(row, "priority", json_integer(b.priority));
        cli_json_set(row, "ops", cli_json_int(b.n_ops));
        cli_json_set(row, "path", cli_json_text(b.path));
        cli_json_append(rows, row);
    }
    return rows;
}

static json_t *devices_json(const tfr_runtime *runtime)
{
    json_t *rows = json_array();
    for (uint32_t i = 0; i < tfr_runtime_n_devices(runtime); i++) {
        tfr_device_desc d = {.size = sizeof d};
        json_t *row;
        if (tfr_runtime_device(runtime, i, &d, NULL))
            break;
        row = json_object();
        cli_json_set(row, "name", cli_json_text(d.name));
        cli_json_set(row, "type", cli_json_text(d.type));
        cli_json_set(row, "description", cli_json_text(d.description));
        cli_json_set(row, "identity", cli_json_text(d.identity));
        cli_json_set(row, "driver", cli_json_text(d.driver));
        cli_json_set(row, "properties", properties_json(d.properties));
        cli_json_set(row, "memory_total",
                     d.memory_total ? cli_json_int(d.memory_total) : json_null());
        cli_json_set(row, "memory_free", d.memory_free ? cli_json_int(d.memory_free) : json_null());
        cli_json_set(row, "clock_hz",
                     d.clock_khz ? cli_json_int(1000ull * d.clock_khz) : json_null());
        cli_json_set(row, "numa_node", d.numa_node >= 0 ? json_integer(d.numa_node) : json_null());
        cli_json_set(row, "threads", cli_json_int(d.n_threads));
        cli_json_set(row, "ops", cli_json_int(d.n_ops));
        cli_json_set(row, "backends", backends_json(runtime, i, d.n_backends));
        cli_json_append(rows, row);
    }
    return rows;
}

static json_t *unusable_json(const tfr_runtime *runtime)
{
    json_t *rows = json_array();
    for (uint32_t i = 0; i < tfr_runtime_n_plugins(runtime); i++) {
        tfr_plugin_desc p = {.size = sizeof p};
        json_t *row;
        if (tfr_runtime_plugin(runtime, i, &p, NULL) || cli_plugin_is_usable(p.state))
            continue;
        row = json_object();
        cli_json_set(row, "plugin", cli_json_text(*p.name ? p.name : file_of(p.path)));
        cli_json_set(row, "path", cli_json_text(p.path));
        cli_json_set(row, "state", cli_json_text(tfr_plugin_state_name((tfr_plugin_state)p.state)));
        cli_json_set(row, "reason", cli_json_text(p.reason));
        cli_json_set(row, "next_step", cli_json_text(p.next_step));
        cli_json_append(rows, row);
    }
    return rows;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int devices_run(const cli_args *args)
{
    tfr_err err = TFR_ERR_INIT;
    tfr_runtime *runtime;
    tfr_status status = cli_open_runtime(args, &runtime, &err);
    if (status)
        return cli_fail(args, &err);
    if (args->json) {
        json_t *object = cli_json_start("devices");
        cli_json_set(object, "devices", devices_json(runtime));
        cli_json_set(object, "not_usable", unusable_json(runtime));
        status = cli_json_print(object, &err);
    } else {
        status = print_devices(runtime, &err);
        if (!status)
            status = print_unusable(runtime, &err);
    }
    tfr_runtime_release(runtime);
    return status ? cli_fail(args, &err) : CLI_EXIT_DONE;
}

static const cli_option devices_options[] = {CLI_OPTION_REFRESH, CLI_OPTION_END};

const cli_command cli_devices = {
    .name = "devices",
    .words = "",
    .summary = "List the devices that can be used, and the plugins that cannot, because",
    .text = "Also tfrun --list-devices. The first table has a row for each device with the\n"
            "backends that can drive it, the preferred one first. The second table has a row\n"
            "for each plugin that is not used, with its state, the reason and the next step.",
    .log_level = TFR_LOG_WARNING,
    .lists_plugins = true,
    .options = devices_options,
    .run = devices_run,
};
