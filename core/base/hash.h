/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash.h: FNV-1a with 64 bits (Fowler, Noll, Vo: draft-eastlake-fnv). For tables and checksums; no
 * defence against who wants collisions. [any]
 */
#ifndef TFR_CORE_HASH_H
#define TFR_CORE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TFR__HASH_SEED UINT64_C(0xcbf29ce484222325)

/* The hash so far, or TFR__HASH_SEED, goes on over these bytes. */
static inline uint64_t tfr__hash(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *b = bytes;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ b[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* The same step for 8 bytes at once, and for what is left by byte: for checksums of much. */
static inline uint64_t tfr__hash_words(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *b = bytes;
    for (; n >= 8; b += 8, n -= 8) {
        uint64_t word;
        memcpy(&word, b, 8);
        hash = (hash ^ word) * UINT64_C(0x100000001b3);
    }
    return tfr__hash(hash, b, n);
}

#endif
