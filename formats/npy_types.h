/* SPDX-License-Identifier: Apache-2.0 */
/* npy_types.h: the element types that .npy files have, and what their headers call them. */
#ifndef TFR_FORMATS_NPY_TYPES_H
#define TFR_FORMATS_NPY_TYPES_H

#include <tfrun/dtype.h>

#define TFR__NPY_MAGIC       "\x93NUMPY"
#define TFR__NPY_MAGIC_BYTES 6
/* NumPy puts the elements at a multiple of this. */
#define TFR__NPY_ALIGN 64

/* X(DTYPE, descr) */
#define TFR__NPY_TYPES(X)                                                                          \
    X(BOOL, "|b1")                                                                                 \
    X(I8, "|i1")                                                                                   \
    X(U8, "|u1")                                                                                   \
    X(I16, "<i2")                                                                                  \
    X(U16, "<u2")                                                                                  \
    X(I32, "<i4")                                                                                  \
    X(U32, "<u4")                                                                                  \
    X(I64, "<i8")                                                                                  \
    X(U64, "<u8")                                                                                  \
    X(F16, "<f2")                                                                                  \
    X(F32, "<f4")                                                                                  \
    X(F64, "<f8")                                                                                  \
    X(C64, "<c8")                                                                                  \
    X(C128, "<c16")

#endif
