/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_strict.h: the strict products of one vector length as a whole: the tiles of all heights, the
 * choice of the packing, and the ISA's entry. An ISA's file defines what gemm_tile.h wants, MR as
 * 4, 6 or 14 among it, and the name ISA, and then includes this; with HAS_PACK_COLUMNS it brings
 * pack_a_columns and pack_b_columns, for what lies the other way round.
 */
#ifndef NATIVE_GEMM_STRICT_H
#define NATIVE_GEMM_STRICT_H

#include "gemm_epilogue.h"

#define TILE(rows)                                                                                 \
    static void tile_##rows(const native_gemm_tile *t)                                             \
    {                                                                                              \
        tile_of(rows, NV, t);                                                                      \
    }                                                                                              \
    static void narrow_##rows(const native_gemm_tile *t)                                           \
    {                                                                                              \
        tile_of(rows, 1, t);                                                                       \
    }

TILE(1)
TILE(2)
TILE(3)
TILE(4)
#if MR > 4
TILE(5)
TILE(6)
#endif
#if MR > 6
TILE(7)
TILE(8)
TILE(9)
TILE(10)
TILE(11)
TILE(12)
TILE(13)
TILE(14)
#endif

#define HEIGHTS_4(f)     f##1, f##2, f##3, f##4
#define HEIGHTS_6(f)     HEIGHTS_4(f), f##5, f##6
#define HEIGHTS_14(f)    HEIGHTS_6(f), f##7, f##8, f##9, f##10, f##11, f##12, f##13, f##14
#define JOIN_AGAIN(a, b) a##b
#define JOIN(a, b)       JOIN_AGAIN(a, b)
#define HEIGHTS          JOIN(HEIGHTS_, MR)

static void run_tile(const native_gemm_tile *t)
{
    typedef void (*tile_fn)(const native_gemm_tile *tile);
    static const tile_fn tiles[2][MR] = {{HEIGHTS(narrow_)}, {HEIGHTS(tile_)}};

    tiles[t->cols > LANES][t->rows - 1](t);
}

#ifndef HAS_PACK_COLUMNS
#define pack_a_columns pack_a_any
#define pack_b_columns pack_b_any
#endif

static bool pack_a(void *to, const native_source *a)
{
    if (a->k_step == 1)
        pack_a_rows(to, a);
    else if (a->major_step == 1)
        pack_a_columns(to, a);
    else
        pack_a_any(to, a);
    return true;
}

static bool pack_b(void *to, const native_source *b)
{
    if (b->major_step == 1)
        pack_b_rows(to, b);
    else if (b->k_step == 1)
        pack_b_columns(to, b);
    else
        pack_b_any(to, b);
    return true;
}

#ifndef KC
#define KC 512
#endif
#ifndef PACKS_FAR_ROWS
#define PACKS_FAR_ROWS false
#endif
#define NAME_AGAIN(isa) #isa
#define NAME(isa)       NAME_AGAIN(isa)

const native_gemm_isa JOIN(native_gemm_, ISA) = {
    .name = NAME(ISA),
    .mr = MR,
    .nr = NR,
    .kc = KC,
    .packs_on_its_way = true,
    .packs_far_rows = PACKS_FAR_ROWS,
    .a_bytes = panel_a_bytes,
    .b_bytes = panel_b_bytes,
    .pack_a = pack_a,
    .pack_b = pack_b,
    .tile = run_tile,
    .finish = finish_tile,
};

#endif
