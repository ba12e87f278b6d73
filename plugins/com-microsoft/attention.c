/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention.c: attention of several heads as Attention of ONNX. Masks become one tensor that is
 * added to the scores: mask_filter_value where a position does not count, as ONNX Runtime has it,
 * so that a query of which all positions are masked gets the mean of the values and not zeros.
 */
#include "text.h"

#include <string.h>

/* What is known of one call, as names of values and texts of attributes. */
typedef struct attention {
    int64_t heads;
    double filter; /* what masked positions get */
    uint32_t mask; /* the input with the mask of keys, its rank or 0, and its name */
    int32_t mask_rank;
    const char *mask_name;
    uint32_t bias; /* the input that is added to the scores */
    bool past, causal, present, scores;
    char attrs[160];
} attention;

static void set_attrs(attention *a, const tfr_call *call, int64_t kv_heads)
{
    const double scale = (double)tfr_call_float(call, "scale", 0);
    size_t at = (size_t)snprintf(a->attrs, sizeof(a->attrs),
                                 "q_num_heads=%lld,kv_num_heads=%lld,is_causal=%d",
                                 (long long)a->heads, (long long)kv_heads, a->causal);
    if (scale != 0)
        at += (size_t)snprintf(a->attrs + at, sizeof(a->attrs) - at, ",scale=%.9e", scale);
    if (a->scores)
        snprintf(a->attrs + at, sizeof(a->attrs) - at, ",qk_matmul_output_mode=3");
}

/* known = the mask of keys as [B 1 1|S T] of bools; total is the value of the number of keys. */
static int32_t read_mask(contrib_text *t, const attention *a, tfr_err *err)
{
    const char *m = a->mask_name;
    switch (a->mask_rank) {
    case 1:
        if (contrib_dim(t, a->mask, 0) >= 0 && contrib_dim(t, 0, 0) > 0 &&
            contrib_dim(t, a->mask, 0) == 2 * contrib_dim(t, 0, 0)) {
            contrib_write(t,
                          "end, begin = Split[axis=0,num_outputs=2](Cast[to=7](%s))\n"
                          "place = Unsqueeze(Range(0, Reshape(total, {}), 1), {0})\n"
                          "row = And(Less(place, Unsqueeze(end, {1})), GreaterOrEqual(place, "
                          "Unsqueeze(begin, {1})))",
                          m);
        } else if (contrib_differ(contrib_dim(t, a->mask, 0), contrib_dim(t, 0, 0))) {
            return tfr_fail(err, TFR_EUNSUPPORTED,
                            "%s of [%lld]: lengths of the batch, or ends and begins are supported",
                            m, (long long)contrib_dim(t, a->mask, 0));
        } else {
            contrib_write(t,
                          "row = Less(Unsqueeze(Range(0, Reshape(total, {}), 1), {0}), "
                          "Unsqueeze(Cast[to=7](%s), {1}))",
                          m);
        }
        contrib_write(t, "known = Unsqueeze(row, {1,2})");
        return TFR_OK;
    case 2:
        contrib_write(t, "known = Unsqueeze(Greater(%s, CastLike(0, %s)), {1,2})", m, m);
        return TFR_OK;
    case 3:
        contrib_write(t, "known = Unsqueeze(Greater(%s, CastLike(0, %s)), {1})", m, m);
        return TFR_OK;
    default:
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "%s of rank %d: 1, 2 and 3 are supported, and the rank has to be known "
                        "while the model is read",
                        m, (int)a->mask_rank);
    }
}

/*
 * output = Attention(q, k, v), of rank 3 or 4, with the call's masks; total is there. Outputs p_key
 * and p_value, and p_scores, are made if they are wanted.
 */
static int32_t attend(contrib_text *t, const attention *a, tfr_err *err)
{
    const bool masked = contrib_has(t, a->mask), biased = contrib_has(t, a->bias);
    int32_t status = masked ? read_mask(t, a, err) : TFR_OK;
    if (status)
        return status;
    if (masked)
        contrib_write(t, "added = Where(known, 0.0, %.9e)", a->filter);
    if (masked && biased)
        contrib_write(t, "mask = Add(attention_bias, added)");
    else if (masked || biased)
        contrib_write(t, "mask = Identity(%s)", masked ? "added" : "attention_bias");
    contrib_write(t, "y, %s, %s, %s = Attention[%s](q, k, v, %s, %s, %s)",
                  a->present ? "p_key" : "_", a->present ? "p_value" : "_",
                  a->scores ? "p_scores" : "_", a->attrs, masked || biased ? "mask" : "_",
                  a->past ? "past_k" : "_", a->past ? "past_v" : "_");
    return TFR_OK;
}

/* ---- Attention and QAttention ---------------------------------------------------------------- */

