/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c: see plan.h. */
#include "plan.h"

#include <string.h>
#include <tfrun/fail.h>

int64_t cuda_walk_find(const tfr_walk *walk, int32_t operand, int64_t i)
{
    int64_t at = walk->offset[operand];

    if (walk->rank == 0)
        return i;
    for (int32_t d = walk->rank - 1; d >= 0; d--) {
        at += i % walk->dims[d].d * walk->strides[operand][d];
        i /= walk->dims[d].d;
    }
    return at;
}

static int32_t say_index(const cuda_mistake *m, int64_t word, tfr_err *err)
{
    const int64_t position = word >> 32, given = (int32_t)(word & UINT32_MAX);
    const char *more = !m->is_wide          ? ""
                       : given == INT32_MAX ? " or more"
                       : given == INT32_MIN ? " or less"
                                            : "";
    const long long dim = (long long)m->dims[m->n_dims ? position % m->n_dims : 0];

    if (m->kind == CUDA_MISTAKE_LENGTH)
        return tfr_fail(err, TFR_EINVAL,
                        "sequence length %lld%s of batch %lld is outside [0, %lld]",
                        (long long)given, more, (long long)position, dim);
    return tfr_fail(err, TFR_EINVAL, "%s index %lld%s at position %lld is outside [-%lld, %lld)",
                    m->what, (long long)given, more, (long long)position, dim, dim);
}

int32_t cuda_mistake_say(const cuda_mistake *mistake, int64_t word, tfr_err *err)
{
    if (mistake->kind != CUDA_MISTAKE_SINGULAR)
        return say_index(mistake, word, err);
    return tfr_fail(err, TFR_EINVAL, "matrix %lld is singular: pivot %lld of %lld is 0",
                    (long long)cuda_walk_find(&mistake->solving.batch, 0, word >> 32),
                    (long long)(word & INT32_MAX) - 1, (long long)mistake->solving.n);
}

cuda_step *cuda_plan_add(cuda_plan *plan, const char *kernel, uint64_t blocks, uint32_t threads)
{
    cuda_step *step;

    if (!plan)
        return NULL;
    if (plan->n_steps == CUDA_PLAN_STEPS || blocks > INT32_MAX || threads > 1024) {
        plan->is_full = true;
        return NULL;
    }
    step = &plan->steps[plan->n_steps++];
    memset(step, 0, sizeof *step);
    step->kernel = kernel;
    step->grid[0] = blocks ? (uint32_t)blocks : 1;
    step->block[0] = threads;
    step->grid[1] = step->grid[2] = step->block[1] = step->block[2] = 1;
    return step;
}

cuda_step *cuda_plan_zero(cuda_plan *plan, uint64_t bytes)
{
    cuda_step *step = cuda_plan_add(plan, NULL, 1, 1);

    if (step)
        step->fill_bytes = bytes;
    return step;
}

static void add_param(cuda_plan *plan, cuda_step *step, cuda_param_kind kind, uint32_t number)
{
    if (!step)
        return;
    if (step->n_params == CUDA_STEP_PARAMS)
        plan->is_full = true;
    else
        step->params[step->n_params++] = (cuda_param){kind, number};
}

void cuda_step_operand(cuda_plan *plan, cuda_step *step, uint32_t operand)
{
    add_param(plan, step, CUDA_PARAM_OPERAND, operand);
}

void cuda_step_workspace(cuda_plan *plan, cuda_step *step, uint32_t offset)
{
    add_param(plan, step, CUDA_PARAM_WORKSPACE, offset);
}

void cuda_step_random(cuda_plan *plan, cuda_step *step)
{
    add_param(plan, step, CUDA_PARAM_RANDOM, 0);
}

void cuda_step_found(cuda_plan *plan, cuda_step *step)
{
    add_param(plan, step, CUDA_PARAM_FOUND, 0);
}

void cuda_step_bytes(cuda_plan *plan, cuda_step *step, const void *value, uint32_t n)
{
    if (!step)
        return;
    if (n > CUDA_STEP_BYTES - step->n_bytes) {
        plan->is_full = true;
        return;
    }
    add_param(plan, step, CUDA_PARAM_BYTES, step->n_bytes);
    memcpy(step->bytes + step->n_bytes, value, n);
    step->n_bytes += (n + 15) / 16 * 16; /* each aligned as any type may want it */
}

void cuda_step_address(cuda_plan *plan, cuda_step *step, uint32_t byte, uint32_t operand)
{
    if (!step)
        return;
    if (step->n_addresses == CUDA_STEP_ADDRESSES)
        plan->is_full = true;
    else
        step->addresses[step->n_addresses++] =
            (cuda_address){(uint16_t)(step->n_bytes + byte), (uint16_t)operand};
}
