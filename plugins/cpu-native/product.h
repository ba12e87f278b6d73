/* SPDX-License-Identifier: Apache-2.0 */
/* product.h: MatMul and Gemm of float32, by gemm.h. */
#ifndef NATIVE_PRODUCT_H
#define NATIVE_PRODUCT_H

#include "kernel.h"

void native_product_supports(const tfr_plugin_device *device, const tfr_call *call,
                             tfr_answer *answer);
void native_product_prepare(native_build *b, const tfr_call *call);

#endif
