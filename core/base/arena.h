/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h: the planner of arenas, for plans (arena.c) and for plugins (host.c). [any] */
#ifndef TFR_CORE_ARENA_H
#define TFR_CORE_ARENA_H

#include <tfrun/plugin.h>

/* As tfr_host_arena's plan. steps NULL or how much was done: it decides when the search ends. */
tfr_status tfr__arena_solve(tfr_arena_block *blocks, uint32_t n, uint64_t alignment,
                            uint64_t *bytes, uint64_t *lower_bound, uint64_t *steps, tfr_err *err);

/* A block while it is placed. */
typedef struct tfr__arena_item {
    uint64_t bytes, offset;
    uint32_t first, last; /* numbers of points: steps at which some life begins */
    uint32_t place;       /* in the order */
    uint32_t block;
} tfr__arena_item;

/*
 * Sets the offsets of items that stand in the order in which they begin; by_end has their numbers
 * in the order in which they end. size: of the arena. arena_stream.c
 */
tfr_status tfr__arena_stream(tfr__arena_item *items, uint32_t n, const uint32_t *by_end,
                             uint64_t *size, tfr_err *err);

#endif
