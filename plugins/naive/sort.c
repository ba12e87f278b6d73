/* SPDX-License-Identifier: Apache-2.0 */
/* sort.c: merge sort and binary search over the numbers of items. */
#include "sort.h"

#include <math.h>
#include <string.h>

int64_t *naive_sort(int64_t n, int64_t *scratch, naive_compare *compare, const void *context)
{
    int64_t *from = scratch, *to = scratch + n, *swap, width, left, i, j, at;

    for (i = 0; i < n; i++)
        from[i] = i;
    for (width = 1; width < n; width *= 2) {
        for (left = 0; left < n; left += 2 * width) {
            int64_t middle = left + width < n ? left + width : n;
            int64_t right = middle + width < n ? middle + width : n;
            for (i = left, j = middle, at = left; at < right; at++) {
                if (i < middle && (j == right || compare(context, from[i], from[j]) <= 0))
                    to[at] = from[i++];
                else
                    to[at] = from[j++];
            }
        }
        swap = from;
        from = to;
        to = swap;
    }
    return from;
}

int64_t naive_search(const int64_t *order, int64_t n, naive_match *match, const void *context)
{
    int64_t low = 0,
            high = n; /* the last item that is not above is at a place in [low-1, high-1] */

    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (match(context, order[middle]) < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return low > 0 && match(context, order[low - 1]) == 0 ? low - 1 : -1;
}

int naive_compare_floats(double a, double b)
{
    if (isnan(a) || isnan(b))
        return !!isnan(a) - !!isnan(b);
    return (a > b) - (a < b);
}

int naive_compare_strings(const tfr_string *a, const tfr_string *b)
{
    uint64_t n = a->bytes < b->bytes ? a->bytes : b->bytes;
    int order = n ? memcmp(a->data, b->data, (size_t)n) : 0;

    return order ? order : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}
