/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nbits_vnni.c: nbits_loops.h for AVX-512 with VNNI, which multiplies bytes and adds four products
 * to 32 bits at once.
 */
#include "nbits.h"

#if defined(__x86_64__)
#include "vec_avx512.h"
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512vnni"))), apply_to = function)
#else
#pragma GCC target("avx512vnni")
#endif

#include "nbits_avx512.h"

#define DOT(s, w, x)  _mm512_dpbusd_epi32(s, w, x)
#define DOT_END(t, s) _mm512_add_epi32(t, s)

#include "nbits_x86.h"

#define ISA_TABLE native_nbits_vnni
#define ISA_NAME  "avx512_vnni"

#include "nbits_loops.h"

#include "vec_end.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int native_no_nbits_vnni; /* C wants one declaration in a file */
#endif
