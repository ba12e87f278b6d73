/* SPDX-License-Identifier: Apache-2.0 */
/* random.h: RandomNormalLike, RandomUniformLike, Bernoulli, Dropout. */
#ifndef NATIVE_RANDOM_H
#define NATIVE_RANDOM_H

#include "move.h"

void native_random_supports(const tfr_plugin_device *device, const tfr_call *call,
                            tfr_answer *answer);
void native_random_prepare(native_build *b, const tfr_call *call);
void native_dropout_supports(const tfr_plugin_device *device, const tfr_call *call,
                             tfr_answer *answer);
void native_dropout_prepare(native_build *b, const tfr_call *call);

#endif
