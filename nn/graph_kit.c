/* SPDX-License-Identifier: Apache-2.0 */
/* graph_kit.c: see graph_kit.h. */
#include "graph_kit.h"

#include <stdio.h>
#include <string.h>
#include <tfrun/dtype.h>

static const char *domain_of(const char *op)
{
    static const char *const ours[] = {
        "AveragePoolGrad", "BatchNormGrad", "BatchNormTrain",          "ConvGradFilter",
        "ConvGradInput",   "Inverse",       "LayerNormGrad",           "MaxPoolGrad",
        "Solve",           "SumTo",         "SoftmaxCrossEntropyGrad",
    };
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        if (strcmp(op, ours[i]) == 0)
            return "tfrun";
    return "";
}

void tfr__kit_nodes(tfr__kit *kit, const char *op, const tfr_value *inputs, uint32_t n_inputs,
                    const tfr_attr *attrs, uint32_t n_attrs, tfr_value *outputs, uint32_t n_outputs)
{
    char name[256];
    tfr_node_desc desc = {.size = sizeof desc,
                          .domain = domain_of(op),
                          .op = op,
                          .name = kit->scope ? name : NULL,
                          .device = kit->device,
                          .inputs = inputs,
                          .n_inputs = n_inputs,
                          .n_outputs = n_outputs,
                          .attrs = attrs,
                          .n_attrs = n_attrs};
    for (uint32_t i = 0; i < n_outputs; i++)
        outputs[i] = TFR_VALUE_NONE;
    if (kit->status)
        return;
    snprintf(name, sizeof name, "%s/%s", kit->scope ? kit->scope : "", op);
    kit->status = tfr_graph_add_node(kit->graph, &desc, outputs, kit->err);
}

tfr_value tfr__kit_node(tfr__kit *kit, const char *op, const tfr_value *inputs, uint32_t n_inputs,
                        const tfr_attr *attrs, uint32_t n_attrs)
{
    tfr_value out;
    tfr__kit_nodes(kit, op, inputs, n_inputs, attrs, n_attrs, &out, 1);
    return out;
}

tfr_value tfr__kit_op1(tfr__kit *kit, const char *op, tfr_value a)
{
    return tfr__kit_node(kit, op, &a, 1, NULL, 0);
}

tfr_value tfr__kit_op2(tfr__kit *kit, const char *op, tfr_value a, tfr_value b)
{
    return tfr__kit_node(kit, op, (const tfr_value[]){a, b}, 2, NULL, 0);
}

tfr_value tfr__kit_op3(tfr__kit *kit, const char *op, tfr_value a, tfr_value b, tfr_value c)
{
    return tfr__kit_node(kit, op, (const tfr_value[]){a, b, c}, 3, NULL, 0);
}

tfr_value tfr__kit_cast(tfr__kit *kit, tfr_value v, tfr_dtype dtype)
{
    return tfr__kit_node(kit, "Cast", &v, 1, (const tfr_attr[]){TFR_SET_INT("to", dtype)}, 1);
}

tfr_value tfr__kit_constant(tfr__kit *kit, tfr_dtype dtype, const tfr_shape *shape, tfr_dtype from,
                            const void *data, size_t n)
{
    tfr_value out = TFR_VALUE_NONE;
    tfr_tensor *tensor = NULL;
    if (kit->status)
        return out;
    kit->status = tfr_tensor_create(dtype, shape, &tensor, kit->err);
    if (!kit->status && n)
        kit->status =
            tfr_dtype_convert(dtype, tfr_tensor_data(tensor), from, data, (int64_t)n, kit->err);
    if (!kit->status)
        kit->status = tfr_graph_add_constant(kit->graph, NULL, tensor, &out, kit->err);
    tfr_tensor_release(tensor);
    return out;
}

tfr_value tfr__kit_scalar(tfr__kit *kit, tfr_dtype dtype, double value)
{
    return tfr__kit_constant(kit, dtype, &(tfr_shape){.rank = 0}, TFR_DTYPE_F64, &value, 1);
}

/* A tensor of one value. */
static tfr_tensor *filled(tfr__kit *kit, tfr_dtype dtype, const tfr_shape *shape, double value)
{
    tfr_tensor *tensor = NULL;
    const size_t bytes = tfr_dtype_bits(dtype) / 8;
    if (kit->status)
        return NULL;
    kit->status = tfr_tensor_create(dtype, shape, &tensor, kit->err);
    for (int64_t i = 0; !kit->status && i < tfr_tensor_elements(tensor); i++)
        kit->status = tfr_dtype_convert(dtype, (char *)tfr_tensor_data(tensor) + (size_t)i * bytes,
                                        TFR_DTYPE_F64, &value, 1, kit->err);
    return tensor;
}

tfr_value tfr__kit_variable(tfr__kit *kit, const char *name, tfr_dtype dtype,
                            const tfr_shape *shape, double value)
{
    tfr_value out = TFR_VALUE_NONE;
    tfr_tensor *tensor = filled(kit, dtype, shape, value);
    if (!kit->status)
        kit->status = tfr_graph_add_variable(kit->graph, name, tensor, &out, kit->err);
    tfr_tensor_release(tensor);
    return out;
}

void tfr__kit_update(tfr__kit *kit, tfr_value variable, tfr_value update)
{
    if (!kit->status)
        kit->status = tfr_graph_set_update(kit->graph, variable, update, kit->err);
}
