/* SPDX-License-Identifier: Apache-2.0 */
/* graph_work.c: the work in a node of a graph whose types were inferred, by its op's rule of cost.
 */
#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"
#include "graph/graph_infer.h"
#include "op/cost.h"

/* Symbols count as 1, so what is made of them does, too, or as what that makes. */
static int64_t guess(const tfr__symbols *symbols, int64_t dim)
{
    const tfr__expression *e = dim < 0 ? tfr__symbol_at(symbols, dim) : NULL;
    if (dim >= 0)
        return dim;
    return e && e->kind == TFR__PRODUCT ? e->constant : 1;
}

static bool set_operand(const tfr_graph_types *types, const tfr__scope *scope, tfr_value v,
                        int64_t *dims, tfr_operand *out)
{
    const tfr__type *type = v == TFR_VALUE_NONE ? NULL : &scope->types[v];
    out->size = sizeof *out;
    out->dims = dims;
    if (!type)
        return true;
    if (type->kind != TFR_KIND_TENSOR || !type->shape_known || !type->dtype)
        return false;
    out->dtype = type->dtype;
    out->rank = type->rank;
    for (int32_t i = 0; i < type->rank; i++)
        dims[i] = guess(&types->symbols, type->dims[i]);
    return true;
}

tfr_status tfr_graph_types_work(const tfr_graph_types *types, const tfr_graph *graph, uint32_t i,
                                double *flops, tfr_err *err)
{
    const tfr__scope *scope = tfr__scope_of(types, graph);
    const tfr__node *node;
    tfr_operand *operands;
    int64_t(*dims)[TFR_MAX_RANK];
    bool known = true;
    if (!scope || i >= scope->n_nodes)
        return tfr_fail(err, TFR_EINVAL, "there is no node %u in these types", i);
    node = &scope->graph->nodes[i];
    size_t n = (size_t)node->n_inputs + node->n_outputs;
    operands = tfr__calloc(n + 1, sizeof *operands);
    dims = tfr__calloc(n + 1, sizeof *dims);
    *flops = -1;
    for (size_t k = 0; operands && dims && known && k < n; k++) {
        tfr_value v = k < node->n_inputs ? node->inputs[k] : node->outputs[k - node->n_inputs];
        known = set_operand(types, scope, v, dims[k], &operands[k]);
    }
    if (operands && dims && known && node->op->kind != TFR__OP_CONTROL) {
        const tfr_call call = {.size = sizeof call,
                               .since_version = node->op->since_version,
                               .domain = node->op->domain,
                               .name = node->op->name,
                               .attrs = node->attrs.n ? &node->attrs.items[0].pub : NULL,
                               .n_attrs = node->attrs.n,
                               .attr_stride = sizeof(tfr__attr),
                               .inputs = operands,
                               .n_inputs = node->n_inputs,
                               .input_stride = sizeof *operands,
                               .outputs = operands + node->n_inputs,
                               .n_outputs = node->n_outputs,
                               .output_stride = sizeof *operands};
        *flops = (double)tfr__cost(&call).flops;
    }
    bool enough = operands && dims;
    tfr__free(operands);
    tfr__free(dims);
    return enough ? TFR_OK : tfr__no_memory(err);
}
