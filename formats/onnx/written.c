/* SPDX-License-Identifier: Apache-2.0 */
/*
 * written.c: calls of ops that plugins write out (TFR_OP_WRITTEN of tfrun/plugin_ops.h): the plugin
 * makes a function of each call, for the attributes, operands and ranks that it has, and its nodes
 * take the call's place.
 */
#include <stdlib.h>
#include <string.h>
#include <tfrun/op.h>

#include "onnx/import.h"
#include "prefix.h"

enum { MOST_BYTES = 1 << 16, WRITTEN = 4, NOT_KNOWN = -1 };

/* The type of an attribute in a signature, behind its name and a colon; 0 = there is none. */
static int32_t type_of(const char *attrs, const char *name)
{
    static const char letters[] = "fist";
    static const int32_t types[] = {TFR_ATTR_FLOAT, TFR_ATTR_INT, TFR_ATTR_STRING, TFR_ATTR_TENSOR};
    const size_t n = strlen(name);
    while (*attrs) {
        if (strncmp(attrs, name, n) == 0 && attrs[n] == ':') {
            const char *letter = strchr(letters, attrs[n + 1]);
            const int32_t type = letter && *letter ? types[letter - letters] : 0;
            return type && attrs[n + 2] == 's' ? type + TFR_ATTR_FLOATS - TFR_ATTR_FLOAT : type;
        }
        attrs += strcspn(attrs, " ");
        attrs += *attrs == ' ';
    }
    return 0;
}

static tfr_status check_attrs(const tfr__onnx_call *call, const tfr_op_desc *op, tfr_err *err)
{
    for (uint32_t i = 0; i < call->n_attrs; i++) {
        const int32_t type = type_of(op->attrs, call->attrs[i].name);
        if (!type)
            return tfr_fail(err, TFR_EMODEL, "it has no attribute \"%.80s\"", call->attrs[i].name);
        if (type != call->attrs[i].type)
            return tfr_fail(err, TFR_EMODEL, "attribute \"%.80s\" is not of its type",
                            call->attrs[i].name);
    }
    for (const char *item = op->attrs; *item; item += *item == ' ') {
        const size_t name = strcspn(item, ":"), whole = strcspn(item, " ");
        bool given = false;
        for (uint32_t i = 0; i < call->n_attrs; i++)
            given = given || (strlen(call->attrs[i].name) == name &&
                              strncmp(call->attrs[i].name, item, name) == 0);
        if (!given && memchr(item, '!', whole))
            return tfr_fail(err, TFR_EMODEL, "attribute \"%.*s\" is missing", (int)name, item);
        item += whole;
    }
    return TFR_OK;
}

/* How many operands a signature has, and how many there have to be. */
static void count(const char *signature, uint32_t *least, uint32_t *most)
{
    *least = *most = 0;
    while (*signature) {
        const size_t whole = strcspn(signature, " "), name = strcspn(signature, ":");
        const bool variadic =
            strstr(signature, "...") && strstr(signature, "...") < signature + name;
        *most = variadic ? UINT32_MAX : *most + 1;
        if (signature[name - 1] != '?' && !(variadic && signature[name - 1] == '0'))
            *least = variadic ? *least + 1 : *most;
        signature += whole;
        signature += *signature == ' ';
    }
}

static tfr_status check_counts(const tfr__onnx_call *call, const tfr_op_desc *op, tfr_err *err)
{
    uint32_t least, most, least_out, most_out;
    count(op->inputs, &least, &most);
    count(op->outputs, &least_out, &most_out);
    if (call->n_inputs < least || call->n_inputs > most || call->n_outputs > most_out)
        return tfr_fail(err, TFR_EMODEL, "it has %u inputs and %u outputs, which do not fit \"%s\"",
                        call->n_inputs, call->n_outputs, op->inputs);
    return TFR_OK;
}

