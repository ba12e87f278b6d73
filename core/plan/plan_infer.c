/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_infer.c: the first pass over a section: types and shapes, node by node, until the first node
 * whose shape depends on a value that only a launch can give. Shape arithmetic does not end a
 * section: values made from constants, shapes and small inputs are computed right here when
 * somebody asks for them.
 */
#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "kernel/eval.h"
#include "op/infer_rows.h"
#include "plan/plan_build.h"
#include "value/bits.h"

/* Values up to this many elements are computed for shape inference; larger ones end the section. */
#define SMALL_ELEMENTS 4096
#define MAX_DEPTH      200

static tfr_tensor *resolve(tfr__build *b, tfr_value value, uint32_t depth);

static void type_of(const tfr_tensor *t, tfr__type *out)
{
    memset(out, 0, sizeof *out);
    out->kind = (int32_t)tfr_tensor_kind(t);
    out->dtype = (int32_t)tfr_tensor_dtype(t);
    if (out->kind == TFR_KIND_TENSOR) {
        const tfr_shape *shape = tfr_tensor_shape(t);
        out->rank = shape->rank;
        memcpy(out->dims, shape->dims, sizeof out->dims);
        out->shape_known = true;
        return;
    }
    out->elem_kind = TFR_KIND_TENSOR;
    if (tfr_sequence_length(t))
        out->elem_kind = (int32_t)tfr_tensor_kind(tfr_sequence_at(t, 0));
}

/* An empty sequence or optional may not know what it would hold: whatever the first tensor is. */
static void guess_elements(tfr__type *in, uint32_t n)
{
    int32_t dtype = TFR_DTYPE_F32;
    for (uint32_t i = n; i-- > 0;)
        if (in[i].kind == TFR_KIND_TENSOR)
            dtype = in[i].dtype;
    for (uint32_t i = 0; i < n; i++)
        if (in[i].kind > TFR_KIND_TENSOR && !in[i].dtype)
            in[i].dtype = dtype;
}

/* What a node makes of whole values, and its attributes: out and attrs are the caller's. plain:
 * they are, so that their elements can be read. again: as tfr__infer_values. */
static tfr_status infer_whole(const tfr__node *node, tfr_tensor *const *inputs, bool plain,
                              bool again, tfr__type *out, tfr__attr_list *attrs, tfr_err *err)
{
    tfr__type *in = tfr__calloc((size_t)node->n_inputs + 1, sizeof *in);
    tfr__infer infer = {.op = node->op,
                        .node = node->name,
                        .n_inputs = node->n_inputs,
                        .n_outputs = node->n_outputs,
                        .inputs = in,
                        .outputs = out,
                        .attrs = attrs,
                        .again = again};
    tfr_status status = TFR_OK;
    if (!in)
        status = tfr__no_memory(err);
    for (uint32_t k = 0; !status && k < node->n_inputs; k++) {
        if (!inputs[k])
            continue;
        type_of(inputs[k], &in[k]);
        if (plain && node->op->shape_args >> k & 1)
            in[k].data = inputs[k]->bytes ? tfr__tensor_data(inputs[k]) : "";
    }
    if (!status)
        guess_elements(in, node->n_inputs);
    for (uint32_t k = 0; !status && k < node->n_outputs; k++)
        out[k].kind = node->outputs[k] == TFR_VALUE_NONE ? TFR_KIND_NONE : TFR_KIND_TENSOR;
    if (!status)
        status = tfr__attr_borrow(&node->attrs, attrs, err);
    if (!status)
        status = tfr__infer_node(&infer, err);
    tfr__free(in);
    return status == TFR__EPENDING ? TFR_OK : status;
}

tfr_status tfr__infer_values(const tfr__node *node, tfr_tensor *const *inputs, bool again,
                             tfr_err *err)
{
    tfr__type *out = tfr__calloc((size_t)node->n_outputs + 1, sizeof *out);
    tfr__attr_list attrs = {0};
    tfr_status status =
        out ? infer_whole(node, inputs, false, again, out, &attrs, err) : tfr__no_memory(err);
    tfr__attr_free(&attrs);
    tfr__free(out);
    return status;
}

bool tfr__may_slice(const tfr__node *node, int32_t dtype)
{
    return node->op->infer == tfr__infer_slice && tfr__dtype_bits(dtype) >= 8;
}

