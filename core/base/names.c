/* SPDX-License-Identifier: Apache-2.0 */
/* names.c: the map of names.h. It never shrinks and forgets nothing: graphs only grow. */
#include "base/names.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

/* The slot of name, or the free one where it belongs. */
static uint32_t name_slot(const tfr__names *names, const char *name)
{
    uint32_t mask = names->capacity - 1;
    uint64_t hash = tfr__hash(TFR__HASH_SEED, name, strlen(name));
    uint32_t i = (uint32_t)(hash ^ hash >> 32) & mask;
    while (names->keys[i] && strcmp(names->keys[i], name) != 0)
        i = (i + 1) & mask;
    return i;
}

const char *tfr__texts_skip(const char *texts, uint32_t n)
{
    while (n--)
        texts += strlen(texts) + 1;
    return texts;
}

void tfr__names_finish(tfr__names *names)
{
    tfr__free(names->keys);
    tfr__free(names->numbers);
    memset(names, 0, sizeof *names);
}

int32_t tfr__names_find(const tfr__names *names, const char *name)
{
    uint32_t i;
    if (!names->capacity)
        return -1;
    i = name_slot(names, name);
    return names->keys[i] ? names->numbers[i] : -1;
}

static tfr_status names_grow(tfr__names *names, tfr_err *err)
{
    tfr__names bigger = {NULL, NULL, names->n, names->capacity ? names->capacity * 2 : 64};
    bigger.keys = tfr__calloc(bigger.capacity, sizeof *bigger.keys);
    bigger.numbers = tfr__calloc(bigger.capacity, sizeof *bigger.numbers);
    if (!bigger.keys || !bigger.numbers) {
        tfr__free(bigger.keys);
        tfr__free(bigger.numbers);
        return tfr__no_memory(err);
    }
    for (uint32_t i = 0; i < names->capacity; i++) {
        if (names->keys[i]) {
            uint32_t slot = name_slot(&bigger, names->keys[i]);
            bigger.keys[slot] = names->keys[i];
            bigger.numbers[slot] = names->numbers[i];
        }
    }
    tfr__free(names->keys);
    tfr__free(names->numbers);
    *names = bigger;
    return TFR_OK;
}

tfr_status tfr__names_set(tfr__names *names, const char *name, int32_t number, tfr_err *err)
{
    uint32_t slot = names->capacity ? name_slot(names, name) : 0;
    if (names->capacity && names->keys[slot]) {
        names->numbers[slot] = number;
        return TFR_OK;
    }
    if (names->n >= names->capacity / 2) {
        tfr_status status = names_grow(names, err);
        if (status)
            return status;
        slot = name_slot(names, name);
    }
    names->keys[slot] = name;
    names->numbers[slot] = number;
    names->n++;
    return TFR_OK;
}
