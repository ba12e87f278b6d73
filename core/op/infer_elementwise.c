/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer_elementwise.c: ops that treat every element alike: unary, binary with broadcasting,
 * comparison, casts, Where, Clip. Softmax and its like are here, too, as their output has the
 * input's shape.
 */
#include "op/infer_kit.h"
#include "value/bits.h"

tfr_status tfr__infer_same(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    if (x->kind == TFR_KIND_TENSOR)
        return tfr__out_like(in, err, 0, x->dtype, x);
    if (tfr__wants(in, 0)) /* Identity of a sequence or an optional */
        in->outputs[0] = *x;
    return TFR_OK;
}

tfr_status tfr__infer_test(tfr__infer *in, tfr_err *err)
{
    return tfr__out_like(in, err, 0, TFR_DTYPE_BOOL, tfr__in(in, 0));
}

tfr_status tfr__infer_axis_same(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    int32_t axis;
    TFR__TRY(tfr__axis_attr(in, err, "axis", x->rank, &axis));
    int64_t p = tfr__attr_int(in->attrs, "p", 2); /* LpNormalization's */
    if (p != 1 && p != 2)
        return tfr__infer_fail(in, err, TFR_EMODEL, "p is %lld, want 1 or 2", (long long)p);
    return tfr__out_like(in, err, 0, x->dtype, x);
}

/* All inputs broadcast to one shape. */
static tfr_status broadcast_all(tfr__infer *in, tfr_err *err, int32_t dtype)
{
    tfr__dims shape = {0};
    for (uint32_t i = 0; i < in->n_inputs; i++)
        TFR__TRY(tfr__broadcast(in, err, i, &shape));
    return tfr__out_dims(in, err, 0, dtype, &shape);
}

tfr_status tfr__infer_binary(tfr__infer *in, tfr_err *err)
{
    return broadcast_all(in, err, tfr__in(in, 0)->dtype);
}

tfr_status tfr__infer_compare(tfr__infer *in, tfr_err *err)
{
    return broadcast_all(in, err, TFR_DTYPE_BOOL);
}

tfr_status tfr__infer_variadic(tfr__infer *in, tfr_err *err)
{
    return broadcast_all(in, err, tfr__in(in, 0)->dtype);
}

tfr_status tfr__infer_where(tfr__infer *in, tfr_err *err)
{
    return broadcast_all(in, err, tfr__in(in, 1)->dtype);
}

tfr_status tfr__infer_prelu(tfr__infer *in, tfr_err *err)
{
    tfr__dims shape;
    tfr__dims_of(tfr__in(in, 0), &shape);
    TFR__TRY(tfr__broadcasts_to(in, err, 1, &shape));
    return tfr__out_dims(in, err, 0, tfr__in(in, 0)->dtype, &shape);
}

tfr_status tfr__infer_swiglu(tfr__infer *in, tfr_err *err)
{
    tfr__dims shape;
    tfr__dims_of(tfr__in(in, 0), &shape);
    TFR__TRY(tfr__want_shape(in, err, 1, &shape));
    return tfr__out_dims(in, err, 0, tfr__in(in, 0)->dtype, &shape);
}

tfr_status tfr__infer_clip(tfr__infer *in, tfr_err *err)
{
    TFR__TRY(tfr__want_one(in, err, 1));
    TFR__TRY(tfr__want_one(in, err, 2));
    return tfr__infer_same(in, err);
}

tfr_status tfr__infer_cast(tfr__infer *in, tfr_err *err)
{
    int32_t to;
    TFR__TRY(tfr__dtype_attr(in, err, "to", 0, &to));
    return tfr__out_like(in, err, 0, to, tfr__in(in, 0));
}

tfr_status tfr__infer_cast_like(tfr__infer *in, tfr_err *err)
{
    return tfr__out_like(in, err, 0, tfr__in(in, 1)->dtype, tfr__in(in, 0));
}

tfr_status tfr__infer_bit_cast(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    int32_t to;
    TFR__TRY(tfr__dtype_attr(in, err, "to", 0, &to));
    if (x->dtype && tfr__dtype_bits(to) != tfr__dtype_bits(x->dtype))
        return tfr__infer_fail(in, err, TFR_EDTYPE, "%s has %u bits, %s has %u",
                               tfr__dtype_short(x->dtype), tfr__dtype_bits(x->dtype),
                               tfr__dtype_short(to), tfr__dtype_bits(to));
    return tfr__out_like(in, err, 0, to, x);
}
