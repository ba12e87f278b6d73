/* SPDX-License-Identifier: Apache-2.0 */
/*
 * constants.h: packed constants of a device, each once for all programs that want it. The key holds
 * the addresses of what it is made from, and numbers that say how.
 */
#ifndef TFR_DNN_CONSTANTS_H
#define TFR_DNN_CONSTANTS_H

#include "program.h"

/* [device]. NULL = no memory; *made = it was not there before: the caller fills its zeros. */
struct tfr_dnn_constant *tfr_dnn_take_constant(tfr_plugin_device *device,
                                               const tfr_dnn_constant_key *key, uint64_t bytes,
                                               bool *made);
float *tfr_dnn_constant_data(const struct tfr_dnn_constant *constant);
/* [device] */
void tfr_dnn_leave_constant(tfr_plugin_device *device, struct tfr_dnn_constant *constant);

#endif
