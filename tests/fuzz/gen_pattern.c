/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_pattern.c: groups of nodes as exporters write them. Passes and programs look for these, so
 * each comes with small changes at times, which must not be taken for the original.
 */
#include <stdio.h>
#include <string.h>

#include "gen.h"

static const tfr_shape scalar = {0};

static bool is_rows(const tfr_tensor *t)
{
    const tfr_shape *s = tfr_tensor_shape(t);
    return fuzz_is_float_tensor(t) && s->rank >= 2 && s->rank <= 4 && s->dims[s->rank - 1] > 0;
}

static bool is_f32_rows(const tfr_tensor *t)
{
    return is_rows(t) && tfr_tensor_dtype(t) == TFR_DTYPE_F32;
}

/* A value that fits, or a new input of rank 2..4. */
static int rows(fuzz_gen *g, bool only_f32)
{
    int v = fuzz_pick(g, only_f32 ? is_f32_rows : is_rows);
    if (v >= 0 && fuzz_chance(g, 75))
        return v;
    tfr_shape shape = {.rank = 2 + (int32_t)fuzz_below(g, 3)};
    for (int32_t d = 0; d < shape.rank; d++)
        shape.dims[d] = 1 + (int64_t)fuzz_below(g, 6);
    return fuzz_new_input(g, TFR_DTYPE_F32, &shape, NULL);
}

/* x op c, or c op x at times if the op lets us. */
static int with_number(fuzz_gen *g, const char *op, int x, double c, bool either)
{
    if (x < 0)
        return -1;
    if (fuzz_chance(g, 4))
        c *= 2;
    int n = fuzz_new_scalar(g, fuzz_dtype(g, x), c);
    return either && fuzz_chance(g, 50) ? fuzz_add2(g, op, NULL, n, x)
                                        : fuzz_add2(g, op, NULL, x, n);
}

static int either_way(fuzz_gen *g, const char *op, int a, int b)
{
    return fuzz_chance(g, 50) ? fuzz_add2(g, op, NULL, a, b) : fuzz_add2(g, op, NULL, b, a);
}

/* ---- activations ----------------------------------------------------------------------------- */

static void gelu(fuzz_gen *g)
{
    int x = rows(g, false), half, e;
    e = with_number(g, "Div", x, 1.4142135623730951, false);
    e = with_number(g, "Add", fuzz_add1(g, "Erf", NULL, e), 1, true);
    if (fuzz_chance(g, 50)) {
        half = with_number(g, "Mul", x, 0.5, true);
        either_way(g, "Mul", half, e);
    } else {
        with_number(g, "Mul", either_way(g, "Mul", x, e), 0.5, true);
    }
}

static void gelu_tanh(fuzz_gen *g)
{
    int x = rows(g, false);
    int cube = with_number(g, "Pow", x, 3, false);
    int inner = either_way(g, "Add", x, with_number(g, "Mul", cube, 0.044715, true));
    int t = fuzz_add1(g, "Tanh", NULL, with_number(g, "Mul", inner, 0.7978845608028654, true));
    t = with_number(g, "Add", t, 1, true);
    either_way(g, "Mul", with_number(g, "Mul", x, 0.5, true), t);
}

static void swish(fuzz_gen *g)
{
    int x = rows(g, false), inner = fuzz_chance(g, 70) ? x : with_number(g, "Mul", x, 1.702, true);
    either_way(g, "Mul", x, fuzz_add1(g, "Sigmoid", NULL, inner));
}

static void hard_swish(fuzz_gen *g)
{
    int x = rows(g, false), y;
    if (fuzz_chance(g, 50)) {
        either_way(g, "Mul", x,
                   fuzz_add1(g, "HardSigmoid",
                             fuzz_chance(g, 80) ? "alpha:f=0.16666667 beta:f=0.5" : NULL, x));
        return;
    }
    int in[3] = {with_number(g, "Add", x, 3, true), -1, -1};
    if (in[0] < 0)
        return;
    in[1] = fuzz_new_constant(g, fuzz_dtype(g, x), &scalar, "0");
    in[2] = fuzz_new_constant(g, fuzz_dtype(g, x), &scalar, "6");
    y = fuzz_add(g, "Clip", NULL, in, 3, 1);
    with_number(g, "Div", either_way(g, "Mul", x, y), 6, false);
}

static void mish(fuzz_gen *g)
{
    int x = rows(g, false);
    either_way(g, "Mul", x, fuzz_add1(g, "Tanh", NULL, fuzz_add1(g, "Softplus", NULL, x)));
}

