/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.c: where each block of memory lies in its arena. Two blocks may overlap in space only if
 * they do not overlap in time (steps first...last). The lower bound is the most bytes alive at any
 * one step; the work ends as soon as it is reached.
 *
 *   orders  Each block goes to the lowest place that is free during its life, in several orders
 *           (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020,
 *           call the first "greedy by size" and the third "greedy by breadth").
 *   exact   A few blocks: every way to stack them, cut off where what is still to come cannot fit
 *           below the best. Blocks are taken by ascending offset, so that each way comes once.
 *   search  More blocks: a block that reaches the top, or one in its way, changes its place in the
 *           order, and that stays if it is no worse. For each packing there is an order that gives
 *           one as good (by offset), so nothing is out of reach.
 *
 *   stream  Thousands of blocks that live together, for which even one order takes too long:
 *           arena_stream.c.
 *
 * All is counted in steps, and ends when those are used up, so that the same blocks have the same
 * offsets on every machine.
 */
#include "base/arena.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"

enum { ORDER_SIZE, ORDER_AREA, ORDER_BREADTH, ORDER_TIME, ORDER_LIFE, N_ORDERS };
#define MAX_BYTES   (INT64_MAX / 2)
#define MAX_EXACT   12
#define EXACT_STEPS 300000
/* A step takes 2 to 8 ns: under 1 ms for 100 blocks, under 50 ms for 2000 and more. */
#define SEARCH_STEPS_PER_BLOCK 2500
#define MAX_SEARCH_STEPS       5000000
#define MAX_ORDER_STEPS        20000000
#define MAX_NEIGHBOURS         100 /* on average, in the list of pairs */

typedef tfr__arena_item item;

typedef struct arena {
    uint32_t n, n_points;
    item *items;        /* by first */
    uint64_t *alive;    /* by point: bytes alive */
    uint32_t *order;    /* that is tried: numbers of items */
    uint32_t *busy;     /* room for place_all */
    uint32_t *pairs;    /* numbers of the items alive together with each, or NULL */
    uint32_t *at_pairs; /* where those of each begin; they end where the next one's do */
    uint64_t *best;     /* offsets of the best packing so far */
    uint64_t best_size; /* its size */
    uint64_t lower_bound, steps, random;
} arena;

/* ---- preparing ------------------------------------------------------------------------------- */

static int by_first(const void *a, const void *b)
{
    const item *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->block < y->block ? -1 : x->block > y->block;
}

/* Steps become points, and the lower bound is found: it is reached where some life begins. */
static void find_points(arena *a)
{
    uint32_t *begins = a->order; /* by point: its step */
    for (uint32_t i = 0; i < a->n; i++) {
        uint32_t step = a->items[i].first;
        if (!a->n_points || begins[a->n_points - 1] != step)
            begins[a->n_points++] = step;
        a->items[i].first = a->n_points - 1;
    }
    for (uint32_t i = 0; i < a->n; i++) {
        uint32_t low = a->items[i].first, high = a->n_points;
        while (high - low > 1) { /* the last point that is not behind last */
            uint32_t middle = low + (high - low) / 2;
            if (begins[middle] <= a->items[i].last)
                low = middle;
            else
                high = middle;
        }
        a->items[i].last = low;
        a->alive[a->items[i].first] += a->items[i].bytes;
        a->alive[low + 1] -= a->items[i].bytes; /* wraps, and comes back in the sum */
    }
    for (uint32_t p = 0; p < a->n_points; p++) {
        a->alive[p] += p ? a->alive[p - 1] : 0;
        if (a->alive[p] > a->lower_bound)
            a->lower_bound = a->alive[p];
    }
}

/* The steps that one order would take with the pairs, or without them. */
static uint64_t order_steps(const arena *a, bool pairs)
{
    uint64_t steps = 0;
    for (uint32_t i = 0; pairs && i < a->n; i++)
        steps += (uint64_t)a->at_pairs[i] * a->at_pairs[i] / 4 + a->at_pairs[i];
    return pairs ? steps : (uint64_t)a->n * a->n;
}

/*
 * The items that are alive when another one begins follow it in the array. A list of pairs pays
 * only while it is short: sorting d neighbours takes d * d / 4 steps, looking at all items n / 2.
 * False if an order takes too long with or without it.
 */
