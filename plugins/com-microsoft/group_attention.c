/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_attention.c: RotaryEmbedding, and GroupQueryAttention, of which it is a part: attention
 * with heads of keys that several heads of queries share, over a cache of keys and values.
 */
#include "text.h"

#include <string.h>

/* ---- RotaryEmbedding ------------------------------------------------------------------------- */

/*
 * out = x, [B S heads size], turned: with its first rotary elements as two halves a and b, or as
 * pairs, (a cos - b sin, b cos + a sin). c and s are [B S 1 rotary/2], of the positions.
 */
static void rotate(contrib_text *t, const char *x, const char *out, int64_t rotary, bool pairs)
{
    if (rotary > 0)
        contrib_write(t,
                      "%shead, %srest = Split[axis=3](%s, Concat[axis=0]({%lld}, "
                      "Sub(Shape[start=3,end=4](%s), {%lld})))",
                      x, x, x, (long long)rotary, x, (long long)rotary);
    else
        contrib_write(t, "%shead = Identity(%s)", x, x);
    if (pairs)
        contrib_write(t,
                      "%st = Transpose[perm={0,1,2,4,3}](Reshape(%shead, {0,0,0,-1,2}))\n"
                      "%sa = Gather[axis=3](%st, 0)\n%sb = Gather[axis=3](%st, 1)",
                      x, x, x, x, x, x);
    else
        contrib_write(t, "%sa, %sb = Split[axis=3,num_outputs=2](%shead)", x, x, x);
    contrib_write(t, "%sc = Sub(Mul(%sa, c), Mul(%sb, s))\n%sd = Add(Mul(%sb, c), Mul(%sa, s))", x,
                  x, x, x, x, x);
    if (pairs)
        contrib_write(t,
                      "%se = Reshape(Concat[axis=4](Unsqueeze(%sc, {4}), Unsqueeze(%sd, {4})), "
                      "{0,0,0,-1})",
                      x, x, x);
    else
        contrib_write(t, "%se = Concat[axis=3](%sc, %sd)", x, x, x);
    contrib_write(t, rotary > 0 ? "%s = Concat[axis=3](%se, %srest)" : "%s = Identity(%se)", out, x,
                  x);
}

/* c and s of positions: [B S 1 rotary/2]. */
static void look_up(contrib_text *t)
{
    contrib_write(t, "c = Unsqueeze(Gather(cos_cache, places), {2})\n"
                     "s = Unsqueeze(Gather(sin_cache, places), {2})");
}

static int32_t write_rotary(contrib_text *t, tfr_err *err)
{
    const tfr_call *call = t->call;
    const int64_t dim = tfr_call_int(call, "rotary_embedding_dim", 0), half = contrib_dim(t, 2, 1),
                  heads = tfr_call_int(call, "num_heads", 0);
    const bool pairs = tfr_call_int(call, "interleaved", 0) != 0;
    int32_t rank, ids, status = contrib_need_rank(t, 0, &rank, err);
    if (!status)
        status = contrib_need_rank(t, 1, &ids, err);
    if (!status)
        status = contrib_only(t, "is_packed_batching", 0, err);
    if (!status && tfr_call_float(call, "scale", 1) != 1)
        status = tfr_fail(err, TFR_EUNSUPPORTED, "RotaryEmbedding with a scale other than 1");
    if (!status && (rank < 3 || rank > 4 || ids > 2))
        status = tfr_fail(err, TFR_ESHAPE, "RotaryEmbedding of rank %d at positions of rank %d",
                          (int)rank, (int)ids);
    if (!status && rank == 3 && dim == 0 && half < 1)
        status =
            tfr_fail(err, TFR_EUNSUPPORTED, "RotaryEmbedding with a cos_cache of unknown width");
    if (!status && dim > 0 && heads < 1)
        status = tfr_fail(err, TFR_EMODEL, "rotary_embedding_dim wants num_heads");
    if (status)
        return status;
    if (rank == 4)
        contrib_write(t, "x = Transpose[perm={0,2,1,3}](input)");
    else if (dim > 0)
        contrib_write(t, "x = Reshape(input, {0,0,%lld,-1})", (long long)heads);
    else
        contrib_write(t, "x = Reshape(input, {0,0,-1,%lld})", (long long)(2 * half));
    if (ids == 1) /* where the sequence begins */
        contrib_write(t,
                      "places = Unsqueeze(Add(Range(0, Reshape(Shape[start=1,end=2](x), {}), 1), "
                      "position_ids), {0})");
    else
        contrib_write(t, "places = Identity(position_ids)");
    look_up(t);
    rotate(t, "x", "y", dim, pairs);
    contrib_write(t, rank == 4 ? "output = Transpose[perm={0,2,1,3}](y)"
                               : "output = Reshape(y, {0,0,-1})");
    return TFR_OK;
}

