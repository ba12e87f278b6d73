/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sort.h: sorting and looking up by number, for ops whose lists come from a file: what they cost
 * grows with the length of a list times its logarithm, whatever the list holds.
 */
#ifndef NAIVE_SORT_H
#define NAIVE_SORT_H

#include <stdint.h>
#include <tfrun/plugin.h>

/* < 0, 0, > 0 as item a of the list that context describes comes before, equals, follows item b. */
typedef int naive_compare(const void *context, int64_t a, int64_t b);

/*
 * The numbers 0 ... n-1 of a list in order, equal items in order of their numbers. scratch has room
 * for 2 n numbers; the result is one of its halves.
 */
int64_t *naive_sort(int64_t n, int64_t *scratch, naive_compare *compare, const void *context);

/* < 0, 0, > 0 as what context looks for comes before, equals, follows an item of its list. */
typedef int naive_match(const void *context, int64_t item);

/* The place in a sorted order of the last item that equals what context looks for, or -1. */
int64_t naive_search(const int64_t *order, int64_t n, naive_match *match, const void *context);

/*
 * < 0, 0, > 0 as a comes before, equals, follows b: numbers ascending with NaN last and equal to
 * NaN, strings by their bytes.
 */
int naive_compare_floats(double a, double b);
int naive_compare_strings(const tfr_string *a, const tfr_string *b);

#endif
