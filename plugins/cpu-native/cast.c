/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cast.c: casts between float32, bool and the usual integers, and of these to float64: from float32
 * to an integer the fraction is dropped, what is out of range saturates and NaN is 0; between
 * integers the low bits stay; bool is "not 0". isa_cast.h has the others.
 */
#include "cast.h"

#define CAST(from_name, from_type, to_name, to_type, value)                                        \
    static void from_name##_to_##to_name(const void *from, void *to, int64_t n)                    \
    {                                                                                              \
        const from_type *x = from;                                                                 \
        to_type *y = to;                                                                           \
        int64_t i;                                                                                 \
                                                                                                   \
        for (i = 0; i < n; i++) {                                                                  \
            const from_type v = x[i];                                                              \
            y[i] = (to_type)(value);                                                               \
        }                                                                                          \
    }

#define FROM_INTEGER(name, type)                                                                   \
    CAST(name, type, f32, float, v)                                                                \
    CAST(name, type, f64, double, v)                                                               \
    CAST(name, type, i32, int32_t, (uint32_t)v)                                                    \
    CAST(name, type, i64, int64_t, v)                                                              \
    CAST(name, type, u8, uint8_t, v)                                                               \
    CAST(name, type, i8, int8_t, (uint8_t)v)                                                       \
    CAST(name, type, bool, uint8_t, v != 0)

/* past: the first number beyond the greatest, a power of two. NaN fails every comparison. */
#define FROM_FLOAT(name, type, least, most, past)                                                  \
    static void f32_to_##name(const void *from, void *to, int64_t n)                               \
    {                                                                                              \
        const float *x = from;                                                                     \
        type *y = to;                                                                              \
        int64_t i;                                                                                 \
                                                                                                   \
        for (i = 0; i < n; i++) {                                                                  \
            if (x[i] >= (past))                                                                    \
                y[i] = (most);                                                                     \
            else if (x[i] >= (float)(least))                                                       \
                y[i] = (type)x[i];                                                                 \
            else                                                                                   \
                y[i] = x[i] < (float)(least) ? (least) : 0;                                        \
        }                                                                                          \
    }

FROM_INTEGER(i32, int32_t)
FROM_INTEGER(i64, int64_t)
FROM_INTEGER(u8, uint8_t)
FROM_INTEGER(i8, int8_t)
/* The bits of 1, where compilers would jump to one of two numbers. */
CAST(bool, uint8_t, f32, uint32_t, (v != 0) * UINT32_C(0x3f800000))
CAST(bool, uint8_t, f64, uint64_t, (v != 0) * UINT64_C(0x3ff0000000000000))
CAST(bool, uint8_t, i32, int32_t, v != 0)
CAST(bool, uint8_t, i64, int64_t, v != 0)
CAST(bool, uint8_t, u8, uint8_t, v != 0)
CAST(bool, uint8_t, i8, int8_t, v != 0)
CAST(bool, uint8_t, bool, uint8_t, v != 0)
CAST(f32, float, f32, float, v)
CAST(f32, float, f64, double, v)
CAST(f64, double, f32, float, v)
CAST(f64, double, f64, double, v)
CAST(f32, float, bool, uint8_t, v != 0.0f)
FROM_FLOAT(i32, int32_t, INT32_MIN, INT32_MAX, 0x1p31f)
FROM_FLOAT(i64, int64_t, INT64_MIN, INT64_MAX, 0x1p63f)
FROM_FLOAT(u8, uint8_t, 0, UINT8_MAX, 0x1p8f)
FROM_FLOAT(i8, int8_t, INT8_MIN, INT8_MAX, 0x1p7f)

enum { N_TYPES = 7 };

static int number_of(int32_t dtype)
{
    static const int32_t types[N_TYPES] = {TFR_DTYPE_F32, TFR_DTYPE_I32, TFR_DTYPE_I64,
                                           TFR_DTYPE_U8,  TFR_DTYPE_I8,  TFR_DTYPE_BOOL,
                                           TFR_DTYPE_F64};
    int i = 0;

    while (i < N_TYPES && types[i] != dtype)
        i++;
    return i;
}

native_cast_fn native_find_cast(int32_t from, int32_t to)
{
#define ROW(from)                                                                                  \
    {                                                                                              \
        from##_to_f32, from##_to_i32, from##_to_i64, from##_to_u8, from##_to_i8, from##_to_bool,   \
            from##_to_f64                                                                          \
    }
    static const native_cast_fn casts[N_TYPES][N_TYPES] = {ROW(f32),
                                                           ROW(i32),
                                                           ROW(i64),
                                                           ROW(u8),
                                                           ROW(i8),
                                                           ROW(bool),
                                                           {[0] = f64_to_f32, [6] = f64_to_f64}};
#undef ROW
    const int i = number_of(from), k = number_of(to);

    return i < N_TYPES && k < N_TYPES ? casts[i][k] : NULL;
}
