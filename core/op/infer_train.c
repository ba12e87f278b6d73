/* SPDX-License-Identifier: Apache-2.0 */
/* infer_train.c: losses, and the optimizers of ONNX's preview.training domain. */
#include "op/infer_kit.h"

/* Inputs from first on: scores [N, C, d...], labels [N, d...], weight of C classes. loss becomes
 * the shape of the loss. */
static tfr_status check_loss(tfr__infer *in, tfr_err *err, uint32_t first, tfr__dims *loss)
{
    const tfr__type *scores = tfr__in(in, first);
    tfr__dims labels = {0};
    TFR__TRY(tfr__want_rank_min(in, err, first, 2));
    for (int32_t i = 0; i < scores->rank; i++)
        if (i != 1)
            labels.d[labels.rank++] = scores->dims[i];
    TFR__TRY(tfr__want_shape(in, err, first + 1, &labels));
    TFR__TRY(tfr__want_vector(in, err, first + 2, scores->dims[1], "classes"));
    if (tfr__attr_string(in->attrs, "reduction", "mean")[0] != 'n')
        labels.rank = 0;
    *loss = labels;
    return TFR_OK;
}

tfr_status tfr__infer_nll_loss(tfr__infer *in, tfr_err *err)
{
    tfr__dims loss;
    TFR__TRY(check_loss(in, err, 0, &loss));
    return tfr__out_dims(in, err, 0, tfr__in(in, 0)->dtype, &loss);
}

tfr_status tfr__infer_softmax_loss(tfr__infer *in, tfr_err *err)
{
    TFR__TRY(tfr__infer_nll_loss(in, err));
    return tfr__out_like(in, err, 1, tfr__in(in, 0)->dtype, tfr__in(in, 0));
}

/* Of dY, which is shaped as the loss, log_prob, labels, weights. */
tfr_status tfr__infer_softmax_loss_grad(tfr__infer *in, tfr_err *err)
{
    tfr__dims loss;
    TFR__TRY(check_loss(in, err, 1, &loss));
    TFR__TRY(tfr__want_shape(in, err, 0, &loss));
    return tfr__out_like(in, err, 0, tfr__in(in, 0)->dtype, tfr__in(in, 1));
}

/*
 * R (learning rate), T (step), then kinds lists of n tensors: parameters, gradients and kinds - 2
 * kinds of state. Outputs are new parameters and state, all of the parameters' shapes.
 */
static tfr_status infer_optimizer(tfr__infer *in, tfr_err *err, uint32_t kinds)
{
    uint32_t n = in->n_inputs > 2 ? (in->n_inputs - 2) / kinds : 0;
    tfr__dims shape;
    TFR__TRY(tfr__want_one(in, err, 0));
    TFR__TRY(tfr__want_one(in, err, 1));
    if (n == 0 || in->n_inputs != 2 + n * kinds || in->n_outputs != n * (kinds - 1))
        return tfr__infer_fail(in, err, TFR_EMODEL,
                               "%u inputs and %u outputs, want 2 + %u n and %u n", in->n_inputs,
                               in->n_outputs, kinds, kinds - 1);
    for (uint32_t i = 0; i < n * kinds; i++) {
        const tfr__type *x = tfr__in(in, 2 + i % n), *t = tfr__in(in, 2 + i);
        tfr__text name;
        if (!x || !t)
            return tfr__infer_fail(in, err, TFR_EMODEL, "input %s is missing",
                                   tfr__in_name(in, 2 + i, &name));
        tfr__dims_of(x, &shape);
        TFR__TRY(tfr__want_shape(in, err, 2 + i, &shape));
        if (t->dtype != x->dtype && t->dtype && x->dtype)
            return tfr__infer_fail(in, err, TFR_EDTYPE, "input %s is %s, its parameter is %s",
                                   tfr__in_name(in, 2 + i, &name), tfr__dtype_short(t->dtype),
                                   tfr__dtype_short(x->dtype));
        if (i < n * (kinds - 1))
            TFR__TRY(tfr__out_dims(in, err, i, x->dtype, &shape));
    }
    return TFR_OK;
}

tfr_status tfr__infer_adagrad(tfr__infer *in, tfr_err *err)
{
    return infer_optimizer(in, err, 3);
}

tfr_status tfr__infer_adam(tfr__infer *in, tfr_err *err)
{
    return infer_optimizer(in, err, 4);
}

tfr_status tfr__infer_momentum(tfr__infer *in, tfr_err *err)
{
    return infer_optimizer(in, err, 3);
}
