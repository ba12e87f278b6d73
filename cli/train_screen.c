/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train_screen.c: what `tfrun train` shows while it goes: a bar on a terminal, at most ten times a
 * second, else a line every half minute, both on standard error; a line for each epoch on standard
 * output, or with --json an object for each event; and points of the curves.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <tfrun/fail.h>

#include "interrupt.h"
#include "json.h"
#include "text.h"
#include "timing.h"
#include "train.h"

#define BAR_EVERY  .1
#define LINE_EVERY 30.

static const char *const curve_names[] = {"loss/train", "loss/validation", "accuracy/train",
                                          "accuracy/validation"};

/* ---- the bar --------------------------------------------------------------------------------- */

static void hide_bar(cli_train_job *j)
{
    if (j->bar_is_shown)
        fputs("\r\033[K", stderr);
    j->bar_is_shown = false;
}

/* "1:02:03" or "2:03" */
static void format_rest(double seconds, char *text, size_t n)
{
    const long s = seconds < 1e8 ? (long)(seconds + .5) : 0;
    if (!(seconds < 1e8))
        snprintf(text, n, "-");
    else if (s >= 3600)
        snprintf(text, n, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(text, n, "%ld:%02ld", s / 60, s % 60);
}

static void format_metrics(const cli_train_job *j, const char *before, const tfr_train_metrics *m,
                           char *text, size_t n)
{
    int used = snprintf(text, n, "%sloss %.4f", before, m->loss);
    if (j->has_accuracy && used > 0 && (size_t)used < n)
        snprintf(text + used, n - (size_t)used, ", %saccuracy %.4f", before, m->accuracy);
}

/* Samples a second, of those that this process has trained with. */
static double speed(const cli_train_job *j, int64_t done)
{
    return (double)done / fmax(cli_now() - j->began, 1e-9);
}

/* Where the training is, in one line, with a bar of the given length. */
static void format_progress(const cli_train_job *j, const tfr_fit_event *e, int bar, char *text,
                            size_t n)
{
    const int64_t all = e->epoch * e->samples + e->done, total = e->epochs * e->samples;
    const double rate = speed(j, all - j->begun_at);
    const int filled = (int)((double)bar * (double)e->done / (double)(e->samples ? e->samples : 1));
    char drawn[64] = "", metrics[120] = "", rest[32];
    for (int i = 0; i < bar && i < 60; i++)
        drawn[i] = i < filled ? '=' : i == filled ? '>' : ' ';
    if (e->kind == TFR_FIT_VALIDATION) {
        snprintf(text, n, "epoch %lld/%lld%s%s%s validation %lld/%lld", (long long)e->epoch + 1,
                 (long long)e->epochs, bar ? " [" : ",", drawn, bar ? "]" : "", (long long)e->done,
                 (long long)e->samples);
        return;
    }
    if (j->last.samples)
        format_metrics(j, "", &j->last, metrics, sizeof metrics);
    format_rest((double)(total - all) / rate, rest, sizeof rest);
    snprintf(text, n, "epoch %lld/%lld%s%s%s %lld/%lld, %.0f samples/s, ETA %s%s%s",
             (long long)e->epoch + 1, (long long)e->epochs, bar ? " [" : ",", drawn, bar ? "]" : "",
             (long long)e->done, (long long)e->samples, rate, rest, *metrics ? ", " : "", metrics);
}

static size_t stderr_width(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col ? 80 : size.ws_col;
}

static void show_progress(cli_train_job *j, const tfr_fit_event *e)
{
    char text[400];
    const double now = cli_now();
    size_t width;
    if (j->args->quiet || now - j->drawn < (j->has_bar ? BAR_EVERY : LINE_EVERY))
        return;
    j->drawn = now;
    if (!j->has_bar) {
        format_progress(j, e, 0, text, sizeof text);
        cli_line(stderr, "tfrun: %s", text);
        return;
    }
    width = stderr_width();
    format_progress(j, e, width > 110 ? 30 : 10, text, sizeof text);
    if (width > 1 && strlen(text) >= width)
        text[width - 1] = '\0';
    fprintf(stderr, "\r%s\033[K", text);
    fflush(stderr);
    j->bar_is_shown = true;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *metrics_json(const tfr_train_metrics *m)
{
    json_t *object;
    if (!m || !m->samples)
        return json_null();
    object = json_object();
    cli_json_set(object, "samples", json_integer(m->samples));
    cli_json_set(object, "loss", cli_json_real(m->loss));
    if (m->has_accuracy)
        cli_json_set(object, "accuracy", cli_json_real(m->accuracy));
    return object;
}

static json_t *start_object(const char *event)
{
    json_t *object = cli_json_start("train");
    cli_json_set(object, "event", json_string(event));
    return object;
}

static void add_begin(const cli_train_job *j, const tfr_fit_event *e, json_t *object)
{
    cli_json_set(object, "model", cli_json_text(j->name));
    cli_json_set(object, "data", cli_json_text(tfr_dataset_name(j->data)));
    cli_json_set(object, "validation", cli_json_text(j->test ? tfr_dataset_name(j->test) : NULL));
    cli_json_set(object, "epochs", json_integer(e->epochs));
    cli_json_set(object, "samples", json_integer(e->samples));
    cli_json_set(object, "batch_size", json_integer(j->batch));
    cli_json_set(object, "resumed", json_boolean(e->steps > 0));
}

static tfr_status print_event(const cli_train_job *j, const tfr_fit_event *e, tfr_err *err)
{
    static const char *const names[] = {"start", "step", "", "epoch", "checkpoint", "warning"};
    json_t *object;
    if (e->kind == TFR_FIT_VALIDATION || (e->kind == TFR_FIT_STEP && !e->recent))
        return TFR_OK;
    object = start_object(names[e->kind]);
    if (e->kind == TFR_FIT_BEGIN)
        add_begin(j, e, object);
    if (e->kind == TFR_FIT_WARNING)
        cli_json_set(object, "text", cli_json_text(e->text));
    cli_json_set(object, "epoch", json_integer(e->epoch));
    cli_json_set(object, "step", json_integer(e->steps));
    if (e->kind == TFR_FIT_CHECKPOINT)
        cli_json_set(object, "file", cli_json_text(e->path));
    if (e->kind == TFR_FIT_STEP) {
        cli_json_set(object, "done", json_integer(e->done));
        cli_json_set(object, "recent", metrics_json(e->recent));
        cli_json_set(object, "epoch_so_far", metrics_json(e->train));
    }
    if (e->kind == TFR_FIT_EPOCH) {
        cli_json_set(object, "train", metrics_json(e->train));
        cli_json_set(object, "validation", metrics_json(e->validation));
        cli_json_set(object, "best", json_boolean(e->best));
        cli_json_set(object, "seconds", cli_json_real(cli_now() - j->epoch_began));
    }
    return cli_json_print_line(object, err);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void print_epoch(const cli_train_job *j, const tfr_fit_event *e)
{
    char train[120], validation[160] = "", seconds[32];
    const double took = cli_now() - j->epoch_began;
    format_metrics(j, "", e->train, train, sizeof train);
    if (e->validation) {
        format_metrics(j, "validation ", e->validation, validation, sizeof validation);
    }
    cli_line(stdout, "epoch %lld/%lld: %s%s%s; %s", (long long)e->epoch + 1, (long long)e->epochs,
             train, *validation ? "; " : "", validation,
             cli_format_seconds(took, seconds, sizeof seconds));
}

static void print_begin(const cli_train_job *j, const tfr_fit_event *e)
{
    if (e->epoch >= e->epochs && e->epochs)
        cli_line(stderr,
                 "tfrun: the training is over already, after %lld steps; more --epochs "
                 "would go on",
                 (long long)e->steps);
    else if (e->steps)
        cli_line(stderr, "tfrun: going on after %lld steps, in epoch %lld of %lld",
                 (long long)e->steps, (long long)e->epoch + 1, (long long)e->epochs);
    else if (j->args->train.resume)
        cli_line(stderr, "tfrun: %s has no checkpoint; the training begins anew",
                 j->args->train.checkpoints);
}

static void tell(cli_train_job *j, const tfr_fit_event *e)
{
    if (e->kind == TFR_FIT_WARNING) {
        hide_bar(j);
        cli_line(stderr, "tfrun: warning: %s", e->text);
    } else if (e->kind == TFR_FIT_STEP || e->kind == TFR_FIT_VALIDATION) {
        show_progress(j, e);
    } else if (!j->args->json && e->kind == TFR_FIT_BEGIN) {
        print_begin(j, e);
    } else if (e->kind == TFR_FIT_EPOCH) {
        hide_bar(j);
        if (!j->args->json)
            print_epoch(j, e);
        fflush(stdout);
    }
}

/* ---- curves ---------------------------------------------------------------------------------- */

static tfr_status open_curves(cli_train_job *j, const tfr_fit_event *e, tfr_err *err)
{
    const cli_training *o = &j->args->train;
    if (!o->log && !o->plot)
        return TFR_OK;
    return tfr_curves_create(o->log, curve_names, j->has_accuracy ? 4 : 2,
                             o->resume ? e->steps : -1, &j->curves, err);
}

/* A training does not end because a disk is full; that is said once. */
static void add_point(cli_train_job *j, int64_t step, const tfr_train_metrics *train,
                      const tfr_train_metrics *validation)
{
    tfr_err why = TFR_ERR_INIT;
    const double values[] = {train ? train->loss : NAN, validation ? validation->loss : NAN,
                             train ? train->accuracy : NAN,
                             validation ? validation->accuracy : NAN};
    if (!j->curves || (!train && !validation))
        return;
    if (tfr_curves_add(j->curves, step, values, &why) && !j->curves_told) {
        hide_bar(j);
        cli_line(stderr, "tfrun: warning: points of curves are lost: %s", why.text);
        j->curves_told = true;
    }
}

/* ---- events ---------------------------------------------------------------------------------- */

static void begin(cli_train_job *j, const tfr_fit_event *e)
{
    const char *term = getenv("TERM");
    j->has_bar = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
    j->began = j->epoch_began = cli_now();
    j->drawn = j->has_bar ? 0 : j->began;
    j->steps_before = e->steps;
    j->begun_at = e->epoch * e->samples + e->done;
    j->failed = open_curves(j, e, &j->failure);
}

int32_t cli_train_event(void *user, const tfr_fit_event *e)
{
    cli_train_job *j = user;
    if (e->kind == TFR_FIT_BEGIN)
        begin(j, e);
    if (e->train)
        j->last = *e->train;
    tell(j, e);
    if (e->kind == TFR_FIT_STEP)
        add_point(j, e->steps, e->recent, NULL);
    if (e->kind == TFR_FIT_EPOCH)
        add_point(j, e->steps, NULL, e->validation);
    if (j->args->json && !j->failed)
        j->failed = print_event(j, e, &j->failure);
    if (e->kind == TFR_FIT_EPOCH) {
        j->epoch_began = cli_now();
        j->last.samples = 0;
    }
    return j->failed || cli_interrupt_came();
}

static tfr_status print_end(const cli_train_job *j, const tfr_fit_result *r, tfr_err *err)
{
    static const char *const ends[] = {"done", "stopped", "limit"};
    const bool wrote = r->end != TFR_FIT_STOPPED || !j->args->train.checkpoints;
    json_t *object = start_object("end");
    cli_json_set(object, "end", json_string(ends[r->end]));
    cli_json_set(object, "epochs", json_integer(r->epochs));
    cli_json_set(object, "step", json_integer(r->steps));
    cli_json_set(object, "train", metrics_json(&r->train));
    cli_json_set(object, "validation", metrics_json(&r->validation));
    cli_json_set(object, "best_step", json_integer(r->best_steps));
    cli_json_set(object, "checkpoint", cli_json_text(*r->checkpoint ? r->checkpoint : NULL));
    cli_json_set(object, "export", cli_json_text(wrote ? j->args->train.export : NULL));
    cli_json_set(object, "plot", cli_json_text(j->args->train.plot));
    cli_json_set(object, "seconds", cli_json_real(cli_now() - j->began));
    return cli_json_print_line(object, err);
}

tfr_status cli_train_show_end(cli_train_job *j, const tfr_fit_result *r, tfr_err *err)
{
    char text[160], seconds[32];
    hide_bar(j);
    if (j->args->json)
        return print_end(j, r, err);
    if (!j->epochs || r->end == TFR_FIT_LIMIT) {
        if (r->train.samples) {
            format_metrics(j, "", &r->train, text, sizeof text);
            cli_line(stdout, "training    %s, the last %lld samples", text,
                     (long long)r->train.samples);
        }
        if (r->validation.samples) {
            format_metrics(j, "", &r->validation, text, sizeof text);
            cli_line(stdout, "validation  %s", text);
        }
    }
    if (j->epochs && r->end != TFR_FIT_STOPPED)
        cli_line(stdout, "trained     %lld steps, %lld of them in %s", (long long)r->steps,
                 (long long)(r->steps - j->steps_before),
                 cli_format_seconds(cli_now() - j->began, seconds, sizeof seconds));
    if (j->args->train.memory_limit && tfr_trainer_recompute(j->trainer))
        cli_line(stdout, "recompute   %s, to keep to %lld MiB",
                 tfr_trainer_recompute(j->trainer) == TFR_RECOMPUTE_CHEAP ? "cheap" : "segments",
                 (long long)j->args->train.memory_limit);
    if (*r->checkpoint)
        cli_line(stdout, "checkpoint  %s", r->checkpoint);
    if (j->args->train.export && r->end != TFR_FIT_STOPPED)
        cli_line(stdout, "model       %s", j->args->train.export);
    if (j->args->train.plot)
        cli_line(stdout, "plot        %s", j->args->train.plot);
    return TFR_OK;
}
