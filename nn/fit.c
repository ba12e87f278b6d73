/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fit.c: see tfrun/fit.h. The sums of an epoch's metrics stay in the trainer's state until it is
 * over and are only looked at before, so that a checkpoint has them and does not depend on when
 * somebody looked.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/checkpoint.h>
#include <tfrun/fail.h>
#include <tfrun/fit.h>

#include "data/dataset.h"
#include "fit_conditions.h"
#include "train_graph.h"

typedef struct sums {
    double loss, accuracy;
    int64_t samples;
} sums;

typedef struct fit {
    tfr_trainer *trainer;
    tfr_fit_options o;
    tfr_batches *batches, *tests; /* tests NULL = no validation */
    int64_t n_train, n_tests;
    int64_t epoch, position, steps;
    bool holds, has_held; /* samples are on the device; a step with them was taken */
    sums reported;        /* of the epoch, at the last event that had metrics */
    bool stops;
    double best;
    int64_t best_steps;
    int64_t saved_steps, saved_epoch; /* of the last checkpoint; -1 = none yet */
    tfr_checkpoint_info info;         /* what the last one, or the one resumed from, has */
    bool knows_conditions;            /* info has those of this process */
    tfr_fit_result *result;
} fit;

/* ---- events ---------------------------------------------------------------------------------- */

static void emit(fit *f, tfr_fit_event *event)
{
    event->size = sizeof *event;
    event->epoch = f->epoch;
    event->epochs = f->o.epochs;
    event->steps = f->steps;
    if (f->o.event && f->o.event(f->o.user, event))
        f->stops = true;
}

static void warn(fit *f, const char *before, const char *text)
{
    char all[900];
    tfr_fit_event event = {.kind = TFR_FIT_WARNING, .text = all};
    snprintf(all, sizeof all, "%s%s", before, text);
    emit(f, &event);
}

static void warn_refused(void *user, const char *path, const tfr_err *why)
{
    (void)path; /* the sentence begins with it */
    warn(user, "", why->text);
}

/* ---- metrics --------------------------------------------------------------------------------- */

static tfr_status look_at(fit *f, const char *name, void *out, tfr_err *err)
{
    tfr_tensor *tensor = NULL;
    tfr_status status = tfr_trainer_get_variable(f->trainer, name, &tensor, err);
    if (!status)
        memcpy(out, tfr_tensor_data(tensor), tfr_tensor_bytes(tensor));
    tfr_tensor_release(tensor);
    return status;
}

/* Of the epoch so far, without changing them. *has_accuracy: the loss knows it. */
static tfr_status look_at_sums(fit *f, sums *out, bool *has_accuracy, tfr_err *err)
{
    tfr_status status = look_at(f, TFR__LOSS_SUM, &out->loss, err);
    if (!status)
        status = look_at(f, TFR__N_SAMPLES, &out->samples, err);
    *has_accuracy = false;
    for (uint32_t i = 0; !status && i < tfr_trainer_n_variables(f->trainer); i++)
        if (strcmp(tfr_trainer_variable(f->trainer, i), TFR__ACCURACY_SUM) == 0) {
            *has_accuracy = true;
            status = look_at(f, TFR__ACCURACY_SUM, &out->accuracy, err);
        }
    return status;
}

