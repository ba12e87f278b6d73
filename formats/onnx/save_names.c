/* SPDX-License-Identifier: Apache-2.0 */
/*
 * save_names.c: the names of a model's values. ONNX wants a name for each, once in a graph and in
 * the graphs inside it. The model's inputs and outputs keep theirs, so do all others that have a
 * name of their own; what is left is named after its node.
 */
#include <string.h>
#include <tfrun/fail.h>

#include "onnx/save.h"
#include "utf8.h"

static tfr_status no_memory(tfr_err *err)
{
    return tfr_fail(err, TFR_ENOMEM, "out of memory for the names of a model");
}

/* ---- parts ------------------------------------------------------------------------------------
 */

static tfr_status add_part(tfr__onnx_save *save, const tfr_graph *graph, tfr__onnx_part *outer,
                           tfr__onnx_part **out, tfr_err *err)
{
    tfr__onnx_part *part = tfr__scratch_take(&save->scratch, 1, sizeof *part);
    uint32_t n = tfr_graph_n_values(graph);

    if (!part)
        return no_memory(err);
    if (save->n_parts == save->capacity) {
        uint32_t capacity = save->capacity ? 2 * save->capacity : 16;
        tfr__onnx_part **parts = tfr__scratch_take(&save->scratch, capacity, sizeof *parts);
        if (!parts)
            return no_memory(err);
        if (save->n_parts)
            memcpy(parts, save->parts, save->n_parts * sizeof *parts);
        save->parts = parts;
        save->capacity = capacity;
    }
    part->graph = graph;
    part->outer = outer;
    part->used = tfr__scratch_take(&save->scratch, n, sizeof *part->used);
    part->tensors = tfr__scratch_take(&save->scratch, n, sizeof *part->tensors);
    part->shared = tfr__scratch_take(&save->scratch, n, sizeof *part->shared);
    part->names = tfr__scratch_take(&save->scratch, n, sizeof *part->names);
    part->node_names =
        tfr__scratch_take(&save->scratch, tfr_graph_n_nodes(graph), sizeof *part->node_names);
    part->offsets = tfr__scratch_take(&save->scratch, n, sizeof *part->offsets);
    part->results =
        tfr__scratch_take(&save->scratch, tfr_graph_n_outputs(graph), sizeof *part->results);
    if (!part->used || !part->tensors || !part->shared || !part->names || !part->node_names ||
        !part->offsets || !part->results)
        return no_memory(err);
    save->parts[save->n_parts++] = part;
    *out = part;
    return TFR_OK;
}

/*
 * Passes give a subgraph that captures a constant the same tensor as a constant of its own. In the
 * file it is there once.
 */
static tfr_status note_tensor(tfr__onnx_part *part, tfr_value v, const tfr_value_view *value,
                              tfr_err *err)
{
    tfr__text text = {(const char *)&part->tensors[v], sizeof part->tensors[v]};
    uint32_t label;
    bool is_new;
    if (!value->tensor)
        return TFR_OK;
    part->tensors[v] = value->tensor;
    return tfr__labels_add(&part->addresses, text, &label, &is_new, err);
}

/* The same constant in a graph around this one, or NULL. */
static tfr__onnx_part *find_shared(const tfr__onnx_part *part, tfr_value v, tfr_value *out)
{
    tfr__text text = {(const char *)&part->tensors[v], sizeof part->tensors[v]};
    for (tfr__onnx_part *outer = part->outer; outer; outer = outer->outer) {
        uint32_t label = tfr__labels_find(&outer->addresses, text);
        if (label != TFR__LABEL_NONE) {
            const void *at = outer->addresses.texts[label].data;
            *out = (tfr_value)((const tfr_tensor *const *)at - outer->tensors);
            return outer;
        }
    }
    return NULL;
}

static const tfr_attr *attr_at(const tfr_node_view *node, uint32_t i)
{
    const void *item = (const char *)node->attrs + (size_t)i * node->attr_stride;
    return item;
}

static tfr_status find_parts(tfr__onnx_save *save, const tfr_graph *graph, tfr__onnx_part *outer,
                             tfr_err *err);

static tfr_status find_inside(tfr__onnx_save *save, tfr__onnx_part *part, const tfr_node_view *node,
                              tfr_err *err)
{
    tfr_status status = TFR_OK;
    for (uint32_t k = 0; k < node->n_inputs; k++)
        if (node->inputs[k] != TFR_VALUE_NONE)
            part->used[node->inputs[k]] = true;
    for (uint32_t k = 0; !status && k < node->n_attrs; k++)
        if (attr_at(node, k)->type == TFR_ATTR_GRAPH)
            status = find_parts(save, tfr_node_subgraph(node, attr_at(node, k)->name), part, err);
    return status;
}

