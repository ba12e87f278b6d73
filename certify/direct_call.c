/* SPDX-License-Identifier: Apache-2.0 */
/* direct_call.c: calls and launches of the direct host; see direct.h. */
#include "direct.h"

#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>

enum { POISON_ARGS = 0xdd };

/* ---- calls ----------------------------------------------------------------------------------- */

static const tfr_operand *input_of(const tfr_call *call, uint32_t i)
{
    return tfr_call_input(call, i);
}

static bool is_plain_tensor(tfr_tensor *t)
{
    return tfr_tensor_kind(t) == TFR_KIND_TENSOR && tfr_tensor_dtype(t) != TFR_DTYPE_STRING &&
           tfr_tensor_is_plain(t);
}

static bool is_of(const tfr_operand *o, tfr_tensor *t)
{
    const tfr_shape *shape = tfr_tensor_shape(t);
    if (o->strides || (int32_t)tfr_tensor_dtype(t) != o->dtype || shape->rank != o->rank)
        return false;
    for (int32_t d = 0; d < o->rank; d++)
        if (shape->dims[d] != o->dims[d])
            return false;
    return true;
}

/* Has the core passed the call on as it is, so that its operands are ours? */
static bool is_as_made(const direct_call *c)
{
    const tfr_call *call = c->copy.call;
    if (call->n_inputs > c->call->n_inputs || call->n_outputs > c->call->n_outputs ||
        call->n_inputs > OPS_MAX_OPERANDS)
        return false;
    for (uint32_t i = 0; i < call->n_inputs; i++) {
        const tfr_operand *o = input_of(call, i);
        tfr_tensor *t = c->call->plain[i];
        if ((o == NULL) != (t == NULL) || (o && (!is_plain_tensor(t) || !is_of(o, t))))
            return false;
    }
    for (uint32_t i = 0; i < call->n_outputs; i++) {
        const tfr_operand *o = tfr_call_output(call, i);
        tfr_tensor *t = c->expected[i];
        if (!o || !is_plain_tensor(t) || o->strides || o->dtype != (int32_t)tfr_tensor_dtype(t) ||
            o->rank != tfr_tensor_shape(t)->rank)
            return false;
    }
    return true;
}

/* Runs it as a kernel in a session, and keeps what the plugin was asked to prepare. */
static bool record(certify_subject *s, const ops_call *call, certify_copy *out, char *text,
                   size_t n)
{
    tfr_tensor *obtained[OPS_MAX_OUTPUTS] = {NULL};
    tfr_err err = TFR_ERR_INIT;
    tfr_status status;
    ops_verdict verdict = OPS_DECLINED;
    bool found = false;
    s->run.no_programs = true;
    for (int way = 0; way < 2 && verdict == OPS_DECLINED; way++) {
        certify_record(call->op);
        verdict = ops_run_call(&s->run, s->name, call, way ? OPS_CONSTANTS : OPS_PLAIN, obtained,
                               &status, &err);
        ops_release_outputs(obtained, verdict == OPS_RAN ? call->n_outputs : 0);
        found = certify_recorded(out);
        certify_record(NULL);
        if (verdict == OPS_DECLINED && found)
            certify_copy_free(out);
    }
    s->run.no_programs = false;
    snprintf(text, n, "%s",
             verdict != OPS_RAN ? err.text : "the core computes it without a kernel of the plugin");
    /* A run that failed behind prepare may have failed for what is looked for. */
    return found;
}

/* A plugin may write into what it should only read. */
static bool keep_inputs(direct_call *c)
{
    for (uint32_t i = 0; i < c->call->n_inputs; i++) {
        tfr_tensor *t = c->call->plain[i];
        const size_t bytes = t && is_plain_tensor(t) ? tfr_tensor_bytes(t) : 0;
        c->inputs[i] = bytes ? malloc(bytes) : NULL;
        if (bytes && !c->inputs[i])
            return false;
        if (bytes)
            memcpy(c->inputs[i], tfr_tensor_data(t), bytes);
    }
    return true;
}

