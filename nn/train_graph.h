/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train_graph.h: the graphs of a trainer, all made of the one that it was given: the step with
 * loss, gradients and updates; the evaluation; and the one that is exported.
 */
#ifndef TFR_NN_TRAIN_GRAPH_H
#define TFR_NN_TRAIN_GRAPH_H

#include <tfrun/dataset.h>
#include <tfrun/train.h>

#include "graph_copy.h"
#include "graph_kit.h"

/* What becomes of a value of the given graph. */
typedef enum tfr__part {
    TFR__PART_FIXED = 0,  /* a constant that stays, or no constant */
    TFR__PART_WEIGHT = 1, /* trained */
    TFR__PART_RUNNING = 2 /* moved by its node: a running mean or variance */
} tfr__part;

typedef enum tfr__loss {
    TFR__LOSS_SOFTMAX,
    TFR__LOSS_SIGMOID,
    TFR__LOSS_SQUARES,
    TFR__N_LOSSES
} tfr__loss;

typedef struct tfr__train_model {
    tfr_graph *graph; /* as given */
    tfr__part *parts; /* by value of it */
    tfr_value scores; /* that the loss takes */
    tfr__loss loss;
    double smoothing;       /* of targets */
    tfr_tensor *weights;    /* of classes, or NULL */
    bool by_weights;        /* the loss is a mean by them, not by the number of targets */
    tfr_value_type targets; /* of what the loss compares them with */
    int64_t n_classes;      /* TFR__LOSS_SOFTMAX; -1 = not known */
} tfr__train_model;

/* The optimizer's numbers, none of them a default any more. */
typedef struct tfr__optimizer {
    enum { TFR__ADAM, TFR__ADAMW, TFR__SGD } kind;
    bool torch, is_scheduled;
    double rate, momentum, beta_1, beta_2, epsilon, decay, clip_value, clip_norm, clip_norm_each;
    int64_t accumulate; /* runs for an update */
    double loss_scale;  /* to begin with; 0 = none, negative = what the graph wants */
    bool is_fixed;      /* that scale */
} tfr__optimizer;

/* Variables of a step beside the model's own. */
#define TFR__STEPS        "optimizer.steps"
#define TFR__RATE         "optimizer.learning_rate"
#define TFR__BASE_RATE    "schedule.learning_rate" /* these two where there is a schedule */
#define TFR__PLATEAU      "schedule.plateau"       /* a tfr__plateau */
#define TFR__PENDING      "accumulate.runs"        /* since the last update */
#define TFR__LOSS_SCALE   "loss_scale.scale"
#define TFR__GOOD_STEPS   "loss_scale.good" /* updates since it changed */
#define TFR__LOSS_SUM     "metrics.loss"
#define TFR__ACCURACY_SUM "metrics.accuracy"
#define TFR__N_SAMPLES    "metrics.samples"

/* finish in any case. */
TFR_MUST_CHECK tfr_status tfr__train_model_init(tfr__train_model *model, tfr_graph *graph,
                                                const tfr_train_options *options, tfr_err *err);
void tfr__train_model_finish(tfr__train_model *model);

/* Output 0 is the loss of the batch. */
TFR_MUST_CHECK tfr_status tfr__train_step_graph(const tfr__train_model *model,
                                                const tfr__optimizer *optimizer, tfr_graph **out,
                                                tfr_err *err);
/* Output 0 is the loss of the batch, output 1, if the loss knows it, the accuracy. The model's
 * parts are variables without update. */
TFR_MUST_CHECK tfr_status tfr__train_evaluation_graph(const tfr__train_model *model,
                                                      tfr_graph **out, tfr_err *err);
/* The model with these variables of a session in place of its parts. */
TFR_MUST_CHECK tfr_status tfr__train_trained_graph(const tfr__train_model *model,
                                                   tfr_session *session, tfr_graph **out,
                                                   tfr_err *err);

/* ---- train_held.c ---------------------------------------------------------------------------- */

/*
 * The step with these samples as constants. Its one input is TFR__HELD_ROWS rows of i64, which of
 * them: a run reads the row that a variable names and moves that on by one, to the first row behind
 * the last one. So steps can follow each other without the host.
 */
#define TFR__HELD_AT "data.at"
enum { TFR__HELD_ROWS = 32 }; /* a power of 2 */
TFR_MUST_CHECK tfr_status tfr__train_held_graph(const tfr_graph *step, tfr_dataset *dataset,
                                                tfr_graph **out, tfr_err *err);

/* ---- train_loss.c ---------------------------------------------------------------------------- */

/* A mean over the batch; `trains` adds what its gradient reads. */
tfr_value tfr__train_add_loss(tfr__kit *kit, const tfr__train_model *model, bool trains,
                              tfr_value scores, tfr_value targets);
/* Of how many of the targets, as a part of 1, the highest score is that of their class. */
tfr_value tfr__train_add_accuracy(tfr__kit *kit, tfr_value scores, tfr_value targets);
/* Sums over samples, in state. */
void tfr__train_add_metrics(tfr__kit *kit, const tfr__train_model *model, tfr_value loss,
                            tfr_value scores, tfr_value targets);

/* ---- optimizer.c ----------------------------------------------------------------------------- */

TFR_MUST_CHECK tfr_status tfr__optimizer_init(tfr__optimizer *optimizer,
                                              const tfr_train_options *options, tfr_err *err);
/* A state of the optimizer for a weight, such as "adam.m/conv1.weight", zeros at first. */
tfr_value tfr__optimizer_slot(tfr__kit *kit, const char *what, tfr_value weight);
/* Adds the updates of n variables, in runs where `when` is true or TFR_VALUE_NONE; the gradients
 * become what they are when clipped. */
void tfr__optimizer_add(tfr__kit *kit, const tfr__optimizer *optimizer, tfr_value when,
                        const tfr_value *variables, tfr_value *gradients, uint32_t n);

/* ---- accumulate.c ---------------------------------------------------------------------------- */

/* By what the loss is multiplied before it is differentiated, or TFR_VALUE_NONE. */
tfr_value tfr__loss_scale(tfr__kit *kit, const tfr__optimizer *optimizer);
/* The gradients, of the loss times `scale`, become what the optimizer takes; out: when it does,
 * TFR_VALUE_NONE = in each run. */
tfr_value tfr__accumulate(tfr__kit *kit, const tfr__optimizer *optimizer, tfr_value scale,
                          const tfr_value *variables, tfr_value *gradients, uint32_t n);

#endif
