/* SPDX-License-Identifier: Apache-2.0 */
/* activations.c: functions of elements. */
#include "text.h"

static int32_t fast_gelu(contrib_text *t, tfr_err *err)
{
    (void)err;
    contrib_write(t, contrib_has(t, 1) ? "Y = Gelu[approximate=\"tanh\"](Add(X, bias))"
                                       : "Y = Gelu[approximate=\"tanh\"](X)");
    return TFR_OK;
}

/* X * sigmoid(alpha * X) */
static int32_t quick_gelu(contrib_text *t, tfr_err *err)
{
    const double alpha = (double)tfr_call_float(t->call, "alpha", 1.702F);
    (void)err;
    if (alpha == 1)
        contrib_write(t, "Y = Mul(X, Sigmoid(X))");
    else
        contrib_write(t, "Y = Mul(X, Sigmoid(Mul(X, %.9e)))", alpha);
    return TFR_OK;
}

/* z * sigmoid(z) of z = X * scale */
static int32_t scaled_silu(contrib_text *t, tfr_err *err)
{
    const double alpha = (double)tfr_call_float(t->call, "alpha", 1);
    (void)err;
    if (contrib_has(t, 1))
        contrib_write(t, "z = Mul(X, CastLike(scale, X))");
    else
        contrib_write(t, "z = Mul(X, %.9e)", alpha);
    contrib_write(t, "Y = Mul(z, Sigmoid(z))");
    return TFR_OK;
}

const contrib_written contrib_activations[] = {
    {CONTRIB_ROW("BiasGelu", "A:T B:T", "C:T", NULL, "T=" CONTRIB_FLOATS),
     .text = "C = Gelu(Add(A, B))"},
    {CONTRIB_ROW("FastGelu", "X:T bias?:T", "Y:T", NULL, "T=" CONTRIB_FLOATS), .write = fast_gelu},
    {CONTRIB_ROW("GatedAdd", "X:T Y:T gate:T", "output:T", NULL, "T=f16|f32|bf16"),
     .text = "output = Add(X, Mul(Y, gate))"},
    {CONTRIB_ROW("Gelu", "X:T", "Y:T", NULL, "T=" CONTRIB_FLOATS), .text = "Y = Gelu(X)"},
    {CONTRIB_ROW("QuickGelu", "X:T", "Y:T", "alpha:f=1.702", "T=" CONTRIB_FLOATS),
     .write = quick_gelu},
    {CONTRIB_ROW("ScaledSiLU", "X:T scale?:M", "Y:T", "alpha:f=1", "T=f16|f32|bf16 M=f16|f32|bf16"),
     .write = scaled_silu},
    {.row = {.name = NULL}},
};
