/* SPDX-License-Identifier: Apache-2.0 */
/* top.h: the largest values of outputs, with the names of their classes. */
#ifndef TFR_CLI_TOP_H
#define TFR_CLI_TOP_H

#include "cli.h"
#include "json.h"

/* Names of classes, a line each. */
typedef struct cli_labels {
    char *bytes;
    const char **items;
    int64_t n;
} cli_labels;

/* No labels without --labels. cli_labels_finish in any case. */
TFR_MUST_CHECK tfr_status cli_labels_load(const cli_args *args, cli_labels *out, tfr_err *err);
/* The keys of output i, a list of maps; none of another output. */
TFR_MUST_CHECK tfr_status cli_labels_of_output(const tfr_graph *graph, uint32_t i, cli_labels *out,
                                               tfr_err *err);
void cli_labels_finish(cli_labels *labels);

/* "cat: 0.25, dog: 0.75, ...": the first n numbers of a table with their keys. Returns text. */
const char *cli_format_map(const cli_labels *keys, const tfr_tensor *table, int64_t n, char *text,
                           size_t capacity);

/*
 * Prints the --top values along the last dim of an output, for each of its first rows. Prints
 * nothing of what is no plain tensor of numbers with a last dim.
 */
TFR_MUST_CHECK tfr_status cli_top_print(const cli_args *args, const cli_labels *labels,
                                        const char *name, const tfr_tensor *tensor, tfr_err *err);
/* The same, a list of lists; null for what is nothing of. */
json_t *cli_top_json(const cli_args *args, const cli_labels *labels, const tfr_tensor *tensor);

#endif
