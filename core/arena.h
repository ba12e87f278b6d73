/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h: the planner of arenas, for plans (arena.c) and for plugins (host.c). [any] */
#ifndef TFR_CORE_ARENA_H
#define TFR_CORE_ARENA_H

#include <tfrun/plugin.h>

/* As tfr_host_arena's plan. steps NULL or how much was done: it decides when the search ends. */
tfr_status tfr__arena_solve(tfr_arena_block *blocks, uint32_t n, uint64_t alignment,
                            uint64_t *bytes, uint64_t *lower_bound, uint64_t *steps, tfr_err *err);

#endif
