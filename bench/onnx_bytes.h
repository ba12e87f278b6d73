/* SPDX-License-Identifier: Apache-2.0 */
/* bench/onnx_bytes.h: tiny ONNX models in memory, for peers that read nothing else. */
#ifndef TFR_BENCH_ONNX_BYTES_H
#define TFR_BENCH_ONNX_BYTES_H

#include "peer.h"

typedef struct bench_bytes {
    unsigned char *data;
    size_t n, capacity;
    bool lost; /* memory was short */
} bench_bytes;

/* c = MatMul(a, b); b is an initializer if it is constant. Free data. */
void bench_onnx_product(const bench_product *product, bench_bytes *out);
/* y = x + x, then n - 1 times y = y + x, of one element. */
void bench_onnx_chain(int64_t n, bench_bytes *out);

#endif
