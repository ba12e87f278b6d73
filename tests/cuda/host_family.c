/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_family.c: Add of equal dims by a kernel that the driver stand-in has of itself, y[i] +=
 * x[i], so that the host half of the CUDA backend is tested where nothing can compile its kernels.
 */
#include "plan_kit.h"

#include <tfrun/fail.h>

cuda_family cuda_test_add;

void cuda_test_add(const cuda_chip *chip, const tfr_call *call, tfr_answer *answer, cuda_plan *plan)
{
    const tfr_operand *y = tfr_call_output(call, 0);
    const int32_t n = (int32_t)tfr_operand_elements(y);
    cuda_step *step;

    (void)chip;
    for (uint32_t i = 0; i < 2; i++)
        if (!tfr_operand_same_dims(tfr_call_input(call, i), y)) {
            tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "operands of other dims");
            return;
        }
    if (n == 0)
        return;
    step = cuda_plan_zero(plan, (uint64_t)n * sizeof(float));
    cuda_step_operand(plan, step, 2);
    for (uint32_t i = 0; i < 2; i++) {
        step = cuda_plan_add(plan, "fake_add", ((uint64_t)n + 255) / 256, 256);
        cuda_step_operand(plan, step, 2);
        cuda_step_operand(plan, step, i);
        cuda_step_int(plan, step, n);
    }
}

bool cuda_fused_step(const tfr_call *call, tfr_fused_step *out)
{
    (void)call;
    (void)out;
    return false;
}

uint32_t cuda_may_last(const tfr_call *call, bool *together)
{
    (void)call;
    *together = false;
    return 0;
}

bool cuda_may_lack(const tfr_call *call, uint32_t parameter)
{
    (void)call;
    (void)parameter;
    return false;
}
