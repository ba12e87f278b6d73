/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strided.c: copies elements between two strided layouts of one shape. Dims of 1 are dropped and
 * neighbours that are dense in both layouts are merged first, so that the innermost loop is as long
 * as it can be; a dense innermost loop is one memcpy. It does not convert types (dtype.c does).
 */
#include "value/tensor.h"
#include "value/bits.h"

#include <string.h>
#include <tfrun/fail.h>

/* The loops that are left, outermost first. Strides are in bytes. */
typedef struct nest {
    int32_t rank;
    int64_t dims[TFR_MAX_RANK];
    int64_t dst[TFR_MAX_RANK];
    int64_t src[TFR_MAX_RANK];
} nest;

static void nest_make(nest *out, const tfr_shape *shape, const int64_t *dst, const int64_t *src,
                      int64_t element_bytes)
{
    int32_t rank = 0;
    for (int32_t i = 0; i < shape->rank; i++) {
        int64_t dim = shape->dims[i];
        if (dim == 1)
            continue;
        if (rank > 0 && out->dst[rank - 1] == dst[i] * dim * element_bytes &&
            out->src[rank - 1] == src[i] * dim * element_bytes) {
            out->dims[rank - 1] *= dim;
            out->dst[rank - 1] = dst[i] * element_bytes;
            out->src[rank - 1] = src[i] * element_bytes;
            continue;
        }
        out->dims[rank] = dim;
        out->dst[rank] = dst[i] * element_bytes;
        out->src[rank] = src[i] * element_bytes;
        rank++;
    }
    if (rank == 0) {
        out->dims[0] = 1;
        out->dst[0] = out->src[0] = element_bytes;
        rank = 1;
    }
    out->rank = rank;
}

/* A constant size makes each memcpy one move. */
#define COPY_ROW(bytes)                                                                            \
    for (int64_t i = 0; i < n; i++)                                                                \
    memcpy(dst + i * dst_stride, src + i * src_stride, bytes)

static void copy_row(size_t element_bytes, char *dst, int64_t dst_stride, const char *src,
                     int64_t src_stride, int64_t n)
{
    if (dst_stride == (int64_t)element_bytes && src_stride == (int64_t)element_bytes) {
        memcpy(dst, src, (size_t)n * element_bytes);
        return;
    }
    switch (element_bytes) {
    case 1:
        COPY_ROW(1);
        break;
    case 2:
        COPY_ROW(2);
        break;
    case 4:
        COPY_ROW(4);
        break;
    case 8:
        COPY_ROW(8);
        break;
    default:
        COPY_ROW(16);
        break;
    }
}

static tfr_status copy_strings(char *dst, int64_t dst_stride, const char *src, int64_t src_stride,
                               int64_t n, tfr_err *err)
{
    for (int64_t i = 0; i < n; i++) {
        const tfr_string *from = (const tfr_string *)(const void *)(src + i * src_stride);
        tfr_string *to = (tfr_string *)(void *)(dst + i * dst_stride);
        if (tfr__string_set(to, from->data, from->bytes))
            return tfr_fail(err, TFR_ENOMEM, "no memory for a string of %llu bytes",
                            (unsigned long long)from->bytes);
    }
    return TFR_OK;
}

static bool strides_are_plain(const tfr_shape *shape, const int64_t *strides)
{
    int64_t plain[TFR_MAX_RANK];
    tfr_shape_strides(shape, plain);
    for (int32_t i = 0; i < shape->rank; i++)
        if (shape->dims[i] != 1 && strides[i] != plain[i])
            return false;
    return true;
}

tfr_status tfr__strided_copy(tfr_dtype dtype, const tfr_shape *shape, void *dst,
                             const int64_t *dst_strides, const void *src,
                             const int64_t *src_strides, tfr_err *err)
{
    int64_t plain[TFR_MAX_RANK] = {0};
    int64_t index[TFR_MAX_RANK] = {0};
    size_t bytes;
    nest loops;
    tfr_status status = tfr_shape_bytes(shape, dtype, &bytes, err);
    if (status || bytes == 0)
        return status;
    tfr_shape_strides(shape, plain);
    dst_strides = dst_strides ? dst_strides : plain;
    src_strides = src_strides ? src_strides : plain;
    const size_t bits = tfr__dtype_bits((int32_t)dtype);
    if (bits < 8) {
        if (!strides_are_plain(shape, dst_strides) || !strides_are_plain(shape, src_strides))
            return tfr_fail(err, TFR_EUNSUPPORTED, "%s is packed and has no strides",
                            tfr_dtype_name(dtype));
        memcpy(dst, src, bytes);
        return TFR_OK;
    }
    nest_make(&loops, shape, dst_strides, src_strides, (int64_t)(bits / 8));
    const int32_t inner = loops.rank - 1;
    char *to = dst;
    const char *from = src;
    for (;;) {
        if (dtype == TFR_DTYPE_STRING) {
            status =
                copy_strings(to, loops.dst[inner], from, loops.src[inner], loops.dims[inner], err);
            if (status)
                return status;
        } else {
            copy_row(bits / 8, to, loops.dst[inner], from, loops.src[inner], loops.dims[inner]);
        }
        /* Next row: an odometer over the outer loops. */
        int32_t i = inner - 1;
        for (; i >= 0; i--) {
            if (++index[i] < loops.dims[i]) {
                to += loops.dst[i];
                from += loops.src[i];
                break;
            }
            to -= loops.dst[i] * (loops.dims[i] - 1);
            from -= loops.src[i] * (loops.dims[i] - 1);
            index[i] = 0;
        }
        if (i < 0)
            return TFR_OK;
    }
}
