/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shape.c: arithmetic of shapes. Products are taken with a dim of 0 counted as 1, so that the
 * strides of a shape that passed the check never overflow either.
 */
#include <tfrun/shape.h>
#include <tfrun/fail.h>
#include <inttypes.h>

#include "base/checked.h"
#include "value/bits.h"

/* Room for the text of any shape: 16 numbers of 20 characters, commas, brackets, the zero. */
#define SHAPE_TEXT (TFR_MAX_RANK * 21 + 3)

static tfr_status check_rank(int32_t rank, tfr_err *err)
{
    if (rank < 0 || rank > TFR_MAX_RANK)
        return tfr_fail(err, TFR_ESHAPE, "rank %" PRId32 " is not in 0...%d", rank, TFR_MAX_RANK);
    return TFR_OK;
}

tfr_status tfr_shape_make(int32_t rank, const int64_t *dims, tfr_shape *out, tfr_err *err)
{
    tfr_shape shape = {0};
    int64_t n;
    if (check_rank(rank, err))
        return TFR_ESHAPE;
    if (rank > 0 && !dims)
        return tfr_fail(err, TFR_EINVAL, "rank is %" PRId32 " but there are no dims", rank);
    shape.rank = rank;
    for (int32_t i = 0; i < rank; i++)
        shape.dims[i] = dims[i];
    if (tfr_shape_elements(&shape, &n, err))
        return TFR_ESHAPE;
    *out = shape;
    return TFR_OK;
}

tfr_status tfr_shape_elements(const tfr_shape *shape, int64_t *out, tfr_err *err)
{
    int64_t n = 1;
    bool is_empty = false;
    char text[SHAPE_TEXT];
    if (check_rank(shape->rank, err))
        return TFR_ESHAPE;
    for (int32_t i = 0; i < shape->rank; i++) {
        int64_t dim = shape->dims[i];
        if (dim < 0)
            return tfr_fail(err, TFR_ESHAPE, "dim %" PRId32 " of shape %s is negative", i,
                            tfr_shape_format(shape, text, sizeof text));
        if (dim == 0)
            is_empty = true;
        else if (!tfr__mul64(n, dim, &n))
            return tfr_fail(err, TFR_ESHAPE, "shape %s has more than 2^63 - 1 elements",
                            tfr_shape_format(shape, text, sizeof text));
    }
    *out = is_empty ? 0 : n;
    return TFR_OK;
}

tfr_status tfr_shape_bytes(const tfr_shape *shape, tfr_dtype dtype, size_t *out, tfr_err *err)
{
    const int64_t bits = tfr__dtype_bits((int32_t)dtype);
    int64_t n, n_bits = 0;
    char text[SHAPE_TEXT];
    if (bits == 0)
        return tfr_fail(err, TFR_EDTYPE, "number %d is no element type", (int)dtype);
    tfr_status status = tfr_shape_elements(shape, &n, err);
    if (status)
        return status;
    /* Bits and not bytes: the contract promises plugins that they fit, too. */
    const bool fits = tfr__mul64(n, bits, &n_bits) && tfr__add64(n_bits, 7, &n_bits);
    const uint64_t bytes = fits ? (uint64_t)n_bits / 8 : 0;
    if (!fits || (size_t)bytes != bytes)
        return tfr_fail(err, TFR_ESHAPE, "shape %s of %s needs more memory than can be addressed",
                        tfr_shape_format(shape, text, sizeof text), tfr_dtype_name(dtype));
    *out = (size_t)bytes;
    return TFR_OK;
}

bool tfr_shape_equal(const tfr_shape *a, const tfr_shape *b)
{
    if (a->rank != b->rank)
        return false;
    for (int32_t i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i])
            return false;
    return true;
}

tfr_status tfr_shape_broadcast(const tfr_shape *a, const tfr_shape *b, tfr_shape *out, tfr_err *err)
{
    tfr_shape shape = {0};
    char text_a[SHAPE_TEXT];
    char text_b[SHAPE_TEXT];
    int64_t n;
    if (check_rank(a->rank, err) || check_rank(b->rank, err))
        return TFR_ESHAPE;
    shape.rank = a->rank > b->rank ? a->rank : b->rank;
    /* i counts dims from the last one, where the shapes are aligned. */
    for (int32_t i = 1; i <= shape.rank; i++) {
        int64_t x = i <= a->rank ? a->dims[a->rank - i] : 1;
        int64_t y = i <= b->rank ? b->dims[b->rank - i] : 1;
        if (x != y && x != 1 && y != 1)
            return tfr_fail(err, TFR_ESHAPE,
                            "shapes %s and %s do not broadcast: dim %d is %" PRId64
                            " in one and %" PRId64 " in the other",
                            tfr_shape_format(a, text_a, sizeof text_a),
                            tfr_shape_format(b, text_b, sizeof text_b), (int)-i, x, y);
        shape.dims[shape.rank - i] = x == 1 ? y : x;
    }
    tfr_status status = tfr_shape_elements(&shape, &n, err);
    if (status)
        return status;
    *out = shape;
    return TFR_OK;
}

void tfr_shape_strides(const tfr_shape *shape, int64_t *strides)
{
    /* Unsigned, so that even a shape that was never checked cannot overflow. */
    uint64_t stride = 1;
    for (int32_t i = shape->rank - 1; i >= 0; i--) {
        strides[i] = (int64_t)stride;
        if (shape->dims[i] > 0)
            stride *= (uint64_t)shape->dims[i];
    }
}

const char *tfr_shape_format(const tfr_shape *shape, char *text, size_t n)
{
    char full[SHAPE_TEXT];
    int at = 0;
    int32_t rank = shape->rank < 0 ? 0 : shape->rank > TFR_MAX_RANK ? TFR_MAX_RANK : shape->rank;
    full[at++] = '[';
    for (int32_t i = 0; i < rank; i++)
        at += snprintf(full + at, sizeof full - (size_t)at, "%s%" PRId64, i ? "," : "",
                       shape->dims[i]);
    full[at++] = ']';
    full[at] = '\0';
    if (n > 0)
        snprintf(text, n, "%s", full);
    return text;
}
