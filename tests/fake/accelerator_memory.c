/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accelerator_memory.c: the fake accelerator's memory. One piece of anonymous memory is mapped
 * twice: at `front`, whose addresses the host gets and where every touch is a fault, and at `back`,
 * where the device's threads and copies work. New memory is full of 0xcd, freed memory of 0xdd, so
 * that nothing relies on zeros or on what was there.
 */
#include "accelerator.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool fake_memory_map(tfr_plugin_device *device)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (device->memory_limit > UINT64_C(1) << 40)
        return false;
    device->mapped = (device->memory_limit / page + 1) * page;
    const int fd = memfd_create("fakeacc", MFD_CLOEXEC);
    if (fd < 0)
        return false;
    if (ftruncate(fd, (off_t)device->mapped) != 0) {
        close(fd);
        return false;
    }
    void *front = mmap(NULL, device->mapped, PROT_NONE, MAP_SHARED, fd, 0);
    void *back = mmap(NULL, device->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    device->front = front;
    device->back = back;
    if (front != MAP_FAILED && back != MAP_FAILED)
        return true;
    if (front != MAP_FAILED)
        munmap(front, device->mapped);
    if (back != MAP_FAILED)
        munmap(back, device->mapped);
    return false;
}

void fake_memory_unmap(tfr_plugin_device *device)
{
    munmap(device->front, device->mapped);
    munmap(device->back, device->mapped);
}

static bool is_device_address(const tfr_plugin_device *device, const void *address)
{
    return (uintptr_t)address - (uintptr_t)device->front < device->mapped;
}

/* The device, or one that shares its memory, to which the address belongs. */
static const tfr_plugin_device *owner_of(const tfr_plugin_device *device, const void *address)
{
    const tfr_plugin_device *d = device;
    if (device->domain[0] && !is_device_address(device, address)) {
        pthread_mutex_lock(&fake_driver->open_lock);
        for (d = fake_driver->devices;
             d && (strcmp(d->domain, device->domain) != 0 || !is_device_address(d, address));
             d = d->next)
            ;
        pthread_mutex_unlock(&fake_driver->open_lock);
    }
    return d ? d : device;
}

fake_block *fake_block_of(const tfr_plugin_device *device, const void *address, uint64_t bytes)
{
    device = owner_of(device, address);
    if (!is_device_address(device, address))
        return NULL;
    const uint64_t offset = (uintptr_t)address - (uintptr_t)device->front;
    for (fake_block *b = device->blocks; b; b = b->next)
        if (offset >= b->offset && offset - b->offset <= b->bytes &&
            bytes <= b->bytes - (offset - b->offset))
            return b;
    return NULL;
}

void *fake_place(const tfr_plugin_device *device, const void *base, uint64_t offset)
{
    if (!device->handles)
        return offset ? NULL : (void *)(uintptr_t)base;
    for (const fake_block *b = device->blocks; b; b = b->next)
        if (b->handle == base && offset <= b->bytes)
            return device->front + b->offset + offset;
    void *found = NULL;
    pthread_mutex_lock(&fake_driver->open_lock);
    for (const tfr_plugin_device *d = fake_driver->devices; d && device->domain[0]; d = d->next)
        for (const fake_block *b = d->blocks; b && !strcmp(d->domain, device->domain); b = b->next)
            if (b->handle == base && offset <= b->bytes)
                found = d->front + b->offset + offset;
    pthread_mutex_unlock(&fake_driver->open_lock);
    return found;
}

void *fake_shadow(const tfr_plugin_device *device, const void *address)
{
    device = owner_of(device, address);
    return device->back + ((uintptr_t)address - (uintptr_t)device->front);
}

/* ---- allocations ----------------------------------------------------------------------------- */

