/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accelerator_spaces.c: the fake accelerator's spaces behind space 0, which the host reaches: one
 * for copies that do not block (option pinned) and one for dims that kernels write (transfer).
 * Blocks are the host's own memory, full of 0xcd when they are new.
 */
#include "accelerator.h"

#include <stdlib.h>
#include <string.h>

/* The roles of spaces 1, 2, ... */
static uint32_t roles(const tfr_plugin_device *device, fake_space *out)
{
    uint32_t n = 0;
    if (device->pinned)
        out[n++] = (fake_space){"pinned", TFR_SPACE_HOST_ACCESS | TFR_SPACE_PINNED};
    if (device->transfer)
        out[n++] = (fake_space){"transfer", TFR_SPACE_HOST_ACCESS | TFR_SPACE_DEVICE_ACCESS |
                                                TFR_SPACE_TRANSFER};
    return n;
}

uint32_t fake_n_spaces(const tfr_plugin_device *device)
{
    fake_space spaces[FAKE_MAX_SPACES];
    return 1 + roles(device, spaces);
}

fake_space fake_space_at(const tfr_plugin_device *device, uint32_t space)
{
    fake_space spaces[FAKE_MAX_SPACES];
    const uint32_t n = roles(device, spaces);
    return space > 0 && space <= n ? spaces[space - 1] : (fake_space){NULL, 0};
}

int32_t fake_near_alloc(tfr_plugin_device *device, uint32_t space, uint64_t bytes, uint64_t align,
                        void **out, tfr_err *err)
{
    const bool pinned = fake_space_at(device, space).flags & TFR_SPACE_PINNED;
    if (pinned && bytes > device->pinned_left)
        return tfr_fail(err, TFR_ENOMEM, "no room for %llu bytes of pinned memory",
                        (unsigned long long)bytes);
    fake_block *block = calloc(1, sizeof *block);
    if (block)
        block->capacity = (bytes + align - 1) / align * align;
    if (block)
        block->handle = aligned_alloc(align, block->capacity);
    if (!block || !block->handle) {
        free(block);
        return tfr_fail(err, TFR_ENOMEM, "no host memory for %llu bytes of space %u",
                        (unsigned long long)bytes, space);
    }
    if (pinned)
        device->pinned_left -= bytes;
    memset(block->handle, 0xcd, bytes);
    block->bytes = bytes;
    block->space = space;
    block->next = device->near_blocks;
    device->near_blocks = block;
    *out = block->handle;
    return TFR_OK;
}

void fake_near_remove(tfr_plugin_device *device, fake_block **at)
{
    fake_block *block = *at;
    if (fake_space_at(device, block->space).flags & TFR_SPACE_PINNED)
        device->pinned_left += block->bytes;
    *at = block->next;
    free(block->handle);
    free(block);
}

fake_block **fake_near_find(tfr_plugin_device *device, uint32_t space, const void *address)
{
    fake_block **at;
    for (at = &device->near_blocks; *at && ((*at)->handle != address || (*at)->space != space);
         at = &(*at)->next)
        ;
    return at;
}

fake_block *fake_near_block_of(const tfr_plugin_device *device, uint32_t space, const void *address,
                               uint64_t bytes)
{
    for (fake_block *b = device->near_blocks; b; b = b->next) {
        const uint64_t offset = (uintptr_t)address - (uintptr_t)b->handle;
        if (b->space == space && offset <= b->bytes && bytes <= b->bytes - offset)
            return b;
    }
    return NULL;
}

int32_t fake_resolve_dims(const tfr_plugin_device *device, const char *name, int64_t *dims,
                          int32_t rank, fake_block **block, tfr_err *err)
{
    const uint64_t bytes = (uint64_t)rank * sizeof *dims;
    if (!dims)
        return fake_breach(err, "launch of %s has no place for its dims", name);
    if (fake_block_of(device, dims, bytes))
        return fake_breach(err, "launch of %s: its dims at %p are in space 0", name, (void *)dims);
    for (uint32_t space = 1; space < fake_n_spaces(device); space++) {
        if (!(fake_space_at(device, space).flags & TFR_SPACE_TRANSFER))
            continue;
        *block = fake_near_block_of(device, space, dims, bytes);
        if (!*block)
            return fake_breach(err, "launch of %s: its dims at %p are not in space %u, \"%s\"",
                               name, (void *)dims, space, fake_space_at(device, space).name);
    }
    return TFR_OK;
}
