/* SPDX-License-Identifier: Apache-2.0 */
/* isa.c: which inner loops there are at the level that is used. */
#include "isa.h"

#include "level.h"

const native_isa *native_choose_isa(const char *features)
{
    switch (native_find_level(features)) {
#if defined(__x86_64__)
    case NATIVE_LEVEL_AMX:
    case NATIVE_LEVEL_AVX512:
        return &native_avx512;
    case NATIVE_LEVEL_AVX2:
        return &native_avx2;
#endif
    default:
        return &native_portable;
    }
}
