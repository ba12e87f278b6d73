/* SPDX-License-Identifier: Apache-2.0 */
/* dictionary.c: see dictionary.h. */
#include "dictionary.h"

static uint64_t count_slots(int64_t n)
{
    uint64_t slots = 4;

    while (slots < 2 * (uint64_t)n)
        slots *= 2;
    return slots;
}

size_t native_dictionary_bytes(const tfr_string *words, int64_t n)
{
    return (size_t)count_slots(n) * sizeof(int32_t) +
           (words ? native_strings_bytes(words, n) : (size_t)n * sizeof(uint64_t));
}

static uint64_t hash_word(const tfr_string *word)
{
    uint64_t hash = word->bytes, part, i;

    for (i = 0; i + sizeof part <= word->bytes; i += sizeof part) {
        memcpy(&part, word->data + i, sizeof part);
        hash = native_hash(hash ^ part);
    }
    part = 0;
    if (i < word->bytes)
        memcpy(&part, word->data + i, (size_t)(word->bytes - i));
    return native_hash(hash ^ part);
}

static uint64_t slot_of_word(const native_dictionary *d, const tfr_string *word)
{
    uint64_t i = hash_word(word) & d->mask;

    for (; d->slots[i] >= 0; i = (i + 1) & d->mask) {
        const tfr_string *key = &d->words[d->slots[i]];
        if (key->bytes == word->bytes &&
            (word->bytes == 0 || memcmp(key->data, word->data, (size_t)word->bytes) == 0))
            break;
    }
    return i;
}

int64_t native_dictionary_word(const native_dictionary *d, const tfr_string *word)
{
    return d->slots[slot_of_word(d, word)];
}

void native_dictionary_make(native_dictionary *d, const tfr_string *words, const uint64_t *numbers,
                            int64_t n, void *block)
{
    int64_t k;

    d->n = n;
    d->mask = count_slots(n) - 1;
    d->slots = block;
    memset(d->slots, 0xff, (size_t)(d->mask + 1) * sizeof *d->slots);
    block = d->slots + d->mask + 1;
    if (words) {
        native_strings_copy(words, n, block);
        d->words = block;
    } else {
        d->numbers = n ? memcpy(block, numbers, (size_t)n * sizeof *numbers) : block;
    }
    for (k = 0; k < n; k++) {
        uint64_t i;
        if (words) {
            i = slot_of_word(d, &d->words[k]);
        } else {
            i = native_hash(d->numbers[k]) & d->mask;
            while (d->slots[i] >= 0 && d->numbers[d->slots[i]] != d->numbers[k])
                i = (i + 1) & d->mask;
        }
        d->slots[i] = (int32_t)k;
    }
}
