/* SPDX-License-Identifier: Apache-2.0 */
/* level.c: what the processor has, and what of it is allowed. */
#include "level.h"

#include <stddef.h>
#include <string.h>

#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
static bool is_allowed(const char *features, const char *name)
{
    const size_t n = strlen(name);
    const char *p = features;

    for (; (p = strstr(p, name)) != NULL; p += n) {
        if ((p == features || p[-1] == ' ') && (p[n] == ' ' || p[n] == 0))
            return true;
    }
    return false;
}

native_level native_find_level(const char *features)
{
    if (!is_allowed(features, "avx2") || !__builtin_cpu_supports("avx2") ||
        !is_allowed(features, "fma") || !__builtin_cpu_supports("fma"))
        return NATIVE_LEVEL_PORTABLE;
    if (!is_allowed(features, "avx512f") || !__builtin_cpu_supports("avx512f") ||
        !is_allowed(features, "avx512bw") || !__builtin_cpu_supports("avx512bw") ||
        !is_allowed(features, "avx512vl") || !__builtin_cpu_supports("avx512vl") ||
        !is_allowed(features, "avx512dq") || !__builtin_cpu_supports("avx512dq"))
        return NATIVE_LEVEL_AVX2;
    /* Compilers know the names of these late; gemm_amx.c asks the processor. */
    if (!is_allowed(features, "avx512_bf16") || !is_allowed(features, "amx_tile") ||
        !is_allowed(features, "amx_bf16"))
        return NATIVE_LEVEL_AVX512;
    return NATIVE_LEVEL_AMX;
}

bool native_has_vnni(const char *features)
{
    return native_find_level(features) >= NATIVE_LEVEL_AVX512 &&
           is_allowed(features, "avx512_vnni") && __builtin_cpu_supports("avx512vnni");
}
#else
native_level native_find_level(const char *features)
{
    (void)features;
    return NATIVE_LEVEL_PORTABLE;
}

bool native_has_vnni(const char *features)
{
    (void)features;
    return false;
}
#endif
