/* SPDX-License-Identifier: Apache-2.0 */
/* autodiff_kit.c: the helpers that rules build gradients with. */
#include <stdio.h>
#include <string.h>

#include "autodiff.h"
#include "graph_kit.h"

/* ---- the node at hand ------------------------------------------------------------------------ */

tfr_value tfr__diff_in(const tfr__diff *d, uint32_t i)
{
    return i < d->node.n_inputs ? d->node.inputs[i] : TFR_VALUE_NONE;
}

tfr_value tfr__diff_out(const tfr__diff *d)
{
    return d->node.outputs[0];
}

tfr_value tfr__diff_gradient(const tfr__diff *d, uint32_t k)
{
    tfr_value v = k < d->node.n_outputs ? d->node.outputs[k] : TFR_VALUE_NONE;
    return v != TFR_VALUE_NONE && d->flows[v] ? d->gradients[v] : TFR_VALUE_NONE;
}

tfr_value tfr__diff_gradient_or_zeros(tfr__diff *d, uint32_t k)
{
    tfr_value g = tfr__diff_gradient(d, k), v = d->node.outputs[k];
    return g != TFR_VALUE_NONE ? g : tfr__diff_filled_like(d, 0, v);
}

bool tfr__diff_wants(const tfr__diff *d, uint32_t i)
{
    tfr_value v = tfr__diff_in(d, i);
    return !d->status && v != TFR_VALUE_NONE && d->flows[v];
}

void tfr__diff_give(tfr__diff *d, uint32_t i, tfr_value share)
{
    tfr__diff_seed(d, tfr__diff_in(d, i), share);
}

int64_t tfr__diff_int(const tfr__diff *d, const char *name, int64_t absent)
{
    const tfr_attr *attr = tfr_node_attr(&d->node, name);
    return attr && attr->type == TFR_ATTR_INT ? attr->ints[0] : absent;
}

float tfr__diff_float(const tfr__diff *d, const char *name, float absent)
{
    const tfr_attr *attr = tfr_node_attr(&d->node, name);
    return attr && attr->type == TFR_ATTR_FLOAT ? attr->floats[0] : absent;
}

bool tfr__diff_is(const tfr__diff *d, const char *name, const char *absent, const char *text)
{
    const tfr_attr *attr = tfr_node_attr(&d->node, name);
    if (!attr || attr->type != TFR_ATTR_STRING)
        return strcmp(absent, text) == 0;
    return attr->strings[0].bytes == strlen(text) &&
           memcmp(attr->strings[0].data, text, strlen(text)) == 0;
}

uint32_t tfr__diff_attrs(tfr__diff *d, const char *but, tfr_attr out[TFR__DIFF_ATTRS])
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->node.n_attrs; i++) {
        const tfr_attr *attr =
            (const tfr_attr *)((const char *)d->node.attrs + (size_t)i * d->node.attr_stride);
        if (but && strcmp(attr->name, but) == 0)
            continue;
        if (n == TFR__DIFF_ATTRS)
            tfr__diff_refuse(d, "it has too many attributes");
        else
            out[n++] = *attr;
    }
    return n;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* For what belongs to the node at hand. */
static tfr__kit kit_of(const tfr__diff *d)
{
    return (tfr__kit){
        .graph = d->graph, .status = d->status, .err = d->err, .device = d->node.device};
}

void tfr__diff_nodes(tfr__diff *d, const char *op, const tfr_value *inputs, uint32_t n_inputs,
                     const tfr_attr *attrs, uint32_t n_attrs, tfr_value *outputs,
                     uint32_t n_outputs)
{
    char scope[128];
    tfr__kit kit = kit_of(d);
    snprintf(scope, sizeof scope, "gradient%s%.100s", d->node.name ? "/" : "",
             d->node.name ? d->node.name : "");
    kit.scope = scope;
    tfr__kit_nodes(&kit, op, inputs, n_inputs, attrs, n_attrs, outputs, n_outputs);
    d->status = kit.status;
}

tfr_value tfr__diff_node(tfr__diff *d, const char *op, const tfr_value *inputs, uint32_t n_inputs,
                         const tfr_attr *attrs, uint32_t n_attrs)
{
    tfr_value out;
    tfr__diff_nodes(d, op, inputs, n_inputs, attrs, n_attrs, &out, 1);
    return out;
}

tfr_value tfr__diff_op1(tfr__diff *d, const char *op, tfr_value a)
{
    return tfr__diff_node(d, op, &a, 1, NULL, 0);
}

tfr_value tfr__diff_op2(tfr__diff *d, const char *op, tfr_value a, tfr_value b)
{
    return tfr__diff_node(d, op, (const tfr_value[]){a, b}, 2, NULL, 0);
}

tfr_value tfr__diff_op3(tfr__diff *d, const char *op, tfr_value a, tfr_value b, tfr_value c)
{
    return tfr__diff_node(d, op, (const tfr_value[]){a, b, c}, 3, NULL, 0);
}

/* ---- constants ------------------------------------------------------------------------------- */

