/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_train.c: the training step of the CNN of the TensorFlow guides for MNIST, ours beside lists
 * of oneDNN's primitives and beside Python's frameworks: from equal weights, with the same samples
 * in the same order. Before anything is timed, all take some steps, in which losses must fall and
 * agree with ours, and gradients of the first batch, too, where they can be had.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tfrun/fail.h>
#include <tfrun/train.h>

#include "child.h"
#include "cnn_math.h"
#include "peer.h"
#include "product.h"
#include "training.h"

enum { TEST_SAMPLES = 250 };
#define LOSS_TOLERANCE     0.02 /* of the mean of the first steps, from ours */
#define GRADIENT_TOLERANCE 1e-3 /* of the largest element of the weight's */

/* ---- ours ------------------------------------------------------------------------------------ */

typedef struct ours {
    const bench_training *training;
    tfr_trainer *trainer;
    bench_cursor cursor;
    tfr_tensor *input[2], *target[2]; /* of whole batches, and of the last one of an epoch */
} ours;

static tfr_status tensors_of(int64_t n, tfr_tensor **input, tfr_tensor **target, tfr_err *err)
{
    const tfr_shape images = {4, {n, 1, BENCH_SIDE, BENCH_SIDE}}, labels = {1, {n}};
    tfr_status status;
    tfr_tensor_release(*input);
    tfr_tensor_release(*target);
    *input = *target = NULL;
    status = tfr_tensor_create(TFR_DTYPE_F32, &images, input, err);
    return status ? status : tfr_tensor_create(TFR_DTYPE_I64, &labels, target, err);
}

/* Gathers samples into tensors of their number, which are made anew if it is another one. */
static tfr_status gather(ours *o, int place, const int64_t *order, uint32_t n, tfr_err *err)
{
    const bench_training *t = o->training;
    tfr_tensor **input = &o->input[place], **target = &o->target[place];
    tfr_status status = TFR_OK;
    if (!*input || tfr_tensor_shape(*input)->dims[0] != n)
        status = tensors_of(n, input, target, err);
    if (status)
        return status;
    cnn_gather(tfr_tensor_data(*input), t->images, order, n);
    for (uint32_t i = 0; i < n; i++)
        ((int64_t *)tfr_tensor_data(*target))[i] = t->labels[order[i]];
    return TFR_OK;
}

static tfr_status ours_step(void *user, tfr_err *err)
{
    ours *o = user;
    uint32_t n;
    const int64_t *order = bench_cursor_next(&o->cursor, &n);
    int place = n != o->training->batch;
    tfr_status status = gather(o, place, order, n, err);
    return status ? status : tfr_trainer_step(o->trainer, o->input[place], o->target[place], err);
}

static tfr_status ours_loss(void *user, double *out, tfr_err *err)
{
    ours *o = user;
    tfr_train_metrics metrics = {.size = sizeof metrics};
    tfr_status status = tfr_trainer_read_metrics(o->trainer, &metrics, err);
    *out = metrics.loss;
    return status;
}

static tfr_status ours_accuracy(void *user, double *out, tfr_err *err)
{
    ours *o = user;
    const bench_training *t = o->training;
    tfr_train_metrics metrics = {.size = sizeof metrics};
    int64_t order[TEST_SAMPLES];
    tfr_status status = TFR_OK;
    for (int64_t at = 0; !status && at < t->n_test; at += TEST_SAMPLES) {
        uint32_t n = t->n_test - at < TEST_SAMPLES ? (uint32_t)(t->n_test - at) : TEST_SAMPLES;
        for (uint32_t i = 0; i < n; i++)
            order[i] = t->n_train + at + i;
        status = gather(o, 1, order, n, err);
        if (!status)
            status = tfr_trainer_evaluate(o->trainer, o->input[1], o->target[1], &metrics, err);
    }
    *out = metrics.accuracy;
    return status;
}

static tfr_status copy_variable(ours *o, const char *name, int param, float *out, tfr_err *err)
{
    tfr_tensor *tensor = NULL;
    tfr_status status = tfr_trainer_get_variable(o->trainer, name, &tensor, err);
    size_t bytes = (size_t)bench_cnn_sizes[param] * sizeof *out;
    if (!status && tfr_tensor_bytes(tensor) != bytes)
        status = tfr_fail(err, TFR_EINVAL, "%s has %zu bytes, not %zu", name,
                          tfr_tensor_bytes(tensor), bytes);
    if (!status)
        memcpy(out, tfr_tensor_data(tensor), bytes);
    tfr_tensor_release(tensor);
    return status;
}

