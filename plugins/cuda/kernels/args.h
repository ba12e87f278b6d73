/* SPDX-License-Identifier: Apache-2.0 */
/*
 * args.h: the structs that kernels take by value, for the host half, which fills them in
 * (plugins/cuda/plan_*.c), and for the kernels. Plain C; each type has the same layout for every
 * compiler. Counts of elements fit 31 bits: larger calls are declined.
 */
#ifndef TFR_CUDA_ARGS_H
#define TFR_CUDA_ARGS_H

#include <stdint.h>

/* x / d for 0 <= x < 2^31 without a division: (hi(x * multiplier) + x) >> shift. */
typedef struct tfr_divisor {
    uint32_t d, multiplier, shift;
} tfr_divisor;

enum { TFR_WALK_DIMS = 8, TFR_WALK_OPERANDS = 4 };

/*
 * An index space of n elements, row-major, and where element i of up to 4 operands lies: the sum of
 * index[d] * strides[operand][d], from offset on. rank 0 stands for "at i itself".
 */
typedef struct tfr_walk {
    int32_t n, rank;
    tfr_divisor dims[TFR_WALK_DIMS];
    int32_t strides[TFR_WALK_OPERANDS][TFR_WALK_DIMS];
    int32_t offset[TFR_WALK_OPERANDS];
} tfr_walk;

/* What an elementwise kernel does: a number of its op and two attributes. */
typedef struct tfr_function {
    int32_t op;
    float a, b;
    int32_t mode;
} tfr_function;

/* A reduction: output i takes the elements at kept(i) + reduced(j) of the input for all j. */
typedef struct tfr_reducing {
    tfr_walk kept, reduced;
    int32_t op;
    float scale; /* of the result before the last function: 1 / n of a mean */
} tfr_reducing;

/* Lanes along one axis of a plain tensor: element (o, j, i) at (o * n + j) * inner + i. */
typedef struct tfr_lanes {
    int32_t outer, n, inner;
} tfr_lanes;

/* A window over up to 2 axes; one axis has the dims of y = 1. */
typedef struct tfr_window {
    int32_t planes;         /* batch * channels */
    int32_t x[2], y[2];     /* dims */
    int32_t kernel[2], stride[2], dilation[2], pad[2], pad_end[2];
    int32_t include_pad, columns; /* AveragePool's count_include_pad, MaxPool's storage_order */
    /* of kernels for channels last: how many there are, and which of x, y and indices lie so */
    int32_t channels;
    int32_t x_last, y_last, indices_last;
    int32_t power; /* of LpPool */
} tfr_window;

/* Of a window's dims of x and y, of its channels and strides, which kernels divide by; and of how
 * many strides cover a row of x. */
typedef struct tfr_window_divisors {
    tfr_divisor x[2], y[2], channels, stride[2], cells;
} tfr_window_divisors;

/*
 * How tiles of a product are computed (tile.h): `across` of them, `down` and of `outer` products,
 * parts in all; by 1 << teams_shift teams each, and in splits of split_k steps of the sum.
 */
typedef struct tfr_tiling {
    int32_t teams_shift, splits, split_k, parts;
    tfr_divisor across, down, outer;
} tfr_tiling;

/*
 * C[b] = alpha * A[b] * B[b] + beta * bias, row-major C [M, N]; A is read at
 * a + m * a_row + k * a_column, B at b + k * b_row + n * b_column.
 */
typedef struct tfr_product {
    int32_t M, N, K;
    int32_t a_row, a_column, b_row, b_column;
    int32_t bias_row, bias_column;
    int32_t relu; /* at the end */
    float alpha, beta;
    tfr_walk batch; /* operands 0: A, 1: B */
    tfr_tiling tiling;
} tfr_product;

/* A convolution of x [N, C, x0, x1] with w [M, C / groups, k0, k1] to y [N, M, y0, y1]. */
typedef struct tfr_conv {
    int32_t batch, channels, filters; /* N; C / groups; M / groups */
    int32_t groups;
    int32_t relu; /* at the end of the forward one */
    tfr_window window;
    tfr_divisor y_plane, y_row, x_plane, x_row, taps, kernel_row, filters_d, stride[2];
    tfr_tiling tiling;
} tfr_conv;

