/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule.h: learning rates over a training, from texts as tfrun/train.h explains them: by which
 * factor the rate of a step is multiplied.
 */
#ifndef TFR_NN_SCHEDULE_H
#define TFR_NN_SCHEDULE_H

#include <tfrun/status.h>

typedef enum tfr__schedule_kind {
    TFR__SCHEDULE_CONSTANT,
    TFR__SCHEDULE_PIECEWISE,
    TFR__SCHEDULE_EXPONENTIAL,
    TFR__SCHEDULE_COSINE,
    TFR__SCHEDULE_POLYNOMIAL,
    TFR__SCHEDULE_ONE_CYCLE,
    TFR__SCHEDULE_PLATEAU,
    TFR__N_SCHEDULES
} tfr__schedule_kind;

enum { TFR__MOST_PIECES = 16 };

typedef struct tfr__schedule {
    tfr__schedule_kind kind;
    double steps, warmup, start, end, factor, power, stairs, peak, patience, delta, cooldown;
    uint32_t n_at, n_factors; /* of a piecewise one */
    double at[TFR__MOST_PIECES], factors[TFR__MOST_PIECES];
} tfr__schedule;

/* What a plateau knows of the values so far. */
typedef struct tfr__plateau {
    double best, waited, cooling, factor;
} tfr__plateau;
#define TFR__PLATEAU_INIT                                                                          \
    {                                                                                              \
        .best = INFINITY, .factor = 1                                                              \
    }

/* TFR_EINVAL for a text that is none, saying what there is. */
TFR_MUST_CHECK tfr_status tfr__schedule_init(tfr__schedule *schedule, const char *text,
                                             tfr_err *err);
/* Of the step behind so many; without that of a plateau. */
double tfr__schedule_factor(const tfr__schedule *schedule, int64_t steps);
/* A value that is to become less was seen. */
void tfr__schedule_see(const tfr__schedule *schedule, tfr__plateau *plateau, double value);

#endif