static bool find_pairs(arena *a)
{
    uint64_t n = 0, d = 1, most;
    while (d < MAX_NEIGHBOURS && d * d < 2 * (uint64_t)a->n)
        d++;
    most = d * a->n < MAX_SEARCH_STEPS ? d * a->n : MAX_SEARCH_STEPS;
    for (uint32_t i = 0; i < a->n && n <= most; i++)
        for (uint32_t k = i + 1; k < a->n && n <= most && a->items[k].first <= a->items[i].last;
             k++) {
            a->at_pairs[i]++;
            a->at_pairs[k]++;
            n += 2;
        }
    if (order_steps(a, false) > MAX_ORDER_STEPS &&
        (n > most || order_steps(a, true) > MAX_ORDER_STEPS))
        return false;
    a->pairs = n <= most ? tfr__alloc((size_t)(n + 1) * sizeof *a->pairs) : NULL;
    if (!a->pairs)
        return order_steps(a, false) <= MAX_ORDER_STEPS;
    n = 0;
    for (uint32_t i = 0; i <= a->n; i++) {
        n += a->at_pairs[i];
        a->at_pairs[i] = a->busy[i] = (uint32_t)n - a->at_pairs[i];
    }
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t k = i + 1; k < a->n && a->items[k].first <= a->items[i].last; k++) {
            a->pairs[a->busy[i]++] = k;
            a->pairs[a->busy[k]++] = i;
        }
    return true;
}

/* ---- placing in an order --------------------------------------------------------------------- */

/* Puts the neighbours of x that are placed already into busy, by offset; returns their number. */
static uint32_t find_busy(arena *a, const item *x)
{
    const uint32_t i = a->order[x->place];
    uint32_t n = 0;
    for (uint32_t p = a->at_pairs[i]; p < a->at_pairs[i + 1]; p++) {
        const item *y = &a->items[a->pairs[p]];
        uint32_t at = n;
        if (y->place >= x->place)
            continue;
        for (; at && a->items[a->busy[at - 1]].offset > y->offset; at--)
            a->busy[at] = a->busy[at - 1];
        a->busy[at] = a->pairs[p];
        a->steps += 1 + n++ - at;
    }
    a->steps += 4 + a->at_pairs[i + 1] - a->at_pairs[i];
    return n;
}

/* The same without pairs: busy holds all that are placed, whether they live at the same time or
 * not, and x is added. */
static void insert_busy(arena *a, const item *x)
{
    uint32_t n = x->place;
    for (; n && a->items[a->busy[n - 1]].offset > x->offset; n--)
        a->busy[n] = a->busy[n - 1];
    a->busy[n] = a->order[x->place];
    a->steps += 4 + x->place;
}

/*
 * Gives the items offsets in the order; those before place `from` have theirs. Returns the arena's
 * size, or UINT64_MAX once it is over limit.
 */
static uint64_t place_all(arena *a, uint32_t from, uint64_t limit)
{
    uint64_t size = 0;
    for (uint32_t o = 0; o < a->n; o++) {
        item *x = &a->items[a->order[o]];
        uint32_t n = o;
        uint64_t at = o < from ? x->offset : 0;
        if (a->pairs && o >= from)
            n = find_busy(a, x);
        for (uint32_t k = 0; k < n && o >= from; k++) {
            const item *y = &a->items[a->busy[k]];
            if (!a->pairs && (y->first > x->last || x->first > y->last))
                continue;
            if (at + x->bytes <= y->offset)
                break;
            if (y->offset + y->bytes > at)
                at = y->offset + y->bytes;
        }
        x->offset = at;
        if (at + x->bytes > size)
            size = at + x->bytes;
        if (size > limit)
            return UINT64_MAX;
        if (!a->pairs)
            insert_busy(a, x);
    }
    a->steps += a->n / 2;
    return size;
}

static void keep_best(arena *a, uint64_t size)
{
    a->best_size = size;
    for (uint32_t i = 0; i < a->n; i++)
        a->best[i] = a->items[i].offset;
}

static uint64_t order_key(const arena *a, const item *x, int order)
{
    uint64_t life = (uint64_t)(x->last - x->first) + 1, most = 0;
    switch (order) {
    case ORDER_SIZE:
        return x->bytes;
    case ORDER_AREA: /* saturates: only an order */
        return x->bytes > UINT64_MAX / life ? UINT64_MAX : x->bytes * life;
    case ORDER_BREADTH:
        for (uint32_t p = x->first; p <= x->last; p++)
            most = a->alive[p] > most ? a->alive[p] : most;
        return most;
    case ORDER_TIME:
        return UINT64_MAX - x->first;
    default:
        return life;
    }
}

/* An item's number and key, to be sorted. */
typedef struct ranked {
    uint64_t key, bytes;
    uint32_t number;
} ranked;

