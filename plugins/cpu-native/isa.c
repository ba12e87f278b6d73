/* SPDX-License-Identifier: Apache-2.0 */
/* isa.c: which inner loops the processor runs, and the user allows. */
#include "isa.h"

#include <stddef.h>
#include <string.h>

#if defined(__x86_64__)
static bool allowed(const char *features, const char *name)
{
    const size_t n = strlen(name);
    const char *p = features;

    if (!features || !features[0])
        return true;
    for (; (p = strstr(p, name)) != NULL; p += n) {
        if ((p == features || p[-1] == ' ') && (p[n] == ' ' || p[n] == 0))
            return true;
    }
    return false;
}

const native_isa *native_choose_isa(const char *features)
{
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
        allowed(features, "avx512f") && allowed(features, "avx512bw") &&
        allowed(features, "avx512vl") && allowed(features, "avx512dq"))
        return &native_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        allowed(features, "avx2") && allowed(features, "fma"))
        return &native_avx2;
    return NULL;
}
#else
const native_isa *native_choose_isa(const char *features)
{
    (void)features;
    return NULL;
}
#endif
