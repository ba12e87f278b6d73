/* SPDX-License-Identifier: Apache-2.0 */
/* train_model.c: from the options of `tfrun train` to data and a trainer that fit together. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <core/base/writer.h>
#include <tfrun/fail.h>

#include "model.h"
#include "text.h"
#include "train.h"

#define MNIST_CNN  "mnist-cnn"
#define BATCH      64
#define CNN_EPOCHS 5
#define CROSS_LOSS "softmax_cross_entropy"

int cli_train_check(const cli_args *args)
{
    const cli_training *o = &args->train;
    const char *net = args->n_words ? args->words[0] : NULL;
    if (net && strcmp(net, MNIST_CNN) != 0)
        return cli_usage(args,
                         "there is no network \"%s\"; there is " MNIST_CNN
                         ", and any ONNX model by --model=FILE",
                         net);
    if (!net && !o->model)
        return cli_usage(args, "what to train is missing: " MNIST_CNN ", or --model=FILE");
    if (net && o->model)
        return cli_usage(args, "there are two models, %s and %s", net, o->model);
    if (!o->data)
        return cli_usage(args, "--data is missing: a folder or file with samples, or synthetic");
    if (o->resume && !o->checkpoints)
        return cli_usage(args, "--resume needs --checkpoint-dir, to find checkpoints in");
    if (o->checkpoint_every && !o->checkpoints)
        return cli_usage(args, "--checkpoint-every needs --checkpoint-dir");
    return 0;
}

/* ---- the graph ------------------------------------------------------------------------------- */

static tfr_status make_graph(cli_train_job *j, tfr_err *err)
{
    const cli_training *o = &j->args->train;
    const uint64_t seed = j->args->seed < 0 ? 0 : (uint64_t)j->args->seed;
    tfr_net *net = NULL;
    tfr_status status;
    if (o->model) {
        j->name = o->model;
        return cli_graph_load(j->args, o->model, &j->graph, err);
    }
    j->name = MNIST_CNN;
    status =
        tfr_net_create_mnist_cnn(o->defaults == 2 ? TFR_NET_TORCH : TFR_NET_KERAS, seed, &net, err);
    if (!status)
        status = tfr_net_graph(net, &j->graph, err);
    tfr_net_destroy(net);
    return status;
}

static void sample_type(const tfr_dataset *data, char *text, size_t n)
{
    const tfr_shape *shape = tfr_dataset_sample_shape(data);
    tfr_value_type type = {.size = sizeof type, .kind = TFR_KIND_TENSOR, .dtype = TFR_DTYPE_F32};
    type.rank_known = 1;
    type.rank = shape->rank + 1;
    type.dims[0] = -1;
    memcpy(type.dims + 1, shape->dims, (size_t)shape->rank * sizeof *type.dims);
    cli_format_type(&type, text, n);
}

/* The type of a value, as far as the graph tells it. */
static tfr_status find_type(const cli_train_job *j, tfr_value value, tfr_value_type *out,
                            tfr_err *err)
{
    tfr_graph_types *types = NULL;
    tfr_status status = tfr_graph_infer(j->graph, &types, err);
    *out = (tfr_value_type){.size = sizeof *out};
    if (!status)
        status = tfr_graph_types_get(types, NULL, value, out, err);
    tfr_graph_types_release(types);
    return status;
}

/* The graph's input takes the samples of the data. */
static tfr_status check_input(const cli_train_job *j, tfr_err *err)
{
    const tfr_shape *sample = tfr_dataset_sample_shape(j->data);
    tfr_value_type type;
    char wanted[200], given[200];
    bool fits;
    tfr_status status;
    if (tfr_graph_n_inputs(j->graph) != 1 || tfr_graph_n_outputs(j->graph) != 1)
        return tfr_fail(err, TFR_EINVAL,
                        "%s has %u inputs and %u outputs; models with one of each can be trained",
                        j->name, (unsigned)tfr_graph_n_inputs(j->graph),
                        (unsigned)tfr_graph_n_outputs(j->graph));
    status = find_type(j, tfr_graph_input(j->graph, 0), &type, err);
    if (status)
        return status;
    fits = type.dtype == TFR_DTYPE_F32 && (!type.rank_known || type.rank == sample->rank + 1);
    for (int32_t i = 0; fits && type.rank_known && i < sample->rank; i++)
        fits = type.dims[i + 1] < 0 || type.dims[i + 1] == sample->dims[i];
    cli_format_type(&type, wanted, sizeof wanted);
    sample_type(j->data, given, sizeof given);
    if (!fits)
        return tfr_fail(err, TFR_ESHAPE, "%s has samples %s, but %s takes %s",
                        tfr_dataset_name(j->data), given, j->name, wanted);
    if (type.rank_known && type.dims[0] >= 0)
        return tfr_fail(err, TFR_ESHAPE,
                        "%s takes batches of %lld samples alone, %s; export it with an open batch",
                        j->name, (long long)type.dims[0], wanted);
    return TFR_OK;
}

