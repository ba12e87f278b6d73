/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer.c: the frame of shape inference: a node is checked against its row of the op table, its
 * attributes get their defaults, the row's function runs, and what it said is checked. The rows'
 * functions are in infer_*.c.
 */
#include <stdlib.h>
#include <string.h>

#include "op/infer_kit.h"
#include "value/bits.h"

/* ---- operands against the signature ---- */

/* What a set of types, "T", is for this node. */
typedef struct binding {
    const char *type;
    uint32_t type_bytes, input;
    int32_t kind, dtype;
} binding;

enum { MOST_BINDINGS = 16 };

typedef struct bindings {
    binding items[MOST_BINDINGS];
    uint32_t n;
} bindings;

static binding *find_binding(bindings *bound, const tfr__formal *formal)
{
    for (uint32_t i = 0; i < bound->n; i++)
        if (bound->items[i].type_bytes == formal->type_bytes &&
            memcmp(bound->items[i].type, formal->type, formal->type_bytes) == 0)
            return &bound->items[i];
    return NULL;
}

/* Whether the known dims make too many elements. */
static bool is_too_large(const tfr__type *t)
{
    tfr__type known = {.dtype = t->dtype ? t->dtype : TFR_DTYPE_U8};
    for (int32_t i = 0; i < t->rank; i++)
        if (t->dims[i] >= 0)
            known.dims[known.rank++] = t->dims[i];
    return tfr__type_elements(&known) < 0;
}

/* Whether there is nothing to say of an operand, as mostly: its name takes longer than that. What
 * is inferred again needs no formal for that. */
static bool is_fine(const tfr__infer *in, const tfr__formal *formal, const tfr__type *t)
{
    return t->kind == TFR_KIND_TENSOR && t->shape_known && !tfr__is_symbolic(in) &&
           tfr__type_elements(t) >= 0 &&
           (in->again ||
            tfr__op_admits(in->op, formal->type, formal->type_bytes, t->kind, t->dtype));
}

static tfr_status check_tensor(const tfr__infer *in, tfr_err *err, const char *name,
                               const tfr__type *t)
{
    tfr__text text;
    if (t->rank < 0 || t->rank > TFR_MAX_RANK)
        return tfr__infer_fail(in, err, TFR_ELIMIT, "%s has rank %d, the limit is %d", name,
                               (int)t->rank, TFR_MAX_RANK);
    for (int32_t i = 0; i < t->rank; i++)
        if (t->dims[i] < 0 && !tfr__is_symbolic(in))
            return tfr__infer_fail(in, err, TFR_ESHAPE, "%s has the negative dim %lld on axis %d",
                                   name, (long long)t->dims[i], (int)i);
    if (tfr__is_symbolic(in) ? is_too_large(t) : tfr__type_elements(t) < 0)
        return tfr__infer_fail(in, err, TFR_ELIMIT, "%s of %s elements %s is beyond 2^63 bits",
                               name, tfr__dtype_short(t->dtype),
                               tfr__dims_text(t->dims, t->rank, &text));
    return TFR_OK;
}

/* All operands of one set have one type. */
static tfr_status bind(const tfr__infer *in, tfr_err *err, const tfr__formal *formal,
                       uint32_t input, bindings *bound)
{
    const tfr__type *t = &in->inputs[input];
    binding *b = find_binding(bound, formal);
    tfr__text first, second;
    if (!b) {
        if (bound->n < MOST_BINDINGS)
            bound->items[bound->n++] =
                (binding){formal->type, formal->type_bytes, input, t->kind, t->dtype};
        return TFR_OK;
    }
    if (b->dtype == t->dtype && b->kind == t->kind)
        return TFR_OK;
    if (tfr__is_symbolic(in)) {
        if (!b->dtype)
            b->dtype = t->dtype;
        if (b->kind == TFR__KIND_ANY)
            b->kind = t->kind;
        if ((!t->dtype || t->dtype == b->dtype) && (t->kind == TFR__KIND_ANY || t->kind == b->kind))
            return TFR_OK;
    }
    return tfr__infer_fail(in, err, TFR_EDTYPE,
                           "input %s is %s and input %s is %s, but they have to be the same",
                           tfr__in_name(in, b->input, &first), tfr__dtype_short(b->dtype),
                           tfr__in_name(in, input, &second), tfr__dtype_short(t->dtype));
}

static const char *kind_text(int32_t kind)
{
    return kind == TFR_KIND_TENSOR     ? "a tensor"
           : kind == TFR_KIND_SEQUENCE ? "a sequence"
           : kind == TFR_KIND_OPTIONAL ? "an optional"
                                       : "nothing known";
}

