/* SPDX-License-Identifier: Apache-2.0 */
/* cast.h: numbers of one type as another, for kernels and for compiled programs. */
#ifndef NATIVE_CAST_H
#define NATIVE_CAST_H

#include "kernel.h"

typedef void (*native_cast_fn)(const void *from, void *to, int64_t n);
/* NULL = this pair of types is not ours. */
native_cast_fn native_find_cast(int32_t from, int32_t to);

void native_cast_supports(const tfr_plugin_device *device, const tfr_call *call,
                          tfr_answer *answer);
void native_cast_prepare(native_build *b, const tfr_call *call);

#endif
