/* SPDX-License-Identifier: Apache-2.0 */
/* plan_random.c: launches of random.cu and of the optimizers of preview_training.cu. */
#include "plan_kit.h"

/* addresses are written into it, so it is the host's form of the struct */
#include "kernels/tensors.h"

#include <stddef.h>
#include <string.h>

/* What the call's numbers are drawn from. */
static tfr_draw draw_of(const tfr_call *call, int64_t n)
{
    const tfr_attr *seed = tfr_call_attr(call, "seed");
    tfr_draw d = {.n = (int32_t)n, .has_seed = seed != NULL, .subsequence = call->subsequence};

    if (seed && seed->type == TFR_ATTR_INT && seed->n == 1)
        d.seed = (uint64_t)seed->ints[0];
    else if (seed && seed->type == TFR_ATTR_FLOAT && seed->n == 1)
        memcpy(&d.seed, seed->floats, sizeof(float));
    return d;
}

/* Draws numbers: without a seed two launches differ. */
static void answer_random(const tfr_call *call, tfr_answer *answer)
{
    answer->flags |= TFR_ANSWER_RANDOM;
    if (!tfr_call_attr(call, "seed") || strcmp(call->name, "Dropout") == 0)
        answer->flags |= TFR_ANSWER_NONDETERMINISTIC;
}

CUDA_FAMILY(cuda_random)
{
    static cuda_names normal = {CUDA_FLOATS("random_normal_")};
    static cuda_names uniform = {CUDA_FLOATS("random_uniform_")};
    const bool is_normal = strncmp(call->name, "RandomNormal", 12) == 0;
    const tfr_operand *y = tfr_call_output(call, 0);
    const int64_t n = tfr_operand_elements(y);
    const char *kernel =
        cuda_call_fits(call, answer)
            ? cuda_pick(is_normal ? normal : uniform, y, call->n_inputs, answer)
            : NULL;
    tfr_draw d = draw_of(call, n);
    cuda_step *step;

    if (!kernel)
        return;
    answer_random(call, answer);
    d.a = tfr_call_float(call, is_normal ? "mean" : "low", 0);
    d.b = tfr_call_float(call, is_normal ? "scale" : "high", 1);
    step = n ? cuda_plan_add(plan, kernel, cuda_blocks(chip, n, 1024), 256) : NULL;
    cuda_step_random(plan, step);
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_bytes(plan, step, &d, sizeof d);
}

CUDA_FAMILY(cuda_bernoulli)
{
    static cuda_names names = {CUDA_FLOATS("bernoulli_")};
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    const int64_t n = tfr_operand_elements(y);
    const char *kernel = cuda_pick_input(names, call, answer);
    const tfr_draw d = draw_of(call, n);
    cuda_step *step;

    if (!kernel)
        return;
    if (x->dtype != y->dtype) {
        tfr_decline(answer, TFR_REASON_DTYPE, "type %d from type %d", y->dtype, x->dtype);
        return;
    }
    answer_random(call, answer);
    step = n ? cuda_plan_add(plan, kernel, cuda_blocks(chip, n, 1024), 256) : NULL;
    cuda_step_random(plan, step);
    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, 1);
    cuda_step_bytes(plan, step, &d, sizeof d);
}

/* Without training, which is the default, x is copied and the mask is true. */
static void plan_inference(const cuda_chip *chip, const tfr_call *call, int64_t n,
                           tfr_answer *answer, cuda_plan *plan)
{
    cuda_step *step = NULL;

    cuda_same(chip, call, answer, plan);
    if (answer->verdict == TFR_VERDICT_YES && n && tfr_call_output(call, 1))
        step = cuda_plan_add(plan, "fill_8", cuda_blocks(chip, n, 256), 256);
    cuda_step_operand(plan, step, call->n_inputs + 1);
    cuda_step_long(plan, step, 1);
    cuda_step_int(plan, step, (int32_t)n);
}

/* The ratio if it is known, else 0.5, which is that of an absent one. */
static bool known_ratio(const tfr_operand *ratio, float *out, tfr_answer *answer)
{
    *out = 0.5f;
    if (ratio && ratio->dtype != TFR_DTYPE_F32) {
        tfr_decline(answer, TFR_REASON_DTYPE, "ratio has type %d, not float32", ratio->dtype);
        return false;
    }
    if (ratio && ratio->data)
        memcpy(out, ratio->data, sizeof *out);
    if (!(*out >= 0 && *out <= 1)) {
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "ratio %g is not in [0, 1]", (double)*out);
        return false;
    }
    return true;
}

