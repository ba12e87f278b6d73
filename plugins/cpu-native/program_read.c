/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_read.c: the nodes of a group as items over values. Nodes that become several items are
 * read further in program_read_split.c, or where the steps of their op are made.
 */
#include "program_integer.h"
#include "program_read.h"

#include <math.h>
#include <string.h>

static void read_values(native_ir *ir)
{
    const tfr_program_graph *g = ir->graph;
    uint32_t i;

    for (i = 0; i < g->n_values && !ir->failed; i++) {
        const tfr_operand *o = native_graph_value(g, (int)i)->operand;
        native_value v;
        int at;
        memset(&v, 0, sizeof v);
        v.rank = o->rank;
        v.dtype = o->dtype;
        memcpy(v.dims, o->dims, (size_t)o->rank * sizeof *v.dims);
        at = native_new_value(ir, &v);
        if (ir->failed)
            return;
        ir->values[at].known = o->data;
        if (o->flags & TFR_OPERAND_UNALIGNED)
            ir->values[at].unaligned = o->data;
    }
    if (ir->failed)
        return;
    for (i = 0; i < g->n_inputs; i++)
        ir->values[g->inputs[i]].arg = (int)i;
    for (i = 0; i < g->n_outputs; i++) {
        ir->values[g->outputs[i]].arg = (int)(g->n_inputs + i);
        ir->values[g->outputs[i]].output = true;
    }
}

static void read_act(native_item *item, const tfr_call *call, int kind)
{
    const tfr_operand *low = tfr_call_input(call, 1), *high = tfr_call_input(call, 2);
    native_act *act = &item->act;

    act->kind = (native_act_kind)kind;
    item->n_inputs = 1;
    if (strcmp(call->name, "Clip") == 0) {
        act->a = low ? native_known(low) : -INFINITY;
        act->b = high ? native_known(high) : INFINITY;
    } else if (kind == NATIVE_ACT_CLIP) {
        act->b = INFINITY;
    } else if (kind == NATIVE_ACT_LEAKY) {
        act->a = tfr_call_float(call, "alpha", 0.01f);
    } else if (kind == NATIVE_ACT_LINEAR) {
        act->a = -1.0f;
        act->b = -0.0f;
    } else if (kind == NATIVE_ACT_HARD_SIGMOID) {
        act->a = tfr_call_float(call, "alpha", 0.2f);
        act->b = tfr_call_float(call, "beta", 0.5f);
    } else if (kind == NATIVE_ACT_HARD_SWISH) {
        act->a = 1.0f / 6.0f;
        act->b = 0.5f;
    } else if (kind == NATIVE_ACT_SHRINK) {
        act->a = tfr_call_float(call, "lambd", 0.5f);
        act->b = tfr_call_float(call, "bias", 0.0f);
    } else {
        act->a = tfr_call_float(call, "alpha", 1.0f);
        act->b = tfr_call_float(call, "gamma", 1.0f); /* Selu's */
    }
    if (kind == NATIVE_ACT_GELU && strcmp(tfr_call_string(call, "approximate", ""), "tanh") == 0)
        act->kind = NATIVE_ACT_GELU_TANH;
}

static void read_window(native_item *item, const tfr_call *call, const int64_t *kernel)
{
    const int64_t *strides = tfr_call_ints(call, "strides", 2);
    const int64_t *dilations = tfr_call_ints(call, "dilations", 2);
    const int64_t *pads = tfr_call_ints(call, "pads", 4);
    int i;

    for (i = 0; i < 2; i++) {
        item->kernel[i] = kernel[i];
        item->stride[i] = strides ? strides[i] : 1;
        item->dilation[i] = dilations ? dilations[i] : 1;
        item->pad[i] = pads ? pads[i] : 0;
    }
    item->count = (float)(kernel[0] * kernel[1]);
}

/* A window over one axis is the second of two (program_lift.c). */
static void read_line(native_item *item, const tfr_call *call, int64_t kernel)
{
    const int64_t *strides = tfr_call_ints(call, "strides", 1);
    const int64_t *dilations = tfr_call_ints(call, "dilations", 1);
    const int64_t *pads = tfr_call_ints(call, "pads", 2);

    item->kernel[1] = kernel;
    item->stride[1] = strides ? strides[0] : 1;
    item->dilation[1] = dilations ? dilations[0] : 1;
    item->pad[1] = pads ? pads[0] : 0;
    item->count = (float)kernel;
}

