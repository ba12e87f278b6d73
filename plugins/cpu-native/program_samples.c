/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_samples.c: which values hold one sample after the other, so that threads can take some of
 * the samples each through all steps.
 */
#include "program.h"

static bool batched(const native_ir *ir, int value)
{
    return value >= 0 && ir->values[value].batched;
}

/* Samples with room behind each do not lie one after the other. */
static bool has_room(const native_ir *ir, int value)
{
    return ir->values[value].appended && ir->values[value].dims[0] > 1;
}

/* Only the first operand goes by samples: the others may have as many rows by chance. */
static bool first_alone(const native_ir *ir, const native_item *item)
{
    int i;
    for (i = 1; i < item->n_inputs; i++)
        if (batched(ir, item->inputs[i]))
            return false;
    return item->n_inputs > 0 && batched(ir, item->inputs[0]);
}

/* Each sample of the output comes from those of the inputs. */
static bool moves_samples(const native_ir *ir, const native_item *item)
{
    const native_value *y = &ir->values[item->output];
    int i;

    for (i = 0; i < item->n_inputs; i++) {
        const native_strided *s = &ir->strided[item->strided + i];
        if (!batched(ir, item->inputs[i]) || s->dims[0] != y->dims[0] ||
            s->to_steps[0] != native_elements(y) / y->dims[0] ||
            !native_keeps_samples(&ir->values[item->inputs[i]], s))
            return false;
    }
    return true;
}

