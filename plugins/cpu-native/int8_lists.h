/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int8_lists.h: panels of B for AVX2, whose instruction for bytes (vpmaddubsw) sums two products of
 * a uint8 and an int8 in 16 bits and saturates. Constant weights tell where it cannot:
 *
 *   octets  8 terms of 16 columns. Of any four products that are summed in 16 bits the positive
 *           weights sum to at most 128, and the negative ones to at least -128: 255 * 128 = 32640.
 *           One conversion to 32 bits serves two instructions.
 *   quads   4 terms of 16 columns, and the same of any two products
 *   halves  4 terms of 8 columns: what was taken off the weights of quads to make them so
 *
 * Weights that are normally distributed have most of their terms in octets, and few halves. Each
 * list has the number of its first group of 4 terms, so that the order of terms is free.
 */
#ifndef NATIVE_INT8_LISTS_H
#define NATIVE_INT8_LISTS_H

#include "int8_way.h"

enum { NATIVE_LIST_COLUMNS = 16, NATIVE_LIST_MOST = 128 };

/* Then the numbers of groups, octets first, and at the next multiple of 64 bytes the weights. */
typedef struct native_int8_lists {
    int32_t octets, quads, halves;
    int32_t weights; /* where they begin, in bytes */
} native_int8_lists;

/* Of one panel with k terms; bit 30 of a half's number says that it is of the last 8 columns. */
enum { NATIVE_LIST_LAST_8 = 1 << 30 };
size_t native_int8_lists_bytes(int64_t k, int64_t halves);

/*
 * Makes the lists of 16 columns, of which there are `columns`, or, if to is NULL, only counts:
 * halves in *halves, all in quads and octets in *others.
 */
void native_int8_make_lists(const native_int8_matrix *b, bool is_signed, int64_t k, int64_t column,
                            int columns, int64_t *halves, int64_t *others, native_int8_lists *to);

#endif
