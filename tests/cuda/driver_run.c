/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out copies, fills, kernels, host functions and graphs, on the thread of a stream. */
#include <string.h>

#include "driver.h"

/* Kernels ask from threads of their own, too. */
static void *reach(void *ctx, uint64_t address, size_t *bytes)
{
    pthread_mutex_lock(&fake.lock);
    void *at = fake_reach(((tfr_cu_context *)ctx)->device, address, bytes);
    pthread_mutex_unlock(&fake.lock);
    return at;
}

/* A copy between contexts needs no access of one to the other's memory. */
static void *reach_any(uint64_t address, size_t *bytes)
{
    pthread_mutex_lock(&fake.lock);
    const fake_block *block = fake_block_at(address);
    void *at = fake_reach(block ? block->device : 0, address, bytes);
    pthread_mutex_unlock(&fake.lock);
    return at;
}

static tfr_cu_result run_copy(const fake_op *op)
{
    size_t left;
    const size_t rows = op->u.copy.height, width = op->u.copy.width;
    unsigned char *dst = (unsigned char *)(uintptr_t)op->u.copy.dst;
    const unsigned char *src = (const unsigned char *)(uintptr_t)op->u.copy.src;
    if (!op->u.copy.dst_host) {
        dst = reach_any(op->u.copy.dst, &left);
        if (!dst || (rows - 1) * op->u.copy.dst_pitch + width > left)
            return TFR_CU_ILLEGAL_ADDRESS;
    }
    if (!op->u.copy.src_host) {
        src = reach_any(op->u.copy.src, &left);
        if (!src || (rows - 1) * op->u.copy.src_pitch + width > left)
            return TFR_CU_ILLEGAL_ADDRESS;
    }
    for (size_t i = 0; i < rows; i++)
        memmove(dst + i * op->u.copy.dst_pitch, src + i * op->u.copy.src_pitch, width);
    return TFR_CU_SUCCESS;
}

static tfr_cu_result run_set(tfr_cu_context *ctx, const fake_op *op)
{
    size_t left;
    unsigned char *dst = reach(ctx, op->u.set.dst, &left);
    if (!dst || op->u.set.n * op->u.set.size > left)
        return TFR_CU_ILLEGAL_ADDRESS;
    if (op->u.set.size == 1) {
        memset(dst, (int)(op->u.set.value & 0xff), op->u.set.n);
        return TFR_CU_SUCCESS;
    }
    for (size_t i = 0; i < op->u.set.n; i++)
        memcpy(dst + i * op->u.set.size, &op->u.set.value, op->u.set.size);
    return TFR_CU_SUCCESS;
}

/* The launch that was ordered to fail fails. */
static tfr_cu_result sticky(void)
{
    pthread_mutex_lock(&fake.lock);
    bool fails = ++fake.n_launches == fake.set.sticky_launch;
    tfr_cu_result code = fails ? fake.set.sticky_code : TFR_CU_SUCCESS;
    pthread_mutex_unlock(&fake.lock);
    return code;
}

static tfr_cu_result run_kernel(tfr_cu_context *ctx, const fake_op *op)
{
    tfr_cu_result result = sticky();
    if (result)
        return result;
    const tfr_cpu_kernel *row = op->u.kernel.row;
    void *args[64];
    size_t at = 0;
    for (unsigned i = 0; i < row->n_args; i++) {
        args[i] = op->u.kernel.bytes + at;
        at += (row->arg_bytes[i] + 15u) & ~(size_t)15;
    }
    tfr_cpu_launch launch = {
        .shared_bytes = op->u.kernel.shared_bytes, .args = args, .reach = reach, .ctx = ctx};
    memcpy(launch.grid, op->u.kernel.grid, sizeof launch.grid);
    memcpy(launch.block, op->u.kernel.block, sizeof launch.block);
    return row->run(&launch);
}

static tfr_cu_result run_program(tfr_cu_context *ctx, const fake_program *program)
{
    tfr_cu_result result = TFR_CU_SUCCESS;
    for (size_t i = 0; i < program->n && !result; i++)
        result = fake_run(ctx, &program->nodes[program->order[i]].op);
    return result;
}

tfr_cu_result fake_run(tfr_cu_context *ctx, const fake_op *op)
{
    switch (op->kind) {
    case OP_COPY:
        return run_copy(op);
    case OP_SET:
        return run_set(ctx, op);
    case OP_KERNEL:
        return run_kernel(ctx, op);
    case OP_GRAPH:
        return run_program(ctx, op->u.program);
    default:
        return TFR_CU_SUCCESS;
    }
}
