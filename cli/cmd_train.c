/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_train.c: `tfrun train`: trains a network on a data set. */
#include <stdio.h>
#include <string.h>

#include <tfrun/fail.h>
#include <tfrun/onnx.h>

#include "commands.h"
#include "interrupt.h"
#include "text.h"
#include "train.h"

static const char stop_note[] = "tfrun: stopping after this step; once more ends at once";

static tfr_status export_model(const cli_train_job *j, tfr_err *err)
{
    tfr_graph *graph = NULL;
    tfr_status status;
    if (!j->args->train.export)
        return TFR_OK;
    status = tfr_trainer_graph(j->trainer, &graph, err);
    if (!status)
        status = tfr_onnx_save(graph, j->args->train.export, NULL, err);
    tfr_graph_release(graph);
    return status;
}

static tfr_status plot(const cli_train_job *j, tfr_err *err)
{
    if (!j->args->train.plot || !j->curves)
        return TFR_OK;
    return tfr_curves_plot(j->curves, j->args->train.plot, j->name, err);
}

static tfr_status fit(cli_train_job *j, tfr_fit_result *result, tfr_err *err)
{
    const cli_training *o = &j->args->train;
    tfr_fit_options options = TFR_FIT_OPTIONS_INIT;
    options.batch = (uint32_t)j->batch;
    options.epochs = j->epochs;
    options.max_steps = o->limit;
    options.seed = j->args->seed < 0 ? 0 : (uint64_t)j->args->seed;
    options.no_shuffle = o->no_shuffle;
    options.augment = o->augment;
    if (o->log_every)
        options.report_every = o->log_every;
    options.checkpoints = o->checkpoints;
    options.checkpoint_every = o->checkpoint_every;
    if (o->keep >= 0)
        options.keep = (uint32_t)o->keep;
    options.resume = o->resume;
    options.conditions = j->conditions;
    options.event = cli_train_event;
    options.user = j;
    return tfr_trainer_fit(j->trainer, j->data, j->test, &options, result, err);
}

/* What a stopped training leaves, on standard error; returns the exit status. */
static int tell_of_stop(const cli_train_job *j, const tfr_fit_result *result)
{
    const char *export = j->args->train.export;
    char line[8192];
    if (j->args->train.checkpoints) {
        cli_line(stderr, "tfrun: stopped after %lld steps, with a checkpoint; go on by",
                 (long long)result->steps);
        cli_line(stderr, "  %s", cli_command_line("--resume", line, sizeof line));
        return CLI_EXIT_STOPPED;
    }
    cli_line(stderr,
             "tfrun: stopped after %lld steps; without --checkpoint-dir nothing can go on "
             "from there%s%s",
             (long long)result->steps, export ? ", but the weights are in " : "",
             export ? export : "");
    return CLI_EXIT_FAILED;
}

static int train(cli_train_job *j, tfr_err *err)
{
    tfr_fit_result result = {.size = sizeof result};
    tfr_err late = TFR_ERR_INIT; /* the model is trained, but something was not written */
    tfr_status status;
    const bool checkpoints = j->args->train.checkpoints != NULL;
    cli_interrupt_install(stop_note);
    status = fit(j, &result, err);
    if (j->failed)
        return cli_fail(j->args, &j->failure);
    if (status && (status != TFR_EIO || result.end == TFR_FIT_STOPPED ||
                   (result.end == TFR_FIT_DONE && result.epochs < j->epochs)))
        return cli_fail(j->args, err);
    if (status)
        late = *err;
    /* A model in the midst of its training is written where nothing else keeps it. */
    if (result.end != TFR_FIT_STOPPED || !checkpoints)
        status = export_model(j, late.code ? NULL : &late);
    if (!status)
        status = plot(j, late.code ? NULL : &late);
    if (!status)
        status = cli_train_show_end(j, &result, late.code ? NULL : &late);
    if (late.code)
        return cli_fail(j->args, &late);
    return result.end == TFR_FIT_STOPPED ? tell_of_stop(j, &result) : CLI_EXIT_DONE;
}

