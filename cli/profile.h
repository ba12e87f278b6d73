/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.h: the events of traced runs, added up by op, node or backend.
 *
 * A row's time is that of its steps, nested events excluded; parts of a program that ran
 * on several threads side by side count with their time divided by the threads. What the rows leave
 * of the runs is the time outside of kernels.
 */
#ifndef TFR_CLI_PROFILE_H
#define TFR_CLI_PROFILE_H

#include <bench/roof.h>

#include "cli.h"

typedef enum cli_profile_by { CLI_BY_OP = 1, CLI_BY_NODE = 2, CLI_BY_BACKEND = 3 } cli_profile_by;

typedef struct cli_profile_row {
    const char *name, *op, *backend; /* borrowed from the session; op, backend "" = several */
    const char *kind;                /* as cli_trace_kind */
    uint64_t calls;
    double seconds;       /* of all calls */
    double flops, bytes;  /* of all calls; 0 = not known */
    double flops_seconds; /* the least they could take, at the roofs; 0 = not known */
    double bytes_seconds;
    bool queue; /* on a device's queue, beside the host's time */
} cli_profile_row;

typedef struct cli_profile {
    cli_profile_row *rows; /* the longest first */
    uint32_t n_rows;
    uint64_t n_runs, n_dropped;
    double run_seconds;     /* of all runs, planning aside */
    double plan_seconds;    /* before and in the runs */
    double wait_seconds;    /* of the host, for queues */
    double outside_seconds; /* of the runs: neither in rows, nor planning, nor waiting */
} cli_profile;

/* roofs NULL = not measured. cli_profile_finish in any case. */
TFR_MUST_CHECK tfr_status cli_profile_make(const tfr_session *session, cli_profile_by by,
                                           const bench_roofs *roofs, cli_profile *out,
                                           tfr_err *err);
void cli_profile_finish(cli_profile *profile);

/* The higher of both shares of the roofs, 0...; NaN = not known. */
double cli_profile_roof_share(const cli_profile_row *row);

#endif