/* ---- norms ----------------------------------------------------------------------------------- */

static int mean(fuzz_gen *g, int x)
{
    int64_t axis = -1;
    return fuzz_add2(g, "ReduceMean", fuzz_chance(g, 95) ? NULL : "keepdims:i=0", x,
                     fuzz_new_ints(g, &axis, 1));
}

static void layer_norm(fuzz_gen *g)
{
    int x = rows(g, false), d = x;
    if (x < 0)
        return;
    tfr_shape last = {.rank = 1, .dims = {fuzz_shape(g, x)->dims[fuzz_shape(g, x)->rank - 1]}};
    if (fuzz_chance(g, 70)) /* else RMSNormalization */
        d = fuzz_add2(g, "Sub", NULL, x, mean(g, x));
    if (d < 0)
        return;
    int square =
        fuzz_chance(g, 50) ? with_number(g, "Pow", d, 2, false) : fuzz_add2(g, "Mul", NULL, d, d);
    int s = fuzz_add1(g, "Sqrt", NULL, with_number(g, "Add", mean(g, square), 1e-5, true));
    int y = fuzz_chance(g, 70) ? fuzz_add2(g, "Div", NULL, d, s)
                               : either_way(g, "Mul", d, fuzz_add1(g, "Reciprocal", NULL, s));
    if (y < 0)
        return;
    y = either_way(g, "Mul", y, fuzz_new_constant(g, fuzz_dtype(g, x), &last, NULL));
    if (y >= 0 && fuzz_chance(g, 60))
        either_way(g, "Add", y, fuzz_new_constant(g, fuzz_dtype(g, x), &last, NULL));
}

static void layer_norm_op(fuzz_gen *g)
{
    int in[3] = {rows(g, false), -1, -1};
    if (in[0] < 0)
        return;
    tfr_shape last = {.rank = 1,
                      .dims = {fuzz_shape(g, in[0])->dims[fuzz_shape(g, in[0])->rank - 1]}};
    in[1] = fuzz_new_constant(g, fuzz_dtype(g, in[0]), &last, NULL);
    bool rms = fuzz_chance(g, 40);
    if (!rms && fuzz_chance(g, 60))
        in[2] = fuzz_new_constant(g, fuzz_dtype(g, in[0]), &last, NULL);
    fuzz_add(g, rms ? "RMSNormalization" : "LayerNormalization", NULL, in, rms ? 2 : 3, 1);
}

/* ---- products -------------------------------------------------------------------------------- */

/* MatMul or Gemm, bias, activation, a sum with something else. */
static void dense(fuzz_gen *g)
{
    static const char *const acts[] = {"Relu", "Tanh",     "Sigmoid",   "Elu",
                                       "Gelu", "Softplus", "HardSwish", "Clip"};
    int x = rows(g, false);
    if (x < 0)
        return;
    const tfr_shape shape = *fuzz_shape(g, x);
    tfr_shape w = {.rank = 2, .dims = {shape.dims[shape.rank - 1], 1 + (int64_t)fuzz_below(g, 40)}};
    tfr_shape bias = {.rank = 1, .dims = {fuzz_chance(g, 90) ? w.dims[1] : 1}};
    int y = fuzz_add2(g, "MatMul", NULL, x, fuzz_new_constant(g, fuzz_dtype(g, x), &w, NULL));
    if (y >= 0 && fuzz_chance(g, 80))
        y = either_way(g, "Add", y, fuzz_new_constant(g, fuzz_dtype(g, x), &bias, NULL));
    if (y >= 0 && fuzz_chance(g, 70))
        y = fuzz_add1(g, acts[fuzz_below(g, 8)], NULL, y);
    if (y < 0 || fuzz_chance(g, 60))
        return;
    int other =
        fuzz_chance(g, 50) ? y : fuzz_new_input(g, fuzz_dtype(g, y), fuzz_shape(g, y), NULL);
    either_way(g, fuzz_chance(g, 70) ? "Add" : "Mul", y, other);
}

/* [B,T,C] to [B,H,T,D]. */
static int heads(fuzz_gen *g, int x, const int64_t *dims, bool turn_more)
{
    int r = fuzz_add2(g, "Reshape", NULL, x, fuzz_new_ints(g, dims, 4));
    return fuzz_add1(g, "Transpose", turn_more ? "perm:is=0,2,3,1" : "perm:is=0,2,1,3", r);
}

