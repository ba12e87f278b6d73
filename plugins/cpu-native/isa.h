/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa.h: the inner loops of compiled programs, as a table for each instruction set.
 * isa_avx512.c, isa_avx2.c and isa_portable.c fill one each from the same text, isa_kernels.h;
 * isa.c chooses by the processor.
 *
 * B is the number of lanes of a vector: 16, 8 or 4. A blocked tensor of N images of C channels lies
 * in memory as [N][C / B][H][W][B], channels filled up with whatever keeps products finite.
 */
#ifndef NATIVE_ISA_H
#define NATIVE_ISA_H

#include <stdbool.h>
#include <stdint.h>

#include "draw.h"
#include "elementwise.h"
#include "fold.h"
#include "pooled.h"

/* y = f(x) for each element */
typedef enum native_act_kind {
    NATIVE_ACT_NONE,
    NATIVE_ACT_CLIP,         /* min(b, max(a, x)), keeps NaN */
    NATIVE_ACT_LEAKY,        /* x < 0 ? a x : x */
    NATIVE_ACT_LINEAR,       /* a x + b */
    NATIVE_ACT_HARD_SIGMOID, /* min(1, max(0, a x + b)) */
    NATIVE_ACT_HARD_SWISH,   /* x times that */
    NATIVE_ACT_SIGMOID,
    NATIVE_ACT_SWISH, /* x sigmoid(a x) */
    NATIVE_ACT_TANH,
    NATIVE_ACT_EXP,
    NATIVE_ACT_GELU, /* x (1 + erf(x / sqrt(2))) / 2 */
    NATIVE_ACT_SQRT,
    NATIVE_ACT_ABS,
    NATIVE_ACT_SQUARE,
    NATIVE_ACT_ERF,
    NATIVE_ACT_GELU_TANH,
    NATIVE_ACT_ELU,       /* x < 0 ? a (exp(x) - 1) : x */
    NATIVE_ACT_CELU,      /* max(0, x) + min(0, a (exp(x / a) - 1)) */
    NATIVE_ACT_SELU,      /* b (x > 0 ? x : a (exp(x) - 1)) */
    NATIVE_ACT_SOFTPLUS,  /* log(1 + exp(x)) */
    NATIVE_ACT_MISH,      /* x tanh of that */
    NATIVE_ACT_SOFTSIGN,  /* x / (1 + |x|) */
    NATIVE_ACT_THRESHOLD, /* x > a ? x : 0 */
    NATIVE_ACT_SHRINK,    /* x < -a ? x + b : x > a ? x - b : 0 */
    NATIVE_ACT_AFFINE     /* another one, with multiples and sums before and after it */
} native_act_kind;

typedef struct native_act {
    native_act_kind kind;
    float a, b;
    /* AFFINE: f(x scale[0] + shift[0]) scale[1] + shift[1], where f has a and b */
    native_act_kind inner;
    float scale[2], shift[2];
} native_act;

typedef enum native_binary_kind {
    NATIVE_ADD,
    NATIVE_SUB,
    NATIVE_MUL,
    NATIVE_DIV,
    NATIVE_MASK, /* x > 0 ? y : 0 */
    NATIVE_PRELU /* x < 0 ? x y : x */
} native_binary_kind;

enum { NATIVE_MAX_BLOCKS = 4, NATIVE_MAX_PIXELS = 14, NATIVE_MAX_LANES = 16 };
enum { NATIVE_FEW_ROWS = 6, NATIVE_FEW_BLOCKS = 8 };
enum { NATIVE_WEIGHTS_F32, NATIVE_WEIGHTS_F16, NATIVE_WEIGHTS_BF16, NATIVE_WEIGHT_TYPES };

/*
 * One tile: `pixels` rows of a product times `blocks` vectors of its columns, for some of the
 * terms. Rows are output pixels of a convolution or rows of a matrix; the table has a function for
 * each size.
 *
 * Terms come in groups of B neighbours in memory (blocked) or one by one (plain). The source of
 * pixel i for group g of tap t is source + g * plane + offsets[t * pixels + i]; a negative offset
 * is padding, and NATIVE_ALL_PADDING as the first one that of all pixels: the tap is left out.
 * Plain: one group, and the source for tap t is source + offsets[i] + taps[t].
 * Straight: blocked, one tap, no offsets; pixel i follows pixel i - 1 in memory.
 */
