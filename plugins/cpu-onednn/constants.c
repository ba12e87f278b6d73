/* SPDX-License-Identifier: Apache-2.0 */
/* constants.c: the list of packed constants of a device. */
#include "constants.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGNMENT = 64, HUGE_PAGE = 2 * 1024 * 1024 };

struct tfr_dnn_constant {
    struct tfr_dnn_constant *next;
    tfr_dnn_constant_key key;
    uint64_t bytes;
    int users;
    void *memory;
    size_t mapped; /* 0 = memory is of malloc */
    float *data;
};

static bool same_key(const tfr_dnn_constant_key *a, const tfr_dnn_constant_key *b)
{
    return memcmp(a->data, b->data, sizeof a->data) == 0 &&
           memcmp(a->numbers, b->numbers, sizeof a->numbers) == 0;
}

/*
 * Large ones in huge pages where the system has them: weights are read once and far apart. The
 * system clears these page by page, as the threads that fill them come by.
 */
static bool take_pages(struct tfr_dnn_constant *c)
{
    char *p;

    c->mapped = (c->bytes + 2 * HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    p = mmap(NULL, c->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return false;
    c->memory = p;
    p += (HUGE_PAGE - (uintptr_t)p % HUGE_PAGE) % HUGE_PAGE;
#ifdef MADV_HUGEPAGE
    (void)madvise(p, c->mapped - HUGE_PAGE, MADV_HUGEPAGE);
#endif
    c->data = (float *)(void *)p;
    return true;
}

/* All of it is 0. */
static bool take_memory(struct tfr_dnn_constant *c)
{
    size_t bytes = ((size_t)c->bytes + ALIGNMENT) & ~(size_t)(ALIGNMENT - 1);

    if (c->bytes >= HUGE_PAGE / 2)
        return take_pages(c);
    c->data = c->memory = aligned_alloc(ALIGNMENT, bytes);
    if (c->data)
        memset(c->data, 0, bytes);
    return c->data;
}

static void free_constant(struct tfr_dnn_constant *c)
{
    if (c && c->mapped)
        (void)munmap(c->memory, c->mapped);
    else if (c)
        free(c->memory);
    free(c);
}

struct tfr_dnn_constant *tfr_dnn_take_constant(tfr_plugin_device *device,
                                               const tfr_dnn_constant_key *key, uint64_t bytes,
                                               bool *made)
{
    struct tfr_dnn_constant *c;

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
    if (!take_memory(c)) {
        c->mapped = 0;
        free_constant(c);
        return NULL;
    }
    c->key = *key;
    c->users = 1;
    c->next = device->constants;
    device->constants = c;
    *made = true;
    return c;
}

float *tfr_dnn_constant_data(const struct tfr_dnn_constant *constant)
{
    return constant->data;
}

void tfr_dnn_leave_constant(tfr_plugin_device *device, struct tfr_dnn_constant *constant)
{
    struct tfr_dnn_constant **at = &device->constants;

    if (--constant->users > 0)
        return;
    while (*at != constant)
        at = &(*at)->next;
    *at = constant->next;
    free_constant(constant);
}
