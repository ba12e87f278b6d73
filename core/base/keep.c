/* SPDX-License-Identifier: Apache-2.0 */
/* keep.c: a chain of allocations with one end of life. Not a pool: each piece is a plain request.
 */
#include "base/keep.h"
#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

struct tfr__kept {
    struct tfr__kept *next;
    max_align_t bytes[]; /* the piece */
};

void *tfr__keep_alloc(tfr__keep *keep, size_t n, size_t size)
{
    struct tfr__kept *kept;
    if (size && n > (SIZE_MAX - sizeof *kept) / size)
        return NULL;
    kept = tfr__calloc(1, sizeof *kept + n * size);
    if (!kept)
        return NULL;
    kept->next = keep->first;
    keep->first = kept;
    return kept->bytes;
}

char *tfr__keep_span(tfr__keep *keep, const char *text, size_t bytes)
{
    char *copy = bytes < SIZE_MAX ? tfr__keep_alloc(keep, bytes + 1, 1) : NULL;
    if (copy)
        memcpy(copy, text, bytes);
    return copy;
}

char *tfr__keep_copy(tfr__keep *keep, const char *text)
{
    return tfr__keep_span(keep, text, strlen(text));
}

char *tfr__keep_vprint(tfr__keep *keep, const char *format, va_list args)
{
    va_list again;
    char *text;
    int n;
    va_copy(again, args);
    n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    text = n < 0 ? NULL : tfr__keep_alloc(keep, (size_t)n + 1, 1);
    if (text)
        vsnprintf(text, (size_t)n + 1, format, args);
    return text;
}

char *tfr__keep_print(tfr__keep *keep, const char *format, ...)
{
    va_list args;
    char *text;
    va_start(args, format);
    text = tfr__keep_vprint(keep, format, args);
    va_end(args);
    return text;
}

void tfr__keep_free(tfr__keep *keep)
{
    while (keep->first) {
        struct tfr__kept *kept = keep->first;
        keep->first = kept->next;
        tfr__free(kept);
    }
}
