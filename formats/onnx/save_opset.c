/* SPDX-License-Identifier: Apache-2.0 */
/*
 * save_opset.c: for which versions of the operator sets a model is written. A graph's nodes are in
 * the newest form that the op table knows, and most forms have meant the same for long: new
 * versions add types, attributes and inputs. The model gets the oldest version, from opset 21 on,
 * that has what its nodes use, so that as many runtimes as possible can read it.
 */
#include <string.h>
#include <tfrun/fail.h>
#include <tfrun/op.h>

#include "onnx/save.h"

/* Has everything but bfloat16 in older ops and types under 8 bits; runtimes of 2024 read it. */
enum { LEAST_OPSET = 21, LEAST_ML = 3 };

#define BIT(dtype) (1u << TFR_DTYPE_##dtype)
#define FLOAT8     (BIT(F8E4M3FN) | BIT(F8E4M3FNUZ) | BIT(F8E5M2) | BIT(F8E5M2FNUZ))
#define SMALL      (FLOAT8 | BIT(U4) | BIT(I4) | BIT(F4E2M1) | BIT(F8E8M0) | BIT(U2) | BIT(I2))

/* With any of these types somewhere, a model needs this opset. */
static const struct {
    uint32_t dtypes;
    int32_t opset;
} type_rows[] = {
    {BIT(BF16), 22},
    {BIT(F4E2M1), 23},
    {BIT(F8E8M0), 24},
    {BIT(U2) | BIT(I2), 25},
};

/*
 * Ops whose form in the op table is newer than LEAST_OPSET though older ones may do. opset with
 * neither attr, inputs nor dtypes: the first that has the op. Else: with this attribute, with so
 * many inputs, or with one of these types in the inputs of the mask `typed`.
 */
static const struct {
    const char *op;
    int32_t opset;
    const char *attr;
    uint32_t n_inputs, dtypes, typed;
} op_rows[] = {
    {"Attention", 23, NULL, 0, 0, 0},
    {"Attention", 24, NULL, 7, 0, 0},
    {"Attention", 25, "left_window_size", 0, 0, 0},
    {"Attention", 25, "right_window_size", 0, 0, 0},
    {"BitShift", 28, NULL, 0, BIT(I8) | BIT(I16) | BIT(I32) | BIT(I64), 3},
    {"Cast", LEAST_OPSET, NULL, 0, 0, 0},
    {"Cast", 24, "round_mode", 0, 0, 0},
    {"CastLike", LEAST_OPSET, NULL, 0, 0, 0},
    {"CastLike", 24, "round_mode", 0, 0, 0},
    {"Celu", 28, NULL, 0, BIT(BF16) | BIT(F16) | BIT(F64), 1},
    {"Compress", 28, NULL, 0, BIT(BF16), 1},
    {"DequantizeLinear", LEAST_OPSET, NULL, 0, 0, 0},
    {"DequantizeLinear", 23, "output_dtype", 0, 0, 0},
    {"Dropout", 22, NULL, 0, FLOAT8, 1},
    {"Einsum", 28, NULL, 0, BIT(BF16), 3},
    {"OneHot", 28, NULL, 0, BIT(BF16), 4},
    {"Optional", 28, NULL, 0, BIT(BF16) | SMALL, 1},
    {"OptionalGetElement", 28, NULL, 0, BIT(BF16) | SMALL, 1},
    {"OptionalHasElement", 28, NULL, 0, BIT(BF16) | SMALL, 1},
    {"QuantizeLinear", LEAST_OPSET, NULL, 0, 0, 0},
    {"QuantizeLinear", 23, "precision", 0, 0, 0},
    {"Range", LEAST_OPSET, NULL, 0, 0, 0},
    {"Range", 27, "stash_type", 0, 0, 0},
    {"Range", 27, NULL, 0, BIT(BF16) | BIT(F16), 7},
    {"ReverseSequence", 28, NULL, 0, BIT(BF16), 1},
    {"SpaceToDepth", LEAST_OPSET, NULL, 0, 0, 0},
    {"SpaceToDepth", 28, "mode", 0, 0, 0},
    {"SplitToSequence", 24, NULL, 0, BIT(BF16), 1},
    {"TopK", 24, NULL, 0, BIT(BF16), 1},
    {"Unique", 28, NULL, 0, BIT(BF16), 1},
};

/* The IR version that came with an opset. */
static const struct {
    int32_t opset, ir;
} ir_rows[] = {{22, 10}, {23, 11}, {24, 12}, {27, 13}, {INT32_MAX, 14}};

enum {
    N_TYPE_ROWS = sizeof type_rows / sizeof *type_rows,
    N_OP_ROWS = sizeof op_rows / sizeof *op_rows
};

static void at_least(int32_t *version, int32_t least)
{
    if (*version < least)
        *version = least;
}

/* ---- types ------------------------------------------------------------------------------------
 */

static uint32_t bit(int64_t dtype)
{
    return dtype > 0 && dtype < TFR_DTYPE_END ? 1u << dtype : 0;
}

static uint32_t attr_types(const tfr_attr *attr)
{
    static const char *const names[] = {"to", "dtype", "output_dtype", "precision",
                                        "output_datatype"};
    if (attr->type == TFR_ATTR_TENSOR)
        return bit(attr->tensor->dtype);
    if (attr->type == TFR_ATTR_INTS && attr->n == 2 && strcmp(attr->name, "type") == 0)
        return bit(attr->ints[1]); /* of Optional */
    for (size_t i = 0; attr->type == TFR_ATTR_INT && i < sizeof names / sizeof *names; i++)
        if (strcmp(attr->name, names[i]) == 0)
            return bit(attr->ints[0]);
    return 0;
}

