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
    float *data;
};

static bool same_key(const tfr_dnn_constant_key *a, const tfr_dnn_constant_key *b)
{
    return memcmp(a->data, b->data, sizeof a->data) == 0 &&
           memcmp(a->numbers, b->numbers, sizeof a->numbers) == 0;
}

/* Large ones in huge pages where the system has them: weights are read once and far apart. */
static float *take_memory(size_t bytes)
{
    size_t alignment = bytes >= HUGE_PAGE / 2 ? HUGE_PAGE : ALIGNMENT;
    void *p = NULL;

    bytes = (bytes + ALIGNMENT) & ~(size_t)(ALIGNMENT - 1);
    if (alignment == HUGE_PAGE)
        bytes = (bytes + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1);
    p = aligned_alloc(alignment, bytes);
#ifdef MADV_HUGEPAGE
    if (p && alignment == HUGE_PAGE)
        (void)madvise(p, bytes, MADV_HUGEPAGE);
#endif
    if (p)
        memset(p, 0, bytes);
    return p;
}

struct tfr_dnn_constant *tfr_dnn_take_constant(tfr_plugin_device *device,
                                               const tfr_dnn_constant_key *key, uint64_t bytes,
                                               void (*fill)(float *to, const void *user),
                                               const void *user, bool *made)
{
    struct tfr_dnn_constant *c;

    for (c = device->constants; c; c = c->next) {
        if (c->bytes == bytes && same_key(&c->key, key)) {
            c->users++;
            return c;
        }
    }
    c = calloc(1, sizeof *c);
    if (c)
        c->data = take_memory((size_t)bytes);
    if (!c || !c->data) {
        free(c);
        return NULL;
    }
    fill(c->data, user);
    c->key = *key;
    c->bytes = bytes;
    c->users = 1;
    c->next = device->constants;
    device->constants = c;
    *made = true;
    return c;
}

const float *tfr_dnn_constant_data(const struct tfr_dnn_constant *constant)
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
    free(constant->data);
    free(constant);
}