/* There is a score for each class. */
static tfr_status check_output(const cli_train_job *j, tfr_err *err)
{
    const int64_t classes = tfr_dataset_classes(j->data);
    tfr_value_type type;
    tfr_status status = find_type(j, tfr_graph_output(j->graph, 0), &type, err);
    if (status || !j->has_accuracy)
        return status;
    if (!classes)
        return tfr_fail(err, TFR_EINVAL,
                        "%s has numbers as targets, and loss " CROSS_LOSS
                        " takes classes; another one is mse",
                        tfr_dataset_name(j->data));
    if (type.rank_known && type.rank >= 2 && type.dims[1] >= 0 && type.dims[1] < classes)
        return tfr_fail(err, TFR_ESHAPE, "%s has %lld classes, but %s gives %lld scores",
                        tfr_dataset_name(j->data), (long long)classes, j->name,
                        (long long)type.dims[1]);
    return TFR_OK;
}

/* ---- the trainer ----------------------------------------------------------------------------- */

static void add_text(cli_train_job *j, const char *name, const char *value)
{
    const size_t used = strlen(j->conditions);
    snprintf(j->conditions + used, sizeof j->conditions - used, "%s %s\n", name,
             value ? value : "default");
}

static void add_number(cli_train_job *j, const char *name, double value)
{
    char text[40];
    snprintf(text, sizeof text, "%.9g", value);
    add_text(j, name, value < 0 ? NULL : text);
}

/* As they are given, or where that is too long a sum of it (FNV-1a). */
static void add_weights(cli_train_job *j, const char *weights)
{
    uint64_t sum = 14695981039346656037u;
    char text[40];
    for (const char *c = weights; c && *c; c++)
        sum = (sum ^ (unsigned char)*c) * 1099511628211u;
    snprintf(text, sizeof text, "%016llx", (unsigned long long)sum);
    add_text(j, "class weights", weights && strlen(weights) > 100 ? text : weights);
}

/* The options on which the weights depend; seeds are in checkpoints anyway. */
static void note_conditions(cli_train_job *j)
{
    const cli_training *o = &j->args->train;
    add_text(j, "defaults", o->defaults == 2 ? "torch" : "keras");
    add_text(j, "loss", o->loss);
    add_text(j, "optimizer", o->optimizer);
    add_number(j, "learning rate", o->rate);
    add_text(j, "schedule", o->schedule);
    add_number(j, "accumulate", o->accumulate ? (double)o->accumulate : -1);
    add_number(j, "momentum", o->momentum);
    add_number(j, "beta-1", o->beta_1);
    add_number(j, "beta-2", o->beta_2);
    add_number(j, "epsilon", o->epsilon);
    add_number(j, "weight decay", o->decay);
    add_number(j, "clip value", o->clip_value);
    add_number(j, "clip norm", o->clip_norm);
    add_text(j, "loss scale", o->loss_scale);
    add_weights(j, o->class_weights);
    add_text(j, "math mode", j->args->math_mode);
    add_text(j, "augmentation", o->augment ? "on" : "off");
    add_text(j, "order", o->no_shuffle ? "as it is" : "shuffled");
}