/* ---- GroupQueryAttention --------------------------------------------------------------------- */

static int32_t check_group(const contrib_text *t, tfr_err *err)
{
    static const char *const none[] = {"k_quant_type", "v_quant_type"};
    const tfr_call *call = t->call;
    int32_t status = contrib_only(t, "qk_output", 0, err);
    for (int i = 0; !status && i < 2; i++)
        if (strcmp(tfr_call_string(call, none[i], "NONE"), "NONE") != 0)
            status = tfr_fail(err, TFR_EUNSUPPORTED, "GroupQueryAttention with a quantized cache");
    if (!status)
        status = contrib_only(t, "sliding_window_cache", 0, err);
    if (!status && tfr_call_int(call, "smooth_softmax", -1) > 0)
        status = contrib_only(t, "smooth_softmax", 0, err);
    if (!status)
        status = contrib_without(t, 11, "head_sink", err);
    if (!status)
        status = contrib_without(t, 14, "q_norm_weight", err);
    if (!status)
        status = contrib_no_output(t, 3, "output_qk", err);
    if (!status && contrib_has(t, 1) != contrib_has(t, 2))
        status = tfr_fail(err, TFR_EMODEL, "GroupQueryAttention with one of key and value");
    return status;
}

/* present = past with the new rows x, [B heads S size], from begin on; its length is L at least. */
static void append(contrib_text *t, const char *past, const char *x, const char *present)
{
    if (contrib_dim(t, 0, 0) == 1)
        contrib_write(t,
                      "%s = Concat[axis=2](Slice(%s, {0}, begin, {2}), %s, Slice(%s, end, "
                      "{9223372036854775807}, {2}))",
                      present, past, x, past);
    else
        contrib_write(t,
                      "%s = TensorScatter[axis=2](Pad(%s, Concat[axis=0]({0,0,0,0,0,0}, Sub(L, "
                      "Shape[start=2,end=3](%s)), {0})), %s, begin)",
                      present, past, past, x);
}

/* a, b, d = query, key and value as [B S heads size]. */
static void split_group(contrib_text *t, int64_t heads, int64_t kv)
{
    if (contrib_has(t, 1))
        contrib_write(t,
                      "a = Reshape(query, {0,0,%lld,-1})\nb = Reshape(key, {0,0,%lld,-1})\n"
                      "d = Reshape(value, {0,0,%lld,-1})",
                      (long long)heads, (long long)kv, (long long)kv);
    else
        contrib_write(t, "a, b, d = Split[axis=2](Reshape(query, {0,0,%lld,-1}), {%lld,%lld,%lld})",
                      (long long)(heads + 2 * kv), (long long)heads, (long long)kv, (long long)kv);
}

/*
 * lens of the batch, with the new rows, come as seqlens_k + 1. A cache that is longer keeps its
 * length; a prompt begins at 0, whatever is padding behind it.
 */
