/* SPDX-License-Identifier: Apache-2.0 */
/* level.c: what the processor has, and what of it is allowed. */
#include "level.h"

#include <stddef.h>
#include <string.h>

#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
/* The dynamic linker knows already; gcc's own builtin would execute cpuid some thirty times when
 * the plugin is loaded, and in a virtual machine each of them is a microsecond or two. */
#if defined(__has_include)
#if __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#endif
#endif
#ifdef CPU_FEATURE_ACTIVE
#define HAS(feature, name) x86_cpu_active(x86_cpu_##feature)
#else
#define HAS(feature, name) __builtin_cpu_supports(name)
#endif

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
    if (!is_allowed(features, "avx2") || !HAS(AVX2, "avx2") || !is_allowed(features, "fma") ||
        !HAS(FMA, "fma") || !HAS(F16C, "f16c")) /* which all have that have AVX2 */
        return NATIVE_LEVEL_PORTABLE;
    if (!is_allowed(features, "avx512f") || !HAS(AVX512F, "avx512f") ||
        !is_allowed(features, "avx512bw") || !HAS(AVX512BW, "avx512bw") ||
        !is_allowed(features, "avx512vl") || !HAS(AVX512VL, "avx512vl") ||
        !is_allowed(features, "avx512dq") || !HAS(AVX512DQ, "avx512dq"))
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
           is_allowed(features, "avx512_vnni") && HAS(AVX512_VNNI, "avx512vnni");
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
