/* SPDX-License-Identifier: Apache-2.0 */
/* infer_matmul.c: matrix products and Det. Letters: A is M x K, B is K x N. Einsum has its own. */
#include "op/infer_kit.h"

/* numpy.matmul on inputs a and b: a vector is a matrix whose other dim is dropped afterwards. */
static tfr_status matmul_shape(tfr__infer *in, tfr_err *err, uint32_t a, uint32_t b, tfr__dims *out)
{
    const tfr__type *A = tfr__in(in, a), *B = tfr__in(in, b);
    tfr__text at, bt, an, bn;
    TFR__TRY(tfr__want_rank_min(in, err, a, 1));
    TFR__TRY(tfr__want_rank_min(in, err, b, 1));
    int64_t k = A->dims[A->rank - 1], k2 = B->dims[B->rank > 1 ? B->rank - 2 : 0];
    if (tfr__differ(in, k, k2))
        return tfr__infer_fail(in, err, TFR_ESHAPE,
                               "inputs %s %s and %s %s: inner dims %lld and "
                               "%lld differ",
                               tfr__in_name(in, a, &an), tfr__type_text(A, &at),
                               tfr__in_name(in, b, &bn), tfr__type_text(B, &bt), (long long)k,
                               (long long)k2);
    int32_t na = A->rank > 2 ? A->rank - 2 : 0, nb = B->rank > 2 ? B->rank - 2 : 0;
    int32_t n = na > nb ? na : nb;
    for (int32_t i = 0; i < n; i++) {
        int64_t x = i - (n - na) < 0 ? 1 : A->dims[i - (n - na)];
        int64_t y = i - (n - nb) < 0 ? 1 : B->dims[i - (n - nb)];
        out->d[i] = x;
        if (!tfr__broadcast_dim(in, &out->d[i], y))
            return tfr__infer_fail(in, err, TFR_ESHAPE,
                                   "inputs %s %s and %s %s: batch dims %lld and %lld do not "
                                   "broadcast",
                                   tfr__in_name(in, a, &an), tfr__type_text(A, &at),
                                   tfr__in_name(in, b, &bn), tfr__type_text(B, &bt), (long long)x,
                                   (long long)y);
    }
    out->rank = n;
    if (A->rank > 1)
        out->d[out->rank++] = A->dims[A->rank - 2];
    if (B->rank > 1)
        out->d[out->rank++] = B->dims[B->rank - 1];
    return TFR_OK;
}

tfr_status tfr__infer_matmul(tfr__infer *in, tfr_err *err)
{
    tfr__dims shape;
    TFR__TRY(matmul_shape(in, err, 0, 1, &shape));
    return tfr__out_dims(in, err, 0, tfr__in(in, 0)->dtype, &shape);
}

/*
 * A scale or zero point of matrix input m: one element, or one for each row (by_row) or column:
 * [n], or with the batch in front [..., n, 1] or [..., 1, n].
 */
static tfr_status check_quant(tfr__infer *in, tfr_err *err, uint32_t i, const tfr__type *matrix,
                              bool by_row)
{
    const tfr__type *t = tfr__in(in, i);
    tfr__text name, dims;
    if (!t || !t->rank || (t->rank == 1 && !tfr__differ(in, t->dims[0], 1)))
        return TFR_OK;
    int32_t r = matrix->rank;
    int64_t n = r < 2 ? 1 : matrix->dims[by_row ? r - 2 : r - 1];
    bool fits = t->rank == 1 && !tfr__differ(in, t->dims[0], n);
    if (t->rank > 1 && t->rank == r) {
        fits = !tfr__differ(in, t->dims[r - 1], by_row ? 1 : n) &&
               !tfr__differ(in, t->dims[r - 2], by_row ? n : 1);
        for (int32_t k = 0; fits && k < r - 2; k++)
            fits = !tfr__differ(in, t->dims[k], matrix->dims[k]);
    }
    if (fits)
        return TFR_OK;
    return tfr__infer_fail(in, err, TFR_ESHAPE,
                           "input %s has shape %s, want one element or %lld "
                           "(one a %s)",
                           tfr__in_name(in, i, &name), tfr__type_text(t, &dims), (long long)n,
                           by_row ? "row" : "column");
}

tfr_status tfr__infer_matmul_integer(tfr__infer *in, tfr_err *err)
{
    tfr__dims shape;
    TFR__TRY(matmul_shape(in, err, 0, 1, &shape));
    TFR__TRY(check_quant(in, err, 2, tfr__in(in, 0), true));
    TFR__TRY(check_quant(in, err, 3, tfr__in(in, 1), false));
    return tfr__out_dims(in, err, 0, TFR_DTYPE_I32, &shape);
}

tfr_status tfr__infer_qlinear_matmul(tfr__infer *in, tfr_err *err)
{
    tfr__dims shape;
    tfr__type y = {0};
    TFR__TRY(matmul_shape(in, err, 0, 3, &shape));
    y.rank = shape.rank;
    for (int32_t i = 0; i < shape.rank; i++)
        y.dims[i] = shape.d[i];
    for (uint32_t i = 1; i <= 2; i++) {
        TFR__TRY(check_quant(in, err, i, tfr__in(in, 0), true));
        TFR__TRY(check_quant(in, err, i + 3, tfr__in(in, 3), false));
        TFR__TRY(check_quant(in, err, i + 5, &y, true));
    }
    return tfr__out_dims(in, err, 0, tfr__in(in, 7)->dtype, &shape);
}

tfr_status tfr__infer_gemm(tfr__infer *in, tfr_err *err)
{
    const tfr__type *a = tfr__in(in, 0), *b = tfr__in(in, 1);
    TFR__TRY(tfr__want_rank(in, err, 0, 2));
    TFR__TRY(tfr__want_rank(in, err, 1, 2));
    int ta = tfr__attr_int(in->attrs, "transA", 0) != 0;
    int tb = tfr__attr_int(in->attrs, "transB", 0) != 0;
    tfr__dims shape = {.rank = 2, .d = {a->dims[ta], b->dims[!tb]}};
    if (tfr__differ(in, a->dims[!ta], b->dims[tb]))
        return tfr__infer_fail(
            in, err, TFR_ESHAPE,
            "A is %lld x %lld%s and B is %lld x %lld%s: inner dims %lld and %lld "
            "differ",
            (long long)a->dims[0], (long long)a->dims[1], ta ? " transposed" : "",
            (long long)b->dims[0], (long long)b->dims[1], tb ? " transposed" : "",
            (long long)a->dims[!ta], (long long)b->dims[tb]);
    TFR__TRY(tfr__broadcasts_to(in, err, 2, &shape));
    return tfr__out_dims(in, err, 0, a->dtype, &shape);
}

tfr_status tfr__infer_det(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    TFR__TRY(tfr__want_rank_min(in, err, 0, 2));
    if (tfr__differ(in, x->dims[x->rank - 1], x->dims[x->rank - 2]))
        return tfr__infer_fail(in, err, TFR_ESHAPE,
                               "X has matrices of %lld x %lld, want square ones",
                               (long long)x->dims[x->rank - 2], (long long)x->dims[x->rank - 1]);
    return tfr__out(in, err, 0, x->dtype, x->rank - 2, x->dims);
}