static tfr_train_metrics means(const sums *now, const sums *before, bool has_accuracy)
{
    tfr_train_metrics m = {.size = sizeof m, .has_accuracy = has_accuracy};
    m.samples = now->samples - before->samples;
    if (m.samples > 0) {
        m.loss = (now->loss - before->loss) / (double)m.samples;
        m.accuracy = has_accuracy ? (now->accuracy - before->accuracy) / (double)m.samples : 0;
    }
    return m;
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

static tfr_status save(fit *f, tfr_err *err)
{
    tfr_fit_event event = {.kind = TFR_FIT_CHECKPOINT};
    tfr_status status;
    if (!f->o.checkpoints || (f->saved_steps == f->steps && f->saved_epoch == f->epoch))
        return TFR_OK;
    f->info.size = sizeof f->info;
    f->info.epoch = f->epoch;
    f->info.batches = f->steps;
    f->info.position = f->position;
    f->info.best = f->best;
    f->info.best_steps = f->best_steps;
    status = tfr_checkpoint_save(f->trainer, f->o.checkpoints, &f->info, f->o.keep,
                                 f->result->checkpoint, sizeof f->result->checkpoint, err);
    if (status)
        return status;
    f->saved_steps = f->steps;
    f->saved_epoch = f->epoch;
    event.path = f->result->checkpoint;
    emit(f, &event);
    return TFR_OK;
}

/* One on the way, without which the training goes on. */
static tfr_status try_to_save(fit *f, tfr_err *err)
{
    tfr_err why = TFR_ERR_INIT;
    tfr_status status = save(f, &why);
    if (status == TFR_EIO || status == TFR_EPERM) {
        warn(f, "no checkpoint was written: ", why.text);
        return TFR_OK;
    }
    return status ? tfr_fail(err, status, "%s", why.text) : TFR_OK;
}

/* After the first step with a whole batch: it has the plan of nearly all. */
static tfr_status compare_conditions(fit *f, tfr_err *err)
{
    char now[sizeof f->info.conditions], text[700], more[1000];
    tfr_status status;
    snprintf(more, sizeof more, "samples %lld in batches of %u\n%s", (long long)f->n_train,
             f->o.batch, f->o.conditions ? f->o.conditions : "");
    status = tfr__fit_conditions(f->trainer, more, now, sizeof now, err);
    if (status)
        return status;
    f->knows_conditions = true;
    if (*f->info.conditions &&
        tfr__fit_conditions_differ(f->info.conditions, now, text, sizeof text)) {
        if (f->o.resume == TFR_FIT_EXACT)
            return tfr_fail(err, TFR_EINVAL,
                            "%s: the checkpoint cannot be resumed exactly, since it was made "
                            "otherwise: %s",
                            f->o.checkpoints, text);
        warn(f, "from here on the bits may differ from those of a training that was not resumed: ",
             text);
    }
    snprintf(f->info.conditions, sizeof f->info.conditions, "%s", now);
    return TFR_OK;
}

/* Sets where the training begins, and the trainer's state. */
static tfr_status begin(fit *f, tfr_err *err)
{
    const char *folder = f->o.checkpoints;
    int64_t newest;
    tfr_status status;
    f->info = (tfr_checkpoint_info){.size = sizeof f->info, .shuffle_seed = f->o.seed};
    if (!folder && f->o.resume)
        return tfr_fail(err, TFR_EINVAL, "no folder of checkpoints is named to resume from");
    if (!folder)
        return tfr_trainer_steps(f->trainer, &f->steps, err);
    status = tfr_checkpoint_newest(folder, &newest, err);
    if (!status && !f->o.resume)
        return tfr_fail(err, TFR_EINVAL,
                        "%s: there are checkpoints of a training, the newest after %lld steps; "
                        "resume it, or use another folder",
                        folder, (long long)newest);
    if (status && status != TFR_ENOTFOUND)
        return status;
    if (err)
        *err = (tfr_err)TFR_ERR_INIT;
    if (status)
        return tfr_trainer_steps(f->trainer, &f->steps, err);
    status = tfr_checkpoint_resume(f->trainer, folder, &f->info, warn_refused, f, err);
    if (status)
        return status;
    f->steps = f->saved_steps = f->info.batches;
    f->epoch = f->saved_epoch = f->info.epoch;
    f->position = f->info.position;
    f->best = f->info.best;
    f->best_steps = f->info.best_steps;
    return TFR_OK;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static tfr_status tell_step(fit *f, tfr_err *err)
{
    tfr_fit_event event = {.kind = TFR_FIT_STEP, .done = f->position, .samples = f->n_train};
    const int64_t every = f->o.report_every > 0 ? f->o.report_every : 1;
    tfr_train_metrics all, recent;
    if (f->steps % every == 0 || f->position == f->n_train) {
        sums now = {0, 0, 0};
        bool has_accuracy;
        tfr_status status = look_at_sums(f, &now, &has_accuracy, err);
        if (status)
            return status;
        all = means(&now, &(sums){0, 0, 0}, has_accuracy);
        recent = means(&now, &f->reported, has_accuracy);
        f->reported = now;
        event.train = &all;
        event.recent = &recent;
    }
    emit(f, &event);
    return TFR_OK;
}

static bool is_at_limit(const fit *f)
{
    return f->o.max_steps && f->steps >= f->o.max_steps;
}

static int64_t until(int64_t steps, int64_t every)
{
    return every - steps % every;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Steps until the host has something to do, all of them with whole batches, or 1. */
static int64_t n_at_once(const fit *f)
{
    int64_t n = least((f->n_train - f->position) / f->o.batch, TFR__HELD_ROWS);
    n = least(n, until(f->steps, f->o.report_every > 0 ? f->o.report_every : 1));
    if (f->o.max_steps)
        n = least(n, f->o.max_steps - f->steps);
    if (f->o.checkpoints && f->o.checkpoint_every)
        n = least(n, until(f->steps, f->o.checkpoint_every));
    return f->knows_conditions && n > 1 ? n : 1;
}

/* Where the device has no room for the samples after all, they stay with the host. */
static tfr_status take_held(fit *f, int64_t *n, int64_t *n_steps, tfr_err *err)
{
    const int64_t most = n_at_once(f);
    tfr_err own = TFR_ERR_INIT;
    tfr_tensor *samples;
    const tfr_shape *shape;
    tfr_status status = tfr__batches_next_rows(f->batches, most, &samples, err);
    if (status || !samples)
        return status;
    status = tfr_trainer_step_held(f->trainer, samples, &own);
    if (status == TFR_ENOMEM && f->o.hold <= 0 && !f->has_held) {
        f->holds = false;
        status = tfr_trainer_hold(f->trainer, NULL, err);
        return status ? status : tfr_batches_start(f->batches, f->epoch, f->position, err);
    }
    if (status)
        *err = own;
    f->has_held = true;
    shape = tfr_tensor_shape(samples);
    *n = shape->dims[shape->rank - 1];
    *n_steps = most;
    return status;
}

/* *n_steps of *n samples each; 0 = the epoch is over. */
static tfr_status take_steps(fit *f, int64_t *n, int64_t *n_steps, tfr_err *err)
{
    tfr_tensor *input, *target;
    tfr_status status = TFR_OK;
    if (f->holds)
        status = take_held(f, n, n_steps, err);
    if (status || f->holds)
        return status;
    status = tfr_batches_next(f->batches, &input, &target, err);
    if (status || !input)
        return status;
    *n = tfr_tensor_shape(target)->dims[0];
    *n_steps = 1;
    return tfr_trainer_step(f->trainer, input, target, err);
}

/* Each of the steps that were taken has its event. */
static tfr_status tell_steps(fit *f, int64_t n, int64_t n_steps, tfr_err *err)
{
    tfr_status status = TFR_OK;
    for (int64_t i = 0; !status && i < n_steps; i++) {
        f->steps++;
        f->position += n;
        status = tell_step(f, err);
    }
    return status;
}

/* The rest of the epoch, unless it is stopped or the limit comes before. */
static tfr_status train_epoch(fit *f, tfr_err *err)
{
    bool has_accuracy;
    tfr_status status = look_at_sums(f, &f->reported, &has_accuracy, err);
    if (!status)
        status = tfr_batches_start(f->batches, f->epoch, f->position, err);
    while (!status && !f->stops && !is_at_limit(f)) {
        int64_t n = 0, n_steps = 0;
        status = take_steps(f, &n, &n_steps, err);
        if (status || !n)
            return status;
        if (!status && !f->knows_conditions && (n == f->o.batch || f->n_train < f->o.batch))
            status = compare_conditions(f, err);
        if (status)
            return status;
        status = tell_steps(f, n, n_steps, err);
        if (!status && f->o.checkpoint_every && f->steps % f->o.checkpoint_every == 0 &&
            f->position < f->n_train)
            status = try_to_save(f, err);
    }
    return status;
}

static tfr_status validate(fit *f, tfr_train_metrics *out, tfr_err *err)
{
    tfr_fit_event event = {.kind = TFR_FIT_VALIDATION, .samples = f->n_tests};
    tfr_status status = TFR_OK;
    *out = (tfr_train_metrics){.size = sizeof *out};
    if (f->tests)
        status = tfr_batches_start(f->tests, 0, 0, err);
    while (!status && f->tests && !f->stops) {
        tfr_tensor *input, *target;
        status = tfr_batches_next(f->tests, &input, &target, err);
        if (status || !input)
            return status;
        status = tfr_trainer_evaluate(f->trainer, input, target, out, err);
        event.done = out->samples;
        if (!status)
            emit(f, &event);
    }
    return status;
}

static bool is_best(const fit *f, const tfr_train_metrics *m)
{
    return isnan(f->best) || (m->has_accuracy ? m->accuracy > f->best : m->loss < f->best);
}

/* What comes behind the last step of an epoch; nothing of it has been done if it is stopped. */
static tfr_status end_epoch(fit *f, tfr_err *err)
{
    tfr_fit_event event = {.kind = TFR_FIT_EPOCH, .done = f->n_train, .samples = f->n_train};
    tfr_train_metrics train = {.size = sizeof train}, validation;
    const tfr_train_metrics *judged = f->tests ? &validation : &train;
    tfr_status status = validate(f, &validation, err);
    if (status || f->stops)
        return status;
    status = tfr_trainer_read_metrics(f->trainer, &train, err);
    if (status)
        return status;
    f->reported = (sums){0, 0, 0};
    if (is_best(f, judged)) {
        f->best = judged->has_accuracy ? judged->accuracy : judged->loss;
        event.best = 1;
        status = tfr_trainer_steps(f->trainer, &f->best_steps, err);
    }
    if (!status)
        status = tfr_trainer_see(f->trainer, judged->loss, err);
    if (status)
        return status;
    f->result->train = train;
    f->result->validation = validation;
    event.train = &train;
    event.validation = f->tests ? &validation : NULL;
    emit(f, &event);
    f->epoch++;
    f->position = 0;
    return TFR_OK;
}

/* By the limit, which may be in the midst of an epoch. */
static tfr_status end_at_limit(fit *f, tfr_err *err)
{
    sums now = {0, 0, 0};
    bool has_accuracy;
    tfr_status status = look_at_sums(f, &now, &has_accuracy, err);
    if (!status)
        f->result->train = means(&now, &(sums){0, 0, 0}, has_accuracy);
    return status ? status : validate(f, &f->result->validation, err);
}

static tfr_status run(fit *f, tfr_err *err)
{
    tfr_fit_event event = {.kind = TFR_FIT_BEGIN, .samples = f->n_train};
    tfr_status status;
    event.done = f->position;
    emit(f, &event);
    if (!f->o.epochs) {
        status = validate(f, &f->result->validation, err);
        f->result->end = f->stops ? TFR_FIT_STOPPED : TFR_FIT_DONE;
        return status;
    }
    /* To see at once that it can be written. */
    status = f->saved_steps < 0 ? save(f, err) : TFR_OK;
    if (status)
        return status;
    while (f->epoch < f->o.epochs && !f->stops && !is_at_limit(f)) {
        status = train_epoch(f, err);
        if (!status && f->position == f->n_train && !f->stops)
            status = end_epoch(f, err);
        if (!status && !f->position && f->epoch < f->o.epochs && !f->stops && !is_at_limit(f))
            status = try_to_save(f, err);
        if (status)
            return status;
    }
    if (f->epoch == f->o.epochs)
        return save(f, err);
    if (!f->stops && f->position && (status = end_at_limit(f, err)))
        return status;
    f->result->end = f->stops ? TFR_FIT_STOPPED : TFR_FIT_LIMIT;
    return save(f, err);
}

static tfr_status make_batches(fit *f, tfr_dataset *train, tfr_dataset *validation, tfr_err *err)
{
    tfr_batch_options options = TFR_BATCH_OPTIONS_INIT;
    tfr_status status;
    options.batch = f->o.batch;
    options.shuffle = !f->o.no_shuffle;
    options.augment = f->o.augment;
    options.seed = f->info.shuffle_seed;
    status = tfr_batches_create(train, &options, &f->batches, err);
    options.shuffle = options.augment = 0;
    if (!status && validation)
        status = tfr_batches_create(validation, &options, &f->tests, err);
    f->n_train = tfr_dataset_count(train);
    f->n_tests = validation ? tfr_dataset_count(validation) : 0;
    return status;
}

tfr_status tfr_trainer_fit(tfr_trainer *trainer, tfr_dataset *train, tfr_dataset *validation,
                           const tfr_fit_options *options, tfr_fit_result *result, tfr_err *err)
{
    tfr_fit_options o = TFR_FIT_OPTIONS_INIT;
    tfr_fit_result out = {.best = NAN};
    tfr_status status;
    fit *f;
    if (!trainer || !train)
        return tfr_fail(err, TFR_EINVAL, "to fit takes a trainer and samples");
    if (options)
        memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    if (!o.batch || o.epochs < 0 || o.max_steps < 0)
        return tfr_fail(err, TFR_EINVAL, "%lld epochs of batches of %u samples",
                        (long long)o.epochs, o.batch);
    f = calloc(1, sizeof *f);
    if (!f)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a training");
    *f = (fit){.trainer = trainer, .o = o, .best = NAN, .result = &out};
    f->saved_steps = f->saved_epoch = -1;
    status = begin(f, err);
    if (!status)
        status = make_batches(f, train, validation, err);
    f->holds =
        !o.augment && (o.hold > 0 || (!o.hold && tfr_trainer_should_hold(trainer, train) != 0));
    if (!status && f->holds)
        status = tfr_trainer_hold(trainer, train, err);
    if (!status)
        status = run(f, err);
    out.epochs = f->epoch;
    out.steps = f->steps;
    out.best = f->best;
    out.best_steps = f->best_steps;
    if (result) {
        out.size = result->size;
        memcpy(result, &out, out.size < sizeof out ? out.size : sizeof out);
    }
    tfr_batches_destroy(f->batches);
    tfr_batches_destroy(f->tests);
    free(f);
    return status;
}
