/* SPDX-License-Identifier: Apache-2.0 */
/* dynamic.c: products of 8 bits whose results are floats: weights of 8 bits, and inputs that are,
 * or that are quantized where they are used. */
#include "text.h"

#include <strings.h>

/* y = the sums of integers as floats, scaled, with the bias. */
static void scale_sums(contrib_text *t, const char *scale, uint32_t bias)
{
    contrib_write(t, "f = Mul(Cast[to=1](s), %s)", scale);
    contrib_write(t, contrib_has(t, bias) ? "Y = Add(f, bias)" : "Y = Identity(f)");
}

static int32_t dynamic_matmul(contrib_text *t, tfr_err *err)
{
    (void)err;
    contrib_write(t,
                  "a, a_scale, a_zero = DynamicQuantizeLinear(A)\n"
                  "s = MatMulInteger(a, B, a_zero, %s)",
                  contrib_has(t, 3) ? "b_zero_point" : "_");
    scale_sums(t, "Mul(a_scale, b_scale)", 4);
    return TFR_OK;
}

static int32_t matmul_to_float(contrib_text *t, tfr_err *err)
{
    (void)err;
    contrib_write(t, "s = MatMulInteger(A, B, %s, %s)", contrib_has(t, 4) ? "a_zero_point" : "_",
                  contrib_has(t, 5) ? "b_zero_point" : "_");
    scale_sums(t, "Mul(a_scale, b_scale)", 6);
    return TFR_OK;
}

/* Y = alpha * a_scale * b_scale * (the product of integers + C), rounded if y_scale is there. */
static int32_t gemm(contrib_text *t, tfr_err *err)
{
    const tfr_call *call = t->call;
    const double alpha = (double)tfr_call_float(call, "alpha", 1);
    (void)err;
    contrib_write(t, tfr_call_int(call, "transA", 0) ? "a = Transpose[perm={1,0}](A)"
                                                     : "a = Identity(A)");
    contrib_write(t, tfr_call_int(call, "transB", 0) ? "b = Transpose[perm={1,0}](B)"
                                                     : "b = Identity(B)");
    contrib_write(t, "p = MatMulInteger(a, b, a_zero_point, b_zero_point)");
    contrib_write(t, contrib_has(t, 6) ? "s = Add(p, C)" : "s = Identity(p)");
    t->dtype = TFR_DTYPE_F32;
    if (alpha == 1)
        contrib_write(t, "f = Mul(Cast[to=1](s), Mul(a_scale, b_scale))");
    else
        contrib_write(t, "f = Mul(Cast[to=1](s), Mul(Mul(a_scale, b_scale), %.9e))", alpha);
    if (!contrib_has(t, 7))
        contrib_write(t, "Y = Identity(f)");
    else
        contrib_write(t, "Y = QuantizeLinear(f, y_scale, %s)",
                      contrib_has(t, 8) ? "y_zero_point" : "_");
    return TFR_OK;
}

/* Weights [directions, inputs, 4 hidden] of 8 bits as LSTM wants them. */
static int32_t decode(contrib_text *t, const char *w, uint32_t scale, tfr_err *err)
{
    int32_t rank, status = contrib_need_rank(t, scale, &rank, err);
    if (!status && rank > 2)
        status = tfr_fail(err, TFR_ESHAPE, "%s_scale has rank %d, want 1 or 2", w, (int)rank);
    if (!status)
        contrib_write(t,
                      "%sf = Mul(Sub(Cast[to=1](%s), Cast[to=1](Unsqueeze(%s_zero_point, %s))), "
                      "Unsqueeze(%s_scale, %s))\n"
                      "%st = Transpose[perm={0,2,1}](%sf)",
                      w, w, w, rank == 1 ? "{1,2}" : "{1}", w, rank == 1 ? "{1,2}" : "{1}", w, w);
    return status;
}

/*
 * LSTM of the decoded weights. ONNX Runtime rounds X and each step's output to 8 bits besides, with
 * scales that it finds as it goes; here they stay as they are, and nearer to the float model.
 */
