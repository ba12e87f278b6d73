/* SPDX-License-Identifier: Apache-2.0 */
/* matmul.h: the dims of a matrix product with NumPy's broadcasting, as oneDNN takes them. */
#ifndef TFR_DNN_MATMUL_H
#define TFR_DNN_MATMUL_H

#include "kernel.h"

/* Batch dims merged where both sides agree; then [batch..., M, K] x [batch..., K, N]. */
typedef struct tfr_dnn_product_dims {
    int rank; /* batch dims + 2 */
    int64_t a[TFR_MAX_RANK + 2], b[TFR_MAX_RANK + 2], c[TFR_MAX_RANK + 2];
} tfr_dnn_product_dims;

void tfr_dnn_read_product(const tfr_operand *a, const tfr_operand *b, tfr_dnn_product_dims *p);

#endif