bool direct_call_make(certify_subject *s, const ops_call *call, direct_call *out, char *text,
                      size_t n)
{
    tfr_err err = TFR_ERR_INIT;
    tfr_status status;
    memset(out, 0, sizeof *out);
    out->call = call;
    if (ops_run_call(&s->run, CERTIFY_REFERENCE, call, OPS_PLAIN, out->expected, &status, &err) !=
        OPS_RAN) {
        snprintf(text, n, "the reference does not have it: %s", err.text);
        return false;
    }
    snprintf(text, n, "no memory for its inputs");
    if (!keep_inputs(out) || !record(s, call, &out->copy, text, n)) {
        direct_call_free(out);
        return false;
    }
    if (is_as_made(out))
        return true;
    snprintf(text, n, "only calls of plain tensors are launched directly");
    direct_call_free(out);
    return false;
}

void direct_call_free(direct_call *c)
{
    ops_release_outputs(c->expected, c->call->n_outputs);
    for (uint32_t i = 0; i < OPS_MAX_OPERANDS; i++)
        free(c->inputs[i]);
    certify_copy_free(&c->copy);
}

/* ---- kernels --------------------------------------------------------------------------------- */

tfr_status direct_prepare(direct_device *d, const direct_call *call, direct_kernel *k, tfr_err *err)
{
    const tfr_kernel_facet *f = &d->tables->kernel;
    const tfr_prepare_options options = {.size = sizeof options};
    tfr_status status;
    memset(k, 0, sizeof *k);
    k->call = call;
    k->answer.size = sizeof k->answer;
    if (!certify_copy_call(call->copy.call, &k->copy))
        return tfr_fail(err, TFR_ENOMEM, "no memory for a call");
    status = (tfr_status)f->supports(d->device, k->copy.call, &k->answer, err);
    if (!status && k->answer.verdict != TFR_VERDICT_YES && k->answer.verdict != TFR_VERDICT_SLOW)
        status = tfr_fail(err, TFR_EPLUGIN, "supports said yes, and for an equal call no: %.200s",
                          k->answer.text);
    k->info = (tfr_kernel_info){.size = sizeof k->info,
                                .flags = k->answer.flags,
                                .time_ns = k->answer.time_ns,
                                .workspace_bytes = k->answer.workspace_bytes};
    if (!status)
        status =
            (tfr_status)f->prepare(d->device, k->copy.call, &options, &k->kernel, &k->info, err);
    if (status) {
        certify_copy_free(&k->copy);
        return status;
    }
    for (uint32_t i = 0; i < call->copy.call->n_inputs && i < 64; i++)
        if (k->info.consumed_inputs >> i & 1)
            certify_copy_poison_input(&k->copy, i);
    certify_copy_poison(&k->copy);
    return TFR_OK;
}

void direct_drop(direct_device *d, direct_kernel *k)
{
    if (k->copy.chunks)
        d->tables->kernel.drop(d->device, k->kernel);
    certify_copy_free(&k->copy);
}

/* ---- launches -------------------------------------------------------------------------------- */

static uint64_t bytes_of(const tfr_operand *o)
{
    return ((uint64_t)tfr_operand_elements(o) * tfr_dtype_bits(o->dtype) + 7) / 8;
}

static bool bit(uint64_t bits, uint32_t i)
{
    return i < 64 && (bits >> i & 1);
}

static tfr_status make_input(direct_device *d, const direct_kernel *k, uint32_t i, direct_buffer *b,
                             tfr_err *err)
{
    const tfr_operand *o = input_of(k->call->copy.call, i);
    if (!o || bit(k->info.consumed_inputs, i))
        return TFR_OK;
    const uint32_t space = bit(k->answer.host_inputs, i) ? TFR_SPACE_HOST : 0;
    tfr_status status = direct_alloc(d, space, bytes_of(o), DIRECT_POISON, b, err);
    if (!status && b->bytes)
        status = direct_write(d, b, k->call->inputs[i], err);
    return status;
}

/* An output, unless it is in the memory of an input. */
static tfr_status make_output(direct_device *d, const direct_kernel *k, uint32_t i, bool is_shared,
                              direct_launch *l, tfr_err *err)
{
    const tfr_call *call = k->call->copy.call;
    const tfr_operand *o = tfr_call_output(call, i);
    const uint32_t space = bit(k->answer.host_outputs, i) ? TFR_SPACE_HOST : 0;
    tfr_status status = TFR_OK;
    if (!is_shared)
        status =
            direct_alloc(d, space, bytes_of(o), DIRECT_POISON, &l->args[call->n_inputs + i], err);
    if (!status && (o->flags & TFR_OPERAND_DYNAMIC))
        status = direct_alloc(d, space ? TFR_SPACE_HOST : d->transfer,
                              (uint64_t)(o->rank ? o->rank : 1) * sizeof(int64_t), 0xff,
                              &l->dims[i], err);
    return status;
}

