/* SPDX-License-Identifier: Apache-2.0 */
/* made_up.h: values for inputs that the user does not give, such as a model can do with. */
#ifndef TFR_CLI_MADE_UP_H
#define TFR_CLI_MADE_UP_H

#include "model.h"

/*
 * A value of input i: open dims by --shape, --dim or their name, integers below the size of what
 * they index where the graph tells it, and 1 in masks.
 */
TFR_MUST_CHECK tfr_status cli_make_up(const cli_args *args, const cli_model *model, uint32_t i,
                                      tfr_tensor **out, tfr_err *err);

#endif
