/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crew.h: jobs done by worker processes, so that a crash or a hang costs one job. The parent sends
 * the number of a job over a socket and reads its result, which is plain bytes of one size. What a
 * worker needs is made in the worker, because threads do not survive fork.
 */
#ifndef TFR_CLI_CREW_H
#define TFR_CLI_CREW_H

#include "cli.h"

typedef struct cli_crew {
    const cli_args *args;
    uint32_t n_jobs, n_workers;
    size_t result_bytes;
    int64_t seconds; /* that a job may take */
    int64_t grace;   /* and more of them, if it notices itself that it is late */
    void *user;
    /* In a worker: does a job. *state begins as NULL in each worker and ends with finish. result is
     * zeroed. */
    void (*work)(void *user, void **state, uint32_t job, void *result);
    void (*finish)(void *user, void *state);
    /* In the parent: fills the result of a job whose worker died or was late. why is a sentence. */
    void (*lose)(void *user, uint32_t job, const char *why, double seconds, void *result);
    /* In the parent, in the order of the jobs. Not 0 ends all, as an exit status. */
    int (*report)(void *user, uint32_t job, const void *result);
} cli_crew;

/* Returns 0, or the exit status of report or of a failure that has been told of. */
int cli_crew_run(const cli_crew *crew);

/* How many workers n_jobs are worth: one for each processor, at most wanted if that is not 0. */
uint32_t cli_crew_size(int64_t wanted, uint32_t n_jobs);

#endif