tfr_status direct_launch_make(direct_device *d, const direct_kernel *k, int in_place,
                              unsigned char workspace, direct_launch *l, tfr_err *err)
{
    const tfr_call *call = k->call->copy.call;
    tfr_status status = TFR_OK;
    memset(l, 0, sizeof *l);
    l->in_place = in_place;
    for (uint32_t i = 0; i < call->n_inputs && !status; i++)
        status = make_input(d, k, i, &l->args[i], err);
    for (uint32_t i = 0; i < call->n_outputs && !status; i++)
        status = make_output(d, k, i, direct_shared_input(k, in_place, i) >= 0, l, err);
    if (!status && k->info.workspace_bytes)
        status = direct_alloc(d, 0, k->info.workspace_bytes, workspace, &l->workspace, err);
    if (status)
        direct_launch_free(d, l);
    return status;
}

int direct_shared_input(const direct_kernel *k, int in_place, uint32_t output)
{
    if (in_place < 0 || k->answer.in_place[in_place].output != (int16_t)output)
        return -1;
    return k->answer.in_place[in_place].input;
}

typedef void direct_each(direct_device *d, direct_buffer *b);

static void for_each(direct_device *d, direct_launch *l, direct_each *each)
{
    for (uint32_t i = 0; i < OPS_MAX_OPERANDS + OPS_MAX_OUTPUTS; i++)
        each(d, &l->args[i]);
    for (uint32_t i = 0; i < OPS_MAX_OUTPUTS; i++)
        each(d, &l->dims[i]);
    each(d, &l->workspace);
}

void direct_launch_free(direct_device *d, direct_launch *l)
{
    for_each(d, l, direct_free);
}

tfr_status direct_launch_run(direct_device *d, tfr_queue *queue, const direct_kernel *k,
                             direct_launch *l, tfr_err *err)
{
    const tfr_call *call = k->call->copy.call;
    const uint32_t n = call->n_inputs + call->n_outputs;
    tfr_arg *args = calloc((size_t)n + 1, sizeof *args);
    tfr_launch *launch = calloc(1, sizeof *launch);
    tfr_status status = args && launch ? TFR_OK : tfr_fail(err, TFR_ENOMEM, "no host memory");
    for (uint32_t i = 0; i < n && !status; i++)
        args[i] = direct_arg(d, &l->args[i]);
    for (uint32_t i = 0; i < call->n_outputs && !status; i++) {
        const int shared = direct_shared_input(k, l->in_place, i);
        if (shared >= 0)
            args[call->n_inputs + i] = args[shared];
        args[call->n_inputs + i].dims = direct_arg(d, &l->dims[i]).address;
    }
    if (!status) {
        const tfr_arg workspace = direct_arg(d, &l->workspace);
        l->id = d->next_id++;
        *launch = (tfr_launch){.size = sizeof *launch,
                               .n_args = n,
                               .args = args,
                               .workspace = workspace.address,
                               .workspace_offset = workspace.offset,
                               .id = l->id};
        status = (tfr_status)d->tables->kernel.launch(d->device, queue, k->kernel, launch, err);
        memset(args, POISON_ARGS, n * sizeof *args);
        memset(launch, POISON_ARGS, sizeof *launch);
    }
    free(args);
    free(launch);
    /* A host input may change once launch has returned, if no output lies in it. */
    for (uint32_t i = 0; i < call->n_inputs && !status; i++)
        if (bit(k->answer.host_inputs, i) && l->args[i].base &&
            (l->in_place < 0 || k->answer.in_place[l->in_place].input != (int16_t)i))
            status = direct_fill(d, &l->args[i], DIRECT_GONE, err);
    return status;
}

tfr_status direct_launch_give_back(direct_device *d, direct_launch *l, tfr_err *err)
{
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; i < OPS_MAX_OPERANDS + OPS_MAX_OUTPUTS && !status; i++)
        if (l->args[i].base)
            status = direct_fill(d, &l->args[i], DIRECT_GONE, err);
    for (uint32_t i = 0; i < OPS_MAX_OUTPUTS && !status; i++)
        if (l->dims[i].base)
            status = direct_fill(d, &l->dims[i], DIRECT_GONE, err);
    if (!status && l->workspace.base)
        status = direct_fill(d, &l->workspace, DIRECT_GONE, err);
    return status;
}
