/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transpose (ONNX 25):  y[i[perm[0]], i[perm[1]], ...] = x[i[0], i[1], ...]; without perm the axes
 * are reversed.
 * Expand (ONNX 13):     y[i] = x[i broadcast by numpy's rule]
 * Tile (ONNX 13):       y[i] = x[i mod dims of x]
 * Identity (ONNX 25):   y[i] = x[i]
 *
 * All copy elements of any type.
 */
#include "tensor.h"

static int32_t run_transpose(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), y = naive_output(k, launch, 0);
    int64_t from[TFR_MAX_RANK], strides[TFR_MAX_RANK] = {0};
    uint64_t n;
    const int64_t *perm = naive_attr_ints(&k->call, "perm", &n);
    int32_t d, status = TFR_OK;
    naive_iter it;

    naive_strides(x.operand, from);
    for (d = 0; d < y.rank; d++)
        strides[d] = from[perm ? perm[d] : x.rank - 1 - d];
    naive_iter_init(&it, y.rank, y.dims);
    naive_iter_add_strides(&it, strides, 0);
    naive_iter_add(&it, y.operand);
    for (; it.left > 0 && status == TFR_OK; naive_iter_next(&it))
        status = naive_move(&y, it.at[1], &x, it.at[0], err);
    return status;
}

/* Expand, and Identity: nothing to broadcast. */
static int32_t run_expand(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), y = naive_output(k, launch, 0);
    int32_t status = TFR_OK;
    naive_iter it;

    naive_iter_init(&it, y.rank, y.dims);
    naive_iter_add(&it, x.operand);
    naive_iter_add(&it, y.operand);
    for (; it.left > 0 && status == TFR_OK; naive_iter_next(&it))
        status = naive_move(&y, it.at[1], &x, it.at[0], err);
    return status;
}

static int32_t run_tile(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), y = naive_output(k, launch, 0);
    int32_t d, status = TFR_OK;
    naive_iter it;
    int64_t i = 0;

    for (naive_iter_init(&it, y.rank, y.dims); it.left > 0 && status == TFR_OK;
         naive_iter_next(&it), i++) {
        int64_t at = 0;
        for (d = 0; d < x.rank; d++)
            at = at * x.dims[d] + it.index[d] % x.dims[d];
        status = naive_move(&y, i, &x, at, err);
    }
    return status;
}

const naive_op naive_transpose_ops[] = {
    {.domain = "",
     .name = "Expand",
     .since_version = 13,
     .run = run_expand,
     .flags = NAIVE_STRIDED},
    {.domain = "",
     .name = "Identity",
     .since_version = 25,
     .run = run_expand,
     .flags = NAIVE_STRIDED},
    {.domain = "", .name = "Tile", .since_version = 13, .run = run_tile},
    {.domain = "",
     .name = "Transpose",
     .since_version = 25,
     .run = run_transpose,
     .flags = NAIVE_STRIDED},
    {.name = NULL},
};
