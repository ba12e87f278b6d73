/* SPDX-License-Identifier: Apache-2.0 */
/* softmax_double.h: Softmax and LogSoftmax of float64; those of float32 are items of programs. */
#ifndef NATIVE_SOFTMAX_DOUBLE_H
#define NATIVE_SOFTMAX_DOUBLE_H

#include "kernel.h"

void native_softmax_supports(const tfr_plugin_device *device, const tfr_call *call,
                             tfr_answer *answer);
void native_softmax_prepare(native_build *b, const tfr_call *call);

#endif
