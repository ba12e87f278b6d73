/* SPDX-License-Identifier: Apache-2.0 */
/* gather_quantized.h: GatherBlockQuantized of com.microsoft, rows of float32. */
#ifndef NATIVE_GATHER_QUANTIZED_H
#define NATIVE_GATHER_QUANTIZED_H

#include "kernel.h"

void native_gather_quantized_supports(const tfr_plugin_device *device, const tfr_call *call,
                                      tfr_answer *answer);
void native_gather_quantized_prepare(native_build *b, const tfr_call *call);

#endif
