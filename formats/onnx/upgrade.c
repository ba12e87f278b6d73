/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upgrade.c: which older forms of ops there were, and what makes the newest form of them. The
 * core has one version of each op; a model may be of any opset since 1.
 */
#include <stdlib.h>
#include <string.h>
#include <tfrun/op.h>

#include "onnx/upgrade.h"
#include "prefix.h"

/*
 * Calls written for opsets up to `last` go through `rewrite`, NULL = they mean the same as later
 * ones (attributes with defaults were added, or types). EVERY: any version does.
 */
typedef struct upgrade {
    const char *op;
    int32_t last;
    tfr__upgrade_fn *rewrite;
} upgrade;

enum { EVERY = INT32_MAX };

/*
 * Sorted by op, then opset. A call goes through all rows of its op that hold for its version, one
 * after the other. An op without rows has one form only, or forms that the op table says mean the
 * same.
 */
static const upgrade upgrades[] = {
    {"Abs", 5, NULL},
    {"Add", 6, tfr__upgrade_binary},
    {"And", 6, tfr__upgrade_binary},
    {"ArgMax", EVERY, NULL},
    {"ArgMin", EVERY, NULL},
    {"Attention", EVERY, NULL},
    {"AveragePool", EVERY, NULL},
    {"BatchNormalization", 13, tfr__upgrade_batch_norm},
    {"Cast", 5, tfr__upgrade_cast},
    {"Cast", EVERY, NULL},
    {"CastLike", EVERY, NULL},
    {"Ceil", 5, NULL},
    {"Clip", 10, tfr__upgrade_clip},
    {"Concat", 3, tfr__upgrade_concat},
    {"DFT", 19, tfr__upgrade_dft},
    {"DepthToSpace", EVERY, NULL},
    {"DequantizeLinear", EVERY, NULL},
    {"Div", 6, tfr__upgrade_binary},
    {"Dropout", 11, tfr__upgrade_dropout},
    {"Elu", 5, NULL},
    {"Equal", 6, tfr__upgrade_binary},
    {"Exp", 5, NULL},
    {"Floor", 5, NULL},
    {"GRU", 6, tfr__upgrade_recurrent},
    {"GRU", EVERY, NULL},
    {"Gather", EVERY, NULL},
    {"GatherND", EVERY, NULL},
    {"Gemm", 6, tfr__upgrade_drop_broadcast},
    {"Gemm", EVERY, NULL},
    {"GlobalLpPool", 1, tfr__upgrade_integer_p},
    {"Greater", 6, tfr__upgrade_binary},
    {"GridSample", 19, tfr__upgrade_grid_sample},
    {"GroupNormalization", 20, tfr__upgrade_group_norm},
    {"HardSigmoid", 5, NULL},
    {"Hardmax", 12, tfr__upgrade_softmax},
    {"ImageDecoder", EVERY, tfr__upgrade_image_decoder},
    {"InstanceNormalization", 5, NULL},
    {"LSTM", 6, tfr__upgrade_recurrent},
    {"LSTM", EVERY, NULL},
    {"LayerNormalization", EVERY, NULL}, /* optimizers write it into models older than opset 17 */
    {"LeakyRelu", 5, NULL},
    {"Less", 6, tfr__upgrade_binary},
    {"Log", 5, NULL},
    {"LogSoftmax", 12, tfr__upgrade_softmax},
    {"LpPool", 1, tfr__upgrade_integer_p},
    {"LpPool", EVERY, NULL},
    {"Max", EVERY, NULL},
    {"MaxPool", EVERY, NULL},
    {"Mean", EVERY, NULL},
    {"Min", EVERY, NULL},
    {"Mul", 6, tfr__upgrade_binary},
    {"Neg", 5, NULL},
    {"OneHot", EVERY, NULL},
    {"OptionalHasElement", EVERY, NULL},
    {"Or", 6, tfr__upgrade_binary},
    {"PRelu", 6, tfr__upgrade_prelu},
    {"Pad", 1, tfr__upgrade_pad_1},
    {"Pad", 10, tfr__upgrade_pad_2},
    {"Pad", EVERY, NULL},
    {"Pow", 6, tfr__upgrade_binary},
    {"QuantizeLinear", EVERY, NULL},
    {"RNN", 6, tfr__upgrade_recurrent},
    {"RNN", EVERY, NULL},
    {"Range", EVERY, NULL},
    {"Reciprocal", 5, NULL},
    {"ReduceL1", 17, tfr__upgrade_reduce},
    {"ReduceL2", 17, tfr__upgrade_reduce},
    {"ReduceLogSum", 17, tfr__upgrade_reduce},
    {"ReduceLogSumExp", 17, tfr__upgrade_reduce},
    {"ReduceMax", 17, tfr__upgrade_reduce},
    {"ReduceMean", 17, tfr__upgrade_reduce},
    {"ReduceMin", 17, tfr__upgrade_reduce},
    {"ReduceProd", 17, tfr__upgrade_reduce},
    {"ReduceSum", 12, tfr__upgrade_reduce},
    {"ReduceSumSquare", 17, tfr__upgrade_reduce},
    {"Relu", 5, NULL},
    {"Reshape", 4, tfr__upgrade_reshape},
    {"Reshape", EVERY, NULL},
    {"Resize", 10, tfr__upgrade_resize_10},
    {"Resize", EVERY, tfr__upgrade_resize_half_pixel},
    {"Resize", EVERY, tfr__upgrade_resize_empty},
    {"RoiAlign", 15, tfr__upgrade_roi_align},
    {"Scan", EVERY, NULL}, /* opset 8: upgrade_scan.c */
    {"Scatter", EVERY, tfr__upgrade_scatter},
    {"ScatterElements", EVERY, NULL},
    {"ScatterND", EVERY, NULL},
    {"Selu", 5, tfr__upgrade_selu},
    {"Shape", EVERY, NULL},
    {"Sigmoid", 5, NULL},
    {"SimplifiedLayerNormalization", EVERY, tfr__upgrade_simplified_layer_norm},
    {"Slice", 9, tfr__upgrade_slice},
    {"Softmax", 12, tfr__upgrade_softmax},
    {"SpaceToDepth", EVERY, NULL},
    {"Split", 12, tfr__upgrade_split_11},
    {"Split", 17, tfr__upgrade_split_13},
    {"Sqrt", 5, NULL},
    {"Squeeze", 12, tfr__upgrade_axes},
    {"Sub", 6, tfr__upgrade_binary},
    {"Sum", EVERY, NULL},
    {"Tanh", 5, NULL},
    {"Tile", 5, tfr__upgrade_tile},
    {"TopK", 9, tfr__upgrade_top_k},
    {"TopK", EVERY, NULL},
    {"Unsqueeze", 12, tfr__upgrade_axes},
    {"Upsample", 6, tfr__upgrade_upsample_1},
    {"Upsample", 8, tfr__upgrade_upsample_7},
    {"Upsample", EVERY, tfr__upgrade_upsample_9},
    {"Xor", 6, tfr__upgrade_binary},
};
enum { N_UPGRADES = sizeof upgrades / sizeof *upgrades };

