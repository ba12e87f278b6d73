/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.h: libraries that only some data need. They are opened when the first file needs them, so
 * that tfrun runs without; what is called of them is declared where it is used, since these
 * interfaces have not changed in decades, and a build needs no header that way.
 */
#ifndef TFR_IMAGES_LIBRARY_H
#define TFR_IMAGES_LIBRARY_H

#include <stdbool.h>
#include <tfrun/fail.h>

typedef struct tfr__library {
    const char *soname;       /* "libz.so.1" */
    const char *package;      /* of Debian: "zlib1g" */
    const char *const *names; /* of functions, ended by NULL */
    void *functions;          /* pointers to them, in the same order */
    bool is_open;
    char why[256]; /* it cannot be used; "" = it can, or nobody has tried yet */
} tfr__library;

/*
 * Opens it, once for the process. TFR_EUNSUPPORTED: it is not there, in words that end with what to
 * install; what says who needs it.
 */
tfr_status tfr__library_need(tfr__library *library, const char *what, tfr_err *err);

#endif
