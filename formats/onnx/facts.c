/* SPDX-License-Identifier: Apache-2.0 */
/*
 * facts.c: types of values while a model is imported, which some old forms cannot be rewritten
 * without. They are inferred when the first one is asked for, so that new models do not wait.
 */
#include <string.h>
#include <tfrun/fail.h>

#include "onnx/import.h"

void tfr__onnx_builder_finish(tfr__onnx_builder *builder)
{
    tfr_graph_types_release(builder->types);
    builder->types = NULL;
}

static tfr_status start(tfr__onnx_builder *builder, tfr_err *err)
{
    return builder->types ? TFR_OK : tfr_graph_types_create(builder->graph, &builder->types, err);
}

tfr_status tfr__onnx_set_type(tfr__onnx_builder *builder, tfr_value value,
                              const tfr_value_type *type, tfr_err *err)
{
    tfr_status status = value < 0 ? TFR_OK : start(builder, err);
    return status || value < 0 ? status : tfr_graph_types_set(builder->types, value, type, err);
}

/* Looks at what was added to the graph since; captured values have the types of the outer ones. */
static tfr_status learn(tfr__onnx_builder *builder)
{
    tfr_value_view view = {.size = sizeof view};
    tfr_status status = start(builder, NULL);

    for (; !status && !tfr_graph_value(builder->graph, builder->n_learned, &view, NULL);
         builder->n_learned++)
        if (view.role == TFR_ROLE_CAPTURE && builder->outer) {
            tfr_value_type type = tfr__onnx_known_type(builder->outer, view.of_parent);
            for (int32_t i = 0; i < type.rank; i++)
                type.dims[i] = type.dims[i] < 0 ? -1 : type.dims[i];
            status = tfr_graph_types_set(builder->types, builder->n_learned, &type, NULL);
        }
    if (!status)
        status = tfr_graph_types_update(builder->types, NULL);
    builder->out_of_memory |= status == TFR_ENOMEM;
    return status;
}

tfr_value_type tfr__onnx_known_type(tfr__onnx_builder *builder, tfr_value value)
{
    const tfr_value_type unknown = {.size = sizeof unknown};
    tfr_value_type type = unknown;

    if (value < 0 || learn(builder) ||
        tfr_graph_types_get(builder->types, NULL, value, &type, NULL) ||
        type.kind != TFR_KIND_TENSOR)
        return unknown;
    return type;
}

int32_t tfr__onnx_known_rank(tfr__onnx_builder *builder, tfr_value value)
{
    tfr_value_type type = tfr__onnx_known_type(builder, value);
    return type.rank_known ? type.rank : -1;
}

tfr_tensor *tfr__onnx_known_tensor(const tfr__onnx_builder *builder, tfr_value value)
{
    tfr_value_view view = {.size = sizeof view};

    if (value < 0 || tfr_graph_value(builder->graph, value, &view, NULL))
        return NULL;
    if (view.role == TFR_ROLE_CAPTURE)
        return builder->outer ? tfr__onnx_known_tensor(builder->outer, view.of_parent) : NULL;
    return view.role == TFR_ROLE_CONSTANT && tfr_tensor_kind(view.tensor) == TFR_KIND_TENSOR
               ? view.tensor
               : NULL;
}
