/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_forms.c: which calls items do: of each op the form that its kind of item has steps for.
 * The forms themselves are in program_forms_window.c, program_forms_sums.c and
 * program_forms_elementwise.c, or with the steps of their ops.
 */
#include "program_forms.h"
#include "program_half.h"
#include "program_integer.h"

#include <pthread.h>
#include <string.h>

static bool any_form(const tfr_call *call)
{
    (void)call;
    return true;
}

#define ONE_IS_WHOLE "inputs of which one has the dims of the output, up to 6, are done here"
#define PLANES       "two spatial axes of float32 are done here"
#define WINDOWS                                                                                    \
    "windows that all hold an element are done here, over two spatial axes or, with one output "   \
    "of float32, over one or three"

/* Sorted by name. All but the movers are of float32. */
static const native_form forms[] = {
    {"Abs", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_ABS, NULL},
    {"Add", native_binary_form, NATIVE_ITEM_BINARY, NATIVE_ADD, ONE_IS_WHOLE},
    {"Attention", native_attention_form, NATIVE_ITEM_ATTENTION, 0,
     "float32 with masks of all keys and without nonpad_kv_seqlen is done here"},
    {"AveragePool", native_pool_form, NATIVE_ITEM_POOL, 0, WINDOWS},
    {"BatchNormGrad", native_batch_norm_form, NATIVE_ITEM_BATCH_NORM_GRAD, 0, PLANES},
    {"BatchNormalization", native_normalize_form, NATIVE_ITEM_BATCH_NORM, 1,
     "one to three spatial axes of float32 without training_mode are done here"},
    {"BatchNormTrain", native_batch_norm_form, NATIVE_ITEM_BATCH_NORM, 0, PLANES},
    {"Cast", native_cast_form, NATIVE_ITEM_CAST, 0, NULL},
    {"CastLike", native_cast_form, NATIVE_ITEM_CAST, 0, NULL},
    {"Celu", native_celu_form, NATIVE_ITEM_ACT, NATIVE_ACT_CELU,
     "an alpha that is not 0 is done here"},
    {"Clip", native_clip_form, NATIVE_ITEM_ACT, NATIVE_ACT_CLIP,
     "bounds that are known and numbers are done here"},
    {"Concat", native_concat_form, NATIVE_ITEM_CONCAT, 0, "up to 64 inputs are done here"},
    {"Conv", native_conv_form, NATIVE_ITEM_CONV, 0,
     "two spatial axes, or one or three with known weights, dense, depthwise or in groups, are "
     "done here"},
    {"ConvGradFilter", native_conv_grad_filter_form, NATIVE_ITEM_CONV_GRAD_FILTER, 0,
     "two spatial axes without groups are done here"},
    {"ConvGradInput", native_conv_grad_input_form, NATIVE_ITEM_CONV_GRAD_INPUT, 0,
     "two spatial axes without groups are done here"},
    {"ConvInteger", native_conv_integer_form, NATIVE_ITEM_CONV, 2,
     "known weights with known zero points of two spatial axes, dense, depthwise or in groups, are "
     "done here"},
    {"ConvTranspose", native_conv_transpose_form, NATIVE_ITEM_CONV_GRAD_INPUT, 1,
     "known weights of one or two spatial axes, without groups computed ones of two, are done "
     "here"},
    {"DequantizeLinear", native_dequantize_form, NATIVE_ITEM_DEQUANTIZE, 0, NULL},
    {"DequantizeLinear", native_blocks_form, NATIVE_ITEM_BLOCKS, 0,
     "known matrices with blocks are done here"},
    {"Div", native_binary_form, NATIVE_ITEM_BINARY, NATIVE_DIV, ONE_IS_WHOLE},
    {"DynamicQuantizeLinear", native_dynamic_quantize_form, NATIVE_ITEM_DYNAMIC_QUANTIZE, 0, NULL},
    {"Einsum", native_einsum_form, NATIVE_ITEM_BATCHED_PRODUCT, 0,
     "up to two operands of up to 6 dims, whose letters are all different and are summed over only "
     "where both have them, are done here"},
    {"Elu", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_ELU, NULL},
    {"Erf", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_ERF, NULL},
    {"Exp", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_EXP, NULL},
    {"Expand", native_strided_form, NATIVE_ITEM_STRIDED, 0, "up to 8 dims are done here"},
    {"Gather", native_gather_fits, NATIVE_ITEM_GATHER, 0, NULL},
    {"Gelu", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_GELU, NULL},
    {"Gemm", native_gemm_form, NATIVE_ITEM_PRODUCT, 0, NULL},
    {"GlobalAveragePool", native_mean_form, NATIVE_ITEM_MEAN, 0,
     "two or three spatial axes of less than 2^30 elements are done here"},
    {"Greater", native_compare_form, NATIVE_ITEM_COMPARE, 0, NULL},
    {"GroupNormalization", native_group_norm_form, NATIVE_ITEM_GROUP_NORM, 0,
     "groups that divide the channels are done here"},
    {"HardSigmoid", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_HARD_SIGMOID, NULL},
    {"HardSwish", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_HARD_SWISH, NULL},
    {"InstanceNormalization", native_group_norm_form, NATIVE_ITEM_GROUP_NORM, 0, NULL},
    {"LayerNormGrad", native_layer_norm_grad_form, NATIVE_ITEM_LAYER_NORM_GRAD, 0,
     "the last axis with a scale for each of its elements is done here"},
    {"LayerNormalization", native_layer_norm_form, NATIVE_ITEM_LAYER_NORM, 0,
     "the last axis with a scale for each of its elements is done here"},
    {"LeakyRelu", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_LEAKY, NULL},
    {"LogSoftmax", native_last_axis_form, NATIVE_ITEM_LOG_SOFTMAX, 0, "the last axis is done here"},
    {"MatMul", native_matmul_form, NATIVE_ITEM_PRODUCT, 0, NULL},
    {"MatMulInteger", native_matmul_integer_form, NATIVE_ITEM_PRODUCT, 2,
     "known matrices with known zero points, by one zero point, are done here"},
    {"MatMulNBits", native_nbits_form, NATIVE_ITEM_PRODUCT, 3,
     "known weights of 4 or 8 bits in blocks of up to 256, without g_idx, are done here"},
    {"MaxPool", native_pool_form, NATIVE_ITEM_POOL, 0, WINDOWS},
    {"MaxPoolGrad", native_scatter_form, NATIVE_ITEM_SCATTER, 0, "two spatial axes are done here"},
    {"Mish", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_MISH, NULL},
    {"Mul", native_binary_form, NATIVE_ITEM_BINARY, NATIVE_MUL, ONE_IS_WHOLE},
    {"Neg", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_LINEAR, NULL},
    {"Pad", native_pad_form, NATIVE_ITEM_PADDED, 0,
     "elements of whole bytes, of which some of each axis stay, are done here"},
    {"PRelu", native_binary_form, NATIVE_ITEM_BINARY, NATIVE_PRELU, NULL},
    {"QLinearConv", native_qlinear_conv_form, NATIVE_ITEM_CONV, 1,
     "known weights, scales and zero points of two spatial axes, dense or depthwise, are done "
     "here"},
    {"QLinearMatMul", native_qlinear_matmul_form, NATIVE_ITEM_PRODUCT, 1,
     "known matrices, scales and zero points are done here"},
    {"QuantizeLinear", native_quantize_form, NATIVE_ITEM_QUANTIZE, 0, NULL},
    {"RMSNormalization", native_rms_form, NATIVE_ITEM_GROUP_NORM, 0,
     "a scale of the dims from an axis on, which is not the first, is done here"},
    {"Range", native_range_form, NATIVE_ITEM_RANGE, 0, "int64 of known numbers is done here"},
    {"ReduceMean", native_reduce_form, NATIVE_ITEM_REDUCE, 0,
     "dims beside each other are done here"},
    {"ReduceSum", native_reduce_form, NATIVE_ITEM_REDUCE, 0,
     "dims beside each other are done here"},
    {"Relu", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_CLIP, NULL},
    {"Resize", native_resize_form, NATIVE_ITEM_RESIZE, 0,
     "the pixels of images of float32 are resized here"},
    {"Selu", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_SELU, NULL},
    {"Shrink", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_SHRINK, NULL},
    {"Sigmoid", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_SIGMOID, NULL},
    {"Slice", native_strided_form, NATIVE_ITEM_STRIDED, 0, "up to 8 dims are done here"},
    {"Softmax", native_last_axis_form, NATIVE_ITEM_SOFTMAX, 0, "the last axis is done here"},
    {"SoftmaxCrossEntropyGrad", native_loss_grad_form, NATIVE_ITEM_LOSS_GRAD, 0,
     "the mean over one int64 label for each row, all of which count, is done here"},
    {"SoftmaxCrossEntropyLoss", native_loss_form, NATIVE_ITEM_LOSS, 0,
     "the mean over one int64 label for each row, all of which count, is done here"},
    {"Softplus", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_SOFTPLUS, NULL},
    {"Softsign", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_SOFTSIGN, NULL},
    {"Split", native_strided_form, NATIVE_ITEM_STRIDED, 0,
     "up to 8 dims and 8 outputs are done here"},
    {"Sqrt", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_SQRT, NULL},
    {"Sub", native_binary_form, NATIVE_ITEM_BINARY, NATIVE_SUB, ONE_IS_WHOLE},
    {"Sum", native_sum_of_two_form, NATIVE_ITEM_BINARY, NATIVE_ADD, NULL},
    {"SumTo", native_sum_form, NATIVE_ITEM_SUM, 0,
     "axes of which the others lie beside each other are done here"},
    {"Swish", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_SWISH, NULL},
    {"Tanh", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_TANH, NULL},
    {"ThresholdedRelu", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_THRESHOLD, NULL},
    {"Transpose", native_transpose_form, NATIVE_ITEM_TRANSPOSE, 0, "up to 6 dims are done here"},
    {"Where", native_select_form, NATIVE_ITEM_SELECT, 0, NULL},
};

