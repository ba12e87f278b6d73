/* SPDX-License-Identifier: Apache-2.0 */
/* team.c: see team.h. */
#include "team.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#define SPINS 4000 /* 20 to 60 us, longer than a meeting takes on a quiet machine */

struct bench_team {
    uint32_t n;
    pthread_t *threads; /* n - 1 */
    uint32_t n_threads;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bench_job job;
    void *user;
    bool stop;
    atomic_uint meetings, here; /* meetings that are over, and who waits for the next one */
    atomic_uint next_member;
};

static void pause_a_little(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

void bench_team_meet(bench_team *team)
{
    unsigned meeting = atomic_load(&team->meetings);
    if (atomic_fetch_add(&team->here, 1) + 1 == team->n) {
        atomic_store(&team->here, 0);
        pthread_mutex_lock(&team->mutex);
        atomic_store(&team->meetings, meeting + 1);
        pthread_cond_broadcast(&team->changed);
        pthread_mutex_unlock(&team->mutex);
        return;
    }
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load(&team->meetings) != meeting)
            return;
        pause_a_little();
    }
    pthread_mutex_lock(&team->mutex);
    while (atomic_load(&team->meetings) == meeting)
        pthread_cond_wait(&team->changed, &team->mutex);
    pthread_mutex_unlock(&team->mutex);
}

/* A job is between two meetings, of its start and of its end. */
static void *member(void *user)
{
    bench_team *team = user;
    uint32_t i = atomic_fetch_add(&team->next_member, 1);
    for (;;) {
        bench_team_meet(team);
        if (team->stop)
            return NULL;
        team->job(team->user, i);
        bench_team_meet(team);
    }
}

void bench_team_run(bench_team *team, bench_job job, void *user)
{
    team->job = job;
    team->user = user;
    bench_team_meet(team);
    job(user, 0);
    bench_team_meet(team);
}

bench_team *bench_team_create(uint32_t n)
{
    bench_team *team = calloc(1, sizeof *team);
    if (!team)
        return NULL;
    team->n = n;
    atomic_init(&team->next_member, 1);
    pthread_mutex_init(&team->mutex, NULL);
    pthread_cond_init(&team->changed, NULL);
    team->threads = calloc(n, sizeof *team->threads);
    while (team->threads && team->n_threads + 1 < n &&
           !pthread_create(&team->threads[team->n_threads], NULL, member, team))
        team->n_threads++;
    if (team->threads && team->n_threads + 1 == n)
        return team;
    team->n = team->n_threads + 1; /* those that there are end */
    bench_team_destroy(team);
    return NULL;
}

void bench_team_destroy(bench_team *team)
{
    if (!team)
        return;
    team->stop = true;
    if (team->threads)
        bench_team_meet(team);
    for (uint32_t i = 0; i < team->n_threads; i++)
        pthread_join(team->threads[i], NULL);
    pthread_cond_destroy(&team->changed);
    pthread_mutex_destroy(&team->mutex);
    free(team->threads);
    free(team);
}