static int train_run(const cli_args *args)
{
    tfr_err err = TFR_ERR_INIT;
    cli_train_job j = {.args = args, .failure = TFR_ERR_INIT};
    int result = cli_train_check(args);
    if (result)
        return result;
    result = cli_train_prepare(&j, &err) ? cli_fail(args, &err) : train(&j, &err);
    tfr_trainer_destroy(j.trainer);
    tfr_graph_release(j.graph);
    tfr_curves_destroy(j.curves);
    tfr_dataset_release(j.data);
    tfr_dataset_release(j.test);
    tfr_runtime_release(j.runtime);
    return result;
}

static const cli_option train_options[] = {
    {0, "data", "SOURCE", CLI_TEXT, CLI_FIELD(train.data), "file", 0, 0,
     "what to train with: a folder with MNIST's four files or such ones, or synthetic, which are "
     "digits that are made up; tfrun(1) has all kinds"},
    {0, "model", "FILE", CLI_TEXT, CLI_FIELD(train.model), "file", 0, 0,
     "train this ONNX model, from the weights that it has"},
    {0, "epochs", "N", CLI_NUMBER, CLI_FIELD(train.epochs), "none", 0, 1e9,
     "times that each sample is used; 0 only tests; default is 5"},
    {0, "batch-size", "N", CLI_NUMBER, CLI_FIELD(train.batch), "none", 1, 1e6,
     "samples of a step; default is 64"},
    {0, "limit-steps", "N", CLI_NUMBER, CLI_FIELD(train.limit), "none", 1, 1e15,
     "end after so many steps, if the epochs are not over before"},
    {0, "seed", "S", CLI_NUMBER, CLI_FIELD(seed), "none", 0, 9007199254740992.0,
     "of first weights, order and all else that is drawn; default is 0"},
    {0, "no-shuffle", NULL, CLI_FLAG, CLI_FIELD(train.no_shuffle), "none", 0, 0,
     "take the samples in their order"},
    {0, "augment", NULL, CLI_FLAG, CLI_FIELD(train.augment), "none", 0, 0,
     "change the images a little each time"},
    {0, "loss", "NAME", CLI_TEXT, CLI_FIELD(train.loss), "none", 0, 0,
     "softmax_cross_entropy, binary_cross_entropy or mse; default is the first one for classes, "
     "else the last"},
    {0, "class-weights", "W,W,...", CLI_TEXT, CLI_FIELD(train.class_weights), "none", 0, 0,
     "by what the loss is multiplied where a sample is of class 0, 1, ..., such as 1,1,2.5"},
    {0, "loss-scale", "HOW", CLI_TEXT, CLI_FIELD(train.loss_scale), "none|dynamic", 0, 0,
     "for gradients in float16: dynamic, dynamic:S that begins with S, S that stays, or none; "
     "default is dynamic if the model computes in float16"},
    {0, "optimizer", "NAME", CLI_TEXT, CLI_FIELD(train.optimizer), "adam|adamw|sgd", 0, 0,
     "adam, the default, adamw or sgd"},
    {0, "learning-rate", "R", CLI_REAL, CLI_FIELD(train.rate), "none", 0, 1e6,
     "of the optimizer; default is as --defaults"},
    {0, "schedule", "NAME:KEY=VALUE,...", CLI_TEXT, CLI_FIELD(train.schedule), "none", 0, 0,
     "how the rate changes, such as cosine:steps=1000,warmup=100; tfrun(1) has them all"},
    {0, "accumulate", "N", CLI_NUMBER, CLI_FIELD(train.accumulate), "none", 1, 1e6,
     "steps whose gradients make one update"},
    {0, "shards", "N", CLI_NUMBER, CLI_FIELD(train.shards), "none", 1, 1024,
     "parts of a batch that are summed apart, on which bits depend; default is the threads"},
    {0, "recompute", "WHAT", CLI_CHOICE, CLI_FIELD(train.recompute), "cheap|segments", 0, 0,
     "compute again in the backward part, to save memory: cheap values, or all but those between "
     "segments"},
    {0, "memory-limit", "MIB", CLI_NUMBER, CLI_FIELD(train.memory_limit), "none", 1, 1e9,
     "what a step may take for the values that it computes; more is computed again, as by "
     "--recompute, until it does"},
    {0, "momentum", "M", CLI_REAL, CLI_FIELD(train.momentum), "none", 0, 1, "of sgd"},
    {0, "beta-1", "B", CLI_REAL, CLI_FIELD(train.beta_1), "none", 0, 1, "of adam and adamw"},
    {0, "beta-2", "B", CLI_REAL, CLI_FIELD(train.beta_2), "none", 0, 1, "of adam and adamw"},
    {0, "epsilon", "E", CLI_REAL, CLI_FIELD(train.epsilon), "none", 0, 1, "of adam and adamw"},
    {0, "weight-decay", "D", CLI_REAL, CLI_FIELD(train.decay), "none", 0, 1e6,
     "makes weights smaller at each step"},
    {0, "clip-value", "C", CLI_REAL, CLI_FIELD(train.clip_value), "none", 0, 1e30,
     "each element of a gradient to [-C, C]; 0 = not"},
    {0, "clip-norm", "C", CLI_REAL, CLI_FIELD(train.clip_norm), "none", 0, 1e30,
     "all gradients to a norm of C at most; 0 = not"},
    {0, "defaults", "WHOSE", CLI_CHOICE, CLI_FIELD(train.defaults), "keras|torch", 0, 0,
     "first weights and optimizer as keras, the default, or torch has them"},
    {0, "freeze", "NAMES", CLI_TEXT, CLI_FIELD(train.freeze), "none", 0, 0,
     "weights that stay as they are, with * for any letters: 'conv1.*,*.bias'"},
    {0, "checkpoint-dir", "DIR", CLI_TEXT, CLI_FIELD(train.checkpoints), "dir", 0, 0,
     "write a checkpoint there after each epoch and when a signal stops the training"},
    {0, "checkpoint-every", "N", CLI_NUMBER, CLI_FIELD(train.checkpoint_every), "none", 1, 1e15,
     "and after each N steps"},
    {0, "keep", "N", CLI_NUMBER, CLI_FIELD(train.keep), "none", 0, 1e6,
     "checkpoints that stay beside the best one; 0 = all; default is 3"},
    {0, "resume", "[=exact]", CLI_SWITCH, CLI_FIELD(train.resume), "exact", 0, 0,
     "go on from the newest checkpoint, if there is one; exact: only if the bits will be those of "
     "a "
     "training that never ended"},
    {'o', "export", "FILE", CLI_TEXT, CLI_FIELD(train.export), "file", 0, 0,
     "write the trained model as ONNX"},
    {0, "log-dir", "DIR", CLI_TEXT, CLI_FIELD(train.log), "dir", 0, 0,
     "write curves there while it goes, for TensorBoard and as curves.csv"},
    {0, "log-every", "N", CLI_NUMBER, CLI_FIELD(train.log_every), "none", 1, 1e9,
     "steps between points of curves; default is 10"},
    {0, "plot", "FILE", CLI_TEXT, CLI_FIELD(train.plot), "file", 0, 0,
     "draw the curves as SVG at the end"},
    CLI_OPTION_DEVICE,
    CLI_OPTION_BACKEND,
    CLI_OPTION_FALLBACK,
    CLI_OPTION_MATH_MODE,
    CLI_OPTION_DETERMINISTIC,
    CLI_OPTION_PROGRAMS,
    CLI_OPTION_END};

const cli_command cli_train = {
    .name = "train",
    .words = "[mnist-cnn]",
    .most_words = 1,
    .word_values = "mnist-cnn|",
    .summary = "Train a network, or an ONNX model",
    .text = "Trains the convolutional network of the TensorFlow guides, or a model with one\n"
            "input and one output. After each epoch it is tested, if the data have a part\n"
            "for that. The first SIGINT (Ctrl-C) or SIGTERM ends the step, writes a\n"
            "checkpoint and exits with 75; the second one ends at once. With --json there\n"
            "is an object on each line: start, step, epoch, checkpoint, warning, end.\n"
            "Example:\n"
            "\n"
            "  tfrun train mnist-cnn --data synthetic --checkpoint-dir ckpt -o digits.onnx",
    .log_level = TFR_LOG_WARNING,
    .options = train_options,
    .run = train_run,
};
