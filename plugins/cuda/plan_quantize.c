/* SPDX-License-Identifier: Apache-2.0 */
/* plan_quantize.c: launches of quantize.cu. */
#include "plan_kit.h"

/* How scale follows the elements of x; false, and a no, if it does not. */
static bool find_blocks(const tfr_call *call, const tfr_operand *x, const tfr_operand *scale,
                        tfr_quantization *q, tfr_answer *answer)
{
    const int64_t given = tfr_call_int(call, "axis", 1), n = tfr_operand_elements(scale);
    const int32_t axis = given >= 0 && given < x->rank ? (int32_t)given : 0;
    int64_t block = tfr_call_int(call, "block_size", 0);
    tfr_lanes l;

    q->n = (int32_t)tfr_operand_elements(x);
    if (n == 1 || x->rank == 0) {
        q->mode = TFR_QUANTIZED_TENSOR;
        return true;
    }
    l = cuda_lanes(x, axis);
    q->inner = cuda_divisor(l.inner);
    q->axis = cuda_divisor(l.n);
    q->mode = scale->rank == 1 && block == 0 ? TFR_QUANTIZED_AXIS : TFR_QUANTIZED_BLOCKS;
    if (q->mode == TFR_QUANTIZED_AXIS)
        return true;
    if (scale->rank != x->rank || scale->dims[axis] == 0) {
        tfr_decline(answer, TFR_REASON_RANK, "scales of rank %d for blocks of rank %d", scale->rank,
                    x->rank);
        return false;
    }
    q->blocks = (int32_t)scale->dims[axis];
    block = block > 0 ? block : (l.n + scale->dims[axis] - 1) / scale->dims[axis];
    q->block = cuda_divisor(block < l.n ? block : l.n);
    return true;
}

static bool is_scale(int32_t dtype, bool admits_whole, tfr_answer *answer)
{
    if (dtype == TFR_DTYPE_F32 || dtype == TFR_DTYPE_F16 || dtype == TFR_DTYPE_BF16 ||
        (admits_whole && dtype == TFR_DTYPE_I32))
        return true;
    tfr_decline(answer, TFR_REASON_DTYPE, "scales of element type %d", dtype);
    return false;
}

/* The bounds of an integer of 8 or 16 bits; false, and a no, for another type. */
static bool find_bounds(const tfr_operand *y, tfr_quantization *q, tfr_answer *answer)
{
    switch (y->dtype) {
    case TFR_DTYPE_U8:
    case TFR_DTYPE_U16:
        q->bytes = (int32_t)tfr_dtype_bits(y->dtype) / 8;
        q->high = q->bytes == 1 ? UINT8_MAX : UINT16_MAX;
        return true;
    case TFR_DTYPE_I8:
    case TFR_DTYPE_I16:
        q->bytes = (int32_t)tfr_dtype_bits(y->dtype) / 8;
        q->low = q->bytes == 1 ? INT8_MIN : INT16_MIN;
        q->high = q->bytes == 1 ? INT8_MAX : INT16_MAX;
        return true;
    default:
        tfr_decline(answer, TFR_REASON_DTYPE, "quantized to element type %d, not of 8 or 16 bits",
                    y->dtype);
        return false;
    }
}

