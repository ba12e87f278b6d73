/* SPDX-License-Identifier: Apache-2.0 */
/* cast.h: numbers of one type as another, for kernels and for compiled programs. */
#ifndef TFR_DNN_CAST_H
#define TFR_DNN_CAST_H

#include "kernel.h"

typedef void (*tfr_dnn_cast_fn)(const void *from, void *to, int64_t n);
/* NULL = this pair of types is not ours. */
tfr_dnn_cast_fn tfr_dnn_find_cast(int32_t from, int32_t to);

void tfr_dnn_cast_supports(const tfr_plugin_device *device, const tfr_call *call,
                           tfr_answer *answer);
void tfr_dnn_cast_prepare(tfr_dnn_build *b, const tfr_call *call);

#endif