static void attention(fuzz_gen *g)
{
    int64_t b = 1 + (int64_t)fuzz_below(g, 2), t = 1 + (int64_t)fuzz_below(g, 6),
            h = 1 + (int64_t)fuzz_below(g, 3), d = 1 + (int64_t)fuzz_below(g, 8);
    int64_t dims[] = {b, t, h, d}, back[] = {b, t, h * d};
    tfr_shape shape = {.rank = 3, .dims = {b, t, h * d}}, w = {.rank = 2, .dims = {h * d, h * d}};
    int x = fuzz_new_input(g, TFR_DTYPE_F32, &shape, NULL), q = x, k = x, v = x;
    if (fuzz_chance(g, 60)) {
        q = fuzz_add2(g, "MatMul", NULL, x, fuzz_new_constant(g, TFR_DTYPE_F32, &w, "-0.5..0.5"));
        k = fuzz_add2(g, "MatMul", NULL, x, fuzz_new_constant(g, TFR_DTYPE_F32, &w, "-0.5..0.5"));
    }
    q = heads(g, q, dims, false);
    v = heads(g, v, dims, false);
    bool turned = fuzz_chance(g, 60);
    k = heads(g, k, dims, turned);
    if (!turned)
        k = fuzz_add1(g, "Transpose", "perm:is=0,1,3,2", k);
    if (fuzz_chance(g, 30))
        q = with_number(g, "Mul", q, 0.5, true);
    int s = fuzz_add2(g, "MatMul", NULL, q, k);
    if (fuzz_chance(g, 60))
        s = fuzz_chance(g, 50) ? with_number(g, "Div", s, 2, false)
                               : with_number(g, "Mul", s, 0.5, true);
    if (s >= 0 && fuzz_chance(g, 50)) {
        tfr_shape mask = {.rank = fuzz_chance(g, 50) ? 2 : 4, .dims = {t, t}};
        if (mask.rank == 4)
            mask = (tfr_shape){.rank = 4, .dims = {fuzz_chance(g, 50) ? b : 1, 1, t, t}};
        s = either_way(g, "Add", s,
                       fuzz_new_constant(g, TFR_DTYPE_F32, &mask, "0|0|0|-10000|-1..1"));
    }
    s = fuzz_add1(g, "Softmax", fuzz_chance(g, 90) ? "axis:i=-1" : "axis:i=2", s);
    int o = fuzz_add2(g, "MatMul", NULL, s, v);
    if (fuzz_chance(g, 70))
        fuzz_add2(g, "Reshape", NULL, fuzz_add1(g, "Transpose", "perm:is=0,2,1,3", o),
                  fuzz_new_ints(g, back, 3));
}

static void conv_block(fuzz_gen *g)
{
    static const char *const acts[] = {"Relu", "Sigmoid", "LeakyRelu", "HardSwish", "Clip", "Tanh"};
    int64_t c = 1 + (int64_t)fuzz_below(g, 20),
            m = fuzz_chance(g, 30) ? c : 1 + (int64_t)fuzz_below(g, 24);
    int64_t n = 1 + (int64_t)fuzz_below(g, 2), size = 3 + (int64_t)fuzz_below(g, 7),
            k = fuzz_chance(g, 60) ? 3 : 1;
    tfr_shape x_shape = {.rank = 4, .dims = {n, c, size, size + 1}},
              w = {.rank = 4, .dims = {m, c, k, k}}, per_channel = {.rank = 1, .dims = {m}};
    char attrs[120];
    int64_t s = 1 + fuzz_chance(g, 25), p = k == 3 && fuzz_chance(g, 80);
    bool depthwise = m == c && fuzz_chance(g, 50);
    int in[5] = {fuzz_new_input(g, TFR_DTYPE_F32, &x_shape, NULL), -1, -1, -1, -1};
    if (depthwise)
        w.dims[1] = 1;
    in[1] = fuzz_new_constant(g, TFR_DTYPE_F32, &w, "-1..1");
    if (fuzz_chance(g, 60))
        in[2] = fuzz_new_constant(g, TFR_DTYPE_F32, &per_channel, NULL);
    snprintf(attrs, sizeof attrs, "group:i=%lld pads:is=%d,%d,%d,%d strides:is=%d,%d",
             (long long)(depthwise ? c : 1), (int)p, (int)p, (int)p, (int)p, (int)s, (int)s);
    int y = fuzz_add(g, "Conv", attrs, in, 3, 1);
    if (y >= 0 && fuzz_chance(g, 50)) {
        in[0] = y;
        for (int i = 1; i < 4; i++)
            in[i] = fuzz_new_constant(g, TFR_DTYPE_F32, &per_channel, NULL);
        in[4] = fuzz_new_constant(g, TFR_DTYPE_F32, &per_channel, "0.1..2");
        y = fuzz_add(g, "BatchNormalization", NULL, in, 5, 1);
    }
    if (y >= 0 && fuzz_chance(g, 40))
        y = either_way(
            g, "Add", y,
            fuzz_chance(g, 50) ? y : fuzz_new_input(g, TFR_DTYPE_F32, fuzz_shape(g, y), NULL));
    if (y >= 0 && fuzz_chance(g, 70))
        y = fuzz_add1(g, acts[fuzz_below(g, 6)], NULL, y);
    if (y >= 0 && fuzz_chance(g, 25))
        fuzz_add1(g, fuzz_chance(g, 50) ? "GlobalAveragePool" : "GlobalMaxPool", NULL, y);
}

