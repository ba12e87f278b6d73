/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random.h: RandomNormal, RandomUniform, their Like forms, Bernoulli, Dropout, and in
 * random_classes.c Multinomial.
 */
#ifndef NATIVE_RANDOM_H
#define NATIVE_RANDOM_H

#include <tfrun/plugin_random.h>

#include "move.h"

/* What the numbers of an op come from: its seed, or that of the session. */
typedef struct native_seed {
    uint32_t subsequence;
    bool has_seed, each_run; /* each_run: runs differ with an attribute, too */
    uint64_t seed;
} native_seed;

native_seed native_read_seed(const tfr_call *call);
/* Of a launch: writes its subsequence. */
tfr_random_state native_start_random(const native_seed *seed, const tfr_launch *launch,
                                     uint32_t *subsequence);

void native_random_supports(const tfr_plugin_device *device, const tfr_call *call,
                            tfr_answer *answer);
void native_random_prepare(native_build *b, const tfr_call *call);
void native_dropout_supports(const tfr_plugin_device *device, const tfr_call *call,
                             tfr_answer *answer);
void native_dropout_prepare(native_build *b, const tfr_call *call);
void native_classes_supports(const tfr_plugin_device *device, const tfr_call *call,
                             tfr_answer *answer);
void native_classes_prepare(native_build *b, const tfr_call *call);

#endif