static bool is_nbits(const native_form *form)
{
    return form->kind == NATIVE_ITEM_PRODUCT && form->sub == 3;
}

/* Of this domain of ours, "tfrun". */
static bool is_own(const native_form *form)
{
    const native_item_kind kind = form->kind;

    if (kind == NATIVE_ITEM_BATCH_NORM || kind == NATIVE_ITEM_CONV_GRAD_INPUT)
        return form->sub == 0;
    return kind == NATIVE_ITEM_SUM || kind == NATIVE_ITEM_SCATTER ||
           kind == NATIVE_ITEM_BATCH_NORM_GRAD || kind == NATIVE_ITEM_LOSS_GRAD ||
           kind == NATIVE_ITEM_CONV_GRAD_FILTER || kind == NATIVE_ITEM_LAYER_NORM_GRAD;
}

static const char *domain_of(const native_form *form)
{
    return is_nbits(form) ? "com.microsoft" : is_own(form) ? "tfrun" : "";
}

/* DequantizeLinear has two forms: with blocks, and without. */
static bool has_blocks(const native_form *form, const tfr_call *call)
{
    const native_item_kind kind = form->kind;
    return (kind != NATIVE_ITEM_BLOCKS && kind != NATIVE_ITEM_DEQUANTIZE) ||
           (kind == NATIVE_ITEM_BLOCKS) == (tfr_call_int(call, "block_size", 0) != 0);
}

