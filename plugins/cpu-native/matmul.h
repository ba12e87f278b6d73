/* SPDX-License-Identifier: Apache-2.0 */
/* matmul.h: MatMul and Gemm of float32, by gemm.h. */
#ifndef NATIVE_MATMUL_H
#define NATIVE_MATMUL_H

#include "gemm.h"
#include "kernel.h"

void native_matmul_supports(const tfr_plugin_device *device, const tfr_call *call,
                            tfr_answer *answer);
void native_matmul_prepare(native_build *b, const tfr_call *call);
/* m, n, k, steps of rows and the batch of numpy.matmul; false: its dims do not merge. */
bool native_matmul_dims(const tfr_operand *a, const tfr_operand *b, native_gemm_shape *s);

#endif
