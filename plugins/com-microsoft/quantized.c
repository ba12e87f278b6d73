/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized.c: ops of 8 bits with a scale and a zero point for each operand: they are decoded, what
 * is between is computed in float32, and the result is rounded, which is how ONNX writes such ops
 * today, and what passes and kernels for integers look for.
 */
#include "text.h"

#include <string.h>

/* value = what input x is, whose scale and zero point are the two next inputs. */
static void decode(contrib_text *t, const char *value, const char *x, const char *scale,
                   const char *zero, uint32_t zero_input)
{
    contrib_write(t, "%s = DequantizeLinear(%s, %s, %s)", value, x, scale,
                  contrib_has(t, zero_input) ? zero : "_");
}

/* out = value in 8 bits, of the type of input 0 where no zero point tells it. */
static void encode(contrib_text *t, const char *out, const char *value, const char *scale,
                   const char *zero, uint32_t zero_input)
{
    const tfr_operand *x = tfr_call_input(t->call, 0);
    if (contrib_has(t, zero_input))
        contrib_write(t, "%s = QuantizeLinear(%s, %s, %s)", out, value, scale, zero);
    else
        contrib_write(t, "%s = QuantizeLinear[output_dtype=%d](%s, %s)", out,
                      x && x->dtype > 0 ? (int)x->dtype : TFR_DTYPE_U8, value, scale);
}

static int32_t add_or_mul(contrib_text *t, tfr_err *err)
{
    (void)err;
    decode(t, "a", "A", "A_scale", "A_zero_point", 2);
    decode(t, "b", "B", "B_scale", "B_zero_point", 5);
    contrib_write(t, "c = %s(a, b)", strcmp(t->call->name, "QLinearAdd") ? "Mul" : "Add");
    encode(t, "C", "c", "C_scale", "C_zero_point", 7);
    return TFR_OK;
}

static int32_t leaky_relu(contrib_text *t, tfr_err *err)
{
    (void)err;
    decode(t, "x", "X", "X_scale", "X_zero_point", 2);
    contrib_write(t, "y = LeakyRelu[alpha=%.9e](x)",
                  (double)tfr_call_float(t->call, "alpha", 0.01F));
    encode(t, "Y", "y", "Y_scale", "Y_zero_point", 4);
    return TFR_OK;
}

static int32_t sigmoid(contrib_text *t, tfr_err *err)
{
    (void)err;
    decode(t, "x", "X", "X_scale", "X_zero_point", 2);
    contrib_write(t, "y = Sigmoid(x)");
    encode(t, "Y", "y", "Y_scale", "Y_zero_point", 4);
    return TFR_OK;
}

/* Up to opset 12, all axes from axis on are one. */
static int32_t softmax(contrib_text *t, tfr_err *err)
{
    const int64_t axis = tfr_call_int(t->call, "axis", -1);
    const bool old = tfr_call_int(t->call, "opset", 13) < 13;
    (void)err;
    decode(t, "x", "X", "X_scale", "x_zero_point", 2);
    if (old)
        contrib_write(t,
                      "f = Softmax[axis=1](Flatten[axis=%lld](x))\n"
                      "y = Reshape(f, Shape(x))",
                      (long long)axis);
    else
        contrib_write(t, "y = Softmax[axis=%lld](x)", (long long)axis);
    encode(t, "Y", "y", "y_scale", "y_zero_point", 4);
    return TFR_OK;
}

/* A pool of the decoded input, with channels last if the node says so. */
static int32_t pool(contrib_text *t, tfr_err *err)
{
    const tfr_call *call = t->call;
    const bool global = strcmp(call->name, "QLinearGlobalAveragePool") == 0;
    const bool last = tfr_call_int(call, "channels_last", 0) != 0;
    char window[1024], first[64], behind[64];
    int32_t rank = 4, status = last ? contrib_need_rank(t, 0, &rank, err) : TFR_OK;
    if (status)
        return status;
    decode(t, "d", "X", "x_scale", "x_zero_point", 2);
    if (last)
        contrib_write(t, "x = Transpose[perm=%s](d)", contrib_to_first(rank, first));
    if (global)
        contrib_write(t, "p = GlobalAveragePool(%s)", last ? "x" : "d");
    else
        contrib_write(t, "p = AveragePool[%s,ceil_mode=%d,count_include_pad=%d](%s)",
                      contrib_window(call, false, window), tfr_call_int(call, "ceil_mode", 0) != 0,
                      tfr_call_int(call, "count_include_pad", 0) != 0, last ? "x" : "d");
    if (last)
        contrib_write(t, "y = Transpose[perm=%s](p)", contrib_to_last(rank, behind));
    encode(t, "Y", last ? "y" : "p", "y_scale", "y_zero_point", 4);
    return TFR_OK;
}

