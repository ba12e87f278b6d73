/* SPDX-License-Identifier: Apache-2.0 */
/*
 * constants.h: packed constants of a device, each once for all programs that want it. The key holds
 * the addresses of what it is made from, and numbers that say how.
 */
#ifndef NATIVE_CONSTANTS_H
#define NATIVE_CONSTANTS_H

#include "program.h"

/* [device]. NULL = no memory; *made = it was not there before: the caller fills its zeros. */
struct native_constant *native_take_constant(tfr_plugin_device *device,
                                             const native_constant_key *key, uint64_t bytes,
                                             bool *made);
float *native_constant_data(const struct native_constant *constant);
/* [device] */
void native_leave_constant(tfr_plugin_device *device, struct native_constant *constant);

#endif