/* A window over three axes is one over two, and its depth (program_lift.c). */
static void read_cube(native_item *item, const tfr_call *call, const int64_t *kernel)
{
    const int64_t *strides = tfr_call_ints(call, "strides", 3);
    const int64_t *dilations = tfr_call_ints(call, "dilations", 3);
    const int64_t *pads = tfr_call_ints(call, "pads", 6);
    int i;

    for (i = 0; i < 2; i++) {
        item->kernel[i] = kernel[1 + i];
        item->stride[i] = strides ? strides[1 + i] : 1;
        item->dilation[i] = dilations ? dilations[1 + i] : 1;
        item->pad[i] = pads ? pads[1 + i] : 0;
    }
    item->count = (float)(kernel[1] * kernel[2]);
    item->depth = (native_depth){.kernel = kernel[0],
                                 .stride = strides ? strides[0] : 1,
                                 .dilation = dilations ? dilations[0] : 1,
                                 .pad = pads ? pads[0] : 0,
                                 .size = tfr_call_input(call, 0)->dims[2],
                                 .outs = tfr_call_output(call, 0)->dims[2]};
}

static void read_windows(native_item *item, const tfr_call *call, const int64_t *kernel)
{
    const int rank = tfr_call_input(call, 0)->rank;

    if (rank == 3)
        read_line(item, call, kernel[0]);
    else if (rank == 5)
        read_cube(item, call, kernel);
    else
        read_window(item, call, kernel);
}

static void read_conv(native_item *item, const tfr_call *call, uint32_t weights)
{
    if (weights == 1)
        read_windows(item, call, tfr_call_input(call, 1)->dims + 2);
    else
        read_window(item, call, tfr_call_input(call, weights)->dims + 2);
    item->groups = tfr_call_int(call, "group", 1);
    if (item->groups > 1 && tfr_call_input(call, 0)->dims[1] == item->groups) {
        item->kind = NATIVE_ITEM_DEPTHWISE;
        item->groups = 1;
    }
    memcpy(item->whole, item->kernel, sizeof item->whole);
    if (item->kind != NATIVE_ITEM_CONV ||
        !native_trim_window(call, item->first, item->kernel, item->pad))
        item->whole[0] = item->whole[1] = 0;
}

static void read_product(native_item *item, const tfr_call *call)
{
    const tfr_operand *b = tfr_call_input(call, 1);

    if (strcmp(call->name, "MatMulNBits") == 0) {
        item->quantized = call;
        item->inputs[2] = item->n_inputs > 5 ? item->inputs[5] : -1; /* the bias */
        item->n_inputs = 3;
    } else if (strcmp(call->name, "Gemm") == 0 && tfr_call_int(call, "transA", 0)) {
        item->kind = NATIVE_ITEM_PRODUCT_GRAD;
        item->n_inputs = 2;
    } else if (strcmp(call->name, "Gemm") == 0) {
        item->transposed = tfr_call_int(call, "transB", 0) != 0;
        item->alpha = tfr_call_float(call, "alpha", 1.0f);
        item->beta = tfr_call_float(call, "beta", 1.0f);
        if (item->beta == 0.0f && item->n_inputs > 2)
            item->inputs[2] = -1;
    } else if (b->rank > 2 && (!b->data || strcmp(call->name, "MatMul") == 0)) {
        item->kind = NATIVE_ITEM_BATCHED_PRODUCT;
    }
}

static void read_transpose(native_item *item, const tfr_call *call)
{
    int rank = tfr_call_input(call, 0)->rank, i;
    const int64_t *perm = tfr_call_ints(call, "perm", (uint64_t)rank);

    for (i = 0; i < rank; i++)
        item->perm[i] = perm ? (int)perm[i] : rank - 1 - i;
}

/* Input 1 is the shape, which the output has. */
static void read_sum(native_item *item, const tfr_call *call)
{
    const tfr_attr *axes = tfr_call_attr(call, "axes");
    uint64_t i;

    item->n_inputs = 1;
    for (i = 0; axes && i < axes->n; i++)
        item->axes |= 1u << axes->ints[i];
}

/* BatchNormalization: X, scale, shift, mean, variance. */
static void read_normalization(native_item *item, const tfr_call *call)
{
    const int scale = item->inputs[1], shift = item->inputs[2];

    item->inputs[1] = item->inputs[3];
    item->inputs[2] = item->inputs[4];
    item->inputs[3] = scale;
    item->inputs[4] = shift;
    item->epsilon = tfr_call_float(call, "epsilon", 1e-5f);
    item->of_variance = true;
}

/* PRelu by one known number is LeakyRelu, which what comes before takes over. */
static void read_binary(const native_ir *ir, native_item *item, int kind)
{
    const native_value *y = &ir->values[item->inputs[1]];

    item->binary = (native_binary_kind)kind;
    if (item->binary != NATIVE_PRELU || !y->known || native_elements(y) != 1)
        return;
    item->kind = NATIVE_ITEM_ACT;
    item->act.kind = NATIVE_ACT_LEAKY;
    memcpy(&item->act.a, y->known, sizeof item->act.a);
    item->n_inputs = 1;
}

