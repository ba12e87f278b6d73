/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turn_portable.c: the squares of turn.h for every processor: 16 bytes a row. Rows i and i + n / 2
 * are merged, as often as n has factors of 2.
 */
#include "turn.h"

#include <string.h>

#define UNROLL _Pragma("GCC unroll 16")

enum { TURN_ROWS_1 = 16, TURN_ROWS_2 = 8, TURN_ROWS_4 = 4, TURN_ROWS_8 = 2 };
enum { TURN_COLUMNS_1 = 16, TURN_COLUMNS_2 = 8, TURN_COLUMNS_4 = 4, TURN_COLUMNS_8 = 2 };

#define LOW_1(x, y)                                                                                \
    __builtin_shufflevector(x, y, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH_1(x, y)                                                                               \
    __builtin_shufflevector(x, y, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define LOW_2(x, y)  __builtin_shufflevector(x, y, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH_2(x, y) __builtin_shufflevector(x, y, 4, 12, 5, 13, 6, 14, 7, 15)
#define LOW_4(x, y)  __builtin_shufflevector(x, y, 0, 4, 1, 5)
#define HIGH_4(x, y) __builtin_shufflevector(x, y, 2, 6, 3, 7)
#define LOW_8(x, y)  __builtin_shufflevector(x, y, 0, 2)
#define HIGH_8(x, y) __builtin_shufflevector(x, y, 1, 3)

#define SQUARE(width, type)                                                                        \
    typedef type row_##width __attribute__((vector_size(16)));                                     \
                                                                                                   \
    static inline void merge_##width(const row_##width *from, row_##width *to)                     \
    {                                                                                              \
        enum { HALF = 8 / width };                                                                 \
        int i;                                                                                     \
                                                                                                   \
        UNROLL for (i = 0; i < HALF; i++)                                                          \
        {                                                                                          \
            to[2 * i] = LOW_##width(from[i], from[i + HALF]);                                      \
            to[2 * i + 1] = HIGH_##width(from[i], from[i + HALF]);                                 \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static inline __attribute__((always_inline)) void turn_square_##width(                         \
        const type *from, int64_t step, int ins, type *to, int64_t to_step, int outs)              \
    {                                                                                              \
        row_##width r[16 / width] = {{0}}, t[16 / width];                                          \
        int i;                                                                                     \
                                                                                                   \
        UNROLL for (i = 0; i < ins; i++) memcpy(&r[i], from + i * step, sizeof r[i]);              \
        merge_##width(r, t);                                                                       \
        if (width < 8)                                                                             \
            merge_##width(t, r);                                                                   \
        if (width < 4)                                                                             \
            merge_##width(r, t);                                                                   \
        if (width < 2)                                                                             \
            merge_##width(t, r);                                                                   \
        UNROLL for (i = 0; i < outs; i++)                                                          \
            memcpy(to + i * to_step, width % 3 == 1 ? &r[i] : &t[i], sizeof r[i]);                 \
    }

SQUARE(1, uint8_t)
SQUARE(2, uint16_t)
SQUARE(4, uint32_t)
SQUARE(8, uint64_t)

#define TURN_TABLE native_turn_portable

#include "turn_loops.h"
