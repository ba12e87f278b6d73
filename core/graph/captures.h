/* SPDX-License-Identifier: Apache-2.0 */
/*
 * captures.h: from the values of a parent to those of its child that capture them. Open addressing,
 * never more than half full; as names.h, it forgets nothing.
 */
#ifndef TFR_CORE_CAPTURES_H
#define TFR_CORE_CAPTURES_H

#include <stdint.h>
#include <tfrun/graph.h>

typedef struct tfr__captures {
    struct tfr__capture *slots;
    uint32_t n, capacity; /* room is 0 or a power of two */
} tfr__captures;

void tfr__captures_finish(tfr__captures *captures);
/* The child's value, or TFR_VALUE_NONE. */
tfr_value tfr__captures_find(const tfr__captures *captures, tfr_value outer);
/* Room for one more. TFR_ENOMEM. */
tfr_status tfr__captures_reserve(tfr__captures *captures, tfr_err *err);
/* Cannot fail after a reserve; outer must not be there yet. */
void tfr__captures_add(tfr__captures *captures, tfr_value outer, tfr_value inner);

#endif
