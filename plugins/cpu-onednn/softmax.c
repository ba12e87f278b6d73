/* SPDX-License-Identifier: Apache-2.0 */
/*
 * softmax.c: Softmax over one axis.
 *
 * The tensor is [outer, axis, inner]. oneDNN 2 has fast code for inner = 1 only, so other shapes
 * are transposed into the kernel's memory and back. In a row that holds a NaN (or an infinity) all
 * results are NaN, but oneDNN gives 0 for the others: 0 or NaN, computed from the row, is added to
 * it. LogSoftmax is not claimed: the library's log(1) is
 * -1.4e-6 in oneDNN 2, and its results are off by up to 3.4e-6 in oneDNN 3.7.
 */
#include <string.h>

#include "families.h"

void onednn_softmax_supports(const tfr_plugin_device *device, const tfr_call *call,
                             tfr_answer *answer)
{
    if (onednn_want_float(device, call, answer, 0, true))
        onednn_want_rank(call, answer, 0, 1, DNNL_MAX_NDIMS);
}

/* Spreads a NaN of a row over the row: adds the row's product with a column of zeros. */
static void add_nan_rule(onednn_build *b, int y, int64_t rows, int64_t n)
{
    const int64_t column[2] = {n, 1}, sums[2] = {rows, 1};
    int sum = onednn_temporary(b, onednn_plain(b, dnnl_f32, 2, sums));
    void *data;
    int vector = onednn_constant(b, onednn_plain(b, dnnl_f32, 2, column), &data);
    int64_t i;

    for (i = 0; data && i < n; i++)
        ((float *)data)[i] = 0.0f;
    onednn_add_matmul(b, y, vector, sum);
    onednn_add_binary(b, dnnl_binary_add, y, sum, y);
}

static void add_rows(onednn_build *b, int from, int to, int64_t rows, int64_t n)
{
    const onednn_use uses[] = {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}};
    onednn_make make = onednn_maker(b);

    if (b->status == TFR_OK)
        onednn_add(b, onednn_softmax(&make, false, onednn_md_of(b, from), 1), &make, "softmax",
                   uses, 2);
    if (n > 1)
        add_nan_rule(b, to, rows, n);
}

void onednn_softmax_prepare(onednn_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    int axis = (int)tfr_call_int(call, "axis", x->rank - 1);
    int64_t outer = tfr_operand_span(x, 0, axis), n = x->dims[axis];
    int64_t inner = tfr_operand_span(x, axis + 1, x->rank);
    const int64_t rows[2] = {outer * inner, n};
    const int64_t view[3] = {outer, inner, n}, strides[3] = {n * inner, 1, inner};
    onednn_cmd rows_md = onednn_plain(b, dnnl_f32, 2, rows), from, to;
    int t;

    if (inner == 1) {
        add_rows(b, onednn_input(b, 0, rows_md), onednn_output(b, 0, rows_md), rows[0], n);
        return;
    }
    from = onednn_strided(b, dnnl_f32, 3, view, strides);
    to = onednn_plain(b, dnnl_f32, 3, view);
    t = onednn_temporary(b, to);
    onednn_add_reorder(b, onednn_input(b, 0, from), t);
    add_rows(b, onednn_view(b, t, rows_md), onednn_view(b, t, rows_md), rows[0], n);
    onednn_add_reorder(b, t, onednn_output(b, 0, from));
}
