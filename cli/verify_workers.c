/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify_workers.c: worker processes for `tfrun verify`. The parent sends the number of a model
 * over a socket and reads a verdict; a worker that dies instead is a failed model. The runtime is
 * made in the worker, because threads do not survive fork.
 */
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
#include "verify.h"

#define DEFAULT_TIMEOUT 600 /* seconds for a model */
#define MOST_WORKERS    256

typedef struct worker {
    pid_t pid; /* 0 = none */
    int fd;
    int64_t model; /* in work; -1 = idle */
    double deadline;
} worker;

typedef struct crew {
    const cli_args *args;
    char *const *dirs;
    uint32_t n_dirs, next; /* the next model to give out */
    worker *workers;
    uint32_t n_workers, n_threads;
    cli_verdict *verdicts;
    bool *done;
    uint32_t n_reported;
} crew;

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

static tfr_status open_worker(const crew *c, tfr_runtime **runtime, tfr_err *err)
{
    cli_args args = *c->args;
    uint32_t device;
    int32_t backend;
    tfr_status status;
    if (!args.threads)
        args.threads = c->n_threads;
    status = cli_open_runtime(&args, runtime, err);
    /* A wrong device is one mistake, not one a model. */
    if (!status && args.device)
        status = tfr_runtime_find(*runtime, args.device, &device, &backend, err);
    return status;
}

/* The plugins that broke the contract, one bit each; of the first 64. */
static uint64_t find_quarantined(const tfr_runtime *runtime)
{
    uint32_t n = tfr_runtime_n_plugins(runtime);
    uint64_t found = 0;
    for (uint32_t i = 0; i < n && i < 64; i++) {
        tfr_plugin_desc plugin = {.size = sizeof plugin};
        if (!tfr_runtime_plugin(runtime, i, &plugin, NULL) &&
            plugin.state == TFR_PLUGIN_QUARANTINED)
            found |= UINT64_C(1) << i;
    }
    return found;
}

/*
 * Tries one model. Where a backend accepted a call and then failed, the model has failed although
 * its node ran elsewhere and gave what is expected: who verifies wants to know of it. True: one
 * did, and the runtime, which does not ask it again, is of no use for the next model.
 */
static bool try_model(const crew *c, tfr_runtime *runtime, uint32_t model, cli_verdict *verdict)
{
    uint64_t before = find_quarantined(runtime), broke;
    tfr_plugin_desc plugin = {.size = sizeof plugin};
    uint32_t i = 0;
    cli_verify_model(c->args, runtime, c->dirs[model], verdict);
    broke = find_quarantined(runtime) & ~before;
    while (broke && !(broke >> i & 1))
        i++;
    if (broke && verdict->result != CLI_DIFFERENT &&
        !tfr_runtime_plugin(runtime, i, &plugin, NULL)) {
        verdict->result = CLI_DIFFERENT;
        verdict->code = TFR_EPLUGIN;
        snprintf(verdict->text, sizeof verdict->text, "plugin %s did not keep its word: %s",
                 plugin.name, plugin.reason);
    }
    return broke != 0;
}

static void work(const crew *c, int fd)
{
    tfr_runtime *runtime = NULL;
    uint32_t model;
    while (read_all(fd, &model, sizeof model)) {
        tfr_err err = TFR_ERR_INIT;
        cli_verdict verdict;
        if (!runtime && open_worker(c, &runtime, &err)) {
            memset(&verdict, 0, sizeof verdict);
            verdict.code = err.code;
            verdict.fatal_exit = cli_exit_of(err.code);
            snprintf(verdict.text, sizeof verdict.text, "%s", err.text);
        } else if (try_model(c, runtime, model, &verdict)) {
            tfr_runtime_release(runtime);
            runtime = NULL;
        }
        if (!write_all(fd, &verdict, sizeof verdict) || verdict.fatal_exit)
            break;
    }
    tfr_runtime_release(runtime);
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
        for (uint32_t i = 0; i < c->n_workers; i++)
            if (&c->workers[i] != w && c->workers[i].pid)
                close(c->workers[i].fd);
        if (getppid() == parent)
            work(c, fds[1]);
        _exit(0);
    }
    close(fds[1]);
    w->fd = fds[0];
    w->model = -1;
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

static void finish_model(crew *c, worker *w, const cli_verdict *verdict)
{
    c->verdicts[w->model] = *verdict;
    c->done[w->model] = true;
    w->model = -1;
}

/* The worker is gone: says how, in place of the verdict it owes. */
static void bury(crew *c, worker *w, bool too_late)
{
    cli_verdict verdict = {.result = CLI_DIFFERENT};
    int how = 0;
    int64_t limit = c->args->timeout ? c->args->timeout : DEFAULT_TIMEOUT;
    verdict.seconds = cli_now() - w->deadline + (double)limit;
    dismiss(w, too_late, &how);
    if (too_late)
        snprintf(verdict.text, sizeof verdict.text, "no result within %lld s", (long long)limit);
    else if (WIFSIGNALED(how))
        snprintf(verdict.text, sizeof verdict.text, "crashed (signal %d, %s)", WTERMSIG(how),
                 strsignal(WTERMSIG(how)));
    else
        snprintf(verdict.text, sizeof verdict.text,
                 "the process ended with status %d in the middle of the model", WEXITSTATUS(how));
    finish_model(c, w, &verdict);
}