/* ---- quantized ------------------------------------------------------------------------------- */

static int quantized(fuzz_gen *g, int x, int type, bool back)
{
    int in[3] = {x, -1, -1};
    if (x < 0)
        return -1;
    in[1] = fuzz_new_constant(g, TFR_DTYPE_F32, &scalar, "0.02..0.1");
    in[2] =
        fuzz_new_constant(g, (tfr_dtype)type, &scalar, type == TFR_DTYPE_I8 ? "0|0|3" : "0..200");
    int q = fuzz_add(g, "QuantizeLinear", NULL, in, 3, 1);
    if (q < 0 || !back)
        return q;
    in[0] = q;
    return fuzz_add(g, "DequantizeLinear", NULL, in, 3, 1);
}

static void qdq(fuzz_gen *g)
{
    int x = rows(g, true), w, y;
    if (x < 0)
        return;
    const tfr_shape shape = *fuzz_shape(g, x);
    tfr_shape ws = {.rank = 2,
                    .dims = {shape.dims[shape.rank - 1], 1 + (int64_t)fuzz_below(g, 20)}};
    int in[3] = {-1, -1, -1};
    x = quantized(g, x, fuzz_chance(g, 50) ? TFR_DTYPE_U8 : TFR_DTYPE_I8, true);
    in[0] = fuzz_new_constant(g, TFR_DTYPE_I8, &ws, "-100..100");
    bool per_channel = fuzz_chance(g, 40);
    tfr_shape scale = {.rank = per_channel, .dims = {ws.dims[1]}};
    in[1] = fuzz_new_constant(g, TFR_DTYPE_F32, &scale, "0.01..0.1");
    if (fuzz_chance(g, 60))
        in[2] = fuzz_new_constant(g, TFR_DTYPE_I8, &scale, fuzz_chance(g, 80) ? "0" : "-3..3");
    w = fuzz_add(g, "DequantizeLinear", per_channel ? "axis:i=1" : NULL, in, 3, 1);
    y = fuzz_add2(g, "MatMul", NULL, x, w);
    if (y >= 0 && fuzz_chance(g, 50)) {
        tfr_shape bias = {.rank = 1, .dims = {ws.dims[1]}};
        y = either_way(g, "Add", y, fuzz_new_constant(g, TFR_DTYPE_F32, &bias, NULL));
    }
    if (fuzz_chance(g, 40))
        y = fuzz_add1(g, "Relu", NULL, y);
    quantized(g, y, fuzz_chance(g, 50) ? TFR_DTYPE_U8 : TFR_DTYPE_I8, fuzz_chance(g, 60));
}

static void dynamic_quantized(fuzz_gen *g)
{
    int in[4] = {rows(g, true), -1, -1, -1};
    if (in[0] < 0)
        return;
    const tfr_shape shape = *fuzz_shape(g, in[0]);
    tfr_shape ws = {.rank = 2,
                    .dims = {shape.dims[shape.rank - 1], 1 + (int64_t)fuzz_below(g, 20)}};
    int q = fuzz_add(g, "DynamicQuantizeLinear", NULL, in, 1, 3);
    if (q < 0)
        return;
    in[0] = q;
    in[1] = fuzz_new_constant(g, TFR_DTYPE_I8, &ws, "-127..127");
    in[2] = q + 2;
    if (fuzz_chance(g, 50))
        in[3] = fuzz_new_constant(g, TFR_DTYPE_I8, &scalar, "0..9");
    int y = fuzz_add(g, "MatMulInteger", NULL, in, 4, 1);
    y = fuzz_add1(g, "Cast", "to:i=1", y);
    int scale = fuzz_add2(g, "Mul", NULL, q + 1, fuzz_new_scalar(g, TFR_DTYPE_F32, 0.02));
    either_way(g, "Mul", y, scale);
}

