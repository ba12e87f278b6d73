/* SPDX-License-Identifier: Apache-2.0 */
/* infer_linalg.c: Inverse and Solve of domain "tfrun". Letters: A is N x N, B is N x K. */
#include "op/infer_kit.h"

/* Input i has square matrices in its last two dims. */
static tfr_status want_square(tfr__infer *in, tfr_err *err, uint32_t i)
{
    const tfr__type *t = tfr__in(in, i);
    tfr__text name;
    TFR__TRY(tfr__want_rank_min(in, err, i, 2));
    if (!tfr__differ(in, t->dims[t->rank - 1], t->dims[t->rank - 2]))
        return TFR_OK;
    return tfr__infer_fail(in, err, TFR_ESHAPE,
                           "input %s has matrices of %lld x %lld, want square ones",
                           tfr__in_name(in, i, &name), (long long)t->dims[t->rank - 2],
                           (long long)t->dims[t->rank - 1]);
}

tfr_status tfr__infer_inverse(tfr__infer *in, tfr_err *err)
{
    TFR__TRY(want_square(in, err, 0));
    return tfr__infer_same(in, err);
}

/* A [...,N,N] and B [...,N,K], batches broadcast, give X [...,N,K]; B [N] gives X [...,N]. */
tfr_status tfr__infer_solve(tfr__infer *in, tfr_err *err)
{
    const tfr__type *a = tfr__in(in, 0), *b = tfr__in(in, 1);
    tfr__dims shape = {.rank = 0};
    TFR__TRY(want_square(in, err, 0));
    TFR__TRY(tfr__want_rank_min(in, err, 1, 1));
    int64_t n = a->dims[a->rank - 1], rows = b->dims[b->rank > 1 ? b->rank - 2 : 0];
    if (tfr__differ(in, rows, n))
        return tfr__infer_fail(in, err, TFR_ESHAPE, "A is %lld x %lld and B has %lld rows",
                               (long long)n, (long long)n, (long long)rows);
    /* Rank 1 of B has no batch; the dims of the matrix come behind those of the batch. */
    int32_t na = a->rank - 2, nb = b->rank > 2 ? b->rank - 2 : 0;
    shape.rank = na > nb ? na : nb;
    for (int32_t i = 0; i < shape.rank; i++) {
        int64_t x = i < shape.rank - na ? 1 : a->dims[i - (shape.rank - na)];
        int64_t y = i < shape.rank - nb ? 1 : b->dims[i - (shape.rank - nb)];
        shape.d[i] = x;
        if (!tfr__broadcast_dim(in, &shape.d[i], y))
            return tfr__infer_fail(in, err, TFR_ESHAPE,
                                   "the batches of A and B do not broadcast: %lld and %lld",
                                   (long long)x, (long long)y);
    }
    shape.d[shape.rank++] = n;
    if (b->rank > 1)
        shape.d[shape.rank++] = b->dims[b->rank - 1];
    return tfr__out_dims(in, err, 0, a->dtype, &shape);
}
