/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gather (ONNX 13):          y[o.., i.., l..] = data[o.., indices[i..], l..], i.. at axis
 * GatherElements (ONNX 13):  y[.., i, ..] = data[.., indices[.., i, ..], ..] at axis
 * GatherND (ONNX 13):        y[b.., i.., l..] = data[b.., indices[b.., i.., :].., l..], batch_dims
 * b
 *
 * An index counts from the end if negative; one outside [-dim, dim) is an error. All copy elements
 * of any type.
 */
#include "tensor.h"

static int32_t read_index(const naive_tensor *indices, int64_t at, int64_t dim, int64_t *out,
                          tfr_err *err)
{
    int64_t given = naive_read_int(indices, at);

    *out = naive_index(given, dim);
    if (*out < 0)
        return tfr_fail(err, TFR_EINVAL,
                        "gather index %lld at position %lld is outside [-%lld, %lld)",
                        (long long)given, (long long)at, (long long)dim, (long long)dim);
    return TFR_OK;
}

static int32_t run_gather(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), indices = naive_input(k, launch, 1),
                 y = naive_output(k, launch, 0);
    int32_t axis = naive_axis(tfr_call_int(&k->call, "axis", 0), x.rank), status = TFR_OK;
    int64_t A = x.dims[axis], outer = naive_product(x.dims, 0, axis),
            inner = naive_product(x.dims, axis + 1, x.rank), o, i, l, index, at = 0;

    for (o = 0; o < outer && y.n > 0; o++) {
        for (i = 0; i < indices.n; i++) {
            if ((status = read_index(&indices, i, A, &index, err)) != TFR_OK)
                return status;
            for (l = 0; l < inner && status == TFR_OK; l++, at++)
                status = naive_move(&y, at, &x, (o * A + index) * inner + l, err);
            if (status)
                return status;
        }
    }
    return status;
}

static int32_t run_gather_elements(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), indices = naive_input(k, launch, 1),
                 y = naive_output(k, launch, 0);
    int32_t axis = naive_axis(tfr_call_int(&k->call, "axis", 0), x.rank), status = TFR_OK;
    int64_t strides[TFR_MAX_RANK], i = 0, index;
    naive_iter it;
    int32_t d;

    for (d = 0; d < x.rank; d++)
        if (d != axis && y.n > 0 && indices.dims[d] > x.dims[d])
            return tfr_fail(err, TFR_ESHAPE, "dim %d of the indices is %lld, the data have %lld", d,
                            (long long)indices.dims[d], (long long)x.dims[d]);
    naive_dims_to_strides(x.rank, x.dims, strides);
    naive_iter_init(&it, y.rank, y.dims);
    naive_iter_add_strides(&it, strides, 0);
    for (; it.left > 0 && status == TFR_OK; naive_iter_next(&it), i++) {
        status = read_index(&indices, i, x.dims[axis], &index, err);
        if (status == TFR_OK)
            status =
                naive_move(&y, i, &x, it.at[0] + (index - it.index[axis]) * strides[axis], err);
    }
    return status;
}

static int32_t run_gather_nd(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), indices = naive_input(k, launch, 1),
                 y = naive_output(k, launch, 0);
    int32_t b = (int32_t)tfr_call_int(&k->call, "batch_dims", 0), status = TFR_OK, d;
    int32_t depth = (int32_t)indices.dims[indices.rank - 1];
    int64_t batches = naive_product(x.dims, 0, b), inner = naive_product(x.dims, b + depth, x.rank);
    int64_t tuples = naive_product(indices.dims, 0, indices.rank - 1), t, l, index;

    for (t = 0; t < tuples && y.n > 0; t++) {
        int64_t at = t / (tuples / batches);
        for (d = 0; d < depth; d++) {
            status = read_index(&indices, t * depth + d, x.dims[b + d], &index, err);
            if (status)
                return status;
            at = at * x.dims[b + d] + index;
        }
        for (l = 0; l < inner && status == TFR_OK; l++)
            status = naive_move(&y, t * inner + l, &x, at * inner + l, err);
        if (status)
            return status;
    }
    return status;
}

const naive_op naive_gather_ops[] = {
    {.domain = "", .name = "Gather", .since_version = 13, .run = run_gather},
    {.domain = "", .name = "GatherElements", .since_version = 13, .run = run_gather_elements},
    {.domain = "", .name = "GatherND", .since_version = 13, .run = run_gather_nd},
    {.name = NULL},
};
