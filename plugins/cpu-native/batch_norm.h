/* SPDX-License-Identifier: Apache-2.0 */
/* batch_norm.h: BatchNormalization. */
#ifndef NATIVE_BATCH_NORM_H
#define NATIVE_BATCH_NORM_H

#include "kernel.h"

void native_batch_norm_supports(const tfr_plugin_device *device, const tfr_call *call,
                                tfr_answer *answer);
void native_batch_norm_prepare(native_build *b, const tfr_call *call);

#endif
