/* SPDX-License-Identifier: Apache-2.0 */
/* op_list.c: the op table as users see it (tfrun/op.h). */
#include <string.h>
#include <tfrun/fail.h>
#include <tfrun/op.h>

#include "op/op_foreign.h"

uint32_t tfr_op_count(void)
{
    return tfr__op_count();
}

int32_t tfr_op_find(const char *domain, const char *name)
{
    const tfr__op *op = name ? tfr__op_find(domain ? domain : "", name) : NULL;
    return op ? (int32_t)tfr__op_number(op) : -1;
}

tfr_status tfr_op_describe(uint32_t i, tfr_op_desc *out, tfr_err *err)
{
    const tfr__op_foreign *foreign;
    const tfr__op *op;
    tfr_op_desc row = {0};
    if (i >= tfr__op_count())
        return tfr_fail(err, TFR_EINVAL, "there is no op %u, the table has %u", i, tfr__op_count());
    op = tfr__op_at(i);
    row.size = out->size < sizeof row ? out->size : (uint32_t)sizeof row;
    row.since_version = op->since_version;
    row.compat_version = op->compat_version;
    row.metadata = op->kind != TFR__OP_KERNEL;
    row.domain = op->domain;
    row.name = op->name;
    row.inputs = op->inputs;
    row.outputs = op->outputs;
    row.attrs = op->attrs;
    row.types = op->types;
    row.digest = tfr__op_digest(op);
    row.shape_inputs = op->shape_args;
    row.normal_form = tfr__op_normal_form(op, &row.normal_version);
    foreign = tfr__op_foreign_of(op);
    if (foreign) {
        row.plugin = foreign->plugin;
        row.decomposition = foreign->functions & ~(1u << TFR__OP_GRADIENT);
        row.gradient = foreign->functions >> TFR__OP_GRADIENT & 1;
    }
    memcpy(out, &row, row.size);
    return TFR_OK;
}

tfr_status tfr_op_decompose(const tfr_call *call, void *out, uint64_t *n, tfr_err *err)
{
    const tfr__op *op = tfr__op_find(call->domain, call->name);
    const tfr__op_foreign *row = op ? tfr__op_foreign_of(op) : NULL;
    return row ? row->ask(row, call, out, n, err) : TFR_EINVAL;
}
