/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc.h: the only way the core takes memory, so that tests can let the n-th request fail. NULL
 * means out of memory; callers turn it into TFR_ENOMEM, mostly by tfr__no_memory. Every function is
 * safe from any thread.
 */
#ifndef TFR_CORE_ALLOC_H
#define TFR_CORE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tfrun/status.h>

#if defined(__SANITIZE_ADDRESS__)
#define TFR__ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TFR__ASAN 1
#endif
#endif
#ifdef TFR__ASAN
void __asan_poison_memory_region(const volatile void *p, size_t n);
#endif

/* Never NULL for 0 bytes unless memory is out. */
void *tfr__alloc(size_t bytes);
/* Zeroed; NULL too if n * size overflows. */
void *tfr__calloc(size_t n, size_t size);
void *tfr__realloc(void *p, size_t bytes);
/* Room for one more than n items of a list that only grows: p, or, if n is 0 or a power of two, a
 * block twice as large. NULL = out of memory; p stays. */
void *tfr__grow(void *p, size_t n, size_t size);
/* TFR_ENOMEM, in one sentence for all that is small: what it was for tells nobody more. */
tfr_status tfr__no_memory(tfr_err *err);
/*
 * *array_pointer, an array of *capacity items, gets room for n at least, and twice of what it had;
 * new items are zeroed. False = out of memory, or n is over 2^30; all is as it was.
 */
bool tfr__reserve(void *array_pointer, uint32_t n, uint32_t *capacity, size_t size);
/* A processor finds a page of this size as fast as one of 4 KiB, and needs 512 times fewer. */
enum { TFR__HUGE_PAGE = 2 << 20 };
/* align is a power of two, made that of huge pages for one or more; freed with tfr__free. */
void *tfr__alloc_aligned(size_t bytes, size_t align);
void tfr__free(void *p);
/* AddressSanitizer reports who reads or writes n bytes at p, of a block, until it is freed. */
static inline void tfr__forbid(const void *p, size_t n)
{
#ifdef TFR__ASAN
    __asan_poison_memory_region(p, n);
#else
    (void)p;
    (void)n;
#endif
}
char *tfr__strdup(const char *text);

/* For tests: the n-th request from now on fails (1 = the next), 0 = none. Counts all requests. */
void tfr__alloc_fail_at(uint64_t n);
uint64_t tfr__alloc_count(void);
/* For tests: blocks that are taken and not given back. */
uint64_t tfr__alloc_live(void);

#endif
