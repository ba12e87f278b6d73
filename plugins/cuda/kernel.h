/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.h: between kernel.c, which answers and prepares, module.c, which finds kernels, and
 * launch.c, which launches them. */
#ifndef CUDA_KERNEL_H
#define CUDA_KERNEL_H

#include "engine.h"
#include "finding.h"

/*
 * What a launch reads and writes: n_read inputs of so many bytes each, then n_written outputs, by
 * the numbers of its arguments, and the workspace. Arguments behind them are constants.
 */
typedef struct cuda_extents {
    uint64_t workspace_bytes;
    uint32_t n_read, n_written;
    uint64_t bytes[];
} cuda_extents;

struct tfr_kernel {
    cuda_extents *extents; /* NULL: unknown */
    cuda_engine *engine;   /* runs first; without steps it computes all of it; or NULL */
    cuda_noted *noted;     /* what it may find wrong; or NULL */
    uint32_t n_steps;
    tfr_cu_function **functions; /* of each step, behind the steps; NULL: fill */
    cuda_step steps[];
};

/* Takes the engine, or copies the steps and makes their kernels ready. The context is current. */
int32_t cuda_kernel_make(tfr_plugin_device *device, const cuda_step *steps, uint32_t n_steps,
                         cuda_engine *engine, tfr_kernel **out, tfr_err *err);
/* The same without functions, which the caller sets; NULL: no memory. */
tfr_kernel *cuda_kernel_new(const cuda_step *steps, uint32_t n_steps, cuda_engine *engine);
/* NULL: no memory, so that they are unknown. */
cuda_extents *cuda_extents_new(uint32_t n_read, uint32_t n_written, uint64_t workspace_bytes);
uint64_t cuda_operand_bytes(const tfr_operand *o);
/* NULL is fine. */
void cuda_kernel_drop(tfr_plugin_device *device, tfr_kernel *kernel);

/* The plan of the call, and the workspace of its steps. False: it is none of this backend's.
 * last: of cuda_plan. */
bool cuda_call_plan(tfr_plugin_device *device, const tfr_call *call, uint32_t last, cuda_plan *plan,
                    uint64_t *workspace);

/* Finds a function by name, loaded, with as much shared memory as it asks for. */
int32_t cuda_find_function(tfr_plugin_device *device, const cuda_step *step, tfr_cu_function **out,
                           tfr_err *err);
int32_t cuda_launch(tfr_plugin_device *device, tfr_queue *queue, tfr_kernel *kernel,
                    const tfr_launch *launch, tfr_err *err);

#endif