enum { NATIVE_ALL_PADDING = -2 };
typedef struct native_tile {
    const float *source;
    const int32_t *offsets;
    const int32_t *taps;
    int64_t plane;
    int n_groups, n_taps;
    const float *weights; /* blocks vectors, aligned, for each term */
    int64_t weights_step; /* floats from term to term */
    float *to;
    int64_t to_pixel, to_block; /* floats from pixel to pixel, from block to block */
    uint32_t last_lanes;        /* of the last block, that are there; 0 = all */
    bool first, last;           /* terms: the sum starts, ends here, else it goes on from `to` */
    bool pooled;                /* the maximum of each 4 pixels is one pixel of `to` */
    const float *bias;          /* NULL = none; padded to whole vectors */
    const float *residual;      /* lies as `to`, or is it; NULL = none */
    float scale;                /* of the whole sum */
    native_act act;             /* at last */
    /* what later tiles want: bytes to fetch at each tap of each group */
    const char *ahead;
    int ahead_bytes;
} native_tile;

typedef void (*native_tile_fn)(const native_tile *tile);

/* Plain pools: columns that a window reaches over and more, and the greatest step. */
enum { NATIVE_POOL_SPAN = 512, NATIVE_POOL_STRIDE = 16 };

/* A window over a plane of one channel block, one row of outputs. */
typedef struct native_row {
    const float *source; /* the plane */
    float *to;           /* the row */
    int64_t height, width, out_width;
    int64_t top, left; /* of the first window; may be negative */
    int64_t kernel[2], stride[2], dilation[2];
    const float *weights; /* depthwise: a vector for each tap */
    const float *bias;
    const float *residual; /* row, or NULL */
    /* Of several blocks, with the channels last in what is read, written, or both. */
    int64_t blocks, from_pixel, from_block, to_pixel, to_block;
    bool average, count_padding;
    float count; /* of a window with all its padding */
    native_act act;
} native_row;

/*
 * n pixels of a row of Resize, each the sum of `taps` others by their weights: [pixel][tap]. width:
 * floats of a pixel, 1 or B. Of width 1 each B pixels may have, [tap] of them: where a vector
 * begins that has all that they take (the first tap < 0: none has), which of its lanes, by what
 * weights; the last vector ends with the row. near_wide: it is two vectors, of twice as many lanes.
 */
typedef struct native_pixels {
    int64_t n, width;
    int taps;
    const int32_t *at;
    const float *weight;
    const int32_t *near_at, *near_lane; /* NULL = none has */
    const float *near_weight;
    bool near_wide;
} native_pixels;

/*
 * One row of outputs, of a convolution with few of them, over a blocked source: to[o to_out + x
 * to_pixel] is the sum over blocks of inputs, lines and columns of the window. Lines are those that
 * are there.
 */
enum { NATIVE_FEW_OUTS = 4 };
typedef struct native_few_line {
    int64_t source, weights; /* floats from the plane of a block, from its weights */
} native_few_line;
typedef struct native_few_outs {
    const float *source; /* block 0 */
    int64_t plane, blocks;
    const native_few_line *lines;
    int n_lines, outs;
    int64_t width, out_width, left;   /* left: of the first window; may be negative */
    int64_t kernel, stride, dilation; /* of columns */
    const float *weights;             /* of a block [line][column][output], each a vector */
    int64_t weights_block;
    const float *bias; /* a number for each output */
    float *to;
    int64_t to_out, to_pixel;
} native_few_outs;

/*
 * to[row][column] += sum over terms of x[row] y[column]: rows are numbers beside each other, or at
 * offsets (apart), columns are blocks of vectors. Terms come in three loops, the innermost last.
 */
typedef struct native_outer {
    const float *x, *y;
    const int32_t *offsets; /* apart: floats to the number of each row */
    int64_t n[3], x_step[3], y_step[3];
    int64_t y_block;
    float *to;
    int64_t to_row, to_block; /* of whole vectors */
    uint32_t last_lanes;      /* of the last block of y that are there; 0 = all */
} native_outer;

typedef void (*native_outer_fn)(const native_outer *outer);

/*
 * A row of the gradient of layer normalization: to the row's own if `to` is not NULL, else its
 * share is added to the sums.
 */
typedef struct native_norm_row {
    const float *dy, *x, *scale;
    float *to, *sums;
    float epsilon;
    bool rms; /* the mean counts as 0 */
    int64_t n;
} native_norm_row;

/* The gradient of a maximum over windows, a plane of one channel block. */
typedef struct native_pool_grad {
    const float *source, *from; /* what the pool read, and the gradient of what it made */
    float *to;
    int64_t height, width, out_height, out_width;
    int64_t kernel[2], stride[2], dilation[2], pad[2];
    bool masked; /* 0 where the maximum is not above 0 */
} native_pool_grad;

