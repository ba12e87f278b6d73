/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eval.c: one kernel on known tensors, right now, on a host device. The planner uses it for shape
 * arithmetic; what is computed here is small, so nothing is kept.
 */
#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "kernel/eval.h"

/* Of the host's backends the last one to be asked, but for those behind the reference, whose
 * priority is 0: they have ops of their own only. */
static tfr__pin reference_pin(const tfr_runtime *runtime)
{
    for (uint32_t i = 0; i < runtime->n_devices; i++)
        if (runtime->devices[i].is_host) {
            int32_t k = (int32_t)runtime->devices[i].n_backends - 1;
            while (k > 0 && runtime->devices[i].backends[k].priority < 0)
                k--;
            return (tfr__pin){(int32_t)i, k};
        }
    return (tfr__pin){-1, -1};
}

static tfr_status make_results(const tfr__node *node, const tfr__type *types, tfr_tensor **results,
                               tfr_err *err)
{
    for (uint32_t k = 0; k < node->n_outputs; k++) {
        tfr_shape shape;
        tfr_status status;
        if (types[k].kind != TFR_KIND_TENSOR)
            continue;
        status = tfr_shape_make(types[k].rank, types[k].dims, &shape, err);
        if (!status)
            status = tfr_tensor_create((tfr_dtype)types[k].dtype, &shape, &results[k], err);
        if (status)
            return status;
    }
    return TFR_OK;
}

static tfr_status launch_once(const tfr__kernel_env *env, const tfr__node *node,
                              const tfr__choice *choice, const tfr_call *call,
                              tfr_tensor *const *inputs, tfr_tensor **results, tfr_err *err)
{
    tfr__backend *b = choice->backend;
    tfr_launch launch = {
        .size = sizeof launch, .n_args = node->n_inputs + node->n_outputs, .random = &env->random};
    tfr_kernel_info info = {.size = sizeof info,
                            .flags = choice->answer.flags,
                            .workspace_bytes = choice->answer.workspace_bytes};
    tfr_arg *args = tfr__calloc((size_t)launch.n_args + 1, sizeof *args);
    tfr_kernel *kernel = NULL;
    void *workspace = NULL;
    uint32_t stream;
    tfr_status status = tfr__stream_get(env->streams, choice->device, b, &stream, err);
    if (!args)
        status = tfr__no_memory(err);
    for (uint32_t k = 0; !status && k < launch.n_args; k++) {
        const tfr_tensor *t = k < node->n_inputs ? inputs[k] : results[k - node->n_inputs];
        args[k].address = t ? tfr__tensor_data(t) : NULL;
    }
    launch.args = args;
    if (!status) {
        const bool is_any = b->kernel.flags & TFR_KERNEL_PREPARE_ANY;
        tfr__lock_unless(b, is_any);
        TFR__SLOT(b, "prepare", node->name, node->op->name,
                  status =
                      (tfr_status)b->kernel.prepare(b->device, call, NULL, &kernel, &info, err));
        tfr__unlock_unless(b, is_any);
        if (status)
            kernel = NULL;
    }
    if (!status && !kernel)
        status = tfr_fail(err, TFR_EPLUGIN, "%s gave no kernel", b->name);
    if (!status) /* only now is it known how much */
        status =
            tfr__stream_alloc(env->streams, TFR__MEMORY_HOST, info.workspace_bytes, TFR_ALLOC_ARENA,
                              "workspace of node", node->name, &workspace, err);
    launch.workspace = workspace;
    if (!status)
        TFR__SLOT(b, "launch", node->name, node->op->name,
                  status = (tfr_status)b->kernel.launch(
                      b->device, env->streams->items[stream].queue, kernel, &launch, err));
    if (kernel) {
        tfr_status synced = tfr__stream_sync(&env->streams->items[stream], status ? NULL : err);
        if (!status)
            status = synced;
        pthread_mutex_lock(&b->lock);
        TFR__SLOT(b, "drop", node->name, node->op->name, b->kernel.drop(b->device, kernel));
        pthread_mutex_unlock(&b->lock);
    }
    tfr__stream_free(env->streams, TFR__MEMORY_HOST, workspace);
    tfr__free(args);
    return status;
}

tfr_status tfr__eval(const tfr__kernel_env *env, const tfr__node *node, const tfr__attr_list *attrs,
                     tfr_tensor *const *inputs, const tfr__type *outputs, tfr_tensor **results,
                     tfr_err *err)
{
    tfr__pin pin;
    tfr__type *in;
    tfr__choice choice = {0};
    tfr__call call = {0};
    tfr_status status;
    if (!env->streams->runtime)
        return tfr_fail(err, TFR_EUNSUPPORTED, "there is no backend to compute node \"%s\" with",
                        node->name);
    pin = reference_pin(env->streams->runtime);
    in = tfr__calloc((size_t)node->n_inputs + 1, sizeof *in);
    status = tfr__call_init(&call, node, attrs, err);
    if (!in)
        status = tfr__no_memory(err);
    for (uint32_t k = 0; !status && k < node->n_inputs; k++) {
        if (!inputs[k])
            continue;
        in[k].kind = TFR_KIND_TENSOR;
        in[k].dtype = inputs[k]->dtype;
        in[k].rank = inputs[k]->shape.rank;
        memcpy(in[k].dims, inputs[k]->shape.dims, sizeof in[k].dims);
        tfr__operand_set(&call.operands[k], &in[k], NULL, tfr__tensor_data(inputs[k]));
        if (inputs[k]->bytes && !call.operands[k].data)
            status = tfr__no_memory(err);
    }
    for (uint32_t k = 0; !status && k < node->n_outputs; k++)
        tfr__operand_set(&call.operands[node->n_inputs + k], &outputs[k], NULL, NULL);
    if (!status)
        status = tfr__place(env, node, pin, false, &call, &choice, err);
    if (!status && !choice.device->is_host)
        status = tfr_fail(err, TFR_EUNSUPPORTED, "no kernel on the host for %s", node->op->name);
    if (!status)
        status = make_results(node, outputs, results, err);
    if (!status)
        status = launch_once(env, node, &choice, &call.call, inputs, results, err);
    for (uint32_t k = 0; status && k < node->n_outputs; k++) {
        tfr_tensor_release(results[k]);
        results[k] = NULL;
    }
    tfr__free(choice.text);
    tfr__call_finish(&call);
    tfr__free(in);
    return status;
}
