/* SPDX-License-Identifier: Apache-2.0 */
/* upgrade_norm.c: older forms of the normalizations and of Dropout. */
#include "onnx/upgrade.h"
#include "prefix.h"

/*
 * BatchNormalization up to opset 13 trains when it has more than one output. The two last outputs,
 * saved_mean and saved_var, were hints for a backward pass and are gone.
 */
tfr_status tfr__upgrade_batch_norm(tfr__onnx_call *call, tfr_err *err)
{
    int64_t spatial;
    bool trains = tfr__call_wants(call, 1) || tfr__call_wants(call, 2);
    tfr_status status = tfr__call_take_int(call, "spatial", 1, &spatial, err);

    tfr__call_drop(call, "is_test");
    if (status)
        return status;
    if (!spatial && tfr__onnx_known_rank(call->builder, tfr__call_input(call, 0)) != 2)
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "BatchNormalization with spatial = 0 (a mean per element, up to opset 8)");
    if (tfr__call_wants(call, 3) || tfr__call_wants(call, 4))
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "outputs saved_mean and saved_var of BatchNormalization (up to opset 13)");
    if (call->n_outputs > 3)
        call->n_outputs = 3;
    if (!trains)
        call->n_outputs = call->n_outputs ? 1 : 0;
    return trains ? tfr__call_set_int(call, "training_mode", 1, err) : TFR_OK;
}

/* The mask of Dropout up to opset 9 is of the data's type; what runs a model drops nothing. */
static tfr_status add_mask_of_ones(tfr__onnx_call *call, tfr_err *err)
{
    tfr_value data = tfr__call_input(call, 0), one[2];
    tfr_status status = tfr__call_scalar_like(call, 1, data, &one[0], err);

    if (!status)
        status = tfr__call_node(call, "Shape", &data, 1, NULL, 0, &one[1], err);
    if (!status)
        status = tfr__call_node(call, "Expand", one, 2, NULL, 0, &call->results[1], err);
    call->n_outputs = 1;
    return status;
}

/*
 * Dropout up to opset 11: the ratio was an attribute, and running a model meant not to train.
 */
tfr_status tfr__upgrade_dropout(tfr__onnx_call *call, tfr_err *err)
{
    tfr_attr ratio;
    tfr_value value;
    tfr_status status;

    tfr__call_drop(call, "is_test");
    if (call->version < 10 && tfr__call_wants(call, 1) && call->n_outputs == 2 &&
        (status = add_mask_of_ones(call, err)))
        return status;
    if (call->n_outputs > 1 && !tfr__call_wants(call, 1))
        call->n_outputs = 1;
    if (!tfr__call_take(call, "ratio", &ratio))
        return TFR_OK;
    if (ratio.type != TFR_ATTR_FLOAT)
        return tfr_fail(err, TFR_EMODEL, "attribute \"ratio\" is not a FLOAT");
    status = tfr__call_scalar_like(call, ratio.floats[0], tfr__call_input(call, 0), &value, err);
    if (!status)
        tfr__call_set_input(call, 1, value);
    return status;
}

/* A value for each group becomes one for each channel: [G] -> [G,1] -> [G,C/G] -> [C]. */
static tfr_status spread(tfr__onnx_call *call, tfr_value per_group, tfr_value shape, tfr_value *out,
                         tfr_err *err)
{
    int64_t axis = 1, all = -1;
    tfr_value column[2] = {per_group, TFR_VALUE_NONE}, table[2], row[2];
    tfr_status status;

    table[1] = shape;
    if ((status = tfr__call_ints(call, 1, &axis, 1, &column[1], err)) ||
        (status = tfr__call_node(call, "Unsqueeze", column, 2, NULL, 0, &table[0], err)) ||
        (status = tfr__call_node(call, "Expand", table, 2, NULL, 0, &row[0], err)) ||
        (status = tfr__call_ints(call, 1, &all, 1, &row[1], err)))
        return status;
    return tfr__call_node(call, "Reshape", row, 2, NULL, 0, out, err);
}

/* GroupNormalization up to opset 20 has a scale and bias for each group. */
tfr_status tfr__upgrade_group_norm(tfr__onnx_call *call, tfr_err *err)
{
    int64_t groups = tfr__call_int(call, "num_groups", 0);
    const tfr_attr channels[] = {TFR_SET_INT("start", 1), TFR_SET_INT("end", 2)};
    const tfr_attr first = TFR_SET_INT("axis", 0);
    tfr_value x = tfr__call_input(call, 0), count[2], shape[2], both, value;
    tfr_status status;

    if (groups < 1 || call->n_inputs != 3 || x == TFR_VALUE_NONE)
        return TFR_OK; /* the graph says what is wrong */
    if ((status = tfr__call_node(call, "Shape", &x, 1, channels, 2, &count[0], err)) ||
        (status = tfr__call_ints(call, 1, &groups, 1, &count[1], err)) ||
        (status = tfr__call_node(call, "Div", count, 2, NULL, 0, &shape[1], err)))
        return status;
    shape[0] = count[1];
    status = tfr__call_node(call, "Concat", shape, 2, &first, 1, &both, err);
    for (uint32_t i = 1; !status && i < 3; i++) {
        if (call->inputs[i] == TFR_VALUE_NONE)
            continue;
        status = spread(call, call->inputs[i], both, &value, err);
        if (!status)
            tfr__call_set_input(call, i, value);
    }
    return status;
}

/* ONNX Runtime's optimizer writes what became RMSNormalization so, in any opset. */
tfr_status tfr__upgrade_simplified_layer_norm(tfr__onnx_call *call, tfr_err *err)
{
    if (tfr__call_wants(call, 1))
        return tfr_fail(err, TFR_EUNSUPPORTED, "the second output of SimplifiedLayerNormalization");
    if (call->n_outputs > 1)
        call->n_outputs = 1;
    call->op = "RMSNormalization";
    return TFR_OK;
}
