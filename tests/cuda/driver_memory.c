/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of the driver stand-in. An address of a device lies in a range that is reserved without
 * any access, so that a host which follows it is killed; no address is given out twice. The bytes
 * are malloc'ed elsewhere and begin as NaN of every float type.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "driver.h"

static const size_t reserved_bytes = (size_t)1 << 38; /* 256 GiB of addresses for each device */
static const size_t align = 512;

/* ------------------------------------------------------------------------------------------
 * Blocks.
 */
static uint64_t take_address(int device, size_t bytes)
{
    if (!fake.base[device]) {
        void *range = mmap(NULL, reserved_bytes, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (range == MAP_FAILED)
            return 0;
        fake.base[device] = fake.top[device] = (uint64_t)(uintptr_t)range;
    }
    /* A gap behind each block, so that no neighbour is hit. */
    uint64_t step = ((uint64_t)bytes + 2 * align - 1) / align * align;
    if (fake.top[device] + step > fake.base[device] + reserved_bytes)
        return 0;
    uint64_t address = fake.top[device];
    fake.top[device] += step;
    return address;
}

/* All bytes of small blocks, the ends of large ones: touching costs real memory. */
static void fill(unsigned char *data, size_t bytes)
{
    const size_t most = (size_t)16 << 20, end = 4096;
    memset(data, 0xff, bytes < most ? bytes : most);
    if (bytes > most)
        memset(data + bytes - end, 0xff, end);
}

static tfr_cu_result block_create(int device, size_t bytes, fake_block **out)
{
    fake_block *block = calloc(1, sizeof *block);
    unsigned char *data = malloc(bytes);
    uint64_t address = block && data ? take_address(device, bytes) : 0;
    if (!address) {
        free(block);
        free(data);
        return TFR_CU_OUT_OF_MEMORY;
    }
    fill(data, bytes);
    *block = (fake_block){
        .next = fake.blocks, .address = address, .bytes = bytes, .data = data, .device = device};
    fake.blocks = block;
    *out = block;
    return TFR_CU_SUCCESS;
}

void fake_block_ready(fake_block *block)
{
    block->live = true;
}

void fake_block_release(fake_block *block)
{
    for (fake_block **at = &fake.blocks; *at; at = &(*at)->next)
        if (*at == block) {
            *at = block->next;
            break;
        }
    if (block->pool) {
        block->pool->used -= block->bytes;
        block->pool->n_blocks--;
        if (block->pool->destroyed)
            fake_pool_release(block->pool);
    } else {
        fake.used[block->device] -= block->bytes;
    }
    free(block->data);
    free(block);
}

fake_block *fake_block_at(uint64_t address)
{
    for (fake_block *b = fake.blocks; b; b = b->next)
        if (address >= b->address && address - b->address < b->bytes)
            return b;
    return NULL;
}

static fake_pinned *pinned_at(const void *p)
{
    uintptr_t at = (uintptr_t)p;
    for (fake_pinned *b = fake.pinned; b; b = b->next)
        if (at >= (uintptr_t)b->data && at - (uintptr_t)b->data < b->bytes)
            return b;
    return NULL;
}

bool fake_is_pinned(const void *p, size_t bytes)
{
    const fake_pinned *b = pinned_at(p);
    return b && (uintptr_t)p - (uintptr_t)b->data + bytes <= b->bytes;
}

void *fake_reach(int device, uint64_t address, size_t *bytes)
{
    const fake_block *b = fake_block_at(address);
    const fake_pinned *p = b ? NULL : pinned_at((void *)(uintptr_t)address);
    if (p) {
        *bytes = p->bytes - (address - (uintptr_t)p->data);
        return (void *)(uintptr_t)address;
    }
    if (!b || !b->live)
        return NULL;
    if (b->device != device &&
        !(b->pool ? b->pool->access[device] : fake.contexts[device].peer[b->device]))
        return NULL;
    *bytes = b->bytes - (address - b->address);
    return b->data + (address - b->address);
}

/* ------------------------------------------------------------------------------------------
 * cuMemAlloc and its kin.
 */
tfr_cu_result API(cuMemGetInfo_v2)(size_t *free_bytes, size_t *total_bytes)
{
    BEGIN(cuMemGetInfo_v2, NEEDS_CONTEXT);
    *free_bytes = fake.set.memory_bytes - fake.used[fake_current()->device];
    *total_bytes = fake.set.memory_bytes;
    END(TFR_CU_SUCCESS);
}

static bool has_room(int device, size_t bytes)
{
    return bytes <= fake.set.memory_bytes - fake.used[device];
}

tfr_cu_result API(cuMemAlloc_v2)(tfr_cu_ptr *ptr, size_t bytes)
{
    BEGIN(cuMemAlloc_v2, NEEDS_CONTEXT | IS_UNSAFE);
    int device = fake_current()->device;
    if (!ptr || bytes == 0)
        END(TFR_CU_INVALID_VALUE);
    if (!has_room(device, bytes))
        END(TFR_CU_OUT_OF_MEMORY);
    fake_block *block;
    tfr_cu_result result = block_create(device, bytes, &block);
    if (result)
        END(result);
    block->live = true;
    fake.used[device] += bytes;
    *ptr = block->address;
    fake_note("%zu", bytes);
    END(TFR_CU_SUCCESS);
}

/* The driver waits for the device, as nobody else does for it. */
tfr_cu_result API(cuMemFree_v2)(tfr_cu_ptr ptr)
{
    BEGIN(cuMemFree_v2, NEEDS_CONTEXT | IS_UNSAFE);
    if (!ptr)
        END(TFR_CU_SUCCESS);
    fake_block *block = fake_block_at(ptr);
    if (!block || block->address != ptr || block->freeing)
        END(TFR_CU_INVALID_VALUE);
    block->freeing = true;
    tfr_cu_result result = fake_wait_context(&fake.contexts[block->device]);
    if (!result)
        fake_block_release(block);
    END(result);
}

static tfr_cu_result add_pinned(void *data, size_t bytes, bool registered)
{
    fake_pinned *p = calloc(1, sizeof *p);
    if (!p)
        return TFR_CU_OUT_OF_MEMORY;
    *p = (fake_pinned){fake.pinned, data, bytes, registered};
    fake.pinned = p;
    return TFR_CU_SUCCESS;
}

void fake_pinned_release(fake_pinned **at)
{
    fake_pinned *p = *at;
    *at = p->next;
    if (!p->registered)
        free(p->data);
    free(p);
}

static tfr_cu_result remove_pinned(void *data, bool registered, tfr_cu_result unknown)
{
    fake_pinned **at = &fake.pinned;
    while (*at && ((*at)->data != data || (*at)->registered != registered))
        at = &(*at)->next;
    if (!*at)
        return unknown;
    tfr_cu_result result = fake_wait_context(fake_current());
    for (at = &fake.pinned; *at && (*at)->data != data;)
        at = &(*at)->next;
    if (!result && *at)
        fake_pinned_release(at);
    return result;
}

tfr_cu_result API(cuMemHostAlloc)(void **ptr, size_t bytes, unsigned flags)
{
    BEGIN(cuMemHostAlloc, NEEDS_CONTEXT | IS_UNSAFE);
    if (!ptr || bytes == 0 || flags > 7)
        END(TFR_CU_INVALID_VALUE);
    void *data = NULL;
    if (posix_memalign(&data, 4096, bytes))
        END(TFR_CU_OUT_OF_MEMORY);
    memset(data, 0xff, bytes);
    tfr_cu_result result = add_pinned(data, bytes, false);
    if (result)
        free(data);
    else
        *ptr = data;
    END(result);
}

tfr_cu_result API(cuMemFreeHost)(void *ptr)
{
    BEGIN(cuMemFreeHost, NEEDS_CONTEXT | IS_UNSAFE);
    END(remove_pinned(ptr, false, TFR_CU_INVALID_VALUE));
}

tfr_cu_result API(cuMemHostRegister_v2)(void *ptr, size_t bytes, unsigned flags)
{
    BEGIN(cuMemHostRegister_v2, NEEDS_CONTEXT | IS_UNSAFE);
    if (!ptr || bytes == 0 || flags > 15)
        END(TFR_CU_INVALID_VALUE);
    for (fake_pinned *p = fake.pinned; p; p = p->next)
        if ((uintptr_t)ptr < (uintptr_t)p->data + p->bytes &&
            (uintptr_t)p->data < (uintptr_t)ptr + bytes)
            END(TFR_CU_HOST_MEMORY_ALREADY_REGISTERED);
    END(add_pinned(ptr, bytes, true));
}

tfr_cu_result API(cuMemHostUnregister)(void *ptr)
{
    BEGIN(cuMemHostUnregister, NEEDS_CONTEXT | IS_UNSAFE);
    END(remove_pinned(ptr, true, TFR_CU_HOST_MEMORY_NOT_REGISTERED));
}

/* ------------------------------------------------------------------------------------------
 * What an address is. Memory that CUDA knows nothing of has zeros, and device -2.
 */
static tfr_cu_result pointer_attribute(unsigned attr, void *out, tfr_cu_ptr ptr)
{
    const fake_block *b = fake_block_at(ptr);
    const fake_pinned *p = b ? NULL : pinned_at((void *)(uintptr_t)ptr);
    tfr_cu_context *current = fake_current();
    switch (attr) {
    case TFR_CU_POINTER_CONTEXT:
        *(tfr_cu_context **)out = b ? &fake.contexts[b->device] : p ? current : NULL;
        return TFR_CU_SUCCESS;
    case TFR_CU_POINTER_MEMORY_TYPE:
        *(unsigned *)out = b ? TFR_CU_MEMORY_DEVICE : p ? TFR_CU_MEMORY_HOST : 0;
        return TFR_CU_SUCCESS;
    case TFR_CU_POINTER_DEVICE_POINTER:
        *(tfr_cu_ptr *)out = b || p ? ptr : 0;
        return TFR_CU_SUCCESS;
    case TFR_CU_POINTER_HOST_POINTER:
        *(void **)out = p ? (void *)(uintptr_t)ptr : NULL;
        return TFR_CU_SUCCESS;
    case TFR_CU_POINTER_IS_MANAGED:
        *(unsigned *)out = 0;
        return TFR_CU_SUCCESS;
    case TFR_CU_POINTER_DEVICE_ORDINAL: {
        int ordinal = p && current ? 0 : -2;
        for (int i = 0; b && i < fake.n_visible; i++)
            if (fake.visible[i] == b->device)
                ordinal = i;
        *(int *)out = ordinal;
        return TFR_CU_SUCCESS;
    }
    case TFR_CU_POINTER_RANGE_START:
        *(tfr_cu_ptr *)out = b ? b->address : p ? (uintptr_t)p->data : 0;
        return TFR_CU_SUCCESS;
    case TFR_CU_POINTER_RANGE_SIZE:
        *(size_t *)out = b ? b->bytes : p ? p->bytes : 0;
        return TFR_CU_SUCCESS;
    case TFR_CU_POINTER_MAPPED:
        *(unsigned *)out = b || p;
        return TFR_CU_SUCCESS;
    default:
        return TFR_CU_INVALID_VALUE;
    }
}

tfr_cu_result API(cuPointerGetAttributes)(unsigned n, unsigned *attrs, void **values,
                                          tfr_cu_ptr ptr)
{
    BEGIN(cuPointerGetAttributes, NEEDS_INIT);
    tfr_cu_result result = TFR_CU_SUCCESS;
    for (unsigned i = 0; i < n && !result; i++)
        result = pointer_attribute(attrs[i], values[i], ptr);
    END(result);
}

/* ------------------------------------------------------------------------------------------
 * Pools. What was used stays reserved until somebody waits or trims.
 */
static tfr_cu_pool *find_pool(const tfr_cu_pool *handle)
{
    for (tfr_cu_pool *p = fake.pools; p; p = p->next)
        if (p == handle && !p->destroyed)
            return p;
    return NULL;
}

static void reserve(tfr_cu_pool *pool, size_t bytes)
{
    fake.used[pool->device] = fake.used[pool->device] - pool->reserved + bytes;
    pool->reserved = bytes;
    if (pool->reserved_high < bytes)
        pool->reserved_high = bytes;
}

static void settle(tfr_cu_pool *pool, uint64_t keep)
{
    size_t least = pool->used > keep ? pool->used : (size_t)keep;
    if (pool->reserved > least)
        reserve(pool, least);
}

void fake_pool_release(tfr_cu_pool *pool)
{
    settle(pool, 0);
    if (pool->n_blocks > 0)
        return;
    for (tfr_cu_pool **at = &fake.pools; *at; at = &(*at)->next)
        if (*at == pool) {
            *at = pool->next;
            break;
        }
    free(pool);
}

void fake_pools_settle(void)
{
    for (tfr_cu_pool *p = fake.pools; p; p = p->next)
        settle(p, p->destroyed ? 0 : p->threshold);
}

tfr_cu_result API(cuMemPoolCreate)(tfr_cu_pool **out, const tfr_cu_pool_props *props)
{
    BEGIN(cuMemPoolCreate, NEEDS_INIT | IS_UNSAFE);
    if (!out || !props || props->allocation != TFR_CU_ALLOCATION_PINNED ||
        props->location.type != TFR_CU_LOCATION_DEVICE || props->handle_types != 0)
        END(TFR_CU_INVALID_VALUE);
    if (props->location.id < 0 || props->location.id >= fake.n_visible)
        END(TFR_CU_INVALID_DEVICE);
    for (size_t i = 0; i < sizeof props->reserved; i++)
        if (props->reserved[i])
            END(TFR_CU_INVALID_VALUE);
    if (props->max_bytes && fake.set.version < 12020)
        END(TFR_CU_INVALID_VALUE);
    tfr_cu_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        END(TFR_CU_OUT_OF_MEMORY);
    int device = fake.visible[props->location.id];
    *pool = (tfr_cu_pool){
        .next = fake.pools, .device = device, .max_bytes = props->max_bytes, .reuse = {1, 1, 1}};
    pool->access[device] = true;
    fake.pools = pool;
    *out = pool;
    END(TFR_CU_SUCCESS);
}

tfr_cu_result API(cuMemPoolDestroy)(tfr_cu_pool *handle)
{
    BEGIN(cuMemPoolDestroy, NEEDS_INIT | IS_UNSAFE);
    tfr_cu_pool *pool = find_pool(handle);
    if (!pool)
        END(TFR_CU_INVALID_VALUE);
    pool->destroyed = true;
    fake_pool_release(pool);
    END(TFR_CU_SUCCESS);
}

tfr_cu_result API(cuMemPoolSetAttribute)(tfr_cu_pool *handle, unsigned attr, void *value)
{
    BEGIN(cuMemPoolSetAttribute, NEEDS_INIT);
    tfr_cu_pool *pool = find_pool(handle);
    if (!pool || !value)
        END(TFR_CU_INVALID_VALUE);
    if (attr >= TFR_CU_POOL_REUSE_FOLLOW_EVENTS && attr <= TFR_CU_POOL_REUSE_INTERNAL_DEPENDENCIES)
        pool->reuse[attr - 1] = *(int *)value;
    else if (attr == TFR_CU_POOL_RELEASE_THRESHOLD)
        pool->threshold = *(unsigned long long *)value;
    else if (attr == TFR_CU_POOL_RESERVED_HIGH && *(unsigned long long *)value == 0)
        pool->reserved_high = pool->reserved;
    else if (attr == TFR_CU_POOL_USED_HIGH && *(unsigned long long *)value == 0)
        pool->used_high = pool->used;
    else
        END(TFR_CU_INVALID_VALUE);
    END(TFR_CU_SUCCESS);
}

tfr_cu_result API(cuMemPoolGetAttribute)(tfr_cu_pool *handle, unsigned attr, void *value)
{
    BEGIN(cuMemPoolGetAttribute, NEEDS_INIT);
    tfr_cu_pool *pool = find_pool(handle);
    if (!pool || !value || attr < 1 || attr > TFR_CU_POOL_USED_HIGH)
        END(TFR_CU_INVALID_VALUE);
    if (attr <= TFR_CU_POOL_REUSE_INTERNAL_DEPENDENCIES) {
        *(int *)value = pool->reuse[attr - 1];
        END(TFR_CU_SUCCESS);
    }
    const unsigned long long values[] = {pool->threshold, pool->reserved, pool->reserved_high,
                                         pool->used, pool->used_high};
    *(unsigned long long *)value = values[attr - TFR_CU_POOL_RELEASE_THRESHOLD];
    END(TFR_CU_SUCCESS);
}

tfr_cu_result API(cuMemPoolTrimTo)(tfr_cu_pool *handle, size_t keep_bytes)
{
    BEGIN(cuMemPoolTrimTo, NEEDS_INIT | IS_UNSAFE);
    tfr_cu_pool *pool = find_pool(handle);
    if (!pool)
        END(TFR_CU_INVALID_VALUE);
    settle(pool, keep_bytes);
    END(TFR_CU_SUCCESS);
}

tfr_cu_result API(cuMemPoolSetAccess)(tfr_cu_pool *handle, const tfr_cu_access *access, size_t n)
{
    BEGIN(cuMemPoolSetAccess, NEEDS_INIT);
    tfr_cu_pool *pool = find_pool(handle);
    for (size_t i = 0; i < n; i++) {
        const tfr_cu_access *a = &access[i];
        if (!pool || a->location.type != TFR_CU_LOCATION_DEVICE || a->location.id < 0 ||
            a->location.id >= fake.n_visible ||
            (a->flags != TFR_CU_ACCESS_NONE && a->flags != TFR_CU_ACCESS_READ_WRITE))
            END(TFR_CU_INVALID_VALUE);
        int device = fake.visible[a->location.id];
        if (device == pool->device && a->flags == TFR_CU_ACCESS_NONE)
            END(TFR_CU_INVALID_VALUE);
        if (device != pool->device && !fake.set.peers)
            END(TFR_CU_INVALID_DEVICE);
        pool->access[device] = a->flags == TFR_CU_ACCESS_READ_WRITE;
    }
    END(pool ? TFR_CU_SUCCESS : TFR_CU_INVALID_VALUE);
}

/* Room that is reserved and not used comes first. */
static tfr_cu_result take_from_pool(tfr_cu_pool *pool, size_t bytes, fake_block **out)
{
    size_t used = pool->used + bytes;
    size_t more = used > pool->reserved ? used - pool->reserved : 0;
    if ((pool->max_bytes && used > pool->max_bytes) || !has_room(pool->device, more))
        return TFR_CU_OUT_OF_MEMORY;
    tfr_cu_result result = block_create(pool->device, bytes, out);
    if (result)
        return result;
    (*out)->pool = pool;
    pool->n_blocks++;
    pool->used = used;
    if (pool->used_high < used)
        pool->used_high = used;
    if (more)
        reserve(pool, used);
    return TFR_CU_SUCCESS;
}

tfr_cu_result API(cuMemAllocFromPoolAsync)(tfr_cu_ptr *ptr, size_t bytes, tfr_cu_pool *handle,
                                           tfr_cu_stream *stream)
{
    BEGIN(cuMemAllocFromPoolAsync, NEEDS_CONTEXT);
    tfr_cu_pool *pool = find_pool(handle);
    tfr_cu_stream *s = fake_stream(stream);
    if (!ptr || bytes == 0 || !pool)
        END(TFR_CU_INVALID_VALUE);
    if (!s)
        END(TFR_CU_INVALID_HANDLE);
    if (s->capture)
        END(fake_capture_break(s->capture, TFR_CU_CAPTURE_UNSUPPORTED));
    fake_block *block;
    tfr_cu_result result = take_from_pool(pool, bytes, &block);
    if (result)
        END(result);
    *ptr = block->address;
    fake_note("%zu stream %d", bytes, s->id);
    END(fake_submit(s, &(fake_op){.kind = OP_ALLOC, .u.block = block}));
}

tfr_cu_result API(cuMemFreeAsync)(tfr_cu_ptr ptr, tfr_cu_stream *stream)
{
    BEGIN(cuMemFreeAsync, NEEDS_CONTEXT);
    fake_block *block = fake_block_at(ptr);
    tfr_cu_stream *s = fake_stream(stream);
    if (!block || block->address != ptr || block->freeing)
        END(TFR_CU_INVALID_VALUE);
    if (!s)
        END(TFR_CU_INVALID_HANDLE);
    if (s->capture)
        END(fake_capture_break(s->capture, TFR_CU_CAPTURE_UNSUPPORTED));
    block->freeing = true;
    fake_note("stream %d", s->id);
    END(fake_submit(s, &(fake_op){.kind = OP_FREE, .u.block = block}));
}
