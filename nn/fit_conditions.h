/* SPDX-License-Identifier: Apache-2.0 */
/* fit_conditions.h: on what the bits of a training depend, beside its state: a line for each. */
#ifndef TFR_NN_FIT_CONDITIONS_H
#define TFR_NN_FIT_CONDITIONS_H

#include <tfrun/train.h>

/* Of the trainer's last step, then the lines `more`; what does not fit is cut. */
TFR_MUST_CHECK tfr_status tfr__fit_conditions(tfr_trainer *trainer, const char *more, char *text,
                                              size_t n, tfr_err *err);

/* The first line that differs as a sentence, "threads 2 then, threads 4 now"; false = none does. */
bool tfr__fit_conditions_differ(const char *then, const char *now, char *text, size_t n);

#endif
