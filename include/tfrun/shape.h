/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/shape.h: shapes and their arithmetic. Every product is checked for overflow; a shape with a
 * negative dim, a rank over TFR_MAX_RANK or 2^63 bits or more is an error, never a wrap-around.
 */
#ifndef TFRUN_SHAPE_H
#define TFRUN_SHAPE_H

#include <tfrun/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A plain value: copy it freely. Only dims[0...rank) count. Rank 0 is a scalar of one element. */
typedef struct tfr_shape {
    int32_t rank;
    int64_t dims[TFR_MAX_RANK];
} tfr_shape;

/* Makes a shape of rank dims; dims may be NULL for rank 0. TFR_ESHAPE as above. */
TFR_API TFR_MUST_CHECK tfr_status tfr_shape_make(int32_t rank, const int64_t *dims, tfr_shape *out,
                                                 tfr_err *err);

/* Product of dims. TFR_ESHAPE if it does not fit or a dim is negative. */
TFR_API TFR_MUST_CHECK tfr_status tfr_shape_elements(const tfr_shape *shape, int64_t *out,
                                                     tfr_err *err);

/* Bytes of a plain tensor: (elements * bits + 7) / 8. TFR_ESHAPE if its bits do not fit 63 bits. */
TFR_API TFR_MUST_CHECK tfr_status tfr_shape_bytes(const tfr_shape *shape, tfr_dtype dtype,
                                                  size_t *out, tfr_err *err);

TFR_API bool tfr_shape_equal(const tfr_shape *a, const tfr_shape *b);

/* The shape that a and b broadcast to by NumPy's rule. TFR_ESHAPE names the dims that differ. */
TFR_API TFR_MUST_CHECK tfr_status tfr_shape_broadcast(const tfr_shape *a, const tfr_shape *b,
                                                      tfr_shape *out, tfr_err *err);

/* Strides in elements of the plain (dense, row-major) layout: rank of them. */
TFR_API void tfr_shape_strides(const tfr_shape *shape, int64_t *strides);

/* Writes "[2,3,4]" into text (cut to n bytes, always ended by zero); returns text. */
TFR_API const char *tfr_shape_format(const tfr_shape *shape, char *text, size_t n);

#ifdef __cplusplus
}
#endif

#endif
