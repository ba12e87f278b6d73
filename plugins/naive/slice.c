/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slice (ONNX 13):  y[.., i, ..] = x[.., start + i * step, ..] along each of axes
 *
 * The core puts starts and steps of all axes into attributes; without them the inputs are read.
 * start counts from the end if negative, and is then clamped to [0, dim], or to [0, dim - 1] for a
 * negative step; ends only decide the output's dims, which the core has inferred. Copies elements
 * of any type.
 */
#include "tensor.h"

static int64_t clamp(int64_t v, int64_t low, int64_t high)
{
    return v < low ? low : v > high ? high : v;
}

static int32_t run_slice(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), axes = naive_input(k, launch, 3),
                 y = naive_output(k, launch, 0);
    naive_list starts = naive_list_of(k, launch, "starts", 1),
               steps = naive_list_of(k, launch, "steps", 4);
    int64_t strides[TFR_MAX_RANK], offset = 0, i;
    int32_t status = TFR_OK;
    naive_iter it;

    naive_dims_to_strides(x.rank, x.dims, strides);
    for (i = 0; i < starts.n && y.n > 0; i++) {
        int32_t axis = naive_axis(axes.n && !starts.ints ? naive_read_int(&axes, i) : i, x.rank);
        int64_t step = steps.n ? naive_list_at(&steps, i) : 1, start = naive_list_at(&starts, i);
        if (start < 0)
            start += x.dims[axis];
        start = clamp(start, 0, x.dims[axis] - (step < 0));
        offset += start * strides[axis];
        strides[axis] = naive_wrap_mul(strides[axis], step);
    }
    naive_iter_init(&it, y.rank, y.dims);
    naive_iter_add_strides(&it, strides, offset);
    for (i = 0; it.left > 0 && status == TFR_OK; naive_iter_next(&it), i++)
        status = naive_move(&y, i, &x, it.at[0], err);
    return status;
}

const naive_op naive_slice_ops[] = {
    {.domain = "", .name = "Slice", .since_version = 13, .run = run_slice},
    {.name = NULL},
};
