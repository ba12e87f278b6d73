/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_doctor.c: `tfrun doctor`: asks all plugins anew and has them open every library that they
 * might need, which a listing does not, for it takes time; tells what was opened, in which version,
 * and what is missing, with the next step.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tfrun/fail.h>

#include "commands.h"
#include "json.h"
#include "table.h"
#include "text.h"

/* ---- a runtime whose plugins open everything ------------------------------------------------- */

tfr_status cli_open_all(const cli_args *args, tfr_runtime **out, tfr_err *err)
{
    cli_args all = *args;
    tfr_runtime *runtime = NULL;
    tfr_plugin_desc p = {.size = sizeof p};
    tfr_status status = cli_open_runtime(args, &runtime, err);
    const uint32_t n = status ? 0 : tfr_runtime_n_plugins(runtime), given = args->plugin_options.n;
    char(*names)[64] = calloc((size_t)n + 1, sizeof *names);
    tfr_option *items = calloc((size_t)given + n + 1, sizeof *items);
    if (!status && (!names || !items))
        status = tfr_fail(err, TFR_ENOMEM, "no memory for options of plugins");
    if (!status) {
        if (given)
            memcpy(items, args->plugin_options.items, given * sizeof *items);
        all.plugin_options.items = items;
        all.refresh = true;
        for (uint32_t i = 0; i < n && !tfr_runtime_plugin(runtime, i, &p, NULL); i++) {
            /* A file that is no plugin has its file's name. */
            if (!*p.name || strchr(p.name, '.') ||
                strlen(p.name) > sizeof *names - sizeof ".open-libraries")
                continue;
            snprintf(names[i], sizeof *names, "%s.open-libraries", p.name);
            items[all.plugin_options.n++] = (tfr_option){names[i], "1"};
        }
    }
    tfr_runtime_release(runtime);
    if (!status)
        status = cli_open_runtime(&all, out, err);
    free(names);
    free(items);
    return status;
}

/* ---- lines of build_info --------------------------------------------------------------------- */

typedef struct finding {
    char name[64];
    const char *state; /* "built", "loaded", "missing", "" = anything else */
    char text[640], next_step[320];
} finding;

/* Takes the line "acme_loaded=2.3" apart. False: there is none any more. */
static bool next_finding(const char **lines, finding *out)
{
    static const char *const states[] = {"built", "loaded", "missing"};
    const char *line = *lines, *equal;
    size_t length = strcspn(line, "\n"), name;
    char *step;
    if (!length)
        return false;
    *lines = line + length + (line[length] == '\n');
    equal = memchr(line, '=', length);
    name = equal ? (size_t)(equal - line) : length;
    *out = (finding){.state = ""};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        const size_t n = strlen(states[i]);
        if (name > n + 1 && line[name - n - 1] == '_' && memcmp(line + name - n, states[i], n) == 0)
            out->state = states[i];
    }
    if (*out->state)
        name -= strlen(out->state) + 1;
    snprintf(out->name, sizeof out->name, "%.*s", (int)name, line);
    if (equal)
        snprintf(out->text, sizeof out->text, "%.*s", (int)(line + length - equal - 1), equal + 1);
    step = strcmp(out->state, "missing") == 0 ? strstr(out->text, "; ") : NULL;
    if (step) {
        snprintf(out->next_step, sizeof out->next_step, "%s", step + 2);
        *step = '\0';
    }
    return true;
}

/* ---- for people ------------------------------------------------------------------------------ */

static const char *name_of(const tfr_plugin_desc *p)
{
    const char *slash = strrchr(p->path, '/');
    return *p->name ? p->name : slash ? slash + 1 : p->path;
}

static void add_row(cli_table *table, const char *plugin, const char *what, const char *found,
                    const char *text, const char *next_step)
{
    cli_table_add(table, "%s", plugin);
    cli_table_add(table, "%s", what);
    cli_table_add(table, "%s", *found ? found : "-");
    if (strcmp(found, "missing") == 0)
        cli_table_color(table, CLI_YELLOW);
    cli_table_add(table, "%s", text);
    cli_table_add(table, "%s", *next_step ? next_step : "-");
}

