/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention (ONNX 25; Vaswani et al., arXiv:1706.03762; grouped heads as arXiv:2305.13245). For
 * each batch b, head h of Q with its head g = h / (HQ / HK) of K and V, and query i:
 *
 *   s[j] = scale * sum over d of Q[b,h,i,d] * K[b,g,j,d];  s = softcap * tanh(s / softcap) if > 0
 *   a[j] = attn_mask[b,h,i,j] (bool: 0 or -inf), plus -inf where j is beyond nonpad_kv_seqlen[b],
 *          beyond i + offset with is_causal, or outside the window around i + offset
 *   p    = softmax(s + a), all 0 if every a is -inf;   Y[b,h,i,:] = sum over j of p[j] * V[b,g,j,:]
 *
 * K and V are past_key and past_value, then K and V (present_key and present_value). offset is the
 * past's length, or nonpad_kv_seqlen[b] - TQ without a past, or 0; a nonpad_kv_seqlen[b] outside
 * [0, TK] is an error. Q [B HQ TQ S] or [B TQ HQ*S], K [B HK TK S], V [B HK TK SV] likewise; Y as
 * Q with SV. A mask that is too short is -inf behind.
 * qk_matmul_output is s before softcap, s, s + a, or p (qk_matmul_output_mode 0 to 3).
 * All in double, whatever softmax_precision says; outputs are rounded once. NaN spreads.
 */
#include "tensor.h"

#include <math.h>

typedef struct attention {
    naive_tensor q, k, v, mask, past_k, past_v, lens, y, present_k, present_v, scores;
    int64_t HQ, HK, TQ, past, T, S, SV; /* T: keys with the past */
    int64_t left, right, mode;
    double scale, softcap;
    bool causal;
} attention;

/* Row (b, h, t) of a tensor [B H T S], or [B T H*S] if its rank is 3. */
static int64_t row_at(const naive_tensor *t, int64_t H, int64_t T, int64_t S, int64_t b, int64_t h,
                      int64_t i)
{
    return (t->rank == 3 ? (b * T + i) * H + h : (b * H + h) * T + i) * S;
}

/* Element d of key or value j, from the past or from what is new. */
static double read_cached(const attention *a, const naive_tensor *past, const naive_tensor *t,
                          int64_t S, int64_t b, int64_t g, int64_t j, int64_t d)
{
    if (j < a->past)
        return naive_read(past, ((b * a->HK + g) * a->past + j) * S + d);
    return naive_read(t, row_at(t, a->HK, a->T - a->past, S, b, g, j - a->past) + d);
}

static void write_present(const attention *a, const naive_tensor *out, const naive_tensor *past,
                          const naive_tensor *t, int64_t S)
{
    naive_iter it;
    int64_t i = 0;

    if (!out->operand)
        return;
    for (naive_iter_init(&it, out->rank, out->dims); it.left > 0; naive_iter_next(&it), i++)
        naive_write(out, i,
                    read_cached(a, past, t, S, it.index[0], it.index[1], it.index[2], it.index[3]));
}

/* attn_mask at (b, h, i, j), aligned right to [B HQ TQ T]. */
static double read_mask(const attention *a, const int64_t *index)
{
    const naive_tensor *m = &a->mask;
    int64_t at = 0, i;
    int32_t d;

    if (!m->operand)
        return 0;
    for (d = 0; d < m->rank; d++) {
        i = index[4 - m->rank + d];
        if (d == m->rank - 1 && i >= m->dims[d])
            return -INFINITY;
        at = at * m->dims[d] + (m->dims[d] == 1 ? 0 : i);
    }
    if (m->dtype == TFR_DTYPE_BOOL)
        return naive_read(m, at) != 0 ? 0 : -INFINITY;
    return naive_read(m, at);
}

/* a[j] for index (b, h, i, j). */
static double bias_at(const attention *a, const int64_t *index)
{
    int64_t valid = a->lens.n ? naive_read_int(&a->lens, index[0]) : a->T;
    int64_t place = index[2] + (a->past_k.operand ? a->past : a->lens.n ? valid - a->TQ : 0);
    int64_t j = index[3];

    if (j >= valid || (a->causal && j > place) || (a->left >= 0 && place - j > a->left) ||
        (a->right >= 0 && j - place > a->right))
        return -INFINITY;
    return read_mask(a, index);
}

static double score_at(const attention *a, const int64_t *index)
{
    int64_t b = index[0], g = index[1] / (a->HQ / a->HK), d;
    int64_t q = row_at(&a->q, a->HQ, a->TQ, a->S, b, index[1], index[2]);
    double sum = 0;

    for (d = 0; d < a->S; d++)
        sum +=
            naive_read(&a->q, q + d) * read_cached(a, &a->past_k, &a->k, a->S, b, g, index[3], d);
    return sum * a->scale;
}