/* Behind Y's scale and zero point: input, scale and zero point of each. */
static int32_t concat(contrib_text *t, tfr_err *err)
{
    const uint32_t n = t->call->n_inputs;
    char list[1024];
    size_t at = 0;
    if (n < 5 || n > 32 || (n - 2) % 3)
        return tfr_fail(err, TFR_EMODEL,
                        "QLinearConcat has %u inputs, want two and three for each tensor, at most "
                        "32",
                        n);
    for (uint32_t i = 2; i < n; i += 3) {
        contrib_write(t, "d%u = DequantizeLinear(inputs%u, inputs%u, inputs%u)", i, i, i + 1,
                      i + 2);
        at += (size_t)snprintf(list + at, sizeof(list) - at, "%sd%u", i > 2 ? ", " : "", i);
    }
    contrib_write(t, "c = Concat[axis=%lld](%s)\nY = QuantizeLinear(c, inputs0, inputs1)",
                  (long long)tfr_call_int(t->call, "axis", 0), list);
    return TFR_OK;
}

/* ONNX's op, whose channels may be last here. */
static int32_t conv(contrib_text *t, tfr_err *err)
{
    const bool last = tfr_call_int(t->call, "channels_last", 0) != 0;
    char window[1024], first[64], behind[64];
    int32_t rank = 4, status = last ? contrib_need_rank(t, 0, &rank, err) : TFR_OK;
    if (status)
        return status;
    if (last)
        contrib_write(t, "f = Transpose[perm=%s](x)", contrib_to_first(rank, first));
    contrib_write(t,
                  "c = QLinearConv[%s](%s, x_scale, x_zero_point, w, w_scale, w_zero_point, "
                  "y_scale, y_zero_point, %s)",
                  contrib_window(t->call, true, window), last ? "f" : "x",
                  contrib_has(t, 8) ? "B" : "_");
    contrib_write(t, last ? "y = Transpose[perm=%s](c)" : "y = Identity(c)",
                  contrib_to_last(rank, behind));
    return TFR_OK;
}

static int32_t max_pool(contrib_text *t, tfr_err *err)
{
    char window[1024], first[64], behind[64];
    int32_t rank, status = contrib_need_rank(t, 0, &rank, err);
    if (status)
        return status;
    contrib_write(t, "p = MaxPool[%s,ceil_mode=%d](Transpose[perm=%s](x))",
                  contrib_window(t->call, false, window),
                  tfr_call_int(t->call, "ceil_mode", 0) != 0, contrib_to_first(rank, first));
    contrib_write(t, "y = Transpose[perm=%s](p)", contrib_to_last(rank, behind));
    return TFR_OK;
}

/* A scale and a zero point for all, or for each index of an axis, as axis says. */
static int32_t code(contrib_text *t, tfr_err *err)
{
    const bool decoding = strcmp(t->call->name, "DequantizeLinear") == 0;
    const char *op = decoding ? "DequantizeLinear" : "QuantizeLinear";
    const char *scale = decoding ? "x_scale" : "y_scale";
    const char *zero = decoding ? "x_zero_point" : "y_zero_point";
    (void)err;
    if (tfr_call_attr(t->call, "axis"))
        contrib_write(t, "y = %s[axis=%lld](x, %s, %s)", op,
                      (long long)tfr_call_int(t->call, "axis", 1), scale,
                      contrib_has(t, 2) ? zero : "_");
    else if (contrib_has(t, 2))
        contrib_write(t, "y = %s(x, Reshape(%s, {}), Reshape(%s, {}))", op, scale, zero);
    else
        contrib_write(t, "y = %s(x, Reshape(%s, {}))", op, scale);
    return TFR_OK;
}