static tfr_status ours_moments(void *user, float *const *out, tfr_err *err)
{
    char name[64];
    tfr_status status = TFR_OK;
    for (int i = 0; !status && i < BENCH_CNN_PARAMS; i++) {
        snprintf(name, sizeof name, "adam.m/%s", bench_cnn_names[i]);
        status = copy_variable(user, name, i, out[i], err);
    }
    return status;
}

static void ours_finish(ours *o)
{
    for (int i = 0; i < 2; i++) {
        tfr_tensor_release(o->input[i]);
        tfr_tensor_release(o->target[i]);
    }
    bench_cursor_finish(&o->cursor);
    tfr_trainer_destroy(o->trainer);
}

/* The trainer, and its weights before it learns for everyone. */
static tfr_status ours_init(ours *o, bench_training *t, const bench_options *options, tfr_err *err)
{
    tfr_train_options train = TFR_TRAIN_OPTIONS_INIT;
    tfr_net *net = NULL;
    tfr_graph *graph = NULL;
    tfr_status status = tfr_net_create_mnist_cnn(TFR_NET_KERAS, options->seed, &net, err);
    train.device = options->device;
    train.math_mode = options->math_mode;
    train.seed = options->seed;
    o->training = t;
    if (!status)
        status = tfr_net_graph(net, &graph, err);
    if (!status)
        status = tfr_trainer_create(options->runtime, graph, &train, &o->trainer, err);
    for (int i = 0; !status && i < BENCH_CNN_PARAMS; i++) {
        t->weights[i] = malloc((size_t)bench_cnn_sizes[i] * sizeof *t->weights[i]);
        status = t->weights[i] ? copy_variable(o, bench_cnn_names[i], i, t->weights[i], err)
                               : tfr_fail(err, TFR_ENOMEM, "no memory for weights");
    }
    if (!status)
        status = bench_cursor_init(&o->cursor, t, err);
    tfr_graph_release(graph);
    tfr_net_destroy(net);
    return status;
}

static tfr_status add_ours(bench_contest *contest, ours *o, tfr_err *err)
{
    char who[48];
    bench_contender *c =
        bench_contest_add(contest, bench_ours_name(contest->options->math_mode, who, sizeof who));
    if (!c)
        return tfr_fail(err, TFR_ELIMIT, "more than %d contenders", BENCH_MAX_CONTENDERS);
    snprintf(c->note, sizeof c->note, "%u threads", contest->options->n_threads);
    c->run = ours_step;
    c->loss = ours_loss;
    c->accuracy = ours_accuracy;
    c->moments = ours_moments;
    c->user = o;
    c->ours = true;
    c->elsewhere = !bench_on_host(contest->options->runtime, contest->options->device);
    return TFR_OK;
}

/* ---- right before fast ----------------------------------------------------------------------- */

/* What the first steps of a contender gave. */
typedef struct first_steps {
    double loss[2];                   /* mean of the first BENCH_CHECK_STEPS, and of as many more */
    float *moments[BENCH_CNN_PARAMS]; /* after the first; all or none */
} first_steps;

static void first_steps_finish(first_steps *f)
{
    for (int i = 0; i < BENCH_CNN_PARAMS; i++)
        free(f->moments[i]);
}

static tfr_status run_steps(const bench_contender *c, uint64_t n, tfr_err *err)
{
    double seconds;
    tfr_status status = TFR_OK;
    if (c->burst) /* takes one more, which does not count */
        return c->burst(c->user, n - 1, &seconds, err);
    for (uint64_t i = 0; !status && i < n; i++)
        status = c->run(c->user, err);
    return status;
}

static tfr_status take_first_steps(const bench_contender *c, first_steps *f, tfr_err *err)
{
    tfr_status status = run_steps(c, 1, err);
    for (int i = 0; !status && c->moments && i < BENCH_CNN_PARAMS; i++)
        if (!(f->moments[i] = malloc((size_t)bench_cnn_sizes[i] * sizeof(float))))
            status = tfr_fail(err, TFR_ENOMEM, "no memory for gradients");
    if (!status && c->moments)
        status = c->moments(c->user, f->moments, err);
    if (!status)
        status = run_steps(c, BENCH_CHECK_STEPS - 1, err);
    if (!status)
        status = c->loss(c->user, &f->loss[0], err);
    if (!status)
        status = run_steps(c, BENCH_CHECK_STEPS, err);
    return status ? status : c->loss(c->user, &f->loss[1], err);
}

/* The largest difference in a weight's gradient by the largest element of ours, over all weights.
 */
