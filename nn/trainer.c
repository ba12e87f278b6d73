/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trainer.c: see tfrun/train.h. Two sessions: one of the step, whose variables are the state, and
 * one of the evaluation, which gets the weights when they have changed since it had them last, so
 * once for each validation. To read those of the step instead, plans of two sessions would have to
 * agree on where a variable lives and in which layout (core/plan/variable.h).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>

#include "recompute.h"
#include "trainer.h"

enum { MOST_SHARDS = 1024 };

/* ---- making one ------------------------------------------------------------------------------ */

static tfr_status find_variables(tfr_trainer *t, tfr_err *err)
{
    const uint32_t n = tfr_graph_n_values(t->step_graph);
    tfr_status status = TFR_OK;
    t->variables = malloc(((size_t)n + 1) * sizeof *t->variables);
    if (!t->variables)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for the names of variables");
    for (uint32_t v = 0; !status && v < n; v++) {
        tfr_value_view view = {.size = sizeof view};
        status = tfr_graph_value(t->step_graph, (tfr_value)v, &view, err);
        if (!status && view.role == TFR_ROLE_VARIABLE)
            t->variables[t->n_variables++] = tfr_graph_value_name(t->step_graph, (tfr_value)v);
    }
    return status;
}

/* As given, or one for each thread. */
static tfr_status find_shards(tfr_runtime *runtime, uint32_t given, uint32_t *out, tfr_err *err)
{
    tfr_status status = TFR_OK;
    *out = given;
    if (given > MOST_SHARDS)
        return tfr_fail(err, TFR_EINVAL, "%u shards of a batch, want %d at most", (unsigned)given,
                        MOST_SHARDS);
    for (uint32_t d = 0; !status && !*out && d < tfr_runtime_n_devices(runtime); d++) {
        tfr_device_desc device = {.size = sizeof device};
        status = tfr_runtime_device(runtime, d, &device, err);
        *out = device.n_threads < MOST_SHARDS ? device.n_threads : MOST_SHARDS;
    }
    return status;
}

static tfr_graph *graph_of(const tfr_trainer *t)
{
    return t->held_graph ? t->held_graph : t->step_graph;
}

/* The step as one that computes again. Without what is equal before, as no pass may find it
 * afterwards. */
static tfr_status recomputing(const tfr_trainer *t, tfr_train_recompute how, tfr_graph **out,
                              tfr_err *err)
{
    tfr_optimize_options options = TFR_OPTIMIZE_OPTIONS_INIT;
    tfr_graph *slim = NULL;
    tfr_status status;
    options.passes = "cse";
    status = tfr_graph_optimize(graph_of(t), t->runtime, &options, &slim, err);
    if (!status)
        status = tfr__recompute(slim, how, out, err);
    tfr_graph_release(slim);
    return status;
}

tfr_status tfr__trainer_make_step(const tfr_trainer *t, tfr_train_recompute how, tfr_session **out,
                                  tfr_err *err)
{
    tfr_session_options options = t->session_options;
    tfr_graph *graph = NULL;
    tfr_status status;
    if (how == TFR_RECOMPUTE_NONE)
        return tfr_session_create(t->runtime, graph_of(t), &options, out, err);
    options.passes = "-cse";
    options.no_programs = 1;
    status = recomputing(t, how, &graph, err);
    if (!status)
        status = tfr_session_create(t->runtime, graph, &options, out, err);
    tfr_graph_release(graph);
    return status;
}

/* The caller's texts need not live on. */
static tfr_status set_session_options(tfr_trainer *t, const tfr_train_options *o, tfr_err *err)
{
    tfr_session_options *s = &t->session_options;
    t->device = o->device ? strdup(o->device) : NULL;
    t->math_mode = o->math_mode ? strdup(o->math_mode) : NULL;
    if ((o->device && !t->device) || (o->math_mode && !t->math_mode))
        return tfr_fail(err, TFR_ENOMEM, "out of memory for a trainer");
    *s = (tfr_session_options)TFR_SESSION_OPTIONS_INIT;
    s->device = t->device;
    s->math_mode = t->math_mode;
    s->fallback = o->fallback;
    s->no_programs = o->no_programs;
    s->deterministic = o->deterministic;
    s->seed = o->seed;
    return find_shards(t->runtime, o->shards, &s->shards, err);
}

