/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_inspect.c: `tfrun inspect`: what is in a model, without inputs, plugins or a run. Weights are
 * not read, so it takes as long as the outlines of the file take.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tfrun/fail.h>
#include <tfrun/onnx.h>

#include "commands.h"
#include "json.h"
#include "model.h"
#include "options.h"
#include "table.h"
#include "text.h"

typedef struct op_count {
    const char *domain, *op;
    uint32_t n;
} op_count;

typedef struct inspection {
    const cli_args *args;
    tfr_graph *graph;
    tfr_graph_types *types;
    tfr_onnx_opset opsets[TFR_ONNX_MAX_OPSETS];
    op_count *ops; /* most frequent first */
    uint32_t n_opsets, n_ops, n_nodes, n_graphs, n_constants;
    uint32_t n_uncounted; /* nodes whose work is not known */
    double flops, parameters, bytes;
} inspection;

/* ---- types ----------------------------------------------------------------------------------- */

static tfr_status type_text(const inspection *in, const tfr_graph *graph, tfr_value v, char *text,
                            size_t n, tfr_err *err)
{
    tfr_value_type type = {.size = sizeof type}, plain;
    tfr_status status = tfr_graph_types_get(in->types, graph, v, &type, err);
    char dim[80];
    if (status)
        return status;
    plain = type;
    plain.rank_known = 0;
    cli_format_type(&plain, text, n);
    size_t used = strlen(text);
    if (!type.rank_known)
        return TFR_OK;
    for (int32_t i = 0; i < type.rank && used < n; i++)
        used += (size_t)snprintf(text + used, n - used, "%s%s", i ? "," : "[",
                                 tfr_graph_types_dim(in->types, type.dims[i], dim, sizeof dim));
    if (used < n)
        snprintf(text + used, n - used, type.rank ? "]" : "[]");
    return TFR_OK;
}

static json_t *type_json(const inspection *in, const tfr_graph *graph, tfr_value v, json_t *row)
{
    tfr_value_type type = {.size = sizeof type};
    char dim[80];
    if (tfr_graph_types_get(in->types, graph, v, &type, NULL))
        return row;
    cli_json_set_type(row, &type);
    if (!type.rank_known)
        return row;
    json_t *shape = json_array();
    for (int32_t i = 0; i < type.rank; i++)
        cli_json_append(shape, type.dims[i] >= 0 ? json_integer(type.dims[i])
                                                 : cli_json_text(tfr_graph_types_dim(
                                                       in->types, type.dims[i], dim, sizeof dim)));
    cli_json_set(row, "shape", shape);
    return row;
}

/* ---- counting -------------------------------------------------------------------------------- */

static tfr_status count_op(inspection *in, const tfr_node_view *node, tfr_err *err)
{
    for (uint32_t i = 0; i < in->n_ops; i++)
        if (!strcmp(in->ops[i].op, node->op) && !strcmp(in->ops[i].domain, node->domain)) {
            in->ops[i].n++;
            return TFR_OK;
        }
    op_count *more = realloc(in->ops, (in->n_ops + 1) * sizeof *more);
    if (!more)
        return tfr_fail(err, TFR_ENOMEM, "no memory for the counts of %u ops", in->n_ops + 1);
    in->ops = more;
    more[in->n_ops++] = (op_count){node->domain, node->op, 1};
    return TFR_OK;
}

static tfr_status count_graph(inspection *in, const tfr_graph *graph, tfr_err *err)
{
    tfr_node_view node = {.size = sizeof node};
    tfr_value_view value = {.size = sizeof value};
    tfr_status status = TFR_OK;
    in->n_graphs++;
    for (tfr_value v = 0; !tfr_graph_value(graph, v, &value, NULL); v++) {
        if (value.role != TFR_ROLE_CONSTANT && value.role != TFR_ROLE_VARIABLE)
            continue;
        in->n_constants++;
        in->parameters += (double)tfr_tensor_elements(value.tensor);
        in->bytes += (double)tfr_tensor_bytes(value.tensor);
    }
    for (uint32_t i = 0; !status && !tfr_graph_node(graph, i, &node, NULL); i++) {
        double flops = 0;
        in->n_nodes++;
        status = count_op(in, &node, err);
        if (!status)
            status = tfr_graph_types_work(in->types, graph, i, &flops, err);
        in->n_uncounted += flops < 0;
        in->flops += flops > 0 ? flops : 0;
        for (uint32_t a = 0; !status && a < node.n_attrs; a++) {
            const void *at = (const char *)node.attrs + (size_t)a * node.attr_stride;
            const tfr_attr *attr = at;
            const tfr_graph *inner = tfr_node_subgraph(&node, attr->name);
            if (inner)
                status = count_graph(in, inner, err);
        }
    }
    return status;
}

static int compare_counts(const void *a, const void *b)
{
    const op_count *x = a, *y = b;
    if (x->n != y->n)
        return x->n < y->n ? 1 : -1;
    return strcmp(x->op, y->op);
}

/* ---- text ------------------------------------------------------------------------------------ */

