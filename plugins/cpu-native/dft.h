/* SPDX-License-Identifier: Apache-2.0 */
/* dft.h: DFT and STFT, and the transform that they are made of. */
#ifndef NATIVE_DFT_H
#define NATIVE_DFT_H

#include "kernel.h"

typedef struct native_complex {
    double re, im;
} native_complex;

/*
 * y[k] = sum over n of x[n] e^(-2 pi i k n / N), for any N: by its factors, and where one is a
 * large prime as a convolution (Bluestein, 1970), by transforms of a power of 2.
 */
typedef struct native_fft {
    int64_t n, length;     /* elements, and those of a transform that has small factors alone */
    native_complex *turns; /* e^(-2 pi i k / length) */
    native_complex *chirp; /* Bluestein: e^(-pi i k k / n), n of them; NULL = length is n */
    native_complex *other; /* the transform of the other side of the convolution */
} native_fft;

/* Numbers that the plan's tables take. */
int64_t native_fft_table(int64_t n);
/* Fills the tables; scratch is 2 length numbers. */
void native_fft_plan(native_fft *f, int64_t n, native_complex *tables, native_complex *scratch);
int64_t native_fft_length(int64_t n);
/* x has n numbers and room for length, as y; the result is where the answer points, in one of
 * them. */
native_complex *native_fft_run(const native_fft *f, native_complex *x, native_complex *y);

void native_dft_supports(const tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer);
void native_dft_prepare(native_build *b, const tfr_call *call);

#endif