static tfr_status create(tfr_trainer *t, tfr_runtime *runtime, tfr_graph *graph,
                         const tfr_train_options *o, tfr_err *err)
{
    tfr__optimizer optimizer;
    tfr_status status = tfr__optimizer_init(&optimizer, o, err);
    if (!status && (o->recompute < TFR_RECOMPUTE_NONE || o->recompute > TFR_RECOMPUTE_SEGMENTS))
        status = tfr_fail(err, TFR_EINVAL, "recompute %d; it is %d to %d", (int)o->recompute,
                          TFR_RECOMPUTE_NONE, TFR_RECOMPUTE_SEGMENTS);
    t->is_scheduled = o->schedule != NULL;
    if (!status && o->schedule)
        status = tfr__schedule_init(&t->schedule, o->schedule, err);
    t->runtime = runtime;
    if (!status)
        status = tfr__train_model_init(&t->model, graph, o, err);
    if (!status)
        status = tfr__train_step_graph(&t->model, &optimizer, &t->step_graph, err);
    if (!status)
        status = tfr__train_evaluation_graph(&t->model, &t->evaluation_graph, err);
    if (!status)
        status = find_variables(t, err);
    for (uint32_t i = 0; i < t->n_variables; i++)
        t->may_skip = t->may_skip || strcmp(t->variables[i], TFR__PENDING) == 0 ||
                      strcmp(t->variables[i], TFR__LOSS_SCALE) == 0;
    t->first = t->recompute = (tfr_train_recompute)o->recompute;
    t->memory_limit = o->memory_limit;
    if (!status)
        status = set_session_options(t, o, err);
    if (!status)
        status = tfr__trainer_make_step(t, t->recompute, &t->step, err);
    if (!status)
        status = tfr_session_create(runtime, t->evaluation_graph, &t->session_options,
                                    &t->evaluation, err);
    return status;
}

tfr_status tfr_trainer_create(tfr_runtime *runtime, tfr_graph *graph,
                              const tfr_train_options *options, tfr_trainer **out, tfr_err *err)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    tfr_trainer *t;
    tfr_status status;
    if (!runtime || !graph)
        return tfr_fail(err, TFR_EINVAL, "a trainer needs a runtime and a graph");
    if (options)
        memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    t = calloc(1, sizeof *t);
    if (!t)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for a trainer");
    status = create(t, runtime, graph, &o, err);
    if (status)
        tfr_trainer_destroy(t);
    else
        *out = t;
    return status;
}

void tfr_trainer_destroy(tfr_trainer *t)
{
    if (!t)
        return;
    tfr_session_destroy(t->step);
    tfr_session_destroy(t->evaluation);
    tfr_graph_release(t->step_graph);
    tfr_graph_release(t->held_graph);
    tfr_tensor_release(t->rows);
    tfr_graph_release(t->evaluation_graph);
    tfr__train_model_finish(&t->model);
    free(t->device);
    free(t->math_mode);
    free(t->variables);
    free(t);
}

/* ---- variables ------------------------------------------------------------------------------- */

/* Copies a variable out. */
static tfr_status read_variable(tfr_trainer *t, const char *name, void *out, tfr_err *err)
{
    tfr_tensor *tensor = NULL;
    tfr_status status = tfr_session_get_variable(t->step, name, &tensor, err);
    if (!status)
        memcpy(out, tfr_tensor_data(tensor), tfr_tensor_bytes(tensor));
    tfr_tensor_release(tensor);
    return status;
}

static tfr_status write(tfr_trainer *t, const char *name, tfr_dtype dtype, const tfr_shape *shape,
                        void *value, tfr_err *err)
{
    tfr_tensor *tensor = NULL;
    tfr_status status = tfr_tensor_wrap(dtype, shape, NULL, value, NULL, NULL, &tensor, err);
    if (!status)
        status = tfr_session_set_variable(t->step, name, tensor, err);
    tfr_tensor_release(tensor);
    return status;
}

