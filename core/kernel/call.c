/* SPDX-License-Identifier: Apache-2.0 */
/* call.c: puts a tfr_call together; see call.h. */
#include "kernel/call.h"

#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"

void tfr__operand_set(tfr_operand *operand, const tfr__type *type, const int64_t *strides,
                      const void *data)
{
    memset(operand, 0, sizeof *operand);
    operand->size = sizeof *operand;
    if (type->kind != TFR_KIND_TENSOR)
        return;
    operand->dtype = type->dtype;
    operand->flags = type->dynamic ? TFR_OPERAND_DYNAMIC : 0;
    operand->rank = type->rank;
    operand->dims = type->dims;
    operand->strides = strides;
    operand->data = data;
}

tfr_status tfr__call_init(tfr__call *call, const tfr__node *node, const tfr__attr_list *attrs,
                          tfr_err *err)
{
    tfr_call *c = &call->call;
    uint32_t n = node->n_inputs + node->n_outputs;
    memset(call, 0, sizeof *call);
    call->operands = n <= TFR__FEW ? call->few : tfr__calloc(n, sizeof *call->operands);
    if (!call->operands)
        return tfr__no_memory(err);
    for (uint32_t i = 0; i < n; i++)
        call->operands[i].size = sizeof *call->operands;
    c->size = sizeof *c;
    c->since_version = node->op->since_version;
    c->domain = node->op->domain;
    c->name = node->op->name;
    c->digest = tfr__op_digest(node->op);
    c->attrs = attrs->n ? &attrs->items[0].pub : NULL;
    c->n_attrs = attrs->n;
    c->attr_stride = sizeof *attrs->items;
    c->inputs = call->operands;
    c->n_inputs = node->n_inputs;
    c->outputs = call->operands + node->n_inputs;
    c->n_outputs = node->n_outputs;
    c->input_stride = c->output_stride = sizeof *call->operands;
    return TFR_OK;
}

void tfr__call_finish(tfr__call *call)
{
    if (call->operands != call->few)
        tfr__free(call->operands);
    tfr__free(call->unaligned);
    call->operands = NULL;
    call->unaligned = NULL;
}

tfr_status tfr__call_set_unaligned(tfr__call *call, uint32_t i, const tfr_tensor *t, tfr_err *err)
{
    call->operands[i].data = t->data;
    if (tfr__tensor_is_aligned(t))
        return TFR_OK;
    if (!call->unaligned)
        call->unaligned = tfr__calloc(call->call.n_inputs, sizeof *call->unaligned);
    if (!call->unaligned)
        return tfr__no_memory(err);
    call->unaligned[i] = t;
    call->operands[i].flags |= TFR_OPERAND_UNALIGNED;
    return TFR_OK;
}

tfr_status tfr__call_align(tfr__call *call, tfr_err *err)
{
    for (uint32_t i = 0; call->unaligned && i < call->call.n_inputs; i++) {
        tfr_operand *o = &call->operands[i];
        if (!(o->flags & TFR_OPERAND_UNALIGNED))
            continue;
        o->data = tfr__tensor_data(call->unaligned[i]);
        if (!o->data)
            return tfr_fail(err, TFR_ENOMEM, "no memory to align input %u of %s, %zu bytes", i,
                            call->call.name, call->unaligned[i]->bytes);
        o->flags &= ~(uint32_t)TFR_OPERAND_UNALIGNED;
    }
    return TFR_OK;
}
