/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/training.h: the training that every contender of `tfrun bench train` is given: the CNN of
 * the TensorFlow guides for MNIST, its initial weights, a data set as bytes, and the order of the
 * samples in each epoch. Adam as in tfrun/train.h, cross-entropy of scores.
 */
#ifndef TFR_BENCH_TRAINING_H
#define TFR_BENCH_TRAINING_H

#include "contest.h"

enum {
    BENCH_SIDE = 28,
    BENCH_PIXELS = BENCH_SIDE * BENCH_SIDE,
    BENCH_CLASSES = 10,
    BENCH_CNN_LAYERS = 5, /* three convolutions, two dense layers; each has a weight and a bias */
    BENCH_CNN_PARAMS = 2 * BENCH_CNN_LAYERS,
    BENCH_CHECK_STEPS = 20 /* of which losses are compared */
};

/* Multiplications and additions of a sample, forward and backward, all zeros counted. */
#define BENCH_CNN_FLOPS (2.0 * (389376 + 6690816 + 995328 + 112512))

/* Weights and biases by turns; elements of each, in ONNX's layouts. */
extern const int64_t bench_cnn_sizes[BENCH_CNN_PARAMS];
extern const char *const bench_cnn_names[BENCH_CNN_PARAMS];

typedef struct bench_training {
    uint8_t *images; /* n_train of 28 x 28, then n_test */
    uint8_t *labels;
    float *weights[BENCH_CNN_PARAMS];
    int64_t n_train, n_test;
    uint32_t batch;
    uint64_t seed;
} bench_training;

/* Reads the data set; batch and seed are set, weights are not. bench_training_finish in any case.
 */
TFR_MUST_CHECK tfr_status bench_training_load(bench_training *training,
                                              const bench_options *options, tfr_err *err);
void bench_training_finish(bench_training *training);
/* Bytes of images and labels. */
uint64_t bench_training_bytes(const bench_training *training);

/* Where a contender is in the epochs. Everyone's order is the same. */
typedef struct bench_cursor {
    const bench_training *training;
    int64_t *order; /* n_train samples */
    int64_t epoch, position;
} bench_cursor;

TFR_MUST_CHECK tfr_status bench_cursor_init(bench_cursor *cursor, const bench_training *training,
                                            tfr_err *err);
/* The samples of the next batch; *n are as many as are left of the epoch at most. */
const int64_t *bench_cursor_next(bench_cursor *cursor, uint32_t *n);
void bench_cursor_finish(bench_cursor *cursor);

#endif
