/* SPDX-License-Identifier: Apache-2.0 */
/* grid_sample.h: GridSample and AffineGrid. */
#ifndef NATIVE_GRID_SAMPLE_H
#define NATIVE_GRID_SAMPLE_H

#include "kernel.h"

void native_grid_sample_supports(const tfr_plugin_device *device, const tfr_call *call,
                                 tfr_answer *answer);
void native_grid_sample_prepare(native_build *b, const tfr_call *call);
void native_affine_grid_supports(const tfr_plugin_device *device, const tfr_call *call,
                                 tfr_answer *answer);
void native_affine_grid_prepare(native_build *b, const tfr_call *call);

#endif
