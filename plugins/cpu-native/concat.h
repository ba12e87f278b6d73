/* SPDX-License-Identifier: Apache-2.0 */
/* concat.h: Concat, Split and Slice. */
#ifndef NATIVE_CONCAT_H
#define NATIVE_CONCAT_H

#include "kernel.h"

void native_concat_supports(const tfr_plugin_device *device, const tfr_call *call,
                            tfr_answer *answer);
void native_concat_prepare(native_build *b, const tfr_call *call);

#endif
