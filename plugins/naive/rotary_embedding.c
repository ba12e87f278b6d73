/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RotaryEmbedding (ONNX 23; Su et al., arXiv:2104.09864). Of each head's S elements the first P
 * (rotary_embedding_dim, or all) turn in pairs (a, b) = (j, j + P/2), or interleaved (2j, 2j + 1):
 *
 *   y[a] = cos[j] * x[a] - sin[j] * x[b];   y[b] = sin[j] * x[a] + cos[j] * x[b]
 *
 * X, Y [B N T S] or [B T N*S]; cos and sin caches [max P/2] at row position_ids[b,t], or without
 * position_ids [B T P/2]. The rest is copied. In double, rounded once; NaN spreads.
 */
#include "tensor.h"

static int32_t read_row(const naive_tensor *positions, int64_t token, int64_t rows, int64_t *row,
                        tfr_err *err)
{
    *row = token;
    if (!positions->operand)
        return TFR_OK;
    *row = naive_read_int(positions, token);
    if (*row < 0 || *row >= rows)
        return tfr_fail(err, TFR_EINVAL, "position %lld of token %lld is outside [0, %lld)",
                        (long long)*row, (long long)token, (long long)rows);
    return TFR_OK;
}

static int32_t run_rotary(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), cosines = naive_input(k, launch, 1),
                 sines = naive_input(k, launch, 2), positions = naive_input(k, launch, 3),
                 y = naive_output(k, launch, 0);
    bool heads_first = x.rank == 4, interleaved = tfr_call_int(&k->call, "interleaved", 0) != 0;
    int64_t heads = heads_first ? x.dims[1] : tfr_call_int(&k->call, "num_heads", 1), i;
    int64_t T = x.dims[heads_first ? 2 : 1], S = heads_first ? x.dims[3] : x.dims[2] / heads;
    int64_t P = tfr_call_int(&k->call, "rotary_embedding_dim", 0);

    if (P == 0)
        P = S;
    if (x.n > 0 && (P > S || P % 2 != 0 || cosines.dims[cosines.rank - 1] != P / 2))
        return tfr_fail(err, TFR_ESHAPE, "%lld of %lld elements cannot turn with %lld cosines",
                        (long long)P, (long long)S, (long long)cosines.dims[cosines.rank - 1]);
    for (i = 0; i < x.n; i++) {
        int64_t s = i % S, t = heads_first ? i / S % T : i / (S * heads) % T,
                b = i / (S * heads * T), j, pair, row;
        bool first = interleaved ? s % 2 == 0 : s < P / 2;
        double c, v;
        int32_t status;
        if (s >= P) {
            naive_copy(y.dtype, y.out, i, x.in, i);
            continue;
        }
        status = read_row(&positions, b * T + t, cosines.dims[0], &row, err);
        if (status)
            return status;
        j = interleaved ? s / 2 : s % (P / 2);
        pair = (first ? 1 : -1) * (interleaved ? 1 : P / 2);
        c = naive_read(&cosines, row * (P / 2) + j);
        v = naive_read(&sines, row * (P / 2) + j) * naive_read(&x, i + pair);
        naive_write(&y, i, c * naive_read(&x, i) + (first ? -v : v));
    }
    return TFR_OK;
}

const naive_op naive_rotary_embedding_ops[] = {
    {.domain = "", .name = "RotaryEmbedding", .since_version = 23, .run = run_rotary},
    {.name = NULL},
};
