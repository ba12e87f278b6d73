/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matmul.c: MatMul with NumPy's broadcasting, and Gemm. M K N are the dims of the product, B the
 * batch dims. A constant right side is packed once into the layout that the library likes.
 */
#include <string.h>

#include "families.h"
#include "matmul.h"

/* ---- MatMul ---- */

static int64_t batch_dim(const tfr_operand *o, int batch_rank, int i)
{
    int at = i - (batch_rank - (o->rank - 2));
    return o->rank < 3 || at < 0 ? 1 : o->dims[at];
}

void onednn_read_product(const tfr_operand *a, const tfr_operand *b, onednn_product_dims *p)
{
    int64_t m = a->rank == 1 ? 1 : a->dims[a->rank - 2], k = a->dims[a->rank - 1];
    int64_t n = b->rank == 1 ? 1 : b->dims[b->rank - 1];
    int batch = (a->rank > b->rank ? a->rank : b->rank) - 2, last = -1, i;
    bool b_has_batch = false;

    for (i = 0; i < batch; i++) {
        int64_t in_a = batch_dim(a, batch, i), in_b = batch_dim(b, batch, i);
        int64_t out = in_a > in_b ? in_a : in_b;
        if (out == 1)
            continue;
        b_has_batch = b_has_batch || in_b > 1;
        if (last >= 0 && (p->a[last] == p->c[last]) == (in_a == out) &&
            (p->b[last] == p->c[last]) == (in_b == out)) {
            p->a[last] *= in_a;
            p->b[last] *= in_b;
            p->c[last] *= out;
            continue;
        }
        last++;
        p->a[last] = in_a;
        p->b[last] = in_b;
        p->c[last] = out;
    }
    if (!b_has_batch && last >= 0) { /* then a's batch is only more rows */
        m *= p->a[0];
        last = -1;
    }
    last++;
    p->rank = last + 2;
    p->a[last] = p->c[last] = m;
    p->a[last + 1] = p->b[last] = k;
    p->b[last + 1] = p->c[last + 1] = n;
}

void onednn_matmul_supports(const tfr_plugin_device *device, const tfr_call *call,
                            tfr_answer *answer)
{
    onednn_product_dims p;

    if (!onednn_want_float(device, call, answer, 0, true) ||
        !onednn_want_rank(call, answer, 0, 1, DNNL_MAX_NDIMS) ||
        !onednn_want_rank(call, answer, 1, 1, DNNL_MAX_NDIMS))
        return;
    onednn_read_product(tfr_call_input(call, 0), tfr_call_input(call, 1), &p);
    if (p.rank > 5)
        tfr_decline(answer, TFR_REASON_RANK, "%d batch dims do not merge, 3 are done here",
                    p.rank - 2);
}

/* c = a x b + bias; bias is a tensor or -1. ops = post-ops or NULL. */
static void add_product(onednn_build *b, int left, int right, int bias, int to, dnnl_post_ops_t ops)
{
    onednn_cmd right_md = onednn_md_of(b, right), any = right_md;
    onednn_make make = onednn_maker(b);
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t status;
    onednn_use uses[4] = {
        {DNNL_ARG_SRC, left}, {DNNL_ARG_WEIGHTS, right}, {DNNL_ARG_DST, to}, {DNNL_ARG_BIAS, bias}};

    if (b->status == TFR_OK && b->tensors[right].known)
        any = onednn_any_like(b, right);
    if (b->status != TFR_OK)
        return;
    if (ops && dnnl_primitive_attr_clone(&attr, b->attr) == dnnl_success) {
        dnnl_primitive_attr_set_post_ops(attr, ops);
        make.attr = attr;
    }
    status = onednn_matmul(&make, onednn_md_of(b, left), any,
                           bias < 0 ? NULL : onednn_md_of(b, bias), onednn_md_of(b, to));
    if (status == dnnl_success && any != right_md)
        uses[1].tensor =
            onednn_as(b, right, dnnl_primitive_desc_query_md(make.pd, dnnl_query_weights_md, 0));
    onednn_add(b, status, &make, "matmul", uses, 4);
    if (attr)
        dnnl_primitive_attr_destroy(attr);
}