/* x^2 by a constant for all elements, which layers have between them, is known as such. */
static void read_square(const native_ir *ir, native_item *item, const tfr_call *call)
{
    const native_value *x = &ir->values[item->inputs[0]];
    const native_value *power = item->n_inputs > 1 ? &ir->values[item->inputs[1]] : NULL;

    if (strcmp(call->name, "Pow") != 0 || !power || !power->known ||
        power->dtype != TFR_DTYPE_F32 || x->dtype != TFR_DTYPE_F32 || native_elements(power) != 1 ||
        power->rank > x->rank || native_float_at(power->known, 0) != 2.0f)
        return;
    item->kind = NATIVE_ITEM_ACT;
    item->act.kind = NATIVE_ACT_SQUARE;
    item->n_inputs = 1;
}

static void read_form(native_ir *ir, native_item *item, const tfr_call *call,
                      const native_form *form)
{
    switch (form->kind) {
    case NATIVE_ITEM_CONV:
        read_conv(item, call, form->sub == 1 ? 3 : 1);
        break;
    case NATIVE_ITEM_POOL:
        item->average = call->name[0] == 'A';
        item->count_padding = tfr_call_int(call, "count_include_pad", 0) != 0;
        read_windows(
            item, call,
            tfr_call_ints(call, "kernel_shape", (uint64_t)(tfr_call_input(call, 0)->rank - 2)));
        break;
    case NATIVE_ITEM_ACT:
        read_act(item, call, form->sub);
        break;
    case NATIVE_ITEM_BINARY:
        read_binary(ir, item, form->sub);
        break;
    case NATIVE_ITEM_PRODUCT:
        if (form->sub == 0 || form->sub == 3) /* the others are of integers */
            read_product(item, call);
        break;
    case NATIVE_ITEM_LAYER_NORM:
        item->epsilon = tfr_call_float(call, "epsilon", 1e-5f);
        break;
    case NATIVE_ITEM_TRANSPOSE:
        read_transpose(item, call);
        break;
    case NATIVE_ITEM_FOLD:
        item->n_inputs = 1;
        item->axes = native_fold_axes(call);
        break;
    case NATIVE_ITEM_COLUMN_SOFTMAX:
        item->axes = 1u << native_axis(call, -1);
        break;
    case NATIVE_ITEM_REDUCE:
        item->mean = strcmp(call->name, "ReduceMean") == 0;
        read_sum(item, call);
        break;
    case NATIVE_ITEM_SUM:
        read_sum(item, call);
        break;
    case NATIVE_ITEM_STRIDED:
        native_read_strided(ir, item, call);
        break;
    case NATIVE_ITEM_ARG:
        item->axes = native_axis(call, 0) == 0;
        break;
    case NATIVE_ITEM_DYNAMIC_QUANTIZE:
        item->quant = (native_quant){.dtype = TFR_DTYPE_U8, .n = 1};
        item->n_inputs = 1;
        break;
    case NATIVE_ITEM_RANGE:
    case NATIVE_ITEM_TOP_K:
    case NATIVE_ITEM_CAST:
        item->n_inputs = 1;
        break;
    case NATIVE_ITEM_RESIZE:
        item->n_inputs = 1;
        if (tfr_call_input(call, 0)->rank == 5)
            item->depth = (native_depth){.size = tfr_call_input(call, 0)->dims[2],
                                         .outs = tfr_call_output(call, 0)->dims[2]};
        break;
    case NATIVE_ITEM_ELEMENTWISE:
        item->n_inputs = strcmp(call->name, "CastLike") == 0 ? 1 : item->n_inputs;
        read_square(ir, item, call);
        break;
    case NATIVE_ITEM_SCATTER:
        item->n_inputs = 2;
        break;
    case NATIVE_ITEM_LOSS_GRAD:
        item->n_inputs = 3;
        break;
    case NATIVE_ITEM_CONV_GRAD_INPUT:
        item->n_inputs = form->sub ? item->n_inputs : 2;
        item->groups = form->sub ? tfr_call_int(call, "group", 1) : 1;
        read_windows(item, call, tfr_call_input(call, 1)->dims + 2);
        break;
    case NATIVE_ITEM_CONV_GRAD_FILTER:
        item->n_inputs = 2;
        read_window(item, call, tfr_call_output(call, 0)->dims + 2);
        break;
    case NATIVE_ITEM_BATCH_NORM:
        if (form->sub)
            read_normalization(item, call);
        break;
    case NATIVE_ITEM_PADDED: /* where its pads are is known */
        item->inputs[1] = item->n_inputs > 2 ? item->inputs[2] : -1;
        item->n_inputs = 2;
        for (int d = 0; d < TFR_MAX_RANK; d++)
            item->perm[d] = d;
        break;
    case NATIVE_ITEM_GATHER:
        item->axis = native_gather_axis(call);
        break;
    case NATIVE_ITEM_CONCAT:
        item->axis = (int)tfr_call_int(call, "axis", 0);
        break;
    case NATIVE_ITEM_QUANTIZE:
    case NATIVE_ITEM_DEQUANTIZE:
        native_read_quantized(ir, item);
        break;
    default:
        break;
    }
}

