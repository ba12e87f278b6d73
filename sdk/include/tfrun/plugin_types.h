/* SPDX-License-Identifier: Apache-2.0 */
/* tfrun/plugin_types.h: the version, statuses, errors, reasons and element types; included by
 * tfrun/plugin.h. */
#ifndef TFRUN_PLUGIN_TYPES_H
#define TFRUN_PLUGIN_TYPES_H

#include <stddef.h>
#include <stdint.h>

/*
 * The major version is part of the entry's name. The minor counts appended fields and new facets.
 * Major 0 promises nothing yet: any minor may change anything, and a core takes plugins of exactly
 * its own one. From 1 on a core takes every minor of its major.
 */
#define TFR_ABI_MAJOR 0
#define TFR_ABI_MINOR 1

/* ---- sizes and flags ---- */

/* Flags of this half may not be ignored: who does not know one of them says no. */
#define TFR_MUST_UNDERSTAND 0xffff0000u

/* Whether the struct that p points to, made by somebody else, has this field. */
#define TFR_HAS(p, type, field)                                                                    \
    ((p)->size >= offsetof(type, field) + sizeof(((const type *)0)->field))

/*
 * Row i of a list that a caller wants filled: rows has room for n of them, stride bytes apart, with
 * their size set. Copies as much of the row, which has so many bytes, as the caller knows, and not
 * its size; does nothing if there is no room for it.
 */
static inline void tfr_list_put(void *rows, uint32_t stride, uint32_t n, uint32_t i,
                                const void *row, size_t bytes)
{
    unsigned char *to = (unsigned char *)rows + (size_t)i * stride;
    const unsigned char *from = (const unsigned char *)row;
    size_t k, given;
    if (i >= n)
        return;
    given = *(const uint32_t *)(const void *)to;
    if (given > stride)
        given = stride;
    for (k = sizeof(uint32_t); k < bytes && k < given; k++)
        to[k] = from[k];
}

/* ---- status and errors ---- */

/* X(NAME, number, sentence). Numbers never change; new ones are appended. */
#define TFR_STATUS_LIST(X)                                                                         \
    X(OK, 0, "done")                                                                               \
    X(EINVAL, -1, "an argument is not valid")                                                      \
    X(ENOMEM, -2, "out of memory")                                                                 \
    X(EUNSUPPORTED, -3, "not supported here")                                                      \
    X(ENOTFOUND, -4, "not found")                                                                  \
    X(ESHAPE, -5, "shapes do not fit")                                                             \
    X(EDTYPE, -6, "element types do not fit")                                                      \
    X(EMODEL, -7, "the model or the data is not valid")                                            \
    X(EIO, -8, "I/O error")                                                                        \
    X(EDEVICE, -9, "the device is not usable")                                                     \
    X(ELOST, -10, "the device is lost")                                                            \
    X(EFALLBACK, -11, "a fallback was needed and is not allowed")                                  \
    X(ETIMEOUT, -12, "timed out")                                                                  \
    X(EPLUGIN, -13, "the plugin broke the contract")                                               \
    X(ELIMIT, -14, "a limit is exceeded")                                                          \
    X(EPERM, -15, "not permitted")                                                                 \
    X(EBUSY, -16, "in use")                                                                        \
    X(EINTERNAL, -17, "a defect of tfrun itself")

typedef enum tfr_status {
#define TFR_STATUS_ENUM(name, number, text) TFR_##name = number,
    TFR_STATUS_LIST(TFR_STATUS_ENUM)
#undef TFR_STATUS_ENUM
} tfr_status;

/* Details of a failure. The caller owns it and sets size; TFR_ERR_INIT does. */
typedef struct tfr_err {
    uint32_t size;
    int32_t code;   /* the tfr_status that was returned */
    int64_t native; /* errno, or the vendor library's own code; 0 = none */
    char text[512]; /* one sentence: object, cause with its numbers, next step */
    /*
     * Of a call on a queue or a fence that tells of earlier work: the id of the launch that failed
     * (tfr_launch.id), so that the user hears of its node. 0 = unknown, or the call's own failure.
     */
    uint64_t launch;
} tfr_err;

#define TFR_ERR_INIT                                                                               \
    {                                                                                              \
        (uint32_t)sizeof(tfr_err), 0, 0, {0}, 0                                                    \
    }