/* What becomes of a value that is no node's: is it captured, can it be written? */
static tfr_status look_at_value(tfr__onnx_part *part, tfr_value v, const tfr_value_view *value,
                                tfr_err *err)
{
    const char *name = tfr_graph_value_name(part->graph, v);
    tfr__onnx_part *around;
    tfr_value other;

    if (value->role == TFR_ROLE_CAPTURE && part->used[v])
        part->outer->used[value->of_parent] = true;
    if (value->role == TFR_ROLE_VARIABLE && value->update != TFR_VALUE_NONE)
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "variable \"%s\" changes from run to run, and the graph of an ONNX model "
                        "keeps nothing between runs",
                        name);
    if (!value->tensor || !part->used[v])
        return TFR_OK;
    if (tfr_tensor_kind(value->tensor) != TFR_KIND_TENSOR)
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "constant \"%s\" is a sequence or optional, and an initializer of an ONNX "
                        "model is a tensor",
                        name);
    around = find_shared(part, v, &other);
    if (around) {
        part->shared[v] = true;
        around->used[other] = true;
    }
    return TFR_OK;
}

/* Calls look for every value. */
static tfr_status each_value(tfr__onnx_part *part,
                             tfr_status (*look)(tfr__onnx_part *part, tfr_value v,
                                                const tfr_value_view *value, tfr_err *err),
                             tfr_err *err)
{
    tfr_value_view value = {.size = sizeof value};
    tfr_status status = TFR_OK;

    for (uint32_t v = 0; !status && v < tfr_graph_n_values(part->graph); v++) {
        status = tfr_graph_value(part->graph, (tfr_value)v, &value, err);
        if (!status)
            status = look(part, (tfr_value)v, &value, err);
    }
    return status;
}

/* The graph and all inside it. What an inner one captures and reads is used in the outer one. */
static tfr_status find_parts(tfr__onnx_save *save, const tfr_graph *graph, tfr__onnx_part *outer,
                             tfr_err *err)
{
    tfr_node_view node = {.size = sizeof node};
    tfr__onnx_part *part = NULL;
    tfr_status status = add_part(save, graph, outer, &part, err);

    if (!status)
        status = each_value(part, note_tensor, err);
    for (uint32_t i = 0; !status && i < tfr_graph_n_nodes(graph); i++) {
        status = tfr_graph_node(graph, i, &node, err);
        if (!status)
            status = find_inside(save, part, &node, err);
    }
    for (uint32_t i = 0; !status && i < tfr_graph_n_outputs(graph); i++)
        part->used[tfr_graph_output(graph, i)] = true;
    return status ? status : each_value(part, look_at_value, err);
}

/* ---- names ------------------------------------------------------------------------------------
 */

static bool is_taken(const tfr__onnx_part *part, const char *name)
{
    tfr__text text = {name, strlen(name)};
    for (; part; part = part->outer)
        if (tfr__labels_find(&part->labels, text) != TFR__LABEL_NONE)
            return true;
    return false;
}

static tfr_status take(tfr__onnx_part *part, const char *name, tfr_err *err)
{
    tfr__text text = {name, strlen(name)};
    uint32_t label;
    bool is_new;
    return tfr__labels_add(&part->labels, text, &label, &is_new, err);
}

static bool is_text(const char *name)
{
    size_t n;
    return name && *name && tfr__utf8_decode(name, strlen(name), NULL, &n);
}

/* Not what the graph made up, "%" and a number: a reader that makes up names could meet it. */
static bool is_own_name(const char *name)
{
    return is_text(name) && !(name[0] == '%' && strspn(name + 1, "0123456789") == strlen(name + 1));
}

/* base, or if that is taken, base and a number that was not used yet in this model. */
static tfr_status make_up(tfr__onnx_save *save, tfr__onnx_part *part, const char *base,
                          const char **out, tfr_err *err)
{
    size_t capacity = strlen(base) + 12;
    char *name = tfr__scratch_take(&save->scratch, capacity, 1);

    if (!name)
        return no_memory(err);
    snprintf(name, capacity, "%s", base);
    while (is_taken(part, name))
        snprintf(name, capacity, "%s_%u", base, save->n_made_up++);
    *out = name;
    return take(part, name, err);
}

