/* SPDX-License-Identifier: Apache-2.0 */
/* session.c: the public face of runs: checks what comes in, keeps variables, and reports on the
 * last run. */
#include <stdio.h>
#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "optimize/passes.h"
#include "base/port/clock.h"
#include "run/session.h"
#include "run/trace.h"

/* ---- life ------------------------------------------------------------------------------------ */

static tfr_status parse_math_mode(const char *name, int32_t *mode, tfr_err *err)
{
#define MODE_ROW(id, number, text, bits, sentence)  {number, text},
#define MODE_NAME(id, number, text, bits, sentence) " " text
    static const struct {
        int32_t mode;
        const char *name;
    } modes[] = {TFR_MATH_MODE_LIST(MODE_ROW)};
    *mode = TFR_MATH_STRICT;
    for (size_t i = 0; name && i < sizeof modes / sizeof *modes; i++)
        if (strcmp(name, modes[i].name) == 0) {
            *mode = modes[i].mode;
            return TFR_OK;
        }
    return !name ? TFR_OK
                 : tfr_fail(err, TFR_EINVAL,
                            "there is no math mode \"%s\"; there is:" TFR_MATH_MODE_LIST(MODE_NAME),
                            name);
#undef MODE_ROW
#undef MODE_NAME
}

static tfr_status run_passes(tfr_session *session, uint32_t mask, tfr_err *err)
{
    if (!session->graph->n_nodes)
        return TFR_OK;
    session->passes = tfr__calloc(TFR__N_PASSES, sizeof *session->passes);
    if (!session->passes)
        return tfr__no_memory(err);
    return tfr__passes_run(&session->plans.kernel, session->loose_shapes, mask, &session->graph,
                           session->passes, err);
}

tfr_status tfr__session_create(tfr_runtime *runtime, tfr_graph *graph,
                               const tfr_session_options *given, tfr_session **out, tfr_err *err)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session;
    tfr_status status = TFR_OK;
    uint32_t device, passes;
    int32_t math_mode = 0;
    if (!runtime || !graph)
        return tfr_fail(err, TFR_EINVAL, "a session needs a runtime and a graph");
    if (graph->parent)
        return tfr_fail(err, TFR_EINVAL, "graph \"%s\" is a subgraph; a session runs a whole one",
                        graph->name);
    if (given)
        memcpy(&options, given, given->size < sizeof options ? given->size : sizeof options);
    if (options.fallback < TFR_FALLBACK_DEFAULT || options.fallback > TFR_FALLBACK_ERROR)
        return tfr_fail(err, TFR_EINVAL, "fallback %d is no policy; they are %d to %d",
                        (int)options.fallback, TFR_FALLBACK_DEFAULT, TFR_FALLBACK_ERROR);
    status = tfr__passes_parse(options.passes, &passes, err);
    if (!status)
        status = parse_math_mode(options.math_mode, &math_mode, err);
    if (status)
        return status;
    session = tfr__calloc(1, sizeof *session);
    if (!session)
        return tfr__no_memory(err);
    pthread_mutex_init(&session->lock, NULL);
    session->runtime = runtime;
    session->graph = tfr_graph_retain(graph);
    tfr__streams_init(&session->streams, runtime);
    session->streams.make_room = tfr__session_make_room;
    session->streams.user = session;
    session->timeout_ns = options.timeout_ns;
    session->max_plans = options.max_plans ? options.max_plans : 16;
    session->log_placement = options.log_placement != 0;
    session->plans.kernel.streams = &session->streams;
    session->plans.no_programs = options.no_programs != 0;
    session->plans.no_capture = options.no_capture != 0;
    session->plans.kernel.random.seed = options.seed;
    session->plans.math_mode = math_mode;
    session->plans.call_flags = options.deterministic ? TFR_CALL_DETERMINISTIC : 0;
    session->plans.shards = options.shards;
    session->loose_shapes = options.loose_shapes != 0;
    session->plans.kernel.preferred = (tfr__pin){-1, -1};
    session->fallback = options.fallback;
    if (session->fallback == TFR_FALLBACK_DEFAULT)
        session->fallback = options.device ? TFR_FALLBACK_WARN : TFR_FALLBACK_ALLOW;
    session->plans.no_fallback = session->fallback == TFR_FALLBACK_ERROR;
    session->plans.kernel.strict = session->plans.no_fallback;
    if (options.device) {
        status = tfr_runtime_find(runtime, options.device, &device,
                                  &session->plans.kernel.preferred.backend, err);
        session->plans.kernel.preferred.device = (int32_t)device;
    }
    if (!status)
        status = run_passes(session, passes, err);
    session->source = tfr__graph_source(session->graph);
    if (!status)
        status = tfr__variables_init(&session->variables, &session->streams, session->graph, err);
    if (!status)
        status = tfr__subgraph_create(session, session->graph, &session->main, err);
    if (!status)
        status = tfr__frame_init(session->main, &session->frame, err);
    if (status) {
        tfr__session_destroy(session);
        return status;
    }
    tfr__graph_freeze(graph);
    *out = session;
    return TFR_OK;
}