static int32_t fake_spaces(tfr_plugin_device *device, tfr_space_info *out, uint32_t stride,
                           uint32_t *n, tfr_err *err)
{
    int32_t status = fake_check_device(device, err);
    if (status)
        return status;
    for (uint32_t i = 1; i < fake_n_spaces(device) && i < *n; i++) {
        const fake_space space = fake_space_at(device, i);
        tfr_space_info info = {.flags = space.flags, .alignment = FAKE_ALIGNMENT};
        snprintf(info.name, sizeof info.name, "%s", space.name);
        tfr_list_put(out, stride, *n, i, &info, sizeof info);
    }
    if (*n > 0) {
        tfr_space_info info = {.flags = TFR_SPACE_DEVICE_ACCESS |
                                        (device->handles ? TFR_SPACE_HANDLES : 0),
                               .name = "device",
                               .alignment = FAKE_ALIGNMENT,
                               .max_alloc = device->max_alloc};
        memcpy(info.domain, device->domain, sizeof device->domain);
        tfr_list_put(out, stride, *n, 0, &info, sizeof info);
    }
    *n = fake_n_spaces(device);
    return TFR_OK;
}

static uint64_t round_up(uint64_t x, uint64_t align)
{
    return (x + align - 1) / align * align;
}

/* First fit. Returns where the block goes into the list, and its offset; NULL if there is no gap.
 */
static fake_block **find_gap(tfr_plugin_device *device, uint64_t capacity, uint64_t align,
                             uint64_t *offset)
{
    fake_block **at = &device->blocks;
    const uint64_t base = (uintptr_t)device->front;
    uint64_t start = round_up(base, align) - base;
    for (; *at; at = &(*at)->next) {
        if (start <= (*at)->offset && capacity <= (*at)->offset - start)
            break;
        start = round_up(base + (*at)->offset + (*at)->capacity, align) - base;
    }
    *offset = start;
    return *at || (start <= device->mapped && capacity <= device->mapped - start) ? at : NULL;
}

static int32_t alloc_block(tfr_plugin_device *device, uint64_t bytes, uint64_t align, void **out,
                           tfr_err *err)
{
    const uint64_t left = device->memory_limit - device->in_use - device->pooled;
    uint64_t offset = 0;
    fake_block **at = NULL;
    if (bytes <= left)
        at = find_gap(device, round_up(bytes, FAKE_ALIGNMENT), align, &offset);
    if (!at)
        return tfr_fail(err, TFR_ENOMEM,
                        "no room for %llu bytes on device %u, which has %llu of %llu left",
                        (unsigned long long)bytes, device->ordinal, (unsigned long long)left,
                        (unsigned long long)device->memory_limit);
    fake_block *block = calloc(1, sizeof *block);
    if (!block)
        return tfr_fail(err, TFR_ENOMEM, "no host memory for an allocation");
    block->next = *at;
    block->offset = offset;
    block->bytes = bytes;
    block->capacity = round_up(bytes, FAKE_ALIGNMENT);
    *at = block;
    device->in_use += bytes;
    if (device->in_use > device->peak)
        device->peak = device->in_use;
    memset(device->back + offset, 0xcd, bytes);
    /* Small numbers: who adds to one, or takes it for an address, has a handle of nobody's. */
    block->handle = (void *)(uintptr_t)(16 * ++fake_driver->n_handles);
    *out = device->handles ? block->handle : device->front + offset;
    return TFR_OK;
}

/* Is what the memory is for what the space is for? */
static int32_t check_use(const tfr_plugin_device *device, uint32_t space, uint64_t bytes,
                         const tfr_alloc_options *options, tfr_err *err)
{
    static const struct {
        uint32_t role;
        const char *name;
    } uses[] = {{0, "constants"},
                {0, "an arena"},
                {TFR_SPACE_PINNED, "staging"},
                {TFR_SPACE_TRANSFER, "dims"}};
    const uint32_t roles = fake_space_at(device, space).flags;
    if (options && options->flags & TFR_MUST_UNDERSTAND)
        return tfr_fail(err, TFR_EUNSUPPORTED, "alloc flags 0x%x are not known", options->flags);
    if (bytes == 0 || (space == 0 && device->max_alloc && bytes > device->max_alloc))
        return fake_breach(err, "alloc of %llu bytes in space %u", (unsigned long long)bytes,
                           space);
    for (uint32_t i = 0; options && i < 4; i++) {
        char text[96];
        if (options->flags != 1u << i)
            continue;
        snprintf(text, sizeof text, "%llu bytes for %s", (unsigned long long)bytes, uses[i].name);
        fake_host->log(TFR_LOG_DEBUG, FAKE_NAME, text);
        if (space ? roles & uses[i].role : uses[i].role != TFR_SPACE_TRANSFER)
            return TFR_OK;
        return fake_breach(err, "alloc of %s in space %u", text, space);
    }
    return options && options->flags
               ? fake_breach(err, "alloc for several uses, 0x%x", options->flags)
               : TFR_OK;
}

