/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int8_way.h: what one way to multiply 8-bit integers gives to int8_product.c: the formats of
 * packed operands, the product of a few rows of A and a panel of B, and what finishes it. Only
 * int8_*.c include it.
 *
 * B is packed as int8: b' = b - 128 where b is uint8. A is packed as
 *
 *   wide      int16 differences to its zero point; a lane of 32 bits sums 2 terms
 *   else      uint8: a' = a + 128 where a is int8; a lane sums 4 terms. Then zero points of A are
 *             taken off at the end, by the sums of the columns of b'.
 *
 * Zero points of b' are taken off at the end, by the sums of the rows of packed A. All of it is
 * exact modulo 2^32, so that the order does not matter.
 */
#ifndef NATIVE_INT8_WAY_H
#define NATIVE_INT8_WAY_H

#include "int8_product.h"

enum { NATIVE_INT8_MOST_COLUMNS = 32, NATIVE_INT8_MOST_ROWS = 12 };

typedef struct native_int8_tile {
    const uint8_t *a;
    int64_t a_step;  /* bytes from row to row */
    const int8_t *b; /* the panel */
    int64_t groups;  /* of terms that a lane sums at a time */
    int32_t *sums;   /* [rows][nr] */
    int rows;
    int cols; /* that are wanted: sums of others may be anything */
} native_int8_tile;

/* The columns of a panel, those behind the last one as well. */
typedef struct native_int8_columns {
    int32_t term[NATIVE_INT8_MOST_COLUMNS]; /* that is added to every sum */
    int32_t zero[NATIVE_INT8_MOST_COLUMNS]; /* of b' */
    int32_t sum[NATIVE_INT8_MOST_COLUMNS];  /* of b' - zero, over k */
    int32_t all[NATIVE_INT8_MOST_COLUMNS];  /* of b', over k; of ways that halve */
    float scale[NATIVE_INT8_MOST_COLUMNS];  /* of F32, or rescale rounded to float32 */
    float addend[NATIVE_INT8_MOST_COLUMNS];
    double rescale[NATIVE_INT8_MOST_COLUMNS];
    double far_bias[NATIVE_INT8_MOST_COLUMNS]; /* that is not in term */
} native_int8_columns;

/* Sums of a tile, and where they go. */
typedef struct native_int8_band {
    const native_int8_finish *finish;
    const native_int8_columns *columns;
    const int32_t *sums;      /* [rows][nr] */
    const int32_t *row_sums;  /* of A; NULL = the zero points of b' are one, or 0 */
    const int32_t *row_terms; /* sums of A times the one zero point of b', or NULL */
    const int32_t *row_zeros; /* of A, that are still in the sums; NULL = they are not */
    const uint8_t *lists;     /* of ways that halve: of all tiles */
    const float *row_scale;   /* of the first row, or NULL */
    void *c;
    const float *residual; /* or NULL */
    const uint8_t *with;   /* or NULL */
    int64_t ldc;
    int rows, cols;
} native_int8_band;

/* The taps of output pixels, each in pairs, and 16 channels of them. */
enum { NATIVE_INT8_DEPTHWISE = 16 };
typedef struct native_int8_strip {
    const uint8_t *const *taps; /* [rows][2 * pairs]: where channel 0 lies, or zero points do */
    int64_t channel;            /* the first one; 16 may be read */
    const int16_t *weights;     /* [16][2] of the first pair of taps, then weights_step apart; in
                                   the order of native_int8_place */
    int64_t weights_step;
    int pairs, rows;
    bool is_signed;
    int32_t *sums; /* [rows][16] */
} native_int8_strip;

/* Where channel j of 16 is among the weights: as vpunpcklwd and vpunpckhwd take them. */
static inline int native_int8_place(int j)
{
    return (j & 3) | (j & 4) << 1 | (j & 8) >> 1;
}

/*
 * Pixels beside each other of windows of 3 x 3, no tap of which is beside the image in the last
 * axis: so taps of neighbours are the same ones, which are read once.
 */
typedef struct native_int8_line {
    const uint8_t *from[3]; /* lines of taps: channel 0 of the first pixel's first ones */
    int64_t steps[3];       /* bytes from tap to tap; 0 = zero points again and again */
    int stride;             /* taps from pixel to pixel: 1 or 2 */
    int pixels;
    int64_t channel;
    const int16_t *weights; /* as above */
    int64_t weights_step;
    bool is_signed;
    int32_t *sums; /* [pixels][16] */
} native_int8_line;

/*
 * Where tap k of 3 x 3 is among those in pairs: two of a column in a pair, which all pixels that
 * read the column have in common, then the last line's.
 */
static inline int native_int8_tap_place(int k)
{
    static const int places[9] = {0, 2, 4, 1, 3, 5, 6, 7, 8};

    return places[k];
}

