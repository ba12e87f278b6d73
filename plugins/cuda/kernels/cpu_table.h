/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_table.h: how the CPU build of the kernels meets the driver stand-in of the tests
 * (tests/cuda/driver.c), which looks kernels up by name and runs them where the driver would.
 * The kernels are built as a shared object, tests/cuda/cpu_kernels.so, that exports
 *
 *     const tfr_cpu_kernel tfr_cpu_kernels[];
 *
 * with a row of zeros at the end. The stand-in opens it from its own folder.
 */
#ifndef TFR_CUDA_CPU_TABLE_H
#define TFR_CUDA_CPU_TABLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tfr_cpu_launch {
    unsigned grid[3];    /* blocks in x, y, z */
    unsigned block[3];   /* threads in x, y, z */
    size_t shared_bytes; /* dynamic shared memory, as the launch asks */
    void **args;         /* the address of each argument, which has arg_bytes bytes */

    /*
     * Where an address of the device may be read and written, and in *bytes how much is there until
     * the end of the allocation. NULL: the address is in no allocation of this device, and a kernel
     * that reads or writes there ends with 700. Every pointer in args, also inside a struct, is an
     * address of the device, which faults when the CPU follows it as it is. May be called from
     * several threads. NULL instead of the function: the pointers are those of the host.
     */
    void *(*reach)(void *ctx, uint64_t address, size_t *bytes);
    void *ctx;
} tfr_cpu_launch;

typedef struct tfr_cpu_kernel {
    const char *name;
    /* Runs all blocks and returns 0 or the driver's result: 700 for an address outside of every
     * allocation, 716 for one that is not aligned, 719 for everything else. */
    unsigned (*run)(const tfr_cpu_launch *launch);
    unsigned n_args;
    const unsigned *arg_bytes; /* size of each argument; a pointer has 8 */
    unsigned max_threads;      /* of a block; 0 = 1024 */
    size_t static_shared;      /* bytes of shared memory that the kernel has of itself */
} tfr_cpu_kernel;

#ifdef __cplusplus
}
#endif

#endif