/* What is known of an input while the model is read. */
static void show(const tfr__onnx_call *call, uint32_t i, int64_t *dims, tfr_operand *out)
{
    const tfr_value value = call->inputs[i];
    const tfr_value_type type = tfr__onnx_known_type(call->builder, value);
    tfr_tensor *tensor = tfr__onnx_known_tensor(call->builder, value);
    *out = (tfr_operand){.size = sizeof *out, .dims = dims};
    if (value == TFR_VALUE_NONE)
        return;
    out->dtype = type.dtype ? type.dtype : NOT_KNOWN;
    out->rank = type.rank_known ? type.rank : NOT_KNOWN;
    for (int32_t k = 0; k < out->rank; k++)
        dims[k] = type.dims[k];
    out->data = tensor ? tfr_tensor_data(tensor) : NULL;
}

static tfr_status ask(const tfr__onnx_call *call, const tfr_op_desc *op, void *bytes, uint64_t *n,
                      tfr_err *err)
{
    const size_t count = (size_t)call->n_inputs + call->n_outputs;
    tfr_operand *operands = calloc(count + 1, sizeof *operands);
    int64_t(*dims)[TFR_MAX_RANK] = calloc(count + 1, sizeof *dims);
    tfr_call asked = {.size = sizeof asked,
                      .since_version = op->since_version,
                      .domain = op->domain,
                      .name = op->name,
                      .digest = op->digest,
                      .attrs = call->attrs,
                      .inputs = operands,
                      .outputs = operands + call->n_inputs,
                      .n_attrs = call->n_attrs,
                      .attr_stride = sizeof *call->attrs,
                      .n_inputs = call->n_inputs,
                      .input_stride = sizeof *operands,
                      .n_outputs = call->n_outputs,
                      .output_stride = sizeof *operands};
    tfr_status status = operands && dims
                            ? TFR_OK
                            : tfr_fail(err, TFR_ENOMEM, "out of memory for %zu values", count);
    for (uint32_t i = 0; !status && i < call->n_inputs; i++)
        show(call, i, dims[i], &operands[i]);
    for (uint32_t i = 0; !status && i < call->n_outputs; i++) {
        const bool wanted = !(call->outputs[i] && !*call->outputs[i]);
        operands[call->n_inputs + i] = (tfr_operand){.size = sizeof *operands,
                                                     .dtype = wanted ? TFR_DTYPE_F32 : 0,
                                                     .dims = dims[call->n_inputs + i]};
    }
    if (!status)
        status = tfr_op_decompose(&asked, bytes, n, err);
    free(operands);
    free(dims);
    return status;
}

tfr_status tfr__onnx_write_out(tfr__onnx_call *call, tfr_err *err)
{
    tfr_op_desc op = {.size = sizeof op};
    const int32_t number = *call->domain ? tfr_op_find(call->domain, call->op) : -1;
    uint64_t n = MOST_BYTES;
    void *bytes;
    tfr_status status = number < 0 ? TFR_OK : tfr_op_describe((uint32_t)number, &op, err);
    if (status || !(op.decomposition & WRITTEN))
        return status;
    while (call->n_outputs && call->outputs[call->n_outputs - 1] &&
           !*call->outputs[call->n_outputs - 1])
        call->n_outputs--;
    if ((status = check_attrs(call, &op, err)) || (status = check_counts(call, &op, err)))
        return status;
    bytes = malloc(MOST_BYTES);
    status = bytes ? ask(call, &op, bytes, &n, err)
                   : tfr_fail(err, TFR_ENOMEM, "out of memory for a function of %s", call->op);
    if (!status && (!n || n > MOST_BYTES))
        status = tfr_fail(err, TFR_EPLUGIN,
                          "plugin %s writes %llu bytes for a call of %s, not 1 to "
                          "%d",
                          op.plugin, (unsigned long long)n, call->op, MOST_BYTES);
    if (!status)
        status = tfr__onnx_inline_bytes(call, bytes, n, err);
    free(bytes);
    return status;
}
