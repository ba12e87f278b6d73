/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The naive backend as a plugin: its note, its one device "host", its memory, the list of its op
 * tables, and the kernel facet that finds the op of a call and runs its function. No arithmetic
 * here; each op has its own file.
 */
#include "naive.h"

#include <stdlib.h>
#include <string.h>
#include <tfrun/host_device.h>
#include <tfrun/op_digests.h>

TFR_PLUGIN_NOTE("naive", TFR_PLUGIN_BACKEND, 0, "");

/* The op tables of all files: tables.def is found by scripts/list-sources. */
#define X(table) extern const naive_op table[];
#include "tables.def"
#undef X

static const naive_op *const naive_tables[] = {
#define X(table) table,
#include "tables.def"
#undef X
};

enum { NAIVE_N_TABLES = sizeof(naive_tables) / sizeof(naive_tables[0]) };

struct tfr_plugin_device {
    uint32_t ordinal;
};

static const tfr_host_string *naive_host_string;

int32_t naive_set_string(tfr_string *element, const char *data, uint64_t bytes, tfr_err *err)
{
    if (!naive_host_string || !naive_host_string->set)
        return tfr_fail(err, TFR_EUNSUPPORTED, "the host has no facet %s", TFR_HOST_STRING_V1);
    if (naive_host_string->set(element, data, bytes))
        return tfr_fail(err, TFR_ENOMEM, "no memory for a string of %llu bytes",
                        (unsigned long long)bytes);
    return TFR_OK;
}

/* ---- facet tfr.kernel/1 ---- */

static const naive_op *find_op(const tfr_call *call)
{
    const naive_op *op;
    size_t t;

    for (t = 0; t < NAIVE_N_TABLES; t++)
        for (op = naive_tables[t]; op->name; op++)
            if (op->name[0] == call->name[0] && strcmp(op->name, call->name) == 0 &&
                strcmp(op->domain, call->domain) == 0)
                return op;
    return NULL;
}

static int32_t naive_ops(const tfr_device_info *device, tfr_op_claim *out, uint32_t stride,
                         uint32_t *n, tfr_err *err)
{
    uint32_t capacity = *n, count = 0;
    const naive_op *op;
    size_t t;

    (void)device;
    (void)err;
    for (t = 0; t < NAIVE_N_TABLES; t++) {
        for (op = naive_tables[t]; op->name; op++, count++) {
            /* Every type that the op admits. */
            tfr_op_claim claim = {.size = sizeof(claim),
                                  .since_version = op->since_version,
                                  .domain = op->domain,
                                  .name = op->name,
                                  .digest = tfr_op_digest(op->domain, op->name),
                                  .dtypes = UINT64_MAX};
            tfr_list_put(out, stride, capacity, count, &claim, sizeof(claim));
        }
    }
    *n = count;
    return TFR_OK;
}

/* The first operand that is not plain, as an index over inputs then outputs, or -1. */
static int64_t first_strided(const tfr_call *call)
{
    uint32_t i;

    for (i = 0; i < call->n_inputs + call->n_outputs; i++) {
        const tfr_operand *o = i < call->n_inputs ? tfr_call_input(call, i)
                                                  : tfr_call_output(call, i - call->n_inputs);
        if (o && !naive_is_plain(o))
            return i;
    }
    return -1;
}

static int32_t naive_supports(tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer,
                              tfr_err *err)
{
    const naive_op *op = find_op(call);
    int64_t strided;
    int32_t status;

    (void)device;
    (void)err;
    if (!op)
        return tfr_decline(answer, TFR_REASON_UNKNOWN_OP, "naive has no op %s of domain \"%s\"",
                           call->name, call->domain);
    if (tfr_call_unknown(call, TFR_CALL_DETERMINISTIC)) /* which loops in one order are anyway */
        return tfr_decline(answer, TFR_REASON_POLICY, "flags 0x%x of the call are not known here",
                           (unsigned)call->flags);
    answer->verdict = TFR_VERDICT_YES;
    if (op->supports && (status = op->supports(call, answer)) != TFR_OK)
        return status;
    if (answer->verdict == TFR_VERDICT_NO)
        return TFR_OK;
    if (op->workspace)
        answer->workspace_bytes = op->workspace(call);
    if (op->flags & NAIVE_RANDOM)
        answer->flags |= TFR_ANSWER_RANDOM;
    if ((op->flags & NAIVE_RANDOM) && !tfr_call_attr(call, "seed"))
        answer->flags |= TFR_ANSWER_NONDETERMINISTIC;
    if (!(op->flags & NAIVE_STRIDED) && (strided = first_strided(call)) >= 0) {
        tfr_decline(answer, TFR_REASON_LAYOUT, "operand %lld of %s is strided, naive takes plain",
                    (long long)strided, call->name);
        answer->verdict = TFR_VERDICT_REORDER;
    }
    return TFR_OK;
}