/* The first row of each letter, counted from 1, for the rows are sorted by that. */
static uint8_t first_form[128];
static pthread_once_t forms_counted = PTHREAD_ONCE_INIT;

static void count_forms(void)
{
    size_t i = sizeof forms / sizeof forms[0];

    while (i-- > 0)
        first_form[forms[i].name[0] & 127] = (uint8_t)(i + 1);
}

const native_form *native_form_of(const tfr_call *call)
{
    const size_t n = sizeof forms / sizeof forms[0];
    size_t i;

    pthread_once(&forms_counted, count_forms);
    i = first_form[call->name[0] & 127] - (size_t)1; /* without one it is behind all */
    for (; i < n && forms[i].name[0] == call->name[0]; i++) {
        if (strcmp(forms[i].name, call->name) == 0 &&
            strcmp(domain_of(&forms[i]), call->domain) == 0 && has_blocks(&forms[i], call))
            return &forms[i];
    }
    return NULL;
}

bool native_all_float(const tfr_call *call)
{
    uint32_t i;

    for (i = 0; i < call->n_inputs; i++) {
        const tfr_operand *o = tfr_call_input(call, i);
        if (o && !native_is_float(o))
            return false;
    }
    for (i = 1; i < call->n_outputs; i++) {
        if (tfr_call_output(call, i))
            return false;
    }
    return native_is_float(tfr_call_output(call, 0));
}