/* ---- inputs and outputs -----------------------------------------------------------------------
 */

static tfr_status fail_interface(const char *what, uint32_t i, const char *name, tfr_err *err)
{
    return tfr_fail(err, TFR_EMODEL,
                    is_text(name)
                        ? "%s %u cannot be called \"%s\", which is the name of another input or "
                          "output"
                        : "the name of %s %u, \"%s\", is empty or not UTF-8, as ONNX wants it",
                    what, i, name);
}

static tfr_status name_input(tfr__onnx_save *save, tfr__onnx_part *part, uint32_t i, tfr_err *err)
{
    tfr_value v = tfr_graph_input(part->graph, i);
    const char *name = tfr_graph_value_name(part->graph, v);

    if (part->outer) /* known by their place, not their name */
        return make_up(save, part, is_own_name(name) ? name : "input", &part->names[v], err);
    if (!is_text(name))
        return fail_interface("input", i, name, err);
    part->names[v] = name;
    return take(part, name, err);
}

/* The value takes the output's name if it has none yet, else the output is an Identity of it. */
static tfr_status name_output(tfr__onnx_save *save, tfr__onnx_part *part, uint32_t i, tfr_err *err)
{
    tfr__onnx_result *result = &part->results[i];
    tfr_value v = tfr_graph_output(part->graph, i);
    const char *name = tfr_graph_output_name(part->graph, i);
    tfr_value_view value = {.size = sizeof value};
    tfr_status status = tfr_graph_value(part->graph, v, &value, err);

    if (status)
        return status;
    if (part->names[v] && strcmp(part->names[v], name) == 0) {
        result->name = name;
        return TFR_OK;
    }
    result->is_identity = part->names[v] || value.role == TFR_ROLE_CAPTURE || part->shared[v];
    if (part->outer) {
        status = make_up(save, part, is_own_name(name) ? name : "output", &result->name, err);
    } else {
        if (!is_text(name) || is_taken(part, name))
            return fail_interface("output", i, name, err);
        result->name = name;
        status = take(part, name, err);
    }
    if (!result->is_identity)
        part->names[v] = result->name;
    return status;
}

/* ---- the others -------------------------------------------------------------------------------
 */

/* Names that are the values' own, as far as they are free. */
static tfr_status keep_names(tfr__onnx_part *part, tfr_err *err)
{
    tfr_value_view value = {.size = sizeof value};
    tfr_status status = TFR_OK;

    for (uint32_t v = 0; !status && v < tfr_graph_n_values(part->graph); v++) {
        const char *name = tfr_graph_value_name(part->graph, (tfr_value)v);
        status = tfr_graph_value(part->graph, (tfr_value)v, &value, err);
        if (status || part->names[v] || !part->used[v])
            continue;
        if (value.role == TFR_ROLE_CAPTURE) {
            part->names[v] = part->outer->names[value.of_parent];
        } else if (part->shared[v]) {
            tfr_value other;
            const tfr__onnx_part *around = find_shared(part, (tfr_value)v, &other);
            part->names[v] = around->names[other];
        } else if (is_own_name(name) && !is_taken(part, name)) {
            part->names[v] = name;
            status = take(part, name, err);
        }
    }
    return status;
}

static tfr_status name_results(tfr__onnx_save *save, tfr__onnx_part *part,
                               const tfr_node_view *node, tfr_err *err)
{
    const char *base = is_text(node->name) ? node->name : node->op;
    tfr_status status = TFR_OK;

    for (uint32_t k = 0; !status && k < node->n_outputs; k++) {
        tfr_value v = node->outputs[k];
        const char *own = v == TFR_VALUE_NONE ? NULL : tfr_graph_value_name(part->graph, v);
        if (v != TFR_VALUE_NONE && !part->names[v])
            status = make_up(save, part, is_own_name(own) ? own : base, &part->names[v], err);
    }
    return status;
}

static tfr_status name_rest(tfr__onnx_save *save, tfr__onnx_part *part, tfr_err *err)
{
    tfr_node_view node = {.size = sizeof node};
    tfr_status status = TFR_OK;

    for (uint32_t v = 0; !status && v < tfr_graph_n_values(part->graph); v++) {
        tfr_value_view value = {.size = sizeof value};
        const char *own = tfr_graph_value_name(part->graph, (tfr_value)v);
        status = tfr_graph_value(part->graph, (tfr_value)v, &value, err);
        if (!status && part->used[v] && !part->names[v] &&
            (value.role == TFR_ROLE_CONSTANT || value.role == TFR_ROLE_VARIABLE))
            status = make_up(save, part, is_own_name(own) ? own : "constant", &part->names[v], err);
    }
    for (uint32_t i = 0; !status && i < tfr_graph_n_nodes(part->graph); i++) {
        status = tfr_graph_node(part->graph, i, &node, err);
        if (!status)
            status = name_results(save, part, &node, err);
    }
    return status;
}

