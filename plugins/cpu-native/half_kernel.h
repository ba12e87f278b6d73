/* SPDX-License-Identifier: Apache-2.0 */
/* half_kernel.h: a kernel of float32 for a call of float16 or bfloat16. */
#ifndef NATIVE_HALF_KERNEL_H
#define NATIVE_HALF_KERNEL_H

#include "kernel.h"

/* Whether the call has operands of half and the op has a kernel of float32 for them. */
bool native_widens(const native_op *op, const tfr_call *call);
/* As the op's own, with the operands of half as float32. */
void native_supports_half(const tfr_plugin_device *device, const native_op *op,
                          const tfr_call *call, tfr_answer *answer);
void native_prepare_half(native_build *b, const native_op *op, const tfr_call *call);

#endif