#define POOL                                                                                       \
    "auto_pad:s=NOTSET|SAME_UPPER|SAME_LOWER|VALID ceil_mode:i=0 dilations:is kernel_shape:is! "   \
    "pads:is strides:is"
#define BINARY                                                                                     \
    "A:T A_scale:f32 A_zero_point?:T B:T B_scale:f32 B_zero_point?:T C_scale:f32 C_zero_point?:T"
#define UNARY "X:T X_scale:f32 X_zero_point?:T Y_scale:f32 Y_zero_point?:T"

const contrib_written contrib_quantized[] = {
    {CONTRIB_ROW("DequantizeLinear", "x:T1 x_scale:T2 x_zero_point?:T1", "y:T2", "axis:i",
                 "T1=u8|i8|u16|i16|i32|u4|i4 T2=f16|f32"),
     .write = code},
    {CONTRIB_ROW("NhwcMaxPool", "x:T", "y:T", POOL, "T=u8|i8"), .write = max_pool},
    {CONTRIB_ROW("QLinearAdd", BINARY, "C:T", NULL, "T=u8|i8"), .write = add_or_mul},
    {CONTRIB_ROW("QLinearAveragePool",
                 "X:T x_scale:f32 x_zero_point?:T y_scale:f32 y_zero_point?:T", "Y:T",
                 POOL " channels_last:i=0 count_include_pad:i=0", "T=u8|i8"),
     .write = pool},
    {CONTRIB_ROW("QLinearConcat", "inputs...*:V", "Y:T", "axis:i!", "T=u8|i8 V=u8|i8|f32"),
     .write = concat},
    {CONTRIB_ROW("QLinearConv",
                 "x:T1 x_scale:f32 x_zero_point:T1 w:T2 w_scale:f32 w_zero_point:T2 y_scale:f32 "
                 "y_zero_point:T3 B?:T4",
                 "y:T3",
                 "auto_pad:s=NOTSET|SAME_UPPER|SAME_LOWER|VALID channels_last:i=0 dilations:is "
                 "group:i=1 kernel_shape:is pads:is strides:is",
                 "T1=u8|i8 T2=u8|i8 T3=u8|i8 T4=i32"),
     .write = conv},
    {CONTRIB_ROW("QLinearGlobalAveragePool",
                 "X:T x_scale:f32 x_zero_point:T y_scale:f32 y_zero_point:T", "Y:T",
                 "channels_last:i=0", "T=u8|i8"),
     .write = pool},
    {CONTRIB_ROW("QLinearLeakyRelu", UNARY, "Y:T", "alpha:f=0.01", "T=u8|i8"), .write = leaky_relu},
    {CONTRIB_ROW("QLinearMul", BINARY, "C:T", NULL, "T=u8|i8"), .write = add_or_mul},
    {CONTRIB_ROW("QLinearSigmoid", UNARY, "Y:T", NULL, "T=u8|i8"), .write = sigmoid},
    {CONTRIB_ROW("QLinearSoftmax", "X:T X_scale:f32 x_zero_point?:T y_scale:f32 y_zero_point:T",
                 "Y:T", "axis:i=-1 opset:i!", "T=u8|i8"),
     .write = softmax},
    {CONTRIB_ROW("QLinearWhere",
                 "condition:B X:T x_scale:f32 x_zero_point:T Y:T y_scale:f32 y_zero_point:T "
                 "z_scale:f32 z_zero_point:T",
                 "Z:T", NULL, "B=bool T=u8|i8"),
     .text = "z = Where(condition, DequantizeLinear(X, x_scale, x_zero_point), "
             "DequantizeLinear(Y, y_scale, y_zero_point))\n"
             "Z = QuantizeLinear(z, z_scale, z_zero_point)"},
    {CONTRIB_ROW("QuantizeLinear", "x:T1 y_scale:T1 y_zero_point?:T2", "y:T2", "axis:i",
                 "T1=f16|f32 T2=u8|i8|u16|i16|u4|i4"),
     .write = code},
    {.row = {.name = NULL}},
};
