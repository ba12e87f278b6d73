/* SPDX-License-Identifier: Apache-2.0 */
/* solve.h: Inverse, Solve and Det. */
#ifndef NATIVE_SOLVE_H
#define NATIVE_SOLVE_H

#include "kernel.h"

void native_solve_supports(const tfr_plugin_device *device, const tfr_call *call,
                           tfr_answer *answer);
void native_solve_prepare(native_build *b, const tfr_call *call);

#endif
