/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TopK (ONNX 24):  the K first elements along axis, in order of value (largest or smallest first),
 * equal ones in order of index; sorted = 0 gives the same.
 *
 * X [o.. A i..], Values and Indices [o.. K i..]. NaN is larger than every number, as in numpy. Each
 * pick looks for the best element that comes after the last pick, so nothing is stored or sorted.
 */
#include "tensor.h"

#include <math.h>

/* -1, 0, 1 as element a of x is less than, equal to, greater than element b. */
static int compare(const naive_tensor *x, int64_t a, int64_t b)
{
    double u, v;

    if (naive_is_integer(x->dtype)) {
        int64_t s = naive_read_int(x, a), t = naive_read_int(x, b);
        if (naive_is_unsigned(x->dtype))
            return ((uint64_t)s > (uint64_t)t) - ((uint64_t)s < (uint64_t)t);
        return (s > t) - (s < t);
    }
    u = naive_read(x, a);
    v = naive_read(x, b);
    if (isnan(u) || isnan(v))
        return (isnan(u) != 0) - (isnan(v) != 0);
    return (u > v) - (u < v);
}

/* Whether a, at a lower or higher index than b, comes before it in the output. */
static bool comes_before(const naive_tensor *x, int64_t a, int64_t b, bool largest)
{
    int order = compare(x, a, b);

    return order == 0 ? a < b : largest ? order > 0 : order < 0;
}

static int32_t run_top_k(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), values = naive_output(k, launch, 0),
                 indices = naive_output(k, launch, 1);
    const tfr_operand *y = values.operand ? values.operand : indices.operand;
    int32_t axis = naive_axis(tfr_call_int(&k->call, "axis", -1), x.rank);
    bool largest = tfr_call_int(&k->call, "largest", 1) != 0;
    int64_t A = x.dims[axis], K = y ? y->dims[axis] : 0;
    int64_t inner = naive_product(x.dims, axis + 1, x.rank), row, i, a;

    if (K > A)
        return tfr_fail(err, TFR_EINVAL, "k %lld is more than the %lld elements of axis %d",
                        (long long)K, (long long)A, axis);
    for (row = 0; K > 0 && row < x.n / A; row++) {
        int64_t from = row / inner * A * inner + row % inner,
                to = row / inner * K * inner + row % inner, last = -1;
        for (i = 0; i < K; i++) {
            int64_t best = -1;
            for (a = from; a < from + A * inner; a += inner)
                if ((last < 0 || comes_before(&x, last, a, largest)) &&
                    (best < 0 || comes_before(&x, a, best, largest)))
                    best = a;
            if (values.operand)
                naive_copy(values.dtype, values.out, to + i * inner, x.in, best);
            if (indices.operand)
                naive_write_int(&indices, to + i * inner, (best - from) / inner);
            last = best;
        }
    }
    return TFR_OK;
}

const naive_op naive_top_k_ops[] = {
    {.domain = "", .name = "TopK", .since_version = 24, .run = run_top_k},
    {.name = NULL},
};
