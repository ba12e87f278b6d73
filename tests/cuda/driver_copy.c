/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies and fills of the driver stand-in. A copy of pinned memory goes on in its stream; one of
 * memory that CUDA does not know, pageable memory, is over when the call returns, and cannot be
 * captured.
 */
#include "driver.h"

static tfr_cu_result submit_copy(tfr_cu_stream *stream, const fake_op *op, bool pageable)
{
    tfr_cu_stream *s = fake_stream(stream);
    if (!s)
        return TFR_CU_INVALID_HANDLE;
    fake_note("%zu stream %d", op->u.copy.width * op->u.copy.height, s->id);
    if (s->capture && pageable)
        return fake_capture_break(s->capture, TFR_CU_CAPTURE_UNSUPPORTED);
    if (op->u.copy.width == 0 || op->u.copy.height == 0)
        return TFR_CU_SUCCESS;
    tfr_cu_result result = fake_submit(s, op);
    return result || !pageable ? result : fake_wait(s, s->submitted);
}

/* The address is in memory of a device or pinned memory, which has that many bytes from there. */
static bool has(uint64_t address, size_t bytes)
{
    const fake_block *b = fake_block_at(address);
    if (b)
        return !b->freeing && address - b->address + bytes <= b->bytes;
    return fake_is_pinned((const void *)(uintptr_t)address, bytes);
}

static fake_op copy_op(uint64_t dst, uint64_t src, size_t bytes, bool dst_host, bool src_host)
{
    return (fake_op){.kind = OP_COPY,
                     .u.copy = {.dst = dst,
                                .src = src,
                                .dst_host = dst_host,
                                .src_host = src_host,
                                .width = bytes,
                                .height = 1}};
}

tfr_cu_result API(cuMemcpyHtoDAsync_v2)(tfr_cu_ptr dst, const void *src, size_t bytes,
                                        tfr_cu_stream *stream)
{
    BEGIN(cuMemcpyHtoDAsync_v2, NEEDS_CONTEXT);
    if (bytes && (!has(dst, bytes) || !src || fake_block_at((uintptr_t)src)))
        END(TFR_CU_INVALID_VALUE);
    const fake_op op = copy_op(dst, (uintptr_t)src, bytes, false, true);
    END(submit_copy(stream, &op, !fake_is_pinned(src, bytes)));
}

tfr_cu_result API(cuMemcpyDtoHAsync_v2)(void *dst, tfr_cu_ptr src, size_t bytes,
                                        tfr_cu_stream *stream)
{
    BEGIN(cuMemcpyDtoHAsync_v2, NEEDS_CONTEXT);
    if (bytes && (!has(src, bytes) || !dst || fake_block_at((uintptr_t)dst)))
        END(TFR_CU_INVALID_VALUE);
    const fake_op op = copy_op((uintptr_t)dst, src, bytes, true, false);
    END(submit_copy(stream, &op, !fake_is_pinned(dst, bytes)));
}

tfr_cu_result API(cuMemcpyDtoDAsync_v2)(tfr_cu_ptr dst, tfr_cu_ptr src, size_t bytes,
                                        tfr_cu_stream *stream)
{
    BEGIN(cuMemcpyDtoDAsync_v2, NEEDS_CONTEXT);
    if (bytes && (!has(dst, bytes) || !has(src, bytes)))
        END(TFR_CU_INVALID_VALUE);
    const fake_op op = copy_op(dst, src, bytes, false, false);
    END(submit_copy(stream, &op, false));
}

tfr_cu_result API(cuMemcpyPeerAsync)(tfr_cu_ptr dst, tfr_cu_context *dst_ctx, tfr_cu_ptr src,
                                     tfr_cu_context *src_ctx, size_t bytes, tfr_cu_stream *stream)
{
    BEGIN(cuMemcpyPeerAsync, NEEDS_CONTEXT);
    const fake_block *to = fake_block_at(dst);
    const fake_block *from = fake_block_at(src);
    if (bytes && (!has(dst, bytes) || !has(src, bytes)))
        END(TFR_CU_INVALID_VALUE);
    if ((to && dst_ctx != &fake.contexts[to->device]) ||
        (from && src_ctx != &fake.contexts[from->device]))
        END(TFR_CU_INVALID_VALUE);
    const fake_op op = copy_op(dst, src, bytes, false, false);
    END(submit_copy(stream, &op, false));
}

