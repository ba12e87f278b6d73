/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int8_narrow.h: convolutions of 8-bit integers in groups of at most 8 outputs, and exact.
 *
 *   native_int8_narrow w;
 *   if (native_int8_narrow_plan(&w, cpu, &shape, groups))             once
 *   native_int8_narrow_pack(&w, &b, zeros of b, packed, 0, w.parts);
 *   native_int8_narrow_run(&w, &args, scratch of one thread, begin, end);
 *                                                       any split of [0, w.n_units)
 *
 * B is as int8_product.h has it, of the terms of one group, and so are the results: the same bits.
 * There are no a_zeros, and zero points of B are not looked at again.
 */
#ifndef NATIVE_INT8_NARROW_H
#define NATIVE_INT8_NARROW_H

#include "int8_product.h"

typedef struct native_int8_narrow {
    native_int8_shape shape; /* n: of all groups; window.channels: of all groups */
    const native_int8_way *way;
    int64_t n_units;
    size_t scratch_bytes; /* of each thread, aligned to 64 */
    size_t packed_bytes;  /* of B, aligned to 64 */
    int64_t groups;
    int64_t outs, ins;     /* of a group */
    int64_t vector_ins;    /* channels that a vector of 8 outputs reads */
    int64_t parts;         /* of two vectors of outputs */
    int64_t taps, pairs;   /* pairs: of the terms of a vector */
    int64_t lines, blocks; /* of the output in a block, and blocks of an image */
    int64_t height, width; /* of what a block reads */
    int64_t offsets_bytes; /* aligned, as all is in scratch memory */
} native_int8_narrow;

/* shape: of all outputs, with the terms of one group. Whether it is such a convolution. */
bool native_int8_narrow_plan(native_int8_narrow *w, const native_int8_cpu *cpu,
                             const native_int8_shape *shape, int64_t groups);
/* Parts [begin, end). b_zeros: one for each column; NULL = all are b_zero. */
void native_int8_narrow_pack(const native_int8_narrow *w, const native_int8_matrix *b,
                             int32_t b_zero, const int32_t *b_zeros, void *packed, int64_t begin,
                             int64_t end);
void native_int8_narrow_run(const native_int8_narrow *w, const native_int8_args *args,
                            void *scratch, int64_t begin, int64_t end);

#endif
