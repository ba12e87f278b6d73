/* SPDX-License-Identifier: Apache-2.0 */
/* checked.h: arithmetic on 64-bit sizes that says when it does not fit. */
#ifndef TFR__CHECKED_H
#define TFR__CHECKED_H

#include <stdbool.h>
#include <stdint.h>

/* False, and *out untouched, if the result does not fit. */
static inline bool tfr__add64(int64_t a, int64_t b, int64_t *out)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *out = sum;
    return true;
}

static inline bool tfr__mul64(int64_t a, int64_t b, int64_t *out)
{
    int64_t product;
    if (__builtin_mul_overflow(a, b, &product))
        return false;
    *out = product;
    return true;
}

#endif
