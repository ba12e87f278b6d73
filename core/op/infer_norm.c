/* SPDX-License-Identifier: Apache-2.0 */
/* infer_norm.c: normalisations and Dropout. X is [N, C, ...] where channels matter. */
#include "op/infer_kit.h"

tfr_status tfr__infer_batch_norm(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    TFR__TRY(tfr__want_rank_min(in, err, 0, 1));
    int64_t c = x->rank > 1 ? x->dims[1] : 1;
    for (uint32_t i = 1; i < 5; i++)
        TFR__TRY(tfr__want_vector(in, err, i, c, "channels of X"));
    /* Without the attribute it is BatchNormTrain. */
    bool training = tfr__attr_int(in->attrs, "training_mode", 1) != 0;
    if (!training && (tfr__wants(in, 1) || tfr__wants(in, 2)))
        return tfr__infer_fail(in, err, TFR_EMODEL,
                               "running_mean and running_var exist only with training_mode 1");
    TFR__TRY(tfr__out_like(in, err, 0, x->dtype, x));
    for (uint32_t i = 1; i < 5; i++)
        TFR__TRY(tfr__out(in, err, i, tfr__in(in, 3)->dtype, 1, &c));
    return TFR_OK;
}

/* Of dY, X, scale...: output i is the gradient of input i + 1. */
tfr_status tfr__infer_norm_grad(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 1);
    tfr__dims shape;
    int32_t axis;
    tfr__dims_of(x, &shape);
    TFR__TRY(tfr__want_shape(in, err, 0, &shape));
    if (in->n_inputs == 3) { /* LayerNormGrad */
        TFR__TRY(tfr__axis_attr(in, err, "axis", x->rank, &axis));
        TFR__TRY(tfr__broadcasts_to(in, err, 2, &shape));
    }
    for (uint32_t i = 2; i < in->n_inputs && in->n_inputs > 3; i++)
        TFR__TRY(tfr__want_vector(in, err, i, x->rank > 1 ? x->dims[1] : 1, "channels of X"));
    for (uint32_t i = 0; i < in->n_outputs; i++)
        TFR__TRY(tfr__out_like(in, err, i, tfr__in(in, i + 1)->dtype, tfr__in(in, i + 1)));
    return TFR_OK;
}

tfr_status tfr__infer_instance_norm(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    TFR__TRY(tfr__want_rank_min(in, err, 0, 3));
    TFR__TRY(tfr__want_vector(in, err, 1, x->dims[1], "channels of input"));
    TFR__TRY(tfr__want_vector(in, err, 2, x->dims[1], "channels of input"));
    return tfr__out_like(in, err, 0, x->dtype, x);
}

/* The type that sums are kept in. */
static tfr_status check_stash(tfr__infer *in, tfr_err *err, int32_t *dtype)
{
    TFR__TRY(tfr__dtype_attr(in, err, "stash_type", TFR_DTYPE_F32, dtype));
    if (*dtype != TFR_DTYPE_F32 && *dtype != TFR_DTYPE_F64 && *dtype != TFR_DTYPE_F16 &&
        *dtype != TFR_DTYPE_BF16)
        return tfr__infer_fail(in, err, TFR_EDTYPE, "stash_type is %s, want a float type",
                               tfr__dtype_short(*dtype));
    return TFR_OK;
}

tfr_status tfr__infer_group_norm(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    int64_t groups = tfr__attr_int(in->attrs, "num_groups", 0);
    int32_t stash;
    TFR__TRY(tfr__want_rank_min(in, err, 0, 2));
    TFR__TRY(check_stash(in, err, &stash));
    if (groups < 1 || (x->dims[1] >= 0 && x->dims[1] % groups))
        return tfr__infer_fail(in, err, TFR_ESHAPE,
                               "num_groups is %lld, which does not divide %lld channels of X",
                               (long long)groups, (long long)x->dims[1]);
    TFR__TRY(tfr__want_vector(in, err, 1, x->dims[1], "channels of X"));
    TFR__TRY(tfr__want_vector(in, err, 2, x->dims[1], "channels of X"));
    return tfr__out_like(in, err, 0, x->dtype, x);
}

tfr_status tfr__infer_layer_norm(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    tfr__dims shape;
    int32_t axis, stash;
    TFR__TRY(tfr__axis_attr(in, err, "axis", x->rank, &axis));
    TFR__TRY(check_stash(in, err, &stash));
    tfr__dims_of(x, &shape);
    TFR__TRY(tfr__broadcasts_to(in, err, 1, &shape));
    TFR__TRY(tfr__broadcasts_to(in, err, 2, &shape));
    TFR__TRY(tfr__out_like(in, err, 0, x->dtype, x));
    for (int32_t i = axis; i < x->rank; i++)
        shape.d[i] = 1;
    TFR__TRY(tfr__out_dims(in, err, 1, stash, &shape));
    return tfr__out_dims(in, err, 2, stash, &shape);
}

tfr_status tfr__infer_rms_norm(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    tfr__dims shape;
    int32_t axis, stash;
    TFR__TRY(tfr__axis_attr(in, err, "axis", x->rank, &axis));
    TFR__TRY(check_stash(in, err, &stash));
    tfr__dims_of(x, &shape);
    TFR__TRY(tfr__broadcasts_to(in, err, 1, &shape));
    return tfr__out_dims(in, err, 0, tfr__in(in, 1)->dtype, &shape);
}

tfr_status tfr__infer_lrn(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    int64_t size = tfr__attr_int(in->attrs, "size", 0);
    TFR__TRY(tfr__want_rank_min(in, err, 0, 2));
    if (size < 1 || size > INT32_MAX)
        return tfr__infer_fail(in, err, TFR_EMODEL, "size is %lld, want 1...%d", (long long)size,
                               INT32_MAX);
    return tfr__out_like(in, err, 0, x->dtype, x);
}

tfr_status tfr__infer_mvn(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    int64_t axes[TFR_MAX_RANK];
    uint32_t n;
    TFR__TRY(tfr__attr_list_ints(in, err, "axes", axes, TFR_MAX_RANK, &n));
    TFR__TRY(tfr__axes(in, err, "axes", axes, n, x->rank));
    TFR__TRY(tfr__attr_set_ints(in->attrs, "axes", axes, n, err));
    return tfr__out_like(in, err, 0, x->dtype, x);
}

tfr_status tfr__infer_dropout(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    TFR__TRY(tfr__want_one(in, err, 1));
    TFR__TRY(tfr__want_one(in, err, 2));
    TFR__TRY(tfr__out_like(in, err, 0, x->dtype, x));
    return tfr__out_like(in, err, 1, TFR_DTYPE_BOOL, x);
}