static double gradient_error(const first_steps *a, const first_steps *b)
{
    double error = 0;
    for (int i = 0; i < BENCH_CNN_PARAMS; i++) {
        double most = 0, difference = 0;
        for (int64_t k = 0; k < bench_cnn_sizes[i]; k++) {
            double d = fabs((double)a->moments[i][k] - (double)b->moments[i][k]);
            most = fmax(most, fabs((double)a->moments[i][k]));
            difference = d <= difference ? difference : d; /* NaN stays */
        }
        difference /= most > 0 ? most : 1;
        error = difference <= error ? error : difference;
    }
    return error;
}

/* Whether it learns what ours learns. */
static tfr_status judge(bench_contender *c, const first_steps *f, const first_steps *our,
                        tfr_err *err)
{
    if (!(f->loss[1] < f->loss[0]))
        return tfr_fail(err, TFR_EPLUGIN, "its loss does not fall: %.4f and then %.4f", f->loss[0],
                        f->loss[1]);
    if (!(fabs(f->loss[0] - our->loss[0]) <= LOSS_TOLERANCE * our->loss[0]))
        return tfr_fail(err, TFR_EPLUGIN, "the loss of its first %d steps is %.4f, and ours %.4f",
                        BENCH_CHECK_STEPS, f->loss[0], our->loss[0]);
    if (f == our || !c->moments)
        return TFR_OK;
    c->error = gradient_error(our, f);
    if (!(c->error <= GRADIENT_TOLERANCE))
        return tfr_fail(err, TFR_EPLUGIN, "its gradients are off ours by %.3g of the largest",
                        c->error);
    return TFR_OK;
}

/* Those that learn something else are taken out. */
static tfr_status check(bench_contest *contest, tfr_err *err)
{
    first_steps our = {0};
    tfr_status status = take_first_steps(&contest->list[0], &our, err);
    if (!status)
        status = judge(&contest->list[0], &our, &our, err);
    for (uint32_t i = 1; !status && i < contest->n;) {
        first_steps f = {0};
        bench_contender *c = &contest->list[i];
        tfr_status bad;
        bench_begin_peer(c->who);
        bad = take_first_steps(c, &f, err);
        bench_end_peer();
        if (!bad)
            bad = judge(c, &f, &our, err);
        first_steps_finish(&f);
        if (bad) {
            bench_add_skip(contest->report, contest->row, c->who, err->text);
            bench_contest_remove(contest, i);
        } else {
            i++;
        }
    }
    first_steps_finish(&our);
    return status;
}

/* ---- the benchmark --------------------------------------------------------------------------- */

static void add_figures(bench_report *report, bench_row *row, const ours *o)
{
    tfr_session_stats stats = {.size = sizeof stats};
    if (!row || tfr_session_get_stats(tfr_trainer_session(o->trainer), &stats, NULL))
        return;
    bench_add_figure(report, row, "nodes", "nodes", "", stats.n_nodes);
    bench_add_figure(report, row, "launches", "launches a step", "", stats.n_launches);
    bench_add_figure(report, row, "programs", "programs", "", stats.n_programs);
    bench_add_figure(report, row, "reorders", "reorders", "", stats.n_reorders);
    bench_add_figure(report, row, "copies", "copies", "", stats.n_copies);
    bench_add_figure(report, row, "arena_bytes", "arena", "B", (double)stats.arena_bytes);
    bench_add_figure(report, row, "plan_seconds", "plan", "s", (double)stats.plan_ns * 1e-9);
}

/* What the rounds have taught everyone. */
static tfr_status add_accuracies(bench_contest *contest, tfr_err *err)
{
    bench_row *row = contest->row;
    for (uint32_t i = 0; row && i < contest->n; i++)
        for (uint32_t k = 0; k < row->n_sides; k++) {
            const bench_contender *c = &contest->list[i];
            tfr_status status;
            if (!c->accuracy || strcmp(row->sides[k].who, c->who) != 0)
                continue;
            status = c->accuracy(c->user, &row->sides[k].accuracy, err);
            if (status && c->ours)
                return status;
        }
    return TFR_OK;
}

/* Peaks of memory: of processes of their own for those that share this one. */
static void add_peaks(bench_contest *contest, const bench_training *t)
{
    bench_row *row = contest->row;
    for (uint32_t i = 0; row && i < contest->n; i++)
        for (uint32_t k = 0; k < row->n_sides; k++) {
            const bench_contender *c = &contest->list[i];
            char who[32];
            uint64_t bytes = bench_training_bytes(t), peak = 0;
            if (strcmp(row->sides[k].who, c->who) != 0 || c->elsewhere)
                continue;
            snprintf(who, sizeof who, "train-%.20s", c->ours ? "tfrun" : c->who);
            if (c->peak)
                row->sides[k].bytes = c->peak(c->user) > bytes ? c->peak(c->user) - bytes : 0;
            else if (!bench_child_peak(contest->options, who, t->batch, &peak, NULL))
                row->sides[k].bytes = peak;
        }
}

