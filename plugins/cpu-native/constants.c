/* SPDX-License-Identifier: Apache-2.0 */
/*
 * constants.c: the list of packed constants of a device, and their memory.
 *
 * Large ones lie one after the other in chunks of huge pages, where the system has them: weights
 * are read once and far apart, and what a constant of its own left of its last huge page would be
 * cleared for nothing. The system clears pages as the threads that fill them come by.
 */
#include "constants.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALIGNMENT = 64, HUGE_PAGE = 2 * 1024 * 1024, CHUNK = 64 * 1024 * 1024 };

struct native_chunk {
    struct native_chunk *next;
    char *memory, *at, *end; /* at: the first byte that nobody has */
    size_t mapped;
    int users;
};

struct native_constant {
    struct native_constant *next;
    native_constant_key key;
    uint64_t bytes;
    int users;
    struct native_chunk *chunk; /* NULL = data is of malloc */
    float *data;
};

static bool same_key(const native_constant_key *a, const native_constant_key *b)
{
    return memcmp(a->data, b->data, sizeof a->data) == 0 &&
           memcmp(a->numbers, b->numbers, sizeof a->numbers) == 0;
}

/* ---- memory ---- */

static uint64_t aligned(uint64_t bytes, uint64_t to)
{
    return (bytes + to - 1) / to * to;
}

static struct native_chunk *add_chunk(tfr_plugin_device *device, uint64_t bytes)
{
    struct native_chunk *chunk = calloc(1, sizeof *chunk);

    if (!chunk)
        return NULL;
    bytes = aligned(bytes < CHUNK ? CHUNK : bytes, HUGE_PAGE);
    chunk->mapped = (size_t)bytes + HUGE_PAGE;
    chunk->memory =
        mmap(NULL, chunk->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (chunk->memory == MAP_FAILED) {
        free(chunk);
        return NULL;
    }
    chunk->at = chunk->memory + (HUGE_PAGE - (uintptr_t)chunk->memory % HUGE_PAGE) % HUGE_PAGE;
    chunk->end = chunk->at + bytes;
#ifdef MADV_HUGEPAGE
    (void)madvise(chunk->at, (size_t)bytes, MADV_HUGEPAGE);
#endif
    chunk->next = device->chunks;
    device->chunks = chunk;
    return chunk;
}

static bool take_part(tfr_plugin_device *device, struct native_constant *c)
{
    struct native_chunk *chunk = device->chunks;

    if (!chunk || (uint64_t)(chunk->end - chunk->at) < c->bytes)
        chunk = add_chunk(device, c->bytes);
    if (!chunk)
        return false;
    c->chunk = chunk;
    c->data = (float *)(void *)chunk->at;
    chunk->at += aligned(c->bytes, ALIGNMENT);
    chunk->users++;
    return true;
}

/* The system may have the pages back; the addresses stay until nobody uses the chunk. */
static void leave_part(tfr_plugin_device *device, struct native_constant *c)
{
    struct native_chunk **at = &device->chunks, *chunk = c->chunk;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    char *begin = (char *)c->data, *end = begin + c->bytes;

    if (--chunk->users > 0) {
        begin += (page - (uintptr_t)begin % page) % page;
        end -= (uintptr_t)end % page;
        if (begin < end)
            (void)madvise(begin, (size_t)(end - begin), MADV_DONTNEED);
        return;
    }
    while (*at != chunk)
        at = &(*at)->next;
    *at = chunk->next;
    (void)munmap(chunk->memory, chunk->mapped);
    free(chunk);
}

/* All of it is 0. */
static bool take_memory(tfr_plugin_device *device, struct native_constant *c)
{
    size_t bytes = ((size_t)c->bytes + ALIGNMENT) & ~(size_t)(ALIGNMENT - 1);

    if (c->bytes >= HUGE_PAGE / 8)
        return take_part(device, c);
    c->data = aligned_alloc(ALIGNMENT, bytes);
    if (c->data)
        memset(c->data, 0, bytes);
    return c->data;
}

static void free_constant(tfr_plugin_device *device, struct native_constant *c)
{
    if (c->chunk)
        leave_part(device, c);
    else
        free(c->data);
    free(c);
}

/* ---- the list ---- */

struct native_constant *native_take_constant(tfr_plugin_device *device,
                                             const native_constant_key *key, uint64_t bytes,
                                             bool *made)
{
    struct native_constant *c;

    for (c = device->constants; c; c = c->next) {
        if (c->bytes == bytes && same_key(&c->key, key)) {
            c->users++;
            return c;
        }
    }
    c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->bytes = bytes;
    if (!take_memory(device, c)) {
        free(c);
        return NULL;
    }
    c->key = *key;
    c->users = 1;
    c->next = device->constants;
    device->constants = c;
    *made = true;
    return c;
}

float *native_constant_data(const struct native_constant *constant)
{
    return constant->data;
}

void native_leave_constant(tfr_plugin_device *device, struct native_constant *constant)
{
    struct native_constant **at = &device->constants;

    if (--constant->users > 0)
        return;
    while (*at != constant)
        at = &(*at)->next;
    *at = constant->next;
    free_constant(device, constant);
}
