/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.c: launches of what prepare has found. Arguments are copied by the driver, so that a
 * launch allocates nothing.
 */
#include "order.h"
#include "profile.h"

#include <stdio.h>
#include <string.h>

static uint64_t address_of(const tfr_launch *launch, const note *found, const cuda_param *param)
{
    const uint32_t i = param->number;

    switch (param->kind) {
    case CUDA_PARAM_OPERAND:
        return i < launch->n_args ? (uint64_t)(uintptr_t)launch->args[i].address : 0;
    case CUDA_PARAM_WORKSPACE:
        return (uint64_t)(uintptr_t)launch->workspace + i;
    case CUDA_PARAM_RANDOM:
        return (uint64_t)(uintptr_t)launch->random;
    case CUDA_PARAM_DIMS:
        return i < launch->n_args ? (uint64_t)(uintptr_t)launch->args[i].dims : 0;
    case CUDA_PARAM_FOUND:
        return found ? cuda_finding_word(found) : 0;
    default:
        return 0;
    }
}

static int32_t run_step(tfr_plugin_device *device, tfr_cu_stream *stream, const cuda_step *step,
                        tfr_cu_function *function, const tfr_launch *launch, const note *found,
                        tfr_err *err)
{
    _Alignas(16) unsigned char own[CUDA_STEP_BYTES];
    const unsigned char *bytes = step->n_addresses ? own : step->bytes;
    uint64_t addresses[CUDA_STEP_PARAMS];
    void *params[CUDA_STEP_PARAMS];
    tfr_cu_result result;

    /* One kernel may be launched on several queues at once: its own bytes stay as they are. */
    if (step->n_addresses)
        memcpy(own, step->bytes, step->n_bytes);
    for (uint32_t i = 0; i < step->n_addresses; i++) {
        const cuda_param operand = {CUDA_PARAM_OPERAND, step->addresses[i].operand};
        const uint64_t address = address_of(launch, NULL, &operand);
        memcpy(own + step->addresses[i].byte, &address, sizeof address);
    }
    for (uint32_t i = 0; i < step->n_params; i++) {
        addresses[i] = address_of(launch, found, &step->params[i]);
        params[i] = step->params[i].kind == CUDA_PARAM_BYTES
                        ? (void *)(uintptr_t)(bytes + step->params[i].number)
                        : (void *)&addresses[i];
    }
    if (function)
        result = cuda_driver.cuLaunchKernel(function, step->grid[0], step->grid[1], step->grid[2],
                                            step->block[0], step->block[1], step->block[2],
                                            step->shared, stream, params, NULL);
    else
        result = cuda_driver.cuMemsetD8Async(addresses[0], 0, step->fill_bytes, stream);
    return cuda_check_launch(device, result, launch->id, err, "launch of %s",
                             step->kernel ? step->kernel : "a fill");
}

/* The engine or, with one, a step, which may be recorded. */
static int32_t run_recorded(tfr_plugin_device *device, tfr_queue *queue, tfr_kernel *kernel,
                            const cuda_step *step, tfr_cu_function *function,
                            const tfr_launch *launch, const note *found, tfr_err *err)
{
    tfr_profile_record what = {
        .size = sizeof what, .kind = TFR_PROFILE_KERNEL, .id = launch->id, .node = -1};
    tfr_cu_event *begin = launch->id ? cuda_span_begin(device, queue) : NULL;
    int32_t status = step ? run_step(device, queue->stream, step, function, launch, found, err)
                          : kernel->engine->launch(device, queue, kernel->engine, launch, err);

    if (!begin)
        return status;
    snprintf(what.name, sizeof what.name, "%s",
             !step          ? kernel->engine->name
             : step->kernel ? step->kernel
                            : "fill");
    cuda_span_end(device, queue, begin, &what);
    return status;
}

/* The options for tests. True: this launch is not made. */
static bool goes_wrong(tfr_plugin_device *device, tfr_queue *queue, uint64_t id, tfr_err *err,
                       int32_t *status)
{
    const int64_t n = atomic_fetch_add(&device->n_launches, 1);
    cuda_failure failure = {.code = TFR_EDEVICE, .launch = id};

    if (n == device->lose_after) {
        snprintf(failure.text, sizeof failure.text, "the option lose_after is %lld", (long long)n);
        cuda_lose(device, &failure, false);
        *status = cuda_tell_lost(device, err);
        return true;
    }
    if (n != device->fail_after)
        return false;
    snprintf(failure.text, sizeof failure.text, "the option fail_after is %lld", (long long)n);
    cuda_queue_fail(queue, &failure);
    *status = TFR_OK;
    return true;
}

/* The engine, then the steps. */
static int32_t run(tfr_plugin_device *device, tfr_queue *queue, tfr_kernel *kernel,
                   const tfr_launch *launch, tfr_err *err)
{
    note *found = NULL;
    int32_t status =
        kernel->noted ? cuda_finding_begin(queue, kernel->noted, launch, &found, err) : TFR_OK;

    if (status != TFR_OK)
        return status;
    status = cuda_order_before(device, queue, kernel, launch, err);
    if (status != TFR_OK)
        return status;
    cuda_range_begin(kernel->engine                               ? kernel->engine->name
                     : kernel->n_steps && kernel->steps[0].kernel ? kernel->steps[0].kernel
                                                                  : "fill");
    if (kernel->engine)
        status = run_recorded(device, queue, kernel, NULL, NULL, launch, found, err);
    for (uint32_t i = 0; i < kernel->n_steps && status == TFR_OK; i++)
        status = run_recorded(device, queue, kernel, &kernel->steps[i], kernel->functions[i],
                              launch, found, err);
    cuda_range_end();
    if (status == TFR_OK)
        status = cuda_order_after(device, queue, err);
    return found && status == TFR_OK ? cuda_finding_end(queue, found, launch, err) : status;
}

int32_t cuda_launch(tfr_plugin_device *device, tfr_queue *queue, tfr_kernel *kernel,
                    const tfr_launch *launch, tfr_err *err)
{
    int32_t status = cuda_enter(device, err);

    if (status != TFR_OK)
        return status;
    if (!atomic_load(&queue->has_failed) && !goes_wrong(device, queue, launch->id, err, &status)) {
        status = run(device, queue, kernel, launch, err);
        queue->last_launch = launch->id;
        queue->n_since++;
    }
    cuda_leave(device);
    return status;
}
