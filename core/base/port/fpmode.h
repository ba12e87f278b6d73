/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fpmode.h: the floating-point mode of a thread: how results are rounded, what becomes of subnormal
 * numbers, and which exceptions trap. The flags of what has happened are no part of it.
 */
#ifndef TFR_CORE_PORT_FPMODE_H
#define TFR_CORE_PORT_FPMODE_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)

#define TFR__FP_FLAGS    0x3fu
#define TFR__FP_ROUNDING ((uint64_t)0x0c00 << 32 | 0x6000)  /* x87's and SSE's */
#define TFR__FP_FLUSH    UINT64_C(0x8040)                   /* to zero, and from it */
#define TFR__FP_SILENT   UINT64_C(0x1f80)                   /* no exception traps */
#define TFR__FP_UNUSUAL  (TFR__FP_ROUNDING | TFR__FP_FLUSH) /* what is 0 in the usual mode */

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

/* Operands of four sums, and the bits of these in the usual mode. */
typedef struct tfr__fp_sums {
    _Alignas(16) float a[4];
    float b[4];
    uint32_t sum[4];
} tfr__fp_sums;
extern const tfr__fp_sums tfr__fp_probe;
/* The first two tell how numbers are rounded; the others whether results and operands that are
 * subnormal are kept. */
#define TFR__FP_PROBE                                                                              \
    {                                                                                              \
        {1, 1, 1.5f * FLT_MIN, FLT_MIN / 2},                                                       \
            {.75f * FLT_EPSILON, .25f * FLT_EPSILON, -FLT_MIN, FLT_MIN / 2},                       \
            {0x3f800001, 0x3f800000, 0x00400000, 0x00800000},                                      \
    }

/*
 * Does this thread round to nearest, and keep subnormal numbers? Sums tell in .6 ns, where reading
 * SSE's register takes 6.6 on an AMD Zen 3. They trap where exceptions do.
 */
static inline bool tfr__fp_usual(void)
{
    float __attribute__((vector_size(16))) sums;
    int equal;
    __asm__ volatile("movaps %2, %0\n\taddps %3, %0\n\tpcmpeqd %4, %0\n\tpmovmskb %0, %1"
                     : "=&x"(sums), "=r"(equal)
                     : "m"(tfr__fp_probe.a), "m"(tfr__fp_probe.b), "m"(tfr__fp_probe.sum)
                     : "memory");
    return equal == 0xffff;
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

#ifndef TFR__FP_UNUSUAL /* nothing is known that is faster than to read the mode */
#define TFR__FP_SILENT  UINT64_C(0)
#define TFR__FP_UNUSUAL UINT64_MAX

static inline bool tfr__fp_usual(void)
{
    return tfr__fp_mode() == 0;
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
