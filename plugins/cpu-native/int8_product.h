/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int8_product.h: products of 8-bit integers with exact sums, and convolutions, which are products
 * whose rows are windows of an image with its channels last; for kernels and for programs.
 *
 *   S[M,N] = sum over k of (A[M,K] - a_zero[M]) * (B[K,N] - b_zero[N]), the low 32 bits
 *   C[M,N] = finish(S), see native_int8_finish
 *
 *   native_int8_product p;
 *   native_int8_plan(&p, cpu, &shape, b if it is constant, threads);  once
 *   native_int8_pack(&p, &b, packed, 0, p.n_panels);                  once if B is constant
 *   native_int8_run(&p, &args, scratch of one thread, begin, end);    any split of [0, p.n_units)
 *
 * A plan is plain data without pointers to memory of its own. Nothing here allocates or starts
 * threads. A and B may each be of uint8 or int8. No sum saturates on its way, whatever the values
 * are: the same bits on every processor. Groups of a convolution are products of their own, but a
 * depthwise one is a loop of its own (native_int8_depthwise).
 */
#ifndef NATIVE_INT8_PRODUCT_H
#define NATIVE_INT8_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tfrun/plugin.h>

enum { NATIVE_INT8_AXES = 3 };

/* ---- what is multiplied ---- */

/*
 * Row r of A is the window of output pixel r, images one after the other, then the pixels of each
 * in the order of out. Its terms are the taps in the order of kernel, each with all its channels
 * beside each other: k = tap * channels + c. Taps outside of the image add nothing. rank 0 = no
 * windows; axes that are not there are never read.
 */
typedef struct native_int8_window {
    int rank; /* 1 to 3 spatial axes, outermost first */
    int64_t in[NATIVE_INT8_AXES], out[NATIVE_INT8_AXES], kernel[NATIVE_INT8_AXES];
    int64_t stride[NATIVE_INT8_AXES], dilation[NATIVE_INT8_AXES];
    int64_t pad[NATIVE_INT8_AXES]; /* in front */
    int64_t channels;              /* of one group */
    int64_t pixel_step;            /* elements from pixel to pixel: the channels of all groups */
    int64_t image_step;            /* elements from image to image */
} native_int8_window;

typedef struct native_int8_shape {
    int64_t m, n, k; /* m: all output pixels of all images; k: taps * channels */
    bool a_signed, b_signed;
    int64_t lda;               /* elements from row to row of A; where there is a window, unused */
    int64_t ldc;               /* elements from row to row of C */
    native_int8_window window; /* rank 0: rows of A are K elements beside each other */
} native_int8_shape;

/* What products of 8 bits are computed with, of the features that the user allows. */
typedef struct native_int8_way native_int8_way;
typedef struct native_int8_cpu {
    const native_int8_way *constant, *variable; /* for B that is constant, and that is not */
    const native_int8_way *many; /* for a constant B of many columns instead of variable, or NULL */
    const native_int8_way *depthwise;
    const native_int8_way *winograd; /* NULL = direct products are faster */
    const native_int8_way *narrow;   /* NULL = products of whole panels are faster */
    int64_t l2_bytes;
} native_int8_cpu;
void native_int8_find_cpu(native_int8_cpu *cpu, const char *features);
/* "avx512 vnni", "avx vnni", "avx2", "portable"... */
const char *native_int8_way_name(const native_int8_way *way);
/* Of a panel of B that is constant: what the last one has less of is computed all the same. */
int64_t native_int8_panel_columns(const native_int8_cpu *cpu);

typedef struct native_int8_product {
    native_int8_shape shape;
    const native_int8_way *way;
    int64_t n_units;
    size_t scratch_bytes; /* of each thread, aligned to 64 */
    size_t packed_bytes;  /* of B, aligned to 64 */
    /* The split: rows in blocks, columns in panels, both in units. */
    int64_t row_block, row_units, column_units, n_panels;
    int64_t k_padded;    /* terms of a row of A that is packed */
    int64_t panel_bytes; /* of B */
    bool in_place;       /* rows of A are read where they lie */
} native_int8_product;

/*
 * B as it lies: element (k, n) is at n * n_step + k / inner * outer_step + k % inner * inner_step.
 * Rows [K][N]: {b, 1, K, N, 0}. Weights [M][C][taps] of a convolution, n = their M:
 * {w, C * taps, C, taps, 1}.
 */
typedef struct native_int8_matrix {
    const void *at;
    int64_t n_step;
    int64_t inner, inner_step, outer_step;
} native_int8_matrix;

/*
 * m, n and k are at least 1. constant_b is looked at, for the way that suits it; NULL = B is not
 * known yet. threads is how many will share the units, for their number.
 */
void native_int8_plan(native_int8_product *p, const native_int8_cpu *cpu,
                      const native_int8_shape *shape, const native_int8_matrix *constant_b,
                      int threads);