/* n terms of each of some rows of A, which are packed. */
typedef struct native_int8_rows {
    void *to;
    const uint8_t *from;
    int64_t to_step, from_step; /* bytes from row to row */
    int64_t n, rows;
    bool is_signed;
    int32_t zero; /* wide: the zero point */
} native_int8_rows;

/* The 4 x 4 pixels of a tile of int8_winograd.c, transformed: [16], of all channels each. */
typedef struct native_int8_patch {
    const uint8_t *pixels[16];
    int64_t channels; /* a multiple of 16 */
    bool is_signed;
    int32_t zero;
    int16_t *to;
    int64_t step; /* from one of the 16 to the next */
} native_int8_patch;

/* Rows whose terms lie anywhere, in pairs at the same distances for all rows. */
enum { NATIVE_INT8_NARROW_ROWS = 6 };
typedef struct native_int8_gathered {
    const uint8_t *rows[NATIVE_INT8_NARROW_ROWS];
    const int32_t *offsets; /* bytes to each pair of int16 */
    int64_t groups;         /* pairs */
    int64_t half;           /* bytes from the terms of the first 8 columns to those of the others */
    const int16_t *b;       /* [groups][16][2] */
    int32_t *sums;          /* [n][16] */
    int n;
} native_int8_gathered;

typedef struct native_int8_winograd_loops {
    void (*transform)(const native_int8_patch *patch);
    void (*tile)(const native_int8_tile *tile); /* of int16: b is [groups][16][2] */
    /*
     * Sums of n tiles: from is 16 times [n][16], `step` apart; upper and lower become
     * [2 * n][16], a line of pixels each.
     */
    void (*sum)(const int32_t *from, int64_t step, int n, int32_t *upper, int32_t *lower);
} native_int8_winograd_loops;

struct native_int8_way {
    const char *name;
    int mr, nr;
    bool wide;
    bool lists; /* panels are int8_lists.h's */
    void (*tile)(const native_int8_tile *tile);
    void (*finish)(const native_int8_band *band);
    /*
     * Rows of a panel, finished as they are made, of which the band has no sums: how many from the
     * first one on. The others are for tile and finish. NULL = all are.
     */
    int (*panel)(const native_int8_tile *tile, const native_int8_band *band);
    void (*take)(const native_int8_rows *rows);
    int32_t (*sum)(const uint8_t *row, int64_t k); /* of the terms of a packed row */
    /*
     * int8_halves_avx2.h: what becomes of n packed rows, and the bytes of the lists of a tile of
     * mr. NULL = they stay. k is a multiple of 16, to which rows are padded; B is packed in fours
     * of terms. a_zero: of unsigned A; -1 = each row has its own.
     */
    void (*halve)(uint8_t *rows, int64_t step, int64_t n, int64_t k, int32_t a_zero,
                  uint8_t *lists);
    int64_t (*list_bytes)(int64_t k);
    /* take and halve in one, of rows with one zero point; false = these two have to do it. */
    bool (*take_halved)(const native_int8_rows *rows, int64_t k, uint8_t *lists);
    void (*depthwise)(const native_int8_strip *strip);  /* nr is 16; NULL = there is none */
    void (*line)(const native_int8_line *line);         /* NULL = depthwise does it, too */
    const native_int8_winograd_loops *winograd;         /* the same */
    void (*gathered)(const native_int8_gathered *tile); /* the same */
};

/* The band from one of its rows on, but for the sums. */
static inline native_int8_band native_int8_band_from(const native_int8_band *band, int row)
{
    const int32_t result = band->finish->result;
    const bool bytes = result == NATIVE_INT8_TO_U8 || result == NATIVE_INT8_TO_I8;
    native_int8_band b = *band;

    b.c = (char *)b.c + row * b.ldc * (bytes ? 1 : 4);
    b.row_sums = b.row_sums ? b.row_sums + row : NULL;
    b.row_terms = b.row_terms ? b.row_terms + row : NULL;
    b.row_zeros = b.row_zeros ? b.row_zeros + row : NULL;
    b.row_scale = b.row_scale ? b.row_scale + row : NULL;
    b.residual = b.residual ? b.residual + row * b.ldc : NULL;
    b.with = b.with ? b.with + row * b.ldc : NULL;
    return b;
}

static inline int native_int8_group(const native_int8_way *way)
{
    return way->wide && !way->halve ? 2 : 4;
}

extern const native_int8_way native_int8_way_portable, native_int8_way_avx2,
    native_int8_way_avx2_halves, native_int8_way_avx2_lists, native_int8_way_avx_vnni,
    native_int8_way_avx512_vnni;

/* What compilers know; the processor is asked at run time. */
#if defined(__x86_64__) && ((defined(__clang__) && __clang_major__ >= 12) ||                       \
                            (!defined(__clang__) && defined(__GNUC__) && __GNUC__ >= 11))
#define NATIVE_VNNI 1
#else
#define NATIVE_VNNI 0
#endif

#endif