tfr_status tfr_session_create(tfr_runtime *runtime, tfr_graph *graph,
                              const tfr_session_options *options, tfr_session **out, tfr_err *err)
{
    tfr_status status = tfr__session_create(runtime, graph, options, out, err);
    if (!status)
        tfr__runtime_retain(runtime);
    return status;
}

void tfr__session_destroy(tfr_session *session)
{
    const bool stuck = tfr__streams_recover(&session->streams, NULL) != TFR_OK;
    tfr__frame_finish(&session->frame);
    tfr__subgraph_destroy(session, session->main);
    tfr__trace_free(session);
    tfr__variables_finish(&session->variables);
    tfr__streams_finish(&session->streams);
    tfr__tuning_save(&session->runtime->tuning);
    tfr__free(session->used);
    tfr__free(session->fetch_room);
    tfr__free(session->fetch_places);
    tfr__free(session->passes);
    tfr__free(session->appends);
    if (!stuck) /* else its constants may be read */
        tfr_graph_release(session->graph);
    pthread_mutex_destroy(&session->lock);
    tfr__free(session);
}

void tfr_session_destroy(tfr_session *session)
{
    tfr_runtime *runtime;
    if (!session)
        return;
    runtime = session->runtime;
    tfr__session_destroy(session);
    tfr_runtime_release(runtime);
}

/* ---- checking inputs ------------------------------------------------------------------------- */

static const char *kind_name(int32_t kind)
{
    return kind == TFR_KIND_SEQUENCE   ? "sequence"
           : kind == TFR_KIND_OPTIONAL ? "optional"
                                       : "tensor";
}

static void format_type(const tfr_value_type *type, char *text, size_t n)
{
    size_t used = (size_t)snprintf(text, n, "%s", tfr_dtype_name((tfr_dtype)type->dtype));
    if (!type->rank_known)
        return;
    for (int32_t i = 0; i < type->rank && used + 24 < n; i++) {
        used += (size_t)snprintf(text + used, n - used, i ? "," : "[");
        if (type->dims[i] < 0)
            used += (size_t)snprintf(text + used, n - used, "?");
        else
            used += (size_t)snprintf(text + used, n - used, "%lld", (long long)type->dims[i]);
    }
    snprintf(text + used, n - used, type->rank ? "]" : "[]");
}

/* any_shape: the declared one is no promise. */
static tfr_status check_input(const tfr__value *value, const tfr_tensor *t, bool any_shape,
                              tfr_err *err)
{
    const tfr_value_type *want = &value->type;
    char wanted[160], given[160];
    bool fits = true;
    if (!t)
        return tfr_fail(err, TFR_EINVAL, "input \"%s\" is missing", value->name);
    if ((int32_t)tfr_tensor_kind(t) != want->kind)
        return tfr_fail(err, TFR_EDTYPE, "input \"%s\" is a %s, the graph wants a %s", value->name,
                        kind_name((int32_t)tfr_tensor_kind(t)), kind_name(want->kind));
    if (want->dtype && want->dtype != (int32_t)tfr_tensor_dtype(t) &&
        (want->kind == TFR_KIND_TENSOR || tfr_tensor_dtype(t) != TFR_DTYPE_NONE))
        return tfr_fail(err, TFR_EDTYPE, "input \"%s\" has type %s, the graph wants %s",
                        value->name, tfr_dtype_name(tfr_tensor_dtype(t)),
                        tfr_dtype_name((tfr_dtype)want->dtype));
    if (any_shape || !want->rank_known || want->kind != TFR_KIND_TENSOR)
        return TFR_OK;
    fits = want->rank == t->shape.rank;
    for (int32_t i = 0; fits && i < want->rank; i++)
        fits = want->dims[i] < 0 || want->dims[i] == t->shape.dims[i];
    if (fits)
        return TFR_OK;
    format_type(want, wanted, sizeof wanted);
    return tfr_fail(err, TFR_ESHAPE, "input \"%s\" has shape %s, the graph wants %s", value->name,
                    tfr_shape_format(&t->shape, given, sizeof given), wanted);
}

