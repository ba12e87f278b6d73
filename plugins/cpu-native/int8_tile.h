/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int8_tile.h: the tile of ways whose panels are groups of terms one after the other: MR rows by NV
 * vectors of int32 sums, of the 2 or 4 terms of a group. A way's file defines
 *
 *   MR NV LANES      6 or 12 rows, LANES sums in a vector
 *   ivec I_ZERO()    I_STORE(p, v)
 *   I_GROUP(p)       the group of terms of LANES columns at p, GROUP_BYTES long
 *   I_ALL(p)         the group of a row of A at p, for every column
 *   I_DOT(s, a, b)   s plus the products
 *   I_KEEP(x)        keeps compilers from loading rows ahead until registers run out
 */
#define EVERY _Pragma("GCC unroll 12") for

/* vectors: NV, or one less where the last one's columns are none, whose sums are 0 then. */
static inline __attribute__((always_inline)) void tile_of(const int rows, const int vectors,
                                                          const native_int8_tile *t)
{
    const int8_t *b = t->b;
    ivec s[MR][NV];
    int64_t g;

    EVERY(int i = 0; i < rows; i++)
    {
        EVERY(int v = 0; v < NV; v++)
        {
            s[i][v] = I_ZERO();
        }
    }
    for (g = 0; g < t->groups; g++, b += NV * GROUP_BYTES) {
        const uint8_t *a = t->a + g * 4, *later = a + 3 * t->a_step;
        ivec columns[NV];
        EVERY(int v = 0; v < vectors; v++)
        {
            columns[v] = I_GROUP(b + v * GROUP_BYTES);
        }
        EVERY(int i = 0; i < rows; i++)
        {
            const ivec x = I_ALL((i < 3 ? a : later) + (i < 3 ? i : i - 3) * t->a_step);
            EVERY(int v = 0; v < vectors; v++)
            {
                s[i][v] = I_DOT(s[i][v], x, columns[v]);
                I_KEEP(s[i][v]);
            }
        }
    }
    EVERY(int i = 0; i < rows; i++)
    {
        EVERY(int v = 0; v < NV; v++)
        {
            I_STORE(t->sums + i * NV * LANES + v * LANES, s[i][v]);
        }
    }
}

static void tile(const native_int8_tile *t)
{
    const bool less = t->cols <= (NV - 1) * LANES;

    switch (t->rows) {
#define HEIGHT(rows)                                                                               \
    case rows:                                                                                     \
        if (less && rows >= MR - 1)                                                                \
            tile_of(rows, NV - 1, t);                                                              \
        else                                                                                       \
            tile_of(rows, NV, t);                                                                  \
        break
        HEIGHT(1);
        HEIGHT(2);
        HEIGHT(3);
        HEIGHT(4);
        HEIGHT(5);
        HEIGHT(6);
#if MR > 6
        HEIGHT(7);
        HEIGHT(8);
        HEIGHT(9);
        HEIGHT(10);
        HEIGHT(11);
        HEIGHT(12);
#endif
#undef HEIGHT
    }
}
