/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/peer.h: the others. Each function adds a contender to the contest, or remembers why it
 * cannot: a peer that the user did not ask for is not mentioned, one that is not there is a skip.
 */
#ifndef TFR_BENCH_PEER_H
#define TFR_BENCH_PEER_H

#include "contest.h"

/* A product c = a * b of float32, m x k times k x n, that every peer is given. */
typedef struct bench_product {
    int64_t m, n, k;
    const float *a, *b;
    const double *samples; /* true values of some elements of c, for errors */
    const int64_t *places; /* which */
    uint32_t n_samples;
    bool constant; /* b never changes and may be packed before the first run */
} bench_product;

double bench_product_error(const bench_product *product, const float *c);

/* dlopen of a peer's library: the file that the user named, else the first of names, which end with
 * NULL. NULL after remembering the skip. */
void *bench_peer_open(bench_contest *contest, const char *peer, const char *const *names);
/* The file that --library gives for this peer, or NULL. */
const char *bench_peer_file(const bench_options *options, const char *peer);
/* A skip with a sentence of its own. */
void bench_peer_skip(bench_contest *contest, const char *peer, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Compares outputs of floating-point types of the contender that was added last with ours, and sets
 * its error: the largest difference, NaN differing from all but NaN. False after taking it out
 * again, with a skip, for a difference above a hundredth of the largest value.
 */
bool bench_peer_agrees(bench_contest *contest, const char *peer, tfr_tensor *const *ours,
                       uint32_t n, const void *const *theirs);

/* Each takes one run for the error of its result, too. */
void bench_add_onednn(bench_contest *contest, const bench_product *product);
void bench_add_openblas(bench_contest *contest, const bench_product *product);
void bench_add_ort_product(bench_contest *contest, const bench_product *product);
void bench_add_python(bench_contest *contest, const bench_product *product);

/* The training of training.h: two forms of lists of oneDNN's primitives, and Python's frameworks.
 */
struct bench_training;
void bench_add_onednn_training(bench_contest *contest, const struct bench_training *training);
void bench_add_python_training(bench_contest *contest, const struct bench_training *training);

/* The lines of train_peers.py, then NULL; made at build time. */
extern const char *const bench_train_script[];

/* The file of ONNX Runtime's library, given or in Python's package, written to path; NULL = dlopen
 * finds it, or it is not there. Asking Python takes longer than starting ONNX Runtime. */
const char *bench_ort_file(const bench_options *options, char *path, size_t capacity);

/* ONNX Runtime on a chain of n nodes that add one element, and on a file. */
void bench_add_ort_chain(bench_contest *contest, int64_t n);
/* Models: what they compute for outputs is compared with these. */
void bench_add_openvino_model(bench_contest *contest, const char *path, const tfr_graph *graph,
                              tfr_tensor *const *inputs, uint32_t n_inputs,
                              tfr_tensor *const *outputs, uint32_t n_outputs);
void bench_add_ort_model(bench_contest *contest, const char *path, const tfr_graph *graph,
                         tfr_tensor *const *inputs, uint32_t n_inputs, tfr_tensor *const *outputs,
                         uint32_t n_outputs);

#endif