CUDA_FAMILY(cuda_dropout)
{
    static cuda_names names = {CUDA_FLOATS("dropout_")};
    const tfr_operand *ratio = tfr_call_input(call, 1), *mode = tfr_call_input(call, 2);
    const int64_t n = tfr_operand_elements(tfr_call_input(call, 0));
    const char *kernel = cuda_pick_input(names, call, answer);
    tfr_draw d = draw_of(call, n);
    cuda_step *step;

    if (!kernel)
        return;
    if (!mode || (mode->data && !*(const unsigned char *)mode->data)) {
        plan_inference(chip, call, n, answer, plan);
        return;
    }
    if (!known_ratio(ratio, &d.a, answer))
        return;
    d.each_run = 1;
    answer_random(call, answer);
    step = n ? cuda_plan_add(plan, kernel, cuda_blocks(chip, n, 1024), 256) : NULL;
    cuda_step_random(plan, step);
    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, ratio && !ratio->data ? 1 : CUDA_NO_OPERAND);
    cuda_step_operand(plan, step, mode->data ? CUDA_NO_OPERAND : 2);
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_operand(plan, step, tfr_call_output(call, 1) ? call->n_inputs + 1 : CUDA_NO_OPERAND);
    cuda_step_bytes(plan, step, &d, sizeof d);
}

/* ---- optimizers ---- */

/* Up to TFR_TENSORS tensors from number `first` on: inputs R, T, all X, G, V, H. */
static void plan_tensors(const tfr_call *call, const char *kernel, uint32_t states, uint32_t n,
                         uint32_t first, const tfr_optimizer *o, cuda_plan *plan)
{
    const uint32_t count = n - first < TFR_TENSORS ? n - first : TFR_TENSORS;
    tfr_tensors all = {.count = (int32_t)count};
    int32_t blocks = 0;
    cuda_step *step;
    uint32_t t, k;

    for (t = 0; t < count; t++) {
        all.n[t] = (int32_t)tfr_operand_elements(tfr_call_input(call, 2 + first + t));
        all.blocks[t] = blocks;
        blocks += (all.n[t] + TFR_TENSOR_PART - 1) / TFR_TENSOR_PART;
    }
    if (blocks == 0)
        return;
    step = cuda_plan_add(plan, kernel, (uint64_t)blocks, 256);
    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, 1);
    for (t = 0; t < count; t++) {
        const size_t at = t * sizeof(uint64_t);
        for (k = 0; k < 2 + states; k++) /* x, g, v, h lie one behind the other */
            cuda_step_address(plan, step,
                              (uint32_t)(offsetof(tfr_tensors, x) + k * sizeof all.x + at),
                              2 + k * n + first + t);
        for (k = 0; k < 1 + states; k++)
            cuda_step_address(plan, step,
                              (uint32_t)(offsetof(tfr_tensors, new_x) + k * sizeof all.x + at),
                              call->n_inputs + k * n + first + t);
    }
    cuda_step_bytes(plan, step, &all, sizeof all);
    cuda_step_bytes(plan, step, o, sizeof *o);
}

CUDA_FAMILY(cuda_optimizer)
{
    static cuda_names adam = {[TFR_DTYPE_F32] = "adam_f32"};
    static cuda_names momentum = {[TFR_DTYPE_F32] = "momentum_f32"};
    static cuda_names adagrad = {[TFR_DTYPE_F32] = "adagrad_f32"};
    const bool is_adam = strcmp(call->name, "Adam") == 0;
    const uint32_t states = is_adam ? 2 : 1, n = (call->n_inputs - 2) / (2 + states);
    const char *kernel =
        cuda_pick_input(is_adam                 ? adam
                        : call->name[0] == 'M' ? momentum
                                               : adagrad,
                        call, answer);
    const tfr_optimizer o = {
        .norm = tfr_call_float(call, "norm_coefficient", 0),
        .post = tfr_call_float(call, "norm_coefficient_post", 0),
        .alpha = tfr_call_float(call, "alpha", 0.9f),
        .beta = tfr_call_float(call, "beta", 0.999f),
        .epsilon = tfr_call_float(call, "epsilon", 1e-6f),
        .decay = tfr_call_float(call, "decay_factor", 0),
        .nesterov = strcmp(tfr_call_string(call, "mode", "standard"), "nesterov") == 0};
    uint32_t i;

    (void)chip;
    if (!kernel)
        return;
    for (i = 2; i < call->n_inputs; i++)
        if (tfr_call_input(call, i)->dtype != TFR_DTYPE_F32) {
            tfr_decline(answer, TFR_REASON_DTYPE, "input %u has type %d, not float32", i,
                        tfr_call_input(call, i)->dtype);
            return;
        }
    if (n > TFR_TENSORS * CUDA_PLAN_STEPS) {
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "%u tensors are more than %d", n,
                    TFR_TENSORS * CUDA_PLAN_STEPS);
        return;
    }
    for (i = 0; i < n; i += TFR_TENSORS)
        plan_tensors(call, kernel, states, n, i, &o, plan);
}
