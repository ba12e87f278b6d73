/* SPDX-License-Identifier: Apache-2.0 */
/* dims.h: sizes of the dims that a model leaves open, by the names that it gives them. */
#ifndef TFR_CLI_DIMS_H
#define TFR_CLI_DIMS_H

#include "cli.h"

/* Fixes the dims that --dim NAME=N names, in all inputs. TFR_EINVAL names one that there is not. */
TFR_MUST_CHECK tfr_status cli_dims_fix(const cli_args *args, tfr_graph *graph, tfr_err *err);

/*
 * What a made-up input has for a dim of this name: N of --dim, the sum for "past + sequence", else
 * what models commonly take, such as 1 for a batch and 128 for a sequence. 0 = the name says
 * nothing.
 */
int64_t cli_dims_usual(const cli_args *args, const char *name);
/* Does such a name mean the length of a sequence? */
bool cli_dims_is_sequence(const char *name);

#endif
