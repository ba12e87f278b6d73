/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turn.h: matrices of elements of 1, 2, 4 or 8 bytes are turned: to[j][i] = from[i][j]. What the
 * elements are does not matter.
 */
#ifndef NATIVE_TURN_H
#define NATIVE_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "isa.h"

/* Steps from row to row, in elements. `from` may lie at any address, as constants of files do. */
typedef void (*native_turn_fn)(const void *from, int64_t from_step, void *to, int64_t to_step,
                               int64_t rows, int64_t columns);

/* By the width: of 1, 2, 4 and 8 bytes. */
enum { NATIVE_TURN_WIDTHS = 4 };
extern const native_turn_fn native_turn_avx2[NATIVE_TURN_WIDTHS],
    native_turn_portable[NATIVE_TURN_WIDTHS];

static inline native_turn_fn native_find_turn(const native_isa *isa, int64_t width)
{
    const int i = width == 1 ? 0 : width == 2 ? 1 : width == 4 ? 2 : 3;

#if defined(__x86_64__)
    if (isa != &native_portable)
        return native_turn_avx2[i];
#endif
    (void)isa;
    return native_turn_portable[i];
}

#endif