/*
 * Batch normalization of a plane of one channel block, n vectors: (x - mean) factor + shift, and
 * its gradient. What is of a channel is a vector.
 */
typedef struct native_norm {
    const float *x;
    const float *other; /* added to the result (NULL = nothing); the gradient of the result */
    float *to;
    int64_t n;
    const float *mean, *factor, *shift;
    const float *less, *times; /* of the gradient of x: (gradient - less) factor - x times */
    bool masked;               /* behind a Relu */
} native_norm;

/* One channel block of an image. */
typedef struct native_plane {
    const float *at;
    int64_t height, width;
} native_plane;

/*
 * Winograd's convolutions F(2 x 2, 3 x 3), F(4 x 4, 3 x 3) and F(3 x 3, 3 x 3): tiles of outputs
 * come from 4 x 4, 6 x 6 or 5 x 5 pixels, by a product at each of 16, 36 or 25 places. The last
 * form is the third one backwards: the gradient of its 5 x 5 pixels from that of its 3 x 3 outputs.
 */
enum {
    NATIVE_WINOGRAD_2,
    NATIVE_WINOGRAD_4,
    NATIVE_WINOGRAD_3,
    NATIVE_WINOGRAD_3_BACK,
    NATIVE_WINOGRAD_FORMS
};

/* Where a tile of outputs goes, and what is done on the way. */
typedef struct native_winograd_end {
    float *to;
    const float *residual; /* lies as `to`, or is it; NULL = none */
    int64_t row;           /* floats from row to row of both */
    int rows, columns;     /* of outputs that there are */
    bool pooled;           /* the maximum of each 2 x 2 is one pixel of `to` */
    uint8_t *codes;        /* pooled: which it was, as in pooled.h; lies as `to`; or NULL */
    const float *bias;     /* of the block, or NULL */
    uint32_t blank;        /* a bit for each output, row by row, whose sum is exactly 0 */
    native_act act;
} native_winograd_end;

/* What becomes the gradients of 9 taps, of one vector of outputs: sums of places, then of taps. */
typedef struct native_winograd_sums {
    const double (*rows)[3]; /* G of the form */
    int points;
    const float *from;
    int64_t step, shard_step; /* from one sum to the next, and to the next shard, all of which */
    int shards;               /* are added up */
    float *to;                /* [tap][lane] */
} native_winograd_sums;

