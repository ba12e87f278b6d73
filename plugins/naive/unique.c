/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unique (ONNX 28): the distinct elements of the flattened input, or the distinct slices along
 * axis, sorted or in the order of their first appearance; and for each its first index, its index
 * for every input slice, and its count.
 *
 * Order: numbers ascending, NaN last and equal to NaN; false before true; complex by real part,
 * then by imaginary part; strings by bytes; slices by their first difference in row-major order.
 */
#include "sort.h"
#include "tensor.h"

#include <string.h>

static int order_elements(int32_t dtype, const void *p, int64_t i, int64_t j)
{
    int32_t part = dtype == TFR_DTYPE_C64 ? TFR_DTYPE_F32 : TFR_DTYPE_F64;
    int64_t a, b;
    int order;

    if (dtype == TFR_DTYPE_STRING)
        return naive_compare_strings((const tfr_string *)p + i, (const tfr_string *)p + j);
    if (dtype == TFR_DTYPE_C64 || dtype == TFR_DTYPE_C128) {
        order = naive_compare_floats(naive_get(part, p, 2 * i), naive_get(part, p, 2 * j));
        return order ? order
                     : naive_compare_floats(naive_get(part, p, 2 * i + 1),
                                            naive_get(part, p, 2 * j + 1));
    }
    if (naive_is_float(dtype))
        return naive_compare_floats(naive_get(dtype, p, i), naive_get(dtype, p, j));
    a = naive_get_int(dtype, p, i);
    b = naive_get_int(dtype, p, j);
    if (dtype == TFR_DTYPE_U64)
        return ((uint64_t)a > (uint64_t)b) - ((uint64_t)a < (uint64_t)b);
    return (a > b) - (a < b);
}

typedef struct slices {
    int32_t dtype;
    const void *p;
    naive_lanes l;
} slices;

static int order_slices(const void *context, int64_t a, int64_t b)
{
    const slices *s = context;
    int64_t o, i;
    int order;

    for (o = 0; o < s->l.outer; o++) {
        for (i = 0; i < s->l.inner; i++) {
            order = order_elements(s->dtype, s->p, (o * s->l.n + a) * s->l.inner + i,
                                   (o * s->l.n + b) * s->l.inner + i);
            if (order)
                return order;
        }
    }
    return 0;
}

/*
 * first[i] = the first slice equal to slice i; place[i] = number of the distinct slice that i is
 * one of. Returns how many there are. order is the sorted indices.
 */
static int64_t number_slices(const slices *s, const int64_t *order, bool sorted, int64_t *first,
                             int64_t *place)
{
    int64_t n = s->l.n, count = 0, i;

    for (i = 0; i < n; i++) {
        bool same = i > 0 && order_slices(s, order[i - 1], order[i]) == 0;
        first[order[i]] = same ? first[order[i - 1]] : order[i];
        if (!same)
            count++;
        place[order[i]] = count - 1;
    }
    if (sorted)
        return count;
    for (count = 0, i = 0; i < n; i++)
        place[i] = first[i] == i ? count++ : place[first[i]];
    return count;
}

static int32_t write_outputs(const naive_kernel *k, const tfr_launch *launch, const slices *s,
                             const int64_t *first, const int64_t *place, int64_t count,
                             tfr_err *err)
{
    int64_t *indices = naive_out(k, launch, 1), *inverse = naive_out(k, launch, 2);
    int64_t *counts = naive_out(k, launch, 3), i, o, e;
    void *py = naive_out(k, launch, 0);
    int32_t status = TFR_OK;

    for (i = 0; i < count && counts; i++)
        counts[i] = 0;
    for (i = 0; i < s->l.n && status == TFR_OK; i++) {
        if (inverse)
            inverse[i] = place[i];
        if (counts)
            counts[place[i]]++;
        if (first[i] != i)
            continue;
        if (indices)
            indices[place[i]] = i;
        for (o = 0; o < s->l.outer; o++)
            for (e = 0; e < s->l.inner && py && status == TFR_OK; e++)
                status = naive_copy_any(s->dtype, py, (o * count + place[i]) * s->l.inner + e, s->p,
                                        (o * s->l.n + i) * s->l.inner + e, err);
    }
    return status;
}

static void write_dims(const naive_kernel *k, const tfr_launch *launch, const tfr_attr *axis,
                       int64_t n, int64_t count)
{
    const tfr_operand *x = tfr_call_input(&k->call, 0);
    int64_t *dims = naive_out_dims(k, launch, 0);
    uint32_t i;

    if (dims && axis) {
        memcpy(dims, x->dims, (size_t)x->rank * sizeof(*dims));
        dims[axis->ints[0] < 0 ? axis->ints[0] + x->rank : axis->ints[0]] = count;
    } else if (dims) {
        dims[0] = count;
    }
    for (i = 1; i < 4; i++)
        if ((dims = naive_out_dims(k, launch, i)))
            dims[0] = i == 2 ? n : count;
}

static int32_t run_unique(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *x = tfr_call_input(&k->call, 0);
    const tfr_attr *axis = tfr_call_attr(&k->call, "axis");
    slices s = {x->dtype, naive_in(k, launch, 0), {1, tfr_operand_elements(x), 1}};
    int64_t *scratch = launch->workspace, *order, *first, *place, count;

    if (axis)
        s.l = naive_lanes_of(x, axis->ints[0] < 0 ? axis->ints[0] + x->rank : axis->ints[0]);
    if (s.l.n == 0) {
        write_dims(k, launch, axis, 0, 0);
        return TFR_OK;
    }
    order = naive_sort(s.l.n, scratch, order_slices, &s);
    first = scratch + 2 * s.l.n;
    place = scratch + 3 * s.l.n;
    count = number_slices(&s, order, tfr_call_int(&k->call, "sorted", 1) != 0, first, place);
    write_dims(k, launch, axis, s.l.n, count);
    return write_outputs(k, launch, &s, first, place, count, err);
}

/* Two arrays to sort in, first and place; the flattened size bounds the length of an axis. */
static uint64_t unique_workspace(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    int64_t axis = tfr_call_int(call, "axis", INT64_MIN);
    int64_t n =
        axis == INT64_MIN ? tfr_operand_elements(x) : x->dims[axis < 0 ? axis + x->rank : axis];

    return 4 * (uint64_t)n * sizeof(int64_t);
}

const naive_op naive_unique_ops[] = {
    {"", "Unique", 28, NULL, run_unique, unique_workspace, 0, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};
