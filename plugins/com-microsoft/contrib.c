/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contrib.c: the plugin com-microsoft: the rows of its ops, and kernels on the host for those that
 * are not made of ONNX's ops. They are the plain ones; other plugins may claim the same ops.
 */
#include <stdlib.h>
#include <string.h>
#include <tfrun/host_device.h>

#include "text.h"

/* Behind the reference: it has no say where ops of networks run. */
TFR_PLUGIN_NOTE("com-microsoft", TFR_PLUGIN_BACKEND, -10, "");

static const contrib_kernel *const kernels[] = {&contrib_gather_block, &contrib_nbits};
enum { N_KERNELS = sizeof(kernels) / sizeof(kernels[0]) };

static const contrib_written *const written[] = {
    contrib_activations, contrib_attentions, contrib_dynamic,  contrib_groups,
    contrib_moves,       contrib_norms,      contrib_products, contrib_quantized};
enum { N_WRITTEN = sizeof(written) / sizeof(written[0]) };

static struct tfr_plugin_device {
    int unused;
} contrib_device;

struct tfr_kernel {
    const contrib_kernel *op;
    uint32_t n_inputs;
    contrib_params params;
};

static const contrib_kernel *find_kernel(const tfr_call *call)
{
    for (uint32_t i = 0; i < N_KERNELS; i++)
        if (strcmp(kernels[i]->row.name, call->name) == 0 &&
            strcmp(kernels[i]->row.domain, call->domain) == 0)
            return kernels[i];
    return NULL;
}

/* ---- facet tfr.ops/1 ------------------------------------------------------------------------- */

static int32_t contrib_schemas(tfr_op_schema *out, uint32_t stride, uint32_t *n, tfr_err *err)
{
    const uint32_t capacity = *n;
    uint32_t count = 0;
    (void)err;
    for (uint32_t i = 0; i < N_KERNELS; i++)
        tfr_list_put(out, stride, capacity, count++, &kernels[i]->row, sizeof(kernels[i]->row));
    for (uint32_t i = 0; i < N_WRITTEN; i++)
        for (const contrib_written *op = written[i]; op->row.name; op++)
            tfr_list_put(out, stride, capacity, count++, &op->row, sizeof(op->row));
    *n = count;
    return TFR_OK;
}

static int32_t contrib_infer(const tfr_call *call, tfr_inferred *out, uint32_t stride, tfr_err *err)
{
    const contrib_kernel *kernel = find_kernel(call);
    if (!kernel)
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "%s is written out while a model is read, and is no op of a graph",
                        call->name);
    return kernel->infer(call, (contrib_outputs){out, stride}, err);
}

static const contrib_written *find_written(const tfr_call *call)
{
    for (uint32_t i = 0; i < N_WRITTEN; i++)
        for (const contrib_written *op = written[i]; op->row.name; op++)
            if (strcmp(op->row.name, call->name) == 0)
                return op;
    return NULL;
}

static int32_t contrib_decompose(const tfr_call *call, void *out, uint64_t *n, tfr_err *err)
{
    const contrib_written *op = find_written(call);
    contrib_text text;
    int32_t status = TFR_OK;
    if (!op)
        return tfr_fail(err, TFR_EUNSUPPORTED, "plugin com-microsoft does not write out %s",
                        call->name);
    contrib_begin(&text, &op->row, call, out, *n);
    if (op->text)
        contrib_write(&text, "%s", op->text);
    if (op->write)
        status = op->write(&text, err);
    return status ? status : contrib_end(&text, n, err);
}

static const tfr_ops_facet contrib_ops_facet = {.size = sizeof(tfr_ops_facet),
                                                .schemas = contrib_schemas,
                                                .infer = contrib_infer,
                                                .decompose = contrib_decompose};

/* ---- facet tfr.kernel/1 ---------------------------------------------------------------------- */

static int32_t contrib_ops(const tfr_device_info *device, tfr_op_claim *out, uint32_t stride,
                           uint32_t *n, tfr_err *err)
{
    const uint32_t capacity = *n;
    (void)device, (void)err;
    for (uint32_t i = 0; i < N_KERNELS; i++) {
        const tfr_op_claim claim = {.size = sizeof(claim),
                                    .since_version = kernels[i]->row.since_version,
                                    .domain = kernels[i]->row.domain,
                                    .name = kernels[i]->row.name,
                                    .dtypes = UINT64_MAX};
        tfr_list_put(out, stride, capacity, i, &claim, sizeof(claim));
    }
    *n = N_KERNELS;
    return TFR_OK;
}