/* Gives a model to an idle worker, hiring one where there is none. */
static tfr_status assign(crew *c, worker *w, tfr_err *err)
{
    int64_t limit = c->args->timeout ? c->args->timeout : DEFAULT_TIMEOUT;
    tfr_status status = w->pid ? TFR_OK : hire(c, w, err);
    if (status)
        return status;
    w->model = c->next++;
    w->deadline = cli_now() + (double)limit;
    uint32_t model = (uint32_t)w->model;
    if (!write_all(w->fd, &model, sizeof model))
        bury(c, w, false);
    return TFR_OK;
}

/* Waits until a worker has something to say or is too late, and listens to all. */
static int listen_to_all(crew *c)
{
    struct pollfd polls[MOST_WORKERS];
    double now = cli_now(), wait = 3600;
    for (uint32_t i = 0; i < c->n_workers; i++) {
        const worker *w = &c->workers[i];
        bool busy = w->pid && w->model >= 0;
        polls[i] = (struct pollfd){busy ? w->fd : -1, POLLIN, 0};
        if (busy && w->deadline - now < wait)
            wait = w->deadline - now;
    }
    if (poll(polls, c->n_workers, wait > 0 ? (int)(wait * 1000) + 1 : 0) < 0 && errno != EINTR)
        return -1;
    for (uint32_t i = 0; i < c->n_workers; i++) {
        worker *w = &c->workers[i];
        cli_verdict verdict;
        if (polls[i].fd < 0)
            continue;
        if (!polls[i].revents) {
            if (cli_now() >= w->deadline)
                bury(c, w, true);
            continue;
        }
        if (!read_all(w->fd, &verdict, sizeof verdict)) {
            bury(c, w, false);
            continue;
        }
        verdict.text[sizeof verdict.text - 1] = 0;
        if (verdict.fatal_exit) {
            tfr_err err = TFR_ERR_INIT;
            (void)tfr_fail(&err, (tfr_status)verdict.code, "%s", verdict.text);
            return cli_fail_as(c->args, &err, verdict.fatal_exit);
        }
        finish_model(c, w, &verdict);
    }
    return 0;
}

static int run_crew(crew *c, cli_verdict_fn report, void *user)
{
    tfr_err err = TFR_ERR_INIT;
    while (c->n_reported < c->n_dirs) {
        int status;
        for (uint32_t i = 0; i < c->n_workers && c->next < c->n_dirs; i++)
            if ((!c->workers[i].pid || c->workers[i].model < 0) && assign(c, &c->workers[i], &err))
                return cli_fail(c->args, &err);
        status = listen_to_all(c);
        if (status < 0) {
            (void)tfr_fail(&err, TFR_EIO, "poll: %s", strerror(errno));
            return cli_fail(c->args, &err);
        }
        if (status)
            return status;
        while (c->n_reported < c->n_dirs && c->done[c->n_reported]) {
            report(user, c->n_reported, &c->verdicts[c->n_reported]);
            c->n_reported++;
        }
    }
    return 0;
}

/* As many workers as processors share the threads; a single model gets them all. */
static void crew_size(crew *c)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t n = c->args->jobs ? c->args->jobs : cpus > 0 ? cpus : 1;
    n = n < (int64_t)c->n_dirs ? n : (int64_t)c->n_dirs;
    c->n_workers = n < MOST_WORKERS ? (uint32_t)n : MOST_WORKERS;
    c->n_threads = cpus > (long)c->n_workers ? (uint32_t)(cpus / (long)c->n_workers) : 1;
}

int cli_verify_all(const cli_args *args, char *const *dirs, uint32_t n_dirs, cli_verdict_fn report,
                   void *user)
{
    crew c = {.args = args, .dirs = dirs, .n_dirs = n_dirs};
    int status;
    crew_size(&c);
    c.workers = calloc(c.n_workers, sizeof *c.workers);
    c.verdicts = calloc(n_dirs, sizeof *c.verdicts);
    c.done = calloc(n_dirs, sizeof *c.done);
    if (c.workers && c.verdicts && c.done) {
        status = run_crew(&c, report, user);
    } else {
        tfr_err err = TFR_ERR_INIT;
        (void)tfr_fail(&err, TFR_ENOMEM, "no memory for %u verdicts", (unsigned)n_dirs);
        status = cli_fail(args, &err);
    }
    for (uint32_t i = 0; c.workers && i < c.n_workers; i++) {
        int how;
        /* Only a failed run leaves workers at work. */
        dismiss(&c.workers[i], c.workers[i].model >= 0, &how);
    }
    free(c.workers);
    free(c.verdicts);
    free(c.done);
    return status;
}
