/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sequence_ops.c: the ops on sequences and optionals, which the core does itself on every device
 * (ONNX operators SequenceConstruct-11, SequenceEmpty-11, SequenceInsert-11, SequenceErase-11,
 * SequenceAt-11, SequenceLength-11, SplitToSequence-24, ConcatFromSequence-11, Optional-15,
 * OptionalHasElement-18, OptionalGetElement-18, Identity-25). Values are shared, not copied;
 * nothing here computes on elements.
 */
#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "run/host_ops.h"
#include "value/join.h"

typedef struct seq_call {
    const tfr__node *node;
    tfr_tensor *const *in;
    tfr_tensor **out;
    bool again;
    tfr_err *err;
} seq_call;

static tfr_status seq_fail(const seq_call *c, const char *text)
{
    return tfr_fail(c->err, TFR_EMODEL, "node \"%s\" (%s): %s", c->node->name, c->node->op->name,
                    text);
}

static tfr_tensor *input(const seq_call *c, uint32_t i)
{
    return i < c->node->n_inputs ? c->in[i] : NULL;
}

/* The one integer in a tensor of int32 or int64. */
static tfr_status read_int(const seq_call *c, const tfr_tensor *t, int64_t *out)
{
    if (!t || t->kind != TFR_KIND_TENSOR || t->n_elements != 1 ||
        (t->dtype != TFR_DTYPE_I32 && t->dtype != TFR_DTYPE_I64))
        return seq_fail(c, "the position must be one int32 or int64");
    *out = t->dtype == TFR_DTYPE_I32 ? *(const int32_t *)t->data : *(const int64_t *)t->data;
    return TFR_OK;
}

static tfr_status read_position(const seq_call *c, const tfr_tensor *t, size_t n, bool end,
                                size_t *out)
{
    int64_t i = 0, most = (int64_t)n - (end ? 0 : 1);
    tfr_status status = read_int(c, t, &i);
    if (status)
        return status;
    if (i < -(int64_t)n || i > most)
        return tfr_fail(c->err, TFR_EINVAL,
                        "node \"%s\" (%s): position %lld is outside a sequence of %zu values",
                        c->node->name, c->node->op->name, (long long)i, n);
    *out = (size_t)(i < 0 ? i + (int64_t)n : i);
    return TFR_OK;
}

static tfr_status want_sequence(const seq_call *c)
{
    if (!input(c, 0) || c->in[0]->kind != TFR_KIND_SEQUENCE)
        return seq_fail(c, "the first input must be a sequence");
    return TFR_OK;
}

static tfr_status make_int(int64_t value, tfr_tensor **out, tfr_err *err)
{
    tfr_shape scalar = {0};
    tfr_status status = tfr_tensor_create(TFR_DTYPE_I64, &scalar, out, err);
    if (!status)
        *(int64_t *)(*out)->data = value;
    return status;
}

/* ---- sequences ------------------------------------------------------------------------------- */

static tfr_status sequence_construct(seq_call *c)
{
    tfr_dtype dtype = c->node->n_inputs ? tfr_tensor_dtype(c->in[0]) : TFR_DTYPE_NONE;
    for (uint32_t i = 0; i < c->node->n_inputs; i++)
        if (tfr_tensor_dtype(c->in[i]) != dtype)
            return seq_fail(c, "the inputs have different element types");
    return tfr_sequence_create(dtype, c->in, c->node->n_inputs, &c->out[0], c->err);
}

static tfr_status sequence_empty(seq_call *c)
{
    int64_t dtype = tfr__attr_int(&c->node->attrs, "dtype", TFR_DTYPE_F32);
    if (dtype <= 0 || dtype >= TFR_DTYPE_END)
        return seq_fail(c, "attribute \"dtype\" is no element type");
    return tfr_sequence_create((tfr_dtype)dtype, NULL, 0, &c->out[0], c->err);
}

static tfr_status sequence_insert(seq_call *c)
{
    size_t n, at, used = 0;
    tfr_tensor **values;
    tfr_status status = want_sequence(c);
    if (status)
        return status;
    n = at = c->in[0]->n_values;
    if (input(c, 2))
        status = read_position(c, c->in[2], n, true, &at);
    if (!status && c->in[0]->dtype && tfr_tensor_dtype(c->in[1]) != (tfr_dtype)c->in[0]->dtype)
        status = seq_fail(c, "the value has another element type than the sequence");
    if (status)
        return status;
    values = tfr__calloc(n + 1, sizeof *values);
    if (!values)
        return tfr__no_memory(c->err);
    for (size_t i = 0; i <= n; i++)
        values[i] = i == at ? c->in[1] : c->in[0]->values[used++];
    status = tfr_sequence_create(tfr_tensor_dtype(c->in[1]), values, n + 1, &c->out[0], c->err);
    tfr__free(values);
    return status;
}

