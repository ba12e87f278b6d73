/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keep.h: memory that lives exactly as long as its owner: many small pieces, given back together.
 * Pieces are never moved or freed one by one. The caller serializes.
 */
#ifndef TFR_CORE_KEEP_H
#define TFR_CORE_KEEP_H

#include <stdarg.h>
#include <stddef.h>

typedef struct tfr__keep {
    struct tfr__kept *first;
} tfr__keep;

/* Zeroed; NULL = out of memory. */
void *tfr__keep_alloc(tfr__keep *keep, size_t n, size_t size);
char *tfr__keep_copy(tfr__keep *keep, const char *text);
char *tfr__keep_span(tfr__keep *keep, const char *text, size_t bytes);
char *tfr__keep_print(tfr__keep *keep, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
char *tfr__keep_vprint(tfr__keep *keep, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
void tfr__keep_free(tfr__keep *keep);

#endif