static int32_t naive_prepare(tfr_plugin_device *device, const tfr_call *call,
                             const tfr_prepare_options *options, tfr_kernel **out,
                             tfr_kernel_info *info, tfr_err *err)
{
    (void)options, (void)info;
    const naive_op *op = find_op(call);
    naive_kernel *k;
    int32_t status;

    (void)device;
    if (!op)
        return tfr_fail(err, TFR_EUNSUPPORTED, "naive has no op %s", call->name);
    k = naive_kernel_create(op, call);
    if (!k)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a kernel of %s", op->name);
    status = op->prepare ? op->prepare(k, err) : TFR_OK;
    if (status) {
        naive_kernel_destroy(k);
        return status;
    }
    *out = (tfr_kernel *)k;
    return TFR_OK;
}

static int32_t naive_launch(tfr_plugin_device *device, tfr_queue *queue, tfr_kernel *kernel,
                            const tfr_launch *launch, tfr_err *err)
{
    const naive_kernel *k = (const naive_kernel *)kernel;

    (void)device;
    (void)queue;
    if (launch->n_args != k->call.n_inputs + k->call.n_outputs)
        return tfr_fail(err, TFR_EINVAL, "%s launched with %u arguments, its call has %u",
                        k->op->name, launch->n_args, k->call.n_inputs + k->call.n_outputs);
    return k->op->run(k, launch, err);
}

static void naive_drop(tfr_plugin_device *device, tfr_kernel *kernel)
{
    (void)device;
    naive_kernel_destroy((naive_kernel *)kernel);
}

static const tfr_kernel_facet naive_kernel_facet = {
    .size = sizeof(tfr_kernel_facet),
    /* no supports reads what can lie so, and no prepare what another one writes */
    .flags = TFR_KERNEL_TAKES_UNALIGNED | TFR_KERNEL_PREPARE_ANY,
    .ops = naive_ops,
    .supports = naive_supports,
    .prepare = naive_prepare,
    .launch = naive_launch,
    .drop = naive_drop,
};

/* ---- the plugin ---- */

static int32_t naive_open(const tfr_device_info *info, const tfr_open_options *options,
                          tfr_plugin_device **out, tfr_err *err)
{
    tfr_plugin_device *device = calloc(1, sizeof(*device));

    (void)options;
    if (!device)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a device of %zu bytes", sizeof(*device));
    device->ordinal = info->ordinal;
    *out = device;
    return TFR_OK;
}

static void naive_close(tfr_plugin_device *device)
{
    free(device);
}

static const void *naive_facet(const char *id)
{
    if (strcmp(id, TFR_MEMORY_V1) == 0)
        return &tfr_host_device_memory;
    if (strcmp(id, TFR_KERNEL_V1) == 0)
        return &naive_kernel_facet;
    return NULL;
}

static const tfr_plugin naive_plugin = {
    .size = sizeof(tfr_plugin),
    .abi_minor = TFR_ABI_MINOR,
    .name = "naive",
    .version = "0.1.0",
    .vendor = "tfrun",
    .enumerate = tfr_host_device_enumerate,
    .open = naive_open,
    .close = naive_close,
    .facet = naive_facet,
};

int32_t tfrun_plugin_v0(const tfr_host *host, const tfr_plugin **out, tfr_err *err)
{
    (void)err;
    naive_host_string = host->facet ? host->facet(TFR_HOST_STRING_V1) : NULL;
    *out = &naive_plugin;
    return TFR_OK;
}
