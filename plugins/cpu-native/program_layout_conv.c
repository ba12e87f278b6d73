/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_layout_conv.c: the layouts of what convolutions read and make, with the items that some
 * put in front of them: zeros around images, and pixels that steps jump to.
 */
#include "program_layout.h"

#include <string.h>

/* So many vectors of outputs are computed in one pass, or nearly, over what it reads. */
enum { FEW_BLOCKS = 8 };

static int64_t max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Outputs of the convolution along an axis for each that is written. */
static int64_t window_of(const native_item *conv, int axis)
{
    return conv->codes >= 0 ? conv->pool[axis] : conv->pooled ? 2 : 1;
}

/* Rows or columns of a plane, or of a frame. */
static int64_t side_of(const native_value *v, int axis, int64_t frames)
{
    return axis == 0 ? native_frame_rows(v->dims[2], frames) : v->dims[3];
}

/* Frames that windows reach, or 0. */
static int64_t frames_of(const native_depth *d)
{
    return d->kernel ? max64((d->outs - 1) * d->stride + (d->kernel - 1) * d->dilation + 1,
                             d->size + d->pad)
                     : 0;
}

/* The last item, a PAD, reads an image with the channels last itself if a Transpose in front turns
 * that for it alone. */
static void take_turn(native_ir *ir)
{
    native_item *pad = &ir->items[ir->n_items - 1], *turn = native_only_maker(ir, pad->inputs[0]);

    if (!turn || !native_turns_channels(ir, turn, false) || pad->depth.kernel ||
        ir->values[turn->inputs[0]].last)
        return;
    pad->inputs[0] = turn->inputs[0];
    pad->transposed = true;
    memmove(turn, turn + 1, (size_t)(pad - turn) * sizeof *turn);
    ir->n_items--;
}

/* The image with zeros around it, as far as windows reach. */
static int padded(native_ir *ir, const native_item *conv)
{
    const native_value *y = &ir->values[conv->output];
    const int64_t frames = frames_of(&conv->depth);
    int64_t dims[2];
    native_item *item;
    int v, i;

    for (i = 0; i < 2; i++) {
        int64_t out = side_of(y, i, conv->depth.outs) * window_of(conv, i);
        dims[i] = max64((out - 1) * conv->stride[i] + (conv->kernel[i] - 1) * conv->dilation[i] + 1,
                        side_of(&ir->values[conv->inputs[0]], i, conv->depth.size) + conv->pad[i]);
    }
    v = native_add_value(ir, conv->inputs[0]);
    if (ir->failed)
        return 0;
    ir->values[v].dims[2] = dims[0] * (frames ? frames : 1);
    ir->values[v].dims[3] = dims[1];
    item = native_new_item(ir, NATIVE_ITEM_PAD);
    item->n_inputs = 1;
    item->inputs[0] = conv->inputs[0];
    item->output = v;
    item->pad[0] = conv->pad[0];
    item->pad[1] = conv->pad[1];
    item->depth = conv->depth;
    item->depth.outs = frames;
    take_turn(ir);
    return v;
}

void native_lay_conv(native_ir *ir, native_item *item)
{
    /* copies: the values move when there are more */
    const native_value x = ir->values[item->inputs[0]], y = ir->values[item->output];
    bool pads = item->pad[0] || item->pad[1] || item->depth.pad ||
                frames_of(&item->depth) > item->depth.size;
    int i;

    item->plain_source = item->kind == NATIVE_ITEM_CONV && item->integer < 0 && item->groups <= 1 &&
                         x.dims[1] <= NATIVE_PLAIN_CHANNELS;
    if (!x.last)
        item->inputs[0] = native_as(ir, item->inputs[0], !item->plain_source);
    for (i = 0; i < 2; i++) {
        int64_t out = side_of(&y, i, item->depth.outs) * window_of(item, i);
        pads = pads || (out - 1) * item->stride[i] + (item->kernel[i] - 1) * item->dilation[i] >=
                           side_of(&x, i, item->depth.size);
    }
    if (item->plain_source && pads) {
        item->inputs[0] = padded(ir, item);
        item->depth.size = frames_of(&item->depth);
        item->pad[0] = item->pad[1] = item->depth.pad = 0;
    }
    item->few_outs = native_has_few_outs(ir, item);
    item->residual = native_as(ir, item->residual, !item->few_outs);
    if (ir->failed)
        return;
    ir->values[item->output].blocked =
        !y.last && !item->few_outs && y.dtype != TFR_DTYPE_I32; /* sums of bytes */
    if (item->codes >= 0)
        ir->values[item->codes].blocked = true;
}

