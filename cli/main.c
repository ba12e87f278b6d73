/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c: the tfrun command: the table of commands, and nothing that only one of them needs.
 * Results go to standard output, talk to standard error.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <tfrun/fail.h>

#include "commands.h"
#include "guard.h"
#include "help.h"
#include "options.h"
#include "text.h"

/* In the order of `tfrun help`; hidden ones last. */
const cli_command *const cli_commands[] = {
    &cli_devices,  &cli_plugins, &cli_doctor,          &cli_ops,         &cli_inspect,
    &cli_run,      &cli_train,   &cli_profile_command, &cli_explain,     &cli_optimize,
    &cli_quantize, &cli_verify,  &cli_certify,         &cli_matmul,      &cli_bench,
    &cli_help,     &cli_version, &cli_complete,        &cli_bench_child, NULL,
};

const cli_command *cli_find_command(const char *name)
{
    for (uint32_t i = 0; cli_commands[i]; i++)
        if (strcmp(cli_commands[i]->name, name) == 0)
            return cli_commands[i];
    return NULL;
}

/* A full disk or a closed pipe shows only now; a lost line has been told of. */
static int finish_output(const cli_args *args, int status)
{
    tfr_err err = TFR_ERR_INIT;
    if (!fflush(stdout) && !ferror(stdout))
        return !status && cli_line_was_lost() ? CLI_EXIT_MEMORY : status;
    (void)tfr_fail(&err, TFR_EIO, "standard output cannot be written: %s", strerror(errno));
    return status ? status : cli_fail(args, &err);
}

int main(int argc, char **argv)
{
    cli_args args;
    int status;
    cli_crash_install();
    status = cli_args_parse(argc, argv, &args);
    cli_color_init(args.color);
    if (!status) {
        if (args.help)
            cli_print_help(args.command);
        else
            status = args.command->run(&args);
    }
    cli_watch_stop();
    status = finish_output(&args, status);
    cli_args_finish(&args);
    return status;
}