void onednn_matmul_prepare(onednn_build *b, const tfr_call *call)
{
    dnnl_data_type_t type = onednn_type(tfr_call_input(call, 0)->dtype);
    onednn_product_dims p;

    onednn_read_product(tfr_call_input(call, 0), tfr_call_input(call, 1), &p);
    add_product(b, onednn_input(b, 0, onednn_plain(b, type, p.rank, p.a)),
                onednn_input(b, 1, onednn_plain(b, type, p.rank, p.b)), -1,
                onednn_output(b, 0, onednn_plain(b, type, p.rank, p.c)), NULL);
}

/* ---- Gemm: alpha * a' x b' + beta * c ---- */

void onednn_gemm_supports(const tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer)
{
    if (onednn_want_float(device, call, answer, 0, true))
        onednn_want_rank(call, answer, 0, 2, 2);
}

static onednn_cmd matrix_md(onednn_build *b, const tfr_operand *o, bool transposed)
{
    const int64_t dims[2] = {o->dims[1], o->dims[0]}, strides[2] = {1, o->dims[1]};
    return transposed ? onednn_strided(b, dnnl_f32, 2, dims, strides) : onednn_wide(b, o);
}

/* c as [rows, columns] of 1 or M, 1 or N. */
static onednn_cmd addend_md(onednn_build *b, const tfr_operand *c)
{
    const int64_t dims[2] = {c->rank > 1 ? c->dims[c->rank - 2] : 1,
                             c->rank > 0 ? c->dims[c->rank - 1] : 1};
    return onednn_plain(b, dnnl_f32, 2, dims);
}

static bool is_bias(const tfr_operand *c, int64_t n)
{
    return c->rank > 0 && c->dims[c->rank - 1] == n && tfr_operand_elements(c) == n;
}

/* y += beta * c */
static void add_addend(onednn_build *b, const tfr_operand *c, float beta, int y)
{
    onednn_cmd md = addend_md(b, c);
    int addend = onednn_input(b, 2, md);

    if (beta != 1.0f) {
        int t = onednn_temporary(b, md);
        onednn_add_eltwise(b, dnnl_eltwise_linear, beta, 0.0f, addend, t);
        addend = t;
    }
    onednn_add_binary(b, dnnl_binary_add, y, addend, y);
}

void onednn_gemm_prepare(onednn_build *b, const tfr_call *call)
{
    const tfr_operand *c = tfr_call_input(call, 2), *y = tfr_call_output(call, 0);
    float alpha = tfr_call_float(call, "alpha", 1.0f), beta = tfr_call_float(call, "beta", 1.0f);
    bool bias = c && alpha == 1.0f && beta == 1.0f && is_bias(c, y->dims[1]);
    dnnl_post_ops_t ops = NULL;
    int left, right, to;

    left = onednn_input(
        b, 0, matrix_md(b, tfr_call_input(call, 0), tfr_call_int(call, "transA", 0) != 0));
    right = onednn_input(
        b, 1, matrix_md(b, tfr_call_input(call, 1), tfr_call_int(call, "transB", 0) != 0));
    to = onednn_output(b, 0, onednn_wide(b, y));
    if (alpha != 1.0f && dnnl_post_ops_create(&ops) == dnnl_success)
        onednn_post_eltwise(ops, dnnl_eltwise_linear, alpha, 0.0f);
    if (alpha != 1.0f && !ops)
        onednn_build_fail(b, TFR_ENOMEM, "no memory for post-ops");
    add_product(b, left, right, bias ? onednn_input(b, 2, addend_md(b, c)) : -1, to, ops);
    if (ops)
        dnnl_post_ops_destroy(ops);
    if (c && !bias && beta != 0.0f)
        add_addend(b, c, beta, to);
}
