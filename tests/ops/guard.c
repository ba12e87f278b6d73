/* SPDX-License-Identifier: Apache-2.0 */
/* guard.c: see guard.h. Sanitizers catch signals themselves; the death callback names the call. */
#include "guard.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* Memory beyond what the program has when the guard begins, and a call's time. */
enum { ROOM_MB = 1024, SECONDS = SANITIZED ? 60 : 20 };

static char current[256];

static void tell(void)
{
    ssize_t n = write(STDOUT_FILENO, current, strlen(current));
    (void)n;
}

static void on_signal(int number)
{
    static const char crash[] = "FAILED (a crash) ", hang[] = "FAILED (it does not end) ";
    ssize_t n = number == SIGALRM ? write(STDOUT_FILENO, hang, sizeof hang - 1)
                                  : write(STDOUT_FILENO, crash, sizeof crash - 1);
    (void)n;
    tell();
    _exit(1);
}

/* Found by name by the sanitizers' runtimes, which are libraries of their own: not hidden. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:max_allocation_size_mb=1024";
}

extern void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void limit_memory(void)
{
    unsigned long long pages = 0;
    struct rlimit limit;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%llu", &pages) == 1 && getrlimit(RLIMIT_AS, &limit) == 0) {
        rlim_t capacity = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (rlim_t)ROOM_MB * 1048576;
        if (limit.rlim_max == RLIM_INFINITY || capacity < limit.rlim_max) {
            limit.rlim_cur = capacity;
            (void)setrlimit(RLIMIT_AS, &limit);
        }
    }
    if (file)
        fclose(file);
}

void ops_guard_init(void)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    signal(SIGALRM, on_signal);
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(tell);
    if (SANITIZED)
        return;
    for (size_t i = 0; i < sizeof crashes / sizeof crashes[0]; i++)
        signal(crashes[i], on_signal);
    limit_memory();
}

void ops_guard_call(const char *name, uint64_t seed, const char *what)
{
    if (name)
        snprintf(current, sizeof current, "%s:%llu, %s\n", name, (unsigned long long)seed, what);
    alarm(name ? SECONDS : 0);
}
