/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_search.h: where in a row a number is, and whether a row has one beyond another: vectors of 16
 * bytes, which any compiler knows, and a jump for each 64 bytes alone.
 */
#ifndef NATIVE_ROW_SEARCH_H
#define NATIVE_ROW_SEARCH_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { NATIVE_SEARCH_BYTES = 64 };

#define NATIVE_SEARCHES(name, type, bits)                                                          \
    typedef type native_some_##name __attribute__((vector_size(16)));                              \
    typedef bits native_mask_##name __attribute__((vector_size(16)));                              \
                                                                                                   \
    static inline native_some_##name native_some_of_##name(const type *x)                          \
    {                                                                                              \
        native_some_##name v;                                                                      \
        memcpy(&v, x, sizeof v);                                                                   \
        return v;                                                                                  \
    }                                                                                              \
    static inline bool native_any_##name(native_mask_##name m)                                     \
    {                                                                                              \
        uint64_t half[2];                                                                          \
        memcpy(half, &m, sizeof half);                                                             \
        return (half[0] | half[1]) != 0;                                                           \
    }                                                                                              \
    static inline bool native_is_##name(type x, type b)                                            \
    {                                                                                              \
        return (x == b) | ((x != x) & (b != b));                                                   \
    }                                                                                              \
    /* Are any of the NATIVE_SEARCH_BYTES from x on b, or NaN as it is? */                         \
    static inline bool native_has_##name(const type *x, type b)                                    \
    {                                                                                              \
        enum { LANES = 16 / sizeof(type) };                                                        \
        native_mask_##name m = {0};                                                                \
        int i;                                                                                     \
        if (b == b)                                                                                \
            for (i = 0; i < 4; i++)                                                                \
                m |= native_some_of_##name(x + i * LANES) == b;                                    \
        else                                                                                       \
            for (i = 0; i < 4; i++)                                                                \
                m |= native_some_of_##name(x + i * LANES) != native_some_of_##name(x + i * LANES); \
        return native_any_##name(m);                                                               \
    }                                                                                              \
    /* The first of n > 0 that is b, or the last of them all. */                                   \
    static inline int64_t native_first_##name(const type *x, int64_t n, type b)                    \
    {                                                                                              \
        enum { AT_ONCE = NATIVE_SEARCH_BYTES / sizeof(type) };                                     \
        int64_t i = 0;                                                                             \
        while (i + AT_ONCE <= n && !native_has_##name(x + i, b))                                   \
            i += AT_ONCE;                                                                          \
        while (i < n - 1 && !native_is_##name(x[i], b))                                            \
            i++;                                                                                   \
        return i;                                                                                  \
    }                                                                                              \
    /* The last of n > 0 that is b, or the first of them all. */                                   \
    static inline int64_t native_last_##name(const type *x, int64_t n, type b)                     \
    {                                                                                              \
        enum { AT_ONCE = NATIVE_SEARCH_BYTES / sizeof(type) };                                     \
        int64_t i = n;                                                                             \
        while (i >= AT_ONCE && !native_has_##name(x + i - AT_ONCE, b))                             \
            i -= AT_ONCE;                                                                          \
        for (i--; i > 0 && !native_is_##name(x[i], b); i--)                                        \
            ;                                                                                      \
        return i > 0 ? i : 0;                                                                      \
    }                                                                                              \
    /* May any of the NATIVE_SEARCH_BYTES from x on be above b, or below? NaN may be. */           \
    static inline bool native_beyond_##name(const type *x, type b, bool below)                     \
    {                                                                                              \
        enum { LANES = 16 / sizeof(type) };                                                        \
        native_mask_##name m = {0};                                                                \
        int i;                                                                                     \
        if (below)                                                                                 \
            for (i = 0; i < 4; i++)                                                                \
                m |= ~(native_some_of_##name(x + i * LANES) >= b);                                 \
        else                                                                                       \
            for (i = 0; i < 4; i++)                                                                \
                m |= ~(native_some_of_##name(x + i * LANES) <= b);                                 \
        return native_any_##name(m);                                                               \
    }

NATIVE_SEARCHES(f32, float, int32_t)
NATIVE_SEARCHES(f64, double, int64_t)
NATIVE_SEARCHES(i32, int32_t, int32_t)
NATIVE_SEARCHES(i64, int64_t, int64_t)

#endif
