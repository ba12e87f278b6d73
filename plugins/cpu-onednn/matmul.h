/* SPDX-License-Identifier: Apache-2.0 */
/* matmul.h: the dims of a matrix product with NumPy's broadcasting, as oneDNN takes them. */
#ifndef ONEDNN_MATMUL_H
#define ONEDNN_MATMUL_H

#include "kernel.h"

/* Batch dims merged where both sides agree; then [batch..., M, K] x [batch..., K, N]. */
typedef struct onednn_product_dims {
    int rank; /* batch dims + 2 */
    int64_t a[TFR_MAX_RANK + 2], b[TFR_MAX_RANK + 2], c[TFR_MAX_RANK + 2];
} onednn_product_dims;

void onednn_read_product(const tfr_operand *a, const tfr_operand *b, onednn_product_dims *p);

#endif