static tfr_status print_value(const inspection *in, const char *what, const char *name, tfr_value v,
                              tfr_err *err)
{
    char text[400];
    tfr_status status = type_text(in, NULL, v, text, sizeof text, err);
    if (!status)
        cli_line(stdout, "%-16s %s: %s", what, name, text);
    return status;
}

static void print_opsets(const inspection *in)
{
    for (uint32_t i = 0; i < in->n_opsets; i++)
        cli_line(stdout, "%-16s %s %lld", "opset",
                 *in->opsets[i].domain ? in->opsets[i].domain : "ai.onnx",
                 (long long)in->opsets[i].version);
}

static void print_counts(const inspection *in)
{
    printf("%-16s %u", "nodes", (unsigned)in->n_nodes);
    if (in->n_graphs > 1)
        printf(" in %u graphs", (unsigned)in->n_graphs);
    printf("\n");
    for (uint32_t i = 0; i < in->n_ops; i++)
        cli_line(stdout, "%-16s %6u %s%s%s", i ? "" : "ops", (unsigned)in->ops[i].n,
                 in->ops[i].domain, *in->ops[i].domain ? "." : "", in->ops[i].op);
    printf("%-16s %.0f in %u constants\n", "parameters", in->parameters, (unsigned)in->n_constants);
    printf("%-16s %.0f (%.1f MB)\n", "bytes", in->bytes, in->bytes / 1e6);
    bool large = in->flops >= 1e9;
    printf("%-16s %.4g %s floating-point operations", "operations", in->flops / (large ? 1e9 : 1e6),
           large ? "billion" : "million");
    printf(in->n_uncounted ? ", without %u nodes of unknown shapes" : "",
           (unsigned)in->n_uncounted);
    printf("; a dim that varies counts as 1\n");
}

static tfr_status add_nodes(const inspection *in, const tfr_graph *graph, int depth,
                            cli_table *table, tfr_err *err)
{
    tfr_node_view node = {.size = sizeof node};
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; !status && !tfr_graph_node(graph, i, &node, NULL); i++) {
        for (uint32_t k = 0; !status && k < node.n_outputs; k++) {
            char text[400];
            if (node.outputs[k] == TFR_VALUE_NONE)
                continue;
            status = type_text(in, graph, node.outputs[k], text, sizeof text, err);
            cli_table_add(table, "%*s%s", depth * 2, "", k ? "" : node.name);
            cli_table_add(table, "%s", k ? "" : node.op);
            cli_table_add(table, "%s", tfr_graph_value_name(graph, node.outputs[k]));
            cli_table_add(table, "%s", text);
        }
        for (uint32_t a = 0; !status && a < node.n_attrs; a++) {
            const void *at = (const char *)node.attrs + (size_t)a * node.attr_stride;
            const tfr_attr *attr = at;
            const tfr_graph *inner = tfr_node_subgraph(&node, attr->name);
            if (inner)
                status = add_nodes(in, inner, depth + 1, table, err);
        }
    }
    return status;
}

static tfr_status print_nodes(const inspection *in, tfr_err *err)
{
    static const char *const titles[] = {"NODE", "OP", "VALUE", "TYPE"};
    static const uint32_t flags[] = {0, 0, 0, 0};
    cli_table *table = cli_table_create(4, titles, flags);
    tfr_status status = add_nodes(in, in->graph, 0, table, err);
    printf("\n");
    if (!status)
        return cli_table_print(table, err);
    cli_table_destroy(table);
    return status;
}