/* Largest key first, then largest item; else as they began, so that plans repeat exactly. */
static int by_rank(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? 1 : -1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static void make_order(arena *a, ranked *ranks, int order)
{
    for (uint32_t i = 0; i < a->n; i++) {
        ranks[i].key = order_key(a, &a->items[i], order);
        ranks[i].bytes = a->items[i].bytes;
        ranks[i].number = i;
    }
    qsort(ranks, a->n, sizeof *ranks, by_rank);
    for (uint32_t i = 0; i < a->n; i++) {
        a->order[i] = ranks[i].number;
        a->items[ranks[i].number].place = i;
    }
}

static void try_orders(arena *a, ranked *ranks)
{
    int best = 0;
    for (int order = 0; order < N_ORDERS && a->best_size > a->lower_bound; order++) {
        uint64_t size;
        if (a->steps > MAX_SEARCH_STEPS)
            break;
        make_order(a, ranks, order);
        size = place_all(a, 0, a->best_size - 1);
        if (size >= a->best_size)
            continue;
        keep_best(a, size);
        best = order;
    }
    make_order(a, ranks, best);
}

/* ---- exact ----------------------------------------------------------------------------------- */

/* The next item to lie on `top`, bytes taken by point; bit i of done: item i lies already. */
static void stack_rest(arena *a, const uint64_t *top, const uint64_t *rest, uint64_t low,
                       uint32_t done)
{
    uint64_t own_top[MAX_EXACT + 1], own_rest[MAX_EXACT + 1];
    if (done == (1u << a->n) - 1) {
        uint64_t size = 0;
        for (uint32_t p = 0; p < a->n_points; p++)
            size = top[p] > size ? top[p] : size;
        if (size < a->best_size)
            keep_best(a, size);
        return;
    }
    for (uint32_t i = 0; i < a->n; i++) {
        item *x = &a->items[i];
        uint64_t at = 0;
        bool fits = true;
        if (done >> i & 1)
            continue;
        a->steps += a->n_points;
        for (uint32_t p = x->first; p <= x->last; p++)
            at = top[p] > at ? top[p] : at;
        if (at < low || a->steps > EXACT_STEPS || a->best_size == a->lower_bound)
            continue; /* a lower one comes earlier in another order */
        memcpy(own_top, top, a->n_points * sizeof *top);
        memcpy(own_rest, rest, a->n_points * sizeof *rest);
        for (uint32_t p = x->first; p <= x->last; p++) {
            own_top[p] = at + x->bytes;
            own_rest[p] -= x->bytes;
        }
        for (uint32_t p = 0; p < a->n_points; p++) /* those to come lie at `at` or above */
            fits = fits &&
                   (own_top[p] > at || !own_rest[p] ? own_top[p] : at) + own_rest[p] < a->best_size;
        if (!fits)
            continue;
        x->offset = at;
        stack_rest(a, own_top, own_rest, at, done | 1u << i);
    }
}

/* ---- search ---------------------------------------------------------------------------------- */

/* A linear congruential generator (Knuth, MMIX). */
static uint32_t random_below(arena *a, uint32_t n)
{
    a->random = a->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((a->random >> 32) * n >> 32);
}

static void move_in_order(arena *a, uint32_t from, uint32_t to)
{
    uint32_t moved = a->order[from], low = from < to ? from : to;
    if (from < to)
        memmove(a->order + from, a->order + from + 1, (to - from) * sizeof *a->order);
    else
        memmove(a->order + to + 1, a->order + to, (from - to) * sizeof *a->order);
    a->order[to] = moved;
    for (; low <= from || low <= to; low++)
        a->items[a->order[low]].place = low;
}

/* An item that reaches the top of the best packing: the first one from a random place on. */
static uint32_t find_highest(arena *a)
{
    uint32_t i = random_below(a, a->n);
    while (a->best[i] + a->items[i].bytes != a->best_size)
        i = i + 1 < a->n ? i + 1 : 0;
    return i;
}

static void search(arena *a)
{
    uint64_t most = (uint64_t)a->n * SEARCH_STEPS_PER_BLOCK;
    most = a->steps + (most < MAX_SEARCH_STEPS ? most : MAX_SEARCH_STEPS);
    place_all(a, 0, UINT64_MAX);
    while (a->best_size > a->lower_bound && a->steps < most) {
        uint32_t i = find_highest(a), from = a->items[i].place, to, first;
        uint64_t size;
        if (random_below(a, 4) && from) { /* it goes before others */
            to = random_below(a, from);
        } else { /* one of those that it meets goes somewhere else */
            uint32_t n = a->pairs ? a->at_pairs[i + 1] - a->at_pairs[i] : 0;
            i = n ? a->pairs[a->at_pairs[i] + random_below(a, n)] : random_below(a, a->n);
            from = a->items[i].place;
            to = random_below(a, a->n);
        }
        first = from < to ? from : to;
        move_in_order(a, from, to);
        size = place_all(a, first, a->best_size);
        a->steps += a->n / 2;
        if (size <= a->best_size) {
            keep_best(a, size);
            continue;
        }
        move_in_order(a, to, from);
        for (uint32_t o = first; o < a->n; o++)
            a->items[a->order[o]].offset = a->best[a->order[o]];
    }
}

/* ---- all together ---------------------------------------------------------------------------- */

static tfr_status make_items(arena *a, const tfr_arena_block *blocks, uint32_t n,
                             uint64_t alignment, tfr_err *err)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < n; i++) {
        item *x = &a->items[a->n];
        if (!blocks[i].bytes)
            continue;
        x->bytes = (blocks[i].bytes + alignment - 1) & ~(alignment - 1);
        x->first = blocks[i].first;
        x->last = blocks[i].last;
        x->block = i;
        if (blocks[i].bytes > MAX_BYTES || (total += x->bytes) > MAX_BYTES)
            return tfr_fail(err, TFR_ENOMEM, "the plan needs more than %llu bytes of one memory",
                            (unsigned long long)MAX_BYTES);
        if (x->first > x->last)
            return tfr_fail(err, TFR_EINVAL, "block %u lives from step %u to step %u", i, x->first,
                            x->last);
        a->n++;
    }
    return TFR_OK;
}

