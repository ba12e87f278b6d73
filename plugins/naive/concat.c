/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Concat (ONNX 13):  y[.., begin(j) + i, ..] = x_j[.., i, ..] along axis, begin(j) the sum of the
 * inputs' dims before j.
 * Split (ONNX 18):   the reverse; the lengths are those of the outputs, which the core has inferred
 * from split or num_outputs.
 *
 * Both copy elements of any type.
 */
#include "tensor.h"

/* Between whole and the part of it that starts at `begin` along axis. */
static int32_t copy_part(const naive_tensor *whole, const naive_tensor *part, int32_t axis,
                         int64_t begin, bool join, tfr_err *err)
{
    int64_t strides[TFR_MAX_RANK], i = 0;
    int32_t status = TFR_OK;
    naive_iter it;

    naive_dims_to_strides(whole->rank, whole->dims, strides);
    naive_iter_init(&it, part->rank, part->dims);
    naive_iter_add_strides(&it, strides, naive_wrap_mul(begin, strides[axis]));
    for (; it.left > 0 && status == TFR_OK; naive_iter_next(&it), i++)
        status = join ? naive_move(whole, it.at[0], part, i, err)
                      : naive_move(part, i, whole, it.at[0], err);
    return status;
}

static int32_t run_concat(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor y = naive_output(k, launch, 0);
    int32_t axis = naive_axis(tfr_call_int(&k->call, "axis", 0), y.rank), status = TFR_OK;
    int64_t begin = 0;
    uint32_t i;

    for (i = 0; i < k->call.n_inputs && status == TFR_OK; i++) {
        naive_tensor x = naive_input(k, launch, i);
        if (!x.operand)
            continue;
        status = copy_part(&y, &x, axis, begin, true, err);
        begin += x.dims[axis];
    }
    return status;
}

/* The length of part i that nobody wants, and so has no dims: from split, else equal parts. */
static int64_t part_length(const naive_kernel *k, const naive_list *split, int64_t whole,
                           uint32_t i)
{
    int64_t parts = tfr_call_int(&k->call, "num_outputs", k->call.n_outputs);

    if (i < split->n)
        return naive_list_at(split, i);
    return parts > 0 ? (whole + parts - 1) / parts : 0;
}

static int32_t run_split(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0);
    naive_list split = naive_list_of(k, launch, "split", 1);
    int32_t axis = naive_axis(tfr_call_int(&k->call, "axis", 0), x.rank), status = TFR_OK;
    int64_t begin = 0;
    uint32_t i;

    for (i = 0; i < k->call.n_outputs && status == TFR_OK; i++) {
        naive_tensor y = naive_output(k, launch, i);
        if (y.operand)
            status = copy_part(&x, &y, axis, begin, false, err);
        begin += y.operand ? y.dims[axis] : part_length(k, &split, x.dims[axis], i);
    }
    return status;
}

const naive_op naive_concat_ops[] = {
    {.domain = "", .name = "Concat", .since_version = 13, .run = run_concat},
    {.domain = "", .name = "Split", .since_version = 18, .run = run_split},
    {.name = NULL},
};
