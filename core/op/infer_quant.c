/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer_quant.c: QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear. A scale is one number for
 * the tensor, one for each index of axis, or one for each block along axis.
 */
#include "op/infer_kit.h"

static bool is_float(int32_t dtype)
{
    return dtype == TFR_DTYPE_F16 || dtype == TFR_DTYPE_F32 || dtype == TFR_DTYPE_F64 ||
           dtype == TFR_DTYPE_BF16;
}

/* Blocked: scale has x's shape but ceil(dim / block) on axis. */
static tfr_status check_blocks(tfr__infer *in, tfr_err *err, int64_t block)
{
    const tfr__type *x = tfr__in(in, 0);
    tfr__dims want;
    int32_t axis;
    if (block < 1)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "block_size is %lld, want at least 1",
                               (long long)block);
    TFR__TRY(tfr__axis_attr(in, err, "axis", x->rank, &axis));
    tfr__dims_of(x, &want);
    want.d[axis] = x->dims[axis] / block + (x->dims[axis] % block != 0);
    if (x->dims[axis] < 0)
        want.d[axis] = tfr__new_dim(in);
    return tfr__want_shape(in, err, 1, &want);
}

/* The shapes of scale (input 1) and zero point (2), and axis in normal form. */
static tfr_status check_scale(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0), *scale = tfr__in(in, 1);
    int64_t block = tfr__attr_int(in->attrs, "block_size", 0);
    tfr__dims same;
    int32_t axis;
    tfr__dims_of(scale, &same);
    if (scale->rank == 1 && scale->dims[0] < 0)
        return TFR_OK; /* one for the tensor, or one for each index of axis */
    if (block == 0 && (!scale->rank || (scale->rank == 1 && scale->dims[0] == 1))) {
        TFR__TRY(tfr__want_one(in, err, 2)); /* [] and [1] go together in many models */
        return tfr__attr_set_int(in->attrs, "axis", 0, err);
    }
    TFR__TRY(tfr__want_shape(in, err, 2, &same));
    if (block != 0 || scale->rank > 1)
        return check_blocks(in, err, block);
    TFR__TRY(tfr__axis_attr(in, err, "axis", x->rank, &axis));
    return tfr__want_vector(in, err, 1, x->dims[axis], "elements of x on axis");
}

tfr_status tfr__infer_quantize(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0), *zero = tfr__in(in, 2);
    int64_t asked = tfr__attr_int(in->attrs, "output_dtype", 0);
    int64_t precision = tfr__attr_int(in->attrs, "precision", 0);
    int32_t dtype = zero ? zero->dtype : TFR_DTYPE_U8;
    if (asked != 0)
        TFR__TRY(tfr__dtype_attr(in, err, "output_dtype", 0, &dtype));
    if (zero && zero->dtype && zero->dtype != dtype)
        return tfr__infer_fail(in, err, TFR_EDTYPE, "output_dtype is %s, y_zero_point is %s",
                               tfr__dtype_short(dtype), tfr__dtype_short(zero->dtype));
    if (precision != 0 && (precision < 0 || precision > INT32_MAX || !is_float((int32_t)precision)))
        return tfr__infer_fail(in, err, TFR_EDTYPE, "precision is %lld, not a float type",
                               (long long)precision);
    TFR__TRY(check_scale(in, err));
    TFR__TRY(tfr__attr_set_int(in->attrs, "output_dtype", dtype, err));
    return tfr__out_like(in, err, 0, dtype, x);
}

tfr_status tfr__infer_dequantize(tfr__infer *in, tfr_err *err)
{
    int32_t dtype = tfr__in(in, 1)->dtype;
    if (tfr__attr_int(in->attrs, "output_dtype", 0) != 0)
        TFR__TRY(tfr__dtype_attr(in, err, "output_dtype", 0, &dtype));
    else if (dtype && !is_float(dtype))
        dtype = TFR_DTYPE_F32; /* scales that are powers of two */
    TFR__TRY(check_scale(in, err));
    TFR__TRY(tfr__attr_set_int(in->attrs, "output_dtype", dtype, err));
    return tfr__out_like(in, err, 0, dtype, tfr__in(in, 0));
}

tfr_status tfr__infer_dynamic_quantize(tfr__infer *in, tfr_err *err)
{
    TFR__TRY(tfr__out_like(in, err, 0, TFR_DTYPE_U8, tfr__in(in, 0)));
    TFR__TRY(tfr__out(in, err, 1, TFR_DTYPE_F32, 0, NULL));
    return tfr__out(in, err, 2, TFR_DTYPE_U8, 0, NULL);
}
