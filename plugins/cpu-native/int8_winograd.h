/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int8_winograd.h: convolutions of 3 x 3 taps of 8-bit integers with fewer products, and exact.
 *
 *   native_int8_winograd w;
 *   if (native_int8_winograd_plan(&w, cpu, &shape, threads))          once
 *   native_int8_winograd_pack(&w, &b, zeros of b, packed, 0, w.n_panels);
 *   native_int8_winograd_run(&w, &args, scratch of one thread, begin, end);
 *                                                       any split of [0, w.n_units)
 *
 * B is as int8_product.h has it, and so are the results: the same bits. There are no a_zeros, and
 * zero points of B are not looked at again.
 */
#ifndef NATIVE_INT8_WINOGRAD_H
#define NATIVE_INT8_WINOGRAD_H

#include "int8_product.h"

typedef struct native_int8_winograd {
    native_int8_shape shape;
    const native_int8_way *way;
    int64_t n_units;
    size_t scratch_bytes;                /* of each thread, aligned to 64 */
    size_t packed_bytes;                 /* of B, aligned to 64 */
    int64_t n_panels;                    /* of 16 columns */
    int64_t tiles_y, tiles_x, tiles;     /* of an image; of all images */
    int64_t block, blocks, column_units; /* tiles that are transformed together, at most */
    int64_t row_step;                    /* int16 from tile to tile */
} native_int8_winograd;

/* Whether the shape is such a convolution of constant weights, and this is likely faster. */
bool native_int8_winograd_plan(native_int8_winograd *w, const native_int8_cpu *cpu,
                               const native_int8_shape *shape, int threads);
/* Panels [begin, end). b_zeros: one for each column; NULL = all are b_zero. */
void native_int8_winograd_pack(const native_int8_winograd *w, const native_int8_matrix *b,
                               int32_t b_zero, const int32_t *b_zeros, void *packed, int64_t begin,
                               int64_t end);
void native_int8_winograd_run(const native_int8_winograd *w, const native_int8_args *args,
                              void *scratch, int64_t begin, int64_t end);

#endif