/* Is an operand strided? */
static bool is_strided(const tfr_call *call)
{
    bool strided = false;
    for (uint32_t i = 0; i < call->n_inputs; i++)
        strided =
            strided || (tfr_call_input(call, i) && !tfr_operand_is_plain(tfr_call_input(call, i)));
    for (uint32_t i = 0; i < call->n_outputs; i++)
        strided = strided ||
                  (tfr_call_output(call, i) && !tfr_operand_is_plain(tfr_call_output(call, i)));
    return strided;
}

static int32_t contrib_supports(tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer,
                                tfr_err *err)
{
    (void)device, (void)err;
    if (!find_kernel(call))
        return tfr_decline(answer, TFR_REASON_UNKNOWN_OP, "no kernel for %s of domain \"%s\"",
                           call->name, call->domain);
    if (tfr_call_unknown(call, TFR_CALL_DETERMINISTIC)) /* loops in one order are that anyway */
        return tfr_decline(answer, TFR_REASON_POLICY, "flags 0x%x of the call are not known here",
                           (unsigned)call->flags);
    if (is_strided(call)) {
        tfr_decline(answer, TFR_REASON_LAYOUT, "an operand is strided");
        answer->verdict = TFR_VERDICT_REORDER;
    } else {
        answer->verdict = TFR_VERDICT_YES;
    }
    return TFR_OK;
}

static int32_t contrib_prepare(tfr_plugin_device *device, const tfr_call *call,
                               const tfr_prepare_options *options, tfr_kernel **out,
                               tfr_kernel_info *info, tfr_err *err)
{
    tfr_kernel *kernel = calloc(1, sizeof(*kernel));
    (void)device, (void)options, (void)info;
    if (!kernel)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a kernel of %zu bytes", sizeof(*kernel));
    kernel->op = find_kernel(call);
    kernel->n_inputs = call->n_inputs;
    if (!kernel->op || call->n_inputs > CONTRIB_MOST_INPUTS) {
        free(kernel);
        return tfr_fail(err, TFR_EUNSUPPORTED, "plugin com-microsoft has no op %s of %u inputs",
                        call->name, call->n_inputs);
    }
    kernel->op->prepare(call, &kernel->params);
    *out = kernel;
    return TFR_OK;
}

static int32_t contrib_launch(tfr_plugin_device *device, tfr_queue *queue, tfr_kernel *kernel,
                              const tfr_launch *launch, tfr_err *err)
{
    const void *in[CONTRIB_MOST_INPUTS] = {NULL};
    (void)device, (void)queue;
    if (launch->n_args != kernel->n_inputs + 1)
        return tfr_fail(err, TFR_EINVAL, "%s launched with %u arguments, its call has %u",
                        kernel->op->row.name, launch->n_args, kernel->n_inputs + 1);
    for (uint32_t i = 0; i < kernel->n_inputs; i++)
        in[i] = launch->args[i].address;
    return kernel->op->run(&kernel->params, in, launch->args[kernel->n_inputs].address, err);
}

static void contrib_drop(tfr_plugin_device *device, tfr_kernel *kernel)
{
    (void)device;
    free(kernel);
}

static const tfr_kernel_facet contrib_kernel_facet = {.size = sizeof(tfr_kernel_facet),
                                                      .flags = TFR_KERNEL_PREPARE_ANY,
                                                      .ops = contrib_ops,
                                                      .supports = contrib_supports,
                                                      .prepare = contrib_prepare,
                                                      .launch = contrib_launch,
                                                      .drop = contrib_drop};

/* ---- the plugin ------------------------------------------------------------------------------ */

static int32_t contrib_open(const tfr_device_info *info, const tfr_open_options *options,
                            tfr_plugin_device **out, tfr_err *err)
{
    (void)info, (void)options, (void)err;
    *out = &contrib_device;
    return TFR_OK;
}

static void contrib_close(tfr_plugin_device *device)
{
    (void)device;
}

static const void *contrib_facet(const char *id)
{
    if (strcmp(id, TFR_MEMORY_V1) == 0)
        return &tfr_host_device_memory;
    if (strcmp(id, TFR_OPS_V1) == 0)
        return &contrib_ops_facet;
    return strcmp(id, TFR_KERNEL_V1) == 0 ? &contrib_kernel_facet : NULL;
}

static const tfr_plugin contrib_plugin = {.size = sizeof(tfr_plugin),
                                          .abi_minor = TFR_ABI_MINOR,
                                          .name = "com-microsoft",
                                          .version = "0.1.0",
                                          .vendor = "tfrun",
                                          .enumerate = tfr_host_device_enumerate,
                                          .open = contrib_open,
                                          .close = contrib_close,
                                          .facet = contrib_facet};

int32_t tfrun_plugin_v0(const tfr_host *host, const tfr_plugin **out, tfr_err *err)
{
    (void)host, (void)err;
    *out = &contrib_plugin;
    return TFR_OK;
}
