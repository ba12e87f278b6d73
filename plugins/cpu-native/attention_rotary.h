/* SPDX-License-Identifier: Apache-2.0 */
/* attention_rotary.h: RotaryEmbedding. */
#ifndef NATIVE_ATTENTION_ROTARY_H
#define NATIVE_ATTENTION_ROTARY_H

#include "kernel.h"

void native_rotary_supports(const tfr_plugin_device *device, const tfr_call *call,
                            tfr_answer *answer);
void native_rotary_prepare(native_build *b, const tfr_call *call);

#endif
