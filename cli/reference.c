/* SPDX-License-Identifier: Apache-2.0 */
/* reference.c: see reference.h. */
#include "reference.h"

#include <stdio.h>
#include <string.h>

#include "profile.h"
#include "text.h"

#define NAME         "naive"
#define WORTH_A_LINE 0.02 /* of a run's time */

static bool is_reference(const char *backend)
{
    return strncmp(backend, NAME ":", strlen(NAME ":")) == 0;
}

static bool faster_backends(const tfr_runtime *runtime)
{
    tfr_backend_desc b = {.size = sizeof b};
    for (uint32_t i = 0; i < tfr_runtime_n_devices(runtime); i++)
        for (uint32_t k = 0; !tfr_runtime_backend(runtime, i, k, &b, NULL); k++)
            if (b.priority > 0)
                return true;
    return false;
}

bool cli_reference_may_matter(const cli_args *args, const tfr_runtime *runtime,
                              const tfr_session *session)
{
    tfr_placement p = {.size = sizeof p};
    uint32_t device;
    int32_t backend = -1;
    if (args->backend || !cli_warns(args, runtime) || !faster_backends(runtime))
        return false;
    if (args->device &&
        (tfr_runtime_find(runtime, args->device, &device, &backend, NULL) || backend >= 0))
        return false;
    for (uint32_t i = 0; !tfr_session_placement(session, i, &p, NULL); i++)
        if (is_reference(p.backend) || strcmp(p.op, "Loop") == 0 || strcmp(p.op, "If") == 0 ||
            strcmp(p.op, "Scan") == 0 || strcmp(p.op, "SequenceMap") == 0)
            return true;
    return false;
}

void cli_reference_tell(const cli_args *args, const tfr_session *session, double least_seconds)
{
    cli_profile profile;
    const cli_profile_row *most = NULL;
    double seconds = 0;
    char time[32], of_most[32];
    if (!cli_profile_make(session, CLI_BY_NODE, NULL, &profile, NULL) && profile.n_runs) {
        for (uint32_t i = 0; i < profile.n_rows; i++) {
            if (!is_reference(profile.rows[i].backend))
                continue;
            seconds += profile.rows[i].seconds;
            most = most ? most : &profile.rows[i]; /* they are sorted */
        }
    }
    if (most && seconds > WORTH_A_LINE * profile.run_seconds &&
        seconds >= least_seconds * (double)profile.n_runs) {
        const double runs = (double)profile.n_runs;
        cli_line(stderr,
                 "tfrun: warning: the reference kernels of " NAME " took %.0f %% of the time, %s a "
                 "run, node \"%s\" (%s) %s of it; `tfrun explain %s` says why no faster backend "
                 "has them",
                 100 * seconds / profile.run_seconds,
                 cli_format_seconds(seconds / runs, time, sizeof time), most->name, most->op,
                 cli_format_seconds(most->seconds / runs, of_most, sizeof of_most), args->words[0]);
    }
    cli_profile_finish(&profile);
}
