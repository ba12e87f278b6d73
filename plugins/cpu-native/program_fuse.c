/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_fuse.c: items that take over what follows them: a convolution or product its activation,
 * the sum with a residual, a maximum over 2 x 2. A follower that went is an item NONE, and the item
 * writes the follower's output.
 */
#include "program.h"

#include <math.h>
#include <string.h>

/* The only reader of an item's output, or NULL. */
static native_item *follower(const native_ir *ir, int i)
{
    return native_only_reader(ir, ir->items[i].output);
}

static bool same_dims(const native_value *a, const native_value *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

static void take(native_ir *ir, int i, native_item *next)
{
    ir->items[i].output = next->output;
    next->kind = NATIVE_ITEM_NONE;
    ir->n_fused++;
}

/*
 * An item runs where its follower stood once it needs what is made in between: it moves there.
 * Items between do not read it, for the follower was the only one.
 */
static void move_to(native_ir *ir, int i, int j)
{
    native_item item = ir->items[i];

    memmove(&ir->items[i], &ir->items[i + 1], (size_t)(j - i) * sizeof item);
    ir->items[j] = item;
}

static bool sums(native_item_kind kind)
{
    return kind == NATIVE_ITEM_CONV || kind == NATIVE_ITEM_DEPTHWISE ||
           kind == NATIVE_ITEM_PRODUCT || kind == NATIVE_ITEM_BATCH_NORM ||
           kind == NATIVE_ITEM_CONV_GRAD_INPUT;
}

static bool has_act(const native_item *item)
{
    return item->act.kind != NATIVE_ACT_NONE;
}

/* y = sum + residual, both of the shape of y. */
static bool take_residual(native_ir *ir, int i)
{
    native_item *item = &ir->items[i], *next = follower(ir, i), *made;
    int other;

    if (!next || next->kind != NATIVE_ITEM_BINARY || next->binary != NATIVE_ADD ||
        item->residual >= 0 || has_act(item) || item->pooled ||
        (item->integer >= 0 && item->kind != NATIVE_ITEM_PRODUCT))
        return false;
    other = next->inputs[next->inputs[0] == item->output];
    if (other == item->output || ir->values[other].known ||
        !same_dims(&ir->values[other], &ir->values[next->output]) ||
        !same_dims(&ir->values[item->output], &ir->values[next->output]))
        return false;
    item->residual = other;
    take(ir, i, next);
    made = native_maker(ir, other);
    if (made && made > &ir->items[i])
        move_to(ir, i, (int)(next - ir->items));
    return true;
}

/* These make numbers of NaN, by which convolutions in groups know what to compute again. */
static bool drops_nan(const native_act *act)
{
    return act->kind == NATIVE_ACT_THRESHOLD || act->kind == NATIVE_ACT_SHRINK;
}

/* Sums of bytes that become float32 in blocks, if nothing quantizes them there. */
static bool makes_floats(const native_ir *ir, const native_item *item)
{
    return (item->kind == NATIVE_ITEM_CONV || item->kind == NATIVE_ITEM_DEPTHWISE) &&
           ir->values[item->output].dtype == TFR_DTYPE_F32;
}

static bool can_take_act(const native_ir *ir, const native_item *item, const native_item *next)
{
    if (!next || next->kind != NATIVE_ITEM_ACT || has_act(item) ||
        (item->groups > 1 && drops_nan(&next->act)))
        return false;
    if ((item->pooled || (item->integer >= 0 && !makes_floats(ir, item))) &&
        next->act.kind != NATIVE_ACT_CLIP)
        return false;
    return true;
}

static bool take_act(native_ir *ir, int i)
{
    native_item *item = &ir->items[i], *next = follower(ir, i);

    if (!can_take_act(ir, item, next))
        return false;
    item->act = next->act;
    take(ir, i, next);
    return true;
}

/* Behind what several items make that is put together: each has it. */
static bool take_act_of_parts(native_ir *ir, int i)
{
    native_item *parts = &ir->items[i], *next = follower(ir, i);
    int k;

    if (!next || next->kind != NATIVE_ITEM_ACT || parts->integer >= 0)
        return false;
    for (k = 0; k < parts->n_inputs; k++) {
        const native_item *made = native_only_maker(ir, parts->inputs[k]);
        if (!made || !sums(made->kind) || !can_take_act(ir, made, next))
            return false;
    }
    for (k = 0; k < parts->n_inputs; k++)
        native_only_maker(ir, parts->inputs[k])->act = next->act;
    take(ir, i, next);
    return true;
}

/* Behind a view of an image as rows. */
static bool take_act_of_view(native_ir *ir, int i)
{
    native_item *item = &ir->items[i], *view = follower(ir, i), *next;

    if (!view || view->kind != NATIVE_ITEM_VIEW ||
        (item->kind != NATIVE_ITEM_CONV && item->kind != NATIVE_ITEM_DEPTHWISE))
        return false;
    next = follower(ir, (int)(view - ir->items));
    if (!can_take_act(ir, item, next))
        return false;
    item->act = next->act;
    take(ir, (int)(view - ir->items), next);
    return true;
}

/* Runs functions over what it has stored, whatever they are. */
static bool takes_affine(native_item_kind kind)
{
    return kind == NATIVE_ITEM_ACT || kind == NATIVE_ITEM_CONV || kind == NATIVE_ITEM_DEPTHWISE ||
           kind == NATIVE_ITEM_BATCH_NORM;
}

/* Multiples and sums with one number, before an activation and after it. */
static bool take_affine(native_ir *ir, int i)
{
    native_item *item = &ir->items[i], *next = follower(ir, i);
    native_act act, both;
    int operand = 0;

    if (!next || !takes_affine(item->kind) || item->pooled || item->integer >= 0)
        return false;
    if (next->kind == NATIVE_ITEM_ACT)
        act = next->act;
    else if (!native_is_linear(ir, next, &act, &operand) || has_act(next))
        return false;
    if (next->inputs[operand] != item->output || (item->groups > 1 && drops_nan(&act)) ||
        !same_dims(&ir->values[item->output], &ir->values[next->output]) ||
        !native_compose_acts(&item->act, &act, &both))
        return false;
    item->act = both;
    take(ir, i, next);
    return true;
}

/*
 * A maximum over windows of 2 x 2 that do not overlap, after a convolution: outputs that no window
 * holds are not computed.
 */
static bool take_pool(native_ir *ir, int i)
{
    native_item *item = &ir->items[i], *next = follower(ir, i);
    const native_value *y;

    if (!next || item->kind != NATIVE_ITEM_CONV || next->kind != NATIVE_ITEM_POOL ||
        next->average || next->depth.size || item->residual >= 0 || item->pooled ||
        item->integer >= 0 || item->groups > 1)
        return false;
    if (has_act(item) && item->act.kind != NATIVE_ACT_CLIP)
        return false;
    y = &ir->values[next->output];
    if (next->kernel[0] != 2 || next->kernel[1] != 2 || next->stride[0] != 2 ||
        next->stride[1] != 2 || next->pad[0] || next->pad[1] || next->dilation[0] != 1 ||
        next->dilation[1] != 1 || y->dims[2] * 2 > ir->values[item->output].dims[2] ||
        y->dims[3] * 2 > ir->values[item->output].dims[3])
        return false;
    item->pooled = true;
    take(ir, i, next);
    return true;
}

/* x * sigmoid(x) is Swish; x / 6 clip... is left as it is. */
static bool take_swish(native_ir *ir, int i)
{
    native_item *item = &ir->items[i], *next = follower(ir, i);

    if (item->kind != NATIVE_ITEM_ACT || !next || next->kind != NATIVE_ITEM_BINARY ||
        next->binary != NATIVE_MUL)
        return false;
    if (item->act.kind != NATIVE_ACT_SIGMOID ||
        next->inputs[next->inputs[0] == item->output] != item->inputs[0])
        return false;
    item->act.kind = NATIVE_ACT_SWISH;
    item->act.a = 1.0f;
    take(ir, i, next);
    return true;
}

/* A constant, or in training what the program is given. */
static bool can_be_bias(const native_ir *ir, const native_item *product, const native_value *v)
{
    return v->known || (!ir->values[product->inputs[1]].known && v->arg >= 0 && !v->output);
}

/* A vector added over the last dim of a product is its bias. */
static bool take_bias(native_ir *ir, int i)
{
    native_item *item = &ir->items[i], *next = follower(ir, i);
    const native_value *v, *y;
    int other;

    if (item->kind != NATIVE_ITEM_PRODUCT || !next || next->kind != NATIVE_ITEM_BINARY ||
        next->binary != NATIVE_ADD || item->residual >= 0 || has_act(item) ||
        (item->n_inputs > 2 && item->inputs[2] >= 0))
        return false;
    other = next->inputs[next->inputs[0] == item->output];
    v = &ir->values[other];
    y = &ir->values[next->output];
    if (!can_be_bias(ir, item, v) || v->rank < 1 || !same_dims(y, &ir->values[item->output]) ||
        v->dims[v->rank - 1] != y->dims[y->rank - 1] || native_elements(v) != v->dims[v->rank - 1])
        return false;
    item->inputs[2] = other;
    item->n_inputs = item->n_inputs < 3 ? 3 : item->n_inputs;
    item->beta = 1.0f;
    take(ir, i, next);
    return true;
}

/* One of what follows item i becomes a part of it. */
static bool take_more(native_ir *ir, int i, bool trains)
{
    const native_item_kind kind = ir->items[i].kind;

    if (kind == NATIVE_ITEM_ACT && take_swish(ir, i))
        return true;
    if (sums(kind) &&
        (take_bias(ir, i) || take_act(ir, i) || take_pool(ir, i) || take_residual(ir, i)))
        return true;
    if (kind == NATIVE_ITEM_CONCAT)
        return !trains && take_act_of_parts(ir, i);
    return !trains && (take_affine(ir, i) || take_act_of_view(ir, i));
}

void native_fuse(native_ir *ir)
{
    const bool trains = native_wants_stages(ir);
    int i;

    native_count_readers(ir);
    for (i = 0; i < ir->n_items; i++) {
        while (take_more(ir, i, trains))
            native_count_readers(ir);
    }
    native_fuse_mixes(ir);
    native_fuse_attention(ir);
}