/* q, k, v = the parts of the projection p, whose sizes an attribute may give. */
static int32_t split(contrib_text *t, tfr_err *err)
{
    const tfr_attr *sizes = tfr_call_attr(t->call, "qkv_hidden_sizes");
    if (!sizes || !sizes->ints) {
        contrib_write(t, "q, k, v = Split[axis=2,num_outputs=3](p)");
        return TFR_OK;
    }
    if (sizes->n != 3)
        return tfr_fail(err, TFR_EMODEL, "qkv_hidden_sizes has %llu numbers, want 3",
                        (unsigned long long)sizes->n);
    contrib_write(t, "q, k, v = Split[axis=2](p, {%lld,%lld,%lld})", (long long)sizes->ints[0],
                  (long long)sizes->ints[1], (long long)sizes->ints[2]);
    return TFR_OK;
}

/* output and present from the projection p. */
static int32_t self_attention(contrib_text *t, uint32_t mask, uint32_t past, uint32_t bias,
                              tfr_err *err)
{
    const tfr_call *call = t->call;
    attention a = {.heads = tfr_call_int(call, "num_heads", 0),
                   .filter = (double)tfr_call_float(call, "mask_filter_value", -10000),
                   .mask = mask,
                   .mask_rank = contrib_rank(t, mask),
                   .mask_name = "mask_index",
                   .bias = bias,
                   .past = contrib_has(t, past),
                   .causal = tfr_call_int(call, "unidirectional", 0) != 0,
                   .present = contrib_wants(t, 1)};
    int32_t status = contrib_only(t, "do_rotary", 0, err);
    if (!status)
        status = contrib_only(t, "past_present_share_buffer", 0, err);
    if (!status)
        status = split(t, err);
    if (status)
        return status;
    set_attrs(&a, call, a.heads);
    if (a.past)
        contrib_write(t, "past_k = Gather[axis=0](past, 0)\npast_v = Gather[axis=0](past, 1)\n"
                         "total = Add(Shape[start=1,end=2](k), Shape[start=3,end=4](past))");
    else
        contrib_write(t, "total = Shape[start=1,end=2](k)");
    status = attend(t, &a, err);
    contrib_write(t, "output = Identity(y)");
    if (a.present)
        contrib_write(t,
                      "present = Concat[axis=0](Unsqueeze(p_key, {0}), Unsqueeze(p_value, {0}))");
    return status;
}

static int32_t write_attention(contrib_text *t, tfr_err *err)
{
    int32_t status = contrib_without(t, 6, "past_sequence_length", err);
    if (status)
        return status;
    contrib_write(t, contrib_has(t, 2) ? "p = Add(MatMul(input, weights), bias)"
                                       : "p = MatMul(input, weights)");
    return self_attention(t, 3, 4, 5, err);
}

static int32_t write_qattention(contrib_text *t, tfr_err *err)
{
    contrib_type(t, 2);
    contrib_write(t,
                  "s = MatMulInteger(input, weight, %s, %s)\n"
                  "p = Add(Mul(CastLike(s, bias), Mul(input_scale, weight_scale)), bias)",
                  contrib_has(t, 6) ? "input_zero_point" : "_",
                  contrib_has(t, 7) ? "weight_zero_point" : "_");
    return self_attention(t, 5, 8, 99, err);
}

/* ---- MultiHeadAttention ---------------------------------------------------------------------- */

/* The part of the bias from one place to another; ends are texts of lists. */
static void add_bias(contrib_text *t, const char *out, const char *x, const char *from,
                     const char *to)
{
    contrib_write(t, "%s = Add(%s, Slice(bias, %s, %s, {0}))", out, x, from, to);
}

/* a, b, c = query, key and value with rank 3, the last two with rank 4 for *cross. */
static int32_t read_parts(contrib_text *t, bool *cross, tfr_err *err)
{
    const bool keys = contrib_has(t, 1);
    int32_t query, key, status = contrib_need_rank(t, 0, &query, err);
    if (!status && keys)
        status = contrib_need_rank(t, 1, &key, err);
    if (status)
        return status;
    *cross = keys && key == 4;
    if (query == 5 && !keys)
        contrib_write(t, "a = Reshape(Gather[axis=3](query, 0), {0,0,-1})\n"
                         "b = Reshape(Gather[axis=3](query, 1), {0,0,-1})\n"
                         "c = Reshape(Gather[axis=3](query, 2), {0,0,-1})");
    else if (query == 3 && keys && key == 5)
        contrib_write(t, "a = Identity(query)\n"
                         "b = Reshape(Gather[axis=3](key, 0), {0,0,-1})\n"
                         "c = Reshape(Gather[axis=3](key, 1), {0,0,-1})");
    else if (query == 3 && keys && (key == 3 || key == 4) && contrib_has(t, 2))
        contrib_write(t, "a = Identity(query)\nb = Identity(key)\nc = Identity(value)");
    else
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "MultiHeadAttention with a query of rank %d and a key of rank %d",
                        (int)query, keys ? (int)key : 0);
    return TFR_OK;
}