static tfr_value constant(tfr__diff *d, tfr_dtype dtype, const tfr_shape *shape, tfr_dtype from,
                          const void *data, size_t n)
{
    tfr__kit kit = kit_of(d);
    tfr_value out = tfr__kit_constant(&kit, dtype, shape, from, data, n);
    d->status = kit.status;
    return out;
}

tfr_value tfr__diff_scalar(tfr__diff *d, double value, tfr_value like)
{
    int32_t dtype = tfr__diff_fact_of(d, like).dtype;
    tfr_shape scalar = {0};
    if (dtype != TFR_DTYPE_NONE)
        return constant(d, (tfr_dtype)dtype, &scalar, TFR_DTYPE_F64, &value, 1);
    return tfr__diff_op2(d, "CastLike",
                         constant(d, TFR_DTYPE_F64, &scalar, TFR_DTYPE_F64, &value, 1), like);
}

tfr_value tfr__diff_ints(tfr__diff *d, const int64_t *ints, int64_t n)
{
    tfr_shape shape = {1, {n}};
    return constant(d, TFR_DTYPE_I64, &shape, TFR_DTYPE_I64, ints, (size_t)n);
}

tfr_value tfr__diff_int_scalar(tfr__diff *d, int64_t value)
{
    tfr_shape scalar = {0};
    return constant(d, TFR_DTYPE_I64, &scalar, TFR_DTYPE_I64, &value, 1);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

tfr_value tfr__diff_shape_of(tfr__diff *d, tfr_value v)
{
    return tfr__diff_op1(d, "Shape", v);
}

tfr_value tfr__diff_dims(tfr__diff *d, tfr_value v, int64_t start, int64_t end)
{
    const tfr_attr attrs[] = {TFR_SET_INT("start", start), TFR_SET_INT("end", end)};
    return tfr__diff_node(d, "Shape", &v, 1, attrs, end ? 2 : 1);
}

tfr_value tfr__diff_dims_product(tfr__diff *d, tfr_value v, int64_t start, int64_t end)
{
    return tfr__diff_op1(d, "ReduceProd", tfr__diff_dims(d, v, start, end));
}

tfr_value tfr__diff_reshape(tfr__diff *d, tfr_value v, tfr_value shape)
{
    const tfr_attr attrs[] = {TFR_SET_INT("allowzero", 1)};
    return tfr__diff_node(d, "Reshape", (const tfr_value[]){v, shape}, 2, attrs, 1);
}

tfr_value tfr__diff_join(tfr__diff *d, const tfr_value *lists, uint32_t n)
{
    const tfr_attr attrs[] = {TFR_SET_INT("axis", 0)};
    return tfr__diff_node(d, "Concat", lists, n, attrs, 1);
}

tfr_value tfr__diff_sum_axes(tfr__diff *d, tfr_value v, const int64_t *axes, int64_t n, bool keep)
{
    const tfr_attr attrs[] = {TFR_SET_INT("keepdims", keep)};
    return tfr__diff_node(d, "ReduceSum", (const tfr_value[]){v, tfr__diff_ints(d, axes, n)}, 2,
                          attrs, 1);
}

tfr_value tfr__diff_by_channel(tfr__diff *d, tfr_value v, tfr_value like)
{
    const int64_t one = 1;
    tfr_value n = tfr__diff_shape_of(d, tfr__diff_dims(d, like, 2, 0));
    tfr_value lists[] = {tfr__diff_shape_of(d, v),
                         tfr__diff_op2(d, "Expand", tfr__diff_ints(d, &one, 1), n)};
    return tfr__diff_reshape(d, v, tfr__diff_join(d, lists, 2));
}

tfr_value tfr__diff_sum_to(tfr__diff *d, tfr_value v, tfr_value like)
{
    return tfr__diff_op2(d, "SumTo", v, tfr__diff_shape_of(d, like));
}

tfr_value tfr__diff_reshape_like(tfr__diff *d, tfr_value v, tfr_value like)
{
    return tfr__diff_reshape(d, v, tfr__diff_shape_of(d, like));
}

tfr_value tfr__diff_expand_like(tfr__diff *d, tfr_value v, tfr_value like)
{
    return tfr__diff_op2(d, "Expand", v, tfr__diff_shape_of(d, like));
}

tfr_value tfr__diff_filled_like(tfr__diff *d, double value, tfr_value like)
{
    return tfr__diff_expand_like(d, tfr__diff_scalar(d, value, like), like);
}

tfr__diff_fact tfr__diff_fact_of(const tfr__diff *d, tfr_value v)
{
    tfr__diff_fact out = {.rank = -1};
    tfr_value_type type = {.size = sizeof type};

    if (v < 0 || (uint32_t)v >= d->n_values || tfr_graph_types_get(d->types, NULL, v, &type, NULL))
        return out;
    out.dtype = type.dtype;
    out.rank = type.rank_known ? type.rank : -1;
    memcpy(out.dims, type.dims, sizeof out.dims);
    return out;
}