/* ---- nodes ------------------------------------------------------------------------------------
 */

static tfr_status take_node_name(tfr__onnx_part *part, const char *name, bool *is_new, tfr_err *err)
{
    uint32_t label;
    return tfr__labels_add(&part->node_labels, (tfr__text){name, strlen(name)}, &label, is_new,
                           err);
}

/* The node's own name, or with a number: passes make several nodes of one, which share its name. */
static tfr_status name_node(tfr__onnx_save *save, tfr__onnx_part *part, uint32_t i,
                            const char *base, tfr_err *err)
{
    size_t capacity = strlen(base) + 12;
    char *name = tfr__scratch_take(&save->scratch, capacity, 1);
    bool is_new = false;
    tfr_status status = TFR_OK;

    if (!name)
        return no_memory(err);
    snprintf(name, capacity, "%s", base);
    status = take_node_name(part, name, &is_new, err);
    while (!status && !is_new) {
        snprintf(name, capacity, "%s_%u", base, ++save->n_numbered);
        status = take_node_name(part, name, &is_new, err);
    }
    part->node_names[i] = name;
    return status;
}

/* ONNX leaves it open, but runtimes refuse two nodes of one name. */
static tfr_status name_nodes(tfr__onnx_save *save, tfr__onnx_part *part, tfr_err *err)
{
    tfr_node_view node = {.size = sizeof node};
    tfr_status status = TFR_OK;
    bool is_new;

    for (uint32_t i = 0; !status && i < tfr_graph_n_outputs(part->graph); i++)
        if (part->results[i].is_identity)
            status = take_node_name(part, part->results[i].name, &is_new, err);
    for (uint32_t i = 0; !status && i < tfr_graph_n_nodes(part->graph); i++) {
        status = tfr_graph_node(part->graph, i, &node, err);
        if (!status && is_text(node.name))
            status = name_node(save, part, i, node.name, err);
    }
    return status;
}

static tfr_status name_part(tfr__onnx_save *save, tfr__onnx_part *part, tfr_err *err)
{
    tfr_status status = TFR_OK;

    for (uint32_t i = 0; !status && i < tfr_graph_n_inputs(part->graph); i++)
        status = name_input(save, part, i, err);
    for (uint32_t i = 0; !status && i < tfr_graph_n_outputs(part->graph); i++)
        status = name_output(save, part, i, err);
    if (!status)
        status = keep_names(part, err);
    if (!status)
        status = name_nodes(save, part, err);
    return status ? status : name_rest(save, part, err);
}

tfr_value_type tfr__onnx_type_of(const tfr__onnx_save *save, const tfr__onnx_part *part,
                                 tfr_value v)
{
    tfr_value_type type = *tfr_graph_value_type(part->graph, v);
    tfr_value_type found = {.size = sizeof found};

    if (type.dtype || !save->types ||
        tfr_graph_types_get(save->types, part->graph, v, &found, NULL))
        return type;
    for (int32_t i = 0; i < found.rank; i++)
        found.dims[i] = found.dims[i] < 0 ? -1 : found.dims[i];
    return found;
}

tfr_status tfr__onnx_save_start(tfr__onnx_save *save, const tfr_graph *graph, tfr_err *err)
{
    tfr_status status = tfr_graph_infer((tfr_graph *)(uintptr_t)graph, &save->types, NULL);

    /* What cannot run can be written. */
    status = status == TFR_ENOMEM ? no_memory(err) : find_parts(save, graph, NULL, err);
    /* Outer ones first: their names are seen inside. */
    for (uint32_t i = 0; !status && i < save->n_parts; i++)
        status = name_part(save, save->parts[i], err);
    return status;
}

void tfr__onnx_save_finish(tfr__onnx_save *save)
{
    for (uint32_t i = 0; i < save->n_parts; i++) {
        tfr__labels_finish(&save->parts[i]->labels);
        tfr__labels_finish(&save->parts[i]->node_labels);
        tfr__labels_finish(&save->parts[i]->addresses);
    }
    tfr_graph_types_release(save->types);
    tfr__scratch_finish(&save->scratch);
}
