/* SPDX-License-Identifier: Apache-2.0 */
/* prefix.c: see prefix.h. */
#include <string.h>

#include "prefix.h"

tfr_status tfr__prefix(tfr_err *err, tfr_status status, const char *format, ...)
{
    char front[192];
    size_t capacity, n, kept, skipped;
    va_list args;

    capacity = err ? tfr__text_bytes(err->size, offsetof(tfr_err, text), sizeof err->text) : 0;
    if (!capacity--)
        return status;
    va_start(args, format);
    vsnprintf(front, sizeof front, format, args);
    va_end(args);
    n = strlen(front);
    kept = strlen(err->text);
    if (n > capacity / 2)
        n = capacity / 2;
    if (kept > capacity - n) {
        /* The cause is at the end: what is cut stands in the middle. */
        skipped = kept - (capacity - n);
        kept -= skipped;
        memmove(err->text + n, err->text + skipped, kept);
        memcpy(err->text + n, "...", kept < 3 ? kept : 3);
    } else {
        memmove(err->text + n, err->text, kept);
    }
    memcpy(err->text, front, n);
    err->text[n + kept] = 0;
    return status;
}

tfr_status tfr__model_status(tfr_err *err, tfr_status status)
{
    if (status == TFR_ESHAPE || status == TFR_EDTYPE || status == TFR_ELIMIT ||
        status == TFR_EINVAL) {
        status = TFR_EMODEL;
        if (err && err->size >= offsetof(tfr_err, native))
            err->code = status;
    }
    return status;
}
