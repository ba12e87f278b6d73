/* SPDX-License-Identifier: Apache-2.0 */
/* plan_variadic.c: launches of variadic.cu: Sum, Mean, Max and Min of any number of operands. */
#include "plan_kit.h"

#include <stddef.h>
#include <string.h>

#include "kernels/tensors.h"

/* The dims of y, of which those behind each other stay apart where an operand broadcasts; 0 where
 * none does. False: a no. */
static bool fill_dims(const tfr_call *call, tfr_variadic *out, tfr_answer *answer)
{
    const tfr_operand *y = tfr_call_output(call, 0);
    bool is_broadcast = false;

    for (uint32_t i = 0; i < call->n_inputs; i++)
        is_broadcast = is_broadcast || !tfr_operand_same_dims(tfr_call_input(call, i), y);
    if (!is_broadcast)
        return true;
    if (y->rank > TFR_VARIADIC_DIMS) {
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "broadcasting of more than %d dims",
                    TFR_VARIADIC_DIMS);
        return false;
    }
    out->rank = y->rank;
    for (int32_t d = 0; d < y->rank; d++)
        out->dims[d] = cuda_divisor(y->dims[d]);
    return true;
}

/* Operand k of the launch; NULL: y itself. */
static void set_operand(const tfr_call *call, tfr_variadic *v, int32_t k, const tfr_operand *x)
{
    int64_t strides[TFR_MAX_RANK];

    cuda_broadcast(x ? x : tfr_call_output(call, 0), v->rank, strides);
    for (int32_t d = 0; d < v->rank; d++)
        v->strides[k][d] = (int32_t)strides[d];
}

/* Operands `first` on; those before are in y. Returns the number of the next one. */
static uint32_t plan_some(const cuda_chip *chip, const tfr_call *call, const char *kernel,
                          tfr_variadic *v, uint32_t first, bool is_mean, cuda_plan *plan)
{
    cuda_step *step = cuda_plan_add(plan, kernel, cuda_blocks(chip, v->n, 256), 256);
    uint32_t next = first;

    v->count = 0;
    cuda_step_operand(plan, step, call->n_inputs);
    while (v->count < TFR_VARIADIC && (next < call->n_inputs || (first && !v->count))) {
        const bool is_y = first && !v->count;
        set_operand(call, v, v->count, is_y ? NULL : tfr_call_input(call, next));
        cuda_step_address(plan, step,
                          (uint32_t)(offsetof(tfr_variadic, x) + (size_t)v->count * sizeof v->x[0]),
                          is_y ? call->n_inputs : next);
        next += !is_y;
        v->count++;
    }
    v->by = is_mean && next == call->n_inputs ? (int32_t)next : 1;
    cuda_step_bytes(plan, step, v, sizeof *v);
    return next;
}

CUDA_FAMILY(cuda_variadic_many)
{
    static cuda_names names = {CUDA_FLOATS("variadic_"), CUDA_BYTES("variadic_"),
                               CUDA_WIDE("variadic_"), [TFR_DTYPE_F64] = "variadic_f64"};
    const bool is_mean = strcmp(call->name, "Mean") == 0;
    const char *kernel = cuda_pick_input(names, call, answer);
    tfr_variadic v;
    uint32_t next = 0;

    memset(&v, 0, sizeof v);
    v.op = strcmp(call->name, "Max") == 0   ? TFR_VARIADIC_MAX
           : strcmp(call->name, "Min") == 0 ? TFR_VARIADIC_MIN
                                            : TFR_VARIADIC_SUM;
    v.n = (int32_t)tfr_operand_elements(tfr_call_output(call, 0));
    if (!kernel || !fill_dims(call, &v, answer) || v.n == 0)
        return;
    if (call->n_inputs > CUDA_PLAN_STEPS * (TFR_VARIADIC - 1)) {
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "%u operands", call->n_inputs);
        return;
    }
    for (uint32_t i = 0; call->n_inputs <= TFR_VARIADIC && i < call->n_inputs; i++)
        if (tfr_operand_same_dims(tfr_call_input(call, i), tfr_call_output(call, 0)))
            cuda_may_share(answer, (int16_t)i, 0);
    do
        next = plan_some(chip, call, kernel, &v, next, is_mean, plan);
    while (next < call->n_inputs);
}
