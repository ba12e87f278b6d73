/* SPDX-License-Identifier: Apache-2.0 */
/* isa.c: which inner loops there are at the level that is used. */
#include "isa.h"

#include <stddef.h>

#include "level.h"

const native_isa *native_choose_isa(const char *features)
{
#if defined(__x86_64__)
    switch (native_find_level(features)) {
    case NATIVE_LEVEL_AMX:
    case NATIVE_LEVEL_AVX512:
        return &native_avx512;
    case NATIVE_LEVEL_AVX2:
        return &native_avx2;
    default:
        return NULL;
    }
#else
    (void)features;
    return NULL;
#endif
}