/* ---- shapes that are computed, moves that cancel, the same thing twice ----------------------- */

static void computed_shape(fuzz_gen *g)
{
    int x = rows(g, false), in[2], n = 1;
    int64_t zero = 0, minus = -1;
    int shape = fuzz_add1(g, "Shape", NULL, x);
    if (shape < 0)
        return;
    int first = fuzz_add2(g, "Gather", NULL, shape, fuzz_new_ints(g, &zero, 1));
    if (first < 0)
        return;
    in[0] = first;
    in[n++] = fuzz_new_ints(g, &minus, 1);
    int to = fuzz_add(g, "Concat", "axis:i=0", in, n, 1);
    int y = fuzz_add2(g, "Reshape", NULL, x, to);
    if (y >= 0 && fuzz_chance(g, 40))
        fuzz_add2(g, "Expand", NULL, y, fuzz_add1(g, "Shape", NULL, y));
    if (fuzz_chance(g, 30))
        fuzz_add1(g, "ConstantOfShape", NULL, to);
}

static void transposes(fuzz_gen *g)
{
    static const char *const perms[] = {"perm:is=0,2,1", "perm:is=2,0,1", "perm:is=1,2,0",
                                        "perm:is=1,0,2"};
    tfr_shape shape = {.rank = 3, .dims = {2, 3, 4}};
    int x = fuzz_new_input(g, TFR_DTYPE_F32, &shape, NULL);
    int y = fuzz_add1(g, "Transpose", perms[fuzz_below(g, 4)], x);
    if (fuzz_chance(g, 60))
        y = fuzz_add1(g, fuzz_chance(g, 50) ? "Relu" : "Exp", NULL, y);
    if (y >= 0 && fuzz_chance(g, 40))
        y = fuzz_add2(g, "Add", NULL, y,
                      fuzz_new_constant(g, TFR_DTYPE_F32, fuzz_shape(g, y), NULL));
    y = fuzz_add1(g, "Transpose", perms[fuzz_below(g, 4)], y);
    if (y >= 0 && fuzz_chance(g, 50)) {
        tfr_shape w = {.rank = 2, .dims = {fuzz_shape(g, y)->dims[2], 5}};
        fuzz_add2(g, "MatMul", NULL, y, fuzz_new_constant(g, TFR_DTYPE_F32, &w, NULL));
    }
}

static void twice(fuzz_gen *g)
{
    static const char *const ops[] = {"Exp", "Softmax", "Sigmoid", "Transpose", "Abs", "Identity"};
    const char *op = ops[fuzz_below(g, 6)];
    int x = rows(g, false);
    int a = fuzz_add1(g, op, NULL, x), b = fuzz_add1(g, op, NULL, x);
    either_way(g, fuzz_chance(g, 50) ? "Add" : "Sub", a, b);
}

static void dropout(fuzz_gen *g)
{
    int in[3] = {rows(g, false), -1, -1};
    if (in[0] < 0)
        return;
    in[1] = fuzz_new_scalar(g, TFR_DTYPE_F32, 0.5);
    fuzz_add(g, "Dropout", NULL, in, 2, 1 + fuzz_chance(g, 40));
}

void fuzz_grow_pattern(fuzz_gen *g)
{
    static void (*const sources[])(fuzz_gen *) = {gelu,
                                                  gelu_tanh,
                                                  swish,
                                                  hard_swish,
                                                  mish,
                                                  layer_norm,
                                                  layer_norm,
                                                  layer_norm_op,
                                                  dense,
                                                  dense,
                                                  dense,
                                                  attention,
                                                  attention,
                                                  conv_block,
                                                  conv_block,
                                                  conv_block,
                                                  qdq,
                                                  qdq,
                                                  dynamic_quantized,
                                                  computed_shape,
                                                  transposes,
                                                  transposes,
                                                  twice,
                                                  dropout};
    sources[fuzz_below(g, sizeof sources / sizeof sources[0])](g);
}
