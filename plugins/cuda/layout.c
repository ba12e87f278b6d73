/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.c: the one layout beside the plain one, in which the channels of images are last. What
 * lies so between two programs is read by tensor cores as it is (program_product.c).
 */
#include "kernel.h"
#include "profile.h"

#include <stdio.h>
#include <stdlib.h>

static int32_t cuda_layout_bytes(tfr_plugin_device *device, const tfr_operand *tensor,
                                 uint64_t layout, uint64_t *out, tfr_err *err)
{
    (void)device;
    if (layout != CUDA_LAYOUT_LAST || tensor->rank != 4)
        return tfr_fail(err, TFR_EUNSUPPORTED, "layout %llu of a tensor of rank %d",
                        (unsigned long long)layout, tensor->rank);
    *out = cuda_operand_bytes(tensor);
    return TFR_OK;
}

/* The context is current. */
static int32_t find_swap(tfr_plugin_device *device, const cuda_step *step, int size,
                         tfr_cu_function **out, tfr_err *err)
{
    int32_t status;

    *out = atomic_load(&device->swaps[size]);
    if (*out)
        return TFR_OK;
    status = cuda_find_function(device, step, out, err);
    if (status == TFR_OK)
        atomic_store(&device->swaps[size], *out);
    return status;
}

/* Channels and places of a plane change places in each sample. */
static cuda_step *plan_swap(const tfr_operand *tensor, uint64_t from, int size, cuda_plan *plan)
{
    const char *const names[] = {"swap_8", "swap_16", "swap_32", "swap_64"};
    const int64_t plane = tensor->dims[2] * tensor->dims[3], channels = tensor->dims[1];
    const int32_t rows = (int32_t)(from == TFR_LAYOUT_PLAIN ? channels : plane);
    const int32_t columns = (int32_t)(from == TFR_LAYOUT_PLAIN ? plane : channels);
    const int32_t down = (rows + 31) / 32, across = (columns + 31) / 32;
    cuda_step *step =
        cuda_plan_add(plan, names[size], (uint64_t)(tensor->dims[0] * down * across), 256);

    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, 1);
    cuda_step_int(plan, step, rows);
    cuda_step_int(plan, step, columns);
    cuda_step_int(plan, step, down);
    cuda_step_int(plan, step, across);
    return step;
}

/* The context is current. The core knows reorders by their order, as copies. */
static int32_t launch_swap(tfr_plugin_device *device, tfr_queue *queue, tfr_kernel *kernel,
                           const tfr_launch *launch, uint64_t bytes, tfr_err *err)
{
    const tfr_profile_record what = {.size = sizeof what,
                                     .kind = TFR_PROFILE_REORDER,
                                     .node = -1,
                                     .bytes = bytes,
                                     .name = "reorder"};
    tfr_cu_event *begin = cuda_span_begin(device, queue);
    const int32_t status = cuda_launch(device, queue, kernel, launch, err);

    cuda_span_end(device, queue, begin, &what);
    return status;
}

static int32_t cuda_reorder(tfr_plugin_device *device, tfr_queue *queue, const tfr_operand *tensor,
                            uint64_t from, const tfr_arg *src, uint64_t to, const tfr_arg *dst,
                            tfr_err *err)
{
    const uint64_t each = tfr_dtype_bits(tensor->dtype) / 8;
    const uint64_t bytes = 2 * each * (uint64_t)tfr_operand_elements(tensor);
    const int size = each == 8 ? 3 : each == 4 ? 2 : each == 2;
    const tfr_arg args[] = {*src, *dst};
    const tfr_launch launch = {.size = sizeof launch, .n_args = 2, .args = args};
    cuda_plan *plan = bytes ? calloc(1, sizeof *plan) : NULL;
    tfr_kernel *kernel = NULL;
    cuda_step *step;
    int32_t status;

    (void)to;
    if (!bytes)
        return TFR_OK;
    step = plan ? plan_swap(tensor, from, size, plan) : NULL;
    kernel = step ? cuda_kernel_new(plan->steps, plan->n_steps, NULL) : NULL;
    status = kernel ? cuda_enter(device, err) : tfr_fail(err, TFR_ENOMEM, "no memory for a kernel");
    if (status == TFR_OK) {
        status = find_swap(device, step, size, &kernel->functions[0], err);
        if (status == TFR_OK)
            status = launch_swap(device, queue, kernel, &launch, bytes, err);
        cuda_leave(device);
    }
    cuda_kernel_drop(device, kernel);
    free(plan);
    return status;
}

static void cuda_describe(tfr_plugin_device *device, uint64_t layout, char *out, uint32_t n)
{
    (void)device;
    snprintf(out, n, "%s", layout == CUDA_LAYOUT_LAST ? "nhwc" : "plain");
}

const tfr_layout_facet cuda_layout_facet = {
    .size = sizeof cuda_layout_facet,
    .bytes = cuda_layout_bytes,
    .reorder = cuda_reorder,
    .describe = cuda_describe,
};
