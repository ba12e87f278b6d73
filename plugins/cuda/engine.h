/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.h: calls that a library of NVIDIA's computes in place of our kernels. A plan describes
 * the call (cuda_product, cuda_convolution), prepare asks for an engine, and without one the
 * steps of the plan go on: no model depends on these libraries.
 */
#ifndef CUDA_ENGINE_H
#define CUDA_ENGINE_H

#include "host.h"

typedef struct cuda_engine cuda_engine;
struct cuda_engine {
    const char *name;         /* for records */
    uint64_t workspace_bytes; /* of each launch */
    bool uses_math_mode;      /* less exact than strict */
    /* The context is current. */
    int32_t (*launch)(tfr_plugin_device *device, tfr_queue *queue, cuda_engine *engine,
                      const tfr_launch *launch, tfr_err *err);
    void (*drop)(tfr_plugin_device *device, cuda_engine *engine);
};

/*
 * The engine for the call, or TFR_OK and NULL where our kernels are to compute it: the plan
 * describes none, the library is missing or has no way. What the library says of other failures is
 * logged. TFR_ELOST is the one failure. The context is current.
 */
int32_t cuda_engine_make(tfr_plugin_device *device, const tfr_call *call, const cuda_plan *plan,
                         cuda_engine **out, tfr_err *err);

/* ---- gemm_lt.c ---- */

int32_t cuda_gemm_make(tfr_plugin_device *device, const tfr_call *call, const cuda_product *product,
                       cuda_engine **out, tfr_err *err);

/* ---- conv_dnn.c ---- */

/* Whether cuDNN is there. It is opened, as for the first convolution. */
bool cuda_convolution_can(void);
int32_t cuda_convolution_make(tfr_plugin_device *device, const tfr_call *call,
                              const cuda_convolution *convolution, cuda_engine **out, tfr_err *err);

/* ---- solve_dn.c ---- */

int32_t cuda_solve_make(tfr_plugin_device *device, const cuda_solution *solution, cuda_engine **out,
                        tfr_err *err);

/* ---- what the files of engines share ---- */

/* Warns, once, when the environment decides on the math mode of the libraries. */
void cuda_engine_warn(void);

/* The address of an operand at launch; NULL for CUDA_NO_OPERAND. */
static inline void *cuda_operand_address(const tfr_launch *launch, uint32_t number)
{
    return number < launch->n_args ? launch->args[number].address : NULL;
}

#endif
