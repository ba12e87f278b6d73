/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MelWeightMatrix (ONNX 17): [dft_length / 2 + 1, num_mel_bins] weights of triangles that are
 * evenly spaced on the mel scale, mel(f) = 2595 log10(1 + f / 700). Triangle i rises from bin b[i]
 * to b[i + 1] and falls to b[i + 2], b[i] = floor((dft_length + 1) * f[i] / sample_rate), where
 * f[i] is the frequency of the i-th of num_mel_bins + 2 points from lower to upper edge. A rise of
 * width 0 is a single 1. Follows ONNX's reference implementation, which steps by 1 / (num_mel_bins
 * + 2) of the range.
 */
#include "naive.h"

#include <math.h>

static double hertz_to_mel(double f)
{
    return 2595 * log1p(f / 700) / log(10);
}

/* The value of a scalar input, of any number type. */
static double scalar(const naive_kernel *k, const tfr_launch *launch, uint32_t i)
{
    return naive_get(tfr_call_input(&k->call, i)->dtype, naive_in(k, launch, i), 0);
}

static int32_t run_melweightmatrix(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *y = tfr_call_output(&k->call, 0);
    int64_t rows = y->dims[0], mels = y->dims[1], n = rows * mels, b[3], i, j;
    double dft = scalar(k, launch, 1), rate = scalar(k, launch, 2);
    double low = hertz_to_mel(scalar(k, launch, 3)), high = hertz_to_mel(scalar(k, launch, 4));
    void *py = naive_out(k, launch, 0);

    for (i = 0; i < n; i++)
        naive_set(y->dtype, py, i, 0);
    for (i = 0; i < mels; i++) {
        for (j = 0; j < 3; j++) {
            double mel = low + (double)(i + j) * (high - low) / (double)(mels + 2);
            double bin = floor((dft + 1) * 700 * expm1(mel / 2595 * log(10)) / rate);
            if (!(bin >= 0 && bin < (double)rows))
                return tfr_fail(err, TFR_EINVAL,
                                "mel edge %lld lies at bin %g, the spectrogram has %lld",
                                (long long)(i + j), bin, (long long)rows);
            b[j] = (int64_t)bin;
        }
        if (b[0] == b[1])
            naive_set(y->dtype, py, b[1] * mels + i, 1);
        for (j = b[0]; j <= b[1] && b[0] < b[1]; j++)
            naive_set(y->dtype, py, j * mels + i, (double)(j - b[0]) / (double)(b[1] - b[0]));
        for (j = b[1]; j < b[2]; j++)
            naive_set(y->dtype, py, j * mels + i, (double)(b[2] - j) / (double)(b[2] - b[1]));
    }
    return TFR_OK;
}

const naive_op naive_mel_weight_matrix_ops[] = {
    {"", "MelWeightMatrix", 17, NULL, run_melweightmatrix, NULL, 0, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};
