/* SPDX-License-Identifier: Apache-2.0 */
/* graph_copy.c: see graph_copy.h. */
#include "graph_copy.h"

#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>

enum { MOST_OUTPUTS = 64 };

/* Names that were made up are made up anew. */
static const char *name_of(const tfr__copy *copy, tfr_value v)
{
    const char *name = tfr_graph_value_name(copy->from, v);
    return name[0] == '%' ? NULL : name;
}

/* A dim with a name is the symbol of that name in the new graph. */
static tfr_status copy_type(const tfr__copy *copy, const tfr_value_type *from, tfr_value_type *to,
                            tfr_err *err)
{
    tfr_status status = TFR_OK;
    *to = *from;
    for (int32_t i = 0; !status && from->rank_known && i < from->rank; i++) {
        const char *name =
            from->dims[i] < -1 ? tfr_graph_symbol_name(copy->from, from->dims[i]) : NULL;
        if (name)
            status = tfr_graph_add_symbol(copy->to, name, &to->dims[i], err);
    }
    return status;
}

static tfr_status copy_value(tfr__copy *copy, tfr_value v, tfr_err *err)
{
    const char *name = name_of(copy, v);
    tfr_value_view view = {.size = sizeof view};
    tfr_status status = tfr_graph_value(copy->from, v, &view, err);
    if (status || (view.role != TFR_ROLE_CONSTANT && view.role != TFR_ROLE_VARIABLE))
        return status;
    if (copy->value)
        status = copy->value(copy, v, &view, &copy->map[v], err);
    if (status || copy->map[v] != TFR_VALUE_NONE)
        return status;
    if (view.role == TFR_ROLE_CONSTANT)
        return tfr_graph_add_constant(copy->to, name, view.tensor, &copy->map[v], err);
    return tfr_graph_add_variable(copy->to, name, view.tensor, &copy->map[v], err);
}

static tfr_status copy_inputs(tfr__copy *copy, tfr_err *err)
{
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; !status && i < tfr_graph_n_inputs(copy->from); i++) {
        tfr_value v = tfr_graph_input(copy->from, i);
        tfr_value_type type;
        status = copy_type(copy, tfr_graph_value_type(copy->from, v), &type, err);
        if (!status)
            status = tfr_graph_add_input(copy->to, name_of(copy, v), &type, &copy->map[v], err);
    }
    return status;
}

tfr_status tfr__copy_begin(tfr__copy *copy, tfr_err *err)
{
    const uint32_t n = tfr_graph_n_values(copy->from);
    tfr_status status = tfr_graph_create(tfr_graph_name(copy->from), &copy->to, err);
    copy->map = malloc(((size_t)n + 1) * sizeof *copy->map);
    if (!copy->map)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for a copy of graph \"%s\"",
                        tfr_graph_name(copy->from));
    for (uint32_t i = 0; i < n; i++)
        copy->map[i] = TFR_VALUE_NONE;
    if (!status)
        status = copy_inputs(copy, err);
    for (uint32_t i = 0; !status && i < n; i++)
        status = copy_value(copy, (tfr_value)i, err);
    return status;
}

tfr_status tfr__copy_node(tfr__copy *copy, const tfr_node_view *view, const tfr_value *inputs,
                          uint32_t n_inputs, const tfr_attr *attrs, uint32_t n_attrs,
                          tfr_value *outputs, uint32_t n_outputs, tfr_err *err)
{
    const char *names[MOST_OUTPUTS];
    tfr_node_desc desc = {.size = sizeof desc,
                          .domain = view->domain,
                          .op = view->op,
                          .name = view->name,
                          .device = view->device,
                          .inputs = inputs,
                          .n_inputs = n_inputs,
                          .n_outputs = n_outputs,
                          .output_names = names,
                          .attrs = attrs,
                          .n_attrs = n_attrs};
    if (n_outputs > MOST_OUTPUTS)
        return tfr_fail(err, TFR_ELIMIT, "node \"%s\" (%s) has %u outputs, more than %d",
                        view->name, view->op, n_outputs, MOST_OUTPUTS);
    for (uint32_t i = 0; i < n_outputs; i++) {
        tfr_value v = i < view->n_outputs ? view->outputs[i] : TFR_VALUE_NONE;
        names[i] = v != TFR_VALUE_NONE ? name_of(copy, v) : i < view->n_outputs ? "" : NULL;
    }
    return tfr_graph_add_node(copy->to, &desc, outputs, err);
}

/* The node as it is. */
static tfr_status copy_plain(tfr__copy *copy, const tfr_node_view *view, tfr_err *err)
{
    tfr_value outputs[MOST_OUTPUTS];
    tfr_value *inputs = malloc(((size_t)view->n_inputs + 1) * sizeof *inputs);
    tfr_attr *attrs = calloc((size_t)view->n_attrs + 1, sizeof *attrs);
    tfr_status status = TFR_OK;
    if (!inputs || !attrs)
        status = tfr_fail(err, TFR_ENOMEM, "out of memory for node \"%s\"", view->name);
    for (uint32_t i = 0; !status && i < view->n_inputs; i++)
        inputs[i] = view->inputs[i] == TFR_VALUE_NONE ? TFR_VALUE_NONE : copy->map[view->inputs[i]];
    for (uint32_t i = 0; !status && i < view->n_attrs; i++)
        memcpy(&attrs[i], (const char *)view->attrs + (size_t)i * view->attr_stride, sizeof *attrs);
    if (!status)
        status = tfr__copy_node(copy, view, inputs, view->n_inputs, attrs, view->n_attrs, outputs,
                                view->n_outputs, err);
    for (uint32_t i = 0; !status && i < view->n_outputs; i++)
        if (view->outputs[i] != TFR_VALUE_NONE)
            copy->map[view->outputs[i]] = outputs[i];
    free(inputs);
    free(attrs);
    return status;
}

tfr_status tfr__copy_nodes(tfr__copy *copy, tfr_err *err)
{
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; !status && i < tfr_graph_n_nodes(copy->from); i++) {
        tfr_node_view view = {.size = sizeof view};
        bool done = false;
        status = tfr_graph_node(copy->from, i, &view, err);
        if (!status && view.n_subgraphs)
            status = tfr_fail(err, TFR_EUNSUPPORTED,
                              "node \"%s\" (%s) has graphs inside, which cannot be trained yet",
                              view.name, view.op);
        if (!status && copy->node)
            status = copy->node(copy, i, &view, &done, err);
        if (!status && !done)
            status = copy_plain(copy, &view, err);
    }
    return status;
}

void tfr__copy_finish(tfr__copy *copy, tfr_graph **out)
{
    if (out)
        *out = copy->to;
    else
        tfr_graph_release(copy->to);
    free(copy->map);
    copy->map = NULL;
}