/* r, k, v of a, b, c with their biases. */
static void add_biases(contrib_text *t, bool cross)
{
    char width[48], twice[64];
    const int64_t known = contrib_rank(t, 0) == 3 ? contrib_dim(t, 0, 2) : -1;
    if (!contrib_has(t, 3)) {
        contrib_write(t, "r = Identity(a)\nk = Identity(b)\nv = Identity(c)");
        return;
    }
    if (known >= 0) {
        snprintf(width, sizeof(width), "{%lld}", (long long)known);
        snprintf(twice, sizeof(twice), "{%lld}", (long long)(2 * known));
    } else {
        contrib_write(t, "width = Shape[start=2,end=3](a)\ntwice = Add(width, width)");
        snprintf(width, sizeof(width), "width");
        snprintf(twice, sizeof(twice), "twice");
    }
    add_bias(t, "r", "a", "{0}", width);
    if (cross) { /* they come from a cache, with it */
        contrib_write(t, "k = Identity(b)\nv = Identity(c)");
        return;
    }
    add_bias(t, "k", "b", width, twice);
    add_bias(t, "v", "c", twice, "{9223372036854775807}");
}

static int32_t write_multi_head(contrib_text *t, tfr_err *err)
{
    const tfr_call *call = t->call;
    attention a = {.heads = tfr_call_int(call, "num_heads", 0),
                   .filter = (double)tfr_call_float(call, "mask_filter_value", -10000),
                   .mask = 4,
                   .mask_rank = contrib_rank(t, 4),
                   .mask_name = "key_padding_mask",
                   .bias = 5,
                   .past = contrib_has(t, 6),
                   .causal = tfr_call_int(call, "unidirectional", 0) != 0,
                   .present = contrib_wants(t, 1) || contrib_wants(t, 2),
                   .scores = contrib_wants(t, 3)};
    bool cross;
    int32_t status = contrib_without(t, 8, "past_sequence_length", err);
    if (!status)
        status = contrib_without(t, 9, "cache_indirection", err);
    if (!status)
        status = read_parts(t, &cross, err);
    if (status)
        return status;
    set_attrs(&a, call, a.heads);
    if (cross) /* the query takes their form */
        contrib_write(t, "total = Shape[start=2,end=3](b)");
    else if (a.past)
        contrib_write(t, "total = Add(Shape[start=1,end=2](b), Shape[start=2,end=3](past_key))\n"
                         "past_k = Identity(past_key)\npast_v = Identity(past_value)");
    else
        contrib_write(t, "total = Shape[start=1,end=2](b)");
    add_biases(t, cross);
    contrib_write(
        t, cross ? "q = Transpose[perm={0,2,1,3}](Reshape(r, {0,0,%lld,-1}))" : "q = Identity(r)",
        (long long)a.heads);
    status = attend(t, &a, err);
    contrib_write(t, cross ? "output = Reshape(Transpose[perm={0,2,1,3}](y), {0,0,-1})"
                           : "output = Identity(y)");
    if (contrib_wants(t, 1))
        contrib_write(t, "present_key = Identity(p_key)");
    if (contrib_wants(t, 2))
        contrib_write(t, "present_value = Identity(p_value)");
    if (a.scores)
        contrib_write(t, "qk = Identity(p_scores)");
    return status;
}

#define SELF                                                                                       \
    "do_rotary:i mask_filter_value:f num_heads:i! past_present_share_buffer:i scale:f "            \
    "unidirectional:i=0"

const contrib_written contrib_attentions[] = {
    {CONTRIB_ROW("Attention",
                 "input:T weights:T bias?:T mask_index?:M past?:T attention_bias?:T "
                 "past_sequence_length?:M",
                 "output:T present?:T", SELF " qkv_hidden_sizes:is rotary_embedding_dim:i",
                 "T=f16|f32|bf16 M=i32"),
     .write = write_attention},
    {CONTRIB_ROW("MultiHeadAttention",
                 "query:T key?:T value?:T bias?:T key_padding_mask?:M attention_bias?:T "
                 "past_key?:T past_value?:T past_sequence_length?:M cache_indirection?:M",
                 "output:T present_key?:T present_value?:T qk?:T",
                 "mask_filter_value:f num_heads:i! scale:f unidirectional:i=0",
                 "T=f16|f32|bf16 M=i32"),
     .write = write_multi_head},
    {CONTRIB_ROW("QAttention",
                 "input:T1 weight:T2 bias:T3 input_scale:T3 weight_scale:T3 mask_index?:M "
                 "input_zero_point?:T1 weight_zero_point?:T2 past?:T3",
                 "output:T3 present?:T3", SELF, "T1=u8|i8 T2=u8|i8 T3=f16|f32 M=i32"),
     .write = write_qattention},
    {.row = {.name = NULL}},
};
