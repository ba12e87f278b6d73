/* SPDX-License-Identifier: Apache-2.0 */
/* child.c: see child.h. */
#include "child.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

/* Processor time of a stage, of all its threads; waiting for nothing is bounded, too. */
enum {
    LARGE_KB = 96 << 10,
    SECONDS = SANITIZED ? 60 : 12,
    WAIT_SECONDS = 300,
    MOST_MB = 1024,
    ROOM_MB = 4096
};

static long begin_kb;
static bool warned;

fuzz_report *fuzz_report_create(void)
{
    fuzz_report *report =
        mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (report == MAP_FAILED) {
        fprintf(stderr, "out of memory for the report\n");
        exit(99);
    }
    return report;
}

/* ---- in the child ---------------------------------------------------------------------------- */

static long peak_kb(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) ? 0 : usage.ru_maxrss;
}

static void limit_memory(void)
{
    unsigned long long pages = 0;
    struct rlimit limit;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%llu", &pages) == 1 && getrlimit(RLIMIT_AS, &limit) == 0) {
        limit.rlim_cur =
            (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (rlim_t)ROOM_MB * 1024 * 1024;
        if (limit.rlim_max == RLIM_INFINITY || limit.rlim_cur < limit.rlim_max)
            (void)setrlimit(RLIMIT_AS, &limit);
    }
    if (file)
        fclose(file);
}

void fuzz_child_begin_case(void)
{
    const struct itimerval time = {.it_value = {.tv_sec = SECONDS}};
    if (!begin_kb) {
        begin_kb = peak_kb();
        if (!SANITIZED)
            limit_memory();
    }
    (void)setitimer(ITIMER_PROF, &time, NULL);
    alarm(WAIT_SECONDS);
}

void fuzz_child_warned(void)
{
    warned = true;
}

int fuzz_child_end_case(fuzz_context *context)
{
    const long mb = (peak_kb() - begin_kb) / 1024;
    const bool announced = warned;
    warned = false;
    if (SANITIZED || mb <= MOST_MB)
        return FUZZ_WELL;
    if (announced)
        return FUZZ_LONG;
    fuzz_fail(context, "memory", "the process grew by %ld MiB, the limit is %d", mb, MOST_MB);
    return FUZZ_FOUND;
}

/* ---- in the parent --------------------------------------------------------------------------- */

/* The line that says what it is, without numbers that differ from run to run. */
static bool summary(const char *talk, const char *mark, fuzz_report *report)
{
    const char *at = strstr(talk, mark);
    if (!at)
        return false;
    size_t n = strcspn(at, "\n"), k = 0;
    snprintf(report->text, sizeof report->text, "%.*s", (int)n, at);
    const char *tail = strrchr(report->text, '/');
    at = tail ? tail + 1 : report->text;
    for (; *at && k < sizeof report->kind - 1; at++)
        if (*at < '0' || *at > '9')
            report->kind[k++] = *at;
    report->kind[k] = 0;
    return true;
}

static void describe(fuzz_report *report, int status, int talk_file)
{
    static char talk[1 << 16];
    ssize_t n = pread(talk_file, talk, sizeof talk - 1, 0);
    talk[n > 0 ? n : 0] = 0;
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGALRM)) {
        snprintf(report->kind, sizeof report->kind, "hang: %s", report->stage);
        snprintf(report->text, sizeof report->text, "it does not end within %d seconds",
                 WTERMSIG(status) == SIGPROF ? SECONDS : WAIT_SECONDS);
        return;
    }
    if (summary(talk, "runtime error: ", report) || summary(talk, "SUMMARY: ", report))
        return;
    if (WIFSIGNALED(status))
        snprintf(report->kind, sizeof report->kind, "crash: %s: %s", report->stage,
                 strsignal(WTERMSIG(status)));
    else
        snprintf(report->kind, sizeof report->kind, "exit %d: %s", WEXITSTATUS(status),
                 report->stage);
    snprintf(report->text, sizeof report->text, "%.900s", talk);
}

static bool has_loop(const fuzz_msg *msg)
{
    for (size_t i = 0; msg && i < msg->n; i++) {
        const fuzz_field *f = &msg->fields[i];
        if (msg->type == FUZZ_NODE && f->number == FUZZ_NODE_OP && f->data &&
            strcmp((const char *)f->data, "Loop") == 0)
            return true;
        if (f->msg && has_loop(f->msg))
            return true;
    }
    return false;
}

static bool is_long(const fuzz_report *report, int status, const struct rusage *usage)
{
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGPROF ||
        (strncmp(report->stage, "run", 3) != 0 && !strstr(report->stage, "passes")))
        return false;
    fuzz_msg *model = fuzz_msg_read(report->bytes, report->n_bytes, FUZZ_MODEL);
    bool looping = has_loop(model);
    fuzz_msg_destroy(model);
    return looping || usage->ru_maxrss > LARGE_KB;
}

/* The stack that a sanitizer printed says more than its summary. */
static void show(int talk_file)
{
    static char talk[6000];
    ssize_t n = pread(talk_file, talk, sizeof talk - 1, 0);
    if (n > 0 && getenv("FUZZ_SHOW_CHILD"))
        fprintf(stderr, "%.*s\n", (int)n, talk);
}

int fuzz_child_run(fuzz_report *report, int (*work)(void *user), void *user)
{
    FILE *talk = tmpfile();
    int status = 0;
    struct rusage usage = {0};
    report->kind[0] = report->text[0] = 0;
    report->crashed = false;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        if (talk && !getenv("FUZZ_TALK"))
            dup2(fileno(talk), STDERR_FILENO);
        begin_kb = 0;
        int result = work(user);
        fflush(stdout);
        _exit(result);
    }
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid) {
        fprintf(stderr, "a child cannot be started\n");
        exit(99);
    }
    int result = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (is_long(report, status, &usage))
        result = FUZZ_LONG;
    if (result != FUZZ_WELL && result != FUZZ_CANNOT && result != FUZZ_LONG &&
        (result != FUZZ_FOUND || !report->kind[0])) {
        report->kind[0] = 0;
        report->crashed = true;
        describe(report, status, talk ? fileno(talk) : -1);
        result = FUZZ_FOUND;
        if (talk)
            show(fileno(talk));
    }
    if (talk)
        fclose(talk);
    return result;
}
