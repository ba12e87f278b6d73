/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/train.h (libtfrun-nn): trains a graph, one made with tfrun/net.h or read from an ONNX
 * model. A trainer makes of it a step, one graph with the loss, its gradients (tfrun/autodiff.h)
 * and the optimizer's updates, whose state is variables of a session and stays on the device. What
 * it shows and stores is read when it is asked for.
 *
 * What is trained: constants of floating-point elements that are weights. Those of one element are
 * not, but for the weights of layers; nor are scales of Resize and of quantization. In training
 * BatchNormalization normalizes by the batch and moves its running mean and variance, and Dropout
 * drops; in evaluation and in the exported graph both do as the given graph says.
 *
 * Threads: one at a time for each trainer.
 */
#ifndef TFRUN_TRAIN_H
#define TFRUN_TRAIN_H

#include <tfrun/dataset.h>
#include <tfrun/net.h>
#include <tfrun/session.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tfr_trainer tfr_trainer;

/*
 * What of the forward part of a step is computed again where the backward part reads it, so that it
 * is not kept until then. Such a step is not compiled into programs, which would compute it as soon
 * as they can; the bits are those of another one that is not.
 */
typedef enum tfr_train_recompute {
    TFR_RECOMPUTE_NONE = 0,
    /* What costs little: functions of elements, normalizations, pools, views. */
    TFR_RECOMPUTE_CHEAP = 1,
    /* All, products and convolutions too, from what passes between as many segments of the graph as
     * the root of their number: about a third of a step more, for the least memory. */
    TFR_RECOMPUTE_SEGMENTS = 2
} tfr_train_recompute;

/*
 * Losses, each a mean over the batch:
 *   "softmax_cross_entropy"  of scores [N, C, ...] before softmax, and int64 classes [N, ...]; a
 *                            Softmax that ends the graph is left out of it
 *   "binary_cross_entropy"   of scores before sigmoid, and targets in [0, 1] of the same shape; a
 *                            Sigmoid that ends the graph is left out of it
 *   "mse"                    squares of differences from targets of the same shape, over all
 *                            elements
 *
 * Optimizers; t counts updates from 1, g is the gradient, d the decay, c = sqrt(1 - beta_2^t):
 *   "adam"   m += (g - m) (1 - beta_1), v += (g^2 - v) (1 - beta_2),
 *            p -= rate c / (1 - beta_1^t) m / (sqrt(v) + epsilon), the form of Kingma and Ba, 2014,
 *            section 2, with "epsilon hat" .001, .9, .999, 1e-7; TFR_NET_TORCH has epsilon c in
 *            place of epsilon, which is 1e-8
 *   "adamw"  the same after p -= rate d p, with d .004, for TFR_NET_TORCH .01 (Loshchilov and
 *            Hutter, 2017)
 *   "sgd"    m = momentum m - rate g, p += m, with rate .01 and momentum 0; for TFR_NET_TORCH
 *            m = momentum m + g, p -= rate m, with rate .001
 * Order: clip, decay, update. For TFR_NET_TORCH decay of "adam" and "sgd" is g += d p, for others
 * p -= rate d p before the update; and norms clip by min(1, bound / (norm + 1e-6)).
 *
 * Schedules, such as "cosine:steps=1000,warmup=100": the rate of a step is learning_rate times a
 * factor, with s the number of updates before it, computed in double:
 *   "constant"     1
 *   "piecewise"    at=1000/2000,factors=.1/.01: 1, and from s > 1000 on .1, from s > 2000 on .01
 *   "exponential"  steps=S,factor=F: F^(s/S); with stairs=1 s/S is rounded down
 *   "cosine"       steps=S,end=0: end + (1 - end) (1 + cos(pi min(s/S, 1))) / 2
 *   "polynomial"   steps=S,power=1,end=0: end + (1 - end) (1 - min(s/S, 1))^power
 *   "one-cycle"    steps=S,peak=.3,start=.04,end=4e-6: from start up to 1 at peak S - 1, then down
 *                  to end at S - 1, both along half a cosine
 *   "plateau"      factor=.1,patience=10,delta=1e-4,cooldown=0,end=0: times factor, but not below
 *                  end, whenever tfr_trainer_see has seen `patience` values in a row without one
 *                  that is less than the best by more than delta; not within cooldown values of
 *                  the last time
 * All but one-cycle take warmup=W,start=0: from start up to 1 in a straight line over W steps, and
 * then the schedule with s - W.
 */