tfr_status tfr__session_bind_inputs(tfr_session *session, tfr__frame *frame,
                                    tfr_tensor *const *inputs, uint32_t n_inputs, bool tensors,
                                    tfr_err *err)
{
    const tfr_graph *g = session->graph;
    if (n_inputs != g->n_inputs)
        return tfr_fail(err, TFR_EINVAL, "the graph has %u inputs, %u were given", g->n_inputs,
                        n_inputs);
    for (uint32_t i = 0; i < n_inputs; i++) {
        tfr_status status =
            check_input(&g->values[g->inputs[i]], inputs[i], session->loose_shapes, err);
        if (status)
            return status;
        tfr__frame_put(frame, g->inputs[i], tfr_tensor_retain(inputs[i]));
    }
    for (uint32_t i = 0; i < session->variables.n; i++) {
        tfr_status status = TFR_OK;
        if (session->variables.items[i].host_only || tensors)
            status = tfr__variable_to_plain(&session->variables, i, err);
        if (status)
            return status;
        tfr__frame_put(frame, g->variables[i],
                       tfr_tensor_retain(session->variables.items[i].plain));
    }
    return TFR_OK;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* The new states that the plans have not written where the variables live. All, or none: they are
 * taken over only when all are there. */
static tfr_status update_variables(tfr_session *session, const tfr__frame *frame, tfr_err *err)
{
    const tfr_graph *g = session->graph;
    tfr__variables *vars = &session->variables;
    tfr_tensor **fresh = vars->fresh;
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; !status && i < vars->n; i++) {
        const tfr__value *variable = &g->values[g->variables[i]];
        const tfr_tensor *old = vars->items[i].plain;
        const tfr__value *update;
        tfr_tensor *t;
        if (variable->update == TFR_VALUE_NONE || vars->items[i].written)
            continue;
        update = &g->values[variable->update];
        t = update->role == TFR__ROLE_CONSTANT ? update->tensor : frame->values[variable->update];
        if (!t || t->kind != TFR_KIND_TENSOR || t->dtype != old->dtype ||
            !tfr_shape_equal(&t->shape, &old->shape))
            status = tfr_fail(err, TFR_ESHAPE,
                              "variable \"%s\": its update \"%s\" has another type or shape",
                              variable->name, update->name);
        else
            status = tfr_tensor_copy(t, &fresh[i], err);
    }
    for (uint32_t i = 0; i < vars->n; i++) {
        if (!status && fresh[i])
            tfr__variable_set(vars, i, fresh[i]);
        else
            tfr_tensor_release(fresh[i]);
        fresh[i] = NULL;
    }
    return status;
}

/*
 * Does anybody hold this value, or the memory that it looks into, besides the run's frame and
 * its outputs? Control flow passes on what it is given, be it an input, a constant or a variable.
 */
static bool is_shared(const tfr_tensor *t)
{
    return atomic_load(&t->refs) > 2 || (t->base && atomic_load(&t->base->refs) > 1);
}

/* Is it the input that it may be appended to, with more behind it? That is the caller's own. */
static bool is_appended(const tfr_session *session, tfr_value v, const tfr_tensor *t)
{
    const tfr_value old = session->appends ? session->appends[v] : TFR_VALUE_NONE;
    return old != TFR_VALUE_NONE && t->kind == TFR_KIND_TENSOR && t->base &&
           t->data == session->frame.values[old]->data;
}

/* What the caller gets is its own: never an input, a constant or a variable, and nothing twice. */
static tfr_status own_outputs(const tfr_session *session, tfr_tensor **outputs, tfr_err *err)
{
    const tfr_graph *g = session->graph;
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        tfr_tensor *copy;
        tfr_status status;
        if (!outputs[i] || is_appended(session, g->outputs[i], outputs[i]) ||
            (g->values[g->outputs[i]].role == TFR__ROLE_NODE && !is_shared(outputs[i])))
            continue;
        status = tfr_tensor_copy(outputs[i], &copy, err);
        if (status)
            return status;
        tfr_tensor_release(outputs[i]);
        outputs[i] = copy;
    }
    return TFR_OK;
}

