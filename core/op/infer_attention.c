/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer_attention.c: Attention, RotaryEmbedding, LinearAttention. Letters: B batch, H heads, S
 * positions of Q, T positions of K and V, P positions of the past, D and Dv head sizes.
 */
#include <math.h>

#include "op/infer_kit.h"

/* [B, H, S, D] of an operand that is that or [B, S, H * D]. */
static tfr_status split_heads(tfr__infer *in, tfr_err *err, uint32_t i, const char *attr,
                              int64_t out[4])
{
    const tfr__type *t = tfr__in(in, i);
    tfr__text name, dims;
    if (t->rank == 4) {
        for (int k = 0; k < 4; k++)
            out[k] = t->dims[k];
    } else if (t->rank == 3) {
        int64_t heads = tfr__attr_int(in->attrs, attr, 0);
        if (heads < 1 || (t->dims[2] >= 0 && t->dims[2] % heads))
            return tfr__infer_fail(
                in, err, TFR_ESHAPE, "%s is %lld, which does not divide the last dim of %s %s",
                attr, (long long)heads, tfr__in_name(in, i, &name), tfr__type_text(t, &dims));
        out[0] = t->dims[0];
        out[1] = heads;
        out[2] = t->dims[1];
        out[3] = t->dims[2] < 0 ? tfr__dim_div(in, t->dims[2], heads) : t->dims[2] / heads;
    } else {
        return tfr__infer_fail(in, err, TFR_ESHAPE, "input %s %s has rank %d, want 3 or 4",
                               tfr__in_name(in, i, &name), tfr__type_text(t, &dims), (int)t->rank);
    }
    if (out[1] == 0 || out[3] == 0)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "input %s %s has heads of no size",
                               tfr__in_name(in, i, &name), tfr__type_text(t, &dims));
    return TFR_OK;
}

/* The mask broadcasts to [B, H, S, total]; its last dim may be shorter. */
static tfr_status check_mask(tfr__infer *in, tfr_err *err, const int64_t full[4])
{
    const tfr__type *m = tfr__in(in, 3);
    tfr__dims shape = {.rank = 4, .d = {full[0], full[1], full[2], full[3]}};
    if (!m || !m->shape_known)
        return TFR_OK;
    TFR__TRY(tfr__want_rank_min(in, err, 3, 1));
    const int64_t own = m->dims[m->rank - 1];
    if (own < full[3] || full[3] < 0) {
        tfr__differ(in, own, full[3]); /* a guess, unless both are one symbol */
        shape.d[3] = own;
    }
    return tfr__broadcasts_to(in, err, 3, &shape);
}

static tfr_status check_attention_attrs(tfr__infer *in, tfr_err *err)
{
    int64_t precision = tfr__attr_int(in->attrs, "softmax_precision", TFR_DTYPE_F32);
    int64_t mode = tfr__attr_int(in->attrs, "qk_matmul_output_mode", 0);
    int64_t left = tfr__attr_int(in->attrs, "left_window_size", -1);
    int64_t right = tfr__attr_int(in->attrs, "right_window_size", -1);
    if (precision != TFR_DTYPE_F32 && precision != TFR_DTYPE_F16 && precision != TFR_DTYPE_F64 &&
        precision != TFR_DTYPE_BF16)
        return tfr__infer_fail(in, err, TFR_EDTYPE, "softmax_precision is %lld, no float type",
                               (long long)precision);
    if (mode < 0 || mode > 3)
        return tfr__infer_fail(in, err, TFR_EMODEL, "qk_matmul_output_mode is %lld, want 0...3",
                               (long long)mode);
    if (left < -1 || right < -1)
        return tfr__infer_fail(in, err, TFR_EMODEL,
                               "the window sizes are %lld and %lld, want -1...", (long long)left,
                               (long long)right);
    return TFR_OK;
}

static tfr_status set_heads(tfr__infer *in, tfr_err *err, int64_t q, int64_t kv, int64_t size)
{
    float scale = (float)(1 / sqrt((double)size));
    TFR__TRY(tfr__attr_set_int(in->attrs, "q_num_heads", q, err));
    TFR__TRY(tfr__attr_set_int(in->attrs, "kv_num_heads", kv, err));
    return tfr__attr_set_float(in->attrs, "scale", tfr__attr_float(in->attrs, "scale", scale), err);
}

