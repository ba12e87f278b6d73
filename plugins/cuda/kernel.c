/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.c: which calls this backend takes: those that a family of families.def makes a plan for.
 * The plan is made once, in prepare; launch.c runs it.
 */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>
#include <tfrun/op_digests.h>

#ifndef CUDA_FAMILIES /* a build for tests has others */
#define CUDA_FAMILIES "families.def"
#endif

#define X(domain, name, since_version, dtypes, family) cuda_family family;
#include CUDA_FAMILIES
#undef X

/* Ended by a row without a name. */
static const cuda_op ops[] = {
#define X(domain, name, since_version, dtypes, family)                                             \
    {domain, name, since_version, dtypes, family},
#include CUDA_FAMILIES
#undef X
    {NULL, NULL, 0, 0, NULL}};

static int32_t cuda_ops(const tfr_device_info *device, tfr_op_claim *out, uint32_t stride,
                        uint32_t *n, tfr_err *err)
{
    uint32_t i;

    (void)device, (void)err;
    for (i = 0; ops[i].name; i++) {
        const tfr_op_claim claim = {
            .size = sizeof claim,
            .since_version = ops[i].since_version,
            .domain = ops[i].domain,
            .name = ops[i].name,
            .digest = tfr_op_digest(ops[i].domain, ops[i].name),
            .dtypes = ops[i].dtypes,
        };
        tfr_list_put(out, stride, *n, i, &claim, sizeof claim);
    }
    *n = i;
    return TFR_OK;
}

static const cuda_op *find_op(const tfr_call *call)
{
    for (uint32_t i = 0; ops[i].name; i++)
        if (strcmp(ops[i].name, call->name) == 0 && strcmp(ops[i].domain, call->domain) == 0)
            return &ops[i];
    return NULL;
}

static const tfr_operand *operand_at(const tfr_call *call, uint32_t i)
{
    return i < call->n_inputs ? tfr_call_input(call, i) : tfr_call_output(call, i - call->n_inputs);
}

/* The checks that hold for every op. False = declined. */
static bool is_usual(const cuda_op *op, const tfr_call *call, tfr_answer *answer)
{
    const tfr_operand *first = call->n_inputs ? operand_at(call, 0) : tfr_call_output(call, 0);
    bool is_strided = false;

    if (first && (first->dtype < 0 || first->dtype > 63 || !(op->dtypes >> first->dtype & 1))) {
        tfr_decline(answer, TFR_REASON_DTYPE, "no kernel of %s for element type %d", op->name,
                    first->dtype);
        return false;
    }
    for (uint32_t i = 0; i < call->n_inputs + call->n_outputs; i++) {
        const tfr_operand *o = operand_at(call, i);
        if (!o)
            continue;
        is_strided = is_strided || !tfr_operand_is_plain(o);
        if (o->flags & TFR_OPERAND_DYNAMIC) {
            tfr_decline(answer, TFR_REASON_DYNAMIC_SHAPE,
                        "the dims of output %u are known only when it has been computed",
                        i - call->n_inputs);
            return false;
        }
        if (tfr_operand_elements(o) > INT32_MAX) {
            tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "operand %u has %lld elements, at most %d",
                        i, (long long)tfr_operand_elements(o), INT32_MAX);
            return false;
        }
    }
    if (is_strided) {
        tfr_decline(answer, TFR_REASON_LAYOUT, "kernels take dense operands in row-major order");
        answer->verdict = TFR_VERDICT_REORDER;
    }
    return !is_strided;
}

static int32_t cuda_supports(tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer,
                             tfr_err *err)
{
    const cuda_op *op = find_op(call);

    (void)err;
    if (!op)
        return tfr_decline(answer, TFR_REASON_UNKNOWN_OP, "no kernel of %s", call->name);
    if (tfr_call_unknown(call, TFR_CALL_DETERMINISTIC))
        return tfr_decline(answer, TFR_REASON_ATTRIBUTE, "flags 0x%x are not known", call->flags);
    if (!is_usual(op, call, answer))
        return TFR_OK;
    answer->verdict = TFR_VERDICT_YES;
    answer->flags |= TFR_ANSWER_CAPTURABLE;
    op->plan(&device->facts.chip, call, answer, NULL);
    return TFR_OK;
}

/* Whether each launch writes addresses into bytes that the step has. */
static bool is_sound(const cuda_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_steps; i++)
        for (uint32_t k = 0; k < plan->steps[i].n_addresses; k++)
            if (plan->steps[i].addresses[k].byte + 8u > plan->steps[i].n_bytes)
                return false;
    return !plan->is_full;
}

bool cuda_call_plan(tfr_plugin_device *device, const tfr_call *call, uint32_t last, cuda_plan *plan,
                    uint64_t *workspace)
{
    const cuda_op *op = find_op(call);
    tfr_answer answer = {.size = sizeof answer, .verdict = TFR_VERDICT_YES};

    memset(plan, 0, sizeof *plan);
    plan->last = last;
    if (!op || !is_usual(op, call, &answer))
        return false;
    op->plan(&device->facts.chip, call, &answer, plan);
    *workspace = answer.workspace_bytes;
    return answer.verdict == TFR_VERDICT_YES && is_sound(plan);
}

