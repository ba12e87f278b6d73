/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.c: where each buffer of a plan lies in its memory's arena. Two buffers may overlap in space
 * only if they do not overlap in time (steps first...last). Offsets are given greedily, each buffer
 * at the lowest place that is free during its life, in several orders; the smallest result wins
 * (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020, call the
 * first one greedy by size). The lower bound is the most bytes alive at any one step,
 * where a buffer that is not full counts without its slack.
 */
#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>

#include "alloc.h"
#include "plan.h"

typedef struct slot {
    uint64_t bytes, least, offset, key;
    uint32_t first, last, buffer;
} slot;

enum { ORDER_SIZE, ORDER_AREA, ORDER_TIME, N_ORDERS };

static uint64_t order_key(const slot *s, int order)
{
    uint64_t life = (uint64_t)(s->last - s->first) + 1;
    switch (order) {
    case ORDER_SIZE:
        return s->bytes;
    case ORDER_AREA: /* saturates: only an order */
        return s->bytes > UINT64_MAX / life ? UINT64_MAX : s->bytes * life;
    default:
        return UINT64_MAX - s->first;
    }
}

/* Largest key first; equal keys in the order of buffers, so that plans repeat exactly. */
static int slot_by_key(const void *a, const void *b)
{
    const slot *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? 1 : -1;
    return x->buffer < y->buffer ? -1 : x->buffer > y->buffer;
}

static int slot_by_offset(const void *a, const void *b)
{
    const slot *const *x = a, *const *y = b;
    return (*x)->offset < (*y)->offset ? -1 : (*x)->offset > (*y)->offset;
}

/* Gives every slot an offset in the order that they stand in; returns the arena's size. */
static uint64_t place_all(slot *slots, uint32_t n, slot **busy)
{
    uint64_t size = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t n_busy = 0;
        uint64_t at = 0;
        for (uint32_t k = 0; k < i; k++)
            if (slots[k].first <= slots[i].last && slots[i].first <= slots[k].last)
                busy[n_busy++] = &slots[k];
        qsort(busy, n_busy, sizeof *busy, slot_by_offset);
        for (uint32_t k = 0; k < n_busy && at + slots[i].bytes > busy[k]->offset; k++)
            if (busy[k]->offset + busy[k]->bytes > at)
                at = busy[k]->offset + busy[k]->bytes;
        slots[i].offset = at;
        if (at + slots[i].bytes > size)
            size = at + slots[i].bytes;
    }
    return size;
}

static uint64_t most_alive(const slot *slots, uint32_t n)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < n; i++) { /* the maximum is reached where some life begins */
        uint64_t alive = 0;
        for (uint32_t k = 0; k < n; k++)
            if (slots[k].first <= slots[i].first && slots[i].first <= slots[k].last)
                alive += slots[k].least;
        if (alive > most)
            most = alive;
    }
    return most;
}

tfr_status tfr__arena_plan(tfr__buffer *buffers, uint32_t n, uint32_t memory, uint64_t alignment,
                           uint64_t *bytes, uint64_t *lower_bound, tfr_err *err)
{
    slot *slots = tfr__calloc((size_t)n + 1, sizeof *slots);
    slot **busy = tfr__calloc((size_t)n + 1, sizeof *busy);
    uint32_t n_slots = 0;
    uint64_t total = 0, best = UINT64_MAX;
    *bytes = *lower_bound = 0;
    if (!slots || !busy) {
        tfr__free(slots);
        tfr__free(busy);
        return tfr_fail(err, TFR_ENOMEM, "out of memory for planning %u buffers", n);
    }
    for (uint32_t i = 0; i < n; i++) {
        const tfr__buffer *b = &buffers[i];
        if (b->kind != TFR__BUFFER_ARENA || b->memory != memory || !b->bytes)
            continue;
        slots[n_slots].bytes = (b->bytes + alignment - 1) & ~(alignment - 1);
        slots[n_slots].least = slots[n_slots].bytes - (b->slack & ~(alignment - 1));
        slots[n_slots].first = b->first;
        slots[n_slots].last = b->last;
        slots[n_slots].buffer = i;
        total += slots[n_slots].bytes;
        if (b->bytes > INT64_MAX / 2 || total > INT64_MAX / 2) {
            tfr__free(slots);
            tfr__free(busy);
            return tfr_fail(err, TFR_ENOMEM, "the plan needs more than %llu bytes of one memory",
                            (unsigned long long)INT64_MAX / 2);
        }
        n_slots++;
    }
    *lower_bound = most_alive(slots, n_slots);
    for (int order = 0; order < N_ORDERS && best > *lower_bound; order++) {
        uint64_t size;
        for (uint32_t i = 0; i < n_slots; i++)
            slots[i].key = order_key(&slots[i], order);
        qsort(slots, n_slots, sizeof *slots, slot_by_key);
        size = place_all(slots, n_slots, busy);
        if (size >= best)
            continue;
        best = size;
        for (uint32_t i = 0; i < n_slots; i++)
            buffers[slots[i].buffer].offset = slots[i].offset;
    }
    *bytes = n_slots ? best : 0;
    tfr__free(slots);
    tfr__free(busy);
    return TFR_OK;
}