/* One side of a 2D copy. */
typedef struct fake_side {
    unsigned memory;
    const void *host;
    tfr_cu_ptr device;
    size_t pitch, x, y;
    uint64_t address;
    bool is_host, pageable;
} fake_side;

static tfr_cu_result look_at_side(fake_side *side, size_t width, size_t height)
{
    size_t extent = width && height ? (height - 1) * side->pitch + width : 0;
    if (side->memory == TFR_CU_MEMORY_ARRAY)
        return TFR_CU_NOT_SUPPORTED;
    if (side->memory < TFR_CU_MEMORY_HOST || side->memory > TFR_CU_MEMORY_UNIFIED ||
        (height > 1 && side->pitch < side->x + width))
        return TFR_CU_INVALID_VALUE;
    side->is_host = side->memory == TFR_CU_MEMORY_HOST;
    side->address = side->is_host ? (uintptr_t)side->host : side->device;
    side->address += side->y * side->pitch + side->x;
    if (side->is_host)
        side->pageable = !fake_is_pinned((void *)(uintptr_t)side->address, extent);
    else if (extent && !has(side->address, extent))
        return TFR_CU_INVALID_VALUE;
    return TFR_CU_SUCCESS;
}

tfr_cu_result API(cuMemcpy2DAsync_v2)(const tfr_cu_copy_2d *copy, tfr_cu_stream *stream)
{
    BEGIN(cuMemcpy2DAsync_v2, NEEDS_CONTEXT);
    fake_side src = {.memory = copy->src_memory,
                     .host = copy->src_host,
                     .device = copy->src_device,
                     .pitch = copy->src_pitch,
                     .x = copy->src_x_bytes,
                     .y = copy->src_y};
    fake_side dst = {.memory = copy->dst_memory,
                     .host = copy->dst_host,
                     .device = copy->dst_device,
                     .pitch = copy->dst_pitch,
                     .x = copy->dst_x_bytes,
                     .y = copy->dst_y};
    tfr_cu_result result = look_at_side(&src, copy->width_bytes, copy->height);
    if (!result)
        result = look_at_side(&dst, copy->width_bytes, copy->height);
    if (result)
        END(result);
    const fake_op op = {.kind = OP_COPY,
                        .u.copy = {.dst = dst.address,
                                   .src = src.address,
                                   .dst_host = dst.is_host,
                                   .src_host = src.is_host,
                                   .dst_pitch = dst.pitch,
                                   .src_pitch = src.pitch,
                                   .width = copy->width_bytes,
                                   .height = copy->height}};
    END(submit_copy(stream, &op, src.pageable || dst.pageable));
}

static tfr_cu_result submit_set(tfr_cu_ptr dst, uint32_t value, unsigned size, size_t n,
                                tfr_cu_stream *stream)
{
    tfr_cu_stream *s = fake_stream(stream);
    if (!s)
        return TFR_CU_INVALID_HANDLE;
    if (dst % size || (n && !has(dst, n * size)))
        return TFR_CU_INVALID_VALUE;
    fake_note("%zu stream %d", n * size, s->id);
    if (n == 0)
        return TFR_CU_SUCCESS;
    return fake_submit(s, &(fake_op){.kind = OP_SET, .u.set = {dst, value, size, n}});
}

tfr_cu_result API(cuMemsetD8Async)(tfr_cu_ptr dst, unsigned char value, size_t n,
                                   tfr_cu_stream *stream)
{
    BEGIN(cuMemsetD8Async, NEEDS_CONTEXT);
    END(submit_set(dst, value, 1, n, stream));
}

tfr_cu_result API(cuMemsetD32Async)(tfr_cu_ptr dst, unsigned value, size_t n, tfr_cu_stream *stream)
{
    BEGIN(cuMemsetD32Async, NEEDS_CONTEXT);
    END(submit_set(dst, value, 4, n, stream));
}