typedef struct tfr_train_options {
    uint32_t size;
    int32_t defaults;      /* tfr_net_defaults: whose optimizer */
    const char *loss;      /* NULL = "softmax_cross_entropy" */
    const char *optimizer; /* NULL = "adam" */
    /* Negative = the default of optimizer and framework. */
    double learning_rate, momentum, beta_1, beta_2, epsilon, weight_decay;
    double clip_value;     /* each element of a gradient to [-clip_value, clip_value]; 0 = not */
    double clip_norm;      /* all gradients by clip_norm / max(norm of all, clip_norm); 0 = not */
    const char *freeze;    /* weights that stay: "conv1.*,*.bias"; NULL = none */
    uint64_t seed;         /* of what the graph draws in training */
    const char *device;    /* as of a session */
    const char *math_mode; /* as of a session */
    int32_t fallback;      /* tfr_fallback */
    uint32_t no_programs;
    double clip_norm_each; /* each gradient by clip_norm_each / max(its norm, that); 0 = not */
    const char *schedule;  /* of the learning rate; NULL = none */
    uint32_t accumulate;   /* steps for an update, by the mean of their gradients; 0 is 1 */
    /*
     * By what the loss is multiplied, and gradients divided, so that small ones do not vanish in
     * float16; 0 = not, negative = 32768 if the graph computes in float16. Where gradients are not
     * finite, the update is left out and the scale halved; after 2000 updates it is doubled. Both
     * only if fixed_loss_scale is 0.
     */
    double loss_scale;
    /* s in [0, 1): targets are (1 - s) of what is given and s of the same for all classes, which in
     * "binary_cross_entropy" are two; also in evaluation. */
    double label_smoothing;
    uint32_t deterministic; /* as of a session */
    /*
     * Parts of a batch whose gradients are summed apart, nearly equal ones, and then added in their
     * order; 0 = as many as the threads of the first CPU device, at most 1024. By the same seed and
     * shards the backends naive and native compute the same bits on any number of threads; more
     * threads than shards do not help much.
     */
    uint32_t shards;
    uint32_t fixed_loss_scale; /* not 0: it stays; bad updates are left out all the same */
    /*
     * "softmax_cross_entropy": by what the loss of a target is multiplied, for each class; NULL =
     * 1. The loss of a batch is the sum by the number of targets, for TFR_NET_TORCH by the sum of
     * their weights. Not in evaluation, nor together with label_smoothing. Copied.
     */
    const float *class_weights;
    uint32_t n_class_weights;
    int32_t recompute; /* tfr_train_recompute */
    /*
     * Bytes that a plan of the step may take for values that it computes; 0 = no limit. When a step
     * has more samples than any before, and its plan takes more or the memory of a device ends, the
     * trainer goes on to the next way to compute again, from `recompute` on. TFR_ENOMEM if none is
     * enough, with nothing changed.
     */
    uint64_t memory_limit;
} tfr_train_options;
#define TFR_TRAIN_OPTIONS_INIT                                                                     \
    {                                                                                              \
        .size = (uint32_t)sizeof(tfr_train_options), .learning_rate = -1, .momentum = -1,          \
        .beta_1 = -1, .beta_2 = -1, .epsilon = -1, .weight_decay = -1, .loss_scale = -1            \
    }

/* Means over samples, each weighted alike. */
typedef struct tfr_train_metrics {
    uint32_t size;
    uint32_t has_accuracy; /* 0 = the loss knows none */
    int64_t samples;
    double loss;
    double accuracy; /* of the classes with the highest score, the first of equals */
} tfr_train_metrics;

/*
 * Retains runtime and graph; options may be NULL. The graph has one input and one output with
 * samples in dim 0. TFR_EINVAL for an option that there is not, listing those that there are;
 * TFR_EUNSUPPORTED for a node that cannot be differentiated.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_trainer_create(tfr_runtime *runtime, tfr_graph *graph,
                                                     const tfr_train_options *options,
                                                     tfr_trainer **out, tfr_err *err);
/* NULL is fine. */
TFR_API void tfr_trainer_destroy(tfr_trainer *trainer);

