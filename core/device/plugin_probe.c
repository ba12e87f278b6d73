/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_probe.c: the parent's side of a probe. Each new plugin meets a child of its own first,
 * tfrun-probe (probe_main.c), many side by side, each with a deadline. Whatever the child does, it
 * ends: it leads its own process group, which is killed when its time is up or its answer is there.
 *
 * A whole answer decides, whatever the child does afterwards; without one its signal, its exit
 * status or the deadline does.
 */
#include "device/loader.h"

#include "base/alloc.h"
#include "base/env.h"
#include "base/port/clock.h"
#include "base/port/cpu.h"
#include "base/port/cpus.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <tfrun/fail.h>
#include <unistd.h>

#ifndef TFR_PROBE_PATH
#define TFR_PROBE_PATH "/usr/libexec/tfrun/tfrun-probe"
#endif

#define PROBE_SIDE_BY_SIDE 32
#define PROBE_TIMEOUT_MS   5000
#define PROBE_MEMORY_MB    4096 /* enough for the largest libraries of devices that there are */
#define PROBE_MAX_OPTIONS  64
#define NS_PER_MS          UINT64_C(1000000)

typedef enum probe_phase {
    PROBE_LISTENING,
    PROBE_WHOLE,   /* the answer is there, by its own count */
    PROBE_GARBAGE, /* it does not start as an answer, or does not end */
    PROBE_NO_ROOM, /* there is no memory for it */
    PROBE_CLOSED   /* no more will come */
} probe_phase;

typedef struct probe_limits {
    uint64_t timeout_ns, cpu_s, memory_mb; /* memory 0 = no limit */
} probe_limits;

typedef struct probe {
    tfr__plugin *plugin;
    probe_phase phase;
    pid_t pid; /* 0 = this slot is free */
    uint64_t deadline_ns;
    int reply_fd, stdout_fd; /* read ends, -1 = closed */
    char *bytes;
    size_t n, capacity;
    uint64_t stdout_bytes;
} probe;

static atomic_uint_fast64_t probe_n_started;

uint64_t tfr__probe_count(void)
{
    return atomic_load(&probe_n_started);
}

extern char **environ;

static const char *probe_program(void)
{
    const char *other = tfr__env_get("TFRUN_PROBE");
    return other ? other : TFR_PROBE_PATH;
}

/* ---- starting ---- */

/* A pipe whose ends are over 9, so that they cannot be mistaken for the child's 0 to 3. */
static bool probe_pipe(int ends[2])
{
    int low[2];
    if (pipe2(low, O_CLOEXEC) != 0)
        return false;
    ends[0] = fcntl(low[0], F_DUPFD_CLOEXEC, 10);
    ends[1] = fcntl(low[1], F_DUPFD_CLOEXEC, 10);
    close(low[0]);
    close(low[1]);
    if (ends[0] >= 0 && ends[1] >= 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0)
        return true;
    if (ends[0] >= 0)
        close(ends[0]);
    if (ends[1] >= 0)
        close(ends[1]);
    return false;
}

/* What the child has as descriptors 0 to 3. Each of these may need memory. */
static int probe_files(const tfr__plugin *plugin, int reply_fd, int stdout_fd,
                       posix_spawn_file_actions_t *files)
{
    int error = posix_spawn_file_actions_init(files);
    if (error)
        return error;
    error = posix_spawn_file_actions_addopen(files, 0, "/dev/null", O_RDONLY, 0);
    if (!error)
        error = posix_spawn_file_actions_adddup2(files, stdout_fd, 1);
    if (!error && (!plugin->loader->runtime || plugin->loader->runtime->log_level < TFR_LOG_DEBUG))
        error = posix_spawn_file_actions_addopen(files, 2, "/dev/null", O_WRONLY, 0);
    if (!error)
        error = posix_spawn_file_actions_adddup2(files, reply_fd, TFR__PROBE_FD);
    if (error)
        posix_spawn_file_actions_destroy(files);
    return error;
}

