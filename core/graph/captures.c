/* SPDX-License-Identifier: Apache-2.0 */
/* captures.c: the map of captures.h. */
#include "graph/captures.h"

#include <string.h>

#include "base/alloc.h"

typedef struct tfr__capture {
    tfr_value outer, inner_1; /* inner_1: the child's value plus one, 0 = free */
} tfr__capture;

/* The slot of outer, or the free one where it belongs. Fibonacci hashing spreads neighbours. */
static tfr__capture *slot_of(const tfr__captures *captures, tfr_value outer)
{
    const uint64_t hash = (uint64_t)outer * 0x9e3779b97f4a7c15u;
    uint32_t mask = captures->capacity - 1, i = (uint32_t)(hash >> 32) & mask;
    while (captures->slots[i].inner_1 && captures->slots[i].outer != outer)
        i = (i + 1) & mask;
    return &captures->slots[i];
}

void tfr__captures_finish(tfr__captures *captures)
{
    tfr__free(captures->slots);
    memset(captures, 0, sizeof *captures);
}

tfr_value tfr__captures_find(const tfr__captures *captures, tfr_value outer)
{
    const tfr__capture *slot = captures->capacity ? slot_of(captures, outer) : NULL;
    return slot && slot->inner_1 ? slot->inner_1 - 1 : TFR_VALUE_NONE;
}

tfr_status tfr__captures_reserve(tfr__captures *captures, tfr_err *err)
{
    tfr__captures bigger = {NULL, captures->n, captures->capacity ? captures->capacity * 2 : 16};
    if (captures->n < captures->capacity / 2)
        return TFR_OK;
    bigger.slots = tfr__calloc(bigger.capacity, sizeof *bigger.slots);
    if (!bigger.slots)
        return tfr__no_memory(err);
    for (uint32_t i = 0; i < captures->capacity; i++)
        if (captures->slots[i].inner_1)
            *slot_of(&bigger, captures->slots[i].outer) = captures->slots[i];
    tfr__free(captures->slots);
    *captures = bigger;
    return TFR_OK;
}

void tfr__captures_add(tfr__captures *captures, tfr_value outer, tfr_value inner)
{
    *slot_of(captures, outer) = (tfr__capture){outer, inner + 1};
    captures->n++;
}
