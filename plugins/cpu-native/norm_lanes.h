/* SPDX-License-Identifier: Apache-2.0 */
/* norm_lanes.h: ops along an axis that no program has: LpNormalization, GlobalLpPool, Hardmax. */
#ifndef NATIVE_NORM_LANES_H
#define NATIVE_NORM_LANES_H

#include "move.h"

void native_lanes_supports(const tfr_plugin_device *device, const tfr_call *call,
                           tfr_answer *answer);
void native_lanes_prepare(native_build *b, const tfr_call *call);

#endif