/* none, S, dynamic, dynamic:S */
static tfr_status read_loss_scale(const char *text, tfr_train_options *t, tfr_err *err)
{
    const bool dynamic = strncmp(text, "dynamic", 7) == 0 && (!text[7] || text[7] == ':');
    const char *number = !dynamic ? text : text[7] ? text + 8 : "32768";
    char *end;
    t->loss_scale = strcmp(text, "none") == 0 ? 0 : strtod(number, &end);
    t->fixed_loss_scale = !dynamic;
    if (t->loss_scale == 0 && strcmp(text, "none") == 0)
        return TFR_OK;
    if (end == number || *end || !(t->loss_scale > 0))
        return tfr_fail(err, TFR_EINVAL,
                        "--loss-scale takes none, dynamic, dynamic:S or a number above 0, not "
                        "\"%s\"",
                        text);
    return TFR_OK;
}

/* Numbers with commas between them; the caller frees them. */
static tfr_status read_class_weights(const char *text, float **out, uint32_t *n, tfr_err *err)
{
    float *weights = malloc((strlen(text) + 1) * sizeof *weights);
    const char *at = text;
    if (!weights)
        return tfr_fail(err, TFR_ENOMEM, "no memory for the weights of classes");
    for (*n = 0;; at++) {
        char *end;
        weights[(*n)++] = strtof(at, &end);
        if (end == at || (*end && *end != ',')) {
            free(weights);
            return tfr_fail(err, TFR_EINVAL,
                            "--class-weights takes numbers with commas between them, not \"%s\"",
                            text);
        }
        at = end;
        if (!*at)
            break;
    }
    *out = weights;
    return TFR_OK;
}

static tfr_status make_trainer(cli_train_job *j, tfr_err *err)
{
    const cli_training *o = &j->args->train;
    tfr_train_options t = TFR_TRAIN_OPTIONS_INIT;
    float *weights = NULL;
    tfr_status status = TFR_OK;
    t.defaults = o->defaults == 2 ? TFR_NET_TORCH : TFR_NET_KERAS;
    t.loss = o->loss;
    if (!o->loss && !tfr_dataset_classes(j->data))
        t.loss = "mse";
    t.optimizer = o->optimizer;
    t.learning_rate = o->rate;
    t.momentum = o->momentum;
    t.beta_1 = o->beta_1;
    t.beta_2 = o->beta_2;
    t.epsilon = o->epsilon;
    t.weight_decay = o->decay;
    t.clip_value = o->clip_value < 0 ? 0 : o->clip_value;
    t.clip_norm = o->clip_norm < 0 ? 0 : o->clip_norm;
    t.freeze = o->freeze;
    t.schedule = o->schedule;
    t.accumulate = (uint32_t)o->accumulate;
    t.shards = (uint32_t)o->shards;
    t.recompute = o->recompute;
    t.memory_limit = (uint64_t)o->memory_limit << 20;
    t.seed = j->args->seed < 0 ? 0 : (uint64_t)j->args->seed;
    t.device = j->args->device;
    t.math_mode = j->args->math_mode;
    t.fallback = j->args->fallback;
    t.no_programs = j->args->programs == 2;
    t.deterministic = j->args->deterministic;
    j->has_accuracy = !t.loss || strcmp(t.loss, CROSS_LOSS) == 0;
    note_conditions(j);
    if (o->loss_scale)
        status = read_loss_scale(o->loss_scale, &t, err);
    if (!status && o->class_weights)
        status = read_class_weights(o->class_weights, &weights, &t.n_class_weights, err);
    t.class_weights = weights;
    if (!status)
        status = tfr_trainer_create(j->runtime, j->graph, &t, &j->trainer, err);
    free(weights);
    return status;
}

/* What is written at the end only is tried first. */
static tfr_status try_files(const cli_training *o, tfr_err *err)
{
    tfr_status status = o->export ? tfr__writer_try(o->export, err) : TFR_OK;
    return !status && o->plot ? tfr__writer_try(o->plot, err) : status;
}

tfr_status cli_train_prepare(cli_train_job *j, tfr_err *err)
{
    const cli_training *o = &j->args->train;
    tfr_status status = try_files(o, err);
    j->batch = o->batch < 0 ? BATCH : o->batch;
    j->epochs = o->epochs >= 0 ? o->epochs : CNN_EPOCHS;
    if (!status)
        status = tfr_dataset_open(o->data, &j->data, &j->test, err);
    if (!status)
        status = make_graph(j, err);
    if (!status)
        status = check_input(j, err);
    if (!status)
        status = cli_open_runtime(j->args, &j->runtime, err);
    if (!status)
        status = make_trainer(j, err);
    return status ? status : check_output(j, err);
}