static int32_t fake_alloc(tfr_plugin_device *device, uint32_t space, uint64_t bytes,
                          const tfr_alloc_options *options, void **out, tfr_err *err)
{
    const uint64_t align = options && options->align ? options->align : FAKE_ALIGNMENT;
    int32_t status = fake_enter(device, err);
    if (status)
        return status;
    status = check_use(device, space, bytes, options, err);
    if (status) {
        ; /* said */
    } else if (space >= fake_n_spaces(device) || (align & (align - 1)) != 0) {
        status = fake_breach(err, "alloc of %llu bytes aligned to %llu in space %u",
                             (unsigned long long)bytes, (unsigned long long)align, space);
    } else {
        pthread_mutex_lock(&fake_lock);
        const uint64_t wide = align < FAKE_ALIGNMENT ? FAKE_ALIGNMENT : align;
        status = space ? fake_near_alloc(device, space, bytes, wide, out, err)
                       : alloc_block(device, bytes, wide, out, err);
        pthread_mutex_unlock(&fake_lock);
    }
    fake_leave(device);
    return status;
}

static void fake_free(tfr_plugin_device *device, uint32_t space, void *address)
{
    fake_block **at;
    const char *breach = NULL;
    if (!address || !fake_enter_void(device, "free"))
        return;
    pthread_mutex_lock(&fake_lock);
    for (at = &device->blocks;
         *at && (device->handles ? (*at)->handle : device->front + (*at)->offset) != address;
         at = &(*at)->next)
        ;
    if (space != 0)
        at = fake_near_find(device, space, address);
    fake_block *block = *at;
    if (block)
        fake_forget_block(device, block);
    if (!block) {
        breach = "which alloc did not give";
    } else if (block->n_pending > 0) {
        breach = "which queued work uses";
    } else if (space != 0) {
        fake_near_remove(device, at);
    } else {
        *at = block->next;
        device->in_use -= block->bytes;
        if (device->pool)
            device->pooled += block->bytes;
        memset(device->back + block->offset, 0xdd, block->bytes);
        free(block);
    }
    pthread_mutex_unlock(&fake_lock);
    if (breach)
        fake_breach_later(device, "free of %p in space %u, %s", address, space, breach);
    fake_leave(device);
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* FNV-1a over the source. */
static uint64_t checksum(const fake_item *item)
{
    uint64_t sum = UINT64_C(14695981039346656037);
    const unsigned char *p = item->src;
    for (uint64_t i = 0; i < item->bytes; i++)
        sum = (sum ^ p[i]) * UINT64_C(1099511628211);
    return sum;
}

/*
 * One end of a copy as the device's threads see it. With the lock held. A host address in device
 * memory would be a fault, and a device address outside all allocations somebody else's data.
 */
static int32_t resolve(tfr_plugin_device *device, uint32_t space, const void *address,
                       uint64_t offset, uint64_t bytes, void **out, fake_block **block,
                       tfr_err *err)
{
    *out = (void *)(uintptr_t)address;
    if (space == TFR_SPACE_HOST) {
        if (address && !offset && !is_device_address(device, address))
            return TFR_OK;
        return fake_breach(err, "a copy of %llu bytes calls %p host memory",
                           (unsigned long long)bytes, address);
    }
    if (space >= fake_n_spaces(device))
        return fake_breach(err, "a copy in space %u, the last one is %u", space,
                           fake_n_spaces(device) - 1);
    if (space != 0) {
        *block = offset ? NULL : fake_near_block_of(device, space, address, bytes);
        return *block ? TFR_OK
                      : fake_breach(err, "a copy of %llu bytes at %p is not inside one allocation",
                                    (unsigned long long)bytes, address);
    }
    address = fake_place(device, address, offset);
    *block = fake_block_of(device, address, bytes);
    if (!*block)
        return fake_breach(err, "a copy of %llu bytes at %p is not inside one allocation",
                           (unsigned long long)bytes, address);
    *out = fake_shadow(device, address);
    return TFR_OK;
}

void fake_move(const fake_item *item, fake_failure *failure)
{
    if (item->kind == FAKE_FILL) {
        memset(item->dst, item->byte, item->bytes);
        return;
    }
    if (item->has_checksum && checksum(item) != item->checksum) {
        tfr_err err = TFR_ERR_INIT;
        failure->code = fake_breach(&err,
                                    "the host changed %llu bytes at %p before the queue "
                                    "had copied them",
                                    (unsigned long long)item->bytes, item->src);
        memcpy(failure->text, err.text, sizeof failure->text - 1);
        return;
    }
    memmove(item->dst, item->src, item->bytes);
}

/* Queues the item, or does its work at once if there is no queue. */
static int32_t dispatch(tfr_plugin_device *device, tfr_queue *queue, const fake_item *item,
                        tfr_err *err)
{
    fake_failure failure = {0};
    if (!queue) {
        fake_move(item, &failure);
        return TFR_OK;
    }
    fake_item *copy = malloc(sizeof *copy);
    if (!copy)
        return tfr_fail(err, TFR_ENOMEM, "no host memory for a piece of work");
    *copy = *item;
    fake_push(device, queue, copy);
    return TFR_OK;
}

/* Checks a copy and makes an item of it. With the lock held. */
static int32_t make_copy(tfr_plugin_device *device, const tfr_copy *c, fake_item *item,
                         tfr_err *err)
{
    tfr_plugin_device *from = c->src_device ? c->src_device : device;
    void *src = NULL;
    item->kind = FAKE_COPY;
    item->bytes = c->bytes;
    item->peer = from == device ? NULL : from;
    int32_t status = fake_check_device(from, err);
    if (!status && item->peer && !device->links)
        status =
            fake_breach(err, "a copy from device %u, to which there is no link", from->ordinal);
    if (!status && from->is_lost)
        status = fake_carried(from, device, fake_lost(from, err));
    if (!status)
        status = resolve(device, c->dst_space, c->dst, c->dst_offset, c->bytes, &item->dst,
                         &item->blocks[0], err);
    if (!status)
        status = resolve(from, c->src_space, c->src, c->src_offset, c->bytes, &src,
                         &item->blocks[1], err);
    item->src = src;
    return status;
}

/* As drivers do it: from where they have no hold on the pages, they copy while the host waits. */
static int32_t copy_blocking(tfr_plugin_device *device, tfr_queue *queue, const fake_item *item)
{
    char text[96];
    fake_failure failure = {0};
    snprintf(text, sizeof text, "a copy of %llu bytes of ordinary memory blocks",
             (unsigned long long)item->bytes);
    fake_host->log(TFR_LOG_WARNING, FAKE_NAME, text);
    fake_queue_drain(device, queue);
    if (!device->is_lost && !queue->real->failure.code) /* which the fence behind it tells */
        fake_move(item, &failure);
    return TFR_OK;
}

/* All copies are checked before the first one is queued. With the lock held. */
static int32_t copy_all(tfr_plugin_device *device, tfr_queue *queue, const tfr_copy *copies,
                        uint32_t n, uint32_t stride, bool may_block, tfr_err *err)
{
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < n; i++) {
            tfr_copy c = {0};
            fake_item item = {0};
            /* A host of an older minor has shorter copies. */
            memcpy(&c, (const char *)copies + (size_t)i * stride,
                   stride < sizeof c ? stride : sizeof c);
            if (c.bytes == 0)
                continue;
            int32_t status = make_copy(device, &c, &item, err);
            if (!status && pass == 1 && queue && c.src_space == TFR_SPACE_HOST) {
                item.has_checksum = true;
                item.checksum = checksum(&item);
            }
            if (!status && pass == 1 && queue && may_block && device->pageable_blocks &&
                (c.src_space == TFR_SPACE_HOST || c.dst_space == TFR_SPACE_HOST))
                status = copy_blocking(device, queue, &item);
            else if (!status && pass == 1)
                status = dispatch(device, queue, &item, err);
            if (status)
                return status;
        }
    return TFR_OK;
}

