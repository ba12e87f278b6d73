/* SPDX-License-Identifier: Apache-2.0 */
/* quantize.h: QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear. */
#ifndef NATIVE_QUANTIZE_H
#define NATIVE_QUANTIZE_H

#include "kernel.h"

void native_quantize_supports(const tfr_plugin_device *device, const tfr_call *call,
                              tfr_answer *answer);
void native_quantize_prepare(native_build *b, const tfr_call *call);
void native_dynamic_quantize_supports(const tfr_plugin_device *device, const tfr_call *call,
                                      tfr_answer *answer);
void native_dynamic_quantize_prepare(native_build *b, const tfr_call *call);

#endif