/* argv: the program, the file, its name and kind, the limits, "key=value" of its options. */
static int probe_spawn(const tfr__plugin *plugin, const probe_limits *limits, int reply_fd,
                       int stdout_fd, pid_t *pid)
{
    static char *const bare_environment[] = {(char *)"PATH=/usr/bin:/bin", (char *)"LC_ALL=C",
                                             NULL};
    const tfr__config *config = &plugin->loader->config;
    const char *program = probe_program();
    char *argv[PROBE_MAX_OPTIONS + 8], kind[16], memory[24], cpu[24];
    tfr__region region = {0};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t signals;
    size_t name = strlen(plugin->name);
    uint32_t n = 0, i;
    int error;
    snprintf(kind, sizeof kind, "%u", (unsigned)plugin->note.kind);
    snprintf(memory, sizeof memory, "%llu", (unsigned long long)limits->memory_mb);
    snprintf(cpu, sizeof cpu, "%llu", (unsigned long long)limits->cpu_s);
    argv[n++] = (char *)(uintptr_t)program;
    argv[n++] = (char *)(uintptr_t)plugin->path;
    argv[n++] = (char *)(uintptr_t)plugin->name;
    argv[n++] = kind;
    argv[n++] = memory;
    argv[n++] = cpu;
    for (i = 0; i < config->n && n < PROBE_MAX_OPTIONS + 6; i++) {
        if (strncmp(config->settings[i].key, plugin->name, name) != 0 ||
            config->settings[i].key[name] != '.')
            continue;
        argv[n] =
            tfr__region_print(&region, "%s=%s", config->settings[i].key, config->settings[i].value);
        if (!argv[n++]) {
            tfr__region_free(&region);
            return ENOMEM;
        }
    }
    argv[n] = NULL;
    error = probe_files(plugin, reply_fd, stdout_fd, &files);
    if (error) {
        tfr__region_free(&region);
        return error;
    }
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                        POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attr, 0);
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attr, &signals);
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attr, &signals);
    error = posix_spawn(pid, program, &files, &attr, argv,
                        tfr__privileged() ? bare_environment : environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    tfr__region_free(&region);
    return error;
}

/* Only the lack of memory is an error: all else is the plugin's state. */
static tfr_status probe_start(probe *p, tfr__plugin *plugin, const probe_limits *limits,
                              tfr_err *err)
{
    int reply[2], out[2], error;
    memset(p, 0, sizeof *p);
    if (!probe_pipe(reply)) {
        tfr__plugin_set(plugin, TFR_PLUGIN_PROBE_EXIT, "cannot be asked, no pipe: %s",
                        strerror(errno));
        return TFR_OK;
    }
    if (!probe_pipe(out)) {
        tfr__plugin_set(plugin, TFR_PLUGIN_PROBE_EXIT, "cannot be asked, no pipe: %s",
                        strerror(errno));
        close(reply[0]);
        close(reply[1]);
        return TFR_OK;
    }
    error = probe_spawn(plugin, limits, reply[1], out[1], &p->pid);
    close(reply[1]);
    close(out[1]);
    if (error) {
        close(reply[0]);
        close(out[0]);
        p->pid = 0;
        if (error == ENOMEM)
            return tfr__no_memory(err);
        tfr__plugin_set(plugin, TFR_PLUGIN_PROBE_EXIT,
                        "cannot be asked: %s does not start (%s); install tfrun-probe or set "
                        "TFRUN_PROBE",
                        probe_program(), strerror(error));
        return TFR_OK;
    }
    atomic_fetch_add(&probe_n_started, 1);
    tfr__log(plugin->loader->runtime, TFR_LOG_DEBUG, "loader", "asking %s in process %ld",
             plugin->path, (long)p->pid);
    p->plugin = plugin;
    p->deadline_ns = tfr__now_ns() + limits->timeout_ns;
    p->reply_fd = reply[0];
    p->stdout_fd = out[0];
    return TFR_OK;
}

/* ---- listening ---- */

