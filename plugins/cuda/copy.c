/* SPDX-License-Identifier: Apache-2.0 */
/* copy.c: copies between host and device and between devices, on a queue or done on return. */
#include "profile.h"

#include <string.h>

int32_t cuda_copy(tfr_plugin_device *device, tfr_queue *queue, const tfr_copy *copies, uint32_t n,
                  uint32_t stride, tfr_err *err);

/* Space 1 is memory of the host that the device reaches; only space 0 is the device's. */
static bool is_device(uint32_t space)
{
    return space == 0;
}

static tfr_cu_result copy_one(const tfr_plugin_device *device, const tfr_copy *c,
                              tfr_cu_stream *stream)
{
    const tfr_plugin_device *from = c->src_device ? c->src_device : device;
    const tfr_cu_ptr dst = (tfr_cu_ptr)(uintptr_t)c->dst, src = (tfr_cu_ptr)(uintptr_t)c->src;

    if (from->context != device->context && is_device(c->src_space))
        return cuda_driver.cuMemcpyPeerAsync(dst, device->context, src, from->context, c->bytes,
                                             stream);
    /* Pinned memory is at the same address to the device, so it may be either side. */
    if (c->src_space == TFR_SPACE_HOST || (is_device(c->dst_space) && !is_device(c->src_space)))
        return cuda_driver.cuMemcpyHtoDAsync_v2(dst, c->src, c->bytes, stream);
    if (c->dst_space == TFR_SPACE_HOST || (!is_device(c->dst_space) && is_device(c->src_space)))
        return cuda_driver.cuMemcpyDtoHAsync_v2(c->dst, src, c->bytes, stream);
    return cuda_driver.cuMemcpyDtoDAsync_v2(dst, src, c->bytes, stream);
}

/* Between two places of the host, where the driver may know neither. */
static bool is_of_host(const tfr_copy *c)
{
    return !is_device(c->dst_space) && !is_device(c->src_space);
}

/* The core knows copies by their order. */
static void record_copy(tfr_plugin_device *device, const tfr_queue *queue, const tfr_copy *c,
                        tfr_cu_event *begin)
{
    const tfr_profile_record what = {.size = sizeof what,
                                     .kind = TFR_PROFILE_COPY,
                                     .node = -1,
                                     .bytes = c->bytes,
                                     .name = "copy"};

    cuda_span_end(device, queue, begin, &what);
}

/* Without a queue all is done on return. */
static int32_t copy_all(tfr_plugin_device *device, tfr_queue *queue, const tfr_copy *copies,
                        uint32_t n, uint32_t stride, tfr_err *err)
{
    tfr_cu_stream *stream = queue ? queue->stream : device->stream;
    const bool is_synchronous = !queue;

    for (uint32_t i = 0; i < n; i++) {
        const tfr_copy *c =
            (const tfr_copy *)(const void *)((const char *)copies + (size_t)i * stride);
        int32_t status;
        if (c->bytes == 0)
            continue;
        if (c->src_device && atomic_load(&c->src_device->is_lost))
            return tfr_fail(err, TFR_EDEVICE, "a copy from %s, which is lost: %.300s",
                            c->src_device->facts.name, c->src_device->failure.text);
        if (is_synchronous && is_of_host(c)) {
            status = cuda_check(device, cuda_driver.cuStreamSynchronize(stream), err, "a copy");
            if (status == TFR_OK)
                memmove(c->dst, c->src, c->bytes);
        } else {
            tfr_cu_event *begin = cuda_span_begin(device, queue);
            status = cuda_check(device, copy_one(device, c, stream), err, "a copy of %llu bytes",
                                (unsigned long long)c->bytes);
            if (begin)
                record_copy(device, queue, c, begin);
        }
        if (status != TFR_OK)
            return status;
    }
    return is_synchronous
               ? cuda_check(device, cuda_driver.cuStreamSynchronize(stream), err, "a copy")
               : TFR_OK;
}

int32_t cuda_copy(tfr_plugin_device *device, tfr_queue *queue, const tfr_copy *copies, uint32_t n,
                  uint32_t stride, tfr_err *err)
{
    int32_t status;

    if (queue && atomic_load(&queue->has_failed))
        return TFR_OK; /* skipped: the fences behind it tell */
    status = cuda_enter(device, err);
    if (status != TFR_OK)
        return status;
    status = copy_all(device, queue, copies, n, stride, err);
    cuda_leave(device);
    return status;
}