typedef struct native_isa native_isa;
struct native_recurrent_step;
struct native_svm_tile;
struct native_linear_tile;
struct native_boxes;
struct native_near;
struct native_isa {
    const char *name;
    int lanes;
    int max_pixels[NATIVE_MAX_BLOCKS + 1]; /* 0 = no such tiles */
    native_tile_fn blocked[NATIVE_MAX_BLOCKS + 1][NATIVE_MAX_PIXELS + 1];
    native_tile_fn plain[NATIVE_MAX_BLOCKS + 1][NATIVE_MAX_PIXELS + 1];
    native_tile_fn straight[NATIVE_MAX_BLOCKS + 1][NATIVE_MAX_PIXELS + 1];
    /* [type][rows][blocks], up to few_blocks of the rows: plain, one group, terms follow each
     * other, and each block has its weights_step elements of weights, a vector for each term. */
    native_tile_fn few_rows[NATIVE_WEIGHT_TYPES][NATIVE_FEW_ROWS + 1][NATIVE_FEW_BLOCKS + 1];
    int few_blocks[NATIVE_FEW_ROWS + 1];
    native_outer_fn outer[NATIVE_MAX_BLOCKS + 1][NATIVE_MAX_PIXELS + 1];
    native_outer_fn outer_apart[NATIVE_MAX_BLOCKS + 1][NATIVE_MAX_PIXELS + 1];
    void (*add_vectors)(const float *from, int64_t n, float *to); /* to += their sum */
    void (*pool_grad)(const native_pool_grad *grad);
    /* The transform of 4 x 4 pixels of the gradient of a result, as winograd_source[1]. */
    void (*winograd_back)(const native_plane *plane, int64_t y, int64_t x, float *to, int64_t step);
    void (*winograd_taps)(const native_winograd_sums *sums);
    bool (*are_finite)(const float *from, int64_t n); /* vectors */
    /* Sums in double grow by [mean, its square, squares of distances from it] of the plane, */
    void (*norm_moments)(const float *x, int64_t n, double *sums);
    void (*norm_plane)(const native_norm *norm);
    /* and by [gradients, their products with distances from the mean]. */
    void (*norm_grad_sums)(const native_norm *norm, double *sums);
    void (*norm_grad_plane)(const native_norm *norm);
    void (*depthwise_row)(const native_row *row);
    /* Windows go on by one pixel, and their outputs lie to_pixel floats apart, by clip at most. */
    void (*depthwise_row_apart)(const native_row *row);
    void (*depthwise_row_of_blocks)(const native_row *row);
    void (*few_outs_row)(const native_few_outs *row);
    void (*pool_row)(const native_row *row);
    /* The same of planes of numbers one behind the other, without an activation or what is added:
     * rows [begin, end) of all their outputs. source, to: of the first plane; top: of row 0. */
    void (*pool_plain)(const native_row *form, int64_t out_height, int64_t begin, int64_t end);
    /* to = the sum of n rows of so many floats, at least one, by their weights */
    void (*weigh_rows)(const float *const *rows, const float *weights, int n, int64_t length,
                       float *to);
    void (*weigh_pixels)(const native_pixels *pixels, const float *row, float *to);
    /* The mean over n vectors. */
    void (*mean)(const float *from, int64_t n, float *to);
    void (*act)(const native_act *act, const float *from, float *to, int64_t n);
    /* steps are 0 (one number for all), 1, or for one operand 2: a vector for all, n whole ones */
    void (*binary)(native_binary_kind kind, const float *x, int x_step, const float *y, int y_step,
                   float *to, int64_t n);
    /* to = x + period y, a whole number of periods; all of B-lane vectors if y is one */
    void (*layer_norm)(const float *x, const float *scale, const float *shift, float epsilon,
                       float *to, int64_t n);
    /* softmax of scale x + mask; mask may be NULL; in place is fine */
    void (*softmax)(const float *x, float scale, const float *mask, float *to, int64_t n);
    /* softmax of each of the rows of n, one behind the other */
    void (*softmax_rows)(const float *x, float *to, int64_t rows, int64_t n);
    /* softmax of each of so many columns of n rows, which lie step apart */
    void (*softmax_columns)(const float *x, int64_t step, float *to, int64_t n, int64_t columns);
    /* the logarithms of these */
    void (*log_softmax)(const float *x, float *to, int64_t rows, int64_t n);
    void (*log_softmax_columns)(const float *x, int64_t step, float *to, int64_t n,
                                int64_t columns);
    /* to = factor y (dy - sum(dy y)) */
    void (*softmax_grad)(const float *dy, const float *y, float factor, float *to, int64_t n);
    void (*layer_norm_grad)(const native_norm_row *row);
    /* to[j][i] = from[i][j] */
    void (*transpose)(const float *from, int64_t from_step, float *to, int64_t to_step,
                      int64_t rows, int64_t columns);
    /* One vector of outputs, whose taps lie tap_step apart, by G of the form. */
    void (*winograd_weights)(const double rows[][3], int points, const float *taps,
                             int64_t tap_step, float *to, int64_t step);
    /* Pixels from (y, x) on, zeros outside; place k goes to to + k step. */
    void (*winograd_source[NATIVE_WINOGRAD_FORMS])(const native_plane *plane, int64_t y, int64_t x,
                                                   float *to, int64_t step);
    /* Sums of place k lie at from + k step. False where one is not finite: nothing is written. */
    bool (*winograd_result[NATIVE_WINOGRAD_FORMS])(const float *from, int64_t step,
                                                   const native_winograd_end *end);
    const native_pooled_isa *pooled;
    const native_fold_table *folds;
    const native_draw_table *draws;
    void (*recurrent_step)(const struct native_recurrent_step *step);
    void (*svm_kernels)(const struct native_svm_tile *tile);
    /* the sum of coefficients[v] kernels[v] */
    double (*svm_sum)(const float *coefficients, const double *kernels, int64_t n);
    void (*linear_sums)(const struct native_linear_tile *tile);
    /* The first vector from box i on, a multiple of LANES, with a box that may be too near; its
     * sums go to `excess`, which are not negative for such boxes. -1 = there is none. */
    int64_t (*boxes_near)(const struct native_boxes *boxes, const struct native_near *near,
                          int64_t i, float *excess);
    const native_elementwise *elementwise; /* ends with op = NULL; alike in all tables */
};

extern const native_isa native_avx512, native_avx2, native_portable;
/* The best that the processor has and the user allows. */
const native_isa *native_choose_isa(const char *features);

#endif
