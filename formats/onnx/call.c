/* SPDX-License-Identifier: Apache-2.0 */
/* call.c: the tools of call.h, and the last step: a call becomes a node. */
#include <string.h>
#include <tfrun/op.h>

#include "onnx/call.h"
#include "prefix.h"

/* ---- attributes ------------------------------------------------------------------------------ */

static tfr_attr *find(const tfr__onnx_call *call, const char *name)
{
    for (uint32_t i = 0; i < call->n_attrs; i++)
        if (strcmp(call->attrs[i].name, name) == 0)
            return &call->attrs[i];
    return NULL;
}

const tfr_attr *tfr__call_attr(const tfr__onnx_call *call, const char *name, tfr_attr_type type)
{
    const tfr_attr *attr = find(call, name);
    return attr && attr->type == (int32_t)type ? attr : NULL;
}

int64_t tfr__call_int(const tfr__onnx_call *call, const char *name, int64_t absent)
{
    const tfr_attr *attr = tfr__call_attr(call, name, TFR_ATTR_INT);
    return attr ? attr->ints[0] : absent;
}

bool tfr__call_take(tfr__onnx_call *call, const char *name, tfr_attr *out)
{
    tfr_attr *attr = find(call, name);
    if (!attr)
        return false;
    *out = *attr;
    memmove(attr, attr + 1, (size_t)(call->attrs + --call->n_attrs - attr) * sizeof *attr);
    return true;
}

tfr_status tfr__call_take_int(tfr__onnx_call *call, const char *name, int64_t absent, int64_t *out,
                              tfr_err *err)
{
    tfr_attr attr;
    *out = absent;
    if (!tfr__call_take(call, name, &attr))
        return TFR_OK;
    if (attr.type != TFR_ATTR_INT)
        return tfr_fail(err, TFR_EMODEL, "attribute \"%s\" is not an INT", name);
    *out = attr.ints[0];
    return TFR_OK;
}

void tfr__call_drop(tfr__onnx_call *call, const char *name)
{
    tfr_attr attr;
    (void)tfr__call_take(call, name, &attr);
}

/* A new attribute, or the one of this name to be overwritten; NULL = no room. */
static tfr_attr *set(tfr__onnx_call *call, const char *name, tfr_attr_type type, tfr_err *err)
{
    tfr_attr *attr = find(call, name);
    if (!attr) {
        if (call->n_attrs == call->attrs_capacity) {
            tfr_fail(err, TFR_EMODEL, "it has %u attributes, which are too many", call->n_attrs);
            return NULL;
        }
        attr = &call->attrs[call->n_attrs++];
    }
    memset(attr, 0, sizeof *attr);
    attr->size = sizeof *attr;
    attr->name = name;
    attr->type = (int32_t)type;
    attr->n = 1;
    return attr;
}

static tfr_status fail_memory(tfr_err *err)
{
    return tfr_fail(err, TFR_ENOMEM, "out of memory for an attribute");
}

tfr_status tfr__call_set_int(tfr__onnx_call *call, const char *name, int64_t value, tfr_err *err)
{
    int64_t *copy = tfr__scratch_take(&call->import->scratch, 1, sizeof *copy);
    tfr_attr *attr = copy ? set(call, name, TFR_ATTR_INT, err) : NULL;
    if (!attr)
        return copy ? TFR_EMODEL : fail_memory(err);
    *copy = value;
    attr->ints = copy;
    return TFR_OK;
}

tfr_status tfr__call_set_float(tfr__onnx_call *call, const char *name, float value, tfr_err *err)
{
    float *copy = tfr__scratch_take(&call->import->scratch, 1, sizeof *copy);
    tfr_attr *attr = copy ? set(call, name, TFR_ATTR_FLOAT, err) : NULL;
    if (!attr)
        return copy ? TFR_EMODEL : fail_memory(err);
    *copy = value;
    attr->floats = copy;
    return TFR_OK;
}