tfr_status tfr__infer_attention(tfr__infer *in, tfr_err *err)
{
    const tfr__type *q = tfr__in(in, 0), *past = tfr__in(in, 4);
    int64_t Q[4], K[4], V[4], total;
    TFR__TRY(check_attention_attrs(in, err));
    TFR__TRY(split_heads(in, err, 0, "q_num_heads", Q));
    TFR__TRY(tfr__want_rank(in, err, 1, q->rank));
    TFR__TRY(tfr__want_rank(in, err, 2, q->rank));
    TFR__TRY(split_heads(in, err, 1, "kv_num_heads", K));
    TFR__TRY(split_heads(in, err, 2, "kv_num_heads", V));
    if (tfr__differ(in, K[0], Q[0]) || tfr__differ(in, V[0], Q[0]) || tfr__differ(in, K[1], V[1]) ||
        tfr__differ(in, K[2], V[2]) || tfr__differ(in, K[3], Q[3]))
        return tfr__infer_fail(
            in, err, TFR_ESHAPE,
            "Q [%lld,%lld,%lld,%lld], K [%lld,%lld,%lld,%lld] and V [%lld,%lld,%lld,%lld] (batch, "
            "heads, positions, head size) do not fit",
            (long long)Q[0], (long long)Q[1], (long long)Q[2], (long long)Q[3], (long long)K[0],
            (long long)K[1], (long long)K[2], (long long)K[3], (long long)V[0], (long long)V[1],
            (long long)V[2], (long long)V[3]);
    if (Q[1] < 0 || K[1] < 0 || Q[3] < 0 || V[3] < 0) /* attributes, or what heads divide */
        in->symbols->guessed = true;
    if (Q[1] >= 0 && K[1] >= 0 && Q[1] % K[1])
        return tfr__infer_fail(in, err, TFR_ESHAPE, "%lld heads of Q are no multiple of %lld of K",
                               (long long)Q[1], (long long)K[1]);
    if (!past != !tfr__in(in, 5))
        return tfr__infer_fail(in, err, TFR_EMODEL, "past_key and past_value come together");
    if (tfr__in(in, 6) && (past || tfr__wants(in, 1) || tfr__wants(in, 2)))
        return tfr__infer_fail(in, err, TFR_EMODEL,
                               "nonpad_kv_seqlen does not go with past or present keys");
    TFR__TRY(tfr__want_rank(in, err, 4, 4));
    int64_t p = past ? past->dims[2] : 0;
    tfr__dims keys = {.rank = 4, .d = {Q[0], K[1], p, Q[3]}};
    tfr__dims values = {.rank = 4, .d = {Q[0], K[1], p, V[3]}};
    TFR__TRY(tfr__want_shape(in, err, 4, &keys));
    TFR__TRY(tfr__want_shape(in, err, 5, &values));
    TFR__TRY(tfr__want_vector(in, err, 6, Q[0], "batch"));
    TFR__TRY(tfr__add_dims(in, err, "total_sequence_length", p, K[2], &total));
    int64_t scores[4] = {Q[0], Q[1], Q[2], total};
    TFR__TRY(check_mask(in, err, scores));
    keys.d[2] = values.d[2] = total;
    tfr__dims y = {.rank = 4, .d = {Q[0], Q[1], Q[2], V[3]}};
    if (q->rank == 3) {
        y = (tfr__dims){.rank = 3, .d = {Q[0], Q[2], 0}};
        TFR__TRY(tfr__mul_dims(in, err, "hidden size", Q[1], V[3], &y.d[2]));
    }
    TFR__TRY(tfr__out_dims(in, err, 0, q->dtype, &y));
    TFR__TRY(tfr__out_dims(in, err, 1, q->dtype, &keys));
    TFR__TRY(tfr__out_dims(in, err, 2, tfr__in(in, 2)->dtype, &values));
    TFR__TRY(tfr__out(in, err, 3, q->dtype, 4, scores));
    return set_heads(in, err, Q[1], K[1], Q[3]);
}

tfr_status tfr__infer_rotary_embedding(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    int64_t X[4], rotary = tfr__attr_int(in->attrs, "rotary_embedding_dim", 0);
    TFR__TRY(split_heads(in, err, 0, "num_heads", X));
    if (rotary == 0)
        rotary = X[3];
    if (rotary < 0 && tfr__is_symbolic(in)) /* a symbol, or wrong */
        return tfr__out_like(in, err, 0, x->dtype, x);
    if (rotary < 0 || (X[3] >= 0 && rotary > X[3]) || rotary % 2)
        return tfr__infer_fail(in, err, TFR_ESHAPE,
                               "rotary_embedding_dim is %lld, want an even number up to the head "
                               "size %lld",
                               (long long)rotary, (long long)X[3]);
    tfr__dims cache = {.rank = 3, .d = {X[0], X[2], rotary / 2}};
    tfr__dims ids = {.rank = 2, .d = {X[0], X[2]}};
    if (tfr__in(in, 3)) {
        TFR__TRY(tfr__want_rank(in, err, 1, 2));
        cache = (tfr__dims){.rank = 2, .d = {tfr__in(in, 1)->dims[0], rotary / 2}};
    }
    TFR__TRY(tfr__want_shape(in, err, 1, &cache));
    TFR__TRY(tfr__want_shape(in, err, 2, &cache));
    TFR__TRY(tfr__want_shape(in, err, 3, &ids));
    TFR__TRY(tfr__attr_set_int(in->attrs, "num_heads", X[1], err));
    TFR__TRY(tfr__attr_set_int(in->attrs, "rotary_embedding_dim", rotary, err));
    return tfr__out_like(in, err, 0, x->dtype, x);
}

