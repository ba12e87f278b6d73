/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.c: asks, builds, launches and drops kernels, whatever their op. */
#include "kernel.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "half_kernel.h"
#include "profile.h"

enum { ALIGNMENT = 64 };

/* ---- supports ---- */

/* empty_ok: an operand that only describes the call. */
static bool check_operand(const tfr_operand *o, bool empty_ok, bool counted, const char *which,
                          uint32_t i, tfr_answer *answer)
{
    int64_t n = tfr_operand_elements(o);

    if ((o->flags & TFR_OPERAND_DYNAMIC) && !counted)
        tfr_decline(answer, TFR_REASON_DYNAMIC_SHAPE, "the dims of %s %u are not known", which, i);
    else if (n == 0 && !empty_ok)
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "%s %u has 0 elements", which, i);
    else if (n > INT_MAX)
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "%s %u has %lld elements, the limit is %d",
                    which, i, (long long)n, INT_MAX);
    else
        return true;
    return false;
}

/* *strided: the number of an operand that is not plain, inputs first, or -1. */
static bool check_operands(const native_op *op, const tfr_call *call, int *strided,
                           tfr_answer *answer)
{
    const uint32_t n = call->n_inputs + call->n_outputs;
    uint32_t i;

    *strided = -1;
    for (i = 0; i < n; i++) {
        const bool input = i < call->n_inputs;
        const uint32_t number = input ? i : i - call->n_inputs;
        const tfr_operand *o = input ? tfr_call_input(call, number) : tfr_call_output(call, number);
        if (!o)
            continue;
        if (!check_operand(o, input && i > 0, op->counted && !input, input ? "input" : "output",
                           number, answer))
            return false;
        if (!tfr_operand_is_plain(o))
            *strided = (int)i;
    }
    return true;
}

int32_t native_supports(tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer,
                        tfr_err *err)
{
    const native_op *op = native_find_op(call);
    const int n_inputs = (int)call->n_inputs;
    int strided;

    (void)err;
    if (!op)
        return tfr_decline(answer, TFR_REASON_UNKNOWN_OP, "%s is not an op of this backend",
                           call->name);
    /* No sum is shared by threads, so it changes no bit who computes which part. */
    if (tfr_call_unknown(call, TFR_CALL_DETERMINISTIC))
        return tfr_decline(answer, TFR_REASON_POLICY, "flags 0x%x of the call are not known here",
                           (unsigned)call->flags);
    if (!check_operands(op, call, &strided, answer))
        return TFR_OK;
    answer->verdict = TFR_VERDICT_YES;
    if (native_widens(op, call))
        native_supports_half(device, op, call, answer);
    else
        op->supports(device, call, answer);
    if (answer->verdict == TFR_VERDICT_YES && strided >= 0) {
        tfr_decline(answer, TFR_REASON_LAYOUT, "%s %d is strided, and only plain ones are done",
                    strided < n_inputs ? "input" : "output",
                    strided < n_inputs ? strided : strided - n_inputs);
        answer->verdict = TFR_VERDICT_REORDER;
    }
    return TFR_OK;
}

/* ---- prepare ---- */

void *native_add_block(native_build *b, size_t bytes)
{
    tfr_kernel *k = b->kernel;
    void *p;

    if (b->status != TFR_OK)
        return NULL;
    bytes = (bytes + ALIGNMENT) & ~(size_t)(ALIGNMENT - 1); /* never 0 */
    p = k->n_blocks < NATIVE_MAX_BLOCKS_OF_KERNEL ? aligned_alloc(ALIGNMENT, bytes) : NULL;
    if (!p) {
        b->status = tfr_fail(b->err, TFR_ENOMEM, "%s: no memory for %zu bytes of its kernel",
                             b->call->name, bytes);
        return NULL;
    }
    k->blocks[k->n_blocks++] = p;
    return p;
}

void *native_set_function(native_build *b, native_function function, void (*release)(void *),
                          size_t state_bytes, const char *name)
{
    void *state = native_add_block(b, state_bytes);

    if (!state)
        return NULL;
    memset(state, 0, state_bytes);
    b->kernel->function = function;
    b->kernel->release = release;
    b->kernel->name = name;
    return state;
}

int32_t native_prepare(tfr_plugin_device *device, const tfr_call *call,
                       const tfr_prepare_options *options, tfr_kernel **out, tfr_kernel_info *info,
                       tfr_err *err)
{
    (void)options, (void)info;
    const native_op *op = native_find_op(call);
    native_build b = {.device = device, .call = call, .err = err};

    if (!op)
        return tfr_fail(err, TFR_EUNSUPPORTED, "%s is not an op of this backend", call->name);
    b.kernel = calloc(1, sizeof *b.kernel);
    if (!b.kernel)
        return tfr_fail(err, TFR_ENOMEM, "%s: no memory for its kernel", call->name);
    if (native_widens(op, call))
        native_prepare_half(&b, op, call);
    else
        op->prepare(&b, call);
    if (b.status == TFR_OK)
        *out = b.kernel;
    else
        native_drop(device, b.kernel);
    return b.status;
}

/* ---- launch and drop ---- */

int32_t native_launch(tfr_plugin_device *device, tfr_queue *queue, tfr_kernel *kernel,
                      const tfr_launch *launch, tfr_err *err)
{
    uint64_t began = native_profile_begin(device, launch->id);
    int32_t status = kernel->function(device, kernel->blocks[0], launch, err);

    (void)queue;
    if (began && status == TFR_OK)
        native_profile_end(
            device, began,
            &(native_stretch){
                .id = launch->id, .kind = TFR_PROFILE_KERNEL, .node = -1, .name = kernel->name});
    return status;
}

void native_drop(tfr_plugin_device *device, tfr_kernel *kernel)
{
    int i;

    (void)device;
    if (!kernel)
        return;
    if (kernel->release)
        kernel->release(kernel->blocks[0]);
    for (i = 0; i < kernel->n_blocks; i++)
        free(kernel->blocks[i]);
    free(kernel);
}
