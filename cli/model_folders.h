/* SPDX-License-Identifier: Apache-2.0 */
/* model_folders.h: folders that hold a model.onnx, in the layout of ONNX's backend tests. */
#ifndef TFR_CLI_MODEL_FOLDERS_H
#define TFR_CLI_MODEL_FOLDERS_H

#include "cli.h"

typedef struct cli_folders {
    char **items;
    uint32_t n, capacity;
} cli_folders;

/* Adds the folder itself if it holds a model, else those in it and below, sorted. Hidden ones are
 * left out. f is zeroed before the first call; cli_folders_finish after the last in any case. */
TFR_MUST_CHECK tfr_status cli_folders_find(cli_folders *f, const char *dir, tfr_err *err);
void cli_folders_finish(cli_folders *f);

#endif
