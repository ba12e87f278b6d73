/* SPDX-License-Identifier: Apache-2.0 */
/* bench/product.h: a product as tfrun makes it: a graph of one MatMul, bound to its tensors. */
#ifndef TFR_BENCH_PRODUCT_H
#define TFR_BENCH_PRODUCT_H

#include "peer.h"

typedef struct bench_ours {
    tfr_graph *graph;
    tfr_session *session;
    tfr_binding *binding;
    tfr_tensor *a, *b, *c;
} bench_ours;

/* Does the device, NULL = the best, compute on processors of the host? */
bool bench_on_host(const tfr_runtime *runtime, const char *device);

/* The product's memory stays the caller's. bench_ours_finish in any case. */
TFR_MUST_CHECK tfr_status bench_ours_init(bench_ours *ours, tfr_runtime *runtime,
                                          const char *device, const char *math_mode,
                                          const bench_product *product, tfr_err *err);
void bench_ours_finish(bench_ours *ours);
/* "tfrun", or "tfrun f32x6" */
const char *bench_ours_name(const char *math_mode, char *text, size_t capacity);
/* "onednn:0 on CPU:0": where the MatMul runs. */
void bench_ours_note(const bench_ours *ours, char *text, size_t capacity);

#endif
