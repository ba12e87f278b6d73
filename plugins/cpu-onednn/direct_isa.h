/* SPDX-License-Identifier: Apache-2.0 */
/*
 * direct_isa.h: what the builds of direct_tiles.h for each instruction set give to direct.c. The
 * files direct_avx512.c, direct_avx2.c and direct_portable.c each define one table.
 */
#ifndef TFR_DNN_DIRECT_ISA_H
#define TFR_DNN_DIRECT_ISA_H

#include "direct.h"

enum {
    TFR_DNN_MAX_POSITIONS = 14,
    TFR_DNN_MAX_VECTORS = 4,
    TFR_DNN_MAX_WINDOW = 8 /* positions that a fused pool takes the maximum of */
};

/* One tile: P positions (the function's) times V vectors of output channels. */
typedef struct tfr_dnn_tile {
    const float *x;         /* offsets count from here */
    const int32_t *offsets; /* [taps][P]; negative = in the padding */
    const float *zeros;     /* a row of the padding */
    int64_t taps, k;        /* k floats of each row */
    const float *bias;      /* [V * lanes] */
    const float *weights;   /* [taps * k][V * lanes]; depthwise [taps][channels, padded] */
    float *y;               /* [P / window] rows, y_row floats apart */
    const float *residual;  /* [P] rows, y_row floats apart, or NULL */
    int64_t y_row;
    int64_t columns; /* channels to store, at most V * lanes; depthwise: all of them */
    int64_t window;  /* positions that follow each other and are pooled */
    float low, high;
} tfr_dnn_tile;

typedef void (*tfr_dnn_tile_fn)(const tfr_dnn_tile *t);
/* y[c] = max or sum * scale of rows[i][c] for i < n. */
typedef void (*tfr_dnn_gather_fn)(const float *const *rows, int64_t n, int64_t c, int max,
                                  float scale, float *y);

struct tfr_dnn_isa {
    const char *name, *needs; /* needs: features, space-separated */
    int lanes;                /* floats of a vector */
    /* by vectors - 1 and positions - 1; NULL = there is none */
    tfr_dnn_tile_fn tiles[TFR_DNN_MAX_VECTORS][TFR_DNN_MAX_POSITIONS];
    tfr_dnn_tile_fn depthwise[TFR_DNN_MAX_POSITIONS]; /* by positions - 1 */
    tfr_dnn_gather_fn gather;
};

extern const tfr_dnn_isa tfr_dnn_isa_avx512, tfr_dnn_isa_avx2, tfr_dnn_isa_portable;

#endif
