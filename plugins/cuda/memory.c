/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c: the facet's spaces and allocations. Space 0 is the device's memory; space 1 is pinned
 * memory of the host, which the device reaches at the same address (unified addressing: every GPU
 * that is supported, on Linux), so that it is also where kernels write dims that are known late.
 *
 * Arenas and constants are the driver's plain allocations: they are few, large, and captured runs
 * need their addresses. The rest is of the pool.
 */
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 256 /* of everything that the driver gives */

enum { SPACE_DEVICE, SPACE_PINNED, N_SPACES };

typedef enum block_kind { BLOCK_PLAIN, BLOCK_POOLED, BLOCK_HOST } block_kind;

typedef struct cuda_block {
    struct cuda_block *next;
    void *address;
    uint64_t bytes;
    block_kind kind;
} cuda_block;

static int32_t cuda_spaces(tfr_plugin_device *device, tfr_space_info *out, uint32_t stride,
                           uint32_t *n, tfr_err *err)
{
    tfr_space_info space = {
        .flags = TFR_SPACE_DEVICE_ACCESS, .name = "device", .alignment = ALIGNMENT};
    const tfr_space_info pinned = {.flags = TFR_SPACE_HOST_ACCESS | TFR_SPACE_DEVICE_ACCESS |
                                            TFR_SPACE_PINNED | TFR_SPACE_TRANSFER,
                                   .name = "pinned",
                                   .alignment = ALIGNMENT};

    (void)err;
    snprintf(space.domain, sizeof space.domain, "cuda:primary-context:%s", device->facts.uuid);
    tfr_list_put(out, stride, *n, SPACE_DEVICE, &space, sizeof space);
    tfr_list_put(out, stride, *n, SPACE_PINNED, &pinned, sizeof pinned);
    *n = N_SPACES;
    return TFR_OK;
}

/* ---- allocations ----------------------------------------------------------------------------- */

static tfr_cu_result take(tfr_plugin_device *device, block_kind kind, uint64_t bytes, void **out)
{
    tfr_cu_ptr address = 0;
    tfr_cu_result result;

    if (kind == BLOCK_HOST)
        return cuda_driver.cuMemHostAlloc(out, bytes, TFR_CU_HOST_PORTABLE | TFR_CU_HOST_DEVICEMAP);
    result = kind == BLOCK_POOLED ? cuda_pool_alloc(device, bytes, &address)
                                  : cuda_driver.cuMemAlloc_v2(&address, bytes);
    *out = (void *)(uintptr_t)address;
    return result;
}

static void give(tfr_plugin_device *device, const cuda_block *block)
{
    const tfr_cu_ptr address = (tfr_cu_ptr)(uintptr_t)block->address;
    tfr_cu_result result;

    if (block->kind == BLOCK_HOST)
        result = cuda_driver.cuMemFreeHost(block->address);
    else
        result = block->kind == BLOCK_POOLED ? cuda_pool_free(device, address)
                                             : cuda_driver.cuMemFree_v2(address);
    (void)cuda_check(device, result, NULL, "free");
}

/* What the pool keeps may be in the way: without it the driver is asked once more. */
static int32_t take_block(tfr_plugin_device *device, cuda_block *block, tfr_err *err)
{
    tfr_cu_result result = take(device, block->kind, block->bytes, &block->address);
    size_t left = 0, total = 0;

    if (result == TFR_CU_OUT_OF_MEMORY && block->kind != BLOCK_HOST && device->pool) {
        cuda_pool_trim(device);
        result = take(device, block->kind, block->bytes, &block->address);
    }
    if (result == TFR_CU_OUT_OF_MEMORY && block->kind == BLOCK_HOST)
        return cuda_check(device, result, err, "no %llu bytes of pinned host memory",
                          (unsigned long long)block->bytes);
    if (result == TFR_CU_OUT_OF_MEMORY) {
        (void)cuda_driver.cuMemGetInfo_v2(&left, &total);
        return cuda_check(device, result, err,
                          "no %llu bytes on %.48s, where %llu of %llu are free",
                          (unsigned long long)block->bytes, device->facts.name,
                          (unsigned long long)left, (unsigned long long)total);
    }
    return cuda_check(device, result, err, "%llu bytes on %.64s", (unsigned long long)block->bytes,
                      device->facts.name);
}

static block_kind kind_of(const tfr_plugin_device *device, uint32_t space,
                          const tfr_alloc_options *options)
{
    if (space == SPACE_PINNED)
        return BLOCK_HOST;
    if (!device->pool || (options && options->flags & (TFR_ALLOC_ARENA | TFR_ALLOC_CONSTANTS)))
        return BLOCK_PLAIN;
    return BLOCK_POOLED;
}

/* The core copies on without the ring that it asked for, from memory that is not pinned. */
static void tell_of_staging(const tfr_plugin_device *device, const tfr_alloc_options *options,
                            const tfr_err *err)
{
    if (options && options->flags & TFR_ALLOC_STAGING && !atomic_load(&device->is_lost))
        cuda_log(TFR_LOG_WARNING,
                 "copies to and from %.48s are slower, as they are not from pinned memory: %s",
                 device->facts.name, err->text);
}

