/* SPDX-License-Identifier: Apache-2.0 */
/* cast.h: numbers of one type as another; isa_cast.h has float16, bfloat16 and float64. */
#ifndef NATIVE_CAST_H
#define NATIVE_CAST_H

#include "kernel.h"

typedef void (*native_cast_fn)(const void *from, void *to, int64_t n);
/* NULL = this pair of types is not ours. */
native_cast_fn native_find_cast(int32_t from, int32_t to);

#endif
