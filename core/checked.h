/* SPDX-License-Identifier: Apache-2.0 */
/* checked.h: arithmetic on 64-bit sizes that says when it does not fit. */
#ifndef TFR__CHECKED_H
#define TFR__CHECKED_H

#include <stdbool.h>
#include <stdint.h>

/* False, and *out untouched, if the result does not fit. */
static inline bool tfr__add64(int64_t a, int64_t b, int64_t *out)
{
    if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b)
        return false;
    *out = a + b;
    return true;
}

static inline bool tfr__mul64(int64_t a, int64_t b, int64_t *out)
{
    if (a && b) {
        if (a > 0 ? (b > 0 ? a > INT64_MAX / b : b < INT64_MIN / a)
                  : (b > 0 ? a < INT64_MIN / b : b < INT64_MAX / a))
            return false;
    }
    *out = a * b;
    return true;
}

#endif