/* Whether the operand may be something else than a tensor. */
static bool may_be_other(const tfr__op *op, const tfr__formal *formal)
{
    return tfr__op_admits(op, formal->type, formal->type_bytes, TFR_KIND_SEQUENCE, 0) ||
           tfr__op_admits(op, formal->type, formal->type_bytes, TFR_KIND_OPTIONAL, 0);
}

/* What the signature alone says of an input. */
static void fill_in(const tfr__infer *in, const tfr__formal *formal, uint32_t i)
{
    tfr__type *t = &in->inputs[i];
    if (t->kind == TFR__KIND_ANY && !may_be_other(in->op, formal))
        t->kind = TFR_KIND_TENSOR;
    if (t->kind == TFR_KIND_TENSOR && !t->dtype)
        t->dtype = tfr__op_only_dtype(in->op, formal->type, formal->type_bytes);
}

static tfr_status check_input(const tfr__infer *in, tfr_err *err, const tfr__formal *formal,
                              uint32_t i)
{
    const tfr__type *t = &in->inputs[i];
    tfr__text name, full;
    uint32_t bytes;
    if (tfr__is_symbolic(in)) {
        fill_in(in, formal, i);
        if (!t->dtype || t->kind == TFR__KIND_ANY)
            return TFR_OK;
    }
    if (is_fine(in, formal, t))
        return TFR_OK;
    tfr__in_name(in, i, &name);
    if (t->kind < TFR_KIND_TENSOR || t->kind > TFR_KIND_OPTIONAL || !tfr__dtype_bits(t->dtype))
        return tfr__infer_fail(in, err, TFR_EDTYPE, "input %s is %s of element type %d", name.text,
                               kind_text(t->kind), (int)t->dtype);
    if (!tfr__op_admits(in->op, formal->type, formal->type_bytes, t->kind, t->dtype)) {
        const char *set = tfr__op_types(in->op, formal->type, formal->type_bytes, &bytes);
        return tfr__infer_fail(in, err, TFR_EDTYPE, "input %s is %s of %s, the op takes %.*s",
                               name.text, kind_text(t->kind), tfr__dtype_short(t->dtype),
                               (int)bytes, set);
    }
    if (t->kind != TFR_KIND_TENSOR)
        return TFR_OK;
    if (!t->shape_known) {
        if (in->op->kind == TFR__OP_SEQUENCE || in->op->kind == TFR__OP_CONTROL ||
            tfr__is_symbolic(in))
            return TFR_OK;
        return tfr__infer_fail(in, err, TFR_EUNSUPPORTED,
                               "the shape of input %s is known at run time only", name.text);
    }
    snprintf(full.text, sizeof full.text, "input %.200s", name.text);
    return check_tensor(in, err, full.text, t);
}

static tfr_status check_inputs(const tfr__infer *in, bindings *bound, tfr_err *err)
{
    uint32_t least, most;
    tfr__formal formal;
    tfr__op_arity(in->op->inputs, &least, &most);
    if (in->n_inputs > most)
        return tfr__infer_fail(in, err, TFR_EMODEL, "%u inputs, the op takes at most %u",
                               in->n_inputs, most);
    for (uint32_t i = 0; i < in->n_inputs || i < least; i++) {
        if (!tfr__op_formal(in->op->inputs, i, &formal))
            break;
        if (i >= in->n_inputs || in->inputs[i].kind == TFR_KIND_NONE) {
            if (formal.optional || (formal.variadic && !formal.min))
                continue;
            return tfr__infer_fail(in, err, TFR_EMODEL, "input %.*s is missing (%u are given)",
                                   (int)formal.name_bytes, formal.name, in->n_inputs);
        }
        TFR__TRY(check_input(in, err, &formal, i));
        if (!formal.mixed)
            TFR__TRY(bind(in, err, &formal, i, bound));
    }
    return TFR_OK;
}

/* ---- outputs ---- */

static tfr_status check_output_count(const tfr__infer *in, tfr_err *err)
{
    uint32_t least, most;
    tfr__op_arity(in->op->outputs, &least, &most);
    if (in->n_outputs > most)
        return tfr__infer_fail(in, err, TFR_EMODEL, "%u outputs, the op has at most %u",
                               in->n_outputs, most);
    if (in->n_outputs < least)
        return tfr__infer_fail(in, err, TFR_EMODEL, "%u outputs, the op has at least %u",
                               in->n_outputs, least);
    return TFR_OK;
}

