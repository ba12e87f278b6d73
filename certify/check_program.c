/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_program.c: calls with other ops behind them, which a plugin with tfr.program/1 compiles as
 * a whole, from blobs of its own and from damaged ones; and variables, whose state such a plugin
 * may keep in a layout of its own.
 */
#include <string.h>

#include "blobs.h"
#include "subject.h"

enum { N_CALLS = 32, N_BLOBS = 4, N_STEPS = 3, N_ELEMENTS = 37 };

static bool claims_name(const certify_subject *s, const char *op)
{
    const int32_t number = tfr_op_find("", op);
    return number >= 0 && certify_claims(s, (uint32_t)number);
}

bool certify_chain_begin(certify_subject *s)
{
    static const char *const exact[] = {"Relu", "Neg", "Abs", "Add"};
    static const char *chain[sizeof exact / sizeof *exact];
    uint32_t n = 0;
    for (size_t i = 0; i < sizeof exact / sizeof *exact && n < 2; i++)
        if (claims_name(s, exact[i]))
            chain[n++] = exact[i];
    s->run.chain = chain;
    s->run.n_chain = n;
    return n > 0 && blobs_are_there();
}

void certify_chain_end(certify_subject *s)
{
    s->run.n_chain = 0;
}

bool certify_may_chain(const ops_call *call, tfr_tensor *const *outputs)
{
    for (uint32_t i = 0; i < call->n_outputs; i++)
        if (tfr_tensor_kind(outputs[i]) != TFR_KIND_TENSOR ||
            tfr_tensor_dtype(outputs[i]) != TFR_DTYPE_F32)
            return false;
    return call->n_outputs > 0;
}

/* ---- programs -------------------------------------------------------------------------------- */

/* The call in one way of giving blobs. False with a verdict. */
static bool try_way(certify_subject *s, const certify_found *found, tfr_tensor **expected,
                    blobs_way way, certify_verdict *v)
{
    const ops_call *call = &found->call;
    ops_outcome outcome;
    certify_tell_place(s->options, ops_call_name(call), call->seed, blobs_way_names[way]);
    ops_try_call(&s->run, call, found->how, expected, &outcome);
    if (outcome.good && blobs_complaint()[0]) {
        outcome.good = false;
        snprintf(outcome.text, sizeof outcome.text, "%s", blobs_complaint());
    }
    if (!outcome.good) {
        certify_set(v, CERTIFY_FAILED, "%s:%llu and %s, compiled from %s: %s", ops_call_name(call),
                    (unsigned long long)call->seed, s->run.chain[0], blobs_way_names[way],
                    outcome.text);
        certify_set_call(v, call);
    }
    return outcome.good;
}

static bool try_ways(certify_subject *s, const certify_found *found, tfr_tensor **expected,
                     uint32_t *n_programs, uint32_t *n_given, certify_verdict *v)
{
    blobs_begin(BLOBS_KEEP, 1);
    bool good = try_way(s, found, expected, BLOBS_KEEP, v);
    *n_programs += blobs_n_programs();
    for (int way = BLOBS_GIVE; way < BLOBS_N_WAYS && good && blobs_has_kept(); way++)
        for (uint64_t seed = 1; seed <= N_BLOBS && good; seed++) {
            blobs_begin((blobs_way)way, seed);
            good = try_way(s, found, expected, (blobs_way)way, v);
            *n_given += blobs_n_given();
        }
    blobs_begin(BLOBS_PASS, 0);
    return good;
}

/* What the reference gives; false = the call is none for a chain. */
static bool find_expected(certify_subject *s, const ops_call *call, tfr_tensor **expected)
{
    const uint32_t n_chain = s->run.n_chain;
    tfr_err err = TFR_ERR_INIT;
    tfr_status status;
    bool good = true;
    for (int i = 0; i < 2 && good; i++) { /* alone, and with the chain */
        s->run.n_chain = i ? n_chain : 0;
        good = ops_run_call(&s->run, CERTIFY_REFERENCE, call, OPS_PLAIN, expected, &status, &err) ==
               OPS_RAN;
        if (good && !i) {
            good = certify_may_chain(call, expected);
            ops_release_outputs(expected, call->n_outputs);
        }
    }
    s->run.n_chain = n_chain;
    return good;
}

static void try_calls(certify_subject *s, certify_verdict *v)
{
    certify_found found[N_CALLS];
    uint32_t n_calls = 0, n_programs = 0, n_given = 0;
    s->run.n_chain = 0;
    const uint32_t n = certify_find_calls(s, found, N_CALLS);
    bool good = certify_chain_begin(s);
    for (uint32_t i = 0; i < n; i++) {
        tfr_tensor *expected[OPS_MAX_OUTPUTS] = {NULL};
        if (good && find_expected(s, &found[i].call, expected)) {
            good = try_ways(s, &found[i], expected, &n_programs, &n_given, v);
            ops_release_outputs(expected, found[i].call.n_outputs);
            n_calls++;
        }
        ops_call_finish(&found[i].call);
    }
    if (good && n_programs)
        certify_set(v, CERTIFY_PASSED, "%u calls, %u programs, %u more with a blob",
                    (unsigned)n_calls, (unsigned)n_programs, (unsigned)n_given);
    else if (good)
        certify_set(v, CERTIFY_UNSUPPORTED, "the plugin compiles no shared call with %s behind it",
                    s->run.chain[0]);
}

