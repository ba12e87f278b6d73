/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_memory.c: the shared calls of one op, launched by the direct host: operands and workspaces
 * lie between guards and are full of odd bytes, the call is gone after prepare, and what a launch
 * had is gone after it. Once plainly, once with outputs in the memory of the inputs that supports
 * names, and calls whose dims only a launch tells.
 */
#include <stdlib.h>

#include "direct.h"

enum { N_SEEDS = 6, N_SEARCHED = 24 };

static const char how[] = "launched directly";

typedef struct tally {
    certify_subject *subject;
    certify_way way;
    certify_verdict *v;
    bool is_taken;     /* some call */
    char refusal[400]; /* the first one; "" = none */
} tally;

static bool is_dynamic(const direct_call *c)
{
    for (uint32_t i = 0; i < c->copy.call->n_outputs; i++)
        if (c->copy.call->outputs[i].flags & TFR_OPERAND_DYNAMIC)
            return true;
    return false;
}

/* Two launches with different memory; the first one's is gone before the second one. */
static bool launch_twice(direct_device *d, direct_kernel *k, char *text, size_t n)
{
    direct_launch l[2] = {{.in_place = -1}};
    tfr_err err = TFR_ERR_INIT;
    tfr_status status = TFR_OK;
    bool good = true;
    for (int i = 0; i < 2 && good && !status; i++) {
        status = direct_launch_make(d, k, -1, i ? 0x7f : 0xff, &l[i], &err);
        if (status == TFR_ENOMEM || status == TFR_ELIMIT)
            break;
        if (!status)
            status = direct_launch_run(d, d->queue, k, &l[i], &err);
        if (!status)
            status = direct_finish(d, &err);
        good = status || !direct_launch_is_wrong(d, k, &l[i], text, n);
        if (good && !status)
            status = direct_launch_give_back(d, &l[i], &err);
    }
    direct_drop(d, k);
    for (int i = 0; i < 2 && good && !status; i++)
        good = !direct_launch_is_touched(d, &l[i], text, n);
    for (int i = 0; i < 2; i++)
        direct_launch_free(d, &l[i]);
    if (status && status != TFR_ENOMEM && status != TFR_ELIMIT) {
        snprintf(text, n, "%s: %s", tfr_status_name(status), err.text);
        good = false;
    }
    return good;
}

static uint64_t bytes_of(const tfr_operand *o)
{
    return ((uint64_t)tfr_operand_elements(o) * tfr_dtype_bits(o->dtype) + 7) / 8;
}

/* May the pair share memory here? */
static bool is_pair(const direct_kernel *k, uint32_t p)
{
    const tfr_call *call = k->call->copy.call;
    const int input = k->answer.in_place[p].input, output = k->answer.in_place[p].output;
    const tfr_operand *x = input < 0 ? NULL : tfr_call_input(call, (uint32_t)input);
    const tfr_operand *y = output < 0 ? NULL : tfr_call_output(call, (uint32_t)output);
    return x && y && bytes_of(x) == bytes_of(y) && bytes_of(x) > 0 &&
           !(k->info.consumed_inputs >> input & 1) &&
           (k->answer.host_inputs >> input & 1) == (k->answer.host_outputs >> output & 1);
}

static bool launch_in_place(direct_device *d, direct_kernel *k, uint32_t *n_pairs, char *text,
                            size_t n)
{
    bool good = true;
    for (uint32_t p = 0; p < k->answer.n_in_place && p < 4 && good; p++) {
        direct_launch l;
        tfr_err err = TFR_ERR_INIT;
        if (!is_pair(k, p) || direct_launch_make(d, k, (int)p, 0xff, &l, &err))
            continue;
        (*n_pairs)++;
        tfr_status status = direct_launch_run(d, d->queue, k, &l, &err);
        if (!status)
            status = direct_finish(d, &err);
        if (status)
            snprintf(text, n, "in place: %s: %s", tfr_status_name(status), err.text);
        good = !status && !direct_launch_is_wrong(d, k, &l, text, n);
        direct_launch_free(d, &l);
    }
    direct_drop(d, k);
    return good;
}

