/* SPDX-License-Identifier: Apache-2.0 */
/*
 * half_kernel.c: ops that programs do not know, in float16 and bfloat16. Their kernels are of
 * float32: operands of half are widened into the workspace, the kernel runs, and what it has
 * written is rounded once. Constants are widened when the kernel is built, so that it may pack
 * them.
 *
 * Two bidirectional LSTM of 256 units, 200 steps, take as long as in float32 (12 ms on two threads
 * of an AMD EPYC, Zen 3); the reference, which had them before, takes 9.4 s.
 */
#include "half_kernel.h"

#include <stdlib.h>
#include <string.h>

#include "cast.h"
#include "elementwise.h"
#include "isa.h"
#include "program_half.h"

enum {
    OPERANDS = NATIVE_ITEM_INPUTS + NATIVE_ITEM_OUTPUTS,
    ALIGN = 64,
    PART = 16384 /* elements that a thread casts at least */
};

typedef struct wide_operand {
    native_span_fn cast; /* from half for an input, to half for an output; NULL = stays as it is */
    int64_t n;
    size_t at; /* in the workspace */
    bool known;
} wide_operand;

typedef struct state {
    tfr_kernel inner;
    uint32_t n_inputs, n_operands;
    wide_operand operand[OPERANDS];
    float *constants[NATIVE_ITEM_INPUTS];
} state;

typedef struct work {
    native_span_fn cast;
    const char *from;
    char *to;
    size_t from_bytes, to_bytes; /* of an element */
} work;

bool native_widens(const native_op *op, const tfr_call *call)
{
    return op->widens && native_has_half(call);
}

static bool is_half(const tfr_operand *o)
{
    return o && (o->dtype == TFR_DTYPE_F16 || o->dtype == TFR_DTYPE_BF16);
}

/* The bytes of the workspace, where the op's own come first. */
static size_t lay_out(const tfr_plugin_device *device, const tfr_call *call, size_t own,
                      wide_operand *operands)
{
    const uint32_t n = call->n_inputs + call->n_outputs;
    size_t end = (own + ALIGN - 1) / ALIGN * ALIGN;
    uint32_t i;

    for (i = 0; i < n; i++) {
        const bool input = i < call->n_inputs;
        const tfr_operand *o =
            input ? tfr_call_input(call, i) : tfr_call_output(call, i - call->n_inputs);
        wide_operand *w = &operands[i];
        memset(w, 0, sizeof *w);
        if (!is_half(o))
            continue;
        w->n = tfr_operand_elements(o);
        w->cast = input ? native_find_cast(device->isa, o->dtype, TFR_DTYPE_F32)
                        : native_find_cast(device->isa, TFR_DTYPE_F32, o->dtype);
        w->known = input && o->data;
        w->at = end;
        if (!w->known)
            end += ((size_t)w->n * sizeof(float) + ALIGN - 1) / ALIGN * ALIGN;
    }
    return end;
}

void native_supports_half(const tfr_plugin_device *device, const native_op *op,
                          const tfr_call *call, tfr_answer *answer)
{
    native_wide_call wide;
    wide_operand operands[OPERANDS];

    if (!native_widen_call(call, &wide)) {
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "%u inputs of half are more than %d",
                    (unsigned)call->n_inputs, (int)NATIVE_ITEM_INPUTS);
        return;
    }
    op->supports(device, &wide.call, answer);
    if (answer->verdict == TFR_VERDICT_YES)
        answer->workspace_bytes = lay_out(device, call, answer->workspace_bytes, operands);
}

/* ---- launch ---- */

static void run_part(void *user, int64_t begin, int64_t end)
{
    const work *w = user;

    w->cast(&(native_span){.n_in = 1,
                           .in = {w->from + (size_t)begin * w->from_bytes},
                           .step = {1},
                           .to = w->to + (size_t)begin * w->to_bytes,
                           .n = end - begin});
}

static void cast_all(const tfr_plugin_device *device, const work *w, int64_t n)
{
    if (n < 2 * PART || device->threads == 1)
        run_part((void *)(uintptr_t)w, 0, n);
    else
        device->host->parallel_for(run_part, (void *)(uintptr_t)w, n, PART);
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    char *memory = launch->workspace;
    tfr_arg args[OPERANDS];
    tfr_launch wide = *launch;
    int32_t status;
    uint32_t i;

    for (i = 0; i < s->n_operands; i++) {
        const wide_operand *o = &s->operand[i];
        args[i] = launch->args[i];
        if (!o->cast)
            continue;
        args[i].address = o->known ? NULL : memory + o->at;
        if (i < s->n_inputs && !o->known)
            cast_all(device,
                     &(work){.cast = o->cast,
                             .from = launch->args[i].address,
                             .to = memory + o->at,
                             .from_bytes = 2,
                             .to_bytes = sizeof(float)},
                     o->n);
    }
    wide.args = args;
    status = s->inner.function(device, s->inner.blocks[0], &wide, err);
    for (i = s->n_inputs; i < s->n_operands && status == TFR_OK; i++) {
        const wide_operand *o = &s->operand[i];
        if (o->cast && launch->args[i].address)
            cast_all(device,
                     &(work){.cast = o->cast,
                             .from = memory + o->at,
                             .to = launch->args[i].address,
                             .from_bytes = sizeof(float),
                             .to_bytes = 2},
                     o->n);
    }
    return status;
}

/* ---- prepare ---- */

static void release(void *user)
{
    state *s = user;
    uint32_t i;

    if (s->inner.release)
        s->inner.release(s->inner.blocks[0]);
    for (i = 0; i < (uint32_t)s->inner.n_blocks; i++)
        free(s->inner.blocks[i]);
    for (i = 0; i < s->n_inputs; i++)
        free(s->constants[i]);
}

static bool widen_constant(state *s, uint32_t i, const tfr_operand *o, tfr_operand *wide)
{
    const int64_t n = s->operand[i].n;

    s->constants[i] = calloc((size_t)n + 1, sizeof(float));
    if (!s->constants[i])
        return false;
    run_part(&(work){.cast = s->operand[i].cast,
                     .from = o->data,
                     .to = (char *)s->constants[i],
                     .from_bytes = 2,
                     .to_bytes = sizeof(float)},
             0, n);
    wide->data = s->constants[i];
    return true;
}

void native_prepare_half(native_build *b, const native_op *op, const tfr_call *call)
{
    state *s = native_set_function(b, run, release, sizeof *s, op->name);
    tfr_answer answer = {.size = sizeof answer, .verdict = TFR_VERDICT_YES};
    native_wide_call wide;
    native_build inner = *b;
    uint32_t i;

    if (!s)
        return;
    if (!native_widen_call(call, &wide)) {
        b->status = tfr_fail(b->err, TFR_EUNSUPPORTED, "%s has too many operands", call->name);
        return;
    }
    op->supports(b->device, &wide.call, &answer);
    (void)lay_out(b->device, call, answer.workspace_bytes, s->operand);
    s->n_inputs = call->n_inputs;
    s->n_operands = call->n_inputs + call->n_outputs;
    for (i = 0; i < s->n_inputs; i++) {
        if (s->operand[i].known &&
            !widen_constant(s, i, tfr_call_input(call, i), &wide.inputs[i])) {
            b->status =
                tfr_fail(b->err, TFR_ENOMEM, "%s: no memory for %lld constants of half as float32",
                         call->name, (long long)s->operand[i].n);
            return;
        }
    }
    inner.call = &wide.call;
    inner.kernel = &s->inner;
    op->prepare(&inner, &wide.call);
    b->status = inner.status;
    b->kernel->name = s->inner.name;
}
