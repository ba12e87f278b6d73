/* SPDX-License-Identifier: Apache-2.0 */
/*
 * facts.c: element types and ranks of values while a model is imported. Some old forms cannot
 * be rewritten without them. This is no inference: shapes are known to a session only. Types follow
 * from the signatures of the op table, ranks from a few rules for the ops that old models use.
 */
#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>
#include <tfrun/op.h>

#include "onnx/import.h"

tfr__onnx_fact tfr__onnx_fact_of(const tfr__onnx_builder *builder, tfr_value value)
{
    tfr__onnx_fact none = {0, 0, NULL};
    return value >= 0 && (uint32_t)value < builder->room ? builder->facts[value] : none;
}

int32_t tfr__onnx_rank_of(const tfr__onnx_builder *builder, tfr_value value)
{
    return tfr__onnx_fact_of(builder, value).ranks - 1;
}

tfr_status tfr__onnx_set_fact(tfr__onnx_builder *builder, tfr_value value, tfr__onnx_fact fact,
                              tfr_err *err)
{
    uint32_t room = builder->room ? builder->room : 64;
    tfr__onnx_fact *facts;

    if (value < 0)
        return TFR_OK;
    while (room <= (uint32_t)value)
        room *= 2;
    if (room > builder->room) {
        facts = realloc(builder->facts, room * sizeof *facts);
        if (!facts)
            return tfr_fail(err, TFR_ENOMEM, "out of memory for facts about %u values", room);
        memset(facts + builder->room, 0, (room - builder->room) * sizeof *facts);
        builder->facts = facts;
        builder->room = room;
    }
    builder->facts[value] = fact;
    return TFR_OK;
}

tfr_status tfr__onnx_set_tensor_fact(tfr__onnx_builder *builder, tfr_value value,
                                     tfr_tensor *tensor, tfr_err *err)
{
    tfr__onnx_fact fact = {0, 0, NULL};
    if (tfr_tensor_kind(tensor) == TFR_KIND_TENSOR) {
        fact.dtype = tfr_tensor_dtype(tensor);
        fact.ranks = tfr_tensor_shape(tensor)->rank + 1;
        fact.tensor = tensor;
    }
    return tfr__onnx_set_fact(builder, value, fact, err);
}

/* ---- types from signatures ------------------------------------------------------------------- */

/* The type of operand i of "X:T W:T B?:T", and whether all operands of that name are of one type.
 */
static bool formal_type(const char *operands, uint32_t i, tfr__text *type)
{
    const char *at = operands;
    for (uint32_t k = 0; *at; k++) {
        size_t n = strcspn(at, " ");
        const char *colon = memchr(at, ':', n);
        size_t head = colon ? (size_t)(colon - at) : n;
        bool variadic = n > 3 && memchr(at, '.', head) != NULL;
        if (k == i || variadic) {
            if (!colon || memchr(at, '*', head))
                return false;
            type->data = colon + 1;
            type->bytes = n - head - 1;
            return true;
        }
        at += n;
        at += *at == ' ';
    }
    return false;
}

/* "T1=i64 T=f16|f32": the only type of the set, or 0. */
static int32_t only_type(const char *types, tfr__text set)
{
    char name[24];
    const char *at = types;

    while (*at) {
        size_t n = strcspn(at, " ");
        if (n > set.bytes && at[set.bytes] == '=' && memcmp(at, set.data, set.bytes) == 0) {
            size_t length = n - set.bytes - 1;
            if (length >= sizeof name || memchr(at, '|', n))
                return 0;
            memcpy(name, at + set.bytes + 1, length);
            name[length] = 0;
            return tfr_dtype_parse(name);
        }
        at += n;
        at += *at == ' ';
    }
    return 0;
}