tfr_status tfr__slice_values(const tfr__node *node, tfr_tensor *const *inputs, bool again,
                             tfr_tensor **out, tfr_err *err)
{
    int64_t strides[TFR_MAX_RANK], offset = 0;
    tfr__attr_list attrs = {0};
    tfr_tensor *view;
    tfr__type type = {0};
    tfr_shape shape;
    tfr_status status = infer_whole(node, inputs, true, again, &type, &attrs, err);
    if (!status && !type.dtype) /* a bound at an odd address could not be copied */
        status = tfr__no_memory(err);
    if (!status)
        status = tfr_shape_make(type.rank, type.dims, &shape, err);
    if (!status) {
        uint64_t n;
        const int64_t *starts = tfr__attr_ints(&attrs, "starts", &n),
                      *steps = tfr__attr_ints(&attrs, "steps", &n);
        for (int32_t i = 0; i < type.rank; i++) {
            offset += starts[i] * inputs[0]->strides[i];
            strides[i] = steps[i] * inputs[0]->strides[i];
        }
        status = tfr_tensor_view(inputs[0], tfr__type_elements(&type) ? offset : 0, &shape, strides,
                                 out, err);
    }
    tfr__attr_free(&attrs);
    if (status || ((*out)->plain && !(*out)->unaligned))
        return status;
    view = *out;
    status = tfr_tensor_copy(view, out, err);
    tfr_tensor_release(view);
    return status;
}

/* Remembers that the plan depends on the bytes of a live-in, or on the text of its strings, which
 * is compared as a tensor. Asked once: from then on the value is known. */
tfr_status tfr__build_shape_input(tfr__build *b, tfr_value value, tfr_tensor *t)
{
    tfr__plan *p = b->plan;
    tfr__shape_input *more;
    more = tfr__grow(p->shape_inputs, p->n_shape_inputs, sizeof *more);
    if (!more)
        return TFR_ENOMEM;
    p->shape_inputs = more;
    more += p->n_shape_inputs;
    memset(more, 0, sizeof *more);
    more->value = value;
    if (t->dtype == TFR_DTYPE_STRING) {
        more->strings = tfr_tensor_retain(t);
        p->n_shape_inputs++;
        return TFR_OK;
    }
    more->bytes = tfr_tensor_bytes(t);
    more->data = tfr__alloc((size_t)more->bytes + 1);
    if (!more->data)
        return TFR_ENOMEM;
    if (more->bytes)
        memcpy(more->data, tfr_tensor_data(t), (size_t)more->bytes);
    p->n_shape_inputs++;
    return TFR_OK;
}

/* The value of a live-in, plain; NULL if it cannot be had. */
static tfr_tensor *resolve_live_in(tfr__build *b, tfr_value value, tfr_tensor *t)
{
    tfr_tensor *plain;
    const int32_t variable = tfr__build_variable(b, value);
    if (t->kind != TFR_KIND_TENSOR)
        return NULL;
    if (variable >= 0) { /* its value decides shapes: it is a tensor in each run from now on */
        tfr__variables *vars = b->section->variables;
        if (tfr__variable_to_plain(vars, (uint32_t)variable, NULL))
            return NULL;
        vars->items[variable].host_only = true;
        tfr_tensor_release(t);
        t = b->section->values[value] = tfr_tensor_retain(vars->items[variable].plain);
    }
    /* Always a copy: the caller may change its tensor later, and the plan lives on. */
    if (tfr_tensor_copy(t, &plain, NULL))
        return NULL;
    if (tfr__build_shape_input(b, value, plain)) {
        tfr_tensor_release(plain);
        return NULL;
    }
    return plain;
}

enum { MOST_LISTS = 8 };

static bool is_list(const tfr__type *t)
{
    return t->kind == TFR_KIND_TENSOR && t->dtype == TFR_DTYPE_I64 && t->rank <= 1 &&
           (!t->rank || t->dims[0] <= TFR__MAX_ELEMENTS);
}

/* The same of a short list of integers, such as a shape, by the rules that symbolic inference has:
 * no kernel is prepared for a number or two. False: there is none, or it leaves a number open. */
