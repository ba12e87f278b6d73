/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.c: runs one call as a graph of one node, on one backend and nowhere else: the session may
 * not fall back, and its plan is asked where the node ran. A result is compared with what the
 * reference gave, and one of the reference itself bit by bit.
 */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

const char *const ops_how_names[] = {"plain inputs", "views", "constants", "a second run",
                                     "unaligned inputs"};

bool ops_has_constants(const ops_call *call)
{
    for (uint32_t i = 1; i < call->n_inputs; i++)
        if (call->plain[i])
            return true;
    return false;
}

const char *ops_call_name(const ops_call *call)
{
    return call->description ? call->description->name : call->op;
}

/* ---- the descriptions ------------------------------------------------------------------------ */

static const ops_case *const families[] = {
#define X(stem) ops_##stem##_cases,
#include "cases/families.def"
#undef X
};

const ops_case *ops_next_case(uint32_t *cursor)
{
    uint32_t n = 0;
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++)
        for (const ops_case *c = families[f]; c->name; c++)
            if (n++ == *cursor) {
                (*cursor)++;
                return c;
            }
    return NULL;
}

bool ops_wanted(const ops_run *run, const ops_case *description)
{
    if (!run->only || strcmp(run->only, description->name) == 0)
        return true;
    size_t op = strcspn(description->name, "/");
    return strlen(run->only) == op && strncmp(run->only, description->name, op) == 0;
}

bool ops_claimed(const ops_run *run, const ops_case *description)
{
    char op[40];
    snprintf(op, sizeof op, "%.*s", (int)strcspn(description->name, "/"), description->name);
    int32_t number = tfr_op_find(description->domain, op);
    if (number < 0) {
        fprintf(stderr, "%s: there is no such op in the op table\n", description->name);
        exit(99);
    }
    return tfr_runtime_claims(run->runtime, run->device, (uint32_t)run->backend_index,
                              (uint32_t)number);
}

/* ---- one call -------------------------------------------------------------------------------- */

/* A session over the call's node, and what goes into it. */
typedef struct trial {
    tfr_graph *graph;
    tfr_session *session;
    tfr_tensor *inputs[OPS_MAX_OPERANDS];
    tfr_tensor *unaligned[OPS_MAX_OPERANDS];
    uint32_t n_inputs;
} trial;

static void trial_finish(trial *t)
{
    tfr_session_destroy(t->session);
    tfr_graph_release(t->graph);
    for (uint32_t i = 0; i < OPS_MAX_OPERANDS; i++)
        tfr_tensor_release(t->unaligned[i]);
}

static tfr_status add_operands(const ops_call *call, ops_how how, trial *t, tfr_value *values,
                               tfr_err *err)
{
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; i < call->n_inputs && !status; i++) {
        tfr_tensor *tensor = how == OPS_VIEWS ? call->views[i] : call->plain[i];
        char name[24];
        values[i] = TFR_VALUE_NONE;
        snprintf(name, sizeof name, "input %u", (unsigned)i);
        if (!tensor)
            continue;
        if (how == OPS_UNALIGNED && tfr_tensor_kind(tensor) == TFR_KIND_TENSOR)
            tensor = t->unaligned[i] = ops_unaligned_of(tensor);
        if (how == OPS_CONSTANTS && i > 0) {
            status = tfr_graph_add_constant(t->graph, name, tensor, &values[i], err);
            continue;
        }
        status = tfr_graph_add_input(t->graph, name, NULL, &values[i], err);
        t->inputs[t->n_inputs++] = tensor;
    }
    return status;
}

/* Puts the ops of the run's chain behind *value. */
static tfr_status add_chain(const ops_run *run, trial *t, tfr_value *value, tfr_err *err)
{
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; i < run->n_chain && !status; i++) {
        const tfr_value inputs[2] = {*value, *value};
        const tfr_node_desc node = {.size = sizeof node,
                                    .op = run->chain[i],
                                    .inputs = inputs,
                                    .n_inputs = strcmp(run->chain[i], "Add") == 0 ? 2 : 1,
                                    .n_outputs = 1};
        status = tfr_graph_add_node(t->graph, &node, value, err);
    }
    return status;
}

static tfr_status trial_init(ops_run *run, const char *backend, const ops_call *call, ops_how how,
                             trial *t, tfr_err *err)
{
    tfr_value values[OPS_MAX_OPERANDS], outputs[OPS_MAX_OUTPUTS];
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_node_desc node = {.size = sizeof node,
                          .domain = call->domain,
                          .op = call->op,
                          .inputs = values,
                          .n_inputs = call->n_inputs,
                          .n_outputs = call->n_outputs,
                          .attrs = call->attrs,
                          .n_attrs = call->n_attrs};
    memset(t, 0, sizeof *t);
    tfr_status status = tfr_graph_create("op", &t->graph, err);
    if (!status)
        status = add_operands(call, how, t, values, err);
    if (!status)
        status = tfr_graph_add_node(t->graph, &node, outputs, err);
    for (uint32_t i = 0; i < call->n_outputs && !status; i++) {
        status = add_chain(run, t, &outputs[i], err);
        if (!status)
            status = tfr_graph_add_output(t->graph, outputs[i], NULL, err);
    }
    options.device = backend;
    options.passes = "none"; /* the op itself is tried */
    options.fallback = TFR_FALLBACK_ERROR;
    options.no_programs = run->no_programs;
    if (!status)
        status = tfr_session_create(run->runtime, t->graph, &options, &t->session, err);
    return status;
}

