/* SPDX-License-Identifier: Apache-2.0 */
/*
 * null_plugin.c: a backend whose kernels do nothing, for `tfrun bench dispatch`: what is left of a
 * run is tfrun itself. It claims Add on the host and leaves its output as it was, so nothing else
 * may use it: it lies beside tfrun-probe, not among the plugins.
 */
#include <string.h>
#include <tfrun/host_device.h>

TFR_PLUGIN_NOTE("null", TFR_PLUGIN_BACKEND, 1, "");

struct tfr_plugin_device {
    int nothing;
};
struct tfr_kernel {
    int nothing;
};

static tfr_plugin_device null_device;
static tfr_kernel null_kernel;

static int32_t null_ops(const tfr_device_info *device, tfr_op_claim *out, uint32_t stride,
                        uint32_t *n, tfr_err *err)
{
    static const tfr_op_claim add = {
        .size = sizeof(add), .since_version = 14, .domain = "", .name = "Add"};
    (void)device;
    (void)err;
    tfr_list_put(out, stride, *n, 0, &add, sizeof(add));
    *n = 1;
    return TFR_OK;
}

static int32_t null_supports(tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer,
                             tfr_err *err)
{
    (void)device;
    (void)call;
    (void)err;
    answer->verdict = TFR_VERDICT_YES;
    return TFR_OK;
}

static int32_t null_prepare(tfr_plugin_device *device, const tfr_call *call,
                            const tfr_prepare_options *options, tfr_kernel **out,
                            tfr_kernel_info *info, tfr_err *err)
{
    (void)options, (void)info;
    (void)device;
    (void)call;
    (void)err;
    *out = &null_kernel;
    return TFR_OK;
}

static int32_t null_launch(tfr_plugin_device *device, tfr_queue *queue, tfr_kernel *kernel,
                           const tfr_launch *launch, tfr_err *err)
{
    (void)device;
    (void)queue;
    (void)kernel;
    (void)launch;
    (void)err;
    return TFR_OK;
}

static void null_drop(tfr_plugin_device *device, tfr_kernel *kernel)
{
    (void)device;
    (void)kernel;
}

static int32_t null_open(const tfr_device_info *info, const tfr_open_options *options,
                         tfr_plugin_device **out, tfr_err *err)
{
    (void)info;
    (void)options;
    (void)err;
    *out = &null_device;
    return TFR_OK;
}

static void null_close(tfr_plugin_device *device)
{
    (void)device;
}

static const tfr_kernel_facet null_kernel_facet = {
    .size = sizeof(tfr_kernel_facet),
    .ops = null_ops,
    .supports = null_supports,
    .prepare = null_prepare,
    .launch = null_launch,
    .drop = null_drop,
};

static const void *null_facet(const char *id)
{
    if (strcmp(id, TFR_MEMORY_V1) == 0)
        return &tfr_host_device_memory;
    return strcmp(id, TFR_KERNEL_V1) == 0 ? &null_kernel_facet : NULL;
}

static const tfr_plugin null_plugin = {
    .size = sizeof(tfr_plugin),
    .abi_minor = TFR_ABI_MINOR,
    .name = "null",
    .version = "1",
    .vendor = "tfrun",
    .enumerate = tfr_host_device_enumerate,
    .open = null_open,
    .close = null_close,
    .facet = null_facet,
};

int32_t tfrun_plugin_v0(const tfr_host *host, const tfr_plugin **out, tfr_err *err)
{
    (void)host;
    (void)err;
    *out = &null_plugin;
    return TFR_OK;
}