static tfr_status sequence_erase(seq_call *c)
{
    size_t n, at, used = 0;
    tfr_tensor **values;
    tfr_status status = want_sequence(c);
    if (status)
        return status;
    n = c->in[0]->n_values;
    if (!n)
        return seq_fail(c, "the sequence is empty");
    at = n - 1;
    if (input(c, 1))
        status = read_position(c, c->in[1], n, false, &at);
    if (status)
        return status;
    values = tfr__calloc(n, sizeof *values);
    if (!values)
        return tfr__no_memory(c->err);
    for (size_t i = 0; i < n; i++)
        if (i != at)
            values[used++] = c->in[0]->values[i];
    status = tfr_sequence_create((tfr_dtype)c->in[0]->dtype, values, n - 1, &c->out[0], c->err);
    tfr__free(values);
    return status;
}

static tfr_status sequence_at(seq_call *c)
{
    size_t at;
    tfr_status status = want_sequence(c);
    if (!status)
        status = read_position(c, input(c, 1), c->in[0]->n_values, false, &at);
    if (!status)
        c->out[0] = tfr_tensor_retain(c->in[0]->values[at]);
    return status;
}

static tfr_status sequence_length(seq_call *c)
{
    tfr_status status = want_sequence(c);
    return status ? status : make_int((int64_t)c->in[0]->n_values, &c->out[0], c->err);
}

/* ---- splitting and joining ------------------------------------------------------------------- */

/* The sizes of the parts along the axis: split as a list, as one size, or absent: parts of 1. */
static tfr_status split_sizes(seq_call *c, int64_t dim, int64_t **out, size_t *n)
{
    tfr_tensor *split = input(c, 1);
    int64_t each = 1, sum = 0;
    tfr_status status;
    if (split && split->shape.rank == 1) {
        *n = (size_t)split->n_elements;
        *out = tfr__calloc(*n + 1, sizeof **out);
        if (!*out)
            return tfr__no_memory(c->err);
        status = tfr_dtype_convert(TFR_DTYPE_I64, *out, (tfr_dtype)split->dtype, split->data,
                                   split->n_elements, c->err);
        for (size_t i = 0; !status && i < *n; i++) {
            if ((*out)[i] < 0 || (*out)[i] > dim - sum)
                status = seq_fail(c, "the parts do not add up to the axis");
            else
                sum += (*out)[i];
        }
        return status || sum == dim ? status : seq_fail(c, "the parts do not fill the axis");
    }
    status = split ? read_int(c, split, &each) : TFR_OK;
    if (!status && each <= 0)
        status = seq_fail(c, "a part must have at least size 1");
    if (status)
        return status;
    *n = (size_t)((dim + each - 1) / each);
    *out = tfr__calloc(*n + 1, sizeof **out);
    if (!*out)
        return tfr__no_memory(c->err);
    for (size_t i = 0; i < *n; i++)
        (*out)[i] = i + 1 < *n ? each : dim - each * (int64_t)(*n - 1);
    return TFR_OK;
}

static tfr_status split_part(seq_call *c, int64_t axis, int64_t begin, int64_t size, bool keep,
                             tfr_tensor **out)
{
    tfr_tensor *t = c->in[0], *view, *plain;
    tfr_shape shape = t->shape;
    tfr_status status;
    shape.dims[axis] = size;
    status = tfr_tensor_view(t, begin * t->strides[axis], &shape, t->strides, &view, c->err);
    if (status)
        return status;
    status = tfr_tensor_copy(view, &plain, c->err);
    tfr_tensor_release(view);
    if (status || keep) {
        *out = plain;
        return status;
    }
    for (int32_t i = (int32_t)axis; i + 1 < shape.rank; i++)
        shape.dims[i] = shape.dims[i + 1];
    shape.rank--;
    status = tfr_tensor_view(plain, 0, &shape, NULL, out, c->err);
    tfr_tensor_release(plain);
    return status;
}

static tfr_status split_to_sequence(seq_call *c)
{
    int64_t axis = tfr__attr_int(&c->node->attrs, "axis", 0), begin = 0, *sizes = NULL;
    bool keep = input(c, 1) || tfr__attr_int(&c->node->attrs, "keepdims", 1);
    size_t n = 0, made = 0;
    tfr_tensor **parts = NULL;
    tfr_status status;
    if (!input(c, 0) || c->in[0]->kind != TFR_KIND_TENSOR || axis < -c->in[0]->shape.rank ||
        axis >= c->in[0]->shape.rank)
        return seq_fail(c, "the axis is outside the input's rank");
    axis += axis < 0 ? c->in[0]->shape.rank : 0;
    status = split_sizes(c, c->in[0]->shape.dims[axis], &sizes, &n);
    if (!status)
        parts = tfr__calloc(n + 1, sizeof *parts);
    if (!status && !parts)
        status = tfr__no_memory(c->err);
    for (; !status && made < n; made += !status) {
        status = split_part(c, axis, begin, sizes[made], keep, &parts[made]);
        begin += sizes[made];
    }
    if (!status)
        status = tfr_sequence_create((tfr_dtype)c->in[0]->dtype, parts, n, &c->out[0], c->err);
    for (size_t i = 0; i < made; i++)
        tfr_tensor_release(parts[i]);
    tfr__free(parts);
    tfr__free(sizes);
    return status;
}