static tfr_status contend(bench_contest *contest, ours *o, const bench_training *t, tfr_err *err)
{
    int64_t n_steps = (t->n_train + t->batch - 1) / t->batch;
    uint32_t n_epochs = contest->options->n_epochs;
    tfr_status status;
    contest->row = bench_add_row(contest->report, t->batch, "mnist-cnn, batch %u", t->batch);
    if ((status = add_ours(contest, o, err)))
        return status;
    bench_begin_peer("onednn");
    bench_add_onednn_training(contest, t);
    bench_begin_peer("torch");
    bench_add_python_training(contest, t);
    bench_end_peer();
    if ((status = check(contest, err)))
        return status;
    for (uint32_t i = 0; i < contest->n; i++) {
        bench_contender *c = &contest->list[i];
        c->samples = (double)t->n_train / (double)n_steps;
        c->flops = BENCH_CNN_FLOPS * c->samples;
        c->n_runs = n_epochs ? (uint64_t)n_steps : 0;
    }
    bench_add_fma_roof(contest);
    status = bench_contest_run(contest, err);
    if (!status && n_epochs)
        status = add_accuracies(contest, err);
    add_figures(contest->report, contest->row, o);
    add_peaks(contest, t);
    return status;
}

tfr_status bench_train(const bench_options *options, bench_report *report, tfr_err *err)
{
    bench_training training = {.batch = options->batch ? options->batch : 64,
                               .seed = options->seed};
    bench_options with_rounds = *options;
    bench_contest contest = {.options = &with_rounds, .report = report};
    ours o = {0};
    tfr_status status = bench_training_load(&training, options, err);
    report->error_is = "largest difference of its gradients from ours for the first batch, "
                       "by the largest element of each weight's";
    if (options->n_epochs)
        with_rounds.n_pairs = options->n_epochs;
    if (!status && training.n_train < training.batch)
        status = tfr_fail(err, TFR_EINVAL, "a batch of %u of %lld samples", training.batch,
                          (long long)training.n_train);
    if (!status)
        status = ours_init(&o, &training, options, err);
    if (!status)
        bench_measure_roofs(report);
    if (!status)
        status = contend(&contest, &o, &training, err);
    bench_contest_finish(&contest);
    ours_finish(&o);
    bench_training_finish(&training);
    return status;
}

/* ---- the process that is asked for its memory ------------------------------------------------ */

static tfr_status add_one(bench_contest *contest, bench_training *t, ours *o, const char *who,
                          tfr_err *err)
{
    tfr_status status;
    if (strcmp(who, "tfrun") == 0) {
        status = ours_init(o, t, contest->options, err);
        return status ? status : add_ours(contest, o, err);
    }
    for (int i = 0; i < BENCH_CNN_PARAMS; i++) {
        if (!(t->weights[i] = malloc((size_t)bench_cnn_sizes[i] * sizeof *t->weights[i])))
            return tfr_fail(err, TFR_ENOMEM, "no memory for weights");
        bench_fill_random(t->weights[i], bench_cnn_sizes[i], (uint64_t)i);
    }
    bench_add_onednn_training(contest, t);
    return contest->n ? TFR_OK : tfr_fail(err, TFR_ENOTFOUND, "%s is not there", who);
}

tfr_status bench_train_child(const bench_options *options, const char *who, uint32_t n,
                             uint64_t *peak, tfr_err *err)
{
    bench_training training = {.batch = n};
    bench_options one = *options;
    bench_report report;
    bench_contest contest = {.options = &one, .report = &report};
    tfr_runtime_options runtime = TFR_RUNTIME_OPTIONS_INIT;
    ours o = {0};
    tfr_status status = TFR_OK;
    one.peers = who;
    runtime.n_threads = options->n_threads;
    bench_report_init(&report, "child", options);
    contest.row = bench_add_row(&report, 1, "child");
    if (strcmp(who, "tfrun") == 0)
        status = tfr_runtime_create(&runtime, &one.runtime, err);
    if (!status)
        status = bench_training_load(&training, &one, err);
    if (!status)
        status = add_one(&contest, &training, &o, who, err);
    if (!status)
        status = run_steps(&contest.list[0], BENCH_CHECK_STEPS, err);
    *peak = bench_process_peak(0);
    *peak -= *peak > bench_training_bytes(&training) ? bench_training_bytes(&training) : *peak;
    bench_contest_finish(&contest);
    ours_finish(&o);
    bench_training_finish(&training);
    tfr_runtime_release(one.runtime);
    bench_report_finish(&report);
    return status;
}
