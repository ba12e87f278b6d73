/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TopK (ONNX 24):  the K first elements along axis, in order of value (largest or smallest first),
 * equal ones in order of index; sorted = 0 gives the same.
 *
 * X [o.. A i..], Values and Indices [o.. K i..]. NaN is larger than every number, as in numpy.
 */
#include "sort.h"
#include "tensor.h"

/* The elements of one row of the axis. */
typedef struct lane {
    const naive_tensor *x;
    int64_t from, step;
    bool largest;
} lane;

static int compare(const naive_tensor *x, int64_t a, int64_t b)
{
    int64_t s, t;

    if (!naive_is_integer(x->dtype))
        return naive_compare_floats(naive_read(x, a), naive_read(x, b));
    s = naive_read_int(x, a);
    t = naive_read_int(x, b);
    if (naive_is_unsigned(x->dtype))
        return ((uint64_t)s > (uint64_t)t) - ((uint64_t)s < (uint64_t)t);
    return (s > t) - (s < t);
}

static int compare_in_lane(const void *context, int64_t a, int64_t b)
{
    const lane *l = context;
    int order = compare(l->x, l->from + a * l->step, l->from + b * l->step);

    return l->largest ? -order : order;
}

static int32_t run_top_k(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), values = naive_output(k, launch, 0),
                 indices = naive_output(k, launch, 1);
    const tfr_operand *y = values.operand ? values.operand : indices.operand;
    int32_t axis = naive_axis(tfr_call_int(&k->call, "axis", -1), x.rank);
    bool largest = tfr_call_int(&k->call, "largest", 1) != 0;
    int64_t A = x.dims[axis], K = y ? y->dims[axis] : 0;
    int64_t inner = naive_product(x.dims, axis + 1, x.rank), row, i;

    if (K > A)
        return tfr_fail(err, TFR_EINVAL, "k %lld is more than the %lld elements of axis %d",
                        (long long)K, (long long)A, axis);
    for (row = 0; K > 0 && row < x.n / A; row++) {
        int64_t from = row / inner * A * inner + row % inner,
                to = row / inner * K * inner + row % inner;
        lane l = {&x, from, inner, largest};
        const int64_t *order = naive_sort(A, launch->workspace, compare_in_lane, &l);
        for (i = 0; i < K; i++) {
            if (values.operand)
                naive_copy(values.dtype, values.out, to + i * inner, x.in, from + order[i] * inner);
            if (indices.operand)
                naive_write_int(&indices, to + i * inner, order[i]);
        }
    }
    return TFR_OK;
}

static uint64_t top_k_workspace(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);

    return 2 * (uint64_t)x->dims[naive_axis(tfr_call_int(call, "axis", -1), x->rank)] *
           sizeof(int64_t);
}

const naive_op naive_top_k_ops[] = {
    {.domain = "",
     .name = "TopK",
     .since_version = 24,
     .run = run_top_k,
     .workspace = top_k_workspace},
    {.name = NULL},
};