tfr_status tfr__trainer_write_scalar(tfr_trainer *t, const char *name, tfr_dtype dtype, void *value,
                                     tfr_err *err)
{
    return write(t, name, dtype, &(tfr_shape){.rank = 0}, value, err);
}

/* ---- the learning rate ----------------------------------------------------------------------- */

/* What the variables say to the schedule. */
static tfr_status know(tfr_trainer *t, tfr_err *err)
{
    tfr_status status = t->is_known ? TFR_OK : read_variable(t, TFR__STEPS, &t->steps, err);
    if (status || t->is_known)
        return status;
    status = read_variable(t, TFR__BASE_RATE, &t->base_rate, err);
    if (!status)
        status = read_variable(t, TFR__RATE, &t->rate, err);
    if (!status)
        status = read_variable(t, TFR__PLATEAU, &t->plateau, err);
    t->is_known = !status;
    return status;
}

static double rate_at(const tfr_trainer *t, int64_t step)
{
    return t->base_rate * tfr__schedule_factor(&t->schedule, step) * t->plateau.factor;
}

tfr_status tfr__trainer_follow_schedule(tfr_trainer *t, tfr_err *err)
{
    tfr_status status = know(t, err);
    double rate;
    if (status)
        return status;
    rate = rate_at(t, t->steps);
    if (rate == t->rate)
        return TFR_OK;
    status = tfr__trainer_write_scalar(t, TFR__RATE, TFR_DTYPE_F64, &rate, err);
    t->rate = rate;
    t->is_known = !status;
    return status;
}

uint32_t tfr__trainer_steps_of_rate(const tfr_trainer *t, uint32_t n)
{
    uint32_t k = 1;
    if (!t->is_scheduled)
        return n;
    while (!t->may_skip && k < n && rate_at(t, t->steps + k) == t->rate)
        k++;
    return k;
}

tfr_status tfr_trainer_set_learning_rate(tfr_trainer *t, double rate, tfr_err *err)
{
    if (!(rate >= 0 && isfinite(rate)))
        return tfr_fail(err, TFR_EINVAL, "a learning rate of %g", rate);
    t->is_known = false;
    return tfr__trainer_write_scalar(t, t->is_scheduled ? TFR__BASE_RATE : TFR__RATE, TFR_DTYPE_F64,
                                     &rate, err);
}

tfr_status tfr_trainer_see(tfr_trainer *t, double value, tfr_err *err)
{
    tfr_status status;
    if (!t->is_scheduled || t->schedule.kind != TFR__SCHEDULE_PLATEAU)
        return TFR_OK;
    status = know(t, err);
    if (status)
        return status;
    tfr__schedule_see(&t->schedule, &t->plateau, value);
    t->is_known = false;
    return write(t, TFR__PLATEAU, TFR_DTYPE_F64, &(tfr_shape){1, {4}}, &t->plateau, err);
}

/* ---- memory ---------------------------------------------------------------------------------- */

tfr_status tfr__trainer_replace_step(tfr_trainer *t, tfr_session *step, tfr_err *err)
{
    uint64_t seed, at;
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; !status && i < t->n_variables; i++) {
        tfr_tensor *now = NULL;
        status = tfr_session_get_variable(t->step, t->variables[i], &now, err);
        if (!status)
            status = tfr_session_set_variable(step, t->variables[i], now, err);
        tfr_tensor_release(now);
    }
    if (status) {
        tfr_session_destroy(step);
        return status;
    }
    tfr_session_get_random(t->step, &seed, &at);
    tfr_session_set_random(step, seed, at);
    tfr_session_destroy(t->step);
    t->step = step;
    return TFR_OK;
}

