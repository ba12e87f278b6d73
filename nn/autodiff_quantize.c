/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autodiff_quantize.c: DequantizeLinear, y = (x - zero) scale, by its scale:
 *
 *   dscale[i] = sum of g (x - zero) over the elements of x that scale[i] belongs to
 *
 * Integers do not change little by little, and float8 is treated like them: QuantizeLinear, where
 * both come from, is constant almost everywhere.
 */
#include "autodiff.h"

static tfr_value one_int(tfr__diff *d, int64_t value)
{
    return tfr__diff_ints(d, &value, 1);
}

/* x - zero in float32, which float16 has no room for: the node again with scales of 1. */
static tfr_value differences(tfr__diff *d, int64_t axis, int64_t block)
{
    const tfr_attr attrs[] = {TFR_SET_INT("axis", axis), TFR_SET_INT("block_size", block),
                              TFR_SET_INT("output_dtype", TFR_DTYPE_F32)};
    const tfr_value in[] = {tfr__diff_in(d, 0), tfr__diff_filled_like(d, 1, tfr__diff_in(d, 1)),
                            tfr__diff_in(d, 2)};
    return tfr__diff_node(d, "DequantizeLinear", in, d->node.n_inputs, attrs, 3);
}

/*
 * v [before, n, after] summed over each block of axis 1, [before, blocks, after]. The last block is
 * filled up with zeros; a block is not longer than n, so that they are fewer than n.
 */
static tfr_value sum_blocks(tfr__diff *d, tfr_value v, const tfr_value dims[3], int64_t block,
                            tfr_value blocks)
{
    static const int64_t zeros[] = {0, 0, 0, 0}, within[] = {2};
    tfr_value length = tfr__diff_op2(d, "Min", dims[1], one_int(d, block)), lists[4];
    lists[0] = tfr__diff_ints(d, zeros, 4);
    lists[1] = tfr__diff_op2(d, "Sub", tfr__diff_op2(d, "Mul", blocks, length), dims[1]);
    lists[2] = one_int(d, 0);
    v = tfr__diff_op2(d, "Pad", v, tfr__diff_join(d, lists, 3));
    lists[0] = dims[0];
    lists[1] = blocks;
    lists[2] = length;
    lists[3] = dims[2];
    v = tfr__diff_reshape(d, v, tfr__diff_join(d, lists, 4));
    return tfr__diff_sum_axes(d, v, within, 1, false);
}

void tfr__diff_dequantize(tfr__diff *d, tfr_value g)
{
    static const int64_t others[] = {0, 2};
    const int64_t axis = tfr__diff_int(d, "axis", 1), block = tfr__diff_int(d, "block_size", 0);
    const tfr_attr single[] = {TFR_SET_INT("to", TFR_DTYPE_F32)};
    tfr_value x = tfr__diff_in(d, 0), scale = tfr__diff_in(d, 1), dims[3];
    if (!tfr__diff_wants(d, 1))
        return;
    if (tfr__diff_fact_of(d, scale).dtype == TFR_DTYPE_F8E8M0) {
        tfr__diff_refuse(d, "its scales are powers of two");
        return;
    }
    g = tfr__diff_node(d, "Cast", &g, 1, single, 1);
    g = tfr__diff_op2(d, "Mul", g, differences(d, axis, block));
    /* With one scale, axis need not be an axis of x; n is the product of no dims then. */
    dims[0] = axis ? tfr__diff_dims_product(d, x, 0, axis) : one_int(d, 1);
    dims[1] = tfr__diff_dims_product(d, x, axis, axis + 1);
    dims[2] = axis != -1 ? tfr__diff_dims_product(d, x, axis + 1, 0) : one_int(d, 1);
    g = tfr__diff_reshape(d, g, tfr__diff_join(d, dims, 3));
    if (block)
        g = tfr__diff_reshape_like(
            d, sum_blocks(d, g, dims, block, tfr__diff_dims_product(d, scale, axis, axis + 1)),
            scale);
    else
        g = tfr__diff_sum_to(d, tfr__diff_sum_axes(d, g, others, 2, false), scale);
    tfr__diff_give(d, 1, tfr__diff_op2(d, "CastLike", g, scale));
}
