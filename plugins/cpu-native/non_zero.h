/* SPDX-License-Identifier: Apache-2.0 */
/* non_zero.h: NonZero. */
#ifndef NATIVE_NON_ZERO_H
#define NATIVE_NON_ZERO_H

#include "kernel.h"

void native_non_zero_supports(const tfr_plugin_device *device, const tfr_call *call,
                              tfr_answer *answer);
void native_non_zero_prepare(native_build *b, const tfr_call *call);

#endif