/* The step becomes one that computes so much again, with the state that it has. */
static tfr_status change_step(tfr_trainer *t, tfr_train_recompute how, tfr_err *err)
{
    tfr_session *step = NULL;
    tfr_status status = how == t->recompute ? TFR_OK : tfr__trainer_make_step(t, how, &step, err);
    if (status || !step)
        return status;
    status = tfr__trainer_replace_step(t, step, err);
    if (!status)
        t->recompute = how;
    return status;
}

/* Finds how much to compute again, so that n samples keep the limit. */
static tfr_status fit_memory(tfr_trainer *t, tfr_tensor *const *in, int64_t n, tfr_err *err)
{
    uint64_t least = UINT64_MAX;
    for (int how = t->first; how <= TFR_RECOMPUTE_SEGMENTS; how++) {
        tfr_session_stats stats = {.size = sizeof stats};
        tfr_err why = TFR_ERR_INIT;
        tfr_status status = change_step(t, (tfr_train_recompute)how, err);
        if (status)
            return status;
        status = tfr_session_prepare(t->step, in, 2, &why);
        if (!status)
            status = tfr_session_get_stats(t->step, &stats, &why);
        if (status && status != TFR_ENOMEM) {
            *err = why;
            return status;
        }
        if (!status && stats.arena_bytes <= t->memory_limit) {
            t->most_samples = n;
            return TFR_OK;
        }
        if (!status && stats.arena_bytes < least)
            least = stats.arena_bytes;
    }
    if (least == UINT64_MAX)
        return tfr_fail(err, TFR_ENOMEM,
                        "no memory for a step of %lld samples, however much is computed again; "
                        "make the batches smaller",
                        (long long)n);
    return tfr_fail(err, TFR_ENOMEM,
                    "a step of %lld samples takes %llu bytes for its values, however much is "
                    "computed again; the limit is %llu, make the batches smaller",
                    (long long)n, (unsigned long long)least, (unsigned long long)t->memory_limit);
}

/* ---- running --------------------------------------------------------------------------------- */

tfr_status tfr__trainer_run_steps(tfr_trainer *t, tfr_tensor *const *in, uint32_t n,
                                  uint32_t n_steps, tfr_err *err)
{
    tfr_status status = tfr_session_repeat(t->step, in, n, n_steps, err);
    t->is_current = false;
    t->is_known = t->is_known && !status && !t->may_skip;
    t->steps += n_steps;
    return status;
}

tfr_status tfr_trainer_step(tfr_trainer *t, tfr_tensor *input, tfr_tensor *target, tfr_err *err)
{
    tfr_tensor *in[] = {input, target};
    const int64_t n = input && tfr_tensor_shape(input)->rank ? tfr_tensor_shape(input)->dims[0] : 0;
    tfr_status status = TFR_OK;
    if (t->held_graph)
        status = tfr_trainer_hold(t, NULL, err);
    if (!status && t->memory_limit && n > t->most_samples)
        status = fit_memory(t, in, n, err);
    if (!status && t->is_scheduled)
        status = tfr__trainer_follow_schedule(t, err);
    return status ? status : tfr__trainer_run_steps(t, in, 2, 1, err);
}

/* The evaluation's weights become those of the step. */
static tfr_status bring_weights(tfr_trainer *t, tfr_err *err)
{
    tfr_status status = TFR_OK;
    for (uint32_t v = 0; !status && v < tfr_graph_n_values(t->model.graph); v++) {
        const char *name = tfr_graph_value_name(t->model.graph, (tfr_value)v);
        tfr_tensor *now = NULL;
        if (t->model.parts[v] == TFR__PART_FIXED)
            continue;
        status = tfr_session_get_variable(t->step, name, &now, err);
        if (!status)
            status = tfr_session_set_variable(t->evaluation, name, now, err);
        tfr_tensor_release(now);
    }
    t->is_current = !status;
    return status;
}

