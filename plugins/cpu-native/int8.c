/* SPDX-License-Identifier: Apache-2.0 */
/* int8.c: which loops of quantized ops there are at the level that is used. */
#include "int8.h"

#include "level.h"

const native_int8_isa *native_choose_int8(const char *features)
{
    switch (native_find_level(features)) {
#if defined(__x86_64__)
    case NATIVE_LEVEL_AMX:
    case NATIVE_LEVEL_AVX512:
        return &native_int8_avx512;
    case NATIVE_LEVEL_AVX2:
        return &native_int8_avx2;
#endif
    default:
        return &native_int8_portable;
    }
}