/* Did all nodes of the plan run on this backend, or need none? */
static bool placed_on(ops_run *run, tfr_session *session, const char *backend, const ops_call *call,
                      tfr_err *err)
{
    run->is_nondeterministic = false;
    for (uint32_t i = 0; i < tfr_session_n_placements(session); i++) {
        tfr_placement p = {.size = sizeof p};
        if (tfr_session_placement(session, i, &p, err))
            return false;
        run->is_nondeterministic = run->is_nondeterministic || p.nondeterministic;
        if (strcmp(p.backend, backend) != 0 && strcmp(p.backend, "core") != 0) {
            snprintf(err->text, sizeof err->text, "%s ran on %s, not on %s", p.op, p.backend,
                     backend);
            return false;
        }
    }
    /* What the core does by itself has none; no description is of such an op. Nor has a node that
     * nobody reads, as one without outputs. */
    return tfr_session_n_placements(session) > 0 || !call->description || !call->n_outputs;
}

static ops_verdict judge(tfr_status status)
{
    if (!status)
        return OPS_RAN;
    return status == TFR_EFALLBACK || status == TFR_EUNSUPPORTED ? OPS_DECLINED : OPS_REFUSED;
}

ops_verdict ops_run_call(ops_run *run, const char *backend, const ops_call *call, ops_how how,
                         tfr_tensor **outputs, tfr_status *status, tfr_err *err)
{
    trial t;
    ops_verdict verdict;
    err->text[0] = 0;
    run->talk[0] = 0;
    *status = trial_init(run, backend, call, how, &t, err);
    if (!*status)
        *status = tfr_session_run(t.session, t.inputs, t.n_inputs, outputs, call->n_outputs, err);
    if (!*status && how == OPS_AGAIN) {
        ops_release_outputs(outputs, call->n_outputs);
        *status = tfr_session_run(t.session, t.inputs, t.n_inputs, outputs, call->n_outputs, err);
    }
    verdict = judge(*status);
    if (verdict == OPS_RAN && !placed_on(run, t.session, backend, call, err)) {
        ops_release_outputs(outputs, call->n_outputs);
        verdict = OPS_ELSEWHERE;
    }
    trial_finish(&t);
    if (run->talk[0]) {
        if (verdict == OPS_RAN)
            ops_release_outputs(outputs, call->n_outputs);
        snprintf(err->text, sizeof err->text, "%s", run->talk);
        return OPS_BROKEN;
    }
    return verdict;
}

ops_verdict ops_prepare_call(ops_run *run, const char *backend, const ops_call *call, ops_how how,
                             tfr_status *status, tfr_err *err)
{
    trial t;
    err->text[0] = 0;
    *status = trial_init(run, backend, call, how, &t, err);
    if (!*status)
        *status = tfr_session_prepare(t.session, t.inputs, t.n_inputs, err);
    ops_verdict verdict = judge(*status);
    trial_finish(&t);
    return verdict;
}

bool ops_time_call(ops_run *run, const ops_call *call, int n_warm, int n_timed, ops_timing *timing,
                   tfr_err *err)
{
    trial t;
    err->text[0] = 0;
    tfr_status status = trial_init(run, run->backend, call, OPS_CONSTANTS, &t, err);
    for (int i = -n_warm; i < n_timed && !status; i++) {
        ops_release_outputs(timing->outputs, call->n_outputs);
        double begin = timing->now();
        status =
            tfr_session_run(t.session, t.inputs, t.n_inputs, timing->outputs, call->n_outputs, err);
        if (i >= 0)
            timing->times[i] = timing->now() - begin;
    }
    bool good = !status && placed_on(run, t.session, run->backend, call, err);
    trial_finish(&t);
    return good;
}

void ops_release_outputs(tfr_tensor **outputs, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        tfr_tensor_release(outputs[i]);
        outputs[i] = NULL;
    }
}

void ops_try_call(ops_run *run, const ops_call *call, ops_how how, tfr_tensor **expected,
                  ops_outcome *out)
{
    tfr_tensor *obtained[OPS_MAX_OUTPUTS] = {NULL};
    tfr_err err = TFR_ERR_INIT;
    tfr_status status;
    char why[512];
    out->verdict = ops_run_call(run, run->backend, call, how, obtained, &status, &err);
    out->good = out->verdict == OPS_RAN || out->verdict == OPS_DECLINED;
    out->status = status;
    snprintf(out->text, sizeof out->text, "%s: %s", tfr_status_name(status), err.text);
    if (out->verdict != OPS_RAN)
        return;
    for (uint32_t i = 0; i < call->n_outputs && out->good; i++) {
        bool equal = run->is_reference ? ops_compare_bits(expected[i], obtained[i], why, sizeof why)
                                       : ops_compare(call->description->tolerance, expected[i],
                                                     obtained[i], why, sizeof why);
        if (!equal) {
            out->good = false;
            snprintf(out->text, sizeof out->text, "output %u: %s", (unsigned)i, why);
        }
    }
    ops_release_outputs(obtained, call->n_outputs);
}