/* The same plan for a B of the first n columns, whose units are as many. */
void native_int8_plan_less(native_int8_product *p, int64_t n);
/* Panels [begin, end) of p.n_panels: threads may share the packing. */
void native_int8_pack(const native_int8_product *p, const native_int8_matrix *b, void *packed,
                      int64_t begin, int64_t end);

/* ---- what becomes of the sums ---- */

typedef enum native_int8_result {
    NATIVE_INT8_TO_I32,
    NATIVE_INT8_TO_F32,
    NATIVE_INT8_TO_U8,
    NATIVE_INT8_TO_I8
} native_int8_result;

/*
 * Then an addition of what is quantized, each step rounded to float32 as DequantizeLinear, Add and
 * QuantizeLinear do it: y of the product becomes
 *
 *   limit(round(((y - zero) * scale + (with - with_zero) * with_scale) / sum_scale) + sum_zero)
 *
 * in a type of 8 bits of its own. low and high are of the finished integers: a Relu is low =
 * sum_zero.
 */
typedef struct native_int8_addition {
    const void *with; /* like C, with the same step of rows; may be C itself */
    bool with_signed, sum_signed;
    float scale, with_scale, sum_scale;
    int32_t with_zero, sum_zero;
    int32_t low, high;
} native_int8_addition;

/*
 *   I32     y = S + bias
 *   F32     y = limit(S * scale * row_scale + addend + residual), each step rounded to float32, S +
 *           bias in front of S
 *   U8, I8  y = limit(round((S + bias) * rescale) + zero): ties to even, product and quotient of
 *           doubles; S must stay below 2^31 in size, and S + bias unless bias_is_far says so
 *
 * Each of bias, row_scale, addend, residual and then may be NULL, and means nothing then.
 */
typedef struct native_int8_finish {
    int32_t result;         /* native_int8_result */
    const int32_t *bias;    /* N */
    const float *scale;     /* N, or one; for F32 */
    bool bias_is_far;       /* for U8 and I8: it is added in double, which takes longer */
    bool scale_each;        /* of scale and rescale: N of them */
    const float *row_scale; /* M; for F32 */
    const float *addend;    /* N; for F32 */
    const float *residual;  /* like C, with the same step of rows; for F32; may be C itself */
    float low_f, high_f;    /* of F32; -INFINITY and INFINITY are none */
    const double *rescale;  /* N, or one; for U8 and I8: a_scale * b_scale[n] / c_scale */
    int32_t zero;           /* of C */
    int32_t low, high;      /* of the finished integers: 0 and 255, -128 and 127, or less */
    const native_int8_addition *then; /* for U8 and I8 */
} native_int8_finish;

typedef struct native_int8_args {
    const void *a;
    const void *packed;
    void *c;          /* of the type that finish says */
    int64_t row_of_c; /* of depthwise ones: the row that c begins with */
    int32_t a_zero;
    const int32_t *a_zeros; /* one for each row; NULL = all are a_zero */
    int32_t b_zero;
    const int32_t *b_zeros; /* one for each column; NULL = all are b_zero */
    native_int8_finish finish;
} native_int8_args;

/* Computes the units [begin, end). scratch is for this thread alone meanwhile. */
void native_int8_run(const native_int8_product *p, const native_int8_args *args, void *scratch,
                     int64_t begin, int64_t end);
/*
 * Rows [row, row + rows) of C, at most p.row_block of them, all columns. args->c is where row `row`
 * goes; all else is as ever. For those who want to do something with the rows at once.
 */
void native_int8_run_rows(const native_int8_product *p, const native_int8_args *args, void *scratch,
                          int64_t row, int64_t rows);
/* All of it on the host's threads; workspace is so many bytes, aligned to 64. */
size_t native_int8_workspace(const native_int8_product *p, int n_threads);
void native_int8_run_all(const native_int8_product *p, const native_int8_args *args,
                         void *workspace, const tfr_host *host, int n_threads);

/* ---- depthwise ---- */

/*
 * Every channel by itself: K is the number of taps, at most NATIVE_INT8_MOST_TAPS, and N that of
 * the window's channels, which follow each other in pixels: pixel_step >= N. C[r][n] is as above,
 * with all that finish can do. Packed weights are differences to their zero points; b gives them
 * as a matrix with k = tap. There are no a_zeros, and zero points of B are not looked at again.
 */
enum { NATIVE_INT8_MOST_TAPS = 256 };
size_t native_int8_depthwise_bytes(const native_int8_shape *shape);
void native_int8_depthwise_pack(const native_int8_shape *shape, const native_int8_matrix *b,
                                int32_t b_zero, const int32_t *b_zeros, void *packed);
/* Rows [begin, end) of C. */
void native_int8_depthwise_run(const native_int8_cpu *cpu, const native_int8_shape *shape,
                               const native_int8_args *args, int64_t begin, int64_t end);

#endif
