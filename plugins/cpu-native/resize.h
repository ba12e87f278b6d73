/* SPDX-License-Identifier: Apache-2.0 */
/* resize.h: Resize of one axis, or of two beside each other. */
#ifndef NATIVE_RESIZE_H
#define NATIVE_RESIZE_H

#include "kernel.h"

void native_resize_supports(const tfr_plugin_device *device, const tfr_call *call,
                            tfr_answer *answer);
void native_resize_prepare(native_build *b, const tfr_call *call);

#endif