static tfr_status print_text(const inspection *in, tfr_err *err)
{
    tfr_status status = TFR_OK;
    print_opsets(in);
    for (uint32_t i = 0; !status && i < tfr_graph_n_inputs(in->graph); i++) {
        tfr_value v = tfr_graph_input(in->graph, i);
        status = print_value(in, "input", tfr_graph_value_name(in->graph, v), v, err);
    }
    for (uint32_t i = 0; !status && i < tfr_graph_n_outputs(in->graph); i++)
        status = print_value(in, "output", tfr_graph_output_name(in->graph, i),
                             tfr_graph_output(in->graph, i), err);
    if (status)
        return status;
    print_counts(in);
    return in->args->nodes ? print_nodes(in, err) : TFR_OK;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *value_json(const inspection *in, const tfr_graph *graph, const char *name,
                          tfr_value v)
{
    json_t *row = json_object();
    cli_json_set(row, "name", cli_json_text(name));
    return type_json(in, graph, v, row);
}

static json_t *nodes_json(const inspection *in, const tfr_graph *graph)
{
    tfr_node_view node = {.size = sizeof node};
    json_t *rows = json_array();
    for (uint32_t i = 0; !tfr_graph_node(graph, i, &node, NULL); i++) {
        json_t *row = json_object(), *outputs = json_array(), *inner = json_object();
        cli_json_set(row, "name", cli_json_text(node.name));
        cli_json_set(row, "domain", cli_json_text(node.domain));
        cli_json_set(row, "op", cli_json_text(node.op));
        for (uint32_t k = 0; k < node.n_outputs; k++)
            if (node.outputs[k] != TFR_VALUE_NONE)
                cli_json_append(outputs,
                                value_json(in, graph, tfr_graph_value_name(graph, node.outputs[k]),
                                           node.outputs[k]));
        cli_json_set(row, "outputs", outputs);
        for (uint32_t a = 0; a < node.n_attrs; a++) {
            const void *at = (const char *)node.attrs + (size_t)a * node.attr_stride;
            const tfr_attr *attr = at;
            const tfr_graph *sub = tfr_node_subgraph(&node, attr->name);
            if (sub)
                cli_json_set(inner, attr->name, nodes_json(in, sub));
        }
        cli_json_set(row, "subgraphs", inner);
        cli_json_append(rows, row);
    }
    return rows;
}

static json_t *opsets_json(const inspection *in)
{
    json_t *rows = json_array();
    for (uint32_t i = 0; i < in->n_opsets; i++) {
        json_t *row = json_object();
        cli_json_set(row, "domain", cli_json_text(in->opsets[i].domain));
        cli_json_set(row, "version", json_integer(in->opsets[i].version));
        cli_json_append(rows, row);
    }
    return rows;
}

static tfr_status print_json(const inspection *in, tfr_err *err)
{
    json_t *object = cli_json_start("inspect"), *inputs = json_array(), *outputs = json_array();
    json_t *ops = json_array();
    cli_json_set(object, "model", cli_json_text(in->args->words[0]));
    cli_json_set(object, "opsets", opsets_json(in));
    for (uint32_t i = 0; i < tfr_graph_n_inputs(in->graph); i++) {
        tfr_value v = tfr_graph_input(in->graph, i);
        cli_json_append(inputs, value_json(in, NULL, tfr_graph_value_name(in->graph, v), v));
    }
    for (uint32_t i = 0; i < tfr_graph_n_outputs(in->graph); i++)
        cli_json_append(outputs, value_json(in, NULL, tfr_graph_output_name(in->graph, i),
                                            tfr_graph_output(in->graph, i)));
    for (uint32_t i = 0; i < in->n_ops; i++) {
        json_t *row = json_object();
        cli_json_set(row, "domain", cli_json_text(in->ops[i].domain));
        cli_json_set(row, "op", cli_json_text(in->ops[i].op));
        cli_json_set(row, "n", json_integer(in->ops[i].n));
        cli_json_append(ops, row);
    }
    cli_json_set(object, "inputs", inputs);
    cli_json_set(object, "outputs", outputs);
    cli_json_set(object, "n_nodes", json_integer(in->n_nodes));
    cli_json_set(object, "n_graphs", json_integer(in->n_graphs));
    cli_json_set(object, "ops", ops);
    cli_json_set(object, "n_constants", json_integer(in->n_constants));
    cli_json_set(object, "parameters", json_integer((json_int_t)in->parameters));
    cli_json_set(object, "bytes", json_integer((json_int_t)in->bytes));
    cli_json_set(object, "flops", json_real(in->flops));
    cli_json_set(object, "n_uncounted", json_integer(in->n_uncounted));
    if (in->args->nodes)
        cli_json_set(object, "nodes", nodes_json(in, in->graph));
    return cli_json_print(object, err);
}

/* ---- the command ----------------------------------------------------------------------------- */

static int inspect_run(const cli_args *args)
{
    tfr_err err = TFR_ERR_INIT;
    inspection in = {.args = args, .opsets[0].size = sizeof in.opsets[0]};
    tfr_status status = cli_graph_load(args, args->words[0], &in.graph, &err);
    if (!status)
        status = tfr_onnx_read_opsets(args->words[0], in.opsets, TFR_ONNX_MAX_OPSETS, &in.n_opsets,
                                      &err);
    if (!status)
        status = tfr_graph_infer(in.graph, &in.types, &err);
    if (!status)
        status = count_graph(&in, in.graph, &err);
    if (in.n_ops)
        qsort(in.ops, in.n_ops, sizeof *in.ops, compare_counts);
    if (!status)
        status = args->json ? print_json(&in, &err) : print_text(&in, &err);
    free(in.ops);
    tfr_graph_types_release(in.types);
    tfr_graph_release(in.graph);
    return status ? cli_fail(args, &err) : CLI_EXIT_DONE;
}

static const cli_option inspect_options[] = {{0, "nodes", NULL, CLI_FLAG, CLI_FIELD(nodes), "none",
                                              0, 0,
                                              "list all nodes, and the types of what they make"},
                                             CLI_OPTION_DIM,
                                             CLI_OPTION_END};

const cli_command cli_inspect = {
    .name = "inspect",
    .words = "MODEL",
    .least_words = 1,
    .most_words = 1,
    .word_values = "file",
    .summary = "Say what is in a model: inputs, outputs, ops, parameters, shapes",
    .text = "No input is needed and no plugin is loaded. A dim that varies is shown by the\n"
            "name that the model gives it, as what is computed from such names, or as ? and\n"
            "a number if it is neither; equal ones are equal. Nodes are shown as tfrun has\n"
            "them after it read the model, in the newest form of their op.",
    .log_level = TFR_LOG_WARNING,
    .options = inspect_options,
    .run = inspect_run,
};
