/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_has.h: CPU_HAS(AVX2, "avx2"): whether processor and system have a feature. The dynamic linker
 * knows already; gcc's own builtin would execute cpuid some thirty times at each start of the
 * program, and in a virtual machine each of them is a microsecond or two.
 */
#ifndef BENCH_CPU_HAS_H
#define BENCH_CPU_HAS_H

#if defined(__has_include)
#if __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#endif
#endif

#ifdef CPU_FEATURE_ACTIVE
#define CPU_HAS(feature, name) x86_cpu_active(x86_cpu_##feature)
#else
#define CPU_HAS(feature, name) __builtin_cpu_supports(name)
#endif

#endif
