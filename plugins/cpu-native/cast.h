/* SPDX-License-Identifier: Apache-2.0 */
/* cast.h: numbers of one type as another. */
#ifndef NATIVE_CAST_H
#define NATIVE_CAST_H

#include "isa.h"

/* NULL = this pair of types is not ours. */
native_span_fn native_find_cast(const native_isa *isa, int32_t from, int32_t to);

#endif