static tfr_status check_outputs(const tfr__infer *in, tfr_err *err)
{
    tfr__formal formal;
    for (uint32_t i = 0; i < in->n_outputs; i++) {
        const tfr__type *t = &in->outputs[i];
        char name[96];
        if (t->kind == TFR_KIND_NONE || (in->again && is_fine(in, NULL, t)) ||
            !tfr__op_formal(in->op->outputs, i, &formal) || is_fine(in, &formal, t))
            continue;
        snprintf(name, sizeof name, "output %.*s", (int)formal.name_bytes, formal.name);
        if (tfr__is_symbolic(in) && (!t->dtype || t->kind == TFR__KIND_ANY))
            continue;
        if (!tfr__dtype_bits(t->dtype))
            return tfr__infer_fail(in, err, TFR_EINTERNAL, "%s got no element type", name);
        if (!tfr__op_admits(in->op, formal.type, formal.type_bytes, t->kind, t->dtype))
            return tfr__infer_fail(in, err, TFR_EDTYPE, "%s would be %s of %s, the op has none",
                                   name, kind_text(t->kind), tfr__dtype_short(t->dtype));
        if (t->kind == TFR_KIND_TENSOR && t->shape_known)
            TFR__TRY(check_tensor(in, err, name, t));
    }
    return TFR_OK;
}

/* ---- with less than everything known ---- */

/* Whether the function of an op needs no rank of input i. One that does runs only if all ranks are
 * known but those of inputs whose values it asks for. */
static bool copes_without_rank(const tfr__op *op, uint32_t i)
{
    if (op->infer == tfr__infer_attention)
        return i != 0 && i != 3;
    if (op->infer == tfr__infer_pad)
        return i == 2;
    return op->traits & TFR__TRAIT_ANY_RANK || (op->traits & TFR__TRAIT_RANK_OF_FIRST && i > 0);
}

/* Operands of one set have one element type, so one that is known is that of all of them. */
static void share_types(tfr__infer *in, bindings *bound)
{
    tfr__formal formal;
    for (uint32_t i = 0; i < in->n_inputs; i++) {
        tfr__type *t = &in->inputs[i];
        if (t->kind == TFR_KIND_NONE || !tfr__op_formal(in->op->inputs, i, &formal) || formal.mixed)
            continue;
        const binding *b = find_binding(bound, &formal);
        if (b && !t->dtype)
            t->dtype = b->dtype;
        if (b && t->kind == TFR__KIND_ANY)
            t->kind = b->kind;
    }
}

/* What the signature says of the outputs. */
static tfr__type output_type(const tfr__infer *in, uint32_t i, bindings *bound)
{
    tfr__type type = {.kind = TFR__KIND_ANY};
    tfr__formal formal;
    if (!tfr__op_formal(in->op->outputs, i, &formal))
        return type;
    const binding *b = formal.mixed ? NULL : find_binding(bound, &formal);
    type.dtype = b ? b->dtype : tfr__op_only_dtype(in->op, formal.type, formal.type_bytes);
    if (b)
        type.kind = b->kind;
    else if (!may_be_other(in->op, &formal))
        type.kind = TFR_KIND_TENSOR;
    else if (formal.type_bytes == 3 && memcmp(formal.type, "seq", 3) == 0)
        type.kind = TFR_KIND_SEQUENCE;
    return type;
}

static tfr_status infer_symbolic(tfr__infer *in, bindings *bound, tfr_err *err)
{
    bool runs = in->op->infer != NULL;
    share_types(in, bound);
    for (uint32_t i = 0; i < in->n_outputs; i++)
        if (tfr__wants(in, i))
            in->outputs[i] = output_type(in, i, bound);
    for (uint32_t i = 0; runs && i < in->n_inputs; i++) {
        const tfr__type *t = &in->inputs[i];
        bool asked = i < 32 && in->op->shape_args >> i & 1;
        if (t->kind == TFR__KIND_ANY)
            runs = in->op->infer == tfr__infer_same;
        else if (t->kind == TFR_KIND_TENSOR && !t->shape_known && !asked)
            runs = in->op->kind == TFR__OP_SEQUENCE || copes_without_rank(in->op, i);
    }
    if (!runs)
        return TFR_OK;
    tfr_status status = in->op->infer(in, err);
    if (status && status != TFR__EPENDING)
        return status;
    for (uint32_t i = 0; i < in->n_outputs; i++) {
        if (tfr__wants(in, i) && !in->outputs[i].dtype)
            in->outputs[i].dtype = output_type(in, i, bound).dtype;
        in->outputs[i].elements = NULL;
    }
    return check_outputs(in, err);
}

tfr_status tfr__infer_node(tfr__infer *in, tfr_err *err)
{
    bindings bound;
    bound.n = 0;
    if (!in->again) {
        TFR__TRY(check_inputs(in, &bound, err));
        TFR__TRY(check_output_count(in, err));
    }
    TFR__TRY(tfr__infer_attrs(in, err));
    if (tfr__is_symbolic(in))
        return infer_symbolic(in, &bound, err);
    if (!in->op->infer)
        return TFR_OK;
    TFR__TRY(in->op->infer(in, err));
    return check_outputs(in, err);
}