void certify_check_programs(certify_subject *s, certify_verdict *v)
{
    if (certify_chain_begin(s))
        try_calls(s, v);
    else
        certify_set(v, CERTIFY_UNSUPPORTED, "%s",
                    s->run.n_chain ? "the plugin has no programs"
                                   : "the plugin claims no Relu, Neg, Abs or Add");
    certify_chain_end(s);
}

/* ---- variables ------------------------------------------------------------------------------- */

/* w becomes Add(w, x); the output is Add(w, w). */
static tfr_graph *make_graph(tfr_tensor *start, tfr_err *err)
{
    tfr_value w, x, sum, twice;
    tfr_graph *graph = NULL;
    tfr_node_desc node = {.size = sizeof node, .op = "Add", .n_inputs = 2, .n_outputs = 1};
    tfr_status status = tfr_graph_create("state", &graph, err);
    if (!status)
        status = tfr_graph_add_variable(graph, "w", start, &w, err);
    if (!status)
        status = tfr_graph_add_input(graph, "x", NULL, &x, err);
    node.inputs = (const tfr_value[]){w, x};
    if (!status)
        status = tfr_graph_add_node(graph, &node, &sum, err);
    if (!status)
        status = tfr_graph_set_update(graph, w, sum, err);
    node.inputs = (const tfr_value[]){w, w};
    if (!status)
        status = tfr_graph_add_node(graph, &node, &twice, err);
    if (!status)
        status = tfr_graph_add_output(graph, twice, "twice", err);
    if (!status)
        return graph;
    tfr_graph_release(graph);
    return NULL;
}

static tfr_tensor *make_tensor(float first, float step, tfr_err *err)
{
    const tfr_shape shape = {.rank = 1, .dims = {N_ELEMENTS}};
    tfr_tensor *t = NULL;
    if (tfr_tensor_create(TFR_DTYPE_F32, &shape, &t, err))
        return NULL;
    for (int i = 0; i < N_ELEMENTS; i++)
        ((float *)tfr_tensor_data(t))[i] = first + step * (float)i;
    return t;
}

/* Are all elements of t what w and x make: scale * (w + n * x)? */
static bool is_state(tfr_tensor *t, float scale, const float *w, const float *x, int n, char *text,
                     size_t size)
{
    const float *from = tfr_tensor_data(t);
    for (int i = 0; i < N_ELEMENTS; i++) {
        const float wanted = scale * (w[i] + (float)n * x[i]); /* small integers: exact */
        if (from[i] != wanted) {
            snprintf(text, size, "element %d is %g, not %g", i, from[i], wanted);
            return false;
        }
    }
    return true;
}

/* Steps, and what the state is after them. False with a text. */
static bool take_steps(tfr_session *session, tfr_tensor *x, const float *w, int done,
                       tfr_status *status, char *text, size_t size, tfr_err *err)
{
    const float *dx = tfr_tensor_data(x);
    bool good = true;
    for (int n = 0; n < N_STEPS && good; n++) {
        tfr_tensor *out = NULL;
        *status = tfr_session_run(session, &x, 1, &out, 1, err);
        good = !*status && is_state(out, 2.0f, w, dx, done + n, text, size);
        tfr_tensor_release(out);
    }
    if (good) {
        tfr_tensor *state = NULL;
        *status = tfr_session_get_variable(session, "w", &state, err);
        good = !*status && is_state(state, 1.0f, w, dx, done + N_STEPS, text, size);
        tfr_tensor_release(state);
    }
    return good;
}

/* From its start on, on from what was read, and from a new state. */
static bool try_states(tfr_session *session, tfr_tensor *start, tfr_tensor *x, tfr_tensor *other,
                       tfr_status *status, char *text, size_t size, tfr_err *err)
{
    const float *w = tfr_tensor_data(start);
    if (!take_steps(session, x, w, 0, status, text, size, err) ||
        !take_steps(session, x, w, N_STEPS, status, text, size, err))
        return false;
    *status = tfr_session_set_variable(session, "w", other, err);
    return !*status && take_steps(session, x, tfr_tensor_data(other), 0, status, text, size, err);
}

void certify_check_variables(certify_subject *s, certify_verdict *v)
{
    tfr_err err = TFR_ERR_INIT;
    char text[600] = "";
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    if (!claims_name(s, "Add")) {
        certify_set(v, CERTIFY_UNSUPPORTED, "the plugin claims no Add");
        return;
    }
    tfr_tensor *start = make_tensor(1.0f, 2.0f, &err), *x = make_tensor(-3.0f, 1.0f, &err);
    tfr_tensor *other = make_tensor(50.0f, -1.0f, &err);
    tfr_graph *graph = start && x && other ? make_graph(start, &err) : NULL;
    options.device = s->name;
    options.fallback = TFR_FALLBACK_ERROR;
    certify_tell_place(s->options, "Add", 0, "a variable");
    s->run.talk[0] = 0;
    tfr_status status =
        graph ? tfr_session_create(s->run.runtime, graph, &options, &session, &err) : TFR_ENOMEM;
    if (!status && try_states(session, start, x, other, &status, text, sizeof text, &err))
        certify_set(v, s->run.talk[0] ? CERTIFY_FAILED : CERTIFY_PASSED, "%s",
                    s->run.talk[0] ? s->run.talk : "updated, read, and set anew");
    else if (status == TFR_EFALLBACK || status == TFR_EUNSUPPORTED)
        certify_set(v, CERTIFY_UNSUPPORTED, "%s", err.text);
    else
        certify_set(v, CERTIFY_FAILED, "a variable and Add: %s", *text ? text : err.text);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_tensor_release(start);
    tfr_tensor_release(x);
    tfr_tensor_release(other);
}
