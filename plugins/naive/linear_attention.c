/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LinearAttention (ONNX 27): a recurrent state instead of a softmax. With heads packed in the last
 * dim, query [B T HQ*D], key [B T HK*D], value [B T HK*DV], decay g [B T HK] or [B T HK*D], beta
 * [B T HK] or [B T 1], states [B HK D DV]; for each batch, key head h, and position t in turn:
 *
 *   S  = diag(exp(g)) S                          gated, gated_delta (Yang et al., arXiv:2412.06464)
 *   v' = beta * (v - transposed(S) k), else v    delta, gated_delta (Schlag et al., 2102.11174)
 *   S  = S + k outer v'
 *   output[b,t,hq,:] = scale * transposed(S) q   for every query head hq of h
 *
 * In double, outputs are rounded once; NaN spreads. chunk_size is a hint for faster kernels.
 */
#include "tensor.h"

#include <math.h>

typedef struct linear_attention {
    naive_tensor q, k, v, past, decay, beta, y, present;
    int64_t T, HQ, HK, D, DV;
    double scale;
    double *state; /* [D DV] of one head */
    double *value; /* [DV] */
} linear_attention;

/* Steps the state of head h over position token = b * T + t. */
static void step(const linear_attention *a, int64_t token, int64_t h)
{
    int64_t d, m, gates = a->decay.operand ? a->decay.dims[2] : 0;
    double key;

    for (d = 0; gates && d < a->D; d++) {
        double g = naive_read(&a->decay, token * gates + (gates == a->HK ? h : h * a->D + d));
        for (m = 0; m < a->DV; m++)
            a->state[d * a->DV + m] *= exp(g);
    }
    for (m = 0; m < a->DV; m++)
        a->value[m] = naive_read(&a->v, (token * a->HK + h) * a->DV + m);
    if (a->beta.operand) {
        int64_t rates = a->beta.dims[2];
        double rate = naive_read(&a->beta, token * rates + (rates == a->HK ? h : 0));
        for (d = 0; d < a->D; d++) {
            key = naive_read(&a->k, (token * a->HK + h) * a->D + d);
            for (m = 0; m < a->DV; m++)
                a->value[m] -= a->state[d * a->DV + m] * key;
        }
        for (m = 0; m < a->DV; m++)
            a->value[m] *= rate;
    }
    for (d = 0; d < a->D; d++) {
        key = naive_read(&a->k, (token * a->HK + h) * a->D + d);
        for (m = 0; m < a->DV; m++)
            a->state[d * a->DV + m] += key * a->value[m];
    }
}

/* Reads the state of head h with its query heads at this token. */
static void answer(const linear_attention *a, int64_t token, int64_t h)
{
    int64_t group = a->HQ / a->HK, i, d, m;

    for (i = h * group; i < (h + 1) * group; i++) {
        for (m = 0; m < a->DV; m++) {
            double sum = 0;
            for (d = 0; d < a->D; d++)
                sum += naive_read(&a->q, (token * a->HQ + i) * a->D + d) * a->state[d * a->DV + m];
            naive_write(&a->y, (token * a->HQ + i) * a->DV + m, a->scale * sum);
        }
    }
}

static int32_t run_linear_attention(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    linear_attention a = {.q = naive_input(k, launch, 0),
                          .k = naive_input(k, launch, 1),
                          .v = naive_input(k, launch, 2),
                          .past = naive_input(k, launch, 3),
                          .decay = naive_input(k, launch, 4),
                          .beta = naive_input(k, launch, 5),
                          .y = naive_output(k, launch, 0),
                          .present = naive_output(k, launch, 1)};
    int64_t b, h, t, i, cells;

    (void)err;
    a.T = a.q.dims[1];
    a.HQ = tfr_call_int(&k->call, "q_num_heads", 1);
    a.HK = tfr_call_int(&k->call, "kv_num_heads", 1);
    a.D = a.q.dims[2] / a.HQ;
    a.DV = a.v.dims[2] / a.HK;
    a.scale = (double)tfr_call_float(&k->call, "scale", 1);
    a.state = launch->workspace;
    cells = a.D * a.DV;
    a.value = a.state + cells;
    for (b = 0; b < a.q.dims[0]; b++) {
        for (h = 0; h < a.HK; h++) {
            for (i = 0; i < cells; i++)
                a.state[i] = a.past.operand ? naive_read(&a.past, (b * a.HK + h) * cells + i) : 0;
            for (t = 0; t < a.T; t++) {
                step(&a, b * a.T + t, h);
                if (a.y.operand)
                    answer(&a, b * a.T + t, h);
            }
            for (i = 0; a.present.operand && i < cells; i++)
                naive_write(&a.present, (b * a.HK + h) * cells + i, a.state[i]);
        }
    }
    return TFR_OK;
}

static uint64_t linear_attention_workspace(const tfr_call *call)
{
    const tfr_operand *q = tfr_call_input(call, 0), *v = tfr_call_input(call, 2);
    uint64_t D = (uint64_t)(q->dims[2] / tfr_call_int(call, "q_num_heads", 1));
    uint64_t DV = (uint64_t)(v->dims[2] / tfr_call_int(call, "kv_num_heads", 1));

    /* Without positions or outputs nobody has checked that a state fits. */
    if (DV > UINT64_MAX / sizeof(double) / (D + 1))
        return UINT64_MAX;
    return (D + 1) * DV * sizeof(double);
}

const naive_op naive_linear_attention_ops[] = {
    {.domain = "",
     .name = "LinearAttention",
     .since_version = 27,
     .run = run_linear_attention,
     .workspace = linear_attention_workspace},
    {.name = NULL},
};
