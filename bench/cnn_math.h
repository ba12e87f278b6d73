/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/cnn_math.h: what a training step of a peer needs and oneDNN has not, with the widest
 * vectors of the processor: gather, sums of gradients, loss, Adam.
 */
#ifndef TFR_BENCH_CNN_MATH_H
#define TFR_BENCH_CNN_MATH_H

#include <stddef.h>
#include <stdint.h>

/* Pixels of n images, divided by 255. */
void cnn_gather(float *out, const uint8_t *images, const int64_t *order, uint32_t n);

/* sum += more */
void cnn_accumulate(float *sum, const float *more, size_t n);

/* Adam as tfrun/train.h has it: with the rate of this update, and epsilon. */
typedef struct cnn_adam {
    float beta_1, beta_2, rate, epsilon;
} cnn_adam;
cnn_adam cnn_adam_at(int64_t update);

/* One pass over the elements from `from` of all arrays: the gradient is the sum of n_parts. p, m
 * and v are those of the weight that the parts are of. */
void cnn_update(const cnn_adam *adam, float *p, float *m, float *v, const float *const *parts,
                uint32_t n_parts, size_t from, size_t n);

/* Adds the cross-entropies of n samples to *loss, and writes their gradients, divided by n_batch.
 */
void cnn_loss(const float *scores, const uint8_t *labels, const int64_t *order, uint32_t n,
              uint32_t n_batch, float *gradient, double *loss);

#endif
