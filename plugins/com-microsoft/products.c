/* SPDX-License-Identifier: Apache-2.0 */
/* products.c: products of matrices and convolutions with what is fused into them. */
#include "text.h"

#include <string.h>

/* ---- activations ----------------------------------------------------------------------------- */

/* out = the activation of x. Its parameters are those of the op, NULL if the node has none. */
static int32_t activate(contrib_text *t, const char *out, const char *x, const float *params[3],
                        tfr_err *err)
{
    const char *name = tfr_call_string(t->call, "activation", "");
    if (!*name || !strcmp(name, "Identity"))
        contrib_write(t, "%s = Identity(%s)", out, x);
    else if (!strcmp(name, "Relu") || !strcmp(name, "Tanh") || !strcmp(name, "Sigmoid") ||
             !strcmp(name, "Softplus") || !strcmp(name, "Softsign") || !strcmp(name, "HardSwish"))
        contrib_write(t, "%s = %s(%s)", out, name, x);
    else if (!strcmp(name, "LeakyRelu") || !strcmp(name, "Elu") || !strcmp(name, "ThresholdedRelu"))
        contrib_write(t, "%s = %s[alpha=%.9e](%s)", out, name,
                      params[0]        ? (double)*params[0]
                      : name[0] == 'L' ? 0.01
                                       : 1.0,
                      x);
    else if (!strcmp(name, "HardSigmoid"))
        contrib_write(t, "%s = HardSigmoid[alpha=%.9e,beta=%.9e](%s)", out,
                      params[0] ? (double)*params[0] : 0.2, params[1] ? (double)*params[1] : 0.5,
                      x);
    else if (!strcmp(name, "Clip") && params[0] && params[1])
        contrib_write(t, "%s = Clip(%s, %.9e, %.9e)", out, x, (double)*params[0],
                      (double)*params[1]);
    else
        return tfr_fail(err, TFR_EUNSUPPORTED, "activation \"%.40s\" of %s is not known", name,
                        t->call->name);
    return TFR_OK;
}

/* ---- products -------------------------------------------------------------------------------- */

/* Names of an operand that was transposed, first over its batch, then its last two axes. */
static int32_t transpose(contrib_text *t, uint32_t input, const char *from, const char *to,
                         bool batch, bool last, tfr_err *err)
{
    char perm[64];
    size_t at = 0;
    int32_t rank, status = contrib_need_rank(t, input, &rank, err);
    if (status)
        return status;
    if (!batch && (!last || rank < 2)) { /* a vector stays what it is */
        contrib_write(t, "%s = Identity(%s)", to, from);
        return TFR_OK;
    }
    if (rank < 2 || rank > 8)
        return tfr_fail(err, TFR_ESHAPE, "input %s of %s has rank %d", from, t->call->name,
                        (int)rank);
    if (!batch) {
        contrib_write(t, "%s = Transpose[perm=%s](%s)", to,
                      contrib_swap(rank, rank - 2, rank - 1, perm), from);
        return TFR_OK;
    }
    for (int32_t i = 0; i < rank; i++) { /* axis 0 goes behind the batch */
        const int32_t place = last && i >= rank - 2 ? 2 * rank - 3 - i : i;
        const int32_t axis = place == rank - 1 ? rank - 1 : place == rank - 2 ? 0 : place + 1;
        at += (size_t)snprintf(perm + at, sizeof(perm) - at, "%c%d", i ? ',' : '{', (int)axis);
    }
    contrib_write(t, "%s = Transpose[perm=%s}](%s)", to, perm, from);
    return TFR_OK;
}

/* Y = alpha * op(A) op(B) */
static int32_t fused_matmul(contrib_text *t, tfr_err *err)
{
    const tfr_call *call = t->call;
    const double alpha = (double)tfr_call_float(call, "alpha", 1);
    int32_t status = transpose(t, 0, "A", "a", tfr_call_int(call, "transBatchA", 0) != 0,
                               tfr_call_int(call, "transA", 0) != 0, err);
    if (!status)
        status = transpose(t, 1, "B", "b", tfr_call_int(call, "transBatchB", 0) != 0,
                           tfr_call_int(call, "transB", 0) != 0, err);
    if (status)
        return status;
    if (alpha == 1)
        contrib_write(t, "y = MatMul(a, b)");
    else
        contrib_write(t, "y = Mul(MatMul(a, b), %.9e)", alpha);
    if (strcmp(call->name, "FusedMatMulActivation") != 0) {
        contrib_write(t, "Y = Identity(y)");
        return TFR_OK;
    }
    const tfr_attr *a = tfr_call_attr(call, "activation_alpha"),
                   *b = tfr_call_attr(call, "activation_beta");
    const float *params[3] = {a ? a->floats : NULL, b ? b->floats : NULL, NULL};
    return activate(t, "Y", "y", params, err);
}

static int32_t fused_gemm(contrib_text *t, tfr_err *err)
{
    const tfr_call *call = t->call;
    const tfr_attr *a = tfr_call_attr(call, "activation_alpha"),
                   *b = tfr_call_attr(call, "activation_beta");
    const float *params[3] = {a ? a->floats : NULL, b ? b->floats : NULL, NULL};
    contrib_write(t, "y = Gemm[alpha=%.9e,beta=%.9e,transA=%d,transB=%d](A, B, %s)",
                  (double)tfr_call_float(call, "alpha", 1), (double)tfr_call_float(call, "beta", 1),
                  tfr_call_int(call, "transA", 0) != 0, tfr_call_int(call, "transB", 0) != 0,
                  contrib_has(t, 2) ? "C" : "_");
    return activate(t, "Y", "y", params, err);
}