static int32_t read_node(native_ir *ir, int i, tfr_err *err)
{
    const tfr_program_node *node = native_graph_node(ir->graph, i);
    const tfr_call *call = node->call;
    const native_form *form = node->flags & TFR_NODE_VIEW ? NULL : native_find_form(call);
    native_item *item;
    int k;

    if (!form && !(node->flags & TFR_NODE_VIEW))
        return tfr_fail(err, TFR_EUNSUPPORTED, "programs do not know this form of %s", call->name);
    item = native_new_item(ir, form ? form->kind : NATIVE_ITEM_VIEW);
    item->node = ir->origin ? ir->origin[i] : i;
    item->call = call;
    item->output = node->outputs[0];
    item->n_inputs = form ? (int)call->n_inputs : 1;
    for (k = 0; k < item->n_inputs; k++)
        item->inputs[k] = node->inputs[k];
    if (form && !ir->failed)
        read_form(ir, item, call, form);
    if (form && call->name[0] == 'Q' && form->kind != NATIVE_ITEM_QUANTIZE && !ir->failed)
        native_read_qlinear(ir, ir->n_items - 1);
    if (form && form->sub == 2 && !ir->failed &&
        (form->kind == NATIVE_ITEM_PRODUCT || form->kind == NATIVE_ITEM_CONV))
        native_read_integer_sums(ir, ir->n_items - 1);
    for (k = 0; form && form->kind == NATIVE_ITEM_DYNAMIC_QUANTIZE && !ir->failed && k < 2; k++)
        item->more[k] = (int)node->outputs[1 + k];
    if (form && item->kind == NATIVE_ITEM_DEPTHWISE && !ir->failed)
        native_repeat_channels(ir, ir->n_items - 1);
    if (form && form->kind == NATIVE_ITEM_STRIDED && call->n_outputs > 1 && !ir->failed)
        native_read_split(ir, ir->n_items - 1, node);
    if (form && form->kind == NATIVE_ITEM_GATHER && !ir->failed)
        native_read_index(ir, ir->n_items - 1);
    if (form && form->kind == NATIVE_ITEM_ATTENTION && !ir->failed)
        native_read_attention(ir, ir->n_items - 1, node);
    if (form && form->kind == NATIVE_ITEM_BATCHED_PRODUCT && !ir->failed)
        native_read_einsum(ir, ir->n_items - 1);
    if (form && form->kind == NATIVE_ITEM_LAYER_NORM_GRAD && !ir->failed)
        native_read_layer_norm_grad(ir, ir->n_items - 1,
                                    call->n_outputs > 1 ? (int)node->outputs[1] : -1);
    if (form && form->kind == NATIVE_ITEM_LOSS && !ir->failed)
        native_read_loss(ir, ir->n_items - 1, call->n_outputs > 1 ? (int)node->outputs[1] : -1);
    if (form && form->kind == NATIVE_ITEM_BATCH_NORM && form->sub == 0 && !ir->failed)
        native_read_batch_norm(ir, ir->n_items - 1, node);
    if (form && form->kind == NATIVE_ITEM_BATCH_NORM_GRAD && !ir->failed)
        native_read_batch_norm_grad(ir, ir->n_items - 1, node);
    if (form && form->kind == NATIVE_ITEM_TOP_K && call->n_outputs > 1)
        item->more[0] = (int)node->outputs[1];
    if (form && form->kind == NATIVE_ITEM_POOL && call->n_outputs > 1 && node->outputs[1] >= 0)
        native_read_indices(ir, ir->n_items - 1, node->outputs[1]);
    return TFR_OK;
}

int32_t native_read(native_ir *ir, tfr_err *err)
{
    int32_t status = TFR_OK;
    uint32_t i;

    read_values(ir);
    for (i = 0; i < ir->graph->n_nodes && status == TFR_OK && !ir->failed; i++)
        status = read_node(ir, (int)i, err);
    if (status == TFR_OK && !ir->failed)
        native_clean_images(ir);
    if (status == TFR_OK && !ir->failed)
        native_lift(ir);
    if (ir->failed)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a program of %u nodes", ir->graph->n_nodes);
    return status;
}
