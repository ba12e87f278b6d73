/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roof.h: what this machine can do at most: multiply-adds of float32 in registers, and reading of
 * caches and memory. Kernels are chosen by the processor found at run time. For profile and bench.
 */
#ifndef TFR_BENCH_ROOF_H
#define TFR_BENCH_ROOF_H

#include <stddef.h>
#include <stdint.h>

#define BENCH_ROOF_LEVELS 4

typedef struct bench_roofs {
    uint32_t n_threads;
    const char *kernel; /* "avx512", "avx2", "portable" */
    double flops;       /* a second, on all threads; NaN = could not be measured */
    double flops_one;   /* on one */
    struct {
        const char *name; /* "L1", "L2", "L3", "memory" */
        uint64_t bytes;   /* what it holds for all threads; UINT64_MAX for memory */
        double read;      /* bytes a second, on all threads */
    } levels[BENCH_ROOF_LEVELS];
} bench_roofs;

/* Takes about a fifth of a second. n_threads is at least 1. */
void bench_roofs_measure(uint32_t n_threads, bench_roofs *out);

/* The level that holds so many bytes. */
uint32_t bench_roofs_level(const bench_roofs *roofs, uint64_t bytes);

/*
 * For who measures in turns with something else. Both give the seconds of the slowest of n_threads,
 * which start together, or NaN if threads or memory are short.
 */
double bench_roof_fma(uint32_t n_threads, uint64_t rounds, double *flops, const char **kernel);
/* Each thread reads bytes of its own, which it wrote before, so many times. */
double bench_roof_read(uint32_t n_threads, size_t bytes, uint64_t times);

#endif