static tfr_status concat_from_sequence(seq_call *c)
{
    tfr_err why = TFR_ERR_INIT;
    tfr_status status = want_sequence(c);
    if (status)
        return status;
    status = tfr__tensors_join(
        c->in[0]->values, c->in[0]->n_values, tfr__attr_int(&c->node->attrs, "axis", 0),
        tfr__attr_int(&c->node->attrs, "new_axis", 0) != 0, &c->out[0], &why);
    return status ? tfr_fail(c->err, status, "node \"%s\" (%s): %.400s", c->node->name,
                             c->node->op->name, why.text)
                  : TFR_OK;
}

/* ---- optionals ------------------------------------------------------------------------------- */

static tfr_status optional_make(seq_call *c)
{
    tfr_tensor *value = input(c, 0);
    return tfr_optional_create(value ? tfr_tensor_dtype(value) : TFR_DTYPE_NONE, value, &c->out[0],
                               c->err);
}

static tfr_status optional_has_element(seq_call *c)
{
    tfr_shape scalar = {0};
    tfr_tensor *t = input(c, 0);
    tfr_status status = tfr_tensor_create(TFR_DTYPE_BOOL, &scalar, &c->out[0], c->err);
    if (!status)
        *(uint8_t *)c->out[0]->data = t && (t->kind != TFR_KIND_OPTIONAL || t->n_values);
    return status;
}

static tfr_status optional_get_element(seq_call *c)
{
    tfr_tensor *t = input(c, 0);
    if (t && t->kind != TFR_KIND_OPTIONAL) {
        c->out[0] = tfr_tensor_retain(t);
        return TFR_OK;
    }
    if (!t || !t->n_values)
        return seq_fail(c, "the optional is empty");
    c->out[0] = tfr_tensor_retain(t->values[0]);
    return TFR_OK;
}

static tfr_status identity(seq_call *c)
{
    c->out[0] = tfr_tensor_retain(c->in[0]);
    return TFR_OK;
}

/* In a subgraph that meets ever new bounds (subgraph.c). */
static tfr_status slice(seq_call *c)
{
    return tfr__slice_values(c->node, c->in, c->again, &c->out[0], c->err);
}

static const struct {
    const char *name;
    tfr_status (*run)(seq_call *);
} sequence_ops[] = {
    {"SequenceConstruct", sequence_construct},
    {"SequenceEmpty", sequence_empty},
    {"SequenceInsert", sequence_insert},
    {"SequenceErase", sequence_erase},
    {"SequenceAt", sequence_at},
    {"SequenceLength", sequence_length},
    {"SplitToSequence", split_to_sequence},
    {"ConcatFromSequence", concat_from_sequence},
    {"Optional", optional_make},
    {"OptionalHasElement", optional_has_element},
    {"OptionalGetElement", optional_get_element},
    {"Identity", identity},
    {"Slice", slice},
};

/* A strided tensor is made plain on the way in, so that the functions above need not care. */
static tfr_status plain_inputs(const tfr__node *node, tfr_tensor *const *inputs, tfr_tensor **plain,
                               tfr_err *err)
{
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        tfr_status status = TFR_OK;
        if (!inputs[i])
            continue;
        if (inputs[i]->kind == TFR_KIND_TENSOR && !inputs[i]->plain)
            status = tfr_tensor_copy(inputs[i], &plain[i], err);
        else
            plain[i] = tfr_tensor_retain(inputs[i]);
        if (status)
            return status;
    }
    return TFR_OK;
}

tfr_status tfr__sequence_run(const tfr__node *node, tfr_tensor *const *inputs, bool again,
                             tfr_tensor **outputs, tfr_err *err)
{
    tfr_tensor **plain = tfr__calloc((size_t)node->n_inputs + 1, sizeof *plain);
    seq_call call = {node, plain, outputs, again, err};
    tfr_status status = TFR_OK;
    bool found = false;
    if (!plain)
        return tfr__no_memory(err);
    if (!node->n_outputs || node->outputs[0] == TFR_VALUE_NONE)
        found = true; /* nobody wants the result */
    else
        status = plain_inputs(node, inputs, plain, err);
    for (size_t i = 0; !status && !found && i < sizeof sequence_ops / sizeof *sequence_ops; i++) {
        found = strcmp(sequence_ops[i].name, node->op->name) == 0;
        if (found)
            status = sequence_ops[i].run(&call);
    }
    if (!status && !found)
        status =
            tfr_fail(err, TFR_EUNSUPPORTED, "node \"%s\" (%s) does not take sequences or optionals",
                     node->name, node->op->name);
    for (uint32_t i = 0; i < node->n_inputs; i++)
        tfr_tensor_release(plain[i]);
    tfr__free(plain);
    return status;
}
