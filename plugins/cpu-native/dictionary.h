/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dictionary.h: where keys are in a list, by a hash table with open addressing that is half full at
 * most. Keys are strings, or numbers as 64 bits: those of integers, or those of doubles, among
 * which every NaN is one key and both zeros are one. Of equal keys the last one counts.
 */
#ifndef NATIVE_DICTIONARY_H
#define NATIVE_DICTIONARY_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "ml_labels.h"

typedef struct native_dictionary {
    int64_t n;
    uint64_t mask;           /* slots - 1 */
    int32_t *slots;          /* the place of a key, -1 = none */
    const uint64_t *numbers; /* n, or */
    const tfr_string *words; /* n */
} native_dictionary;

/* Bytes of the block of a dictionary of these n keys; words or numbers is NULL. */
size_t native_dictionary_bytes(const tfr_string *words, int64_t n);
/* Copies the keys into the block, which is aligned. */
void native_dictionary_make(native_dictionary *d, const tfr_string *words, const uint64_t *numbers,
                            int64_t n, void *block);
/* -1: the key is not there. */
int64_t native_dictionary_word(const native_dictionary *d, const tfr_string *word);

static inline uint64_t native_hash(uint64_t v)
{
    v *= 0x9e3779b97f4a7c15u;
    return v ^ v >> 32;
}

static inline int64_t native_dictionary_number(const native_dictionary *d, uint64_t v)
{
    uint64_t i = native_hash(v) & d->mask;

    while (d->slots[i] >= 0 && d->numbers[d->slots[i]] != v)
        i = (i + 1) & d->mask;
    return d->slots[i];
}

/* The key of a double. */
static inline uint64_t native_key_of(double v)
{
    uint64_t bits = 0x7ff8000000000000u;

    v = v == 0 ? 0 : v;
    if (!isnan(v))
        memcpy(&bits, &v, sizeof bits);
    return bits;
}

#endif