tfr_status tfr__call_set_string(tfr__onnx_call *call, const char *name, const char *value,
                                tfr_err *err)
{
    tfr_string *copy = tfr__scratch_take(&call->import->scratch, 1, sizeof *copy);
    tfr_attr *attr = copy ? set(call, name, TFR_ATTR_STRING, err) : NULL;
    if (!attr)
        return copy ? TFR_EMODEL : fail_memory(err);
    copy->data = value;
    copy->bytes = strlen(value);
    attr->strings = copy;
    return TFR_OK;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

tfr_value tfr__call_input(const tfr__onnx_call *call, uint32_t i)
{
    return i < call->n_inputs ? call->inputs[i] : TFR_VALUE_NONE;
}

void tfr__call_set_input(tfr__onnx_call *call, uint32_t i, tfr_value value)
{
    while (call->n_inputs <= i)
        call->inputs[call->n_inputs++] = TFR_VALUE_NONE;
    call->inputs[i] = value;
}

bool tfr__call_wants(const tfr__onnx_call *call, uint32_t i)
{
    return i < call->n_outputs && !(call->outputs[i] && !*call->outputs[i]);
}

static tfr_status add_constant(tfr__onnx_call *call, tfr_tensor *tensor, tfr_value *out,
                               tfr_err *err)
{
    tfr_status status = tfr_graph_add_constant(call->builder->graph, NULL, tensor, out, err);
    tfr_tensor_release(tensor);
    return status;
}

tfr_status tfr__call_ints(tfr__onnx_call *call, int32_t rank, const int64_t *ints, uint64_t n,
                          tfr_value *out, tfr_err *err)
{
    tfr_shape shape = {rank, {(int64_t)n}};
    tfr_tensor *tensor;
    tfr_status status = tfr_tensor_create(TFR_DTYPE_I64, &shape, &tensor, err);

    if (status)
        return status;
    if (n)
        memcpy(tfr_tensor_data(tensor), ints, n * sizeof *ints);
    return add_constant(call, tensor, out, err);
}

tfr_status tfr__call_scalar_like(tfr__onnx_call *call, double scalar, tfr_value like,
                                 tfr_value *out, tfr_err *err)
{
    int32_t dtype = tfr__onnx_known_type(call->builder, like).dtype;
    bool known = dtype != TFR_DTYPE_NONE && dtype != TFR_DTYPE_STRING;
    bool absent = like == TFR_VALUE_NONE; /* where it may not be, inference refuses the call */
    tfr_shape shape = {0, {0}};
    tfr_tensor *tensor;
    tfr_value inputs[2];
    tfr_status status =
        tfr_tensor_create(known ? (tfr_dtype)dtype : TFR_DTYPE_F32, &shape, &tensor, err);

    if (status)
        return status;
    status = tfr_dtype_convert(tfr_tensor_dtype(tensor), tfr_tensor_data(tensor), TFR_DTYPE_F64,
                               &scalar, 1, err);
    if (status) {
        tfr_tensor_release(tensor);
        return status;
    }
    status = add_constant(call, tensor, &inputs[0], err);
    *out = inputs[0];
    inputs[1] = like;
    if (status || known || absent)
        return status;
    return tfr__call_node(call, "CastLike", inputs, 2, NULL, 0, out, err);
}

tfr_status tfr__call_ints_to_input(tfr__onnx_call *call, const char *name, uint32_t i, tfr_err *err)
{
    tfr_attr attr;
    tfr_value value;
    tfr_status status;

    if (!tfr__call_take(call, name, &attr))
        return TFR_OK;
    if (attr.type != TFR_ATTR_INTS)
        return tfr_fail(err, TFR_EMODEL, "attribute \"%s\" is not of type INTS", name);
    status = tfr__call_ints(call, 1, attr.ints, attr.n, &value, err);
    if (!status)
        tfr__call_set_input(call, i, value);
    return status;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

tfr_status tfr__call_node(tfr__onnx_call *call, const char *op, const tfr_value *inputs,
                          uint32_t n_inputs, const tfr_attr *attrs, uint32_t n_attrs,
                          tfr_value *out, tfr_err *err)
{
    tfr__scratch *scratch = &call->import->scratch;
    size_t capacity = strlen(call->name) + strlen(op) + 2;
    char *name = tfr__scratch_take(scratch, capacity, 1);
    tfr__onnx_call helper = {.import = call->import,
                             .builder = call->builder,
                             .domain = "",
                             .op = op,
                             .name = name,
                             .n_inputs = n_inputs,
                             .n_outputs = 1,
                             .n_attrs = n_attrs,
                             .results = out};

    helper.inputs = tfr__scratch_take(scratch, n_inputs, sizeof *inputs);
    helper.attrs = tfr__scratch_take(scratch, n_attrs, sizeof *attrs);
    helper.outputs = tfr__scratch_take(scratch, 1, sizeof *helper.outputs);
    if (!name || !helper.inputs || !helper.attrs || !helper.outputs)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for a helper node");
    snprintf(name, capacity, "%s/%s", call->name, op);
    if (n_inputs)
        memcpy(helper.inputs, inputs, n_inputs * sizeof *inputs);
    if (n_attrs)
        memcpy(helper.attrs, attrs, n_attrs * sizeof *attrs);
    return tfr__onnx_emit(&helper, err);
}

void tfr__call_become(tfr__onnx_call *call, const char *op, const tfr_value *inputs, uint32_t n)
{
    call->op = op;
    call->n_attrs = 0;
    call->n_inputs = 0;
    for (uint32_t i = 0; i < n; i++)
        tfr__call_set_input(call, i, inputs[i]);
}

tfr_status tfr__onnx_emit(tfr__onnx_call *call, tfr_err *err)
{
    tfr_node_desc desc = {.size = sizeof desc,
                          .n_inputs = call->n_inputs,
                          .n_outputs = call->n_outputs,
                          .n_attrs = call->n_attrs,
                          .n_subgraphs = call->n_subgraphs,
                          .domain = call->domain,
                          .op = call->op,
                          .name = call->name,
                          .inputs = call->inputs,
                          .output_names = call->outputs,
                          .attrs = call->attrs,
                          .subgraphs = call->subgraphs};
    tfr_status status = tfr_graph_add_node(call->builder->graph, &desc, call->results, err);

    if (status)
        return status;
    call->n_subgraphs = 0; /* the node has them now */
    return TFR_OK;
}
