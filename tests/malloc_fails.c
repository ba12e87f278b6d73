/* SPDX-License-Identifier: Apache-2.0 */
/*
 * malloc_fails.c: for LD_PRELOAD: requests for memory of tfrun fail, in the C library, in the
 * dynamic linker and in other people's libraries, too. tests/cli/out_of_memory.sh uses it.
 *
 *     TFRUN_TEST_MALLOC=N             the N-th request fails
 *     TFRUN_TEST_MALLOC=N-            the N-th and all later ones fail
 *     TFRUN_TEST_MALLOC_COUNT=FILE    their number is written to FILE at the end
 *
 * Processes that tfrun forks count on where it is; a program that it starts is left alone.
 */
/* These functions take the place of the C library's, whatever -fvisibility says. */
#pragma GCC visibility push(default)
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* glibc's own functions under their second names: they need no look-up, which would allocate. */
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);

extern char *program_invocation_short_name;

/* Shared with forked processes, so that each number is given once; NULL = nothing is counted. */
static atomic_ulong *n_requests;
static unsigned long first_to_fail; /* 0 = none */
static bool later_fail;

__attribute__((constructor)) static void begin(void)
{
    const char *which = getenv("TFRUN_TEST_MALLOC");
    char *end;
    void *page;
    if (strcmp(program_invocation_short_name, "tfrun") != 0)
        return;
    unsetenv("LD_PRELOAD");
    page =
        mmap(NULL, sizeof *n_requests, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return;
    if (which) {
        first_to_fail = strtoul(which, &end, 10);
        later_fail = *end == '-';
    }
    n_requests = page;
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("TFRUN_TEST_MALLOC_COUNT");
    unsigned long n = n_requests ? atomic_load(n_requests) : 0;
    FILE *file;
    n_requests = NULL;
    if (!path || !n || !(file = fopen(path, "w")))
        return;
    fprintf(file, "%lu\n", n);
    fclose(file);
}

static bool fails(void)
{
    unsigned long n = n_requests ? atomic_fetch_add(n_requests, 1) + 1 : 0;
    bool yes = first_to_fail && (n == first_to_fail || (later_fail && n > first_to_fail));
    if (yes)
        errno = ENOMEM;
    return yes;
}

void *malloc(size_t n)
{
    return fails() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    return fails() ? NULL : __libc_realloc(p, n);
}

void *reallocarray(void *p, size_t n, size_t size)
{
    if (size && n > SIZE_MAX / size) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(p, n * size);
}

void *memalign(size_t align, size_t n)
{
    return fails() ? NULL : __libc_memalign(align, n);
}

void *aligned_alloc(size_t align, size_t n)
{
    return memalign(align, n);
}

int posix_memalign(void **out, size_t align, size_t n)
{
    void *p = memalign(align, n);
    if (p)
        *out = p;
    return p ? 0 : ENOMEM;
}