/* What the graph says; nodes may make other types only of these and by attributes. */
static uint32_t part_types(const tfr__onnx_part *part)
{
    const tfr_graph *graph = part->graph;
    tfr_node_view node = {.size = sizeof node};
    uint32_t types = 0;

    for (uint32_t v = 0; v < tfr_graph_n_values(graph); v++)
        if (part->names[v])
            types |= bit(tfr_graph_value_type(graph, (tfr_value)v)->dtype);
    for (uint32_t i = 0; i < tfr_graph_n_outputs(graph); i++)
        if (tfr_graph_output_type(graph, i))
            types |= bit(tfr_graph_output_type(graph, i)->dtype);
    for (uint32_t i = 0; !tfr_graph_node(graph, i, &node, NULL); i++)
        for (uint32_t k = 0; k < node.n_attrs; k++) {
            const void *item = (const char *)node.attrs + (size_t)k * node.attr_stride;
            types |= attr_types(item);
        }
    return types;
}

/* The types that the inputs of the mask, which are of one type, may have. */
static uint32_t input_types(const tfr__onnx_save *save, const tfr__onnx_part *part,
                            const tfr_node_view *node, uint32_t mask, uint32_t all)
{
    for (uint32_t i = 0; i < node->n_inputs && i < 32; i++) {
        tfr_value v = mask >> i & 1 ? node->inputs[i] : TFR_VALUE_NONE;
        uint32_t types = v == TFR_VALUE_NONE ? 0 : bit(tfr__onnx_type_of(save, part, v).dtype);
        if (types)
            return types;
    }
    return all;
}

/* ---- nodes ------------------------------------------------------------------------------------
 */

static int32_t opset_of_node(const tfr__onnx_save *save, const tfr__onnx_part *part,
                             const tfr_node_view *node, int32_t compat, uint32_t all)
{
    int32_t opset = compat < LEAST_OPSET ? LEAST_OPSET : compat;

    for (uint32_t i = 0; i < N_OP_ROWS; i++) {
        if (strcmp(op_rows[i].op, node->op) != 0)
            continue;
        if (!op_rows[i].attr && !op_rows[i].n_inputs && !op_rows[i].dtypes) {
            opset = op_rows[i].opset;
            continue;
        }
        if ((op_rows[i].attr && tfr_node_attr(node, op_rows[i].attr)) ||
            (op_rows[i].n_inputs && node->n_inputs >= op_rows[i].n_inputs) ||
            (op_rows[i].dtypes & input_types(save, part, node, op_rows[i].typed, all)))
            at_least(&opset, op_rows[i].opset);
    }
    return opset;
}

/* TreeEnsembleClassifier and -Regressor were taken out again with version 5. */
static int32_t ml_of_node(const tfr_node_view *node)
{
    if (strcmp(node->op, "TreeEnsemble") == 0)
        return 5;
    return strcmp(node->op, "LabelEncoder") == 0 ? 4 : LEAST_ML;
}

/* A plugin's domain: the newest of its ops' versions. */
static tfr_status look_at_other(tfr__onnx_versions *versions, const tfr_op_desc *op, tfr_err *err)
{
    uint32_t i = 0;
    while (i < versions->n_others && strcmp(versions->others[i].domain, op->domain) != 0)
        i++;
    if (i == sizeof versions->others / sizeof versions->others[0])
        return tfr_fail(err, TFR_ELIMIT, "the graph has ops of more than %u domains of plugins", i);
    if (i == versions->n_others)
        versions->others[versions->n_others++].domain = op->domain;
    at_least(&versions->others[i].version, op->since_version);
    return TFR_OK;
}

static tfr_status look_at_node(tfr__onnx_save *save, const tfr__onnx_part *part,
                               const tfr_node_view *node, uint32_t all, tfr_err *err)
{
    tfr_op_desc op = {.size = sizeof op};
    tfr_status status = tfr_op_describe((uint32_t)tfr_op_find(node->domain, node->op), &op, err);

    if (status)
        return status;
    if (!*tfr__onnx_saved_domain(node))
        at_least(&save->versions.onnx, opset_of_node(save, part, node, op.compat_version, all));
    else if (strcmp(node->domain, "ai.onnx.ml") == 0)
        at_least(&save->versions.ml, ml_of_node(node));
    else if (strcmp(node->domain, "ai.onnx.preview.training") == 0)
        at_least(&save->versions.training, 1);
    else if (op.plugin)
        status = look_at_other(&save->versions, &op, err);
    else
        at_least(&save->versions.tfrun, 1);
    return status;
}

tfr_status tfr__onnx_find_versions(tfr__onnx_save *save, tfr_err *err)
{
    tfr_node_view node = {.size = sizeof node};
    uint32_t all = 0, row = 0;
    tfr_status status = TFR_OK;

    save->versions = (tfr__onnx_versions){.onnx = LEAST_OPSET};
    for (uint32_t p = 0; p < save->n_parts; p++)
        all |= part_types(save->parts[p]);
    for (uint32_t i = 0; i < N_TYPE_ROWS; i++)
        if (all & type_rows[i].dtypes)
            at_least(&save->versions.onnx, type_rows[i].opset);
    for (uint32_t p = 0; !status && p < save->n_parts; p++) {
        const tfr__onnx_part *part = save->parts[p];
        for (uint32_t i = 0; !status && i < tfr_graph_n_nodes(part->graph); i++) {
            status = tfr_graph_node(part->graph, i, &node, err);
            if (!status)
                status = look_at_node(save, part, &node, all, err);
        }
    }
    while (ir_rows[row].opset < save->versions.onnx)
        row++;
    save->versions.ir = ir_rows[row].ir;
    return status;
}
