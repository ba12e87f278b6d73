/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flex_attention.c: FlexAttention of ai.onnx.preview becomes the nodes that compute it, with the
 * graphs of its attributes score_mod and prob_mod among them, so that passes and backends see ops
 * that they know. With r the root of scale, in the type of Q,
 *
 *   scores = score_mod((Q r) (K r)^T in the precision)     heads of K and V repeated for those of Q
 *   Y      = prob_mod(softmax(scores)) V                   in the precision, then as Q
 *
 * precision is softmax_precision, else float32 for float16 and bfloat16, else the type of Q.
 */
#include <math.h>
#include <string.h>

#include "onnx/call.h"
#include "prefix.h"

typedef struct flex {
    tfr__onnx_scope *scope;
    const tfr__onnx_node *node;
    tfr__onnx_call *call;
    tfr_value_type q, k;
    tfr_value root; /* of the scale, in the type of Q */
    int64_t precision;
} flex;

static tfr_status helper(const flex *f, const char *op, tfr_value a, tfr_value b,
                         const tfr_attr *attr, tfr_value *out, tfr_err *err)
{
    const tfr_value inputs[2] = {a, b};
    return tfr__call_node(f->call, op, inputs, b == TFR_VALUE_NONE ? 1 : 2, attr, attr ? 1 : 0, out,
                          err);
}

/* Dims [from, to) of a value. */
static tfr_status dims_of(const flex *f, tfr_value x, int64_t from, int64_t to, tfr_value *out,
                          tfr_err *err)
{
    const tfr_attr attrs[] = {TFR_SET_INT("start", from), TFR_SET_INT("end", to)};
    return tfr__call_node(f->call, "Shape", &x, 1, attrs, 2, out, err);
}

static tfr_status find_root(flex *f, tfr_err *err)
{
    const tfr_attr *scale = tfr__call_attr(f->call, "scale", TFR_ATTR_FLOAT);
    const tfr_attr to_float = TFR_SET_INT("to", TFR_DTYPE_F32);
    tfr_value q = f->call->inputs[0], x;
    tfr_status status;
    if (scale)
        return tfr__call_scalar_like(f->call, sqrt((double)scale->floats[0]), q, &f->root, err);
    if (f->q.rank_known && f->q.rank == 4 && f->q.dims[3] > 0)
        return tfr__call_scalar_like(f->call, (double)sqrtf(1 / sqrtf((float)f->q.dims[3])), q,
                                     &f->root, err);
    if ((status = dims_of(f, q, 3, 4, &x, err)) ||
        (status = helper(f, "Cast", x, TFR_VALUE_NONE, &to_float, &x, err)) ||
        (status = helper(f, "Sqrt", x, TFR_VALUE_NONE, NULL, &x, err)) ||
        (status = helper(f, "Sqrt", x, TFR_VALUE_NONE, NULL, &x, err)) ||
        (status = helper(f, "Reciprocal", x, TFR_VALUE_NONE, NULL, &x, err)))
        return status;
    return helper(f, "CastLike", x, q, NULL, &f->root, err);
}

/* [B,Hkv,S,E] becomes [B,Hq,S,E]: [B,Hkv,1,S,E] expands to [B,Hkv,Hq/Hkv,S,E]. */
static tfr_status repeat_heads(const flex *f, tfr_value *x, tfr_err *err)
{
    const tfr_attr axis = TFR_SET_INT("axis", 0);
    const int64_t two = 2, one = 1;
    tfr_value wide, axes, times[3], dims[3], shape;
    tfr_status status;
    if (f->q.rank_known && f->q.rank == 4 && f->k.rank_known && f->k.rank == 4 &&
        f->q.dims[1] > 0 && f->q.dims[1] == f->k.dims[1])
        return TFR_OK;
    if ((status = tfr__call_ints(f->call, 1, &two, 1, &axes, err)) ||
        (status = helper(f, "Unsqueeze", *x, axes, NULL, &wide, err)) ||
        (status = dims_of(f, f->call->inputs[0], 1, 2, &dims[1], err)) ||
        (status = dims_of(f, *x, 1, 2, &times[1], err)) ||
        (status = helper(f, "Div", dims[1], times[1], NULL, &times[0], err)) ||
        (status = tfr__call_ints(f->call, 1, &one, 1, &times[1], err)))
        return status;
    times[2] = times[1];
    if ((status = tfr__call_node(f->call, "Concat", times, 3, &axis, 1, &shape, err)) ||
        (status = helper(f, "Expand", wide, shape, NULL, &wide, err)) ||
        (status = dims_of(f, *x, 0, 1, &dims[0], err)) ||
        (status = dims_of(f, *x, 2, 4, &dims[2], err)) ||
        (status = tfr__call_node(f->call, "Concat", dims, 3, &axis, 1, &shape, err)))
        return status;
    return helper(f, "Reshape", wide, shape, NULL, x, err);
}

