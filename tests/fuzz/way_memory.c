/* SPDX-License-Identifier: Apache-2.0 */
/*
 * way_memory.c: a model is read, planned and run with everything switched on. Any status with a
 * sentence is right; a defect that the library admits, silence, and what the sanitizers, the timer
 * and the limit of memory say are wrong. The mutants' way is the same with models that are seldom
 * valid, in a build without sanitizers, which is quicker and knows how much memory there is.
 */
#include <string.h>

#include "way.h"

enum { READ, PLANNED, RAN, BOUND };

static bool right(fuzz_context *context, tfr_status status, const tfr_err *err)
{
    if (!status)
        return true;
    if (status == TFR_EINTERNAL)
        return fuzz_fail(context, "internal error", "%s: %s", context->report->stage, err->text);
    if (!err->text[0])
        return fuzz_fail(context, "status without a sentence", "%s: %s", context->report->stage,
                         tfr_status_name(status));
    return true;
}

/* The same once more with fixed memory, if the graph can be bound. */
static bool check_binding(fuzz_context *context, const fuzz_case *c, tfr_session *session,
                          tfr_tensor *const *outputs)
{
    tfr_tensor *bound[64] = {NULL};
    tfr_binding *binding = NULL;
    tfr_err err = TFR_ERR_INIT;
    tfr_status status = TFR_OK;
    char why[512];
    bool good = true;
    if (c->n_outputs > 64)
        return true;
    fuzz_stage(context, "bind");
    for (uint32_t i = 0; i < c->n_outputs && !status; i++)
        status = tfr_tensor_kind(outputs[i]) == TFR_KIND_TENSOR
                     ? tfr_tensor_create(tfr_tensor_dtype(outputs[i]), tfr_tensor_shape(outputs[i]),
                                         &bound[i], &err)
                     : TFR_EUNSUPPORTED;
    if (!status) {
        status = tfr_binding_create(session, c->inputs, c->n_inputs, bound, c->n_outputs, &binding,
                                    &err);
        good = right(context, status, &err);
    }
    if (!status) {
        fuzz_stage(context, "run a binding");
        status = tfr_binding_run(binding, &err);
        good = right(context, status, &err);
        context->report->counts[BOUND]++;
    }
    for (uint32_t i = 0; i < c->n_outputs && !status && good; i++)
        if (context->sure && !fuzz_same_bits(outputs[i], bound[i], why, sizeof why))
            good = fuzz_fail(context, "a binding differs", "output %u: %s", (unsigned)i, why);
    tfr_binding_destroy(binding);
    fuzz_release(bound, c->n_outputs);
    return good;
}

static bool check_session(fuzz_context *context, const fuzz_case *c)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_tensor *outputs[256] = {NULL};
    tfr_session *session = NULL;
    tfr_err err = TFR_ERR_INIT;
    if (c->n_outputs > 256)
        return true;
    fuzz_stage(context, "make a session");
    options.fallback = TFR_FALLBACK_ALLOW;
    tfr_status status = tfr_session_create(context->runtime, c->graph, &options, &session, &err);
    if (!status) {
        context->report->counts[PLANNED]++;
        fuzz_stage(context, "run");
        status = tfr_session_run(session, c->inputs, c->n_inputs, outputs, c->n_outputs, &err);
    }
    bool good = right(context, status, &err);
    if (!status && good) {
        context->report->counts[RAN]++;
        good = check_binding(context, c, session, outputs);
    }
    fuzz_release(outputs, c->n_outputs);
    if (!status && good) {
        fuzz_stage(context, "run again");
        status = tfr_session_run(session, c->inputs, c->n_inputs, outputs, c->n_outputs, &err);
        good = right(context, status, &err);
        fuzz_release(outputs, c->n_outputs);
    }
    fuzz_stage(context, "end a session");
    tfr_session_destroy(session);
    return good;
}

static bool check(fuzz_context *context, const unsigned char *bytes, size_t n)
{
    fuzz_case c;
    tfr_err err = TFR_ERR_INIT;
    fuzz_stage(context, "read");
    tfr_status status = fuzz_case_init(&c, bytes, n, &err);
    bool good = right(context, status, &err);
    if (!status && good) {
        context->report->counts[READ]++;
        good = check_session(context, &c);
    }
    fuzz_stage(context, "end a graph");
    fuzz_case_finish(&c);
    return good;
}

const fuzz_way fuzz_way_memory = {.name = "memory",
                                  .counts = {"read", "planned", "ran", "bound"},
                                  .n_mutations = 3,
                                  .check = check};
const fuzz_way fuzz_way_mutant = {.name = "mutant",
                                  .counts = {"read", "planned", "ran", "bound"},
                                  .n_mutations = 4,
                                  .always_mutate = true,
                                  .check = check};
