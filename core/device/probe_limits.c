/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_limits.c: a plugin that takes all memory, or fills a disk, must not do so to the machine.
 *
 * The limit is RLIMIT_DATA, private memory that can be written, and not RLIMIT_AS: libraries of
 * devices reserve address space by the terabyte without ever using it. Memory under /dev/shm counts
 * as files. Whatever is not covered, the system may take back from this process before all others.
 */
#include "device/probe_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Who cannot get this much is out of memory. */
#define LITTLE ((size_t)16 << 20)

static const void *limits_end; /* NULL = memory has no limit */
static size_t limits_end_bytes;

/* In a signal handler, too. */
static void limits_say(void)
{
    void *more;
    if (!limits_end)
        return;
    more = mmap(NULL, LITTLE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (more != MAP_FAILED)
        munmap(more, LITTLE);
    else if (write(TFR__PROBE_FD, limits_end, limits_end_bytes) < 0)
        limits_end = NULL; /* nobody listens */
}

static void limits_on_signal(int number)
{
    limits_say();
    signal(number, SIG_DFL);
    raise(number);
}

static void limits_add(int what, uint64_t soft)
{
    struct rlimit limit;
    if (getrlimit(what, &limit) != 0)
        return;
    if (limit.rlim_max == RLIM_INFINITY || soft < limit.rlim_max)
        limit.rlim_max = (rlim_t)soft;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(what, &limit);
}

static void limits_oom_first(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, "1000", 4) < 0)
        errno = 0; /* then it is as likely as any other */
    if (fd >= 0)
        close(fd);
}

void probe_limits_set(uint64_t memory_mb, uint64_t cpu_s, const void *end, size_t end_bytes)
{
    /* A sanitizer's runtime catches these, and would end the process by another way. */
    static const int fatal[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
    /* Its own memory is private and can be written, too, by the terabyte. */
    const bool is_limited = memory_mb && !TFR_SANITIZERS;
    limits_add(RLIMIT_CORE, 0);
    limits_oom_first();
    if (cpu_s)
        limits_add(RLIMIT_CPU, cpu_s);
    if (is_limited) {
        limits_add(RLIMIT_DATA, memory_mb << 20);
        limits_add(RLIMIT_FSIZE, memory_mb << 20);
        limits_end = end;
        limits_end_bytes = end_bytes;
        atexit(limits_say);
    }
    for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++)
        signal(fatal[i], is_limited ? limits_on_signal : SIG_DFL);
}