static bool resolve_list(tfr__build *b, uint32_t i, uint32_t depth)
{
    const tfr__node *node = tfr__build_node_at(b, i);
    const tfr_value v = node->outputs[0];
    tfr__type in[MOST_LISTS];
    tfr__infer infer = {.op = node->op,
                        .n_inputs = node->n_inputs,
                        .n_outputs = 1,
                        .inputs = in,
                        .outputs = &b->types[v],
                        .attrs = &b->nodes[i].attrs};
    tfr__elements found;
    tfr_shape shape;
    if (!is_list(&b->types[v]))
        return false;
    for (uint32_t k = 0; k < node->n_inputs; k++) {
        const tfr_value w = node->inputs[k];
        const tfr_tensor *t;
        in[k].kind = TFR_KIND_NONE;
        if (w == TFR_VALUE_NONE)
            continue;
        t = is_list(&b->types[w]) ? resolve(b, w, depth + 1) : NULL;
        if (!t)
            return false;
        in[k] = b->types[w];
        in[k].data = t->data;
    }
    if (!tfr__infer_elements(&infer, &found))
        return false;
    for (uint32_t k = 0; k < found.n; k++)
        if (found.v[k].what != TFR__KNOWN)
            return false;
    if (tfr_shape_make(b->types[v].rank, b->types[v].dims, &shape, NULL) ||
        tfr__tensor_create_unset(TFR_DTYPE_I64, &shape, &b->known[v], NULL))
        return false;
    for (uint32_t k = 0; k < found.n; k++)
        ((int64_t *)b->known[v]->data)[k] = found.v[k].v;
    return true;
}

/* Computes the outputs of a small node whose inputs can be resolved; sets known of all outputs. */
static void resolve_node(tfr__build *b, uint32_t i, uint32_t depth)
{
    const tfr__node *node = tfr__build_node_at(b, i);
    tfr_tensor **inputs, **results;
    tfr__type *types = NULL;
    bool ready = true;
    for (uint32_t k = 0; k < node->n_outputs && ready; k++) {
        tfr_value v = node->outputs[k];
        ready = v == TFR_VALUE_NONE || (!b->dynamic[v] && b->types[v].dtype != TFR_DTYPE_STRING &&
                                        tfr__type_elements(&b->types[v]) <= SMALL_ELEMENTS);
    }
    for (uint32_t k = 0; k < node->n_inputs && ready; k++) {
        tfr_value v = node->inputs[k];
        ready = v == TFR_VALUE_NONE || (b->types[v].dtype != TFR_DTYPE_STRING &&
                                        tfr__type_elements(&b->types[v]) <= SMALL_ELEMENTS);
    }
    if (ready && node->n_outputs == 1 && node->outputs[0] != TFR_VALUE_NONE &&
        node->n_inputs <= MOST_LISTS && resolve_list(b, i, depth))
        return;
    if (ready)
        types = tfr__calloc(1, node->n_outputs * (sizeof *types + sizeof *results) +
                                   (node->n_inputs + 1) * sizeof *inputs);
    if (!types)
        return;
    results = (tfr_tensor **)(types + node->n_outputs);
    inputs = results + node->n_outputs;
    for (uint32_t k = 0; k < node->n_inputs && ready; k++) {
        if (node->inputs[k] == TFR_VALUE_NONE)
            continue;
        inputs[k] = resolve(b, node->inputs[k], depth + 1);
        ready = inputs[k] != NULL;
    }
    for (uint32_t k = 0; k < node->n_outputs && ready; k++)
        if (node->outputs[k] != TFR_VALUE_NONE)
            types[k] = b->types[node->outputs[k]];
    if (ready &&
        !tfr__eval(&b->env->kernel, node, &b->nodes[i].attrs, inputs, types, results, NULL)) {
        for (uint32_t k = 0; k < node->n_outputs; k++) {
            tfr_value v = node->outputs[k];
            if (v != TFR_VALUE_NONE && !b->known[v])
                b->known[v] = results[k];
            else
                tfr_tensor_release(results[k]);
        }
    }
    tfr__free(types);
}

/* A view of a known value under another shape. */
static void resolve_view(tfr__build *b, const tfr__node *node, uint32_t depth)
{
    tfr_value v = node->outputs[0];
    tfr_tensor *base = resolve(b, node->inputs[0], depth + 1);
    tfr_shape shape;
    if (!base || tfr_shape_make(b->types[v].rank, b->types[v].dims, &shape, NULL))
        return;
    if (tfr_tensor_view(base, 0, &shape, NULL, &b->known[v], NULL))
        b->known[v] = NULL;
}