/* Why a plugin does not take a call, or a node did not get the kernel it asked for. */
#define TFR_REASON_LIST(X)                                                                         \
    X(NONE, 0, "none")                                                                             \
    X(UNKNOWN_OP, 1, "unknown_op")                                                                 \
    X(OP_VERSION, 2, "op_version")                                                                 \
    X(DIGEST, 3, "digest")                                                                         \
    X(DTYPE, 4, "dtype")                                                                           \
    X(RANK, 5, "rank")                                                                             \
    X(SIZE_LIMIT, 6, "size_limit")                                                                 \
    X(LAYOUT, 7, "layout")                                                                         \
    X(ATTRIBUTE, 8, "attribute")                                                                   \
    X(ALIGNMENT, 9, "alignment")                                                                   \
    X(DYNAMIC_SHAPE, 10, "dynamic_shape")                                                          \
    X(DEVICE_FEATURE, 11, "device_feature")                                                        \
    X(LIBRARY_MISSING, 12, "library_missing")                                                      \
    X(MEMORY, 13, "memory")                                                                        \
    X(NONDETERMINISTIC, 14, "nondeterministic")                                                    \
    X(POLICY, 15, "policy")                                                                        \
    X(QUARANTINED, 16, "quarantined")

typedef enum tfr_reason {
#define TFR_REASON_ENUM(name, number, text) TFR_REASON_##name = number,
    TFR_REASON_LIST(TFR_REASON_ENUM)
#undef TFR_REASON_ENUM
} tfr_reason;

/* ---- element types ---- */

/*
 * X(NAME, number, bits, name). The numbers are ONNX's (TensorProto.DataType). Types under 8 bits
 * are packed, the first element in the low bits; the bytes of a tensor are (elements * bits + 7)
 * / 8. STRING elements are tfr_string.
 */
#define TFR_DTYPE_LIST(X)                                                                          \
    X(F32, 1, 32, "float32")                                                                       \
    X(U8, 2, 8, "uint8")                                                                           \
    X(I8, 3, 8, "int8")                                                                            \
    X(U16, 4, 16, "uint16")                                                                        \
    X(I16, 5, 16, "int16")                                                                         \
    X(I32, 6, 32, "int32")                                                                         \
    X(I64, 7, 64, "int64")                                                                         \
    X(STRING, 8, 128, "string")                                                                    \
    X(BOOL, 9, 8, "bool")                                                                          \
    X(F16, 10, 16, "float16")                                                                      \
    X(F64, 11, 64, "float64")                                                                      \
    X(U32, 12, 32, "uint32")                                                                       \
    X(U64, 13, 64, "uint64")                                                                       \
    X(C64, 14, 64, "complex64")                                                                    \
    X(C128, 15, 128, "complex128")                                                                 \
    X(BF16, 16, 16, "bfloat16")                                                                    \
    X(F8E4M3FN, 17, 8, "float8e4m3fn")                                                             \
    X(F8E4M3FNUZ, 18, 8, "float8e4m3fnuz")                                                         \
    X(F8E5M2, 19, 8, "float8e5m2")                                                                 \
    X(F8E5M2FNUZ, 20, 8, "float8e5m2fnuz")                                                         \
    X(U4, 21, 4, "uint4")                                                                          \
    X(I4, 22, 4, "int4")                                                                           \
    X(F4E2M1, 23, 4, "float4e2m1")                                                                 \
    X(F8E8M0, 24, 8, "float8e8m0")                                                                 \
    X(U2, 25, 2, "uint2")                                                                          \
    X(I2, 26, 2, "int2")

typedef enum tfr_dtype {
    TFR_DTYPE_NONE = 0, /* absent: an optional operand that is not there */
#define TFR_DTYPE_ENUM(name, number, bits, text) TFR_DTYPE_##name = number,
    TFR_DTYPE_LIST(TFR_DTYPE_ENUM)
#undef TFR_DTYPE_ENUM
        TFR_DTYPE_END
} tfr_dtype;

/* One element of a string tensor. The bytes need not be UTF-8 and are not terminated by a zero. */
typedef struct tfr_string {
    const char *data;
    uint64_t bytes;
} tfr_string;

/* No tensor has more dimensions; the core refuses them before any plugin sees them. */
#define TFR_MAX_RANK 16

#endif