static tfr_status stream(arena *a, ranked *ranks, tfr_err *err)
{
    uint64_t size;
    tfr_status status;
    for (uint32_t i = 0; i < a->n; i++)
        ranks[i] = (ranked){UINT32_MAX - a->items[i].last, 0, i};
    qsort(ranks, a->n, sizeof *ranks, by_rank); /* the first to end has the largest key */
    for (uint32_t i = 0; i < a->n; i++)
        a->order[i] = ranks[i].number;
    status = tfr__arena_stream(a->items, a->n, a->order, &size, err);
    if (!status)
        keep_best(a, size);
    return status;
}

static tfr_status solve(arena *a, ranked *ranks, tfr_err *err)
{
    qsort(a->items, a->n, sizeof *a->items, by_first);
    find_points(a);
    if (!find_pairs(a))
        return stream(a, ranks, err);
    try_orders(a, ranks);
    if (a->best_size > a->lower_bound && a->n <= MAX_EXACT) {
        uint64_t top[MAX_EXACT + 1] = {0};
        stack_rest(a, top, a->alive, 0, 0);
    } else {
        search(a);
    }
    return TFR_OK;
}

tfr_status tfr__arena_solve(tfr_arena_block *blocks, uint32_t n, uint64_t alignment,
                            uint64_t *bytes, uint64_t *lower_bound, uint64_t *steps, tfr_err *err)
{
    size_t capacity = (size_t)n + 2;
    arena a = {.best_size = UINT64_MAX, .random = 1};
    ranked *ranks = tfr__calloc(capacity, sizeof *ranks + sizeof *a.items + sizeof *a.alive +
                                              sizeof *a.best + 3 * sizeof *a.order);
    tfr_status status;
    *bytes = *lower_bound = 0;
    if (!ranks)
        return tfr__no_memory(err);
    a.items = (item *)(ranks + capacity);
    a.alive = (uint64_t *)(a.items + capacity);
    a.best = a.alive + capacity;
    a.order = (uint32_t *)(a.best + capacity);
    a.busy = a.order + capacity;
    a.at_pairs = a.busy + capacity;
    if (!alignment || alignment & (alignment - 1))
        status = tfr_fail(err, TFR_EINVAL, "an alignment of %llu is no power of two",
                          (unsigned long long)alignment);
    else
        status = make_items(&a, blocks, n, alignment, err);
    if (!status && a.n)
        status = solve(&a, ranks, err);
    if (!status && a.n) {
        *bytes = a.best_size;
        *lower_bound = a.lower_bound;
    }
    for (uint32_t i = 0; !status && i < n; i++)
        blocks[i].offset = 0;
    for (uint32_t i = 0; !status && i < a.n; i++)
        blocks[a.items[i].block].offset = a.best[i];
    if (steps)
        *steps = a.steps;
    tfr__free(ranks);
    tfr__free(a.pairs);
    return status;
}
