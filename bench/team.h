/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/team.h: threads of a peer that work together for a millisecond at a time. Who waits spins
 * for some microseconds and then sleeps, so that a team between two jobs is quiet.
 */
#ifndef TFR_BENCH_TEAM_H
#define TFR_BENCH_TEAM_H

#include <stdint.h>

typedef struct bench_team bench_team;

/* What member i of the team does. */
typedef void (*bench_job)(void *user, uint32_t i);

/* The caller is member 0, the others are threads. NULL when they cannot be made. */
bench_team *bench_team_create(uint32_t n);
/* NULL is fine. */
void bench_team_destroy(bench_team *team);
/* Returns when all members are done. */
void bench_team_run(bench_team *team, bench_job job, void *user);
/* Within a job: waits until all members are here. */
void bench_team_meet(bench_team *team);

#endif
