/* SPDX-License-Identifier: Apache-2.0 */
/*
 * y = data, then one after another, in row-major order of the updates:
 *
 * ScatterElements (ONNX 18):  y[.., indices[.., i, ..], ..] r= updates[.., i, ..] at axis
 * ScatterND (ONNX 18):        y[indices[i.., :].., l..] r= updates[i.., l..]
 *
 * reduction r: none replaces (the last of equal indices wins), add, mul, min, max. Floats reduce in
 * double and round after each update; integers wrap; bool adds as or, multiplies as and. min and
 * max give NaN if either is NaN. An index counts from the end if negative; one outside [-dim, dim)
 * is an error. none copies any type; string and complex have no reduction.
 */
#include "tensor.h"

#include <math.h>
#include <string.h>

enum reduction { REDUCE_NONE, REDUCE_ADD, REDUCE_MUL, REDUCE_MIN, REDUCE_MAX };

static enum reduction read_reduction(const tfr_call *call)
{
    static const char *const names[] = {"none", "add", "mul", "min", "max"};
    const char *given = tfr_call_string(call, "reduction", "none");
    int r;

    for (r = REDUCE_MAX; r > REDUCE_NONE; r--)
        if (strcmp(given, names[r]) == 0)
            break;
    return (enum reduction)r;
}

static int32_t supports_reduction(const tfr_call *call, tfr_answer *answer)
{
    int32_t dtype = tfr_call_input(call, 0)->dtype;

    if (read_reduction(call) != REDUCE_NONE && !naive_is_number(dtype) && dtype != TFR_DTYPE_BOOL)
        return tfr_decline(answer, TFR_REASON_DTYPE, "element type %d has no reduction %s", dtype,
                           tfr_call_string(call, "reduction", "none"));
    return TFR_OK;
}

static double reduce_float(enum reduction r, double a, double b)
{
    switch (r) {
    case REDUCE_ADD:
        return a + b;
    case REDUCE_MUL:
        return a * b;
    case REDUCE_MIN:
        return isnan(a) || a < b ? a : b;
    case REDUCE_MAX:
        return isnan(a) || a > b ? a : b;
    default:
        return b;
    }
}

static int64_t reduce_integer(enum reduction r, int64_t a, int64_t b, bool is_unsigned)
{
    bool less = is_unsigned ? (uint64_t)a < (uint64_t)b : a < b;

    switch (r) {
    case REDUCE_ADD:
        return naive_wrap_add(a, b);
    case REDUCE_MUL:
        return naive_wrap_mul(a, b);
    case REDUCE_MIN:
        return less ? a : b;
    case REDUCE_MAX:
        return less ? b : a;
    default:
        return b;
    }
}

/* Element i of y r= element j of the updates. */
static int32_t update(enum reduction r, const naive_tensor *y, int64_t i,
                      const naive_tensor *updates, int64_t j, tfr_err *err)
{
    if (r == REDUCE_NONE)
        return naive_move(y, i, updates, j, err);
    if (naive_is_integer(y->dtype))
        naive_write_int(y, i,
                        reduce_integer(r, naive_read_int(y, i), naive_read_int(updates, j),
                                       naive_is_unsigned(y->dtype)));
    else
        naive_write(y, i, reduce_float(r, naive_read(y, i), naive_read(updates, j)));
    return TFR_OK;
}

static int32_t copy_data(const naive_tensor *y, const naive_tensor *x, tfr_err *err)
{
    int32_t status = TFR_OK;
    int64_t i;

    for (i = 0; i < y->n && status == TFR_OK; i++)
        status = naive_move(y, i, x, i, err);
    return status;
}

static int32_t read_index(const naive_tensor *indices, int64_t at, int64_t dim, int64_t *out,
                          tfr_err *err)
{
    int64_t given = naive_read_int(indices, at);

    *out = naive_index(given, dim);
    if (*out < 0)
        return tfr_fail(err, TFR_EINVAL,
                        "scatter index %lld at position %lld is outside [-%lld, %lld)",
                        (long long)given, (long long)at, (long long)dim, (long long)dim);
    return TFR_OK;
}

static int32_t run_scatter_elements(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), indices = naive_input(k, launch, 1),
                 updates = naive_input(k, launch, 2), y = naive_output(k, launch, 0);
    enum reduction r = read_reduction(&k->call);
    int32_t axis = naive_axis(tfr_call_int(&k->call, "axis", 0), x.rank);
    int64_t strides[TFR_MAX_RANK], i = 0, index;
    int32_t status = copy_data(&y, &x, err), d;
    naive_iter it;

    naive_dims_to_strides(y.rank, y.dims, strides);
    naive_iter_init(&it, updates.rank, updates.dims);
    naive_iter_add_strides(&it, strides, 0);
    for (; it.left > 0 && status == TFR_OK; naive_iter_next(&it), i++) {
        status = read_index(&indices, i, y.dims[axis], &index, err);
        for (d = 0; d < y.rank && status == TFR_OK; d++)
            if (d != axis && it.index[d] >= y.dims[d])
                status = tfr_fail(err, TFR_EINVAL, "update %lld lies outside dim %d of %lld",
                                  (long long)i, d, (long long)y.dims[d]);
        if (status == TFR_OK)
            status = update(r, &y, it.at[0] + (index - it.index[axis]) * strides[axis], &updates, i,
                            err);
    }
    return status;
}

static int32_t run_scatter_nd(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), indices = naive_input(k, launch, 1),
                 updates = naive_input(k, launch, 2), y = naive_output(k, launch, 0);
    enum reduction r = read_reduction(&k->call);
    int32_t depth = (int32_t)indices.dims[indices.rank - 1], status = copy_data(&y, &x, err), d;
    int64_t inner = naive_product(y.dims, depth, y.rank);
    int64_t tuples = naive_product(indices.dims, 0, indices.rank - 1), t, l, index;

    for (t = 0; t < tuples && updates.n > 0 && status == TFR_OK; t++) {
        int64_t at = 0;
        for (d = 0; d < depth && status == TFR_OK; d++) {
            status = read_index(&indices, t * depth + d, y.dims[d], &index, err);
            at = at * y.dims[d] + index;
        }
        for (l = 0; l < inner && status == TFR_OK; l++)
            status = update(r, &y, at * inner + l, &updates, t * inner + l, err);
    }
    return status;
}

const naive_op naive_scatter_ops[] = {
    {.domain = "",
     .name = "ScatterElements",
     .since_version = 18,
     .supports = supports_reduction,
     .run = run_scatter_elements},
    {.domain = "",
     .name = "ScatterND",
     .since_version = 18,
     .supports = supports_reduction,
     .run = run_scatter_nd},
    {.name = NULL},
};
