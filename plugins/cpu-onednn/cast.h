/* SPDX-License-Identifier: Apache-2.0 */
/* cast.h: numbers of one type as another, for kernels and for compiled programs. */
#ifndef TFR_DNN_CAST_H
#define TFR_DNN_CAST_H

#include <stdbool.h>
#include <stdint.h>
#include <tfrun/plugin.h>

typedef void (*tfr_dnn_cast_fn)(const void *from, void *to, int64_t n);
/* NULL = this pair of types is not ours. */
tfr_dnn_cast_fn tfr_dnn_find_cast(int32_t from, int32_t to);

/* Whether a call is computed so; else it is one of oneDNN's. */
bool tfr_dnn_is_own_cast(const tfr_call *call);

#endif