/* p of one query into the T places of p; index[3] is free to use. */
static void find_weights(const attention *a, int64_t *index, double *p)
{
    int64_t row = ((index[0] * a->HQ + index[1]) * a->TQ + index[2]) * a->T, j;
    bool masked = true;
    double max = -INFINITY, sum = 0;

    for (j = 0; j < a->T; j++) {
        double bias, raw;
        index[3] = j;
        bias = bias_at(a, index);
        p[j] = raw = score_at(a, index);
        if (a->softcap > 0)
            p[j] = a->softcap * tanh(raw / a->softcap);
        if (a->scores.operand && a->mode < 3)
            naive_write(&a->scores, row + j,
                        a->mode == 0   ? raw
                        : a->mode == 1 ? p[j]
                                       : p[j] + bias);
        p[j] += bias;
        masked = masked && bias == -INFINITY;
        if (p[j] > max || isnan(p[j]))
            max = p[j];
    }
    masked = masked || max == -INFINITY;
    for (j = 0; j < a->T; j++)
        sum += p[j] = masked ? 0 : exp(p[j] - max);
    for (j = 0; j < a->T; j++) {
        p[j] = masked ? 0 : p[j] / sum;
        if (a->scores.operand && a->mode == 3)
            naive_write(&a->scores, row + j, p[j]);
    }
}

static void read_attention(attention *a, const naive_kernel *k, const tfr_launch *launch)
{
    const tfr_call *call = &k->call;
    int64_t TK;

    a->q = naive_input(k, launch, 0);
    a->k = naive_input(k, launch, 1);
    a->v = naive_input(k, launch, 2);
    a->mask = naive_input(k, launch, 3);
    a->past_k = naive_input(k, launch, 4);
    a->past_v = naive_input(k, launch, 5);
    a->lens = naive_input(k, launch, 6);
    a->y = naive_output(k, launch, 0);
    a->present_k = naive_output(k, launch, 1);
    a->present_v = naive_output(k, launch, 2);
    a->scores = naive_output(k, launch, 3);
    a->HQ = a->q.rank == 3 ? tfr_call_int(call, "q_num_heads", 1) : a->q.dims[1];
    a->HK = a->k.rank == 3 ? tfr_call_int(call, "kv_num_heads", 1) : a->k.dims[1];
    a->TQ = a->q.dims[a->q.rank - 2];
    TK = a->k.dims[a->k.rank - 2];
    a->past = a->past_k.operand ? a->past_k.dims[2] : 0;
    a->T = a->past + TK;
    a->S = a->q.rank == 3 ? a->q.dims[2] / a->HQ : a->q.dims[3];
    a->SV = a->v.rank == 3 ? a->v.dims[2] / a->HK : a->v.dims[3];
    a->left = tfr_call_int(call, "left_window_size", -1);
    a->right = tfr_call_int(call, "right_window_size", -1);
    a->mode = tfr_call_int(call, "qk_matmul_output_mode", 0);
    a->softcap = tfr_call_float(call, "softcap", 0);
    a->causal = tfr_call_int(call, "is_causal", 0) != 0;
    a->scale =
        tfr_call_attr(call, "scale") ? tfr_call_float(call, "scale", 1) : 1 / sqrt((double)a->S);
}

static int32_t check_lengths(const attention *a, tfr_err *err)
{
    int64_t b;

    for (b = 0; b < a->lens.n; b++) {
        int64_t length = naive_read_int(&a->lens, b);
        if (length < 0 || length > a->T)
            return tfr_fail(err, TFR_EINVAL, "key length %lld of batch %lld is outside [0, %lld]",
                            (long long)length, (long long)b, (long long)a->T);
    }
    return TFR_OK;
}

static uint64_t workspace_attention(const tfr_call *call)
{
    const tfr_operand *k = tfr_call_input(call, 1), *past = tfr_call_input(call, 4);
    int64_t T = k->dims[k->rank - 2] + (past ? past->dims[2] : 0);

    return (uint64_t)T * sizeof(double);
}

static int32_t run_attention(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    int64_t dims[3], d, j;
    double *p = launch->workspace;
    int32_t status;
    attention a;
    naive_iter it;

    read_attention(&a, k, launch);
    if (a.HK < 1 || a.HQ % a.HK != 0)
        return tfr_fail(err, TFR_ESHAPE, "%lld heads of queries do not share %lld heads of keys",
                        (long long)a.HQ, (long long)a.HK);
    if ((status = check_lengths(&a, err)) != TFR_OK)
        return status;
    write_present(&a, &a.present_k, &a.past_k, &a.k, a.S);
    write_present(&a, &a.present_v, &a.past_v, &a.v, a.SV);
    dims[0] = a.q.dims[0];
    dims[1] = a.HQ;
    dims[2] = a.TQ;
    for (naive_iter_init(&it, 3, dims); it.left > 0; naive_iter_next(&it)) {
        int64_t b = it.index[0], h = it.index[1], g = h / (a.HQ / a.HK);
        int64_t index[4] = {b, h, it.index[2], 0};
        int64_t y = row_at(&a.y, a.HQ, a.TQ, a.SV, b, h, it.index[2]);
        find_weights(&a, index, p);
        for (d = 0; d < a.SV; d++) {
            double sum = 0;
            for (j = 0; j < a.T; j++)
                if (p[j] != 0)
                    sum += p[j] * read_cached(&a, &a.past_v, &a.v, a.SV, b, g, j, d);
            naive_write(&a.y, y + d, sum);
        }
    }
    return TFR_OK;
}

const naive_op naive_attention_ops[] = {
    {.domain = "",
     .name = "Attention",
     .since_version = 25,
     .run = run_attention,
     .workspace = workspace_attention},
    {.name = NULL},
};
