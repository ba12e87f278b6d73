/* SPDX-License-Identifier: Apache-2.0 */
/* guard.c: see guard.h. Sanitizers catch signals themselves; the death callback names the call. */
#include "guard.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "certify/memory_limit.h"

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

/* A call's time. */
enum { SECONDS = SANITIZED ? 60 : 20 };

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
    ops_limit_memory();
}

void ops_guard_call(void *user, const char *name, uint64_t seed, const char *what)
{
    (void)user;
    if (name)
        snprintf(current, sizeof current, "%s:%llu, %s\n", name, (unsigned long long)seed, what);
    alarm(name ? SECONDS : 0);
}