/* A mode that nobody has is not left out in silence. */
static void report_math_mode(tfr_session *session)
{
    const tfr__placed *note = NULL;
    if (!session->plans.math_mode || session->mode_warned)
        return;
    for (uint32_t i = 0; i < session->n_used; i++)
        for (uint32_t k = 0; k < session->used[i]->n_placed; k++) {
            const tfr__placed *row = &session->used[i]->placed[k];
            if (row->math_mode)
                return;
            if (row->note && !note)
                note = row;
        }
    session->mode_warned = true;
    tfr__log(session->runtime, TFR_LOG_WARNING, "math-mode",
             "no node is computed in the math mode that was asked for, all are strict%s%s%s%s",
             note ? "; " : "", note ? note->backend : "", note ? ": " : "", note ? note->note : "");
}

static void report_placement(tfr_session *session)
{
    uint32_t n = 0, n_copies = 0;
    uint64_t bytes = 0;
    const tfr__placed *example = NULL;
    for (uint32_t i = 0; i < session->n_used; i++) {
        const tfr__plan *p = session->used[i];
        n_copies += p->n_copies;
        bytes += p->copy_bytes;
        for (uint32_t k = 0; k < p->n_placed; k++) {
            const tfr__placed *row = &p->placed[k];
            const tfr__node *node = &p->graph->nodes[row->node];
            if (session->log_placement)
                tfr__log(session->runtime, TFR_LOG_INFO, "placement", "%s (%s): %s%s%s%s%s",
                         node->name, node->op->name, row->device, row->device[0] ? " " : "",
                         row->backend, row->text ? ", because " : "", row->text ? row->text : "");
            n += row->fallback;
            if (row->fallback && !example)
                example = row;
        }
    }
    if (n && session->fallback == TFR_FALLBACK_WARN && !session->warned) {
        session->warned = true;
        tfr__log(session->runtime, TFR_LOG_WARNING, "placement",
                 "%u nodes run elsewhere than on %s (%u copies, %llu bytes a run), for example: %s",
                 n, example->wanted, n_copies, (unsigned long long)bytes,
                 example->text ? example->text : "");
    }
}

/* For who asks for the rows one by one. */
static void number_rows(tfr_session *session)
{
    session->n_rows = session->n_program_rows = 0;
    for (uint32_t i = 0; i < session->n_used; i++) {
        session->used[i]->first_row = session->n_rows;
        session->used[i]->first_program = session->n_program_rows;
        session->n_rows += session->used[i]->n_placed;
        session->n_program_rows += session->used[i]->n_programs;
    }
}

tfr_status tfr__session_begin(tfr_session *session, tfr_err *err)
{
    session->streams.deadline = session->timeout_ns ? tfr__session_deadline(session) : 0;
    tfr_status status = tfr__streams_recover(&session->streams, err);
    return status ? status : tfr__streams_wake(&session->streams, err);
}

tfr_status tfr__session_run(tfr_session *session, tfr_tensor *const *inputs, uint32_t n_inputs,
                            tfr_tensor **outputs, bool run, tfr_err *err)
{
    uint64_t n_plans = session->n_plans;
    uint64_t traced = run ? tfr__trace_begin(session) : 0;
    tfr__frame *frame = &session->frame;
    tfr_status status;
    tfr__subgraph_forget_used(session);
    session->plan_ns = 0;
    session->n_passes_run = session->plans.kernel.random.pass = 0;
    session->repeats = 1;
    status = session->timeout_ns | session->streams.n_stuck | session->streams.rest
                 ? tfr__session_begin(session, err)
                 : TFR_OK;
    if (!status)
        status = tfr__graph_check(session->source, err);
    if (!status)
        status = tfr__session_bind_inputs(session, frame, inputs, n_inputs, false, err);
    if (!status)
        status = tfr__subgraph_run(session, frame, outputs, run, err);
    if (!status)
        status = tfr__graph_check(session->source, err);
    if (!status && run) {
        status = own_outputs(session, outputs, err);
        if (!status && session->variables.n)
            status = update_variables(session, frame, err);
        for (uint32_t i = 0; status && i < session->graph->n_outputs; i++) {
            tfr_tensor_release(outputs[i]);
            outputs[i] = NULL;
        }
    }
    if (status)
        tfr__variables_abort(&session->variables);
    else if (session->variables.n)
        tfr__variables_commit(&session->variables);
    session->streams.deadline = 0;
    tfr__frame_clear(frame);
    number_rows(session);
    if (traced) {
        tfr__trace_add(session, TFR_TRACE_RUN, traced, session->plans.kernel.run, session->graph,
                       -1);
        tfr__trace_drain(session);
    }
    if (run && !status) {
        session->plans.kernel.run += session->repeats;
        session->plans.kernel.random.step += session->repeats;
    }
    if (!status && session->n_plans != n_plans) {
        report_placement(session);
        report_math_mode(session);
    }
    return status;
}