/* The device is opened when it is first needed, and anew after a failure. */
static bool open_device(certify_subject *s, char *text, size_t n)
{
    tfr_err err = TFR_ERR_INIT;
    if (s->direct)
        return true;
    s->direct = calloc(1, sizeof *s->direct);
    if (s->direct && !direct_open(s, 0, NULL, 0, s->direct, &err))
        return true;
    snprintf(text, n, "the device cannot be opened beside tfrun's own: %s", err.text);
    free(s->direct);
    s->direct = NULL;
    return false;
}

/* False with the reason in text. */
static bool try_call(tally *t, const direct_call *c, char *text, size_t n)
{
    direct_kernel k;
    tfr_err err = TFR_ERR_INIT;
    uint32_t n_pairs = 0;
    bool good;
    if (!open_device(t->subject, text, n))
        return false;
    direct_device *d = t->subject->direct;
    tfr_status status = direct_prepare(d, c, &k, &err);
    if (status) {
        snprintf(text, n, "%s: %s", tfr_status_name(status), err.text);
        return status == TFR_ENOMEM;
    }
    if (k.info.flags & TFR_ANSWER_RANDOM) {
        direct_drop(d, &k);
        return true;
    }
    if (t->way == CERTIFY_IN_PLACE) {
        good = launch_in_place(d, &k, &n_pairs, text, n);
        t->v->n_calls += n_pairs;
        return good;
    }
    t->v->n_calls++;
    return launch_twice(d, &k, text, n);
}

/* False if there is no use in another call. */
static bool check_call(tally *t, const ops_call *call)
{
    char text[600];
    direct_call c;
    bool good = true;
    certify_tell_place(t->subject->options, ops_call_name(call), call->seed, how);
    if (!direct_call_make(t->subject, call, &c, text, sizeof text)) {
        certify_keep_refusal(t->subject, text, t->refusal, sizeof t->refusal);
        return true;
    }
    t->is_taken = true;
    if (is_dynamic(&c) == (t->way == CERTIFY_DYNAMIC) || t->way == CERTIFY_IN_PLACE)
        good = try_call(t, &c, text, sizeof text);
    if (!good) {
        certify_set(t->v, CERTIFY_FAILED, "%s:%llu, %s: %s", ops_call_name(call),
                    (unsigned long long)call->seed, how, text);
        certify_set_call(t->v, call);
    }
    direct_call_free(&c);
    return good;
}

static bool check_description(tally *t, const ops_case *description)
{
    const uint32_t most = t->v->n_calls + N_SEEDS;
    bool goes_on = true;
    for (uint64_t seed = 1; seed <= N_SEARCHED && t->v->n_calls < most && goes_on; seed++) {
        if (seed > N_SEEDS && t->v->n_calls + N_SEEDS == most)
            break; /* nothing of the kind */
        ops_call call;
        ops_make(description, seed, -1, NULL, &call);
        goes_on = check_call(t, &call);
        ops_call_finish(&call);
    }
    return goes_on;
}

void certify_check_memory(certify_subject *s, const tfr_op_desc *op, certify_way way,
                          certify_verdict *v)
{
    tally t = {.subject = s, .way = way, .v = v};
    const ops_case *description;
    bool goes_on = true;
    for (uint32_t cursor = 0; goes_on && (description = ops_next_case(&cursor)) != NULL;)
        if (certify_is_case_of(description, op) && !description->varies)
            goes_on = check_description(&t, description);
    if (!goes_on && s->direct) {
        direct_close(s->direct);
        free(s->direct);
        s->direct = NULL;
    } else if (goes_on && v->n_calls) {
        certify_set(v, CERTIFY_PASSED, "%u launch%s", (unsigned)v->n_calls,
                    v->n_calls > 1 ? "es" : "");
    } else if (goes_on && way == CERTIFY_MEMORY && !t.is_taken && t.refusal[0]) {
        certify_set(v, CERTIFY_UNSUPPORTED, "%s", t.refusal);
    }
}
