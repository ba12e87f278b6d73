/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass_fold.c: computes nodes whose inputs are constants once and for all, by the reference
 * kernels, so that every backend starts from the same numbers. What could fail in a run is left to
 * the run: a node that cannot be computed here stays as it is.
 */
#include <string.h>

#include "base/alloc.h"
#include "optimize/passes.h"

#define MOST_BYTES (16 << 20) /* that results may take beyond inputs, and a quarter of these */
/* Steps of the reference, which is slow. The work of a product is that of its terms; of what
 * else is not cheap it is taken as the product of the bytes on both sides. */
#define MOST_WORK (16 << 20)

/* A constant that some node reads: the memory is the constant's, only the shape is another. */
static tfr_tensor *fold_view(const tfr__type *type, tfr_tensor *base)
{
    tfr_tensor *view = NULL;
    tfr_shape shape;
    if (!base || tfr_shape_make(type->rank, type->dims, &shape, NULL) ||
        tfr_tensor_view(base, 0, &shape, NULL, &view, NULL))
        return NULL;
    return view;
}

static tfr_tensor *fold_transpose(const tfr__attr_list *attrs, tfr_tensor *base)
{
    uint64_t n;
    const int64_t *perm = tfr__attr_ints(attrs, "perm", &n);
    return base ? tfr__tensor_permute(base, perm) : NULL;
}

/* Constant, Shape and Size. */
static tfr_tensor *fold_known(tfr__rewrite *rw, const tfr__node *node, const tfr__attr_list *attrs,
                              const tfr__type *type)
{
    const tfr__attr *value = tfr__attr_find(attrs, "value");
    const tfr_value_type *in =
        node->n_inputs ? tfr__rewrite_type(rw, tfr__rewrite_input(rw, node, 0)) : NULL;
    const void *data = in ? in->dims + tfr__attr_int(attrs, "start", 0) : NULL;
    int64_t size = 1;
    tfr_tensor *t;
    tfr_shape shape;
    if (in && strcmp(node->op->name, "Size") == 0) {
        for (int32_t i = 0; i < in->rank; i++)
            size *= in->dims[i];
        data = &size;
    } else if (!in && value && value->pub.tensor) {
        data = value->pub.tensor->data;
    }
    if (!data || type->dtype == TFR_DTYPE_STRING ||
        tfr_shape_make(type->rank, type->dims, &shape, NULL) ||
        tfr_tensor_create((tfr_dtype)type->dtype, &shape, &t, NULL))
        return NULL;
    if (t->bytes)
        memcpy(t->data, data, t->bytes);
    return t;
}

/* In a file weights of integers are small, those in blocks are of products, and who quantizes in a
 * run takes matrices and kernels of 8 bits as they are; not weights of the one or two directions of
 * recurrent ops. */
static bool stays(const tfr__rewrite *rw, const tfr__node *node, const tfr__type *y)
{
    const int32_t type = tfr__rewrite_type(rw, node->inputs[0])->dtype;
    return tfr__rewrite_is(node, "DequantizeLinear") &&
           (rw->env->opset || tfr__attr_int(&node->attrs, "block_size", 0) ||
            (y->rank >= 2 && y->rank <= 5 && (y->rank != 3 || y->dims[0] > 2) &&
             (type == TFR_DTYPE_U8 || type == TFR_DTYPE_I8) &&
             tfr__rewrite_claimed(rw, "DynamicQuantizeLinear")));
}

/* May the node be computed here? */
static bool is_foldable(tfr__rewrite *rw, const tfr__node *node, const tfr__type *outputs,
                        tfr_tensor **inputs)
{
    int64_t in = 0, out = 0, each;
    if ((node->op->traits & TFR__TRAIT_RANDOM) || !node->n_inputs)
        return false;
    if (stays(rw, node, outputs))
        return false;
    for (uint32_t k = 0; k < node->n_inputs; k++) {
        if (node->inputs[k] == TFR_VALUE_NONE)
            continue;
        inputs[k] = tfr__rewrite_tensor(rw, node->inputs[k]);
        if (!inputs[k])
            return false;
        in += (int64_t)inputs[k]->bytes;
    }
    for (uint32_t k = 0; k < node->n_outputs; k++) {
        if (outputs[k].kind == TFR_KIND_NONE)
            continue;
        if (outputs[k].kind != TFR_KIND_TENSOR || outputs[k].dynamic ||
            outputs[k].dtype == TFR_DTYPE_STRING)
            return false;
        out += tfr__type_bytes(&outputs[k]);
    }
    if (out > in && out - in > MOST_BYTES)
        return false;
    each = in; /* steps for a byte of results */
    if (tfr__rewrite_is(node, "MatMul"))
        each = inputs[0]->shape.dims[inputs[0]->shape.rank - 1] / 4;
    return in <= 4 * MOST_BYTES &&
           ((node->op->traits & (TFR__TRAIT_ELEMENTWISE | TFR__TRAIT_CHEAP)) || in == 0 ||
            (out <= MOST_WORK && out * each <= MOST_WORK));
}

static bool fold(tfr__rewrite *rw, uint32_t i, const tfr__attr_list *attrs, const tfr__type *types)
{
    const tfr__node *node = &rw->graph->nodes[i];
    uint32_t n = node->n_outputs;
    tfr_tensor **inputs, **results;
    bool done = true;
    if (node->device || !n || (n == 1 && node->outputs[0] == TFR_VALUE_NONE))
        return false;
    inputs = tfr__calloc((size_t)node->n_inputs + n + 1, sizeof *inputs);
    if (!inputs) {
        rw->status = TFR_ENOMEM;
        return false;
    }
    results = inputs + node->n_inputs;
    if (node->op->kind == TFR__OP_CONST)
        results[0] = fold_known(rw, node, attrs, types);
    else if (node->op->kind == TFR__OP_VIEW)
        results[0] = fold_view(types, tfr__rewrite_tensor(rw, node->inputs[0]));
    else if (tfr__rewrite_is(node, "Transpose"))
        results[0] = fold_transpose(attrs, tfr__rewrite_tensor(rw, node->inputs[0]));
    else if (!is_foldable(rw, node, types, inputs) ||
             tfr__eval(rw->env, node, attrs, inputs, types, results, NULL))
        done = false;
    for (uint32_t k = 0; done && k < n; k++)
        done = results[k] || node->outputs[k] == TFR_VALUE_NONE;
    for (uint32_t k = 0; k < n; k++) {
        if (done && node->outputs[k] != TFR_VALUE_NONE)
            tfr__rewrite_set_constant(rw, node->outputs[k], results[k]);
        else
            tfr_tensor_release(results[k]);
    }
    tfr__free(inputs);
    return done;
}

uint32_t tfr__pass_fold(tfr__rewrite *rw)
{
    return tfr__rewrite_types(rw, fold);
}
