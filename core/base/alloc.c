/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc.c: memory for the core, on top of the C library. The counters are relaxed atomics: they
 * order nothing, and the tests that look at them do so from one thread.
 */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

static atomic_uint_fast64_t n_requests;
static atomic_uint_fast64_t n_live;
/* The number of the request that fails; 0 is none, for the first request is number 1. */
static atomic_uint_fast64_t fail_number;

/*
 * Counts a request. False if it is the one that has to fail, or larger than any object may be: the
 * C library would refuse that, too, but a sanitizer's stops the program.
 */
static bool request_may_pass(size_t bytes)
{
    uint64_t number = atomic_fetch_add_explicit(&n_requests, 1, memory_order_relaxed) + 1;
    return bytes <= PTRDIFF_MAX &&
           number != atomic_load_explicit(&fail_number, memory_order_relaxed);
}

static void *count_live(void *p)
{
    if (p)
        atomic_fetch_add_explicit(&n_live, 1, memory_order_relaxed);
    return p;
}

void *tfr__alloc(size_t bytes)
{
    if (!request_may_pass(bytes))
        return NULL;
    return count_live(malloc(bytes ? bytes : 1));
}

/* glibc keeps small blocks at hand for malloc, but not for calloc. */
enum { SMALL = 1024 };

void *tfr__calloc(size_t n, size_t size)
{
    const size_t bytes = size && n > PTRDIFF_MAX / size ? SIZE_MAX : n * size;
    void *p;
    if (bytes > SMALL)
        return request_may_pass(bytes) ? count_live(calloc(1, bytes)) : NULL;
    p = tfr__alloc(bytes);
    return p ? memset(p, 0, bytes) : NULL;
}

void *tfr__realloc(void *p, size_t bytes)
{
    if (!request_may_pass(bytes))
        return NULL;
    void *q = realloc(p, bytes ? bytes : 1);
    return p ? q : count_live(q);
}

tfr_status tfr__no_memory(tfr_err *err)
{
    return tfr_fail(err, TFR_ENOMEM, "out of memory: the process gets no more from the system");
}

void *tfr__grow(void *p, size_t n, size_t size)
{
    if (p && n & (n - 1))
        return p;
    if (n > PTRDIFF_MAX / 2 / size)
        return NULL;
    return tfr__realloc(p, (n ? 2 * n : 1) * size);
}

bool tfr__reserve(void *array_pointer, uint32_t n, uint32_t *capacity, size_t size)
{
    void **array = array_pointer, *p;
    uint32_t more = *capacity ? *capacity : 8;
    if (n <= *capacity)
        return true;
    if (n > 1u << 30)
        return false;
    while (more < n || more == *capacity)
        more *= 2;
    p = tfr__realloc(*array, (size_t)more * size);
    if (!p)
        return false;
    memset((char *)p + (size_t)*capacity * size, 0, (size_t)(more - *capacity) * size);
    *array = p;
    *capacity = more;
    return true;
}

void *tfr__alloc_aligned(size_t bytes, size_t align)
{
    void *p;
    if (!request_may_pass(bytes))
        return NULL;
    if (align < sizeof(void *))
        align = sizeof(void *);
    if (bytes >= TFR__HUGE_PAGE && align < TFR__HUGE_PAGE)
        align = TFR__HUGE_PAGE;
    if (posix_memalign(&p, align, bytes ? bytes : 1) != 0)
        return NULL;
#ifdef MADV_HUGEPAGE
    if (bytes >= TFR__HUGE_PAGE) /* only whole ones: the rest stays as it is */
        (void)madvise(p, bytes / TFR__HUGE_PAGE * TFR__HUGE_PAGE, MADV_HUGEPAGE);
#endif
    return count_live(p);
}

void tfr__free(void *p)
{
    if (!p)
        return;
    atomic_fetch_sub_explicit(&n_live, 1, memory_order_relaxed);
    free(p);
}

char *tfr__strdup(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = tfr__alloc(bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

void tfr__alloc_fail_at(uint64_t n)
{
    uint64_t now = atomic_load_explicit(&n_requests, memory_order_relaxed);
    atomic_store_explicit(&fail_number, n ? now + n : 0, memory_order_relaxed);
}

uint64_t tfr__alloc_count(void)
{
    return atomic_load_explicit(&n_requests, memory_order_relaxed);
}

uint64_t tfr__alloc_live(void)
{
    return atomic_load_explicit(&n_live, memory_order_relaxed);
}
