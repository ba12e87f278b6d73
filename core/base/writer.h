/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.h: how tfrun writes files, all of them: outputs, traces, plots and caches. A regular file
 * is written beside its place, under a name that nobody can guess, and renamed when it is whole, so
 * that after any error the old one is there as it was. What is no regular file (a device, a named
 * pipe) is written as it is and never removed. Each library and the command have this code inside.
 *
 *   open, put ..., close          one file
 *   open, put ..., finish         for each of several files that come all or not at all, then
 *   commit                        for each; or abandon, at any time
 *
 * A process that is killed leaves the file of that name, ".tfrun-" and 16 hexadecimal digits. Who
 * finds one that nobody has locked, as writers do from its beginning to the rename, may remove it.
 *
 * A link is followed, as with ">" in a shell, and the file that it leads to is replaced; but not
 * one that another user has put into a folder where everybody may write, such as /tmp. The new file
 * has the permissions of the old one, and its owner and group as far as the process may set them.
 * Other hard links keep the old content; access control lists are not copied. A file that the user
 * may not write is refused, though a rename would work.
 */
#ifndef TFR_BASE_WRITER_H
#define TFR_BASE_WRITER_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>
#include <tfrun/status.h>

enum { TFR__WRITER_BUFFER = 1 << 14, TFR__MAGIC_BYTES = 8 };

/* Needs no memory but itself, so that only the disk can make it fail. */
typedef struct tfr__writer {
    const char *path;  /* the caller's, which must outlive the writer; for errors */
    const char *magic; /* of a cache file, or NULL */
    int folder;        /* where the file lies; -1 = it is written directly */
    int fd;
    int error; /* errno of the first failure, 0 = none */
    char name[NAME_MAX + 1], temporary[40];
    dev_t device; /* and number of the temporary file */
    ino_t inode;
    size_t used;
    char buffer[TFR__WRITER_BUFFER];
} tfr__writer;

/* TFR_EIO: it cannot be written; nothing was changed. */
TFR_MUST_CHECK tfr_status tfr__writer_open(const char *path, tfr__writer *out, tfr_err *err);
/*
 * For a file that tfrun keeps for itself: not on the disk when close returns, since it may be lost
 * at any time, and readable by its user only. Links are not followed. TFR_EPERM: what is there is
 * not the user's own, not a regular file, or neither empty nor one that begins with magic.
 */
TFR_MUST_CHECK tfr_status tfr__writer_open_cache(const char *path, const char *magic,
                                                 tfr__writer *out, tfr_err *err);
/* The same question without opening. */
TFR_MUST_CHECK tfr_status tfr__writer_check_cache(const char *path, const char *magic,
                                                  tfr_err *err);
/* Tries what open does, and leaves nothing. Does not wait for the reader of a named pipe. */
TFR_MUST_CHECK tfr_status tfr__writer_try(const char *path, tfr_err *err);

/* Errors are kept until finish. */
void tfr__writer_put(tfr__writer *writer, const void *data, size_t bytes);
/* For stdio: close the stream before finish. NULL without memory. */
FILE *tfr__writer_stream(tfr__writer *writer);

/* Everything is on the disk, under the temporary name; after an error the writer is abandoned. */
TFR_MUST_CHECK tfr_status tfr__writer_finish(tfr__writer *writer, tfr_err *err);
/* Puts it into its place. The writer is finished in any case. */
TFR_MUST_CHECK tfr_status tfr__writer_commit(tfr__writer *writer, tfr_err *err);
/* finish and commit. */
TFR_MUST_CHECK tfr_status tfr__writer_close(tfr__writer *writer, tfr_err *err);
/* The path is as it was before. May be called again, and after commit. */
void tfr__writer_abandon(tfr__writer *writer);

#endif
