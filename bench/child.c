/* SPDX-License-Identifier: Apache-2.0 */
/* child.c: see child.h. */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <tfrun/fail.h>

#include "contest.h"

extern char **environ;

/* The variables, then the environment without them. Free the array. */
static char **environment(const char *const *variables)
{
    size_t n = 0, used = 0, n_new = 0;
    char **all;
    while (environ[n])
        n++;
    while (variables[n_new])
        n_new++;
    if (!(all = calloc(n + n_new + 1, sizeof *all)))
        return NULL;
    for (size_t i = 0; i < n_new; i++)
        all[used++] = (char *)(uintptr_t)variables[i];
    for (size_t i = 0; i < n; i++) {
        bool known = false;
        for (size_t k = 0; k < n_new; k++)
            known = known || strncmp(environ[i], variables[k], strcspn(variables[k], "=") + 1) == 0;
        if (!known)
            all[used++] = environ[i];
    }
    return all;
}

tfr_status bench_process_start(bench_process *process, const char *const *argv,
                               const char *const *variables, tfr_err *err)
{
    int in[2], out[2], bad = 0;
    posix_spawn_file_actions_t actions;
    char **env = environment(variables);
    *process = (bench_process){.pid = -1, .to = -1, .from = -1};
    if (!env)
        return tfr_fail(err, TFR_ENOMEM, "no memory for the environment of %s", argv[0]);
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) {
        free(env);
        return tfr_fail(err, errno == ENOMEM ? TFR_ENOMEM : TFR_EIO, "no pipe to %s: %s", argv[0],
                        strerror(errno));
    }
    bad = posix_spawn_file_actions_init(&actions);
    if (!bad) {
        bad = posix_spawn_file_actions_adddup2(&actions, in[0], 0);
        if (!bad)
            bad = posix_spawn_file_actions_adddup2(&actions, out[1], 1);
        if (!bad)
            bad = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
        if (!bad)
            bad =
                posix_spawnp(&process->pid, argv[0], &actions, NULL, (char **)(uintptr_t)argv, env);
        posix_spawn_file_actions_destroy(&actions);
    }
    free(env);
    close(in[0]);
    close(out[1]);
    process->to = in[1];
    process->from = out[0];
    if (!bad)
        return TFR_OK;
    process->pid = -1;
    bench_process_finish(process);
    return tfr_fail(err, bad == ENOMEM ? TFR_ENOMEM : TFR_EIO, "%s does not start: %s", argv[0],
                    strerror(bad));
}

tfr_status bench_process_write(bench_process *process, const char *text, tfr_err *err)
{
    /* A child that has died must not take us with it. */
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    ssize_t n = write(process->to, text, strlen(text));
    signal(SIGPIPE, before);
    return n == (ssize_t)strlen(text)
               ? TFR_OK
               : tfr_fail(err, TFR_EIO, "the child takes no more words: %s", strerror(errno));
}

/* What became of a child that has closed its output. Status 6 is out of memory (tfrun(1)). */
static tfr_status ended(bench_process *process, tfr_err *err)
{
    int status = 0;
    if (process->pid <= 0 || waitpid(process->pid, &status, 0) != process->pid)
        return tfr_fail(err, TFR_EIO, "the child ended without an answer");
    process->pid = -1;
    if (WIFSIGNALED(status))
        return tfr_fail(err, TFR_EIO, "the child was ended by %s", strsignal(WTERMSIG(status)));
    return tfr_fail(err, WEXITSTATUS(status) == 6 ? TFR_ENOMEM : TFR_EIO,
                    "the child ended without an answer, with status %d", WEXITSTATUS(status));
}

tfr_status bench_process_read(bench_process *process, char *line, size_t capacity, int seconds,
                              tfr_err *err)
{
    size_t n = 0;
    for (;;) {
        struct pollfd wait = {.fd = process->from, .events = POLLIN};
        int ready = poll(&wait, 1, seconds * 1000);
        char c;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0)
            return tfr_fail(err, TFR_ETIMEOUT, "the child says nothing for %d s", seconds);
        if (ready < 0 || read(process->from, &c, 1) != 1)
            return ended(process, err);
        if (c == '\n')
            break;
        if (n + 1 < capacity)
            line[n++] = c;
    }
    line[n] = 0;
    return TFR_OK;
}

/* Appends what there is to read; *ended at the end of it. */
static tfr_status read_more(bench_process *process, double end, char **text, size_t *n,
                            size_t *capacity, bool *ended, tfr_err *err)
{
    struct pollfd wait = {.fd = process->from, .events = POLLIN};
    const double left = end - bench_now();
    ssize_t got;
    if (*n + 1 >= *capacity) {
        const size_t wanted = *capacity ? 2 * *capacity : 16384;
        char *more = realloc(*text, wanted);
        if (!more)
            return tfr_fail(err, TFR_ENOMEM, "no memory for %zu bytes of a report", wanted);
        *text = more;
        *capacity = wanted;
    }
    if (left <= 0 || poll(&wait, 1, (int)(left * 1000)) == 0)
        return tfr_fail(err, TFR_ETIMEOUT, "its process took too long");
    got = read(process->from, *text + *n, *capacity - *n - 1);
    if (got > 0)
        *n += (size_t)got;
    *ended = got == 0 || (got < 0 && errno != EINTR);
    return TFR_OK;
}

tfr_status bench_process_output(const char *const *argv, int seconds, char **out, int *signal,
                                tfr_err *err)
{
    const char *none[] = {NULL};
    const double end = bench_now() + seconds;
    bench_process process;
    size_t n = 0, capacity = 0;
    bool ended = false;
    char *text = NULL;
    tfr_status status = bench_process_start(&process, argv, none, err);
    if (status)
        return status;
    while (!status && !ended)
        status = read_more(&process, end, &text, &n, &capacity, &ended, err);
    if (status)
        kill(process.pid, SIGKILL);
    bench_process_finish(&process);
    *signal = process.signal;
    if (status) {
        free(text);
        return status;
    }
    text[n] = 0;
    *out = text;
    return TFR_OK;
}

uint64_t bench_process_peak(pid_t pid)
{
    char line[200];
    unsigned long long kib = 0;
    FILE *f;
    snprintf(line, sizeof line, "/proc/%d/status", (int)(pid ? pid : getpid()));
    f = fopen(line, "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %llu", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return (uint64_t)kib * 1024;
}

void bench_process_finish(bench_process *process)
{
    int status;
    if (process->to >= 0)
        close(process->to);
    if (process->from >= 0)
        close(process->from);
    if (process->pid > 0) {
        for (int i = 0; i < 2000; i++) {
            const struct timespec nap = {0, 1000000};
            if (waitpid(process->pid, &status, WNOHANG) == process->pid) {
                process->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
                process->pid = -1;
                return;
            }
            nanosleep(&nap, NULL);
        }
        kill(process->pid, SIGKILL);
        waitpid(process->pid, &status, 0);
    }
    process->pid = -1;
}