/* What programs compile may be allocated while another thread allocates. */
static bool count_in(tfr_plugin_device *device, uint64_t bytes, tfr_err *err)
{
    bool fits;

    pthread_mutex_lock(&device->lock);
    fits = !device->limit || bytes <= device->limit - device->in_use;
    if (fits)
        device->in_use += bytes;
    else
        (void)tfr_fail(err, TFR_ENOMEM,
                       "no %llu bytes on %.64s: %llu of the limit, %llu, are in use; raise "
                       "cuda.memory_limit or cuda.memory-fraction",
                       (unsigned long long)bytes, device->facts.name,
                       (unsigned long long)device->in_use, (unsigned long long)device->limit);
    pthread_mutex_unlock(&device->lock);
    return fits;
}

static void count_out(tfr_plugin_device *device, uint64_t bytes)
{
    pthread_mutex_lock(&device->lock);
    device->in_use -= bytes;
    pthread_mutex_unlock(&device->lock);
}

static int32_t cuda_alloc(tfr_plugin_device *device, uint32_t space, uint64_t bytes,
                          const tfr_alloc_options *options, void **out, tfr_err *err)
{
    tfr_err own = TFR_ERR_INIT;
    cuda_block *block;
    int32_t status;

    if (!err)
        err = &own;
    if (options && (options->flags & TFR_MUST_UNDERSTAND || options->align > ALIGNMENT))
        return tfr_fail(err, TFR_EUNSUPPORTED, "memory aligned to %llu with flags 0x%x",
                        (unsigned long long)options->align, (unsigned)options->flags);
    block = calloc(1, sizeof *block);
    if (!block)
        return tfr_fail(err, TFR_ENOMEM, "no host memory for an allocation");
    block->bytes = bytes;
    if (space == SPACE_DEVICE && !count_in(device, bytes, err)) {
        free(block);
        return TFR_ENOMEM;
    }
    block->kind = kind_of(device, space, options);
    status = cuda_enter(device, err);
    if (status == TFR_OK) {
        status = take_block(device, block, err);
        cuda_leave(device);
    }
    if (status != TFR_OK) {
        tell_of_staging(device, options, err);
        if (space == SPACE_DEVICE)
            count_out(device, bytes);
        free(block);
        return status;
    }
    *out = block->address;
    pthread_mutex_lock(&device->lock);
    block->next = device->blocks;
    device->blocks = block;
    pthread_mutex_unlock(&device->lock);
    return TFR_OK;
}

static void cuda_free(tfr_plugin_device *device, uint32_t space, void *address)
{
    cuda_block **at = &device->blocks, *block;

    pthread_mutex_lock(&device->lock);
    while (*at && (*at)->address != address)
        at = &(*at)->next;
    block = *at;
    if (block)
        *at = block->next;
    if (block && space == SPACE_DEVICE)
        device->in_use -= block->bytes;
    pthread_mutex_unlock(&device->lock);
    if (!block)
        return;
    /* What a device has that the driver has given up on is leaked; the process goes on. */
    if (!device->is_dead && cuda_driver.cuCtxPushCurrent_v2(device->context) == TFR_CU_SUCCESS) {
        give(device, block);
        cuda_leave(device);
    }
    free(block);
}

static void cuda_trim(tfr_plugin_device *device)
{
    if (cuda_enter(device, NULL) != TFR_OK)
        return;
    cuda_pool_trim(device);
    cuda_leave(device);
}

void cuda_memory_close(tfr_plugin_device *device)
{
    while (device->blocks) {
        cuda_block *block = device->blocks;
        device->blocks = block->next;
        if (!device->is_dead)
            give(device, block);
        free(block);
    }
}

/* ---- ways between devices -------------------------------------------------------------------- */

static int32_t cuda_link(tfr_plugin_device *device, uint32_t space, tfr_plugin_device *peer,
                         uint32_t peer_space, tfr_link *out, tfr_err *err)
{
    tfr_link link = {.kind = TFR_LINK_DMA};
    int can = 0;

    (void)space, (void)peer_space, (void)err;
    /* The driver copies between any two, by way of the host where it must. */
    if (peer && peer->facts.device != device->facts.device &&
        cuda_driver.cuDeviceCanAccessPeer(&can, device->facts.device, peer->facts.device) !=
            TFR_CU_SUCCESS)
        can = 0;
    link.bytes_per_second = !peer || !can ? UINT64_C(20000000000) : UINT64_C(100000000000);
    link.latency_ns = 10000;
    if (peer && peer->facts.device == device->facts.device)
        link.bytes_per_second = device->facts.memory_bandwidth / 2;
    tfr_list_put(out, sizeof link, 1, 0, &link, sizeof link);
    return TFR_OK;
}

int32_t cuda_copy(tfr_plugin_device *device, tfr_queue *queue, const tfr_copy *copies, uint32_t n,
                  uint32_t stride, tfr_err *err);

const tfr_memory_facet cuda_memory_facet = {
    .size = sizeof cuda_memory_facet,
    .spaces = cuda_spaces,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .copy = cuda_copy,
    .link = cuda_link,
    .trim = cuda_trim,
};