/*
 * A convolution of 1 x 1 with steps reads the pixels between them into the caches, too, once for
 * each group of its outputs: those that it needs are put together first, as means of one pixel, and
 * it has no steps then.
 */
void native_take_steps(native_ir *ir, native_item *conv)
{
    const native_value *y = &ir->values[conv->output];
    const int64_t rows = y->dims[2], columns = y->dims[3];
    native_item *item;
    int v;

    if (conv->kernel[0] * conv->kernel[1] != 1 || conv->stride[0] * conv->stride[1] == 1 ||
        conv->pad[0] || conv->pad[1] || conv->depth.kernel || conv->groups > 1 || conv->pooled ||
        conv->codes >= 0 || conv->integer >= 0 || conv->plain_source ||
        ir->values[conv->inputs[0]].last || y->dims[1] < FEW_BLOCKS * ir->device->isa->lanes ||
        !ir->values[conv->inputs[1]].known)
        return;
    v = native_add_value(ir, conv->inputs[0]);
    if (ir->failed)
        return;
    ir->values[v].dims[2] = rows;
    ir->values[v].dims[3] = columns;
    item = native_new_item(ir, NATIVE_ITEM_POOL);
    item->node = conv->node;
    item->n_inputs = 1;
    item->inputs[0] = conv->inputs[0];
    item->output = v;
    memcpy(item->stride, conv->stride, sizeof item->stride);
    item->average = item->count_padding = true;
    item->count = 1.0f;
    conv->inputs[0] = v;
    conv->stride[0] = conv->stride[1] = 1;
}

/* Elements that a row of windows takes, each with a place in memory. */
static int64_t taken(int64_t outputs, int64_t taps)
{
    const int64_t of_place = 3;

    return outputs * (taps + of_place);
}

/*
 * The maximum of a large window is that of the maxima of its rows, which the windows above and
 * below have, too: a pool along rows is put in front, and the item goes along columns.
 */
void native_part_pool(native_ir *ir, native_item *pool)
{
    const native_value *x = &ir->values[pool->inputs[0]], *y = &ir->values[pool->output];
    const int64_t rows = x->dims[2], outs = y->dims[2], columns = y->dims[3];
    const int64_t *kernel = pool->kernel;
    native_item *item;
    int v;

    if (pool->average || pool->depth.size || pool->depth.kernel || pool->integer >= 0 ||
        pool->codes >= 0 || x->dtype != TFR_DTYPE_F32 ||
        4 * (taken(rows, kernel[1]) + taken(outs, kernel[0])) >
            3 * taken(outs, kernel[0] * kernel[1]))
        return;
    v = native_add_value(ir, pool->inputs[0]);
    if (ir->failed)
        return;
    ir->values[v].dims[3] = columns;
    item = native_new_item(ir, NATIVE_ITEM_POOL);
    item->node = pool->node;
    item->n_inputs = 1;
    item->inputs[0] = pool->inputs[0];
    item->output = v;
    item->kernel[0] = item->stride[0] = item->dilation[0] = 1;
    item->kernel[1] = pool->kernel[1];
    item->stride[1] = pool->stride[1];
    item->dilation[1] = pool->dilation[1];
    item->pad[1] = pool->pad[1];
    pool->inputs[0] = v;
    pool->kernel[1] = pool->stride[1] = pool->dilation[1] = 1;
    pool->pad[1] = 0;
}

/* dY and X of a convolution, X as that reads it. */
void native_lay_conv_grad_filter(native_ir *ir, native_item *item)
{
    native_item conv = *item; /* forward */
    int dw = item->output;

    conv.kind = NATIVE_ITEM_CONV;
    conv.inputs[0] = item->inputs[1];
    conv.output = item->inputs[0] = native_as(ir, item->inputs[0], true);
    if (ir->failed)
        return;
    native_lay_conv(ir, &conv);
    item->inputs[1] = conv.inputs[0];
    item->plain_source = conv.plain_source;
    item->pad[0] = conv.pad[0];
    item->pad[1] = conv.pad[1];
    item->output = dw;
}