/* Its form looks at the types of operands itself. */
static bool sees_types(const native_form *form)
{
    switch (form->kind) {
    case NATIVE_ITEM_PRODUCT:
        return is_nbits(form);
    case NATIVE_ITEM_BLOCKS:
    case NATIVE_ITEM_ATTENTION:
    case NATIVE_ITEM_PADDED:
    case NATIVE_ITEM_GATHER:
    case NATIVE_ITEM_CAST:
    case NATIVE_ITEM_COMPARE:
    case NATIVE_ITEM_SELECT:
    case NATIVE_ITEM_SUM:
    case NATIVE_ITEM_REDUCE:
    case NATIVE_ITEM_STRIDED:
    case NATIVE_ITEM_RANGE:
    case NATIVE_ITEM_TRANSPOSE:
    case NATIVE_ITEM_CONCAT:
    case NATIVE_ITEM_LAYER_NORM_GRAD:
    case NATIVE_ITEM_POOL:
    case NATIVE_ITEM_RESIZE:
    case NATIVE_ITEM_SCATTER:
    case NATIVE_ITEM_LOSS:
    case NATIVE_ITEM_BATCH_NORM:
    case NATIVE_ITEM_BATCH_NORM_GRAD:
    case NATIVE_ITEM_LOSS_GRAD:
    case NATIVE_ITEM_CONV_GRAD_INPUT:
    case NATIVE_ITEM_CONV_GRAD_FILTER:
    case NATIVE_ITEM_QUANTIZE:
    case NATIVE_ITEM_DEQUANTIZE:
    case NATIVE_ITEM_DYNAMIC_QUANTIZE:
        return true;
    default:
        return false;
    }
}

/* A CONV or PRODUCT of integers. */
static bool is_integer(const native_form *form)
{
    return form->sub > 0 && (form->kind == NATIVE_ITEM_CONV || form->kind == NATIVE_ITEM_PRODUCT);
}

const native_form *native_find_form(const tfr_call *call)
{
    const native_form *f = native_form_of(call);

    if (call->n_inputs > NATIVE_ITEM_INPUTS)
        return NULL;
    if (f && (sees_types(f) || is_integer(f) || native_all_float(call)) && f->ok(call))
        return f;
    f = native_find_fold(call);
    if (!f)
        f = native_find_arg(call);
    if (!f)
        f = native_find_top_k(call);
    if (!f)
        f = native_find_columns(call);
    return f ? f : native_find_elementwise(call);
}

bool native_is_native(const tfr_plugin_device *device, const tfr_call *call)
{
    return device->isa && native_find_any_form(call);
}

bool native_can_hold(const tfr_call *call, const char **why)
{
    uint32_t i;

    for (i = 0; i < call->n_outputs; i++) {
        const tfr_operand *o = tfr_call_output(call, i);
        if (o && (o->flags & TFR_OPERAND_DYNAMIC)) {
            *why = "the dims of an output are not known";
            return false;
        }
    }
    return true;
}
