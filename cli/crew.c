/* SPDX-License-Identifier: Apache-2.0 */
/* crew.c: see crew.h. A worker that dies is replaced when there is a job for it. */
#include "crew.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tfrun/fail.h>

#include "timing.h"

#define MOST_WORKERS 256

typedef struct worker {
    pid_t pid; /* 0 = none */
    int fd;
    int64_t job; /* in work; -1 = idle */
    double deadline;
} worker;

typedef struct crew {
    const cli_crew *plan;
    uint32_t next; /* the next job to give out */
    worker *workers;
    char *results; /* n_jobs of result_bytes */
    bool *done;
    uint32_t n_reported;
} crew;

static void *result_of(const crew *c, int64_t job)
{
    return c->results + (size_t)job * c->plan->result_bytes;
}

/* ---- in the worker --------------------------------------------------------------------------- */

static bool read_all(int fd, void *data, size_t n)
{
    char *at = data;
    while (n) {
        ssize_t got = read(fd, at, n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        n -= (size_t)got;
    }
    return true;
}

static bool write_all(int fd, const void *data, size_t n)
{
    const char *at = data;
    while (n) {
        ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        at += sent;
        n -= (size_t)sent;
    }
    return true;
}

static void work(const crew *c, int fd)
{
    void *state = NULL;
    uint32_t job;
    while (read_all(fd, &job, sizeof job)) {
        void *result = result_of(c, job); /* this process's copy */
        memset(result, 0, c->plan->result_bytes);
        c->plan->work(c->plan->user, &state, job, result);
        if (!write_all(fd, result, c->plan->result_bytes))
            break;
    }
    c->plan->finish(c->plan->user, state);
}

/* ---- in the parent --------------------------------------------------------------------------- */

static tfr_status hire(crew *c, worker *w, tfr_err *err)
{
    int fds[2];
    pid_t parent = getpid();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
        return tfr_fail(err, TFR_EIO, "no socket for a worker: %s", strerror(errno));
    fflush(NULL);
    w->pid = fork();
    if (w->pid < 0) {
        w->pid = 0;
        close(fds[0]);
        close(fds[1]);
        return tfr_fail(err, TFR_ENOMEM, "no worker process: %s", strerror(errno));
    }
    if (w->pid == 0) {
        /* A worker that hangs must not outlive a parent that was killed. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(fds[0]);
        for (uint32_t i = 0; i < c->plan->n_workers; i++)
            if (&c->workers[i] != w && c->workers[i].pid)
                close(c->workers[i].fd);
        if (getppid() == parent)
            work(c, fds[1]);
        _exit(0);
    }
    close(fds[1]);
    w->fd = fds[0];
    w->job = -1;
    return TFR_OK;
}

static void dismiss(worker *w, bool kill_it, int *how)
{
    if (!w->pid)
        return;
    close(w->fd);
    if (kill_it)
        kill(w->pid, SIGKILL);
    while (waitpid(w->pid, how, 0) < 0 && errno == EINTR)
        continue;
    w->pid = 0;
}

/* The worker is gone: says how, in place of the result it owes. */
static void bury(crew *c, worker *w, bool too_late)
{
    const cli_crew *plan = c->plan;
    char why[200];
    int how = 0;
    double seconds = cli_now() - w->deadline + (double)(plan->seconds + plan->grace);
    dismiss(w, too_late, &how);
    if (too_late)
        snprintf(why, sizeof why, "no result within %lld s", (long long)plan->seconds);
    else if (WIFSIGNALED(how))
        snprintf(why, sizeof why, "crashed (signal %d, %s)", WTERMSIG(how),
                 strsignal(WTERMSIG(how)));
    else
        snprintf(why, sizeof why, "the process ended with status %d", WEXITSTATUS(how));
    memset(result_of(c, w->job), 0, plan->result_bytes);
    plan->lose(plan->user, (uint32_t)w->job, why, seconds, result_of(c, w->job));
    c->done[w->job] = true;
    w->job = -1;
}

/* Gives a job to an idle worker, hiring one where there is none. */
static tfr_status assign(crew *c, worker *w, tfr_err *err)
{
    tfr_status status = w->pid ? TFR_OK : hire(c, w, err);
    if (status)
        return status;
    w->job = c->next++;
    w->deadline = cli_now() + (double)(c->plan->seconds + c->plan->grace);
    uint32_t job = (uint32_t)w->job;
    if (!write_all(w->fd, &job, sizeof job))
        bury(c, w, false);
    return TFR_OK;
}

/* Waits until a worker has something to say or is too late, and listens to all. */
static bool listen_to_all(crew *c)
{
    const uint32_t n = c->plan->n_workers;
    struct pollfd polls[MOST_WORKERS];
    double now = cli_now(), wait = 3600;
    for (uint32_t i = 0; i < n; i++) {
        const worker *w = &c->workers[i];
        bool busy = w->pid && w->job >= 0;
        polls[i] = (struct pollfd){busy ? w->fd : -1, POLLIN, 0};
        if (busy && w->deadline - now < wait)
            wait = w->deadline - now;
    }
    if (poll(polls, n, wait > 0 ? (int)(wait * 1000) + 1 : 0) < 0 && errno != EINTR)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        worker *w = &c->workers[i];
        if (polls[i].fd < 0)
            continue;
        if (!polls[i].revents) {
            if (cli_now() >= w->deadline)
                bury(c, w, true);
        } else if (read_all(w->fd, result_of(c, w->job), c->plan->result_bytes)) {
            c->done[w->job] = true;
            w->job = -1;
        } else {
            bury(c, w, false);
        }
    }
    return true;
}

static int run_crew(crew *c)
{
    const cli_crew *plan = c->plan;
    tfr_err err = TFR_ERR_INIT;
    while (c->n_reported < plan->n_jobs) {
        for (uint32_t i = 0; i < plan->n_workers && c->next < plan->n_jobs; i++)
            if ((!c->workers[i].pid || c->workers[i].job < 0) && assign(c, &c->workers[i], &err))
                return cli_fail(plan->args, &err);
        if (!listen_to_all(c)) {
            (void)tfr_fail(&err, TFR_EIO, "poll: %s", strerror(errno));
            return cli_fail(plan->args, &err);
        }
        while (c->n_reported < plan->n_jobs && c->done[c->n_reported]) {
            uint32_t job = c->n_reported++;
            int status = plan->report(plan->user, job, result_of(c, job));
            if (status)
                return status;
        }
    }
    return 0;
}

uint32_t cli_crew_size(int64_t wanted, uint32_t n_jobs)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t n = wanted ? wanted : cpus > 0 ? cpus : 1;
    n = n < (int64_t)n_jobs ? n : (int64_t)n_jobs;
    return n < MOST_WORKERS ? (uint32_t)n : MOST_WORKERS;
}

int cli_crew_run(const cli_crew *plan)
{
    crew c = {.plan = plan};
    int status;
    c.workers = calloc(plan->n_workers, sizeof *c.workers);
    c.results = calloc(plan->n_jobs, plan->result_bytes);
    c.done = calloc(plan->n_jobs, sizeof *c.done);
    if (c.workers && c.results && c.done) {
        status = run_crew(&c);
    } else {
        tfr_err err = TFR_ERR_INIT;
        (void)tfr_fail(&err, TFR_ENOMEM, "no memory for %u results", (unsigned)plan->n_jobs);
        status = cli_fail(plan->args, &err);
    }
    for (uint32_t i = 0; c.workers && i < plan->n_workers; i++) {
        int how;
        /* Only a run that ended early leaves workers at work. */
        dismiss(&c.workers[i], c.workers[i].job >= 0, &how);
    }
    free(c.workers);
    free(c.results);
    free(c.done);
    return status;
}
