/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_version.c: `tfrun version`, also `tfrun --version`: what this tfrun was built from. */
#include <stdio.h>

#include "commands.h"
#include "json.h"
#include "text.h"

static json_t *plugins_json(const tfr_runtime *runtime)
{
    json_t *rows = json_array();
    tfr_plugin_desc p = {.size = sizeof p};
    for (uint32_t i = 0; !tfr_runtime_plugin(runtime, i, &p, NULL); i++) {
        json_t *row;
        if (!cli_plugin_is_usable(p.state))
            continue;
        row = json_object();
        cli_json_set(row, "name", cli_json_text(p.name));
        cli_json_set(row, "version", cli_json_text(p.version));
        cli_json_set(row, "vendor", cli_json_text(p.vendor));
        cli_json_set(row, "build_info", cli_json_text(p.build_info));
        cli_json_append(rows, row);
    }
    return rows;
}

static tfr_status print_json(const tfr_runtime *runtime, tfr_err *err)
{
    json_t *object = cli_json_start("version");
    cli_json_set(object, "version", json_string(tfr_version()));
    cli_json_set(object, "abi_major", json_integer(TFR_ABI_MAJOR));
    cli_json_set(object, "abi_minor", json_integer(TFR_ABI_MINOR));
    cli_json_set(object, "ops", cli_json_int(tfr_op_count()));
    cli_json_set(object, "compiler", json_string(__VERSION__));
    cli_json_set(object, "plugins", runtime ? plugins_json(runtime) : json_null());
    return cli_json_print(object, err);
}

static void print_text(const tfr_runtime *runtime)
{
    tfr_plugin_desc p = {.size = sizeof p};
    printf("tfrun %s\n", tfr_version());
    if (!runtime)
        return;
    printf("plugin ABI %d.%d, %u ops, compiled by %s\n", TFR_ABI_MAJOR, TFR_ABI_MINOR,
           (unsigned)tfr_op_count(), __VERSION__);
    for (uint32_t i = 0; !tfr_runtime_plugin(runtime, i, &p, NULL); i++)
        if (cli_plugin_is_usable(p.state))
            cli_line(stdout, "%s %s%s%s", p.name, p.version, *p.build_info ? ": " : "",
                     p.build_info);
}

static int version_run(const cli_args *args)
{
    tfr_err err = TFR_ERR_INIT;
    tfr_runtime *runtime = NULL;
    tfr_status status = TFR_OK;
    /* The short answer looks at no plugin. */
    if (args->build_info)
        status = cli_open_all(args, &runtime, &err);
    else if (args->verbose)
        status = cli_open_runtime(args, &runtime, &err);
    if (!status && args->json)
        status = print_json(runtime, &err);
    else if (!status)
        print_text(runtime);
    tfr_runtime_release(runtime);
    return status ? cli_fail(args, &err) : CLI_EXIT_DONE;
}

static const cli_option version_options[] = {
    {0, "build-info", NULL, CLI_FLAG, CLI_FIELD(build_info), "none", 0, 0,
     "also what plugins were built with and have loaded, after they opened all of it"},
    CLI_OPTION_END};

const cli_command cli_version = {
    .name = "version",
    .words = "",
    .summary = "Print the version; with --verbose, what tfrun and its plugins were built from",
    .text = "Also tfrun --version. tfrun --build-info is version --build-info: plugins open\n"
            "all of their libraries and tell the versions that were loaded.",
    .log_level = TFR_LOG_WARNING,
    .options = version_options,
    .run = version_run,
};
