/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turn_loops.h: the loops of turn.h. A file that includes it defines TURN_TABLE and includes the
 * squares: of each width W the enums TURN_ROWS_W and TURN_COLUMNS_W, and
 *
 *   turn_square_W(from, step, ins, to, to_step, outs)   turns so many rows, zeros for the others,
 *                                                       and writes so many columns, all whole
 *
 * A matrix goes by squares: those of a line of the cache side by side, one below the other, so that
 * both matrices are read and written by whole lines while they are near. The last squares overlap
 * those before them. Where one side is less than a square, what is read or written beside it lies
 * inside of the matrix, and is left out or written again.
 */

enum {
    TURN_LINE = 64,  /* bytes */
    TURN_ROWS = 128, /* that are read before the next columns are */
    TURN_PAGE = 1024 /* bytes; lines that lie so far apart push each other out of the cache */
};

#define TURN(width, type)                                                                          \
    /* constants lie anywhere */                                                                   \
    static void turn_one_by_one_##width(const type *from, int64_t from_step, type *to,             \
                                        int64_t to_step, int64_t rows, int64_t columns)            \
    {                                                                                              \
        int64_t i, j;                                                                              \
                                                                                                   \
        for (j = 0; j < columns; j++)                                                              \
            for (i = 0; i < rows; i++)                                                             \
                memcpy(to + j * to_step + i, from + i * from_step + j, width);                     \
    }                                                                                              \
                                                                                                   \
    /* Of few columns: rows are read as far as a square has columns. */                            \
    static void turn_few_columns_##width(const type *from, int64_t from_step, type *to,            \
                                         int64_t to_step, int64_t rows, int columns)               \
    {                                                                                              \
        enum { ROWS = TURN_ROWS_##width, COLUMNS = TURN_COLUMNS_##width };                         \
        const int64_t beside = from_step > 0 ? (COLUMNS - columns - 1) / from_step + 1 : rows;     \
        int64_t i;                                                                                 \
                                                                                                   \
        for (i = 0; i + ROWS <= rows - beside; i += ROWS)                                          \
            turn_square_##width(from + i * from_step, from_step, ROWS, to + i, to_step, columns);  \
        turn_one_by_one_##width(from + i * from_step, from_step, to + i, to_step, rows - i,        \
                                columns);                                                          \
    }                                                                                              \
                                                                                                   \
    /* Of few rows: what is written behind a column is of the next ones, which are not yet. */     \
    static void turn_few_rows_##width(const type *from, int64_t from_step, type *to,               \
                                      int64_t to_step, int rows, int64_t columns)                  \
    {                                                                                              \
        enum { ROWS = TURN_ROWS_##width, COLUMNS = TURN_COLUMNS_##width };                         \
        const int64_t behind = to_step == rows ? (ROWS - 1) / rows : columns;                      \
        int64_t i;                                                                                 \
                                                                                                   \
        for (i = 0; i + COLUMNS <= columns - behind; i += COLUMNS)                                 \
            turn_square_##width(from + i, from_step, rows, to + i * to_step, to_step, COLUMNS);    \
        turn_one_by_one_##width(from + i, from_step, to + i * to_step, to_step, rows,              \
                                columns - i);                                                      \
    }                                                                                              \
                                                                                                   \
    /* Of the columns of a line, at least those of a square. */                                    \
    static inline void turn_line_##width(const type *from, int64_t from_step, type *to,            \
                                         int64_t to_step, int64_t columns)                         \
    {                                                                                              \
        enum { ROWS = TURN_ROWS_##width, COLUMNS = TURN_COLUMNS_##width };                         \
        int64_t j;                                                                                 \
                                                                                                   \
        for (j = 0; j < columns; j += COLUMNS) {                                                   \
            const int64_t at = j + COLUMNS <= columns ? j : columns - COLUMNS;                     \
            turn_square_##width(from + at, from_step, ROWS, to + at * to_step, to_step, COLUMNS);  \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* Whole lines of both sides, written one after the other. */                                  \
    static void turn_tile_##width(const type *from, int64_t from_step, type *to, int64_t to_step)  \
    {                                                                                              \
        enum { LINE = TURN_LINE / width };                                                         \
        type near[LINE * LINE];                                                                    \
        int64_t i;                                                                                 \
                                                                                                   \
        for (i = 0; i < LINE; i += TURN_ROWS_##width)                                              \
            turn_line_##width(from + i * from_step, from_step, near + i, LINE, LINE);              \
        for (i = 0; i < LINE; i++)                                                                 \
            memcpy(to + i * to_step, near + i * LINE, TURN_LINE);                                  \
    }                                                                                              \
                                                                                                   \
    static void turn_rows_##width(const type *from, int64_t from_step, type *to, int64_t to_step,  \
                                  int64_t rows, int64_t columns)                                   \
    {                                                                                              \
        enum { ROWS = TURN_ROWS_##width, COLUMNS = TURN_COLUMNS_##width };                         \
        enum { LINE = TURN_LINE / width };                                                         \
        const bool collide = to_step * width % TURN_PAGE == 0;                                     \
        int64_t i, j;                                                                              \
                                                                                                   \
        for (j = 0; j < columns; j += LINE) {                                                      \
            const int64_t n = columns - j < LINE ? columns - j : LINE;                             \
            const int64_t left = n < COLUMNS ? columns - COLUMNS : j;                              \
            i = 0;                                                                                 \
            for (; collide && n == LINE && i + LINE <= rows; i += LINE)                            \
                turn_tile_##width(from + i * from_step + j, from_step, to + j * to_step + i,       \
                                  to_step);                                                        \
            for (; i < rows; i += ROWS) {                                                          \
                const int64_t at = i + ROWS <= rows ? i : rows - ROWS;                             \
                turn_line_##width(from + at * from_step + left, from_step,                         \
                                  to + left * to_step + at, to_step, n < COLUMNS ? COLUMNS : n);   \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void turn_##width(const void *source, int64_t from_step, void *result, int64_t to_step, \
                             int64_t rows, int64_t columns)                                        \
    {                                                                                              \
        const type *from = source;                                                                 \
        type *to = result;                                                                         \
        int64_t i, n;                                                                              \
                                                                                                   \
        if (columns < TURN_COLUMNS_##width) {                                                      \
            turn_few_columns_##width(from, from_step, to, to_step, rows, (int)columns);            \
            return;                                                                                \
        }                                                                                          \
        if (rows < TURN_ROWS_##width) {                                                            \
            turn_few_rows_##width(from, from_step, to, to_step, (int)rows, columns);               \
            return;                                                                                \
        }                                                                                          \
        for (i = 0; i < rows; i += n) { /* no part is less than a square */                        \
            n = rows - i < TURN_ROWS + TURN_ROWS_##width ? rows - i : TURN_ROWS;                   \
            turn_rows_##width(from + i * from_step, from_step, to + i, to_step, n, columns);       \
        }                                                                                          \
    }

TURN(1, uint8_t)
TURN(2, uint16_t)
TURN(4, uint32_t)
TURN(8, uint64_t)

const native_turn_fn TURN_TABLE[NATIVE_TURN_WIDTHS] = {turn_1, turn_2, turn_4, turn_8};
