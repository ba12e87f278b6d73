/* SPDX-License-Identifier: Apache-2.0 */
/* memory_limit.c: see memory_limit.h. */
#include "memory_limit.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include <tfrun/plugin.h>

enum { MORE_MB = 1024 };

static struct rlimit before;
static bool is_limited;

void ops_limit_memory(void)
{
    unsigned long long pages = 0;
    struct rlimit limit;
    FILE *file;
    if (TFR_SANITIZERS || is_limited || getrlimit(RLIMIT_AS, &before))
        return;
    file = fopen("/proc/self/statm", "r");
    if (!file)
        return;
    limit = before;
    if (fscanf(file, "%llu", &pages) == 1) {
        rlim_t most = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (rlim_t)MORE_MB * 1048576;
        if (limit.rlim_max == RLIM_INFINITY || most < limit.rlim_max)
            limit.rlim_cur = most;
        is_limited = setrlimit(RLIMIT_AS, &limit) == 0;
    }
    fclose(file);
}

void ops_unlimit_memory(void)
{
    if (is_limited)
        (void)setrlimit(RLIMIT_AS, &before);
    is_limited = false;
}
