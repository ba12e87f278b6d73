/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.c: which backend gets a node. The candidates stand in the order: the pin, else the device
 * that the session prefers, else the first device; of it the named backend, then its others by
 * priority; then the backends of the host's devices, then all others. The first that says yes gets
 * the node; every no on the way is kept as a sentence. The kernel itself is made by the caller.
 */
#include <stdio.h>
#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "kernel/place.h"
#include "op/op_foreign.h"

#define TEXT_ROOM 1024

/* Walks the candidates in order; device and backend are numbers in the runtime. */
typedef struct candidates {
    const tfr_runtime *runtime;
    tfr__pin first; /* device never -1; backend -1 = none in particular */
    uint32_t round; /* 0 the named backend, 1 its device, 2 host devices, 3 the others */
    uint32_t device, backend;
} candidates;

static bool candidates_next(candidates *c, tfr__device **device, tfr__backend **backend)
{
    const tfr_runtime *rt = c->runtime;
    for (; c->round < 4; c->round++, c->device = c->backend = 0) {
        for (; c->device < rt->n_devices; c->device++, c->backend = 0) {
            tfr__device *d = &rt->devices[c->device];
            bool own = (int32_t)c->device == c->first.device;
            if (own != (c->round < 2) || (c->round >= 2 && d->is_host != (c->round == 2)))
                continue;
            while (c->backend < d->n_backends) {
                bool named = own && (int32_t)c->backend == c->first.backend;
                *device = d;
                *backend = &d->backends[c->backend++];
                if (named == (c->round == 0))
                    return true;
            }
        }
    }
    return false;
}

/* A plugin's answer is a stranger's: cut it to what makes sense. */
static void answer_clean(tfr_answer *answer, const tfr_call *call)
{
    uint32_t kept = 0;
    answer->text[sizeof answer->text - 1] = '\0';
    if (answer->n_in_place > 4)
        answer->n_in_place = 4;
    for (uint32_t i = 0; i < answer->n_in_place; i++) {
        int16_t in = answer->in_place[i].input, out = answer->in_place[i].output;
        if (in >= 0 && out >= 0 && (uint32_t)in < call->n_inputs && (uint32_t)out < call->n_outputs)
            answer->in_place[kept++] = answer->in_place[i];
    }
    answer->n_in_place = kept;
    if (answer->verdict < TFR_VERDICT_NO || answer->verdict > TFR_VERDICT_SLOW)
        tfr_decline(answer, TFR_REASON_NONE,
                    "it answers %d, which is no verdict, a defect of the plugin",
                    (int)answer->verdict);
    if (answer->workspace_bytes > INT64_MAX / 4)
        tfr_decline(answer, TFR_REASON_NONE,
                    "it wants a workspace of %llu bytes, a defect of the plugin",
                    (unsigned long long)answer->workspace_bytes);
    if (answer->verdict == TFR_VERDICT_NO && !answer->reason && !answer->text[0])
        tfr_decline(answer, TFR_REASON_NONE, "it says no without a reason, a defect of the plugin");
}

/* Has the backend a kernel of the op in good order? Else it has declined. */
static bool is_claimed(const tfr__backend *backend, uint32_t op, const tfr_call *call,
                       tfr_answer *answer)
{
    const char *failed = backend->op_quarantined && op < backend->n_table
                             ? atomic_load(&backend->op_quarantined[op])
                             : NULL;
    if (atomic_load(&backend->quarantined)) {
        const char *how = atomic_load(&backend->failed);
        tfr_decline(answer, TFR_REASON_QUARANTINED,
                    "the backend failed earlier in this process%s%.200s", how ? ": " : "",
                    how ? how : "");
        return false;
    }
    if (failed) {
        tfr_decline(answer, TFR_REASON_QUARANTINED,
                    "its kernel of %s failed earlier in this process: %s", call->name, failed);
        return false;
    }
    switch (tfr__backend_claim(backend, op)) {
    case TFR__CLAIM_YES:
        return true;
    case TFR__CLAIM_OLDER: {
        const int32_t version = backend->claim_versions[op];
        char attr[32] = "";
        if (tfr__op_takes_older(tfr__op_at(op), version, call, attr, sizeof attr))
            return true;
        tfr_decline(answer, TFR_REASON_OP_VERSION,
                    "its kernel of %s is of version %d, and attribute %s needs a newer one",
                    call->name, (int)version, attr);
        return false;
    }
    case TFR__CLAIM_VERSION:
        tfr_decline(answer, TFR_REASON_OP_VERSION, "it has another version of %s, not %d",
                    call->name, (int)call->since_version);
        return false;
    case TFR__CLAIM_DIGEST:
        tfr_decline(answer, TFR_REASON_DIGEST, "it was built for another definition of %s",
                    call->name);
        return false;
    default:
        tfr_decline(answer, TFR_REASON_UNKNOWN_OP, "it has no kernel of %s", call->name);
        return false;
    }
}

/* Elements of a string tensor are pointers into the host's memory: no device can copy them. */
static bool has_strings(const tfr__call *call)
{
    for (uint32_t i = 0; i < call->call.n_inputs + call->call.n_outputs; i++)
        if (call->operands[i].dtype == TFR_DTYPE_STRING)
            return true;
    return false;
}