tfr_status tfr_trainer_evaluate(tfr_trainer *t, tfr_tensor *input, tfr_tensor *target,
                                tfr_train_metrics *metrics, tfr_err *err)
{
    const uint32_t n_outputs = tfr_graph_n_outputs(t->evaluation_graph);
    tfr_tensor *in[] = {input, target}, *out[2] = {NULL, NULL};
    tfr_status status = t->is_current ? TFR_OK : bring_weights(t, err);
    double all;
    int64_t n;
    if (!status)
        status = tfr_session_run(t->evaluation, in, 2, out, n_outputs, err);
    if (status)
        return status;
    n = tfr_tensor_shape(target)->dims[0];
    all = (double)(metrics->samples + n);
    metrics->has_accuracy = n_outputs > 1;
    if (n) {
        double before = (double)metrics->samples / all, now = (double)n / all;
        metrics->loss =
            metrics->loss * before + (double)*(const float *)tfr_tensor_data(out[0]) * now;
        if (n_outputs > 1)
            metrics->accuracy =
                metrics->accuracy * before + *(const double *)tfr_tensor_data(out[1]) * now;
        metrics->samples += n;
    }
    tfr_tensor_release(out[0]);
    tfr_tensor_release(out[1]);
    return TFR_OK;
}

/* ---- state ----------------------------------------------------------------------------------- */

tfr_status tfr_trainer_read_metrics(tfr_trainer *t, tfr_train_metrics *out, tfr_err *err)
{
    tfr_train_metrics m = {.has_accuracy = t->model.loss == TFR__LOSS_SOFTMAX};
    double loss = 0, accuracy = 0, zero = 0;
    int64_t none = 0;
    tfr_status status = read_variable(t, TFR__LOSS_SUM, &loss, err);
    if (!status)
        status = read_variable(t, TFR__N_SAMPLES, &m.samples, err);
    if (!status && m.has_accuracy)
        status = read_variable(t, TFR__ACCURACY_SUM, &accuracy, err);
    if (!status)
        status = tfr__trainer_write_scalar(t, TFR__LOSS_SUM, TFR_DTYPE_F64, &zero, err);
    if (!status)
        status = tfr__trainer_write_scalar(t, TFR__N_SAMPLES, TFR_DTYPE_I64, &none, err);
    if (!status && m.has_accuracy)
        status = tfr__trainer_write_scalar(t, TFR__ACCURACY_SUM, TFR_DTYPE_F64, &zero, err);
    if (status)
        return status;
    m.loss = m.samples ? loss / (double)m.samples : 0;
    m.accuracy = m.samples ? accuracy / (double)m.samples : 0;
    m.size = out->size;
    memcpy(out, &m, out->size < sizeof m ? out->size : sizeof m);
    return TFR_OK;
}

tfr_status tfr_trainer_steps(tfr_trainer *t, int64_t *out, tfr_err *err)
{
    return read_variable(t, TFR__STEPS, out, err);
}

tfr_status tfr_trainer_graph(tfr_trainer *t, tfr_graph **out, tfr_err *err)
{
    return tfr__train_trained_graph(&t->model, t->step, out, err);
}

tfr_session *tfr_trainer_session(tfr_trainer *t)
{
    return t->step;
}

tfr_runtime *tfr_trainer_runtime(tfr_trainer *t)
{
    return t->runtime;
}

uint32_t tfr_trainer_shards(const tfr_trainer *t)
{
    return t->session_options.shards;
}

tfr_train_recompute tfr_trainer_recompute(const tfr_trainer *t)
{
    return t->recompute;
}

tfr_status tfr_trainer_get_variable(tfr_trainer *t, const char *name, tfr_tensor **out,
                                    tfr_err *err)
{
    return tfr_session_get_variable(t->step, name, out, err);
}

tfr_status tfr_trainer_set_variable(tfr_trainer *t, const char *name, const tfr_tensor *value,
                                    tfr_err *err)
{
    t->is_current = t->is_known = false;
    return tfr_session_set_variable(t->step, name, value, err);
}

uint32_t tfr_trainer_n_variables(const tfr_trainer *t)
{
    return t->n_variables;
}

const char *tfr_trainer_variable(const tfr_trainer *t, uint32_t i)
{
    return i < t->n_variables ? t->variables[i] : NULL;
}
