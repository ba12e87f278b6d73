/* SPDX-License-Identifier: Apache-2.0 */
/* direct.c: devices and memory of the direct host; see direct.h. */
#include "direct.h"

#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>

enum { MAX_DEVICES = 16, MAX_SPACES = 16, MAX_OPTIONS = 64 };

/* ---- devices --------------------------------------------------------------------------------- */

static tfr_status find_device(certify_subject *s, uint32_t other, tfr_device_info *out,
                              tfr_err *err)
{
    tfr_device_info infos[MAX_DEVICES] = {{0}};
    tfr_device_desc desc = {.size = sizeof desc};
    uint32_t n = MAX_DEVICES, seen = 0;
    tfr_status status = tfr_runtime_device(s->run.runtime, s->run.device, &desc, err);
    if (status)
        return status;
    for (uint32_t i = 0; i < MAX_DEVICES; i++)
        infos[i].size = sizeof infos[i];
    status = (tfr_status)certify_plugin_tables()->plugin.enumerate(infos, sizeof infos[0], &n, err);
    for (uint32_t i = 0; !status && i < n && i < MAX_DEVICES; i++) {
        const bool is_own = strcmp(infos[i].identity, desc.identity) == 0;
        if (infos[i].unusable || (other ? is_own || ++seen != other : !is_own))
            continue;
        *out = infos[i];
        return TFR_OK;
    }
    return status ? status : tfr_fail(err, TFR_ENOTFOUND, "the plugin has no such device");
}

/* What the user says for the plugin, without its name, and what the check says, which goes first.
 */
static uint32_t gather_options(const certify_subject *s, const tfr_option *options, uint32_t n,
                               tfr_option *out)
{
    const tfr_runtime_options *runtime = &s->options->runtime;
    const size_t length = strlen(s->plugin.name);
    uint32_t m = 0;
    for (; m < n; m++)
        out[m] = options[m];
    for (uint32_t i = 0; i < runtime->n_options && m < MAX_OPTIONS; i++) {
        const tfr_option *o = &runtime->options[i];
        if (strncmp(o->key, s->plugin.name, length) == 0 && o->key[length] == '.')
            out[m++] = (tfr_option){o->key + length + 1, o->value};
    }
    return m;
}

static tfr_status look_at_spaces(direct_device *d, tfr_err *err)
{
    tfr_space_info spaces[MAX_SPACES] = {{0}};
    uint32_t n = MAX_SPACES;
    for (uint32_t i = 0; i < MAX_SPACES; i++)
        spaces[i].size = sizeof spaces[i];
    tfr_status status =
        (tfr_status)d->tables->memory.spaces(d->device, spaces, sizeof spaces[0], &n, err);
    if (status)
        return status;
    d->space = spaces[0];
    d->pinned = d->transfer = TFR_SPACE_HOST;
    for (uint32_t i = n < MAX_SPACES ? n : MAX_SPACES; i-- > 0;) {
        if (spaces[i].flags & TFR_SPACE_PINNED)
            d->pinned = i;
        if (spaces[i].flags & TFR_SPACE_TRANSFER)
            d->transfer = i;
    }
    return TFR_OK;
}

tfr_status direct_open(certify_subject *s, uint32_t other, const tfr_option *options,
                       uint32_t n_options, direct_device *out, tfr_err *err)
{
    const certify_tables *tables = certify_plugin_tables();
    tfr_option all[MAX_OPTIONS];
    tfr_open_options open = {.size = sizeof open, .options = all};
    tfr_status status;
    memset(out, 0, sizeof *out);
    out->tables = tables;
    out->next_id = 1000;
    if (!tables)
        return tfr_fail(err, TFR_ENOTFOUND, "no device of the plugin was opened");
    open.n_options = gather_options(s, options, n_options, all);
    status = find_device(s, other, &out->info, err);
    if (!status)
        status = (tfr_status)tables->plugin.open(&out->info, &open, &out->device, err);
    if (status)
        return status;
    status = look_at_spaces(out, err);
    if (!status && tables->queue.create) {
        tfr_queue_options how = {.size = sizeof how};
        tfr_fence_options fence = {.size = sizeof fence};
        status = (tfr_status)tables->queue.create(out->device, &how, &out->queue, err);
        if (!status)
            status = (tfr_status)tables->queue.fence_create(out->device, &fence, &out->fence, err);
    }
    if (status)
        direct_close(out);
    return status;
}

void direct_close(direct_device *d)
{
    if (d->fence)
        d->tables->queue.fence_destroy(d->device, d->fence);
    if (d->queue)
        d->tables->queue.destroy(d->device, d->queue);
    if (d->device)
        d->tables->plugin.close(d->device);
    d->device = NULL;
    d->queue = NULL;
    d->fence = NULL;
}

bool direct_is_synchronous(const direct_device *d)
{
    return !d->tables->queue.create;
}

