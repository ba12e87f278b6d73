/* SPDX-License-Identifier: Apache-2.0 */
/* non_max_suppression.h: NonMaxSuppression. */
#ifndef NATIVE_NON_MAX_SUPPRESSION_H
#define NATIVE_NON_MAX_SUPPRESSION_H

#include "kernel.h"

void native_nms_supports(const tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer);
void native_nms_prepare(native_build *b, const tfr_call *call);

#endif
