/* SPDX-License-Identifier: Apache-2.0 */
/* product.h: MatMul and Gemm of float32, by gemm.h. */
#ifndef TFR_DNN_PRODUCT_H
#define TFR_DNN_PRODUCT_H

#include "kernel.h"

void tfr_dnn_product_supports(const tfr_plugin_device *device, const tfr_call *call,
                              tfr_answer *answer);
void tfr_dnn_product_prepare(tfr_dnn_build *b, const tfr_call *call);

#endif