/* What a plugin prints is counted and dropped. False at the end. */
static bool probe_drop(probe *p)
{
    char text[4096];
    ssize_t n;
    while ((n = read(p->stdout_fd, text, sizeof text)) > 0)
        p->stdout_bytes += (uint64_t)n;
    return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* False, and the phase says why, if there is no more room. */
static bool probe_grow(probe *p)
{
    size_t capacity = p->capacity ? 2 * p->capacity : 16384;
    char *more;
    if (p->n < p->capacity)
        return true;
    if (p->capacity > TFR__REPLY_MAX_BYTES) {
        p->phase = PROBE_GARBAGE;
        return false;
    }
    more = tfr__realloc(p->bytes, capacity);
    if (!more) {
        p->phase = PROBE_NO_ROOM;
        return false;
    }
    p->bytes = more;
    p->capacity = capacity;
    return true;
}

/* Reads what there is, and finds out what it is. */
static void probe_read(probe *p)
{
    ssize_t n;
    while (p->phase == PROBE_LISTENING) {
        if (!probe_grow(p))
            return;
        n = read(p->reply_fd, p->bytes + p->n, p->capacity - p->n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            p->phase = PROBE_CLOSED;
            return;
        }
        p->n += (size_t)n;
        if (p->n >= TFR__REPLY_HEAD_BYTES) {
            size_t whole = tfr__reply_bytes(p->bytes);
            if (!whole)
                p->phase = PROBE_GARBAGE;
            else if (p->n >= whole)
                p->phase = PROBE_WHOLE;
        }
    }
}

static void probe_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- ending ---- */

/* Waits for the child until the deadline; *status is its end. False if it does not end. */
static bool probe_wait(const probe *p, uint64_t until_ns, int *status)
{
    for (;;) {
        pid_t got = waitpid(p->pid, status, WNOHANG);
        if (got == p->pid)
            return true;
        if (got < 0 && errno != EINTR) {
            *status = 0; /* the program has taken it: it ignores SIGCHLD or waits for all */
            return true;
        }
        if (tfr__now_ns() >= until_ns)
            return false;
        poll(NULL, 0, 1);
    }
}

static const char *probe_signal_name(int sig)
{
    static const struct {
        int sig;
        const char *name;
    } names[] = {
        {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},   {SIGHUP, "SIGHUP"},
        {SIGILL, "SIGILL"},   {SIGINT, "SIGINT"},   {SIGKILL, "SIGKILL"}, {SIGPIPE, "SIGPIPE"},
        {SIGSEGV, "SIGSEGV"}, {SIGSYS, "SIGSYS"},   {SIGTERM, "SIGTERM"}, {SIGTRAP, "SIGTRAP"},
        {SIGUSR1, "SIGUSR1"}, {SIGXCPU, "SIGXCPU"}, {SIGXFSZ, "SIGXFSZ"},
    };
    size_t i;
    for (i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].sig == sig)
            return names[i].name;
    return "a signal";
}

/* The pipe is closed without an answer: how did the child end? */
static void probe_say_end(probe *p, uint64_t timeout_ns)
{
    int status = 0;
    if (!probe_wait(p, p->deadline_ns, &status))
        tfr__plugin_set(p->plugin, TFR_PLUGIN_PROBE_TIMEOUT,
                        "did not answer within %llu ms and was stopped",
                        (unsigned long long)(timeout_ns / NS_PER_MS));
    else if (WIFSIGNALED(status))
        tfr__plugin_set(p->plugin, TFR_PLUGIN_PROBE_CRASH,
                        "crashed with %s (signal %d) when it was loaded",
                        probe_signal_name(WTERMSIG(status)), WTERMSIG(status));
    else if (WEXITSTATUS(status) || !p->n)
        tfr__plugin_set(p->plugin, TFR_PLUGIN_PROBE_EXIT,
                        "ended the process with exit status %d before it answered",
                        WEXITSTATUS(status));
    else
        tfr__plugin_set(p->plugin, TFR_PLUGIN_BAD_REPLY, "answered with %zu bytes, cut short",
                        p->n);
}

/* Nothing that a plugin started outlives its probe, but what an uninterruptible call holds. */
static void probe_kill(const probe *p)
{
    int status;
    kill(-p->pid, SIGKILL);
    kill(p->pid, SIGKILL);
    probe_wait(p, tfr__now_ns() + 200 * NS_PER_MS, &status);
}

static tfr_status probe_take(probe *p, tfr_err *err)
{
    tfr__plugin *plugin = p->plugin;
    tfr_err why = TFR_ERR_INIT;
    tfr_status status =
        tfr__reply_read(p->bytes, p->n, &plugin->loader->region, &plugin->reply, &why);
    plugin->has_reply = status == TFR_OK;
    if (status == TFR_ENOMEM)
        return tfr_fail(err, TFR_ENOMEM, "%s", why.text);
    if (status)
        tfr__plugin_set(plugin, TFR_PLUGIN_BAD_REPLY, "%s", why.text);
    else
        tfr__plugin_judge(plugin);
    return TFR_OK;
}