/* The value, borrowed from b->known, or NULL if it takes a launch (or memory) to know it. */
static tfr_tensor *resolve(tfr__build *b, tfr_value value, uint32_t depth)
{
    const tfr__value *v = &b->graph->values[value];
    tfr_tensor *live_in;
    if (b->known[value] || depth > MAX_DEPTH)
        return b->known[value];
    live_in = tfr__build_live_in(b, value);
    if (live_in) {
        if (!b->from_inside)
            b->known[value] = resolve_live_in(b, value, live_in);
    } else if (v->role == TFR__ROLE_NODE && b->types[value].kind == TFR_KIND_TENSOR) {
        const tfr__node *node = &b->graph->nodes[v->node];
        if (node->op->kind == TFR__OP_VIEW)
            resolve_view(b, node, depth);
        else if (node->op->kind == TFR__OP_KERNEL)
            resolve_node(b, (uint32_t)v->node - b->first, depth);
    }
    return b->known[value];
}

typedef struct asking {
    tfr__build *b;
    const tfr__node *node;
} asking;

static const void *infer_value(tfr__infer *in, uint32_t input)
{
    static const char nothing[1];
    asking *a = in->user;
    tfr_tensor *t;
    a->b->from_inside = a->b->section->slices_apart &&
                        tfr__may_slice(a->node, a->b->types[a->node->inputs[0]].dtype);
    t = resolve(a->b, a->node->inputs[input], 0);
    a->b->from_inside = false;
    if (!t)
        return NULL;
    return t->bytes ? tfr__tensor_data(t) : nothing; /* no elements is a value too */
}

/* Values of ops that the planner itself knows: Constant, Shape, Size. */
static tfr_status known_output(tfr__build *b, uint32_t i, tfr_err *err)
{
    const tfr__node *node = tfr__build_node_at(b, i);
    tfr_value v = node->n_outputs ? node->outputs[0] : TFR_VALUE_NONE;
    tfr__type *type;
    const tfr__attr *attr;
    tfr_shape shape;
    tfr_status status;
    tfr_tensor *t;
    int64_t *data;
    if (v == TFR_VALUE_NONE)
        return TFR_OK;
    type = &b->types[v];
    status = tfr_shape_make(type->rank, type->dims, &shape, err);
    if (!status)
        status = tfr_tensor_create((tfr_dtype)type->dtype, &shape, &t, err);
    if (status)
        return status;
    data = t->data;
    attr = tfr__attr_find(&b->nodes[i].attrs, "value");
    if (strcmp(node->op->name, "Shape") == 0) {
        const tfr__type *in = &b->types[node->inputs[0]];
        int64_t start = tfr__attr_int(&b->nodes[i].attrs, "start", 0);
        for (int64_t k = 0; k < t->n_elements && start + k < in->rank; k++)
            data[k] = in->dims[start + k];
    } else if (strcmp(node->op->name, "Size") == 0) {
        data[0] = tfr__type_elements(&b->types[node->inputs[0]]);
    } else if (attr && attr->pub.type == TFR_ATTR_TENSOR && attr->pub.tensor) {
        const tfr_string *strings = attr->pub.tensor->data;
        if (type->dtype != TFR_DTYPE_STRING && t->bytes)
            memcpy(t->data, attr->pub.tensor->data, t->bytes);
        for (int64_t k = 0; !status && type->dtype == TFR_DTYPE_STRING && k < t->n_elements; k++)
            status = tfr_tensor_set_string(t, k, strings[k].data, (size_t)strings[k].bytes, err);
    } else {
        tfr_tensor_release(t);
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "node \"%s\" (%s): its value is not given as a tensor", node->name,
                        node->op->name);
    }
    if (status) {
        tfr_tensor_release(t);
        return status;
    }
    b->known[v] = t;
    return TFR_OK;
}

/* Is everything that the node reads a tensor of known shape? */
static bool inputs_ready(const tfr__build *b, const tfr__node *node)
{
    for (uint32_t k = 0; k < node->n_inputs; k++) {
        tfr_value v = node->inputs[k];
        if (v != TFR_VALUE_NONE &&
            (b->dynamic[v] || b->types[v].kind != TFR_KIND_TENSOR || !b->types[v].shape_known))
            return false;
    }
    return true;
}

/* Types of the values that a node reads from outside the section. */
static tfr_status take_inputs(tfr__build *b, const tfr__node *node, tfr_err *err)
{
    for (uint32_t k = 0; k < node->n_inputs; k++) {
        tfr_value v = node->inputs[k];
        const tfr__value *value = v == TFR_VALUE_NONE ? NULL : &b->graph->values[v];
        tfr_tensor *t;
        if (!value || b->types[v].kind)
            continue;
        t = value->role == TFR__ROLE_CONSTANT ? value->tensor : tfr__build_live_in(b, v);
        if (!t)
            return tfr_fail(err, TFR_EMODEL, "node \"%s\" (%s) reads value \"%s\", which has none",
                            node->name, node->op->name, value->name);
        type_of(t, &b->types[v]);
        if (value->role == TFR__ROLE_CONSTANT && t->kind == TFR_KIND_TENSOR) {
            if (t->plain)
                b->known[v] = tfr_tensor_retain(t);
            else if (tfr_tensor_copy(t, &b->known[v], err))
                return TFR_ENOMEM;
        }
    }
    return TFR_OK;
}