static int32_t output_dtype(const tfr__onnx_call *call, const tfr_op_desc *op, uint32_t i)
{
    tfr__text type, other;
    char name[24];
    int32_t dtype;

    if (!formal_type(op->outputs, i, &type))
        return 0;
    if (type.bytes && type.bytes < sizeof name && type.data[0] >= 'a') {
        memcpy(name, type.data, type.bytes);
        name[type.bytes] = 0;
        return tfr_dtype_parse(name);
    }
    dtype = only_type(op->types, type);
    for (uint32_t k = 0; !dtype && k < call->n_inputs; k++)
        if (call->inputs[k] != TFR_VALUE_NONE && formal_type(op->inputs, k, &other) &&
            other.bytes == type.bytes && memcmp(other.data, type.data, type.bytes) == 0)
            dtype = tfr__onnx_fact_of(call->builder, call->inputs[k]).dtype;
    return dtype;
}

static const tfr_attr *find_attr(const tfr__onnx_call *call, const char *name)
{
    for (uint32_t i = 0; i < call->n_attrs; i++)
        if (strcmp(call->attrs[i].name, name) == 0)
            return &call->attrs[i];
    return NULL;
}

/* Types that an attribute decides. */
static int32_t attr_dtype(const tfr__onnx_call *call)
{
    const tfr_attr *attr = NULL;
    if (strcmp(call->op, "Cast") == 0)
        attr = find_attr(call, "to");
    else if (strcmp(call->op, "ConstantOfShape") == 0)
        attr = find_attr(call, "value");
    if (attr && attr->type == TFR_ATTR_INT && attr->ints[0] > 0 && attr->ints[0] < TFR_DTYPE_END)
        return (int32_t)attr->ints[0];
    return attr && attr->type == TFR_ATTR_TENSOR ? attr->tensor->dtype : 0;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

typedef enum rank_rule {
    RANK_FIRST,  /* as input 0 */
    RANK_WIDEST, /* broadcasting: the highest of all inputs */
    RANK_TWO,
    RANK_FOUR,
    RANK_SHAPE, /* as many as input 1 has elements */
    RANK_SQUEEZE,
    RANK_UNSQUEEZE
} rank_rule;

typedef struct rank_row {
    const char *op;
    rank_rule rule;
} rank_row;

static const rank_row rank_rows[] = {
    {"Abs", RANK_FIRST},
    {"Add", RANK_WIDEST},
    {"And", RANK_WIDEST},
    {"AveragePool", RANK_FIRST},
    {"BatchNormalization", RANK_FIRST},
    {"Cast", RANK_FIRST},
    {"Ceil", RANK_FIRST},
    {"Clip", RANK_FIRST},
    {"Concat", RANK_FIRST},
    {"Conv", RANK_FIRST},
    {"ConvTranspose", RANK_FIRST},
    {"DepthToSpace", RANK_FIRST},
    {"Div", RANK_WIDEST},
    {"Dropout", RANK_FIRST},
    {"Elu", RANK_FIRST},
    {"Equal", RANK_WIDEST},
    {"Exp", RANK_FIRST},
    {"Expand", RANK_SHAPE},
    {"Flatten", RANK_TWO},
    {"Floor", RANK_FIRST},
    {"Gemm", RANK_TWO},
    {"GlobalAveragePool", RANK_FIRST},
    {"GlobalLpPool", RANK_FIRST},
    {"GlobalMaxPool", RANK_FIRST},
    {"Greater", RANK_WIDEST},
    {"HardSigmoid", RANK_FIRST},
    {"Hardmax", RANK_FIRST},
    {"Identity", RANK_FIRST},
    {"InstanceNormalization", RANK_FIRST},
    {"LRN", RANK_FIRST},
    {"LeakyRelu", RANK_FIRST},
    {"Less", RANK_WIDEST},
    {"Log", RANK_FIRST},
    {"LogSoftmax", RANK_FIRST},
    {"LpNormalization", RANK_FIRST},
    {"LpPool", RANK_FIRST},
    {"Max", RANK_WIDEST},
    {"MaxPool", RANK_FIRST},
    {"MaxRoiPool", RANK_FOUR},
    {"Mean", RANK_WIDEST},
    {"Min", RANK_WIDEST},
    {"Mul", RANK_WIDEST},
    {"Neg", RANK_FIRST},
    {"Not", RANK_FIRST},
    {"Or", RANK_WIDEST},
    {"PRelu", RANK_FIRST},
    {"Pad", RANK_FIRST},
    {"Pow", RANK_WIDEST},
    {"Reciprocal", RANK_FIRST},
    {"Relu", RANK_FIRST},
    {"Reshape", RANK_SHAPE},
    {"Resize", RANK_FIRST},
    {"Selu", RANK_FIRST},
    {"Sigmoid", RANK_FIRST},
    {"Slice", RANK_FIRST},
    {"Softmax", RANK_FIRST},
    {"Softplus", RANK_FIRST},
    {"Softsign", RANK_FIRST},
    {"SpaceToDepth", RANK_FIRST},
    {"Split", RANK_FIRST},
    {"Sqrt", RANK_FIRST},
    {"Squeeze", RANK_SQUEEZE},
    {"Sub", RANK_WIDEST},
    {"Sum", RANK_WIDEST},
    {"Tanh", RANK_FIRST},
    {"ThresholdedRelu", RANK_FIRST},
    {"Tile", RANK_FIRST},
    {"Transpose", RANK_FIRST},
    {"Unsqueeze", RANK_UNSQUEEZE},
    {"Where", RANK_WIDEST},
    {"Xor", RANK_WIDEST},
};

static int compare_row(const void *name, const void *row)
{
    return strcmp(name, ((const rank_row *)row)->op);
}

/* Elements of a constant input, or -1. */
static int64_t constant_elements(const tfr__onnx_call *call, uint32_t i)
{
    tfr_tensor *tensor =
        i < call->n_inputs ? tfr__onnx_fact_of(call->builder, call->inputs[i]).tensor : NULL;
    return tensor ? tfr_tensor_elements(tensor) : -1;
}

/* rank or -1 */
static int32_t output_rank(const tfr__onnx_call *call)
{
    int32_t rank, widest = -1;
    int64_t n = constant_elements(call, 1);
    const rank_row *row = bsearch(call->op, rank_rows, sizeof rank_rows / sizeof *rank_rows,
                                  sizeof *rank_rows, compare_row);

    if (!row || !call->n_inputs)
        return -1;
    rank = tfr__onnx_rank_of(call->builder, call->inputs[0]);
    switch (row->rule) {
    case RANK_FIRST:
        return rank;
    case RANK_TWO:
        return 2;
    case RANK_FOUR:
        return 4;
    case RANK_WIDEST:
        for (uint32_t i = 0; i < call->n_inputs; i++) {
            rank = tfr__onnx_rank_of(call->builder, call->inputs[i]);
            if (rank < 0)
                return -1;
            widest = rank > widest ? rank : widest;
        }
        return widest;
    case RANK_SHAPE:
        return n >= 0 && n <= TFR_MAX_RANK ? (int32_t)n : -1;
    case RANK_SQUEEZE:
        return rank >= 0 && n >= 0 && n <= rank ? rank - (int32_t)n : -1;
    case RANK_UNSQUEEZE:
        return rank >= 0 && n >= 0 && n <= TFR_MAX_RANK - rank ? rank + (int32_t)n : -1;
    }
    return -1;
}

tfr_status tfr__onnx_conclude(const tfr__onnx_call *call, tfr_err *err)
{
    tfr_op_desc op = {.size = sizeof op};
    int32_t row = tfr_op_find(call->domain, call->op), rank = output_rank(call);
    tfr_status status = row < 0 ? TFR_OK : tfr_op_describe((uint32_t)row, &op, err);

    for (uint32_t i = 0; !status && row >= 0 && i < call->n_outputs; i++) {
        tfr__onnx_fact fact = {attr_dtype(call), rank + 1, NULL};
        if (!fact.dtype)
            fact.dtype = output_dtype(call, &op, i);
        status = tfr__onnx_set_fact(call->builder, call->results[i], fact, err);
    }
    return status;
}
