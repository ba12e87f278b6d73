/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache_file.h: files in the user's cache folder: written whole, read as hostile, bounded in
 * number and size. What they hold is their owners' business (plugin_cache.c, store.c, tuning.c). A
 * privileged process has no such files.
 */
#ifndef TFR__CACHE_FILE_H
#define TFR__CACHE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tfrun/status.h>

/* Path of a file, "$XDG_CACHE_HOME/tfrun/NAME" or in ~/.cache; false: there is no folder to use. */
bool tfr__cache_path(const char *name, char *out, size_t n);

/*
 * The whole file, to be freed with tfr__free; NULL: it is not there, not the user's own, writable
 * by others, no regular file, shorter than least, longer than most, or there is no memory.
 */
char *tfr__cache_read(const char *path, size_t least, size_t most, size_t *n);

/*
 * Replaces the file at once and makes its folder. The bytes begin with a magic of TFR__MAGIC_BYTES;
 * TFR_EPERM: what is there does not, or is no regular file of the user's own, and stays.
 */
TFR_MUST_CHECK tfr_status tfr__cache_write(const char *path, const void *bytes, size_t n,
                                           tfr_err *err);

/* Removes the oldest files of the file's folder that begin with magic until there are most, and
 * they have no more than most_bytes. */
void tfr__cache_prune(const char *path, const char *magic, uint32_t most, uint64_t most_bytes);

#endif