CUDA_FAMILY(cuda_quantize)
{
    static cuda_names names = {CUDA_FLOATS("quantize_"), [TFR_DTYPE_I32] = "quantize_i32"};
    const tfr_operand *x = tfr_call_input(call, 0), *scale = tfr_call_input(call, 1);
    const char *kernel = cuda_pick_input(names, call, answer);
    const int32_t precision = (int32_t)tfr_call_int(call, "precision", 0);
    tfr_quantization q = {.scale_type = scale->dtype, .precision = precision};
    cuda_step *step;
    uint32_t i;

    if (!kernel || !is_scale(scale->dtype, true, answer) ||
        !find_bounds(tfr_call_output(call, 0), &q, answer) ||
        !find_blocks(call, x, scale, &q, answer))
        return;
    if (!precision)
        q.precision = scale->dtype == TFR_DTYPE_I32 ? TFR_DTYPE_F32 : scale->dtype;
    if (!is_scale(q.precision, false, answer) || q.n == 0)
        return;
    step = cuda_plan_add(plan, kernel, cuda_blocks(chip, q.n, 256), 256);
    cuda_step_operand(plan, step, 0);
    for (i = 0; i < 3; i++)
        cuda_step_operand(plan, step, 1);
    for (i = 0; i < 2; i++)
        cuda_step_operand(plan, step, cuda_input_or_none(call, 2));
    for (i = 0; i < 2; i++)
        cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_bytes(plan, step, &q, sizeof q);
}

CUDA_FAMILY(cuda_dequantize)
{
    static cuda_names names = {
        CUDA_BYTES("dequantize_"),          [TFR_DTYPE_U16] = "dequantize_u16",
        [TFR_DTYPE_I16] = "dequantize_i16", [TFR_DTYPE_I32] = "dequantize_i32",
        [TFR_DTYPE_U4] = "dequantize_u4",   [TFR_DTYPE_I4] = "dequantize_i4"};
    const tfr_operand *x = tfr_call_input(call, 0), *scale = tfr_call_input(call, 1);
    const tfr_operand *y = tfr_call_output(call, 0);
    const char *kernel = cuda_pick_input(names, call, answer);
    tfr_quantization q = {.scale_type = scale->dtype, .y_type = y->dtype};
    cuda_step *step;
    uint32_t i;

    if (!kernel || !is_scale(scale->dtype, false, answer) || !is_scale(y->dtype, false, answer) ||
        !find_blocks(call, x, scale, &q, answer) || q.n == 0)
        return;
    step = cuda_plan_add(plan, kernel, cuda_blocks(chip, q.n, 256), 256);
    cuda_step_operand(plan, step, 0);
    for (i = 0; i < 2; i++)
        cuda_step_operand(plan, step, 1);
    cuda_step_operand(plan, step, cuda_input_or_none(call, 2));
    for (i = 0; i < 2; i++)
        cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_bytes(plan, step, &q, sizeof q);
}

/* The range of x by up to 256 blocks, which each block of the second kernel joins. */
CUDA_FAMILY(cuda_dynamic_quantize)
{
    static cuda_names names = {[TFR_DTYPE_F32] = "dynamic_quantize_f32"};
    const tfr_operand *x = tfr_call_input(call, 0);
    const char *kernel = cuda_pick_input(names, call, answer);
    const int64_t n = tfr_operand_elements(x);
    uint64_t blocks = cuda_blocks(chip, n, 1024);
    cuda_step *step;
    uint32_t i;

    if (!kernel)
        return;
    for (i = 1; i < 3; i++)
        if (!tfr_call_output(call, i)) {
            tfr_decline(answer, TFR_REASON_ATTRIBUTE, "output %u is absent", i);
            return;
        }
    blocks = blocks < 1 ? 1 : blocks > 256 ? 256 : blocks;
    answer->workspace_bytes = blocks * 2 * sizeof(float);
    step = cuda_plan_add(plan, "dynamic_quantize_range_f32", blocks, 256);
    cuda_step_operand(plan, step, 0);
    cuda_step_workspace(plan, step, 0);
    cuda_step_int(plan, step, (int32_t)n);
    step = cuda_plan_add(plan, kernel, cuda_blocks(chip, n, 256), 256);
    cuda_step_operand(plan, step, 0);
    cuda_step_workspace(plan, step, 0);
    for (i = 0; i < 3; i++)
        cuda_step_operand(plan, step, call->n_inputs + i);
    cuda_step_int(plan, step, (int32_t)n);
    cuda_step_int(plan, step, (int32_t)blocks);
}
