/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/fail.h: fills a tfr_err in one line. A convenience for plugins (and for tfrun itself) that
 * may use <stdio.h>; the contract does not need it.
 *
 *   if (i >= n)
 *       return tfr_fail(err, TFR_EINVAL, "index %d is outside [0, %d)", i, n);
 */
#ifndef TFRUN_FAIL_H
#define TFRUN_FAIL_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <tfrun/plugin.h>

#if defined(__GNUC__)
#define TFR__PRINTF(text, first) __attribute__((format(printf, text, first), unused))
#else
#define TFR__PRINTF(text, first)
#endif

/*
 * Each file that uses one of these has a copy. Where many files are linked together, they may share
 * one: define this as inline for all of them, and declare the functions in one file without it.
 */
#ifndef TFR_FAIL_INLINE
#define TFR_FAIL_INLINE static inline
#endif

/*
 * The bytes of a text at offset in a struct of so many bytes, of which the compiler of this file
 * knew known. A struct of somebody newer has fields behind the text, which are not ours to write.
 */
TFR_FAIL_INLINE size_t tfr__text_bytes(uint32_t size, size_t offset, size_t known)
{
    size_t given = size > offset ? size - offset : 0;
    return given < known ? given : known;
}

/* Writes only as much of *err as its size says, returns code. err may be NULL. */
TFR__PRINTF(3, 4)
TFR_FAIL_INLINE tfr_status tfr_fail(tfr_err *err, tfr_status code, const char *format, ...)
{
    size_t capacity =
        err ? tfr__text_bytes(err->size, offsetof(tfr_err, text), sizeof err->text) : 0;
    if (capacity) {
        va_list args;
        va_start(args, format);
        err->code = (int32_t)code;
        err->native = 0;
        if (TFR_HAS(err, tfr_err, launch))
            err->launch = 0;
        vsnprintf(err->text, capacity, format, args);
        va_end(args);
    }
    return code;
}

/* After tfr_fail: whose failure it is, by the id of the launch, if the caller has room for it. */
static inline void tfr_err_set_launch(tfr_err *err, uint64_t launch)
{
    if (err && TFR_HAS(err, tfr_err, launch))
        err->launch = launch;
}

/* "No" to a call, with its reason and sentence; returns TFR_OK, for no is an answer. */
TFR__PRINTF(3, 4)
TFR_FAIL_INLINE tfr_status tfr_decline(tfr_answer *answer, tfr_reason reason, const char *format,
                                       ...)
{
    size_t capacity =
        tfr__text_bytes(answer->size, offsetof(tfr_answer, text), sizeof answer->text);
    va_list args;
    va_start(args, format);
    answer->verdict = TFR_VERDICT_NO;
    answer->reason = (int32_t)reason;
    if (capacity)
        vsnprintf(answer->text, capacity, format, args);
    va_end(args);
    return TFR_OK;
}

/*
 * The code for a dlopen that failed: TFR_ENOMEM when memory ran out, or else other. error is errno
 * after it, 0 before; why is the sentence of dlerror. The dynamic linker has an errno of its own,
 * so that malloc in it sets ours and mmap only its sentence, and without memory for the name of a
 * file it may say that the file is not there.
 */
static inline tfr_status tfr_dlopen_code(int error, const char *why, tfr_status other)
{
    const char *no_memory = strerror(ENOMEM);
    size_t n = why ? strlen(why) : 0, end = strlen(no_memory);
    if (error == ENOMEM || (why && n >= end && strcmp(why + n - end, no_memory) == 0))
        return TFR_ENOMEM;
    return other;
}

#endif
