/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region.h: memory that lives exactly as long as its owner: many small pieces, given back together.
 * Pieces are never moved or freed one by one. The caller serializes.
 */
#ifndef TFR_CORE_REGION_H
#define TFR_CORE_REGION_H

#include <stdarg.h>
#include <stddef.h>

typedef struct tfr__region {
    struct tfr__piece *first;
} tfr__region;

/* Zeroed; NULL = out of memory. */
void *tfr__region_alloc(tfr__region *region, size_t n, size_t size);
char *tfr__region_copy(tfr__region *region, const char *text);
char *tfr__region_span(tfr__region *region, const char *text, size_t bytes);
char *tfr__region_print(tfr__region *region, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
char *tfr__region_vprint(tfr__region *region, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
void tfr__region_free(tfr__region *region);

#endif
