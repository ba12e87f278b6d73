/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c: see engine.h. */
#include "engine.h"

#include <stdlib.h>

void cuda_engine_warn(void)
{
    static atomic_bool has_warned;
    const char *override = secure_getenv("NVIDIA_TF32_OVERRIDE");

    if (override && !atomic_exchange(&has_warned, true))
        cuda_log(TFR_LOG_WARNING,
                 "NVIDIA_TF32_OVERRIDE=%.9s is set: cuBLASLt and cuDNN follow it, and not the "
                 "math mode",
                 override);
}

int32_t cuda_engine_make(tfr_plugin_device *device, const tfr_call *call, const cuda_plan *plan,
                         cuda_engine **out, tfr_err *err)
{
    tfr_err why = TFR_ERR_INIT;
    int32_t status = TFR_OK;

    *out = NULL;
    if (plan->product.is_set)
        status = cuda_gemm_make(device, call, &plan->product, out, &why);
    else if (plan->convolution.kind != CUDA_CONV_NONE)
        status = cuda_convolution_make(device, call, &plan->convolution, out, &why);
    else if (plan->solution.is_large)
        status = cuda_solve_make(device, &plan->solution, out, &why);
    if (atomic_load(&device->is_lost))
        return cuda_tell_lost(device, err);
    /* That a library is missing was said when it was looked for. */
    if (status != TFR_OK && status != TFR_ENOTFOUND)
        cuda_log(status == TFR_EUNSUPPORTED ? TFR_LOG_DEBUG : TFR_LOG_WARNING,
                 "%s is computed by tfrun's own kernel: %s", call->name, why.text);
    return TFR_OK;
}

void cuda_engines_close(tfr_plugin_device *device)
{
    cuda_solve_close(device);
    cuda_convolution_close(device);
    cuda_gemm_close(device);
}
