/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int8_lists.h: panels of B for AVX2, whose instruction for bytes (vpmaddubsw) sums two products of
 * a uint8 and an int8 in 16 bits and saturates. Constant weights tell where it cannot: where the
 * positive weights of the products sum to at most 128, and the negative ones to at least -128, for
 * 255 * 128 = 32640. That holds or not by which terms meet, and their order is free: 16 terms
 * beside each other in a row of A are loaded at once, and a shuffle takes those out that are
 * wanted. So the terms of 16 columns are sorted, 16 at a time, into eights:
 *
 *   octets  four products are summed in 16 bits, and one conversion to 32 bits serves two
 *           instructions
 *   quads   two products are
 *   wides   none are: bytes become 16 bits, which are multiplied by vpmaddwd
 *
 * All products are exact, as the sums are; which list a term is in is about time alone. Normally
 * distributed weights whose greatest is 127 have standard deviations of 25 to 45: about a half of
 * their terms go into octets and next to none into wides.
 */
#ifndef NATIVE_INT8_LISTS_H
#define NATIVE_INT8_LISTS_H

#include "int8_way.h"

enum { NATIVE_LIST_COLUMNS = 16, NATIVE_LIST_MOST = 128, NATIVE_LIST_WINDOW = 16 };

/* 8 terms: which of the 16 bytes at `first` of a row of A; NATIVE_LIST_NONE = zero. */
enum { NATIVE_LIST_TERMS = 8, NATIVE_LIST_NONE = 0x80, NATIVE_LIST_BYTES = 128 };
typedef struct native_int8_eight {
    int32_t first;
    uint8_t term[NATIVE_LIST_TERMS];
} native_int8_eight;

/*
 * Then the eights, in this order, and at the next multiple of 64 bytes their weights, of
 * NATIVE_LIST_BYTES each: [2][16][4], the first four terms of all columns in front of the others;
 * of wides [4][16][2].
 */
typedef struct native_int8_lists {
    int32_t octets, quads, wides;
    int32_t weights; /* where they begin, in bytes */
} native_int8_lists;

/* Of one panel with k terms. */
size_t native_int8_lists_bytes(int64_t k);
/* Makes the lists of 16 columns, of which there are `columns`. */
void native_int8_make_lists(const native_int8_matrix *b, bool is_signed, int64_t k, int64_t column,
                            int columns, native_int8_lists *to);
/*
 * Whether lists are faster than vpmaddwd for all, or with halves than int8_halves_avx2.h, by a few
 * samples of B. in_place: lists can read rows of A where they lie.
 */
bool native_int8_suits_lists(const native_int8_matrix *b, bool is_signed, int64_t k, int64_t n,
                             bool halves, bool in_place);

#endif