/*
 * One update with a batch of any size, or a share of it with `accumulate`. The samples' losses
 * before it are added to the metrics. After an error nothing has changed, or, where the error is
 * TFR_ELOST, state is gone that a checkpoint has.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_trainer_step(tfr_trainer *trainer, tfr_tensor *input,
                                                   tfr_tensor *target, tfr_err *err);
/*
 * Puts all samples of a data set where the step is computed, as constants, for
 * tfr_trainer_step_held, which takes the numbers of samples and copies nothing else to the device,
 * until this is called with another set or NULL, or tfr_trainer_step is. Same bits as that one with
 * what tfr_dataset_gather gives. Makes another session of the step and retains the set.
 * TFR_EUNSUPPORTED with memory_limit; after an error nothing has changed.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_trainer_hold(tfr_trainer *trainer, tfr_dataset *dataset,
                                                   tfr_err *err);
/*
 * samples: [n] of i64, each from 0 to less than there are; or [steps, n] for so many steps, with
 * the bits of as many calls, which a device that can takes without the host between them. After an
 * error some of them may have been made. TFR_ENOMEM as well if the first one finds no memory for
 * the samples.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_trainer_step_held(tfr_trainer *trainer, tfr_tensor *samples,
                                                        tfr_err *err);
/* Not 0: the step is for a device with memory of its own, and the samples would take no more than a
 * quarter of it. */
TFR_API uint32_t tfr_trainer_should_hold(const tfr_trainer *trainer, const tfr_dataset *dataset);
/* Of all steps since the last call, or since the trainer was made. */
TFR_API TFR_MUST_CHECK tfr_status tfr_trainer_read_metrics(tfr_trainer *trainer,
                                                           tfr_train_metrics *out, tfr_err *err);
/* Adds those of a batch, as the weights are now, to *metrics, which is zero but for size at first.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_trainer_evaluate(tfr_trainer *trainer, tfr_tensor *input,
                                                       tfr_tensor *target,
                                                       tfr_train_metrics *metrics, tfr_err *err);

/* Counts updates from 0, none that was left out and one for `accumulate` steps. */
TFR_API TFR_MUST_CHECK tfr_status tfr_trainer_steps(tfr_trainer *trainer, int64_t *out,
                                                    tfr_err *err);
/* With a schedule: what its factors multiply. */
TFR_API TFR_MUST_CHECK tfr_status tfr_trainer_set_learning_rate(tfr_trainer *trainer, double rate,
                                                                tfr_err *err);

/* A value that is to become less, such as the loss of a validation after each epoch. The schedule
 * "plateau" goes by it, and others do nothing. */
TFR_API TFR_MUST_CHECK tfr_status tfr_trainer_see(tfr_trainer *trainer, double value, tfr_err *err);

/* The given graph with the weights as they are now; the caller owns it. */
TFR_API TFR_MUST_CHECK tfr_status tfr_trainer_graph(tfr_trainer *trainer, tfr_graph **out,
                                                    tfr_err *err);

/* The session of the step, which the trainer owns: where its nodes run, what it copies, what it
 * draws random numbers from. With memory_limit a step may make another one. */
TFR_API tfr_session *tfr_trainer_session(tfr_trainer *trainer);
/* That it was made with; lives as long as the trainer. */
TFR_API tfr_runtime *tfr_trainer_runtime(tfr_trainer *trainer);
/* What tfr_train_options.shards came to; and recompute, as of the last step. */
TFR_API uint32_t tfr_trainer_shards(const tfr_trainer *trainer);
TFR_API tfr_train_recompute tfr_trainer_recompute(const tfr_trainer *trainer);

/* All state by name: weights, running statistics, the optimizer's, metrics. tfrun/checkpoint.h
 * keeps it in files. */
TFR_API TFR_MUST_CHECK tfr_status tfr_trainer_get_variable(tfr_trainer *trainer, const char *name,
                                                           tfr_tensor **out, tfr_err *err);
TFR_API TFR_MUST_CHECK tfr_status tfr_trainer_set_variable(tfr_trainer *trainer, const char *name,
                                                           const tfr_tensor *value, tfr_err *err);
TFR_API uint32_t tfr_trainer_n_variables(const tfr_trainer *trainer);
/* Lives as long as the trainer; NULL for no i. */
TFR_API const char *tfr_trainer_variable(const tfr_trainer *trainer, uint32_t i);

#ifdef __cplusplus
}
#endif

#endif
