/* SPDX-License-Identifier: Apache-2.0 */
/* labels.c: the hash table of labels.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <tfrun/fail.h>
#include <time.h>

#include "onnx/labels.h"

/* Multiply and fold, 8 bytes at a time, started from the secret key. */
static uint64_t hash(uint64_t key, tfr__text name)
{
    uint64_t h = key ^ name.bytes * 0x9e3779b97f4a7c15u;
    const char *at = name.data;
    size_t left = name.bytes;

    while (left) {
        uint64_t word = 0;
        size_t n = left < 8 ? left : 8;
        memcpy(&word, at, n);
        h = (h ^ word ^ key) * 0xd6e8feb86659fd93u;
        h ^= h >> 32;
        at += n;
        left -= n;
    }
    h *= 0xd6e8feb86659fd93u;
    return h ^ h >> 32;
}

static bool same(tfr__text a, tfr__text b)
{
    return a.bytes == b.bytes && (a.bytes == 0 || memcmp(a.data, b.data, a.bytes) == 0);
}

/* The slot that has the name, or the free one where it belongs. */
static uint32_t seek(const tfr__labels *labels, tfr__text name)
{
    uint32_t mask = labels->n_slots - 1, slot = (uint32_t)hash(labels->key, name) & mask;
    while (labels->slots[slot] && !same(labels->texts[labels->slots[slot] - 1], name))
        slot = (slot + 1) & mask;
    return slot;
}

uint32_t tfr__labels_find(const tfr__labels *labels, tfr__text name)
{
    return labels->n ? labels->slots[seek(labels, name)] - 1 : TFR__LABEL_NONE;
}

static tfr_status grow(tfr__labels *labels, tfr_err *err)
{
    uint32_t capacity = labels->capacity ? 2 * labels->capacity : 16;
    tfr__text *texts;
    uint32_t *slots;

    if (capacity > UINT32_MAX / 4)
        return tfr_fail(err, TFR_ELIMIT, "there are more than %u names", labels->n);
    if (!labels->key && getrandom(&labels->key, sizeof labels->key, GRND_NONBLOCK) < 0)
        labels->key = (uint64_t)time(NULL) ^ (uint64_t)(uintptr_t)labels;
    labels->key |= 1;
    texts = realloc(labels->texts, capacity * sizeof *texts);
    if (texts)
        labels->texts = texts;
    slots = calloc(2 * (size_t)capacity, sizeof *slots);
    if (!texts || !slots) {
        free(slots);
        return tfr_fail(err, TFR_ENOMEM, "out of memory for %u names", capacity);
    }
    free(labels->slots);
    labels->slots = slots;
    labels->n_slots = 2 * capacity;
    labels->capacity = capacity;
    for (uint32_t i = 0; i < labels->n; i++)
        slots[seek(labels, labels->texts[i])] = i + 1;
    return TFR_OK;
}

tfr_status tfr__labels_add(tfr__labels *labels, tfr__text name, uint32_t *number, bool *is_new,
                           tfr_err *err)
{
    uint32_t slot;
    if (labels->n == labels->capacity) {
        tfr_status status = grow(labels, err);
        if (status)
            return status;
    }
    slot = seek(labels, name);
    *is_new = !labels->slots[slot];
    if (*is_new) {
        labels->texts[labels->n++] = name;
        labels->slots[slot] = labels->n;
    }
    *number = labels->slots[slot] - 1;
    return TFR_OK;
}

void tfr__labels_finish(tfr__labels *labels)
{
    free(labels->texts);
    free(labels->slots);
    memset(labels, 0, sizeof *labels);
}