tfr_status direct_finish(direct_device *d, tfr_err *err)
{
    const tfr_queue_facet *q = &d->tables->queue;
    tfr_status status;
    if (!d->queue)
        return TFR_OK;
    status = (tfr_status)q->signal(d->device, d->queue, d->fence, ++d->value, err);
    return status ? status
                  : (tfr_status)q->host_wait(d->device, d->fence, d->value, TFR_WAIT_FOREVER, err);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static bool is_reached(const direct_device *d, const direct_buffer *b)
{
    return b->space != 0 || (d->space.flags & TFR_SPACE_HOST_ACCESS);
}

static uint64_t whole(const direct_buffer *b)
{
    return b->guard * 2 + b->bytes;
}

/* One copy between all of a buffer and host memory, through pinned memory if there is some. */
static tfr_status move(direct_device *d, const direct_buffer *b, void *host, bool to_host,
                       tfr_err *err)
{
    const tfr_memory_facet *m = &d->tables->memory;
    const uint32_t space = d->queue ? d->pinned : TFR_SPACE_HOST;
    tfr_alloc_options how = {.size = sizeof how, .flags = TFR_ALLOC_STAGING};
    void *staging = host;
    tfr_status status = TFR_OK;
    if (is_reached(d, b)) {
        memcpy(to_host ? host : b->base, to_host ? b->base : host, whole(b));
        return TFR_OK;
    }
    if (space != TFR_SPACE_HOST) {
        status = (tfr_status)m->alloc(d->device, space, whole(b), &how, &staging, err);
        if (status)
            return status;
        memcpy(staging, host, whole(b));
    }
    const tfr_copy copy = {.size = sizeof copy,
                           .dst_space = to_host ? space : 0,
                           .src_space = to_host ? 0 : space,
                           .dst = to_host ? staging : b->base,
                           .src = to_host ? b->base : staging,
                           .bytes = whole(b)};
    status = (tfr_status)m->copy(d->device, NULL, &copy, 1, sizeof copy, err);
    if (space != TFR_SPACE_HOST) {
        memcpy(host, staging, whole(b));
        m->free(d->device, space, staging);
    }
    return status;
}

tfr_status direct_alloc(direct_device *d, uint32_t space, uint64_t bytes, unsigned char fill,
                        direct_buffer *b, tfr_err *err)
{
    tfr_alloc_options how = {.size = sizeof how,
                             .flags = space == 0 ? TFR_ALLOC_ARENA : TFR_ALLOC_DIMS};
    void *base = NULL;
    memset(b, 0, sizeof *b);
    b->space = space;
    b->bytes = bytes;
    b->guard = space == 0 && d->space.alignment > 256 ? d->space.alignment : 256;
    if (space == 0 && d->space.max_alloc && whole(b) > d->space.max_alloc)
        return tfr_fail(err, TFR_ELIMIT, "%llu bytes are more than its allocations may have",
                        (unsigned long long)whole(b));
    b->image = malloc((size_t)whole(b));
    b->now = malloc((size_t)whole(b));
    tfr_status status = b->image && b->now ? TFR_OK : tfr_fail(err, TFR_ENOMEM, "no host memory");
    if (!status && space == TFR_SPACE_HOST)
        base = aligned_alloc(256, ((size_t)whole(b) + 255) / 256 * 256);
    else if (!status)
        status = (tfr_status)d->tables->memory.alloc(d->device, space, whole(b), &how, &base, err);
    if (!status && !base)
        status = tfr_fail(err, space == TFR_SPACE_HOST ? TFR_ENOMEM : TFR_EPLUGIN,
                          "alloc of %llu bytes gave no address", (unsigned long long)whole(b));
    b->base = base;
    if (!status)
        status = direct_fill(d, b, fill, err);
    if (status)
        direct_free(d, b);
    return status;
}

void direct_free(direct_device *d, direct_buffer *b)
{
    if (b->base && b->space == TFR_SPACE_HOST)
        free(b->base);
    else if (b->base)
        d->tables->memory.free(d->device, b->space, b->base);
    free(b->image);
    free(b->now);
    memset(b, 0, sizeof *b);
}

tfr_status direct_fill(direct_device *d, direct_buffer *b, unsigned char fill, tfr_err *err)
{
    memset(b->image, DIRECT_GUARD, (size_t)whole(b));
    memset(b->image + b->guard, fill, (size_t)b->bytes);
    return move(d, b, b->image, false, err);
}

tfr_status direct_write(direct_device *d, direct_buffer *b, const void *data, tfr_err *err)
{
    memcpy(b->image + b->guard, data, (size_t)b->bytes);
    return move(d, b, b->image, false, err);
}

tfr_status direct_read(direct_device *d, direct_buffer *b, tfr_err *err)
{
    return move(d, b, b->now, true, err);
}

bool direct_is_changed(const direct_buffer *b, bool guards_only, int64_t *at)
{
    for (uint64_t i = 0; i < whole(b); i++) {
        if (guards_only && i >= b->guard && i < b->guard + b->bytes)
            continue;
        if (b->now[i] != b->image[i]) {
            *at = (int64_t)i - (int64_t)b->guard;
            return true;
        }
    }
    return false;
}

tfr_arg direct_arg(const direct_device *d, const direct_buffer *b)
{
    const bool handle = b->space == 0 && (d->space.flags & TFR_SPACE_HANDLES);
    if (!b->base || !b->bytes)
        return (tfr_arg){0};
    return handle ? (tfr_arg){.address = b->base, .offset = b->guard}
                  : (tfr_arg){.address = b->base + b->guard};
}

tfr_status direct_copy(direct_device *d, tfr_queue *queue, const direct_buffer *from,
                       direct_device *from_device, direct_buffer *to, tfr_err *err)
{
    const tfr_arg a = direct_arg(from_device ? from_device : d, from), b = direct_arg(d, to);
    const tfr_copy copy = {.size = sizeof copy,
                           .dst = b.address,
                           .dst_offset = b.offset,
                           .src = a.address,
                           .src_offset = a.offset,
                           .bytes = from->bytes < to->bytes ? from->bytes : to->bytes,
                           .src_device = from_device ? from_device->device : NULL};
    if (!d->tables->memory.copy)
        return tfr_fail(err, TFR_EUNSUPPORTED, "the plugin has no copy");
    return (tfr_status)d->tables->memory.copy(d->device, queue, &copy, 1, sizeof copy, err);
}
