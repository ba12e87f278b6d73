/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fpmode.h: the floating-point mode of a thread: how results are rounded, what becomes of subnormal
 * numbers, and which exceptions trap. The flags of what has happened are no part of it.
 */
#ifndef TFR_CORE_PORT_FPMODE_H
#define TFR_CORE_PORT_FPMODE_H

#include <stdint.h>

#if defined(__x86_64__)

#define TFR__FP_FLAGS    0x3fu
#define TFR__FP_ROUNDING ((uint64_t)0x0c00 << 32 | 0x6000) /* x87's and SSE's */
#define TFR__FP_FLUSH    UINT64_C(0x8040)                  /* to zero, and from it */

static inline uint64_t tfr__fp_mode(void)
{
    uint32_t sse;
    uint16_t x87;
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(sse), "=m"(x87) : : "memory");
    return (uint64_t)x87 << 32 | (sse & ~TFR__FP_FLAGS);
}

static inline void tfr__fp_set(uint64_t mode)
{
    const uint32_t sse = (uint32_t)mode;
    const uint16_t x87 = (uint16_t)(mode >> 32);
    __asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(sse), "m"(x87) : "memory");
}

#elif defined(__aarch64__)

#define TFR__FP_ROUNDING (UINT64_C(3) << 22)
#define TFR__FP_FLUSH    (UINT64_C(1) << 24 | UINT64_C(1) << 19)

static inline uint64_t tfr__fp_mode(void)
{
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr) : : "memory");
    return fpcr;
}

static inline void tfr__fp_set(uint64_t mode)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(mode) : "memory");
}

#else /* what C knows of it */

#include <fenv.h>

#define TFR__FP_ROUNDING UINT64_MAX
#define TFR__FP_FLUSH    UINT64_C(0)

static inline uint64_t tfr__fp_mode(void)
{
    return (uint64_t)fegetround();
}

static inline void tfr__fp_set(uint64_t mode)
{
    (void)fesetround((int)mode);
}

#endif

/* What two modes differ in, in words. */
static inline const char *tfr__fp_difference(uint64_t one, uint64_t other)
{
    const uint64_t bits = one ^ other;
    return bits & TFR__FP_ROUNDING ? "the rounding mode"
           : bits & TFR__FP_FLUSH  ? "the flushing of subnormal numbers to zero"
                                   : "which floating-point exceptions trap";
}

#endif