static int32_t write_group(contrib_text *t, tfr_err *err)
{
    const tfr_call *call = t->call;
    const int64_t heads = tfr_call_int(call, "num_heads", 0),
                  kv = tfr_call_int(call, "kv_num_heads", 0),
                  window = tfr_call_int(call, "local_window_size", -1), half = contrib_dim(t, 7, 1);
    const bool past = contrib_has(t, 3), turned = tfr_call_int(call, "do_rotary", 0) != 0;
    const double scale = (double)tfr_call_float(call, "scale", 0),
                 cap = (double)tfr_call_float(call, "softcap", 0);
    char more[96] = "";
    size_t at = 0;
    int32_t status = check_group(t, err);
    if (!status && (heads < 1 || kv < 1 || heads % kv))
        status = tfr_fail(err, TFR_EMODEL, "num_heads %lld is no multiple of kv_num_heads %lld",
                          (long long)heads, (long long)kv);
    if (!status && turned && (!contrib_has(t, 7) || !contrib_has(t, 8) || half < 1))
        status = tfr_fail(err, TFR_EUNSUPPORTED, "do_rotary without a cos_cache of known width");
    if (status)
        return status;
    split_group(t, heads, kv);
    contrib_write(t, "S = Shape[start=1,end=2](a)\n"
                     "n = Add(Cast[to=7](Reshape(seqlens_k, {-1})), 1)\n"
                     "begin = Max(Sub(n, S), 0)\n"
                     "lens = Max(n, S)");
    if (turned) {
        contrib_write(t, contrib_has(t, 9)
                             ? "places = Identity(position_ids)"
                             : "places = Add(Unsqueeze(begin, {1}), Unsqueeze(Range(0, Reshape(S, "
                               "{}), 1), {0}))");
        look_up(t);
        const int64_t width = contrib_dim(t, 0, 2) / (contrib_has(t, 1) ? heads : heads + 2 * kv);
        const int64_t rotary = width > 2 * half ? 2 * half : 0; /* 0: all of a head */
        rotate(t, "a", "aq", rotary, tfr_call_int(call, "rotary_interleaved", 0) != 0);
        rotate(t, "b", "bk", rotary, tfr_call_int(call, "rotary_interleaved", 0) != 0);
    } else {
        contrib_write(t, "aq = Identity(a)\nbk = Identity(b)");
    }
    contrib_write(t, "q = Transpose[perm={0,2,1,3}](aq)\nx = Transpose[perm={0,2,1,3}](bk)\n"
                     "z = Transpose[perm={0,2,1,3}](d)");
    if (past) {
        contrib_write(t, "end = Add(begin, S)\n"
                         "L = Max(Shape[start=2,end=3](past_key), Cast[to=7](Reshape("
                         "total_sequence_length, {1})))");
        append(t, "past_key", "x", "k");
        append(t, "past_value", "z", "v");
    } else {
        contrib_write(t, "k = Identity(x)\nv = Identity(z)");
    }
    if (scale != 0)
        at += (size_t)snprintf(more + at, sizeof(more) - at, ",scale=%.9e", scale);
    if (cap != 0)
        at += (size_t)snprintf(more + at, sizeof(more) - at, ",softcap=%.9e", cap);
    if (window > 0)
        snprintf(more + at, sizeof(more) - at, ",left_window_size=%lld", (long long)window - 1);
    contrib_write(t,
                  "y = Attention[is_causal=%d%s](q, k, v, %s, _, _, lens)\n"
                  "output = Reshape(Transpose[perm={0,2,1,3}](y), {0,0,-1})",
                  tfr_call_int(call, "causal", 1) != 0, more,
                  contrib_has(t, 10) ? "attention_bias" : "_");
    if (contrib_wants(t, 1))
        contrib_write(t, "present_key = Identity(k)");
    if (contrib_wants(t, 2))
        contrib_write(t, "present_value = Identity(v)");
    return TFR_OK;
}

const contrib_written contrib_groups[] = {
    {CONTRIB_ROW("GroupQueryAttention",
                 "query:T key?:T value?:T past_key?:T past_value?:T seqlens_k:M "
                 "total_sequence_length:M cos_cache?:T sin_cache?:T position_ids?:I "
                 "attention_bias?:T head_sink?:T k_scale?:f32 v_scale?:f32 q_norm_weight?:T "
                 "k_norm_weight?:T",
                 "output:T present_key?:T present_value?:T output_qk?:T",
                 "causal:i=1 do_rotary:i k_quant_type:s=NONE|PER_TENSOR|PER_CHANNEL "
                 "kv_cache_bit_width:i kv_num_heads:i! local_window_size:i=-1 num_heads:i! "
                 "qk_norm_epsilon:f qk_output:i=0 rotary_interleaved:i scale:f "
                 "sliding_window_cache:i=0 smooth_softmax:i=-1 softcap:f "
                 "v_quant_type:s=NONE|PER_TENSOR|PER_CHANNEL",
                 "T=f16|f32|bf16 M=i32 I=i64"),
     .write = write_group},
    {CONTRIB_ROW("RotaryEmbedding", "input:T position_ids:M cos_cache:T sin_cache:T", "output:T",
                 "interleaved:i is_packed_batching:i num_heads:i rotary_embedding_dim:i scale:f",
                 "T=f16|f32|bf16 M=i64"),
     .write = write_rotary},
    {.row = {.name = NULL}},
};