tfr_status tfr_session_prepare(tfr_session *session, tfr_tensor *const *inputs, uint32_t n_inputs,
                               tfr_err *err)
{
    tfr_status status;
    pthread_mutex_lock(&session->lock);
    status = tfr__session_run(session, inputs, n_inputs, NULL, false, err);
    pthread_mutex_unlock(&session->lock);
    return status;
}

/* Each input has one output at most, and each output one input. */
static tfr_status append(tfr_session *session, tfr_value output, tfr_value input, tfr_err *err)
{
    const uint32_t n = session->graph->n_values;
    if (!session->appends) {
        session->appends = tfr__alloc(n * sizeof *session->appends);
        if (!session->appends)
            return tfr__no_memory(err);
        for (uint32_t v = 0; v < n; v++)
            session->appends[v] = TFR_VALUE_NONE;
    }
    for (uint32_t v = 0; v < n; v++)
        if (((tfr_value)v == output) != (session->appends[v] == input) &&
            session->appends[v] != TFR_VALUE_NONE)
            return tfr_fail(err, TFR_EINVAL, "\"%s\" or \"%s\" is appended already",
                            session->graph->values[output].name,
                            session->graph->values[input].name);
    session->appends[output] = input;
    return TFR_OK;
}

tfr_status tfr_session_append(tfr_session *session, uint32_t output, uint32_t input, tfr_err *err)
{
    const tfr_graph *g = session->graph;
    tfr_status status;
    if (output >= g->n_outputs || input >= g->n_inputs)
        return tfr_fail(err, TFR_EINVAL, "there is no output %u, or no input %u", output, input);
    pthread_mutex_lock(&session->lock);
    status = append(session, g->outputs[output], g->inputs[input], err);
    pthread_mutex_unlock(&session->lock);
    return status;
}

/* ---- random numbers -------------------------------------------------------------------------- */

void tfr_session_get_random(tfr_session *session, uint64_t *seed, uint64_t *step)
{
    pthread_mutex_lock(&session->lock);
    *seed = session->plans.kernel.random.seed;
    *step = session->plans.kernel.random.step;
    pthread_mutex_unlock(&session->lock);
}

void tfr_session_set_random(tfr_session *session, uint64_t seed, uint64_t step)
{
    pthread_mutex_lock(&session->lock);
    session->plans.kernel.random.seed = seed;
    session->plans.kernel.random.step = step;
    pthread_mutex_unlock(&session->lock);
}

/* ---- variables ------------------------------------------------------------------------------- */

static tfr_status find_variable(const tfr_session *session, const char *name, uint32_t *out,
                                tfr_err *err)
{
    const tfr_graph *g = session->graph;
    for (*out = 0; *out < g->n_variables; ++*out)
        if (strcmp(g->values[g->variables[*out]].name, name) == 0)
            return TFR_OK;
    return tfr_fail(err, TFR_ENOTFOUND, "graph \"%s\" has no variable \"%s\"", g->name, name);
}

tfr_status tfr_session_get_variable(tfr_session *session, const char *name, tfr_tensor **out,
                                    tfr_err *err)
{
    uint32_t i;
    tfr_status status = find_variable(session, name, &i, err);
    if (status)
        return status;
    pthread_mutex_lock(&session->lock);
    status = tfr__variable_get(&session->variables, i, out, err);
    pthread_mutex_unlock(&session->lock);
    return status;
}

tfr_status tfr_session_set_variable(tfr_session *session, const char *name, const tfr_tensor *value,
                                    tfr_err *err)
{
    tfr_tensor *copy;
    uint32_t i;
    tfr_status status = find_variable(session, name, &i, err);
    if (!status)
        status =
            check_input(&session->graph->values[session->graph->variables[i]], value, false, err);
    if (!status)
        status = tfr_tensor_copy(value, &copy, err);
    if (status)
        return status;
    pthread_mutex_lock(&session->lock);
    tfr__variable_set(&session->variables, i, copy);
    pthread_mutex_unlock(&session->lock);
    return TFR_OK;
}