/*
 * A direct convolution (conv_direct.cu) of x [batch, groups * channels, x0, x1] with stride and
 * dilation 1 to y [batch, groups * filters, y0, y1]; channels and filters are those of a group. The
 * taps of a filter's channel lie at strides in w, mirrored or not.
 */
enum { TFR_DIRECT_THREADS = 512, TFR_DIRECT_FLOATS = 10240, TFR_DIRECT_MOVES = 1024 };
typedef struct tfr_direct {
    int32_t batch, groups, channels, filters;
    int32_t x[2], y[2], pad[2];
    int32_t w_group, w_filter, w_channel, is_mirrored;
    int32_t relu; /* at the end */
    /* A block has so many samples, rows of y and filters, a multiple of 8. A team of its threads
     * has `share` of the channels, `chunk` of them at once. */
    int32_t samples, rows, block_filters, teams, share, chunk;
    int32_t pitch; /* of rows in shared memory */
    tfr_divisor filter_tiles, row_tiles, groups_d;
    /* threads of a team, and with the same filters; parts of a row of y */
    tfr_divisor team, places, segments;
    tfr_divisor rows_d, samples_d, x_row, y_piece; /* elements of y of a sample's rows */
} tfr_direct;

/*
 * The gradient of the filter of such a convolution (conv_direct_filter.cu). A block has so many
 * channels and filters, the latter a multiple of 8, and `share` of the chunks, which are so many
 * rows of y of a sample. Its teams of threads divide the rows among them.
 */
typedef struct tfr_direct_filter {
    int32_t batch, groups, channels, filters;
    int32_t x[2], y[2], pad[2];
    int32_t rows, block_channels, block_filters, teams, share, chunks;
    /* in shared memory: of rows; of a channel's plane, odd; of the planes of 8 filters */
    int32_t x_pitch, y_pitch, x_floats, y_floats;
    tfr_divisor filter_tiles, channel_tiles, groups_d;
    tfr_divisor team, channels_d; /* threads; channels of a block */
    tfr_divisor parts;            /* chunks of a sample */
    tfr_divisor x_row, y_row;
} tfr_direct_filter;

/*
 * A transposed convolution; x of its window is what is written. Of `stride` outputs in a row each
 * meets other taps: a phase. There are phase[d] of them along an axis, and u[d] outputs, or one
 * less, in each; taps of it are step[d] elements of the input apart. taps_row: of a phase that has
 * one tap more than others along the last axis, or not, how many it has there.
 */
typedef struct tfr_transposed {
    tfr_conv conv;
    int32_t phase[2], u[2], step[2];
    tfr_divisor u_plane, u_row, taps_row[2];
} tfr_transposed;

/*
 * A product of bytes: of A, B and y which are unsigned (a flip is 0x80 then, else 0), and the steps
 * of zero points and scales along rows of A and columns of B: 0 = one for all.
 */
typedef struct tfr_integers {
    int32_t a_flip, b_flip, y_signed;
    int32_t a_zeros, b_zeros, a_scales, b_scales;
} tfr_integers;

/* What drawing kernels take: the call's seed, if it has one, and the distribution. */
typedef struct tfr_draw {
    int32_t n;
    int32_t has_seed;
    int32_t each_run; /* with a seed runs differ, too */
    uint32_t subsequence;
    uint64_t seed;
    float a, b; /* mean and deviation, low and high, ratio */
} tfr_draw;

/* Row normalizations and batch norms. */
typedef struct tfr_norm {
    int32_t rows, n, plane;
    int32_t rms, unbiased;
    float epsilon, momentum;
} tfr_norm;

/* Groups of n elements each, of `channels`; in `parts` of `part` elements, the last one shorter. */
typedef struct tfr_groups {
    int32_t groups, of_sample, channels, n;
    int32_t parts, part;
    float epsilon;
    tfr_divisor plane;
} tfr_groups;