/* Y = activation(Conv(X, W, B) + Z) */
static int32_t fused_conv(contrib_text *t, tfr_err *err)
{
    const tfr_attr *list = tfr_call_attr(t->call, "activation_params");
    const float *params[3] = {NULL, NULL, NULL};
    char window[1024];
    for (uint64_t i = 0; list && i < list->n && i < 3; i++)
        params[i] = &list->floats[i];
    contrib_write(t, "c = Conv[%s](X, W, %s)", contrib_window(t->call, true, window),
                  contrib_has(t, 2) ? "B" : "_");
    if (contrib_has(t, 3))
        contrib_write(t, "y = Add(c, Z)");
    return activate(t, "Y", contrib_has(t, 3) ? "y" : "c", params, err);
}

static int32_t conv_transpose(contrib_text *t, tfr_err *err)
{
    const tfr_operand *pads = tfr_call_input(t->call, 2);
    char window[1024], list[200];
    size_t at = 0;
    *list = 0;
    if (pads && (!pads->data || pads->rank != 1 || pads->dims[0] < 1 || pads->dims[0] > 12 ||
                 pads->dtype != TFR_DTYPE_I64))
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "ConvTransposeWithDynamicPads with pads that are not a constant list");
    for (int64_t i = 0; pads && i < pads->dims[0]; i++)
        at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%lld", i ? "," : ",pads={",
                               (long long)((const int64_t *)pads->data)[i]);
    contrib_write(t, "Y = ConvTranspose[%s%s%s](X, W, %s)", contrib_window(t->call, true, window),
                  list, pads ? "}" : "", contrib_has(t, 3) ? "B" : "_");
    return TFR_OK;
}

/* Squares of distances are |a|^2 + |b|^2 - 2 a b, and at least 0. */
static int32_t distances(contrib_text *t, tfr_err *err)
{
    const char *metric = tfr_call_string(t->call, "metric", "sqeuclidean");
    const bool root = strcmp(metric, "euclidean") == 0;
    if (!root && strcmp(metric, "sqeuclidean") != 0)
        return tfr_fail(err, TFR_EUNSUPPORTED, "CDist with metric \"%.40s\" is not supported",
                        metric);
    contrib_write(t,
                  "a = ReduceSumSquare[keepdims=1](A, {1})\n"
                  "b = Transpose[perm={1,0}](ReduceSumSquare[keepdims=1](B, {1}))\n"
                  "d = Max(Add(Add(Gemm[alpha=-2.0,transB=1](A, B), a), b), 0.0)\n"
                  "C = %s(d)",
                  root ? "Sqrt" : "Identity");
    return TFR_OK;
}

#define WINDOW                                                                                     \
    "auto_pad:s=NOTSET|SAME_UPPER|SAME_LOWER|VALID dilations:is group:i=1 kernel_shape:is "
#define ACTIVATION "activation:s activation_alpha:f activation_beta:f "

const contrib_written contrib_products[] = {
    {CONTRIB_ROW("CDist", "A:T B:T", "C:T", "metric:s=sqeuclidean|euclidean", "T=f32|f64"),
     .write = distances},
    {CONTRIB_ROW("ConvTransposeWithDynamicPads", "X:T W:T Pads?:i64 B?:T", "Y:T",
                 WINDOW "output_padding:is strides:is", "T=f16|f32|f64"),
     .write = conv_transpose},
    {CONTRIB_ROW("FusedConv", "X:T W:T B?:T Z?:T", "Y:T",
                 "activation:s activation_params:fs " WINDOW "pads:is strides:is", "T=f16|f32|f64"),
     .write = fused_conv},
    {CONTRIB_ROW("FusedGemm", "A:T B:T C?:T", "Y:T",
                 ACTIVATION "activation_gamma:f alpha:f=1 beta:f=1 transA:i=0 transB:i=0",
                 "T=f16|f32|f64"),
     .write = fused_gemm},
    {CONTRIB_ROW("FusedMatMul", "A:T B:T", "Y:T",
                 "alpha:f=1 transA:i=0 transB:i=0 transBatchA:i=0 transBatchB:i=0",
                 "T=" CONTRIB_FLOATS),
     .write = fused_matmul},
    {CONTRIB_ROW("FusedMatMulActivation", "A:T B:T", "Y:T",
                 ACTIVATION "activation_axis:i activation_gamma:f alpha:f=1 transA:i=0 transB:i=0 "
                            "transBatchA:i=0 transBatchB:i=0",
                 "T=" CONTRIB_FLOATS),
     .write = fused_matmul},
    {CONTRIB_ROW("Inverse", "X:T", "Y:T", NULL, "T=f16|f32|f64"), .text = "Y = tfrun.Inverse(X)"},
    {CONTRIB_ROW("MatMulInteger16", "A:T1 B:T2", "Y:T3", NULL, "T1=i16|u16 T2=i16|u16 T3=i32"),
     .text = "Y = MatMul(Cast[to=6](A), Cast[to=6](B))"},
    {CONTRIB_ROW("TransposeMatMul", "A:T B:T", "Y:T", "alpha:f=1 transA:i=0 transB:i=0",
                 "T=" CONTRIB_FLOATS),
     .write = fused_matmul},
    {.row = {.name = NULL}},
};
