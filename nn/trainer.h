/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trainer.h: what the files of a trainer share (tfrun/train.h). One thread at a time works on one.
 */
#ifndef TFR_NN_TRAINER_H
#define TFR_NN_TRAINER_H

#include "schedule.h"
#include "train_graph.h"

struct tfr_trainer {
    tfr_runtime *runtime; /* that the sessions retain */
    tfr__train_model model;
    tfr_graph *step_graph, *evaluation_graph;
    tfr_graph *held_graph; /* in place of the step's, with samples; or NULL */
    tfr_session *step, *evaluation;
    tfr_session_options session_options;
    char *device, *math_mode; /* of them */
    tfr_train_recompute first, recompute;
    uint64_t memory_limit;
    int64_t most_samples;   /* of a step that is known to fit */
    const char **variables; /* names, owned by step_graph */
    uint32_t n_variables;
    bool is_current; /* the evaluation has the weights as they are now */
    /* What the learning rate follows, if it is given, and what the session's variables say to it,
     * where they were not set since. */
    tfr__schedule schedule;
    bool is_scheduled, is_known;
    bool may_skip; /* not every run updates */
    int64_t steps;
    double base_rate, rate;
    tfr__plateau plateau;
    /* Of samples that are held: their numbers for some steps, and the row of the next one as the
     * session has it, -1 = not known. */
    tfr_tensor *rows;
    int64_t at;
};

/* A session of the step that computes so much again, with samples if they are held. */
tfr_status tfr__trainer_make_step(const tfr_trainer *t, tfr_train_recompute how, tfr_session **out,
                                  tfr_err *err);

/* Takes over a session in place of the step's, whose state it gets. */
tfr_status tfr__trainer_replace_step(tfr_trainer *t, tfr_session *step, tfr_err *err);

tfr_status tfr__trainer_write_scalar(tfr_trainer *t, const char *name, tfr_dtype dtype, void *value,
                                     tfr_err *err);

/* Sets the rate of the next step. */
tfr_status tfr__trainer_follow_schedule(tfr_trainer *t, tfr_err *err);

/* Of the next n steps, so many have the rate of the first one. */
uint32_t tfr__trainer_steps_of_rate(const tfr_trainer *t, uint32_t n);

/* n_steps of the same rate, which has been set. */
tfr_status tfr__trainer_run_steps(tfr_trainer *t, tfr_tensor *const *in, uint32_t n,
                                  uint32_t n_steps, tfr_err *err);

#endif
