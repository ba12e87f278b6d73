/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h: what plugins keep from process to process, behind tfr.host.store/1: a folder with a file
 * for each entry. An entry belongs to one build of one plugin and one key, and is found by both.
 * Nothing depends on it: it may be empty, off, or lost at any time.
 */
#ifndef TFR_CORE_STORE_H
#define TFR_CORE_STORE_H

#include "device/runtime.h"

enum {
    TFR__STORE_MB = 256,               /* of all entries, unless the configuration says otherwise */
    TFR__STORE_ENTRY_BYTES = 16 << 20, /* longer ones are not kept, nor longer keys */
    TFR__STORE_KEY_BYTES = 1 << 16,
    TFR__STORE_FILES = 8192 /* beyond these, too, the least recently used go */
};

/* What the configuration says: the folder, "" = off, and the bytes of all entries. */
typedef struct tfr__store {
    char folder[4096];
    uint64_t most;
} tfr__store;

struct tfr__loader;
void tfr__store_init(struct tfr__loader *loader, tfr__store *out);

/* The data, to be freed with tfr__free, and their number; NULL: there are none. */
void *tfr__store_get(const tfr__plugin *plugin, const void *key, size_t key_bytes, size_t *n);
/* TFR_EUNSUPPORTED if it is off, TFR_ELIMIT if it is too long, or why it cannot be written. */
TFR_MUST_CHECK tfr_status tfr__store_put(const tfr__plugin *plugin, const void *key,
                                         size_t key_bytes, const void *data, size_t n,
                                         tfr_err *err);

#endif
