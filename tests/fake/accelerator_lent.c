/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accelerator_lent.c: kernels that another plugin lends, one that computes in the host's memory:
 * with the option "lender" its op table is the accelerator's, too. They run as late as the others,
 * on the queue's thread, and in the device's memory, so that whole models and trainings can be
 * computed by the accelerator. What has no fixed shape is declined, and what has many operands.
 */
#include "accelerator.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
static const tfr_kernel_facet *lender;
static tfr_plugin_device *lender_device;

static int32_t load(const char *path, tfr_err *err)
{
    void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    tfr_plugin_entry_fn entry = NULL;
    const tfr_plugin *plugin = NULL;
    tfr_device_info info = {.size = sizeof info};
    uint32_t n = 1;
    int32_t status;
    if (so)
        *(void **)&entry = dlsym(so, "tfrun_plugin_v0");
    if (!entry)
        return tfr_fail(err, TFR_EINVAL, "option lender: %s is no plugin", path);
    status = entry(fake_host, &plugin, err);
    if (!status)
        status = plugin->enumerate(&info, sizeof info, &n, err);
    if (!status)
        status = plugin->open(&info, NULL, &lender_device, err);
    if (!status)
        lender = plugin->facet(TFR_KERNEL_V1);
    return status;
}

const tfr_kernel_facet *fake_lender(tfr_err *err)
{
    char path[PATH_MAX] = "";
    const int32_t length = fake_host->option(FAKE_NAME, "lender", path, sizeof path);
    int32_t status = TFR_OK;
    if (length <= 0 || length >= (int32_t)sizeof path)
        return NULL;
    pthread_mutex_lock(&loading);
    if (!lender)
        status = load(path, err);
    pthread_mutex_unlock(&loading);
    if (status)
        fake_host->log(TFR_LOG_ERROR, FAKE_NAME, err->text);
    return lender;
}

/* ---- judging --------------------------------------------------------------------------------- */

static const tfr_operand *operand_of(const tfr_call *call, uint32_t i)
{
    return i < call->n_inputs ? tfr_call_input(call, i) : tfr_call_output(call, i - call->n_inputs);
}

static uint64_t bytes_of(const tfr_operand *o)
{
    return ((uint64_t)tfr_operand_elements(o) * tfr_dtype_bits(o->dtype) + 7) / 8;
}

int32_t fake_lent_judge(const tfr_call *call, tfr_answer *answer, tfr_err *err)
{
    const uint32_t n = call->n_inputs + call->n_outputs;
    int32_t status = lender->supports(lender_device, call, answer, err);
    if (status || answer->verdict != TFR_VERDICT_YES)
        return status;
    if (n > FAKE_MAX_LENT)
        return tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "%u operands are more than %d", n,
                           FAKE_MAX_LENT);
    for (uint32_t i = 0; i < n; i++) {
        const tfr_operand *o = operand_of(call, i);
        if (o && (o->flags & TFR_OPERAND_DYNAMIC || o->dtype == TFR_DTYPE_STRING))
            return tfr_decline(answer, TFR_REASON_DYNAMIC_SHAPE,
                               "operand %u has a shape that only a run tells, or strings", i);
        if (o && o->strides)
            return tfr_decline(answer, TFR_REASON_LAYOUT, "operand %u has strides", i);
    }
    return TFR_OK;
}

/* ---- kernels --------------------------------------------------------------------------------- */

int32_t fake_lent_prepare(const tfr_call *call, const tfr_answer *answer, tfr_kernel *kernel,
                          tfr_err *err)
{
    tfr_kernel_info info = {.size = sizeof info};
    kernel->n_call_inputs = call->n_inputs;
    kernel->n_call_outputs = call->n_outputs;
    kernel->is_random = (answer->flags & TFR_ANSWER_RANDOM) != 0;
    for (uint32_t i = 0; i < call->n_inputs + call->n_outputs; i++) {
        const tfr_operand *o = operand_of(call, i);
        kernel->lent_bytes[i] = o ? bytes_of(o) : 0;
    }
    return lender->prepare(lender_device, call, NULL, &kernel->lent, &info, err);
}

void fake_lent_drop(tfr_kernel *kernel)
{
    lender->drop(lender_device, kernel->lent);
}

static int32_t resolve(const tfr_plugin_device *device, const void *base, uint64_t offset,
                       uint64_t bytes, fake_block **block, void **out, tfr_err *err)
{
    void *place = fake_place(device, base, offset);
    *block = fake_block_of(device, place, bytes);
    if (!*block)
        return fake_breach(err, "launch of a lent kernel: %llu bytes at %p are not in one block",
                           (unsigned long long)bytes, base);
    *out = fake_shadow(device, place);
    return TFR_OK;
}

int32_t fake_lent_resolve(const tfr_plugin_device *device, const tfr_kernel *kernel,
                          const tfr_launch *launch, fake_item *item, tfr_err *err)
{
    const uint32_t n = kernel->n_call_inputs + kernel->n_call_outputs;
    void *at = NULL;
    int32_t status = TFR_OK;
    if (launch->n_args != n)
        return fake_breach(err, "launch of a lent kernel with %u args, it has %u", launch->n_args,
                           n);
    for (uint32_t i = 0; !status && i < n; i++)
        if (kernel->lent_bytes[i])
            status = resolve(device, launch->args[i].address, launch->args[i].offset,
                             kernel->lent_bytes[i], &item->blocks[i], &item->lent[i].address, err);
    if (!status && kernel->workspace_bytes)
        status = resolve(device, launch->workspace, launch->workspace_offset,
                         kernel->workspace_bytes, &item->blocks[FAKE_MAX_LENT], &at, err);
    item->workspace = at;
    at = NULL;
    if (!status && kernel->is_random)
        status = resolve(device, launch->random, launch->random_offset, sizeof *item->random,
                         &item->blocks[FAKE_MAX_LENT + 1], &at, err);
    item->random = at;
    return status;
}

void fake_lent_compute(const fake_item *item)
{
    const tfr_kernel *kernel = item->kernel;
    const tfr_launch launch = {.size = sizeof launch,
                               .n_args = kernel->n_call_inputs + kernel->n_call_outputs,
                               .args = item->lent,
                               .workspace = item->workspace,
                               .id = item->id,
                               .random = item->random};
    tfr_err err = TFR_ERR_INIT;
    if (lender->launch(lender_device, NULL, kernel->lent, &launch, &err))
        fake_breach(NULL, "a lent kernel failed: %s", err.text);
}
