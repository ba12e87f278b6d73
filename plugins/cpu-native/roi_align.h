/* SPDX-License-Identifier: Apache-2.0 */
/* roi_align.h: RoiAlign and MaxRoiPool of float32. */
#ifndef NATIVE_ROI_ALIGN_H
#define NATIVE_ROI_ALIGN_H

#include "kernel.h"

void native_roi_align_supports(const tfr_plugin_device *device, const tfr_call *call,
                               tfr_answer *answer);
void native_roi_align_prepare(native_build *b, const tfr_call *call);
void native_max_roi_pool_supports(const tfr_plugin_device *device, const tfr_call *call,
                                  tfr_answer *answer);
void native_max_roi_pool_prepare(native_build *b, const tfr_call *call);

#endif
