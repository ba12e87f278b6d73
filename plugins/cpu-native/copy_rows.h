/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_rows.h: rows of bytes that lie in steps on both sides. A call of memcpy for each row takes
 * longer than what a short row has, so those are copied in registers: both ends of a row as pieces
 * of one size that may overlap, longer rows piece by piece and at last the end.
 */
#ifndef NATIVE_COPY_ROWS_H
#define NATIVE_COPY_ROWS_H

#include <stdint.h>
#include <string.h>

enum {
    NATIVE_PIECE = 16,    /* bytes, a register of most processors */
    NATIVE_LONG_ROW = 512 /* bytes, from which on memcpy is no slower */
};

/* Of `piece` bytes, a constant, up to twice as many. */
static inline __attribute__((always_inline)) void native_copy_ends(const char *from,
                                                                   int64_t from_step, char *to,
                                                                   int64_t to_step, int64_t bytes,
                                                                   int64_t rows, int piece)
{
    const int64_t last = bytes - piece;
    char ends[2][NATIVE_PIECE];

    for (; rows > 0; rows--, from += from_step, to += to_step) {
        memcpy(ends[0], from, (size_t)piece);
        if (last > 0)
            memcpy(ends[1], from + last, (size_t)piece);
        memcpy(to, ends[0], (size_t)piece);
        if (last > 0)
            memcpy(to + last, ends[1], (size_t)piece);
    }
}

static inline void native_copy_pieces(const char *from, int64_t from_step, char *to,
                                      int64_t to_step, int64_t bytes, int64_t rows)
{
    const int64_t last = bytes - NATIVE_PIECE;
    int64_t i;

    for (; rows > 0; rows--, from += from_step, to += to_step) {
        for (i = 0; i < last; i += NATIVE_PIECE)
            memcpy(to + i, from + i, NATIVE_PIECE);
        memcpy(to + last, from + last, NATIVE_PIECE);
    }
}

static inline void native_copy_rows(const char *from, int64_t from_step, char *to, int64_t to_step,
                                    int64_t bytes, int64_t rows)
{
    if (bytes >= NATIVE_LONG_ROW)
        for (; rows > 0; rows--, from += from_step, to += to_step)
            memcpy(to, from, (size_t)bytes);
    else if (bytes > 32)
        native_copy_pieces(from, from_step, to, to_step, bytes, rows);
    else if (bytes >= 16)
        native_copy_ends(from, from_step, to, to_step, bytes, rows, 16);
    else if (bytes >= 8)
        native_copy_ends(from, from_step, to, to_step, bytes, rows, 8);
    else if (bytes >= 4)
        native_copy_ends(from, from_step, to, to_step, bytes, rows, 4);
    else if (bytes >= 2)
        native_copy_ends(from, from_step, to, to_step, bytes, rows, 2);
    else if (bytes == 1)
        native_copy_ends(from, from_step, to, to_step, bytes, rows, 1);
}

#endif