static tfr_status print_findings(const tfr_runtime *runtime, tfr_err *err)
{
    static const char *const titles[] = {"PLUGIN", "WHAT", "STATE", "FOUND", "NEXT STEP"};
    static const uint32_t flags[] = {0, 0, 0, CLI_WRAP, CLI_WRAP};
    cli_table *table = cli_table_create(5, titles, flags);
    for (uint32_t i = 0; i < tfr_runtime_n_plugins(runtime); i++) {
        tfr_plugin_desc p = {.size = sizeof p};
        tfr_status status = tfr_runtime_plugin(runtime, i, &p, err);
        const char *lines = status ? "" : p.build_info;
        finding f;
        if (status) {
            cli_table_destroy(table);
            return status;
        }
        add_row(table, name_of(&p), "plugin", tfr_plugin_state_name((tfr_plugin_state)p.state),
                cli_plugin_is_usable(p.state) ? p.version : p.reason,
                cli_plugin_is_usable(p.state) ? "" : p.next_step);
        while (next_finding(&lines, &f))
            add_row(table, name_of(&p), f.name, f.state, f.text, f.next_step);
    }
    return cli_table_print(table, err);
}

/* ---- for programs ---------------------------------------------------------------------------- */

static json_t *findings_json(const char *lines)
{
    json_t *rows = json_array();
    finding f;
    while (next_finding(&lines, &f)) {
        json_t *row = json_object();
        cli_json_set(row, "name", cli_json_text(f.name));
        cli_json_set(row, "state", *f.state ? cli_json_text(f.state) : json_null());
        cli_json_set(row, "text", cli_json_text(f.text));
        cli_json_set(row, "next_step", *f.next_step ? cli_json_text(f.next_step) : json_null());
        cli_json_append(rows, row);
    }
    return rows;
}

static tfr_status print_json(const tfr_runtime *runtime, tfr_err *err)
{
    json_t *object = cli_json_start("doctor"), *rows = json_array();
    for (uint32_t i = 0; i < tfr_runtime_n_plugins(runtime); i++) {
        tfr_plugin_desc p = {.size = sizeof p};
        const bool found = tfr_runtime_plugin(runtime, i, &p, NULL) == TFR_OK;
        json_t *row;
        if (!found)
            break;
        row = json_object();
        cli_json_set(row, "plugin", cli_json_text(name_of(&p)));
        cli_json_set(row, "path", cli_json_text(p.path));
        cli_json_set(row, "version", cli_json_text(p.version));
        cli_json_set(row, "state", cli_json_text(tfr_plugin_state_name((tfr_plugin_state)p.state)));
        cli_json_set(row, "reason", *p.reason ? cli_json_text(p.reason) : json_null());
        cli_json_set(row, "next_step", *p.next_step ? cli_json_text(p.next_step) : json_null());
        cli_json_set(row, "libraries", findings_json(p.build_info));
        cli_json_append(rows, row);
    }
    cli_json_set(object, "plugins", rows);
    return cli_json_print(object, err);
}

/* ---- the command ----------------------------------------------------------------------------- */

static int doctor_run(const cli_args *args)
{
    tfr_err err = TFR_ERR_INIT;
    tfr_runtime *runtime = NULL;
    tfr_status status = cli_open_all(args, &runtime, &err);
    if (!status)
        status = args->json ? print_json(runtime, &err) : print_findings(runtime, &err);
    tfr_runtime_release(runtime);
    return status ? cli_fail(args, &err) : CLI_EXIT_DONE;
}

const cli_command cli_doctor = {
    .name = "doctor",
    .words = "",
    .summary = "Open every library that plugins may need, and tell what is missing",
    .text = "A listing opens only what it needs to find devices. This asks all plugins anew\n"
            "and has them open the rest, too, which may take seconds: a row for each plugin,\n"
            "then one for each library that it was built with, has loaded, or misses, with\n"
            "the package or the step that brings it. As a listing it exits with 0 whatever\n"
            "it finds.",
    .log_level = TFR_LOG_WARNING,
    .lists_plugins = true,
    .run = doctor_run,
};