bool native_is_separable(const native_ir *ir, const native_item *item)
{
    const native_value *y = &ir->values[item->output];
    bool ok = y->rank > 0 && y->dims[0] % ir->samples == 0;
    int i;

    switch (item->kind) {
    case NATIVE_ITEM_SOFTMAX:
    case NATIVE_ITEM_LOG_SOFTMAX:
    case NATIVE_ITEM_LAYER_NORM:
        return ok && y->rank > 1 && first_alone(ir, item);
    case NATIVE_ITEM_PRODUCT: /* integers that units would read again from memory */
        return ok && first_alone(ir, item) && !item->quantized;
    case NATIVE_ITEM_QUANTIZE:
    case NATIVE_ITEM_DEQUANTIZE:
        return ok && first_alone(ir, item) && (item->quant.n == 1 || item->quant.axis > 0);
    case NATIVE_ITEM_TRANSPOSE:
        return ok && item->perm[0] == 0;
    case NATIVE_ITEM_MIX:
        return ok && item->axis > 0 && first_alone(ir, item);
    case NATIVE_ITEM_GATHER: /* rows of a constant by indices of samples, or inside of samples */
        return ok &&
               (batched(ir, item->inputs[1]) ? item->axis == 0 && !batched(ir, item->inputs[0])
                                             : item->axis > 0);
    case NATIVE_ITEM_CONCAT:
        for (i = 0; i < item->n_inputs; i++)
            ok = ok && batched(ir, item->inputs[i]);
        return ok && item->axis > 0;
    case NATIVE_ITEM_BATCHED_PRODUCT:
        for (i = 0; i < item->n_inputs; i++)
            ok = ok && batched(ir, item->inputs[i]);
        return ok && y->rank > 2;
    case NATIVE_ITEM_ATTENTION:
        for (i = 0; i < 3; i++)
            ok = ok && batched(ir, item->inputs[i]) && !has_room(ir, item->inputs[i]);
        return ok &&
               (item->inputs[3] < 0 || batched(ir, item->inputs[3]) == (item->heads.mask[0] != 0));
    case NATIVE_ITEM_RANGE:
    case NATIVE_ITEM_TOP_K:
    case NATIVE_ITEM_DYNAMIC_QUANTIZE:
    case NATIVE_ITEM_INDICES: /* which count elements of all samples */
    case NATIVE_ITEM_SCATTER:
    case NATIVE_ITEM_CONV_GRAD_FILTER:
    case NATIVE_ITEM_PRODUCT_GRAD:
    case NATIVE_ITEM_LAYER_NORM_SUMS:
    case NATIVE_ITEM_LOSS:
    case NATIVE_ITEM_MOMENTS:
    case NATIVE_ITEM_BATCH_NORM_SUMS:
        return false;
    case NATIVE_ITEM_ARG:
        ok = ok && !(item->axes & 1);
        for (i = 0; i < item->n_inputs; i++)
            ok = ok && (batched(ir, item->inputs[i])
                            ? ir->values[item->inputs[i]].dims[0] == y->dims[0]
                            : native_elements(&ir->values[item->inputs[i]]) == 1);
        return ok;
    case NATIVE_ITEM_PADDED:
        return ok && first_alone(ir, item) && !native_pads_samples(item);
    case NATIVE_ITEM_STRIDED:
        return ok && y->dims[0] > 0 && !has_room(ir, item->output) && moves_samples(ir, item);
    case NATIVE_ITEM_SOFTMAX_GRAD:
        return ok && y->rank > 1 && batched(ir, item->inputs[0]) && batched(ir, item->inputs[1]);
    case NATIVE_ITEM_LAYER_NORM_GRAD:
        return ok && y->rank > 1 && batched(ir, item->inputs[0]) && batched(ir, item->inputs[1]) &&
               !batched(ir, item->inputs[2]);
    case NATIVE_ITEM_REDUCE:
    case NATIVE_ITEM_FOLD:
    case NATIVE_ITEM_SUM:
    case NATIVE_ITEM_COLUMN_SOFTMAX:
        return ok && first_alone(ir, item) && !(item->axes & 1);
    case NATIVE_ITEM_LOSS_GRAD:
        return ok && !batched(ir, item->inputs[0]) && batched(ir, item->inputs[1]) &&
               batched(ir, item->inputs[2]);
    case NATIVE_ITEM_BATCH_NORM_GRAD:
        for (i = 2; i < item->n_inputs; i++)
            ok = ok && !batched(ir, item->inputs[i]);
        return ok && batched(ir, item->inputs[0]) && batched(ir, item->inputs[1]);
    case NATIVE_ITEM_POOL_GRAD:
        return ok && batched(ir, item->inputs[0]) && batched(ir, item->inputs[1]);
    case NATIVE_ITEM_COMPARE:
    case NATIVE_ITEM_SELECT:
    case NATIVE_ITEM_ELEMENTWISE:
    case NATIVE_ITEM_BINARY:
        for (i = 0; i < item->n_inputs; i++) {
            const native_value *v = &ir->values[item->inputs[i] < 0 ? 0 : item->inputs[i]];
            if (item->inputs[i] < 0)
                continue;
            if (v->batched ? v->rank != y->rank : v->rank == y->rank && v->dims[0] != 1)
                ok = false;
        }
        return ok;
    default:
        return ok && first_alone(ir, item) && (item->residual < 0 || batched(ir, item->residual));
    }
}

void native_find_samples(native_ir *ir)
{
    int i, k;

    ir->samples = 0;
    for (i = 0; i < ir->n_values; i++) {
        native_value *v = &ir->values[i];
        if (v->arg < 0 || v->output || v->known || v->rank == 0)
            continue;
        if (ir->samples == 0)
            ir->samples = v->dims[0];
        v->batched = v->dims[0] == ir->samples;
    }
    ir->separable = ir->samples > 1;
    for (i = 0; i < ir->n_items && ir->separable; i++) {
        const native_item *item = &ir->items[i];
        bool any = batched(ir, item->residual);
        for (k = 0; k < item->n_inputs; k++)
            any = any || batched(ir, item->inputs[k]);
        if (!any || !native_is_separable(ir, item))
            ir->separable = false;
        ir->values[item->output].batched = any;
    }
    if (!ir->separable)
        ir->samples = 1;
    for (i = 0; i < ir->n_values && !ir->separable; i++)
        ir->values[i].batched = false;
}
