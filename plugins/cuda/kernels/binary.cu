/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binary.cu: z = f(a, b) with broadcasting: arithmetic to the operands' type, comparisons to bool.
 * f is an argument: the branch is the same for all threads and costs nothing beside the memory.
 * A thread has 4 elements, a block's width apart, so that 8 loads are under way at a time.
 * 16-bit floats are computed in float; integers as plugins/naive/binary.c says. float64 is for the
 * few numbers that trainings keep in it, a rate and sums of metrics.
 */
#include "binary.h"
#include "index.h"

namespace binary
{

/* The smallest value by -1 wraps; by 0 is 0. */
template <class T> __device__ inline T quotient(T a, T b)
{
    if (b == 0)
        return 0;
    return (T)-1 < (T)0 && b == (T)-1 ? (T)(0 - (uint64_t)a) : (T)(a / b);
}

template <class T> __device__ inline T remainder(T a, T b, bool truncates)
{
    if (b == 0 || ((T)-1 < (T)0 && b == (T)-1))
        return 0;
    const T r = (T)(a % b);
    return !truncates && r != 0 && tfr_is_negative(r) != tfr_is_negative(b) ? (T)(r + b) : r;
}

template <class T> __device__ inline T power(T a, T b)
{
    if (tfr_is_negative(b))
        return a == 1 ? (T)1 : a == (T)-1 ? (T)(b & 1 ? -1 : 1) : (T)0;
    uint64_t base = (uint64_t)a, n = (uint64_t)b, p = 1;
    for (; n; n >>= 1, base *= base)
        if (n & 1)
            p *= base;
    return (T)p;
}

template <class T> __device__ inline T apply_integer(T a, T b, const tfr_function &f)
{
    switch (f.op) {
    case TFR_FN_Add:
        return (T)((uint64_t)a + (uint64_t)b);
    case TFR_FN_Sub:
        return (T)((uint64_t)a - (uint64_t)b);
    case TFR_FN_Mul:
        return (T)((uint64_t)a * (uint64_t)b);
    case TFR_FN_Div:
        return quotient(a, b);
    case TFR_FN_Pow:
        return power(a, b);
    case TFR_FN_Mod:
        return remainder(a, b, f.mode != 0);
    case TFR_FN_PRelu:
        return tfr_is_negative(a) ? (T)((uint64_t)a * (uint64_t)b) : a;
    case TFR_FN_Max:
        return a > b ? a : b;
    case TFR_FN_Min:
        return a < b ? a : b;
    case TFR_FN_BitwiseAnd:
    case TFR_FN_And:
        return (T)(a & b);
    case TFR_FN_BitwiseOr:
    case TFR_FN_Or:
        return (T)(a | b);
    case TFR_FN_BitwiseXor:
    case TFR_FN_Xor:
        return (T)(a ^ b);
    default:
        return 0;
    }
}

template <class T> __device__ inline T apply(T a, T b, const tfr_function &f)
{
    return apply_integer(a, b, f);
}

struct arithmetic {
    template <class T, class V>
    __device__ static T of(V a, V b, const tfr_function &f)
    {
        return tfr_store<T>::of(apply(a, b, f));
    }
};
struct long_arithmetic {
    template <class T, class V>
    __device__ static T of(V a, V b, const tfr_function &f)
    {
        return tfr_store<T>::of(apply_long(a, b, f));
    }
};
struct comparison {
    template <class T, class V>
    __device__ static T of(V a, V b, const tfr_function &f)
    {
        return (T)compare(a, b, f);
    }
};

/* Z = kind(A, B); V is what both are computed as. */
template <class kind, class T, class Z>
__device__ inline void run(TFR_PTR(const T) a, TFR_PTR(const T) b, TFR_PTR(Z) z,
                           const tfr_function &f, const tfr_walk &walk)
{
    typedef decltype(tfr_load(T())) V;
    const int width = (int)blockDim.x;

    for (int begin = (int)blockIdx.x * width * 4; begin < walk.n; begin += tfr_threads() * 4) {
        V va[4], vb[4];
        TFR_UNROLL
        for (int k = 0; k < 4; k++) {
            const int i = begin + k * width + (int)threadIdx.x;
            int at[2];
            if (i < walk.n) {
                tfr_walk_at<2>(walk, i, at);
                va[k] = tfr_load(a[at[0]]);
                vb[k] = tfr_load(b[at[1]]);
            }
        }
        TFR_UNROLL
        for (int k = 0; k < 4; k++) {
            const int i = begin + k * width + (int)threadIdx.x;
            if (i < walk.n)
                z[i] = kind::template of<Z>(va[k], vb[k], f);
        }
    }
}

} // namespace binary

#define BINARY(name, kind, T, Z)                                                                   \
    TFR_GLOBAL(name, 256,                                                                          \
               (TFR_PTR(const T) a, TFR_PTR(const T) b, TFR_PTR(Z) z, tfr_function f,              \
                tfr_walk walk))                                                                    \
    {                                                                                              \
        binary::run<binary::kind, T, Z>(a, b, z, f, walk);                                         \
    }

BINARY(binary_f32, arithmetic, float, float)
BINARY(binary_f16, arithmetic, tfr_f16, tfr_f16)
BINARY(binary_bf16, arithmetic, tfr_bf16, tfr_bf16)
BINARY(binary_f64, arithmetic, double, double)
BINARY(binary_i32, arithmetic, int32_t, int32_t)
BINARY(binary_i64, arithmetic, int64_t, int64_t)
BINARY(binary_u8, arithmetic, uint8_t, uint8_t)
BINARY(binary_i8, arithmetic, int8_t, int8_t)
BINARY(binary_long_f32, long_arithmetic, float, float)
BINARY(binary_long_f16, long_arithmetic, tfr_f16, tfr_f16)
BINARY(binary_long_bf16, long_arithmetic, tfr_bf16, tfr_bf16)
BINARY(binary_long_f64, long_arithmetic, double, double)
BINARY(compare_f32, comparison, float, uint8_t)
BINARY(compare_f16, comparison, tfr_f16, uint8_t)
BINARY(compare_bf16, comparison, tfr_bf16, uint8_t)
BINARY(compare_i32, comparison, int32_t, uint8_t)
BINARY(compare_i64, comparison, int64_t, uint8_t)
BINARY(compare_u8, comparison, uint8_t, uint8_t)
BINARY(compare_i8, comparison, int8_t, uint8_t)
#undef BINARY
