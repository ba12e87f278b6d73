/* SPDX-License-Identifier: Apache-2.0 */
/* int8_sort.h: how the terms of a window are sorted into the eights of int8_lists.h. */
#ifndef NATIVE_INT8_SORT_H
#define NATIVE_INT8_SORT_H

#include "int8_lists.h"

/* Of a term, or of several: the sizes of its positive and of its negative weights. */
typedef struct native_int8_parts {
    uint8_t above[NATIVE_LIST_COLUMNS], below[NATIVE_LIST_COLUMNS];
} native_int8_parts;

/* Terms by size, the greatest first; those that are not there are zeros at the end. */
typedef struct native_int8_terms {
    int8_t w[NATIVE_LIST_WINDOW][NATIVE_LIST_COLUMNS];
    uint8_t place[NATIVE_LIST_WINDOW]; /* among the 16 bytes, or NATIVE_LIST_NONE */
    native_int8_parts term[NATIVE_LIST_WINDOW],
        pair[NATIVE_LIST_WINDOW][NATIVE_LIST_WINDOW]; /* pair: [i][j] with i < j, where they fit */
    uint32_t fits[NATIVE_LIST_WINDOW];                /* a bit for each other term */
    int tries;
} native_int8_terms;

/* Sorted terms of an eight. */
typedef enum native_int8_list {
    NATIVE_INT8_OCTET,
    NATIVE_INT8_QUADS,
    NATIVE_INT8_WIDE
} native_int8_list;
typedef struct native_int8_sorted {
    native_int8_list list;
    uint8_t term[NATIVE_LIST_TERMS];
} native_int8_sorted;

/*
 * The eights of n terms, 8 or 16: two octets, one and quads, or quads, whichever of these there is
 * first. Where there is none of them, what has the fewest wides.
 */
void native_int8_sort_terms(native_int8_terms *s, int n, native_int8_sorted *to);

#endif