static int32_t copy_in_order(tfr_plugin_device *device, tfr_queue *queue, const tfr_copy *copies,
                             uint32_t n, uint32_t stride, bool may_block, tfr_err *err)
{
    int32_t status = fake_enter_queue(device, queue, err);
    if (status)
        return status;
    if (queue && queue->capture && may_block) {
        status = fake_breach(err, "a copy on a queue that captures");
    } else if (n > 0 && (!copies || stride < offsetof(tfr_copy, src_device))) {
        status = fake_breach(err, "%u copies every %u bytes", n, stride);
    } else {
        pthread_mutex_lock(&fake_lock);
        status = copy_all(device, queue, copies, n, stride, may_block, err);
        pthread_mutex_unlock(&fake_lock);
    }
    fake_leave_queue(device, queue);
    return status;
}

static int32_t fake_copy(tfr_plugin_device *device, tfr_queue *queue, const tfr_copy *copies,
                         uint32_t n, uint32_t stride, tfr_err *err)
{
    return copy_in_order(device, queue, copies, n, stride, true, err);
}

int32_t fake_enqueue_copy(tfr_plugin_device *device, tfr_queue *queue, const tfr_copy *copy,
                          tfr_err *err)
{
    return copy_in_order(device, queue, copy, 1, (uint32_t)sizeof *copy, false, err);
}

