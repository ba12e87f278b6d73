/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tuning.h: what runs have taught, remembered from process to process: a small store of bytes by
 * key in one file of the user's cache. Times of kernels are in it, and the blobs in which plugins
 * keep decisions about programs. Nothing depends on it: it may be empty, off, or lost at any time.
 */
#ifndef TFR_CORE_TUNING_H
#define TFR_CORE_TUNING_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tfrun/status.h>

enum {
    TFR__TUNING_VALUE_BYTES = 16384, /* longer ones are not kept */
    TFR__TUNING_ENTRIES = 4096,      /* and */
    TFR__TUNING_BYTES = 1024 * 1024, /* beyond either the least recently used go */
    TFR__TUNING_PATH_BYTES = 4096
};

/* 128 bits; start with TFR__TUNING_KEY, add all that the value depends on. */
typedef struct tfr__tuning_key {
    uint64_t low, high;
} tfr__tuning_key;
#define TFR__TUNING_KEY                                                                            \
    (tfr__tuning_key)                                                                              \
    {                                                                                              \
        0xcbf29ce484222325ull, 0x9e3779b97f4a7c15ull                                               \
    }
void tfr__tuning_add(tfr__tuning_key *key, const void *bytes, size_t n);
void tfr__tuning_add_text(tfr__tuning_key *key, const char *text); /* NULL is "" */

struct tfr_runtime;

typedef struct tfr__tuning_entry {
    tfr__tuning_key key;
    uint64_t used; /* greater = later */
    void *value;
    uint32_t bytes;
    bool mine; /* put or read by this process: not taken from the file at saving */
} tfr__tuning_entry;

/* The slots are [any]. */
typedef struct tfr__tuning {
    pthread_mutex_t lock;
    char *path;                  /* NULL = off */
    struct tfr_runtime *runtime; /* whose log says that a file is not valid; NULL = none's */
    tfr__tuning_entry *entries;  /* by key, ascending */
    uint32_t n, capacity;
    uint64_t bytes, clock;
    uint64_t saved_ns; /* when it was written; 0 = never */
    bool is_loaded, is_changed;
    tfr_err trouble; /* with the file, and not said yet; code 0 = none */
} tfr__tuning;

/* setting: value of the key "tuning": "off", an absolute path, or NULL for the usual place. */
void tfr__tuning_init(tfr__tuning *tuning, struct tfr_runtime *runtime, const char *setting);
void tfr__tuning_finish(tfr__tuning *tuning); /* does not save */

/* Copies at most capacity bytes of the value; its whole length, 0 = there is none. */
uint32_t tfr__tuning_get(tfr__tuning *tuning, tfr__tuning_key key, void *out, uint32_t capacity);
/* Without memory, or if it is off, nothing is kept. bytes 0 removes. */
void tfr__tuning_put(tfr__tuning *tuning, tfr__tuning_key key, const void *value, uint32_t bytes);
/* Writes what changed, on top of what other processes wrote; the last one wins for a key. */
void tfr__tuning_save(tfr__tuning *tuning);
/* The same, but not before a second has passed since the last time: for the middle of a process,
 * which may never come to its end. */
void tfr__tuning_checkpoint(tfr__tuning *tuning);

#endif
