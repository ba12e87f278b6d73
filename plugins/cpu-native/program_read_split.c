/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_read_split.c: nodes that are read as several items: an item for each output, or for each
 * of the steps in which one is made; and what moves elements, which such items may be.
 */
#include "program_read.h"

#include <string.h>

/* As the output's dims lie there; Slice and Split begin elsewhere. */
void native_read_strided(native_ir *ir, native_item *item, const tfr_call *call)
{
    const native_value *x = &ir->values[item->inputs[0]], *y = &ir->values[item->output];
    const int64_t *starts = tfr_call_ints(call, "starts", (uint64_t)x->rank);
    const int64_t *steps = tfr_call_ints(call, "steps", (uint64_t)x->rank);
    const bool slices = strcmp(call->name, "Slice") == 0;
    const int at = native_new_strided(ir, 1);
    native_strided from, *s;
    int d;

    item->n_inputs = 1;
    item->strided = at;
    if (at < 0)
        return;
    s = &ir->strided[at];
    native_lies_plain(x, &from);
    native_lies_plain(y, s);
    memcpy(s->to_steps, s->steps, sizeof s->steps);
    for (d = 0; d < y->rank; d++) {
        const int axis = d - (y->rank - x->rank);
        s->steps[d] = axis < 0 || (x->dims[axis] == 1 && s->dims[d] != 1)
                          ? 0
                          : from.steps[axis] * (slices ? steps[axis] : 1);
        if (slices)
            s->offset += starts[axis] * from.steps[axis];
    }
}

/* Outputs of Split follow each other along the axis: an item for each. */
void native_read_split(native_ir *ir, int at, const tfr_program_node *node)
{
    const native_item first = ir->items[at];
    const native_value *x = &ir->values[first.inputs[0]];
    const int64_t given = tfr_call_int(node->call, "axis", 0);
    const int axis = (int)(given < 0 ? given + x->rank : given);
    int64_t place = 0, step;
    native_strided from;
    uint32_t k;

    if (ir->failed)
        return;
    native_lies_plain(x, &from);
    step = from.steps[axis];
    for (k = 0; k < node->call->n_outputs && !ir->failed; k++) {
        native_item *item = k == 0 ? &ir->items[at] : native_new_item(ir, NATIVE_ITEM_STRIDED);
        if (ir->failed)
            return;
        *item = first;
        item->output = node->outputs[k];
        native_read_strided(ir, item, node->call);
        if (!ir->failed)
            ir->strided[item->strided].offset = place * step;
        place += ir->values[node->outputs[k]].dims[axis];
    }
}

/* One known index: that part of the data, with other dims, so that readers find it there. */
void native_read_index(native_ir *ir, int at)
{
    const native_item gather = ir->items[at];
    const native_value *index = &ir->values[gather.inputs[1]];
    const bool wide = index->dtype == TFR_DTYPE_I64;
    native_value x = ir->values[gather.inputs[0]], part = x;
    native_strided from, *s;
    int64_t place = 0;
    int32_t narrow = 0;
    native_item *item;

    if (x.known || x.dtype != TFR_DTYPE_F32 || x.rank > NATIVE_STRIDED_RANK ||
        native_elements(&x) == 0 || !index->known || native_elements(index) != 1 ||
        (!wide && index->dtype != TFR_DTYPE_I32))
        return;
    memcpy(wide ? (void *)&place : &narrow, index->known, wide ? sizeof place : sizeof narrow);
    place += narrow;
    place += place < 0 ? x.dims[gather.axis] : 0;
    if (place < 0 || place >= x.dims[gather.axis])
        return;
    part.dims[gather.axis] = 1;
    ir->items[at].kind = NATIVE_ITEM_STRIDED;
    ir->items[at].n_inputs = 1;
    ir->items[at].output = native_new_value(ir, &part);
    ir->items[at].strided = native_new_strided(ir, 1);
    item = native_new_item(ir, NATIVE_ITEM_VIEW);
    if (ir->failed)
        return;
    s = &ir->strided[ir->items[at].strided];
    native_lies_plain(&x, &from);
    native_lies_plain(&part, s);
    memcpy(s->to_steps, s->steps, sizeof s->steps);
    memcpy(s->steps, from.steps, sizeof s->steps);
    s->offset = place * from.steps[gather.axis];
    item->node = gather.node;
    item->call = gather.call;
    item->inputs[0] = ir->items[at].output;
    item->n_inputs = 1;
    item->output = gather.output;
}

/* ---- training, and further outputs ---- */

