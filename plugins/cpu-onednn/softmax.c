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

void tfr_dnn_softmax_supports(const tfr_plugin_device *device, const tfr_call *call,
                              tfr_answer *answer)
{
    if (tfr_dnn_want_float(device, call, answer, 0, true))
        tfr_dnn_want_rank(call, answer, 0, 1, DNNL_MAX_NDIMS);
}

/* Spreads a NaN of a row over the row: adds the row's product with a column of zeros. */
static void add_nan_rule(tfr_dnn_build *b, int y, int64_t rows, int64_t n)
{
    const int64_t column[2] = {n, 1}, sums[2] = {rows, 1};
    int sum = tfr_dnn_temporary(b, tfr_dnn_plain(b, dnnl_f32, 2, sums));
    void *data;
    int vector = tfr_dnn_constant(b, tfr_dnn_plain(b, dnnl_f32, 2, column), &data);
    int64_t i;

    for (i = 0; data && i < n; i++)
        ((float *)data)[i] = 0.0f;
    tfr_dnn_add_matmul(b, y, vector, sum);
    tfr_dnn_add_binary(b, dnnl_binary_add, y, sum, y);
}

static void add_rows(tfr_dnn_build *b, int from, int to, int64_t rows, int64_t n)
{
    const tfr_dnn_use uses[] = {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}};
    tfr_dnn_make make = tfr_dnn_maker(b);

    if (b->status == TFR_OK)
        tfr_dnn_add(b, tfr_dnn_softmax(&make, false, tfr_dnn_md_of(b, from), 1), &make, "softmax",
                    uses, 2);
    if (n > 1)
        add_nan_rule(b, to, rows, n);
}

void tfr_dnn_softmax_prepare(tfr_dnn_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    int axis = (int)tfr_call_int(call, "axis", x->rank - 1);
    int64_t outer = tfr_operand_span(x, 0, axis), n = x->dims[axis];
    int64_t inner = tfr_operand_span(x, axis + 1, x->rank);
    const int64_t rows[2] = {outer * inner, n};
    const int64_t view[3] = {outer, inner, n}, strides[3] = {n * inner, 1, inner};
    tfr_dnn_cmd rows_md = tfr_dnn_plain(b, dnnl_f32, 2, rows), from, to;
    int t;

    if (inner == 1) {
        add_rows(b, tfr_dnn_input(b, 0, rows_md), tfr_dnn_output(b, 0, rows_md), rows[0], n);
        return;
    }
    from = tfr_dnn_strided(b, dnnl_f32, 3, view, strides);
    to = tfr_dnn_plain(b, dnnl_f32, 3, view);
    t = tfr_dnn_temporary(b, to);
    tfr_dnn_add_reorder(b, tfr_dnn_input(b, 0, from), t);
    add_rows(b, tfr_dnn_view(b, t, rows_md), tfr_dnn_view(b, t, rows_md), rows[0], n);
    tfr_dnn_add_reorder(b, t, tfr_dnn_output(b, 0, from));
}