/* LRN of n elements: scale is alpha / size, before and after are channels of the window. */
typedef struct tfr_lrn {
    int32_t n, before, after;
    float scale, beta, bias;
    tfr_divisor plane, channels;
} tfr_lrn;

/* How scales and zero points follow the elements of x. */
enum { TFR_QUANTIZED_TENSOR, TFR_QUANTIZED_AXIS, TFR_QUANTIZED_BLOCKS };

/* Quantizing n elements and back, whose axis is followed by `inner` others and cut into blocks. */
typedef struct tfr_quantization {
    int32_t n, mode, blocks;
    int32_t scale_type, precision, y_type; /* tfr_dtype */
    int32_t bytes;                         /* of an integer that is written */
    float low, high;                       /* its bounds */
    tfr_divisor inner, axis, block;
} tfr_quantization;

/* Gather along an axis: y (o, j, i) = x (o, index[j], i). */
typedef struct tfr_gathering {
    int32_t outer, dim, n_index, inner;
    tfr_divisor inner_d, index_d;
} tfr_gathering;

/* In the order of plan_resize.c. */
enum { TFR_RESIZE_NEAREST, TFR_RESIZE_LINEAR, TFR_RESIZE_CUBIC };
enum {
    TFR_RESIZE_ROUND_PREFER_FLOOR,
    TFR_RESIZE_ROUND_PREFER_CEIL,
    TFR_RESIZE_FLOOR,
    TFR_RESIZE_CEIL
};
enum {
    TFR_RESIZE_HALF_PIXEL,
    TFR_RESIZE_HALF_PIXEL_SYMMETRIC,
    TFR_RESIZE_PYTORCH_HALF_PIXEL,
    TFR_RESIZE_ALIGN_CORNERS,
    TFR_RESIZE_ASYMMETRIC,
    TFR_RESIZE_CROP
};
enum { TFR_RESIZE_AXES = 3, TFR_RESIZE_RANK = 2 * TFR_RESIZE_AXES + 1 };

/* An axis that is resized from n to m; its entries in the tables of places and of weights. */
typedef struct tfr_resize_axis {
    double scale, begin, end; /* begin and end of the region of interest */
    int32_t n, m;
    int32_t start, taps; /* the first tap, 0 or less; 0 taps: elements are moved */
    int32_t table, weights;
    int32_t stride; /* in x */
} tfr_resize_axis;

/* y of n elements as a space of axes, each copied (which -1) or axis number `which`. */
typedef struct tfr_resizing {
    double cubic_a;
    tfr_resize_axis axis[TFR_RESIZE_AXES];
    int32_t n, n_axes, places;
    int32_t mode, nearest, transform, antialias, exclude_outside;
    float extrapolation;
    int32_t rank;
    int32_t strides[TFR_RESIZE_RANK], which[TFR_RESIZE_RANK];
    tfr_divisor dims[TFR_RESIZE_RANK];
} tfr_resizing;

/* Strides of an operand by batch, head and row, in elements. */
typedef struct tfr_heads {
    int32_t batch, head, row;
} tfr_heads;

/*
 * Attention of TQ queries to T keys, `past` of them in past_key; `group` heads of queries share one
 * of keys. mask: strides by batch, head and query. rows: queries of all heads, in parts of keys.
 */
typedef struct tfr_attention {
    int32_t HQ, HK, group, TQ, T, past, has_past, S, SV;
    tfr_heads of_q, of_k, of_v, of_y;
    int32_t has_mask, mask_is_bool, mask_length, mask[3];
    int32_t left, right, causal; /* windows; -1: none */
    float scale, softcap;
    int32_t rows, parts;
} tfr_attention;
/* GatherElements: element i of y is that of x at the walk's place, and index[i] * stride. */
typedef struct tfr_picking {
    int32_t dim, stride;
    tfr_walk walk;
} tfr_picking;

