/* SPDX-License-Identifier: Apache-2.0 */
/* failure.c: how tfrun tells that something went wrong: a sentence, an object, an exit status. */
#include "cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <tfrun/fail.h>

#include "json.h"
#include "text.h"

int cli_exit_of(int32_t code)
{
    switch (code) {
    case TFR_OK:
        return CLI_EXIT_DONE;
    case TFR_ENOTFOUND:
    case TFR_EDEVICE:
    case TFR_ELOST:
        return CLI_EXIT_DEVICE;
    case TFR_EFALLBACK:
        return CLI_EXIT_FALLBACK;
    case TFR_EINVAL:
    case TFR_ESHAPE:
    case TFR_EDTYPE:
    case TFR_EMODEL:
    case TFR_ELIMIT:
        return CLI_EXIT_DATA;
    case TFR_ENOMEM:
        return CLI_EXIT_MEMORY;
    case TFR_ETIMEOUT:
        return CLI_EXIT_TIMEOUT;
    case TFR_EIO:
    case TFR_EPERM:
        return CLI_EXIT_IO;
    default:
        return CLI_EXIT_FAILED;
    }
}

/* Failures that are known before the options are read still obey --json, if it came first. */
int cli_fail_as(const cli_args *args, const tfr_err *err, int exit_status)
{
    const char *text = *err->text ? err->text : tfr_status_text((tfr_status)err->code);
    cli_line(stderr, "tfrun: %s", text);
    if (args->json) {
        json_t *object = cli_json_start("error"), *error = json_object();
        cli_json_set(error, "code", json_string(tfr_status_name((tfr_status)err->code)));
        cli_json_set(error, "text", cli_json_text(text));
        cli_json_set(error, "exit", json_integer(exit_status));
        cli_json_set(object, "error", error);
        if (cli_json_print(object, NULL))
            fputs("tfrun: no memory for the JSON output\n", stderr);
    }
    return exit_status;
}

int cli_fail(const cli_args *args, const tfr_err *err)
{
    return cli_fail_as(args, err, cli_exit_of(err->code));
}

int cli_usage(const cli_args *args, const char *format, ...)
{
    tfr_err err = TFR_ERR_INIT;
    const char *name = args->command && !args->command->hidden ? args->command->name : "";
    char text[400];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    (void)tfr_fail(&err, TFR_EINVAL, "%s%s%s; see `tfrun %s%s--help`", name, *name ? ": " : "",
                   text, name, *name ? " " : "");
    return cli_fail_as(args, &err, CLI_EXIT_USAGE);
}
