/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer_signal.c: Fourier transforms, windows, mel filters. The last dim of a signal holds 1 (real)
 * or 2 (real, imaginary) numbers.
 */
#include "op/infer_kit.h"

/* A count that is the value of input i, at least least. It may be a symbol. */
static tfr_status read_count(tfr__infer *in, tfr_err *err, uint32_t i, int64_t least, int64_t *out)
{
    tfr__text name;
    tfr__number n;
    TFR__TRY(tfr__value_number(in, err, i, &n));
    if (n.what == TFR__KNOWN && n.v < least)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "%s is %lld, want at least %lld",
                               tfr__in_name(in, i, &name), (long long)n.v, (long long)least);
    *out = n.what == TFR__KNOWN ? n.v : tfr__dim_of_value(in, n);
    return TFR_OK;
}

/* Frequencies of one side. */
static int64_t half(const tfr__infer *in, int64_t length)
{
    return length < 0 ? tfr__dim_add(in, tfr__dim_div(in, length, 2), 1) : length / 2 + 1;
}

/* All dims but that of the complex numbers are new: nobody knows which axis. */
static tfr_status dft_of_unknown_axis(tfr__infer *in, tfr_err *err, int64_t parts)
{
    tfr__dims shape = {.rank = tfr__in(in, 0)->rank};
    for (int32_t i = 0; i < shape.rank - 1; i++)
        shape.d[i] = tfr__new_dim(in);
    shape.d[shape.rank - 1] = parts;
    return tfr__out_dims(in, err, 0, tfr__in(in, 0)->dtype, &shape);
}

static tfr_status check_parts(tfr__infer *in, tfr_err *err, int64_t *parts)
{
    const tfr__type *x = tfr__in(in, 0);
    *parts = x->dims[x->rank - 1];
    if (tfr__differ(in, *parts, 1) && tfr__differ(in, *parts, 2))
        return tfr__infer_fail(in, err, TFR_ESHAPE,
                               "the last dim of the signal is %lld, want 1 or 2",
                               (long long)*parts);
    return TFR_OK;
}

tfr_status tfr__infer_dft(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    bool inverse = tfr__attr_int(in->attrs, "inverse", 0) != 0;
    bool onesided = tfr__attr_int(in->attrs, "onesided", 0) != 0;
    int64_t value = -2, length, parts;
    tfr__dims shape;
    int32_t axis;
    TFR__TRY(tfr__want_rank_min(in, err, 0, 2));
    TFR__TRY(check_parts(in, err, &parts));
    if (tfr__in(in, 2)) {
        tfr_status status = tfr__value_int(in, err, 2, &value);
        if (status == TFR__EPENDING && tfr__is_symbolic(in))
            return dft_of_unknown_axis(in, err, onesided && inverse ? 1 : 2);
        TFR__TRY(status);
    }
    TFR__TRY(tfr__axis(in, err, "axis", value, x->rank, &axis));
    if (axis == x->rank - 1)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "axis %lld is that of the complex numbers",
                               (long long)value);
    if (onesided && tfr__differ(in, parts, inverse ? 2 : 1))
        return tfr__infer_fail(in, err, TFR_ESHAPE, "onesided %s wants %s input",
                               inverse ? "and inverse" : "forward", inverse ? "complex" : "real");
    int64_t n = x->dims[axis];
    length = inverse && onesided ? 2 * (n < 1 || n > INT64_MAX / 4 ? 0 : n - 1) : n;
    if (n < 0 && inverse && onesided)
        length = tfr__new_dim(in);
    if (tfr__in(in, 1))
        TFR__TRY(read_count(in, err, 1, 1, &length));
    tfr__dims_of(x, &shape);
    shape.d[axis] = onesided && !inverse ? half(in, length) : length;
    shape.d[x->rank - 1] = onesided && inverse ? 1 : 2;
    TFR__TRY(tfr__out_dims(in, err, 0, x->dtype, &shape));
    TFR__TRY(tfr__attr_set_int(in->attrs, "axis", axis, err));
    return tfr__attr_set_int(in->attrs, "dft_length", length, err);
}

tfr_status tfr__infer_stft(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0), *window = tfr__in(in, 2);
    bool onesided = tfr__attr_int(in->attrs, "onesided", 1) != 0;
    int64_t parts, step, length;
    TFR__TRY(tfr__want_rank(in, err, 0, 3));
    TFR__TRY(tfr__want_rank(in, err, 2, 1));
    TFR__TRY(check_parts(in, err, &parts));
    TFR__TRY(read_count(in, err, 1, 1, &step));
    length = window ? window->dims[0] : x->dims[1];
    if (tfr__in(in, 3))
        TFR__TRY(read_count(in, err, 3, 1, &length));
    TFR__TRY(tfr__want_vector(in, err, 2, length, "frame_length"));
    if (length == 0 || (x->dims[1] >= 0 && length > x->dims[1]))
        return tfr__infer_fail(in, err, TFR_ESHAPE, "frame_length is %lld, the signal has %lld",
                               (long long)length, (long long)x->dims[1]);
    if (onesided && parts == 2)
        return tfr__infer_fail(in, err, TFR_ESHAPE,
                               "onesided wants real input, this one is complex");
    int64_t dims[4] = {x->dims[0], (x->dims[1] - length) / step + 1,
                       onesided ? half(in, length) : length, 2};
    if (x->dims[1] < 0 || length < 0 || step < 0)
        dims[1] = tfr__new_dim(in);
    TFR__TRY(tfr__out(in, err, 0, x->dtype, 4, dims));
    TFR__TRY(tfr__attr_set_int(in->attrs, "frame_step", step, err));
    return tfr__attr_set_int(in->attrs, "frame_length", length, err);
}

tfr_status tfr__infer_window(tfr__infer *in, tfr_err *err)
{
    int64_t size;
    int32_t dtype;
    TFR__TRY(tfr__dtype_attr(in, err, "output_datatype", TFR_DTYPE_F32, &dtype));
    TFR__TRY(read_count(in, err, 0, 0, &size));
    return tfr__out(in, err, 0, dtype, 1, &size);
}

tfr_status tfr__infer_mel_weights(tfr__infer *in, tfr_err *err)
{
    int64_t bins, length;
    int32_t dtype;
    TFR__TRY(tfr__dtype_attr(in, err, "output_datatype", TFR_DTYPE_F32, &dtype));
    TFR__TRY(read_count(in, err, 0, 1, &bins));
    TFR__TRY(read_count(in, err, 1, 0, &length));
    for (uint32_t i = 2; i < 5; i++)
        TFR__TRY(tfr__want_one(in, err, i));
    int64_t dims[2] = {half(in, length), bins};
    return tfr__out(in, err, 0, dtype, 2, dims);
}
