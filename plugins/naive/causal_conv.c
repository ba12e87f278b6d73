/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CausalConvWithState (ONNX 27), a depthwise convolution that looks back. input [B C L], weight
 * [C 1 k], bias [C], past_state [B C k-1], zeros without one. With padded = past_state, then input:
 *
 *   y = sum over j of weight[c,0,j] * padded[b,c,l+j] + bias[c];   output = y, or y * sigmoid(y)
 *
 * present_state is the last k - 1 positions of padded. In double, rounded once; NaN spreads.
 */
#include "tensor.h"

#include <math.h>
#include <string.h>

typedef struct causal_conv {
    naive_tensor x, w, bias, past, y, present;
    int64_t C, L, k;
} causal_conv;

/* padded[b,c,at], where row is b * C + c. */
static double read_padded(const causal_conv *a, int64_t row, int64_t at)
{
    if (at >= a->k - 1)
        return naive_read(&a->x, row * a->L + at - (a->k - 1));
    return a->past.operand ? naive_read(&a->past, row * (a->k - 1) + at) : 0;
}

static int32_t run_causal_conv(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    causal_conv a = {naive_input(k, launch, 0),
                     naive_input(k, launch, 1),
                     naive_input(k, launch, 2),
                     naive_input(k, launch, 3),
                     naive_output(k, launch, 0),
                     naive_output(k, launch, 1),
                     0,
                     0,
                     0};
    bool silu = strcmp(tfr_call_string(&k->call, "activation", "none"), "none") != 0;
    int64_t row, l, j;

    (void)err;
    a.C = a.x.dims[1];
    a.L = a.x.dims[2];
    a.k = a.w.dims[2];
    for (row = 0; row < a.x.dims[0] * a.C; row++) {
        for (l = 0; a.y.operand && l < a.L; l++) {
            double sum = a.bias.operand ? naive_read(&a.bias, row % a.C) : 0;
            for (j = 0; j < a.k; j++)
                sum += naive_read(&a.w, row % a.C * a.k + j) * read_padded(&a, row, l + j);
            naive_write(&a.y, row * a.L + l, silu ? sum / (1 + exp(-sum)) : sum);
        }
        for (j = 0; a.present.operand && j < a.k - 1; j++)
            naive_write(&a.present, row * (a.k - 1) + j, read_padded(&a, row, a.L + j));
    }
    return TFR_OK;
}

const naive_op naive_causal_conv_ops[] = {
    {.domain = "", .name = "CausalConvWithState", .since_version = 27, .run = run_causal_conv},
    {.name = NULL},
};
