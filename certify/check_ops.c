/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_ops.c: the shared calls of one op, in one way. A plugin may say no to any of them; what it
 * says yes to must give what the reference gives, and run nowhere else.
 */
#include <stdlib.h>
#include <string.h>

#include "hostile.h"
#include "memory_limit.h"
#include "subject.h"

enum { N_SEEDS = 24, N_SEARCHED = 400 };

/* What became of the calls of one check. */
typedef struct tally {
    certify_subject *subject;
    certify_way way;
    certify_verdict *v;
    bool has_calls;    /* that could be made in this way */
    char refusal[640]; /* the first one */
} tally;

static const ops_how hows[CERTIFY_N_WAYS] = {
    [CERTIFY_VALUES] = OPS_PLAIN,        [CERTIFY_STRIDED] = OPS_VIEWS,
    [CERTIFY_UNALIGNED] = OPS_UNALIGNED, [CERTIFY_CONSTANTS] = OPS_CONSTANTS,
    [CERTIFY_EMPTY] = OPS_PLAIN,         [CERTIFY_REPEATED] = OPS_AGAIN,
};

/* ---- which calls ----------------------------------------------------------------------------- */

static bool is_empty(const ops_call *call)
{
    for (uint32_t i = 0; i < call->n_inputs; i++)
        if (call->plain[i] && tfr_tensor_elements(call->plain[i]) == 0)
            return true;
    return false;
}

static bool is_strided(const ops_call *call)
{
    for (uint32_t i = 0; i < call->n_inputs; i++)
        if (call->views[i] && call->views[i] != call->plain[i])
            return true;
    return false;
}

/* Does the call say something about the way? */
static bool fits(certify_way way, const ops_call *call)
{
    switch (way) {
    case CERTIFY_STRIDED:
    case CERTIFY_UNALIGNED:
        return is_strided(call);
    case CERTIFY_CONSTANTS:
        return ops_has_constants(call);
    case CERTIFY_EMPTY:
        return is_empty(call);
    case CERTIFY_REPEATED:
        return !call->description->varies;
    default:
        return true;
    }
}

/* ---- one call -------------------------------------------------------------------------------- */

static void fail_call(tally *t, const ops_call *call, const ops_outcome *outcome)
{
    certify_subject *s = t->subject;
    const char *kind = outcome->verdict == OPS_ELSEWHERE ? "silent fallback: " : "";
    const char *text = outcome->text;
    if (certify_is_broken(s)) {
        kind = "broken promise: ";
        text = s->plugin.reason;
    }
    certify_set(t->v, CERTIFY_FAILED, "%s%s:%llu, %s: %s", kind, ops_call_name(call),
                (unsigned long long)call->seed, ops_how_names[hows[t->way]], text);
    certify_set_call(t->v, call);
}

/* The second run of a session against the first run of another, bit by bit. Of a plugin that says
 * that two runs differ only the first is made: its values are compared elsewhere. */
static void compare_runs(tally *t, const ops_call *call, ops_outcome *out)
{
    ops_run *run = &t->subject->run;
    tfr_tensor *once[OPS_MAX_OUTPUTS] = {NULL};
    tfr_err err = TFR_ERR_INIT;
    tfr_status status;
    const bool was = run->is_reference;
    out->verdict = ops_run_call(run, run->backend, call, OPS_PLAIN, once, &status, &err);
    out->good = out->verdict == OPS_RAN || out->verdict == OPS_DECLINED;
    out->status = status;
    snprintf(out->text, sizeof out->text, "%s: %s", tfr_status_name(status), err.text);
    if (out->verdict == OPS_RAN && run->is_nondeterministic)
        ops_release_outputs(once, call->n_outputs);
    if (out->verdict != OPS_RAN || run->is_nondeterministic)
        return;
    run->is_reference = true; /* so that bits are compared */
    ops_try_call(run, call, OPS_AGAIN, once, out);
    run->is_reference = was;
    ops_release_outputs(once, call->n_outputs);
}

/* False if the reference does not have the call either. */
static bool compare_with_reference(tally *t, const ops_call *call, ops_outcome *out)
{
    certify_subject *s = t->subject;
    tfr_tensor *expected[OPS_MAX_OUTPUTS] = {NULL};
    tfr_err err = TFR_ERR_INIT;
    tfr_status status;
    ops_verdict verdict =
        ops_run_call(&s->run, CERTIFY_REFERENCE, call, OPS_PLAIN, expected, &status, &err);
    if (verdict != OPS_RAN) {
        snprintf(t->refusal, sizeof t->refusal, "the reference does not have it: %s", err.text);
        return false;
    }
    ops_try_call(&s->run, call, hows[t->way], expected, out);
    ops_release_outputs(expected, call->n_outputs);
    return true;
}