/*
 * Tuples of `depth` indices, which are numbers of rows of `inner` elements; GatherND: those of
 * tuples * b to tuples * (b + 1) are of batch b, with rows of its own.
 */
typedef struct tfr_tuples {
    int32_t n, depth, tuples, batch_rows; /* n: elements of all the tuples' rows */
    tfr_divisor inner, tuples_d;
    int32_t dims[TFR_WALK_DIMS];
} tfr_tuples;

/*
 * Scatters: lanes of `rows` rows of `inner` elements, and of n updates of rows, each with a tuple
 * of `depth` indices for its row. Operands of the walk over lanes: y, and the updates, whose
 * indices begin at the same number. A block has rows_each of the rows and `columns` elements of
 * each, a power of 2; a lane has `ranges` * `tiles` blocks.
 */
enum { TFR_SCATTER_NONE, TFR_SCATTER_ADD, TFR_SCATTER_MUL, TFR_SCATTER_MIN, TFR_SCATTER_MAX };
typedef struct tfr_scattering {
    int32_t op, is_wide; /* indices of 64 bits */
    int32_t n, rows, inner, depth;
    int32_t row_stride, update_stride, index_stride; /* from one to the next */
    int32_t rows_each, ranges, columns, tiles;
    int32_t dims[TFR_WALK_DIMS];
    tfr_walk lanes;
} tfr_scattering;

/* OneHot: y [outer, depth, inner] of an index [outer, inner]. */
typedef struct tfr_one_hot {
    int32_t n;
    tfr_divisor depth, inner;
} tfr_one_hot;

/* ReverseSequence: i / time_stride % times is the time of element i, and so for the sample. */
typedef struct tfr_reversing {
    int32_t n;
    tfr_divisor time_stride, times, batch_stride, samples;
} tfr_reversing;

/* CumSum and CumProd along lanes; a block has a chunk of one. */
typedef struct tfr_cumulating {
    int32_t lanes, n, exclusive, reverse;
    int32_t chunk, chunks; /* elements; of a lane */
    tfr_divisor inner;
} tfr_cumulating;

/* The k first of each row of n elements; sorted: k rounded up to a power of 2. */
enum { TFR_TOP_K = 2048 };
typedef struct tfr_top {
    int32_t rows, n, k, sorted, largest;
    tfr_divisor inner;
} tfr_top;

/*
 * Pad: along axis d of y, element j is element j - pad of the `kept` ones of x, which lie `stride`
 * apart from offset on. What is outside is a constant in mode 0, else an element of x.
 */
enum { TFR_PAD_CONSTANT, TFR_PAD_EDGE, TFR_PAD_REFLECT, TFR_PAD_WRAP };
typedef struct tfr_padding {
    int32_t n, rank, mode, offset;
    tfr_divisor dims[TFR_WALK_DIMS]; /* of y */
    int32_t pad[TFR_WALK_DIMS], kept[TFR_WALK_DIMS], stride[TFR_WALK_DIMS];
} tfr_padding;

/* Trilu of n elements in matrices: what is left of column - row >= k, or of <= k. */
typedef struct tfr_triangle {
    int32_t n, upper, k;
    tfr_divisor rows, columns;
} tfr_triangle;

/* Cross entropy over x [outer, classes, inner]. */
typedef struct tfr_loss {
    int32_t outer, classes, inner;
    int32_t has_ignore, reduction; /* 0 none, 1 sum, 2 mean */
    int32_t entropy;
    int64_t ignore;
} tfr_loss;

/* Equations A X = B of `batch`, whose operands are the matrices of A and B: A is n x n, B n x k. */
typedef struct tfr_solving {
    int32_t n, k;
    int32_t has_b; /* else the unit matrix */
    tfr_walk batch;
} tfr_solving;

/* A step of an optimizer, ai.onnx.preview.training. */
typedef struct tfr_optimizer {
    float norm, post, alpha, beta, epsilon, decay;
    int32_t nesterov;
} tfr_optimizer;

#endif
