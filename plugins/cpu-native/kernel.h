/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.h: the kernel of a node: a function, its state, and blocks of memory.
 *
 * Each op has a supports and a prepare function, named in ops.c. supports says no with tfr_decline
 * and returns, or leaves the YES that it finds; it may take every operand as plain, and input 0 and
 * the outputs as not empty. prepare sets the function; errors stick to the build.
 */
#ifndef NATIVE_KERNEL_H
#define NATIVE_KERNEL_H

#include "device.h"

/*
 * It finds the operands in launch; those that were known may have no address there. It divides its
 * work with host->parallel_for, and fails where operands hold what is wrong.
 */
typedef int32_t (*native_function)(const tfr_plugin_device *device, void *state,
                                   const tfr_launch *launch, tfr_err *err);

enum { NATIVE_MAX_BLOCKS_OF_KERNEL = 5 };

struct tfr_kernel {
    native_function function;
    void (*release)(void *state);              /* what the state owns; NULL = nothing */
    const char *name;                          /* for the records */
    void *blocks[NATIVE_MAX_BLOCKS_OF_KERNEL]; /* the first one is the state */
    int n_blocks;
};

typedef struct native_build {
    tfr_plugin_device *device;
    const tfr_call *call;
    tfr_kernel *kernel;
    tfr_err *err;
    int32_t status; /* the first error; nothing is done after it */
} native_build;

/*
 * Sets the kernel's function, once; the answer is its zeroed state, which lives as long as the
 * kernel, or NULL after an error. name is a constant; release may be NULL.
 */
void *native_set_function(native_build *b, native_function function, void (*release)(void *),
                          size_t state_bytes, const char *name);
/* Memory for it, aligned to a line of the cache, freed with the kernel; NULL after an error. */
void *native_add_block(native_build *b, size_t bytes);

/* ---- ops.c ---- */

typedef struct native_op {
    const char *name;
    int32_t since_version;
    uint32_t types; /* of operand 0 */
    void (*supports)(const tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer);
    void (*prepare)(native_build *b, const tfr_call *call);
    const char *domain;
    bool counted; /* its launches say how long the outputs are */
    bool widens;  /* half_kernel.c makes its float32 of half */
} native_op;

extern const native_op native_op_rows[]; /* sorted by name */
extern const uint32_t native_n_op_rows;
/* NULL = no such row. */
const native_op *native_find_op(const tfr_call *call);

/* ---- the kernel facet ---- */

int32_t native_supports(tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer,
                        tfr_err *err);
int32_t native_prepare(tfr_plugin_device *device, const tfr_call *call,
                       const tfr_prepare_options *options, tfr_kernel **out, tfr_kernel_info *info,
                       tfr_err *err);
int32_t native_launch(tfr_plugin_device *device, tfr_queue *queue, tfr_kernel *kernel,
                      const tfr_launch *launch, tfr_err *err);
void native_drop(tfr_plugin_device *device, tfr_kernel *kernel);

#endif