/* TFR_ENOMEM says nothing about the backend. */
tfr_status tfr__ask(tfr_runtime *runtime, tfr__backend *backend, uint32_t op, tfr__call *given,
                    tfr_answer *answer, tfr_err *out_err)
{
    tfr_call *call = &given->call;
    tfr_err err = TFR_ERR_INIT;
    tfr_status status;
    memset(answer, 0, sizeof *answer);
    answer->size = sizeof *answer;
    if (strcmp(backend->info.identity, "host") != 0 && has_strings(given)) {
        tfr_decline(answer, TFR_REASON_DTYPE, "strings stay in the host's memory");
        return TFR_OK;
    }
    if (!is_claimed(backend, op, call, answer))
        return TFR_OK;
    status = tfr__backend_open(runtime, backend, &err);
    if (status == TFR_ENOMEM)
        return tfr_fail(out_err, status, "%s", tfr__said(&err));
    if (status) {
        tfr_decline(answer,
                    status == TFR_EPLUGIN     ? TFR_REASON_QUARANTINED
                    : status == TFR_ENOTFOUND ? TFR_REASON_LIBRARY_MISSING
                                              : TFR_REASON_DEVICE_FEATURE,
                    "%s", tfr__said(&err));
        return TFR_OK;
    }
    if (!(backend->kernel.flags & TFR_KERNEL_TAKES_UNALIGNED)) {
        status = tfr__call_align(given, out_err);
        if (status)
            return status;
    }
    if (backend->claim_versions)
        call->since_version = backend->claim_versions[op];
    TFR__SLOT(backend, "supports", NULL, call->name,
              status = (tfr_status)backend->kernel.supports(backend->device, call, answer, &err));
    answer->size = sizeof *answer;
    if (status) {
        tfr__log(runtime, TFR_LOG_WARNING, backend->plugin_name,
                 "asking about %s failed, which it must not: %s", call->name, tfr__said(&err));
        tfr_decline(answer, TFR_REASON_QUARANTINED, "asking it failed: %s", tfr__said(&err));
        return TFR_OK;
    }
    answer_clean(answer, call);
    if (answer->verdict != TFR_VERDICT_NO && tfr__is_unsteady(call->flags, answer->flags))
        tfr_decline(answer, TFR_REASON_NONDETERMINISTIC,
                    "its kernel of %s may give other values each time", call->name);
    return TFR_OK;
}

static void text_add(char *text, const char *backend, const tfr_answer *answer)
{
    size_t n = strlen(text);
    if (n + 4 < TEXT_ROOM)
        snprintf(text + n, TEXT_ROOM - n, "%s%s says %s: %s", n ? "; " : "", backend,
                 tfr_reason_name((tfr_reason)answer->reason), answer->text);
}

static tfr_status place_refuse(const tfr__node *node, const tfr__choice *choice, const char *text,
                               tfr_err *err)
{
    return tfr_fail(err, TFR_EFALLBACK,
                    "node \"%s\" (%s) cannot run on %s: %s; available on %s, which fallback "
                    "\"error\" forbids",
                    node->name, node->op->name, choice->wanted, text, choice->backend->name);
}

tfr_status tfr__place(const tfr__kernel_env *env, const tfr__node *node, tfr__pin pin, bool strict,
                      tfr__call *call, tfr__choice *out, tfr_err *err)
{
    tfr_runtime *runtime = env->streams->runtime;
    candidates c = {runtime, pin, 0, 0, 0};
    uint32_t op = tfr__op_number(node->op);
    const tfr__op_foreign *row = tfr__op_foreign_of(node->op);
    char text[TEXT_ROOM] = "";
    tfr__device *device;
    tfr__backend *backend;
    tfr_answer answer;
    tfr_status status;
    bool first = true;
    memset(out, 0, sizeof *out);
    if (pin.device < 0)
        c.first = env->preferred;
    if (c.first.device < 0)
        c.first = (tfr__pin){0, -1};
    if (!runtime->n_devices)
        return tfr_fail(err, TFR_EDEVICE,
                        "there is no usable device; `tfrun --list-devices` says why");
    out->wanted = "?";
    while (candidates_next(&c, &device, &backend)) {
        if (first)
            out->wanted = backend->name;
        status = tfr__ask(runtime, backend, op, call, &answer, err);
        if (status)
            return status;
        if (answer.verdict == TFR_VERDICT_YES || answer.verdict == TFR_VERDICT_REORDER ||
            (answer.verdict == TFR_VERDICT_SLOW && !out->backend)) {
            out->device = device;
            out->backend = backend;
            out->answer = answer;
            out->fallback = !first;
            if (answer.verdict != TFR_VERDICT_SLOW)
                break;
        }
        if (answer.verdict == TFR_VERDICT_NO || answer.verdict == TFR_VERDICT_SLOW) {
            text_add(text, backend->name, &answer);
            if (!out->reason)
                out->reason = answer.reason;
        }
        first = false;
    }
    if (!out->backend)
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "node \"%s\" (%s%s%s%s%s): no backend has a kernel for it: %s", node->name,
                        node->op->name, row ? " of domain " : "", row ? node->op->domain : "",
                        row ? ", by plugin " : "", row ? row->plugin : "",
                        text[0] ? text : "no device is visible");
    if (out->fallback && strict)
        return place_refuse(node, out, text, err);
    if (text[0])
        out->text = tfr__strdup(text);
    return TFR_OK;
}

bool tfr__kernel_claimed(const tfr__kernel_env *env, uint32_t op)
{
    const tfr_runtime *rt = env->streams->runtime;
    const tfr__pin want = env->preferred;
    const tfr__op *row = tfr__op_at(op);
    if (env->opset)
        return !*row->domain && row->compat_version <= env->opset;
    const tfr__device *d = rt->n_devices ? &rt->devices[want.device < 0 ? 0 : want.device] : NULL;
    for (uint32_t i = 0; d && i < d->n_backends; i++) {
        const tfr__backend *b = &d->backends[i];
        if ((want.device < 0 || want.backend < 0 || want.backend == (int32_t)i) &&
            b->priority > 0 && tfr__backend_claim(b, op) == TFR__CLAIM_YES)
            return true;
    }
    return false;
}
