/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/chain.h: products that follow each other on a device, with matrices that it has drawn
 * itself, so that what a run copies is next to nothing: what a product takes there.
 */
#ifndef TFR_BENCH_CHAIN_H
#define TFR_BENCH_CHAIN_H

#include "bench.h"

typedef struct bench_chain {
    tfr_graph *graph;
    tfr_session *session;
    tfr_binding *binding;
    tfr_tensor *y;
    uint32_t n_products;
} bench_chain;

/* X B B B ... of n x n matrices of float32; bench_chain_finish in any case. */
TFR_MUST_CHECK tfr_status bench_chain_init(bench_chain *chain, tfr_runtime *runtime,
                                           const char *device, const char *math_mode, int64_t n,
                                           tfr_err *err);
void bench_chain_finish(bench_chain *chain);

#endif