/* The child is done or out of time: judge, remember, free the slot. */
static tfr_status probe_end(probe *p, uint64_t timeout_ns, tfr_err *err)
{
    tfr__plugin *plugin = p->plugin;
    tfr_status status = TFR_OK;
    if (p->phase == PROBE_CLOSED || p->phase == PROBE_LISTENING)
        probe_say_end(p, timeout_ns);
    probe_kill(p);
    if (p->stdout_fd >= 0)
        probe_drop(p);
    plugin->stdout_bytes = p->stdout_bytes;
    if (p->phase == PROBE_WHOLE)
        status = probe_take(p, err);
    else if (p->phase == PROBE_NO_ROOM)
        status = tfr__no_memory(err);
    else if (p->phase == PROBE_GARBAGE)
        tfr__plugin_set(plugin, TFR_PLUGIN_BAD_REPLY, "answered with %zu bytes that are no answer",
                        p->n);
    /* No memory for it now says nothing about the next time. */
    if (!status && !(plugin->has_reply && plugin->reply.code == TFR_ENOMEM))
        tfr__cache_store(plugin, p->bytes, plugin->has_reply ? p->n : 0);
    probe_close(&p->reply_fd);
    probe_close(&p->stdout_fd);
    tfr__free(p->bytes);
    memset(p, 0, sizeof *p);
    return status;
}

/* Sleeps until a child talks, ends or is out of time. */
static void probe_listen(probe *slots)
{
    struct pollfd fds[2 * PROBE_SIDE_BY_SIDE];
    uint64_t now = tfr__now_ns(), until = UINT64_MAX;
    uint32_t i;
    for (i = 0; i < PROBE_SIDE_BY_SIDE; i++) {
        bool live = slots[i].pid != 0;
        fds[2 * i] = (struct pollfd){live ? slots[i].reply_fd : -1, POLLIN, 0};
        fds[2 * i + 1] = (struct pollfd){live ? slots[i].stdout_fd : -1, POLLIN, 0};
        if (live && slots[i].deadline_ns < until)
            until = slots[i].deadline_ns;
    }
    if (poll(fds, 2 * PROBE_SIDE_BY_SIDE, until <= now ? 0 : (int)((until - now) / NS_PER_MS + 1)) <
        0)
        return;
    for (i = 0; i < PROBE_SIDE_BY_SIDE; i++) {
        if (fds[2 * i + 1].revents && !probe_drop(&slots[i]))
            probe_close(&slots[i].stdout_fd);
        /* Read at the deadline, too: this process may have been kept from looking in time. */
        if (slots[i].pid && (fds[2 * i].revents || tfr__now_ns() >= slots[i].deadline_ns))
            probe_read(&slots[i]);
    }
}

static probe_limits probe_limits_of(const tfr__loader *loader)
{
    const int64_t timeout_ms = tfr__config_number(&loader->config, loader->runtime, NULL,
                                                  "probe-timeout-ms", PROBE_TIMEOUT_MS, 1, 600000);
    uint64_t total, available, most = PROBE_MEMORY_MB;
    tfr__memory_size(&total, &available);
    if (total && total >> 21 < most)
        most = total >> 21; /* half of it */
    return (probe_limits){
        .timeout_ns = NS_PER_MS * (uint64_t)timeout_ms,
        .cpu_s = ((uint64_t)timeout_ms / 1000 + 1) * tfr__cpus_usable(),
        .memory_mb = (uint64_t)tfr__config_number(&loader->config, loader->runtime, NULL,
                                                  "probe-memory-mb", (int64_t)most, 0, INT32_MAX),
    };
}

tfr_status tfr__plugins_probe(tfr__loader *loader, tfr_err *err)
{
    probe_limits limits = {0}; /* asks the system; mostly all is remembered */
    probe slots[PROBE_SIDE_BY_SIDE] = {{0}};
    tfr_status status = TFR_OK;
    uint32_t next = 0, n_live = 0, i;
    for (;;) {
        for (i = 0; i < PROBE_SIDE_BY_SIDE; i++)
            while (!slots[i].pid && next < loader->n_plugins && !status) {
                tfr__plugin *plugin = loader->plugins[next++];
                if (plugin->state != TFR_PLUGIN_FOUND)
                    continue;
                limits = probe_limits_of(loader);
                status = probe_start(&slots[i], plugin, &limits, err);
            }
        n_live = 0;
        for (i = 0; i < PROBE_SIDE_BY_SIDE; i++) {
            probe *p = &slots[i];
            if (p->pid &&
                (p->phase != PROBE_LISTENING || tfr__now_ns() >= p->deadline_ns || status)) {
                tfr_status ended = probe_end(p, limits.timeout_ns, err);
                status = status ? status : ended;
            }
            n_live += p->pid != 0;
        }
        if (!n_live && (status || next == loader->n_plugins))
            return status;
        if (n_live)
            probe_listen(slots);
    }
}
