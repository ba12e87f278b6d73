/* SPDX-License-Identifier: Apache-2.0 */
/* region.c: a chain of allocations with one end of life. Not a pool: each piece is a plain request.
 */
#include "base/region.h"
#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

struct tfr__piece {
    struct tfr__piece *next;
    max_align_t bytes[]; /* the piece */
};

void *tfr__region_alloc(tfr__region *region, size_t n, size_t size)
{
    struct tfr__piece *piece;
    if (size && n > (SIZE_MAX - sizeof *piece) / size)
        return NULL;
    piece = tfr__calloc(1, sizeof *piece + n * size);
    if (!piece)
        return NULL;
    piece->next = region->first;
    region->first = piece;
    return piece->bytes;
}

char *tfr__region_span(tfr__region *region, const char *text, size_t bytes)
{
    char *copy = bytes < SIZE_MAX ? tfr__region_alloc(region, bytes + 1, 1) : NULL;
    if (copy)
        memcpy(copy, text, bytes);
    return copy;
}

char *tfr__region_copy(tfr__region *region, const char *text)
{
    return tfr__region_span(region, text, strlen(text));
}

char *tfr__region_vprint(tfr__region *region, const char *format, va_list args)
{
    va_list again;
    char *text;
    int n;
    va_copy(again, args);
    n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    text = n < 0 ? NULL : tfr__region_alloc(region, (size_t)n + 1, 1);
    if (text)
        vsnprintf(text, (size_t)n + 1, format, args);
    return text;
}

char *tfr__region_print(tfr__region *region, const char *format, ...)
{
    va_list args;
    char *text;
    va_start(args, format);
    text = tfr__region_vprint(region, format, args);
    va_end(args);
    return text;
}

void tfr__region_free(tfr__region *region)
{
    while (region->first) {
        struct tfr__piece *piece = region->first;
        region->first = piece->next;
        tfr__free(piece);
    }
}
