/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/fit.h (libtfrun-nn): the loop of a training: epochs over a data set, validation after each,
 * checkpoints, and going on from one. Programs that want another loop write it with tfrun/train.h,
 * tfrun/dataset.h and tfrun/checkpoint.h, on which this one stands; `tfrun train` is this loop with
 * a progress bar. examples/train_mnist.c shows a whole program.
 */
#ifndef TFRUN_FIT_H
#define TFRUN_FIT_H

#include <tfrun/dataset.h>
#include <tfrun/train.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tfr_fit_kind {
    TFR_FIT_BEGIN = 0,      /* once, before the first step; steps is not 0 after a resume */
    TFR_FIT_STEP = 1,       /* an update was made, or several were: see tfr_fit_fn */
    TFR_FIT_VALIDATION = 2, /* a batch was validated */
    TFR_FIT_EPOCH = 3,      /* an epoch is over, and its validation */
    TFR_FIT_CHECKPOINT = 4, /* one was written */
    TFR_FIT_WARNING = 5     /* the training goes on all the same */
} tfr_fit_kind;

/* What happens. Texts and metrics live until the callback returns. */
typedef struct tfr_fit_event {
    uint32_t size;
    int32_t kind;
    int64_t epoch, epochs; /* the one at hand from 0, and how many there are in all */
    int64_t steps;         /* since the training began, those before a resume included */
    int64_t done, samples; /* so many of so many, of the epoch or of the validation */
    /* STEP: means of the epoch so far, and of the steps since such an event had them last; NULL =
     * they were not read. EPOCH: train is of the whole epoch. */
    const tfr_train_metrics *train, *recent;
    const tfr_train_metrics *validation; /* EPOCH: NULL = there are no data for it */
    uint32_t best;                       /* EPOCH: 1 = it is the best one so far */
    uint32_t reserved;
    const char *path; /* CHECKPOINT: its file */
    const char *text; /* WARNING: a sentence */
} tfr_fit_event;

/*
 * Not 0 = stop: the step or validation ends, a checkpoint is written, and fit returns. The trainer
 * may be used in it. Where samples are held on a device, steps between two with metrics are taken
 * up to 32 at once, as far as no checkpoint, limit or end of the epoch comes before. Each has its
 * event, but they come when all of them are made: the trainer is where the last one is, and that is
 * where a stop ends.
 */
typedef int32_t (*tfr_fit_fn)(void *user, const tfr_fit_event *event);

typedef enum tfr_fit_resume {
    TFR_FIT_ANEW = 0, /* TFR_EINVAL if the folder has checkpoints */
    /* From the newest checkpoint that can be loaded, or anew if the folder has none. Warns if what
     * the bits depend on is not what it was. */
    TFR_FIT_RESUME = 1,
    TFR_FIT_EXACT = 2 /* TFR_EINVAL in place of that warning, after one step, which is not kept */
} tfr_fit_resume;

typedef struct tfr_fit_options {
    uint32_t size;
    uint32_t batch; /* samples of a step */
    int64_t epochs; /* of the whole training, those before a resume included; 0 = only validate */
    int64_t max_steps; /* likewise: ends after so many; 0 = never */
    uint64_t seed;     /* of the samples' order; a checkpoint has its own */
    uint32_t no_shuffle, augment;
    int64_t report_every; /* steps between two that have metrics; the last of an epoch has them */
    const char *checkpoints;  /* folder; NULL = none are written */
    int64_t checkpoint_every; /* steps; 0 = only after each epoch and at the end */
    uint32_t keep;            /* so many of the newest, and the best; 0 = all */
    int32_t resume;           /* tfr_fit_resume */
    const char *conditions;   /* more lines for tfr_checkpoint_info, such as "rate .1"; or NULL */
    tfr_fit_fn event;         /* or NULL */
    void *user;
    /* The samples to train with lie on the device (tfr_trainer_hold): 0 = if they should, less =
     * not, more = in any case; not with augment. */
    int32_t hold;
} tfr_fit_options;
#define TFR_FIT_OPTIONS_INIT                                                                       \
    {                                                                                              \
        .size = (uint32_t)sizeof(tfr_fit_options), .batch = 64, .epochs = 1, .report_every = 10,   \
        .keep = 3                                                                                  \
    }

typedef enum tfr_fit_end {
    TFR_FIT_DONE = 0,
    TFR_FIT_STOPPED = 1, /* by the callback */
    TFR_FIT_LIMIT = 2    /* by max_steps */
} tfr_fit_end;

typedef struct tfr_fit_result {
    uint32_t size;
    int32_t end;                         /* tfr_fit_end */
    int64_t epochs, steps;               /* that are done, since the training began */
    tfr_train_metrics train, validation; /* of the last epoch; without samples: there is none */
    /* Of the epoch with the highest accuracy, or the least loss where there is no accuracy, by the
     * validation or without one by the training; NAN and 0 = none has ended. */
    double best;
    int64_t best_steps;    /* in the name of its checkpoint */
    char checkpoint[1024]; /* the last one that was written; "" = none */
} tfr_fit_result;

/*
 * Trains; what the epochs are judged by is told to the trainer's schedule, too, as a loss.
 * validation may be NULL, and so may result, which is as far as the training came after an
 * error, too. With the same options, data and trainer, any row of trainings that were stopped, or
 * killed, and resumed ends with the bits of one that was not, on the same processor, backends and
 * number of shards, and for other backends than naive and native, of threads.
 *
 * A checkpoint that cannot be written gives a warning, and the next one is tried at its time;
 * TFR_EIO is returned if it is the last one, of which the trainer still has the weights, or the
 * first one, at step 0. Earlier ones stay in any case.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_trainer_fit(tfr_trainer *trainer, tfr_dataset *train,
                                                  tfr_dataset *validation,
                                                  const tfr_fit_options *options,
                                                  tfr_fit_result *result, tfr_err *err);

#ifdef __cplusplus
}
#endif

#endif
