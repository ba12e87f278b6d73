/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/dtype.h: element types: names, sizes, conversion. The list is TFR_DTYPE_LIST of
 * tfrun/plugin.h; its numbers are ONNX's.
 */
#ifndef TFRUN_DTYPE_H
#define TFRUN_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <tfrun/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "float32"; "none" for TFR_DTYPE_NONE and "unknown" for a number that is no type. Static text. */
TFR_API const char *tfr_dtype_name(tfr_dtype dtype);

/* The type of a name ("float32", also "f32", "float", "double", "half"), or TFR_DTYPE_NONE. */
TFR_API tfr_dtype tfr_dtype_parse(const char *name);

/* Any floating-point type, the 8- and 4-bit ones among them; complex types are not. */
TFR_API bool tfr_dtype_is_float(tfr_dtype dtype);

/* Signed and unsigned integers of any width; bool is not. */
TFR_API bool tfr_dtype_is_integer(tfr_dtype dtype);

/*
 * Converts n elements by the rules of ONNX's Cast: floats round to nearest even (to float8e8m0 up),
 * float to integer truncates and saturates (NaN gives 0), the 8- and 4-bit floats saturate, integer
 * to integer keeps the low bits, anything but 0 is true. Real to complex has an imaginary part of
 * 0. Overlapping memory is not allowed; alignment does not matter. TFR_EUNSUPPORTED for strings,
 * and for complex to anything but complex.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_dtype_convert(tfr_dtype dst_dtype, void *dst,
                                                    tfr_dtype src_dtype, const void *src, int64_t n,
                                                    tfr_err *err);

#ifdef __cplusplus
}
#endif

#endif