static tfr_status apply(const flex *f, const char *name, tfr_value *x, tfr_err *err)
{
    for (uint32_t i = 0; i < f->node->n_attrs; i++) {
        const tfr__onnx_attr *attr = &f->node->attrs[i];
        if (!tfr__text_equal(attr->name, name) || !attr->graph)
            continue;
        tfr_status status = tfr__onnx_inline_graph(f->scope, attr->graph, f->call->name, x, err);
        return status ? tfr__prefix(err, status, "attribute \"%s\": ", name) : TFR_OK;
    }
    return TFR_OK;
}

static tfr_status probabilities(const flex *f, tfr_value *out, tfr_err *err)
{
    const tfr_attr turn = TFR_SET_INTS("perm", 0, 1, 3, 2), last = TFR_SET_INT("axis", -1),
                   precision = TFR_SET_INT("to", f->precision);
    tfr_value q, k = f->call->inputs[1];
    tfr_status status;
    if ((status = repeat_heads(f, &k, err)) ||
        (status = helper(f, "Mul", f->call->inputs[0], f->root, NULL, &q, err)) ||
        (status = helper(f, "Mul", k, f->root, NULL, &k, err)) ||
        (status = helper(f, "Transpose", k, TFR_VALUE_NONE, &turn, &k, err)) ||
        (status = helper(f, "MatMul", q, k, NULL, out, err)))
        return status;
    if (f->precision != f->q.dtype &&
        (status = helper(f, "Cast", *out, TFR_VALUE_NONE, &precision, out, err)))
        return status;
    if ((status = apply(f, "score_mod", out, err)) ||
        (status = helper(f, "Softmax", *out, TFR_VALUE_NONE, &last, out, err)))
        return status;
    return apply(f, "prob_mod", out, err);
}

static tfr_status read_call(flex *f, tfr_err *err)
{
    const tfr__onnx_call *call = f->call;
    if (call->version != 1)
        return tfr_fail(err, TFR_EUNSUPPORTED, "FlexAttention of opset %d of its domain, not of 1",
                        (int)call->version);
    if (call->n_inputs != 3 || call->n_outputs != 1)
        return tfr_fail(err, TFR_EMODEL, "it has %u inputs and %u outputs, want 3 and 1",
                        call->n_inputs, call->n_outputs);
    for (uint32_t i = 0; i < 3; i++)
        if (call->inputs[i] == TFR_VALUE_NONE)
            return tfr_fail(err, TFR_EMODEL, "input %u is absent", i);
    f->q = tfr__onnx_known_type(call->builder, call->inputs[0]);
    f->k = tfr__onnx_known_type(call->builder, call->inputs[1]);
    if (f->q.rank_known && f->q.rank != 4)
        return tfr_fail(err, TFR_ESHAPE, "Q has rank %d, want 4", (int)f->q.rank);
    f->precision = tfr__call_int(call, "softmax_precision", 0);
    if (!f->precision && f->q.dtype == TFR_DTYPE_NONE)
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "FlexAttention of a type that is not known when the model is read, without "
                        "attribute softmax_precision");
    if (!f->precision)
        f->precision = f->q.dtype == TFR_DTYPE_F64 ? TFR_DTYPE_F64 : TFR_DTYPE_F32;
    return TFR_OK;
}

tfr_status tfr__onnx_import_flex_attention(tfr__onnx_scope *scope, const tfr__onnx_node *node,
                                           tfr__onnx_call *call, tfr_err *err)
{
    flex f = {.scope = scope, .node = node, .call = call};
    tfr_value v, product[2], like;
    tfr_status status;
    if ((status = read_call(&f, err)) || (status = find_root(&f, err)) ||
        (status = probabilities(&f, &product[0], err)))
        return status;
    while (call->n_subgraphs) /* their nodes are in the graph now */
        tfr_graph_release(call->subgraphs[--call->n_subgraphs].graph);
    v = like = call->inputs[2];
    if ((status = repeat_heads(&f, &v, err)))
        return status;
    product[1] = v;
    call->domain = "";
    if (f.precision == f.q.dtype) {
        tfr__call_become(call, "MatMul", product, 2);
        return tfr__onnx_emit(call, err);
    }
    const tfr_attr to = TFR_SET_INT("to", f.precision);
    if ((status = helper(&f, "Cast", v, TFR_VALUE_NONE, &to, &product[1], err)) ||
        (status = tfr__call_node(call, "MatMul", product, 2, NULL, 0, &product[0], err)))
        return status;
    product[1] = like;
    tfr__call_become(call, "CastLike", product, 2);
    return tfr__onnx_emit(call, err);
}
