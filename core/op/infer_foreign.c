/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer_foreign.c: inference of ops that plugins bring: what is known of a node goes out as a
 * tfr_call, and the answer is a stranger's. A symbol is its number less one on the other side,
 * where -1 is a dim of which nothing is known (tfrun/plugin_ops.h).
 */
#include <string.h>

#include "base/alloc.h"
#include "op/infer_kit.h"
#include "op/op_foreign.h"
#include "value/bits.h"

typedef struct foreign_call {
    tfr_call call;
    uint32_t n;            /* operands */
    tfr_operand *operands; /* inputs, then outputs */
    int64_t (*dims)[TFR_MAX_RANK];
    tfr_inferred *out;
} foreign_call;

static void finish(foreign_call *c)
{
    tfr__free(c->operands);
    tfr__free(c->dims);
    tfr__free(c->out);
}

/* What is known of an input. */
static tfr_status set_input(tfr__infer *in, foreign_call *c, uint32_t i, tfr_err *err)
{
    const tfr__type *t = tfr__in(in, i);
    tfr_operand *o = &c->operands[i];
    const bool asked = i < 32 && in->op->shape_args >> i & 1;
    if (!t)
        return TFR_OK;
    if (t->kind != TFR_KIND_TENSOR || !t->shape_known || !t->dtype)
        return TFR__EPENDING;
    o->dtype = t->dtype;
    o->rank = t->rank;
    o->data = t->data;
    for (int32_t k = 0; k < t->rank; k++)
        c->dims[i][k] = t->dims[k] - (t->dims[k] < 0);
    return asked ? tfr__may_pend(in, tfr__value_raw(in, err, i, &o->data)) : TFR_OK;
}

/* The type of an output that the signature gives, or that of an input of its set; 0 = neither. */
static int32_t output_dtype(const tfr__infer *in, uint32_t i)
{
    tfr__formal output, input;
    int32_t dtype;
    if (!tfr__op_formal(in->op->outputs, i, &output))
        return 0;
    dtype = tfr__op_only_dtype(in->op, output.type, output.type_bytes);
    for (uint32_t k = 0; !dtype && k < in->n_inputs; k++)
        if (tfr__op_formal(in->op->inputs, k, &input) && !input.mixed && !output.mixed &&
            input.type_bytes == output.type_bytes &&
            memcmp(input.type, output.type, input.type_bytes) == 0)
            dtype = in->inputs[k].dtype;
    return dtype;
}

static tfr_status start(tfr__infer *in, foreign_call *c, tfr_err *err)
{
    tfr_status status = TFR_OK;
    c->n = in->n_inputs + in->n_outputs;
    c->operands = tfr__calloc(c->n, sizeof *c->operands);
    c->dims = tfr__calloc(c->n, sizeof *c->dims);
    c->out = tfr__calloc(in->n_outputs, sizeof *c->out);
    if (!c->operands || !c->dims || !c->out)
        return tfr__no_memory(err);
    for (uint32_t i = 0; i < c->n; i++) {
        c->operands[i].size = sizeof *c->operands;
        c->operands[i].dims = c->dims[i];
    }
    for (uint32_t i = 0; i < in->n_outputs; i++) {
        c->out[i] = (tfr_inferred){.size = sizeof *c->out, .rank = -1};
        if (tfr__wants(in, i))
            c->operands[in->n_inputs + i].dtype = c->out[i].dtype = output_dtype(in, i);
    }
    for (uint32_t i = 0; !status && i < in->n_inputs; i++)
        status = set_input(in, c, i, err);
    c->call = (tfr_call){.size = sizeof c->call,
                         .since_version = in->op->since_version,
                         .domain = in->op->domain,
                         .name = in->op->name,
                         .digest = tfr__op_digest(in->op),
                         .attrs = in->attrs->n ? &in->attrs->items[0].pub : NULL,
                         .inputs = c->operands,
                         .outputs = c->operands + in->n_inputs,
                         .n_attrs = in->attrs->n,
                         .attr_stride = sizeof *in->attrs->items,
                         .n_inputs = in->n_inputs,
                         .input_stride = sizeof *c->operands,
                         .n_outputs = in->n_outputs,
                         .output_stride = sizeof *c->operands};
    return status;
}

static bool is_of_input(const tfr__infer *in, int64_t symbol)
{
    for (uint32_t i = 0; i < in->n_inputs; i++)
        for (int32_t k = 0; k < in->inputs[i].rank; k++)
            if (in->inputs[i].dims[k] == symbol)
                return true;
    return false;
}

static tfr_status breach(const tfr__infer *in, tfr_err *err, uint32_t i, const char *what,
                         int64_t number)
{
    return tfr__infer_fail(in, err, TFR_EPLUGIN,
                           "plugin %s says that output %u has %s %lld, which cannot be",
                           tfr__op_foreign_of(in->op)->plugin, i, what, (long long)number);
}

/* Takes an output over, if it makes sense. */
static tfr_status take(tfr__infer *in, const tfr_inferred *said, uint32_t i, tfr_err *err)
{
    int64_t dims[TFR_MAX_RANK];
    if (!tfr__dtype_bits(said->dtype) && (said->dtype || !tfr__is_symbolic(in)))
        return breach(in, err, i, "element type", said->dtype);
    if (tfr__is_symbolic(in) && said->rank == -1) {
        tfr__out_unknown(in, i, said->dtype);
        return TFR_OK;
    }
    if (said->rank < 0 || said->rank > TFR_MAX_RANK)
        return breach(in, err, i, "rank", said->rank);
    for (int32_t k = 0; k < said->rank; k++) {
        dims[k] = said->dims[k];
        if (dims[k] >= 0)
            continue;
        if (tfr__is_symbolic(in) && dims[k] == TFR_DIM_UNKNOWN)
            dims[k] = tfr__new_dim(in);
        else if (!tfr__is_symbolic(in) || !is_of_input(in, ++dims[k]))
            return breach(in, err, i, "dim", said->dims[k]);
    }
    TFR__TRY(tfr__out(in, err, i, said->dtype, said->rank, dims));
    if (said->flags & TFR_OPERAND_DYNAMIC)
        tfr__out_dynamic(in, i);
    return TFR_OK;
}

static tfr_status ask(tfr__infer *in, foreign_call *c, tfr_err *err)
{
    const tfr__op_foreign *row = tfr__op_foreign_of(in->op);
    tfr_err own = TFR_ERR_INIT;
    tfr_status status = row->ask(row, &c->call, c->out, NULL, &own);
    own.text[sizeof own.text - 1] = 0;
    if (status)
        return tfr__infer_fail(in, err, status, "%s",
                               own.text[0] ? own.text : "it is not known why");
    for (uint32_t i = 0; !status && i < in->n_outputs; i++)
        if (tfr__wants(in, i))
            status = take(in, &c->out[i], i, err);
    return status;
}

tfr_status tfr__infer_foreign(tfr__infer *in, tfr_err *err)
{
    foreign_call c = {.n = 0};
    tfr_status status = start(in, &c, err);
    if (!status)
        status = ask(in, &c, err);
    finish(&c);
    return status;
}