/* False if there is no use in another call. */
static bool check_call(tally *t, const ops_call *call)
{
    ops_outcome out = {0};
    t->has_calls = true;
    certify_tell_place(t->subject->options, ops_call_name(call), call->seed,
                       ops_how_names[hows[t->way]]);
    if (t->way == CERTIFY_REPEATED)
        compare_runs(t, call, &out);
    else if (!compare_with_reference(t, call, &out))
        return true;
    t->v->n_calls++;
    /* A device may be too small for a call, and the reason says so. */
    if (out.verdict == OPS_REFUSED && out.status == TFR_ENOMEM) {
        out.verdict = OPS_DECLINED;
        out.good = true;
    }
    if (!out.good) {
        fail_call(t, call, &out);
        return false;
    }
    if (out.verdict == OPS_DECLINED) {
        t->v->n_refused++;
        certify_keep_refusal(t->subject, out.text, t->refusal, sizeof t->refusal);
    }
    return true;
}

/* ---- all calls ------------------------------------------------------------------------------- */

static bool check_description(tally *t, const ops_case *description)
{
    const uint64_t n_searched = t->way == CERTIFY_EMPTY ? N_SEARCHED : N_SEEDS;
    uint32_t n = 0;
    bool goes_on = true;
    for (uint64_t seed = 1; seed <= n_searched && n < N_SEEDS && goes_on; seed++) {
        ops_call call;
        ops_make(description, seed, -1, NULL, &call);
        if (fits(t->way, &call)) {
            n++;
            goes_on = check_call(t, &call);
        }
        ops_call_finish(&call);
    }
    return goes_on;
}

static void sum_up(const tally *t)
{
    certify_verdict *v = t->v;
    const uint32_t n_taken = v->n_calls - v->n_refused;
    if (v->result == CERTIFY_FAILED)
        return;
    if (n_taken && v->n_refused)
        certify_set(v, CERTIFY_PASSED, "%u of %u calls, the others are refused: %s",
                    (unsigned)n_taken, (unsigned)v->n_calls, t->refusal);
    else if (n_taken)
        certify_set(v, CERTIFY_PASSED, "%u call%s", (unsigned)n_taken, n_taken > 1 ? "s" : "");
    else if (t->has_calls)
        certify_set(v, CERTIFY_UNSUPPORTED, "%s", t->refusal);
    else if (t->way == CERTIFY_VALUES)
        certify_set(v, CERTIFY_UNSUPPORTED, "tfrun has no shared calls of the op");
}

static void watch_hostile(void *user, const char *name, uint64_t seed, const char *what)
{
    certify_tell_place(user, name, seed, what);
}

/* The first line of what was told of is the reason, behind the word FAILED; then comes the call. */
static void judge_hostile(certify_subject *s, const char *told, certify_verdict *v)
{
    const ops_run *run = &s->run;
    const char *reason = told + strcspn(told, " ");
    size_t n = strcspn(reason, "\n");
    v->n_calls = (uint32_t)(run->n_passed + run->n_failed);
    if (!run->n_failed) {
        certify_set(v, CERTIFY_PASSED, "%u calls", (unsigned)v->n_calls);
        return;
    }
    certify_set(v, CERTIFY_FAILED, "%s%llu of %u calls:%.*s",
                certify_is_broken(s) ? "broken promise: " : "", (unsigned long long)run->n_failed,
                (unsigned)v->n_calls, (int)n, reason);
    snprintf(v->call, sizeof v->call, "%s", reason[n] ? reason + n + 1 : "");
}

/* Calls that are wrong in one place, and made up ones: each ends in a status or a result. */
static void check_hostile(certify_subject *s, const tfr_op_desc *op, certify_verdict *v)
{
    ops_run *run = &s->run;
    const ops_case *description;
    char *told = NULL;
    size_t n = 0;
    run->out = open_memstream(&told, &n);
    if (!run->out) {
        certify_set(v, CERTIFY_FAILED, "no memory for the report");
        return;
    }
    run->n_passed = run->n_failed = 0;
    run->watch = watch_hostile;
    run->watch_user = (void *)(uintptr_t)s->options;
    ops_limit_memory();
    for (uint32_t cursor = 0; (description = ops_next_case(&cursor)) != NULL;)
        if (certify_is_case_of(description, op))
            ops_hostile_description(run, description);
    ops_hostile_op(run, op);
    ops_unlimit_memory();
    run->watch = NULL;
    fclose(run->out);
    run->out = NULL;
    judge_hostile(s, told ? told : "", v);
    free(told);
}

void certify_check_op(certify_subject *subject, const tfr_op_desc *op, certify_way way,
                      certify_verdict *v)
{
    tally t = {.subject = subject, .way = way, .v = v};
    const ops_case *description;
    bool goes_on = true;
    if (way == CERTIFY_HOSTILE) {
        check_hostile(subject, op, v);
        return;
    }
    for (uint32_t cursor = 0; goes_on && (description = ops_next_case(&cursor)) != NULL;)
        if (certify_is_case_of(description, op))
            goes_on = check_description(&t, description);
    sum_up(&t);
}