int32_t fake_fill(tfr_plugin_device *device, tfr_queue *queue, void *address, uint64_t offset,
                  uint8_t byte, uint64_t bytes, tfr_err *err)
{
    fake_item item = {.kind = FAKE_FILL, .bytes = bytes, .byte = byte};
    int32_t status = fake_enter_queue(device, queue, err);
    if (status)
        return status;
    pthread_mutex_lock(&fake_lock);
    status = resolve(device, 0, address, offset, bytes, &item.dst, &item.blocks[0], err);
    if (!status)
        status = dispatch(device, queue, &item, err);
    pthread_mutex_unlock(&fake_lock);
    fake_leave_queue(device, queue);
    return status;
}

/* Copies go straight from the host and, with links, from a peer. */
static int32_t fake_link(tfr_plugin_device *device, uint32_t space, tfr_plugin_device *peer,
                         uint32_t peer_space, tfr_link *out, tfr_err *err)
{
    int32_t status = fake_check_device(device, err);
    if (!status && peer)
        status = fake_check_device(peer, err);
    if (status)
        return status;
    if (space != 0 || peer_space != (peer ? 0 : TFR_SPACE_HOST))
        return fake_breach(err, "link of space %u with space %u", space, peer_space);
    tfr_link way = {.size = out->size,
                    .kind = TFR_LINK_DMA,
                    .bytes_per_second = peer ? UINT64_C(2000000000) : UINT64_C(1000000000),
                    .latency_ns = device->delay_ns};
    if (peer && !device->links)
        way = (tfr_link){.size = out->size, .kind = TFR_LINK_NONE};
    memcpy(out, &way, out->size < sizeof way ? out->size : sizeof way);
    return TFR_OK;
}

static void fake_trim(tfr_plugin_device *device)
{
    if (!fake_enter_void(device, "trim"))
        return;
    pthread_mutex_lock(&fake_lock);
    device->pooled = 0;
    pthread_mutex_unlock(&fake_lock);
    fake_leave(device);
}

const tfr_memory_facet fake_memory_facet = {
    .size = sizeof fake_memory_facet,
    .spaces = fake_spaces,
    .alloc = fake_alloc,
    .free = fake_free,
    .copy = fake_copy,
    .link = fake_link,
    .trim = fake_trim,
};
