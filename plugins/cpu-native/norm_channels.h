/* SPDX-License-Identifier: Apache-2.0 */
/* norm_channels.h: LRN. */
#ifndef NATIVE_NORM_CHANNELS_H
#define NATIVE_NORM_CHANNELS_H

#include "move.h"

void native_lrn_supports(const tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer);
void native_lrn_prepare(native_build *b, const tfr_call *call);

#endif