static int32_t lstm(contrib_text *t, tfr_err *err)
{
    static const char *const usual[] = {"Sigmoid", "Tanh", "Tanh"};
    const tfr_call *call = t->call;
    const tfr_attr *activations = tfr_call_attr(call, "activations"),
                   *clip = tfr_call_attr(call, "clip");
    char limit[32] = "";
    const int64_t hidden = tfr_call_int(call, "hidden_size", contrib_dim(t, 2, 1));
    int32_t status = decode(t, "W", 8, err);
    if (!status)
        status = decode(t, "R", 10, err);
    for (uint64_t i = 0; !status && activations && i < activations->n; i++)
        if (strcasecmp(activations->strings[i].data, usual[i % 3]) != 0)
            status = tfr_fail(err, TFR_EUNSUPPORTED,
                              "DynamicQuantizeLSTM with activation \"%.40s\" is not supported",
                              activations->strings[i].data);
    if (status)
        return status;
    if (hidden < 1)
        return tfr_fail(err, TFR_EUNSUPPORTED, "DynamicQuantizeLSTM without hidden_size");
    if (clip)
        snprintf(limit, sizeof(limit), ",clip=%.9e", (double)clip->floats[0]);
    contrib_write(
        t,
        "y, h, c = LSTM[hidden_size=%lld,direction=\"%.20s\",input_forget=%d%s](X, Wt, Rt, "
        "%s, %s, %s, %s, %s)",
        (long long)hidden, contrib_choice(call, "direction", "forward"),
        tfr_call_int(call, "input_forget", 0) != 0, limit, contrib_has(t, 3) ? "B" : "_",
        contrib_has(t, 4) ? "sequence_lens" : "_", contrib_has(t, 5) ? "initial_h" : "_",
        contrib_has(t, 6) ? "initial_c" : "_", contrib_has(t, 7) ? "P" : "_");
    contrib_write(t, "Y = Identity(y)");
    if (contrib_wants(t, 1))
        contrib_write(t, "Y_h = Identity(h)");
    if (contrib_wants(t, 2))
        contrib_write(t, "Y_c = Identity(c)");
    return TFR_OK;
}

const contrib_written contrib_dynamic[] = {
    {CONTRIB_ROW("DynamicQuantizeLSTM",
                 "X:T W:T2 R:T2 B?:T sequence_lens?:T1 initial_h?:T initial_c?:T P?:T W_scale:T "
                 "W_zero_point:T2 R_scale:T R_zero_point:T2",
                 "Y?:T Y_h?:T Y_c?:T",
                 "activation_alpha:fs activation_beta:fs activations:ss clip:f "
                 "direction:s=forward|reverse|bidirectional hidden_size:i input_forget:i=0",
                 "T=f32 T1=i32 T2=u8|i8"),
     .write = lstm},
    {CONTRIB_ROW("DynamicQuantizeMatMul", "A:T1 B:T2 b_scale:T1 b_zero_point?:T2 bias?:T1", "Y:T1",
                 NULL, "T1=f32 T2=u8|i8"),
     .write = dynamic_matmul},
    {CONTRIB_ROW("MatMulIntegerToFloat",
                 "A:T1 B:T2 a_scale:T3 b_scale:T3 a_zero_point?:T1 b_zero_point?:T2 bias?:T3",
                 "Y:T3", NULL, "T1=u8|i8 T2=u8|i8 T3=f32"),
     .write = matmul_to_float},
    {CONTRIB_ROW("QGemm",
                 "A:TA a_scale:T a_zero_point:TA B:TB b_scale:T b_zero_point:TB C?:TC y_scale?:T "
                 "y_zero_point?:TYZ",
                 "Y:TY", "alpha:f=1 transA:i=0 transB:i=0",
                 "T=f32 TA=u8|i8 TB=u8|i8 TC=i32 TYZ=u8|i8 TY=f32|u8|i8"),
     .write = gemm},
    {.row = {.name = NULL}},
};