/* decay and beta: which the rule needs, and their shapes. */
static tfr_status check_gates(tfr__infer *in, tfr_err *err, const int64_t K[4])
{
    const char *rule = tfr__attr_string(in->attrs, "update_rule", "gated_delta");
    const tfr__type *decay = tfr__in(in, 4), *beta = tfr__in(in, 5);
    bool gated = rule[0] == 'g', delta = rule[0] == 'd' || (gated && rule[5] == '_');
    if ((gated && !decay) || (delta && !beta))
        return tfr__infer_fail(in, err, TFR_EMODEL, "update_rule %s needs input %s", rule,
                               gated && !decay ? "decay" : "beta");
    if ((!gated && decay) || (!delta && beta))
        return tfr__infer_fail(in, err, TFR_EMODEL, "update_rule %s takes no input %s", rule,
                               !gated && decay ? "decay" : "beta");
    tfr__dims shape = {.rank = 3, .d = {K[0], K[2], K[1]}};
    if (decay && decay->rank == 3 && tfr__differ(in, decay->dims[2], K[1]))
        TFR__TRY(tfr__mul_dims(in, err, "decay", K[1], K[3], &shape.d[2]));
    else if (K[1] < 0)
        shape.d[2] = tfr__new_dim(in);
    TFR__TRY(tfr__want_shape(in, err, 4, &shape));
    shape.d[2] = beta && beta->rank == 3 && beta->dims[2] == 1 ? 1 : K[1];
    return tfr__want_shape(in, err, 5, &shape);
}

tfr_status tfr__infer_linear_attention(tfr__infer *in, tfr_err *err)
{
    const tfr__type *q = tfr__in(in, 0);
    int64_t Q[4], K[4], V[4];
    for (uint32_t i = 0; i < 3; i++)
        TFR__TRY(tfr__want_rank(in, err, i, 3));
    TFR__TRY(split_heads(in, err, 0, "q_num_heads", Q));
    TFR__TRY(split_heads(in, err, 1, "kv_num_heads", K));
    TFR__TRY(split_heads(in, err, 2, "kv_num_heads", V));
    if (tfr__differ(in, K[0], Q[0]) || tfr__differ(in, V[0], Q[0]) || tfr__differ(in, K[2], Q[2]) ||
        tfr__differ(in, V[2], Q[2]) || tfr__differ(in, K[3], Q[3]) ||
        (Q[1] >= 0 && K[1] >= 0 && Q[1] % K[1]))
        return tfr__infer_fail(in, err, TFR_ESHAPE,
                               "query, key and value do not fit: batch %lld, %lld, %lld, positions "
                               "%lld, %lld, %lld, heads %lld, %lld, head size %lld, %lld",
                               (long long)Q[0], (long long)K[0], (long long)V[0], (long long)Q[2],
                               (long long)K[2], (long long)V[2], (long long)Q[1], (long long)K[1],
                               (long long)Q[3], (long long)K[3]);
    TFR__TRY(check_gates(in, err, K));
    tfr__dims state = {.rank = 4, .d = {Q[0], K[1], K[3], V[3]}};
    tfr__dims y = {.rank = 3, .d = {Q[0], Q[2], 0}};
    TFR__TRY(tfr__mul_dims(in, err, "output", Q[1], V[3], &y.d[2]));
    TFR__TRY(tfr__want_shape(in, err, 3, &state));
    if (tfr__attr_float(in->attrs, "scale", 0) == 0)
        TFR__TRY(tfr__attr_set_float(in->attrs, "scale", (float)(1 / sqrt((double)Q[3])), err));
    TFR__TRY(tfr__out_dims(in, err, 0, q->dtype, &y));
    return tfr__out_dims(in, err, 1, tfr__in(in, 3) ? tfr__in(in, 3)->dtype : q->dtype, &state);
}