static int compare(const void *op, const void *row)
{
    return strcmp(op, ((const upgrade *)row)->op);
}

/* The first row of an op, or NULL. */
static const upgrade *find(const char *op)
{
    const upgrade *row = bsearch(op, upgrades, N_UPGRADES, sizeof *upgrades, compare);
    while (row && row > upgrades && strcmp(row[-1].op, op) == 0)
        row--;
    return row;
}

bool tfr__onnx_knows(const char *domain, const char *op)
{
    static const char *const readers[] = {"Constant", "Gradient", "FlexAttention", "Scan"};
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        if (strcmp(op, readers[i]) == 0)
            return true;
    return tfr_op_find(domain, op) >= 0 || (!*domain && find(op));
}

static tfr_status fail_unknown(const tfr__onnx_call *call, tfr_err *err)
{
    const char *why = tfr__onnx_why_refused(call->domain, call->op);
    char all[400];
    tfr__onnx_list_unknown(call->import->model, all, sizeof all);
    if (why)
        return tfr_fail(err, TFR_EUNSUPPORTED, "op \"%.64s\" of domain \"%.64s\" is refused: %s%s",
                        call->op, call->domain, why, all);
    return tfr_fail(err, TFR_EMODEL,
                    "op \"%.64s\" of domain \"%.64s\" (opset %d) is not known; `tfrun ops` lists "
                    "those that are, of ONNX up to opset %d%s%s",
                    call->op, call->domain, call->version, TFR__ONNX_NEWEST_OPSET,
                    *call->domain ? ", and those of the plugins that a runtime was made with" : "",
                    all);
}

tfr_status tfr__onnx_upgrade(tfr__onnx_call *call, tfr_err *err)
{
    tfr_op_desc op = {.size = sizeof op};
    int32_t number = tfr_op_find(call->domain, call->op);
    const upgrade *row = *call->domain ? NULL : find(call->op);
    const char *name = call->op;
    tfr_status status = TFR_OK;

    if (number < 0 && !row)
        return fail_unknown(call, err);
    /* A hint about memory, which every early op had and no use is made of. */
    if (!*call->domain && call->version < 6)
        tfr__call_drop(call, "consumed_inputs");
    if (number >= 0) {
        status = tfr_op_describe((uint32_t)number, &op, err);
        if (status)
            return status;
        if (call->version < op.compat_version && !row)
            return tfr_fail(err, TFR_EMODEL,
                            "op \"%s\" is known since opset %d of domain \"%s\", the model is of "
                            "opset %d",
                            call->op, op.compat_version, op.domain, call->version);
    }
    for (; row && row < upgrades + N_UPGRADES && strcmp(row->op, name) == 0; row++)
        if (call->version <= row->last && row->rewrite && !call->done &&
            (status = row->rewrite(call, err)))
            return status;
    /* A rewrite may lead to an op that the table lacks. */
    return call->done || tfr_op_find(call->domain, call->op) >= 0 ? TFR_OK
                                                                  : fail_unknown(call, err);
}
