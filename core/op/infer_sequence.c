/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer_sequence.c: sequences and optionals. Only kinds and element types are known before the run;
 * shapes of what comes out of a sequence are not.
 */
#include "op/infer_kit.h"

static tfr_status put(tfr__infer *in, int32_t kind, int32_t elem_kind, int32_t dtype)
{
    if (tfr__wants(in, 0))
        in->outputs[0] = (tfr__type){.kind = kind, .elem_kind = elem_kind, .dtype = dtype};
    return TFR_OK;
}

static tfr_status put_sequence(tfr__infer *in, int32_t dtype)
{
    return put(in, TFR_KIND_SEQUENCE, TFR_KIND_TENSOR, dtype);
}

tfr_status tfr__infer_sequence_construct(tfr__infer *in, tfr_err *err)
{
    (void)err;
    return put_sequence(in, tfr__in(in, 0)->dtype);
}

tfr_status tfr__infer_sequence_empty(tfr__infer *in, tfr_err *err)
{
    int32_t dtype;
    TFR__TRY(tfr__dtype_attr(in, err, "dtype", TFR_DTYPE_F32, &dtype));
    return put_sequence(in, dtype);
}

/* A position, if given, is one number, whether or not its shape is known already. */
static tfr_status check_position(tfr__infer *in, tfr_err *err, uint32_t i)
{
    const tfr__type *t = tfr__in(in, i);
    return t && t->shape_known ? tfr__want_one(in, err, i) : TFR_OK;
}

tfr_status tfr__infer_sequence_insert(tfr__infer *in, tfr_err *err)
{
    int32_t dtype = tfr__in(in, 0)->dtype, added = tfr__in(in, 1)->dtype;
    if (dtype != added && dtype && added)
        return tfr__infer_fail(in, err, TFR_EDTYPE, "tensor is %s, input_sequence has %s",
                               tfr__dtype_short(added), tfr__dtype_short(dtype));
    TFR__TRY(check_position(in, err, 2));
    return put_sequence(in, dtype);
}

tfr_status tfr__infer_sequence_erase(tfr__infer *in, tfr_err *err)
{
    TFR__TRY(check_position(in, err, 1));
    return put_sequence(in, tfr__in(in, 0)->dtype);
}

tfr_status tfr__infer_sequence_at(tfr__infer *in, tfr_err *err)
{
    TFR__TRY(check_position(in, err, 1));
    return put(in, TFR_KIND_TENSOR, 0, tfr__in(in, 0)->dtype);
}

tfr_status tfr__infer_sequence_length(tfr__infer *in, tfr_err *err)
{
    return tfr__out(in, err, 0, TFR_DTYPE_I64, 0, NULL);
}

tfr_status tfr__infer_concat_from_sequence(tfr__infer *in, tfr_err *err)
{
    int64_t stack = tfr__attr_int(in->attrs, "new_axis", 0);
    int64_t axis = tfr__attr_int(in->attrs, "axis", 0);
    if (stack != 0 && stack != 1)
        return tfr__infer_fail(in, err, TFR_EMODEL, "new_axis is %lld, want 0 or 1",
                               (long long)stack);
    /* The rank is not known yet, so the axis keeps its sign; the run checks it. */
    if (axis < -TFR_MAX_RANK || axis >= TFR_MAX_RANK)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "axis is %lld, no tensor has it",
                               (long long)axis);
    return put(in, TFR_KIND_TENSOR, 0, tfr__in(in, 0)->dtype);
}

tfr_status tfr__infer_split_to_sequence(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    int32_t axis;
    if (x->shape_known)
        TFR__TRY(tfr__axis_attr(in, err, "axis", x->rank, &axis));
    return put_sequence(in, x->dtype);
}

tfr_status tfr__infer_optional(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    uint64_t n;
    const int64_t *type = tfr__attr_ints(in->attrs, "type", &n);
    if (x)
        return put(in, TFR_KIND_OPTIONAL, x->kind, x->dtype);
    if (n != 2 || (type[0] != TFR_KIND_TENSOR && type[0] != TFR_KIND_SEQUENCE) || type[1] < 1 ||
        type[1] >= TFR_DTYPE_END)
        return tfr__infer_fail(in, err, TFR_EMODEL,
                               "without an input, attribute type has to say "
                               "kind and element type");
    return put(in, TFR_KIND_OPTIONAL, (int32_t)type[0], (int32_t)type[1]);
}

tfr_status tfr__infer_optional_get_element(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    if (x->kind == TFR_KIND_TENSOR && x->shape_known)
        return tfr__out_like(in, err, 0, x->dtype, x);
    if (x->kind != TFR_KIND_OPTIONAL)
        return put(in, x->kind, x->elem_kind, x->dtype);
    return put(in, x->elem_kind, x->elem_kind == TFR_KIND_SEQUENCE ? TFR_KIND_TENSOR : 0, x->dtype);
}

tfr_status tfr__infer_optional_has_element(tfr__infer *in, tfr_err *err)
{
    return tfr__out(in, err, 0, TFR_DTYPE_BOOL, 0, NULL);
}