/* The gradient of X, and one more item for that of the scale. */
void native_read_layer_norm_grad(native_ir *ir, int at, int output)
{
    native_item *item = &ir->items[at], *sums;

    item->epsilon = tfr_call_float(item->call, "epsilon", 1e-5f);
    item->rms = tfr_call_int(item->call, "rms", 0) != 0;
    if (output < 0)
        return;
    sums = native_new_item(ir, NATIVE_ITEM_LAYER_NORM_SUMS);
    if (ir->failed)
        return;
    *sums = ir->items[at];
    sums->kind = NATIVE_ITEM_LAYER_NORM_SUMS;
    sums->output = output;
}

/* What MaxPool tells beside the maxima. */
void native_read_indices(native_ir *ir, int at, int output)
{
    native_item *item = native_new_item(ir, NATIVE_ITEM_INDICES);

    if (ir->failed)
        return;
    *item = ir->items[at];
    item->kind = NATIVE_ITEM_INDICES;
    item->output = output;
}

/* Two items: the logarithms of softmax, which are an output or not, and their mean at the labels.
 */
void native_read_loss(native_ir *ir, int at, int log_prob)
{
    native_item *loss = native_new_item(ir, NATIVE_ITEM_LOSS), *item;

    if (ir->failed)
        return;
    item = &ir->items[at];
    *loss = *item;
    if (log_prob < 0) {
        const native_value copy = ir->values[item->inputs[0]];
        log_prob = native_new_value(ir, &copy);
    }
    loss->inputs[0] = log_prob;
    loss->n_inputs = 2;
    item->kind = NATIVE_ITEM_LOG_SOFTMAX;
    item->n_inputs = 1;
    item->output = log_prob;
}

/* An output of a node, or a value that nobody else reads. */
static int output_or_new(native_ir *ir, const tfr_program_node *node, uint32_t i, int like)
{
    const native_value copy = ir->values[like];

    return i < node->call->n_outputs && node->outputs[i] >= 0 ? node->outputs[i]
                                                              : native_new_value(ir, &copy);
}

/* Two items: the moments of the batch, and what is made with them. */
void native_read_batch_norm(native_ir *ir, int at, const tfr_program_node *node)
{
    native_item *norm = native_new_item(ir, NATIVE_ITEM_BATCH_NORM), *moments;
    int mean, deviation, i;

    if (ir->failed)
        return;
    mean = output_or_new(ir, node, 3, node->inputs[3]);
    deviation = output_or_new(ir, node, 4, node->inputs[4]);
    moments = &ir->items[at];
    *norm = *moments;
    norm->inputs[1] = mean;
    norm->inputs[2] = deviation;
    norm->inputs[3] = node->inputs[1];
    norm->inputs[4] = node->inputs[2];
    moments->kind = NATIVE_ITEM_MOMENTS;
    moments->n_inputs = 3;
    moments->inputs[1] = node->inputs[3];
    moments->inputs[2] = node->inputs[4];
    moments->output = mean;
    moments->more[0] = deviation;
    for (i = 1; i < 3; i++)
        moments->more[i] = (uint32_t)i < node->call->n_outputs ? node->outputs[i] : -1;
    moments->epsilon = tfr_call_float(node->call, "epsilon", 1e-5f);
    moments->alpha = tfr_call_float(node->call, "momentum", 0.9f);
    moments->unbiased = tfr_call_int(node->call, "unbiased", 0) != 0;
}

/* Two items: the sums over the batch, and the gradient of x with them. Inputs dY, X, mean, inverse
 * deviation, scale, shift where it is masked; then for the second the sums. */
void native_read_batch_norm_grad(native_ir *ir, int at, const tfr_program_node *node)
{
    native_item *grad = native_new_item(ir, NATIVE_ITEM_BATCH_NORM_GRAD), *sums;
    int of_scale, of_shift;

    if (ir->failed)
        return;
    of_scale = output_or_new(ir, node, 1, node->inputs[2]);
    of_shift = output_or_new(ir, node, 2, node->inputs[2]);
    sums = &ir->items[at];
    sums->kind = NATIVE_ITEM_BATCH_NORM_SUMS;
    sums->n_inputs = 6;
    sums->inputs[2] = node->inputs[3];
    sums->inputs[3] = node->inputs[4];
    sums->inputs[4] = node->inputs[2];
    sums->inputs[5] = -1;
    *grad = *sums;
    grad->kind = NATIVE_ITEM_BATCH_NORM_GRAD;
    grad->n_inputs = 8;
    grad->inputs[6] = of_scale;
    grad->inputs[7] = of_shift;
    sums->output = of_scale;
    sums->more[0] = of_shift;
}
