/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int8_layout.h: where things lie in packed B and in scratch memory; int8_plan.c, int8_pack.c and
 * int8_product.c share it.
 *
 * Packed B: the sums of the columns of b', for all panels, then the panels.
 */
#ifndef NATIVE_INT8_LAYOUT_H
#define NATIVE_INT8_LAYOUT_H

#include "int8_way.h"

enum { INT8_LINE = 64, INT8_COLUMNS = 16 /* that are finished together */ };

static inline int64_t int8_smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t int8_ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static inline int64_t int8_aligned(int64_t bytes)
{
    return int8_ceil_div(bytes, INT8_LINE) * INT8_LINE;
}

/*
 * Finishes rows [row, row + rows) of up to INT8_COLUMNS columns from `column` on, by their sums,
 * which need no corrections by row.
 */
static inline void int8_finish_sums(const native_int8_way *way, const native_int8_shape *s,
                                    const native_int8_args *args,
                                    const native_int8_columns *columns, const int32_t *sums,
                                    int64_t row, int rows, int64_t column)
{
    const native_int8_finish *f = &args->finish;
    const int64_t at = row * s->ldc + column, at_c = at - args->row_of_c * s->ldc;
    const bool bytes = f->result == NATIVE_INT8_TO_U8 || f->result == NATIVE_INT8_TO_I8;
    native_int8_band band = {.finish = f, .columns = columns, .sums = sums, .ldc = s->ldc};

    band.rows = rows;
    band.cols = (int)int8_smaller(INT8_COLUMNS, s->n - column);
    band.c = (char *)args->c + at_c * (bytes ? 1 : 4);
    band.row_scale = f->row_scale ? f->row_scale + row : NULL;
    band.residual = f->residual ? f->residual + at : NULL;
    band.with = bytes && f->then ? (const uint8_t *)f->then->with + at : NULL;
    way->finish(&band);
}

/* What is added to A to make it unsigned, where it is packed as bytes. */
static inline int32_t int8_flip_a(const native_int8_product *p)
{
    return p->shape.a_signed && !p->way->wide ? 128 : 0;
}

static inline int64_t int8_sums_bytes(const native_int8_product *p)
{
    return int8_aligned(p->n_panels * p->way->nr * (int64_t)sizeof(int32_t));
}

static inline int32_t *native_int8_column_sums(const native_int8_product *p, const void *packed)
{
    (void)p;
    return (int32_t *)(uintptr_t)packed;
}

static inline int8_t *native_int8_panel(const native_int8_product *p, const void *packed,
                                        int64_t panel)
{
    return (int8_t *)(uintptr_t)packed + int8_sums_bytes(p) + panel * p->panel_bytes;
}

/* Bytes of a packed row of A: no multiple of a page, so that rows do not share sets of a cache. */
static inline int64_t native_int8_row_bytes(const native_int8_product *p)
{
    const int64_t bytes = int8_aligned(p->k_padded * (p->way->wide ? 2 : 1));
    return bytes % 1024 ? bytes : bytes + INT8_LINE;
}

/* The parts of a thread's scratch memory. */
typedef struct int8_scratch {
    uint8_t *rows;
    int32_t *row_sums, *row_zeros, *sums;
    uint8_t *lists; /* of ways that halve */
    native_int8_columns *columns;
} int8_scratch;

/* Sums of one of the largest tiles, or of some smaller ones. */
enum {
    INT8_SUMS = NATIVE_INT8_MOST_ROWS * NATIVE_INT8_MOST_COLUMNS,
    INT8_SUMS_BYTES = INT8_SUMS * 4
};

static inline int64_t int8_list_bytes(const native_int8_product *p)
{
    const int64_t tiles = int8_ceil_div(p->row_block, p->way->mr);
    return p->way->halve ? tiles * p->way->list_bytes(p->k_padded) : 0;
}

static inline int64_t native_int8_scratch_bytes(const native_int8_product *p)
{
    const int64_t rows = p->in_place ? 0 : p->row_block * native_int8_row_bytes(p);
    return rows + 2 * int8_aligned(p->row_block * 4) + INT8_SUMS_BYTES +
           int8_aligned((int64_t)sizeof(native_int8_columns)) + int8_list_bytes(p);
}

static inline int8_scratch native_int8_scratch(const native_int8_product *p, void *memory)
{
    const int64_t rows = p->in_place ? 0 : p->row_block * native_int8_row_bytes(p);
    const int64_t each = int8_aligned(p->row_block * 4);
    uint8_t *at = (uint8_t *)memory + rows;
    int8_scratch s = {.rows = memory};

    s.row_sums = (int32_t *)(void *)at;
    s.row_zeros = (int32_t *)(void *)(at + each);
    s.sums = (int32_t *)(void *)(at + 2 * each);
    s.columns = (native_int8_columns *)(void *)(at + 2 * each + INT8_SUMS_BYTES);
    s.lists = (uint8_t *)s.columns + int8_aligned((int64_t)sizeof *s.columns);
    return s;
}

/* int8_product.c: what finish says of the columns first to first + nr, the last one of n again. */
void native_int8_finish_columns(const native_int8_finish *f, int64_t first, int nr, int64_t n,
                                native_int8_columns *c);
/* int8_pack.c: rows [row, row + n) of A. */
void native_int8_pack_rows(const native_int8_product *p, const native_int8_args *args, int64_t row,
                           int64_t n, uint8_t *to);

#endif