tfr_kernel *cuda_kernel_new(const cuda_step *steps, uint32_t n_steps, cuda_engine *engine)
{
    const size_t bytes = sizeof(tfr_kernel) + n_steps * sizeof(cuda_step);
    tfr_kernel *kernel = calloc(1, bytes + n_steps * sizeof(tfr_cu_function *));

    if (!kernel)
        return NULL;
    kernel->engine = engine;
    kernel->n_steps = n_steps;
    kernel->functions = (tfr_cu_function **)(void *)((char *)kernel + bytes);
    memcpy(kernel->steps, steps, n_steps * sizeof kernel->steps[0]);
    return kernel;
}

int32_t cuda_kernel_make(tfr_plugin_device *device, const cuda_step *steps, uint32_t n_steps,
                         cuda_engine *engine, tfr_kernel **out, tfr_err *err)
{
    tfr_kernel *kernel = cuda_kernel_new(steps, n_steps, engine);
    int32_t status = TFR_OK;

    if (!kernel)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a kernel");
    for (uint32_t i = 0; i < n_steps && status == TFR_OK; i++)
        if (steps[i].kernel)
            status = cuda_find_function(device, &steps[i], &kernel->functions[i], err);
    if (status == TFR_OK)
        *out = kernel;
    else
        free(kernel);
    return status;
}

cuda_extents *cuda_extents_new(uint32_t n_read, uint32_t n_written, uint64_t workspace_bytes)
{
    const uint32_t n = n_read + n_written;
    cuda_extents *extents = calloc(1, sizeof *extents + n * sizeof extents->bytes[0]);

    if (extents) {
        extents->n_read = n_read;
        extents->n_written = n_written;
        extents->workspace_bytes = workspace_bytes;
    }
    return extents;
}

uint64_t cuda_operand_bytes(const tfr_operand *o)
{
    return ((uint64_t)tfr_operand_elements(o) * tfr_dtype_bits(o->dtype) + 7) / 8;
}

static cuda_extents *extents_of(const tfr_call *call, uint64_t workspace_bytes)
{
    cuda_extents *extents = cuda_extents_new(call->n_inputs, call->n_outputs, workspace_bytes);

    for (uint32_t i = 0; extents && i < call->n_inputs + call->n_outputs; i++) {
        const tfr_operand *o = operand_at(call, i);
        extents->bytes[i] = o ? cuda_operand_bytes(o) : 0;
    }
    return extents;
}

/* What supports could not know. */
static void correct_info(const cuda_plan *plan, const cuda_engine *engine, tfr_kernel_info *info)
{
    if (engine ? !engine->uses_math_mode : !plan->uses_math_mode)
        info->flags &= ~(uint32_t)TFR_ANSWER_MATH_MODE;
    if (engine)
        info->workspace_bytes = engine->workspace_bytes;
}

static int32_t make(tfr_plugin_device *device, const tfr_call *call, const cuda_plan *plan,
                    tfr_kernel **out, tfr_kernel_info *info, tfr_err *err)
{
    cuda_engine *engine = NULL;
    cuda_noted *noted = NULL;
    int32_t status = cuda_noted_make(&plan->mistake, &noted, err);

    if (status == TFR_OK)
        status = cuda_enter(device, err);
    if (status != TFR_OK) {
        cuda_noted_drop(noted);
        return status;
    }
    status = cuda_engine_make(device, call, plan, &engine, err);
    if (status == TFR_OK)
        status = engine
                     ? cuda_kernel_make(device, &plan->behind, plan->has_behind, engine, out, err)
                     : cuda_kernel_make(device, plan->steps, plan->n_steps, NULL, out, err);
    if (status == TFR_OK) {
        (*out)->noted = noted;
        correct_info(plan, engine, info);
        (*out)->extents = extents_of(call, info->workspace_bytes);
    } else {
        cuda_noted_drop(noted);
        if (engine)
            engine->drop(device, engine);
    }
    cuda_leave(device);
    return status;
}

static int32_t cuda_prepare(tfr_plugin_device *device, const tfr_call *call,
                            const tfr_prepare_options *options, tfr_kernel **out,
                            tfr_kernel_info *info, tfr_err *err)
{
    const cuda_op *op = find_op(call);
    tfr_answer answer = {.size = sizeof answer, .verdict = TFR_VERDICT_YES};
    cuda_plan *plan;
    int32_t status;

    (void)options;
    if (!op)
        return tfr_fail(err, TFR_EUNSUPPORTED, "no kernel of %s", call->name);
    plan = calloc(1, sizeof *plan);
    if (!plan)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a plan");
    op->plan(&device->facts.chip, call, &answer, plan);
    if (answer.verdict != TFR_VERDICT_YES || !is_sound(plan))
        status = tfr_fail(err, TFR_EINTERNAL, "%s has no plan: %s", call->name,
                          is_sound(plan) ? answer.text : "it does not fit a plan");
    else
        status = make(device, call, plan, out, info, err);
    free(plan);
    return status;
}

void cuda_kernel_drop(tfr_plugin_device *device, tfr_kernel *kernel)
{
    if (kernel && kernel->engine)
        kernel->engine->drop(device, kernel->engine);
    if (kernel)
        cuda_noted_drop(kernel->noted);
    if (kernel)
        free(kernel->extents);
    free(kernel);
}

const tfr_kernel_facet cuda_kernel_facet = {
    .size = sizeof cuda_kernel_facet,
    .flags = TFR_KERNEL_PREPARE_ANY,
    .ops = cuda_ops,
    .supports = cuda_supports,
    .prepare = cuda_prepare,
    .launch = cuda_launch,
    .drop = cuda_kernel_drop,
};