enum { FEW_OPERANDS = 6 };

/* The types of what node i makes. */
static tfr_status infer_types(tfr__build *b, uint32_t i, bool *ends, tfr_err *err)
{
    const tfr__node *node = tfr__build_node_at(b, i);
    asking ask = {b, node};
    const size_t n = (size_t)node->n_inputs + node->n_outputs;
    tfr__type few[FEW_OPERANDS] = {0};
    tfr__type *in = n <= FEW_OPERANDS ? few : tfr__calloc(n, sizeof *in);
    tfr__type *out = in ? in + node->n_inputs : NULL;
    tfr__infer infer = {.op = node->op,
                        .node = node->name,
                        .n_inputs = node->n_inputs,
                        .n_outputs = node->n_outputs,
                        .inputs = in,
                        .outputs = out,
                        .value = infer_value,
                        .user = &ask,
                        .again = b->is_again};
    tfr_status status = TFR_OK;
    *ends = false;
    if (!in)
        status = tfr__no_memory(err);
    for (uint32_t k = 0; !status && k < node->n_inputs; k++) {
        if (node->inputs[k] == TFR_VALUE_NONE)
            continue;
        in[k] = b->types[node->inputs[k]];
        if (b->known[node->inputs[k]] && tfr__tensor_is_aligned(b->known[node->inputs[k]]))
            in[k].data = b->known[node->inputs[k]]->data; /* else infer_value aligns it */
    }
    for (uint32_t k = 0; !status && k < node->n_outputs; k++)
        out[k].kind = node->outputs[k] == TFR_VALUE_NONE ? TFR_KIND_NONE : TFR_KIND_TENSOR;
    infer.attrs = &b->nodes[i].attrs;
    if (!status)
        status = tfr__attr_borrow(&node->attrs, infer.attrs, err);
    if (!status)
        status = tfr__infer_node(&infer, err);
    if (status == TFR__EPENDING) {
        *ends = true;
        status = TFR_OK;
        if (i == 0)
            status = tfr_fail(err, TFR_EUNSUPPORTED,
                              "node \"%s\" (%s): its shape depends on input %u, whose value cannot "
                              "be read before the run",
                              node->name, node->op->name, infer.pending);
    }
    for (uint32_t k = 0; !status && !*ends && k < node->n_outputs; k++) {
        if (node->outputs[k] == TFR_VALUE_NONE)
            continue;
        b->types[node->outputs[k]] = out[k];
        b->types[node->outputs[k]].data = NULL;
        b->dynamic[node->outputs[k]] = out[k].dynamic;
    }
    if (in != few)
        tfr__free(in);
    return status;
}

tfr_status tfr__build_infer_node(tfr__build *b, uint32_t i, bool *ends, tfr_err *err)
{
    const tfr__node *node = tfr__build_node_at(b, i);
    tfr_status status = infer_types(b, i, ends, err);
    if (!status && !*ends && node->op->kind == TFR__OP_CONST)
        status = known_output(b, i, err);
    /* Else each run would bring it to the device where it is read. */
    if (!status && !*ends && node->op->kind == TFR__OP_VIEW && node->outputs[0] != TFR_VALUE_NONE &&
        b->known[node->inputs[0]])
        resolve_view(b, node, 0);
    return status;
}

tfr_tensor *tfr__build_resolve(tfr__build *b, tfr_value value)
{
    return resolve(b, value, 0);
}

tfr_status tfr__build_infer(tfr__build *b, tfr_err *err)
{
    for (b->end = b->first; b->end < b->graph->n_nodes; b->end++) {
        uint32_t i = b->end - b->first;
        const tfr__node *node = tfr__build_node_at(b, i);
        bool ends;
        tfr_status status;
        if (node->op->kind == TFR__OP_CONTROL || node->op->kind == TFR__OP_SEQUENCE)
            break;
        status = take_inputs(b, node, err);
        if (status)
            return status;
        if (!inputs_ready(b, node))
            break;
        status = tfr__build_infer_node(b, i, &ends, err);
        if (status)
            return status;
        if (ends)
            break;
    }
    return TFR_OK;
}
