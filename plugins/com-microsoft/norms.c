/* SPDX-License-Identifier: Apache-2.0 */
/* norms.c: normalizations with what stands before them: sums and embeddings. */
#include "text.h"

static double epsilon_of(const contrib_text *t)
{
    return (double)tfr_call_float(t->call, "epsilon", 1e-12F);
}

/* s = input + skip + bias; the bias is input i. */
static int32_t sum(contrib_text *t, uint32_t bias, tfr_err *err)
{
    int32_t status = contrib_no_output(t, 1, "mean", err);
    if (!status)
        status = contrib_no_output(t, 2, "inv_std_var", err);
    if (contrib_has(t, bias))
        contrib_write(t, "s = Add(Add(input, skip), bias)");
    else
        contrib_write(t, "s = Add(input, skip)");
    if (contrib_wants(t, 3))
        contrib_write(t, "input_skip_bias_sum = Identity(s)");
    return status;
}

static int32_t skip_layer_norm(contrib_text *t, tfr_err *err)
{
    const int32_t status = sum(t, 4, err);
    contrib_write(t, "output = LayerNormalization[axis=-1,epsilon=%.9e](s, gamma, %s)",
                  epsilon_of(t), contrib_has(t, 3) ? "beta" : "_");
    return status;
}

static int32_t skip_simplified_layer_norm(contrib_text *t, tfr_err *err)
{
    const int32_t status = sum(t, 3, err);
    contrib_write(t, "output = RMSNormalization[axis=-1,epsilon=%.9e](s, gamma)", epsilon_of(t));
    return status;
}

/* Words, positions and segments are looked up and added; mask_index is how many words count. */
static int32_t embed_layer_norm(contrib_text *t, tfr_err *err)
{
    (void)err;
    if (contrib_has(t, 8))
        contrib_write(t, "p = Gather(position_embedding, position_ids)");
    else
        contrib_write(t,
                      "p = Slice(position_embedding, {0}, Shape[start=1,end=2](input_ids), {0})");
    contrib_write(t, "w = Add(Gather(word_embedding, input_ids), p)");
    if (contrib_has(t, 1) && contrib_has(t, 4))
        contrib_write(t, "e = Add(w, Gather(segment_embedding, segment_ids))");
    else
        contrib_write(t, "e = Identity(w)");
    contrib_write(t, "output = LayerNormalization[axis=-1,epsilon=%.9e](e, gamma, beta)",
                  epsilon_of(t));
    if (contrib_wants(t, 1) && contrib_has(t, 7))
        contrib_write(t, "mask_index = ReduceSum[keepdims=0](Cast[to=6](Equal(mask, "
                         "CastLike(1, mask))), {1})");
    else if (contrib_wants(t, 1))
        contrib_write(t, "mask_index = Expand(Cast[to=6](0), Shape[start=0,end=1](input_ids))");
    if (contrib_wants(t, 2))
        contrib_write(t, "embedding_sum = Identity(e)");
    return TFR_OK;
}

/* The same with tables of 8 bits. */
static int32_t quantized_embed_layer_norm(contrib_text *t, tfr_err *err)
{
    (void)err;
    contrib_write(t, "pe = DequantizeLinear(position_embedding_quant, position_embedding_scale, "
                     "position_embedding_zero_point)\n"
                     "p = Slice(pe, {0}, Shape[start=1,end=2](input_ids), {0})\n"
                     "w = Add(DequantizeLinear(Gather(word_embedding_quant, input_ids), "
                     "word_embedding_scale, word_embedding_zero_point), p)");
    if (contrib_has(t, 1) && contrib_has(t, 4))
        contrib_write(t, "e = Add(w, DequantizeLinear(Gather(segment_embedding, segment_ids), "
                         "segment_embedding_scale, segment_embedding_zero_point))");
    else
        contrib_write(t, "e = Identity(w)");
    contrib_write(t,
                  "layernorm_out = LayerNormalization[axis=-1,epsilon=%.9e](e, "
                  "DequantizeLinear(gamma_quant, gamma_scale, gamma_zero_point), "
                  "DequantizeLinear(beta_quant, beta_scale, beta_zero_point))",
                  epsilon_of(t));
    if (contrib_has(t, 7))
        contrib_write(t, "mask_index_out = ReduceSum[keepdims=0](Cast[to=6](Equal(mask, "
                         "CastLike(1, mask))), {1})");
    else
        contrib_write(t, "mask_index_out = Expand(Cast[to=6](0), Shape[start=0,end=1](input_ids))");
    return TFR_OK;
}

const contrib_written contrib_norms[] = {
    {CONTRIB_ROW("EmbedLayerNormalization",
                 "input_ids:T1 segment_ids?:T1 word_embedding:T position_embedding:T "
                 "segment_embedding?:T gamma:T beta:T mask?:T1 position_ids?:T1",
                 "output:T mask_index?:T1 embedding_sum?:T", "epsilon:f mask_index_type:i",
                 "T1=i32 T=f16|f32"),
     .write = embed_layer_norm},
    {CONTRIB_ROW("QEmbedLayerNormalization",
                 "input_ids:T1 segment_ids?:T1 word_embedding_quant:T2 position_embedding_quant:T2 "
                 "segment_embedding?:T2 gamma_quant:T2 beta_quant:T2 mask?:T1 "
                 "word_embedding_scale:T position_embedding_scale:T segment_embedding_scale?:T "
                 "gamma_scale:T beta_scale:T word_embedding_zero_point:T2 "
                 "position_embedding_zero_point:T2 segment_embedding_zero_point?:T2 "
                 "gamma_zero_point:T2 beta_zero_point:T2",
                 "layernorm_out:T mask_index_out:T1", "epsilon:f", "T1=i32 T2=u8|i8 T=f32"),
     .write = quantized_embed_layer_norm},
    {CONTRIB_ROW("SkipLayerNormalization", "input:T skip:T gamma:T beta?:T bias?:T",
                 "output:T mean?:U inv_std_var?:U input_skip_bias_sum?:T", "epsilon:f",
                 "T=f16|f32|bf16 U=f32"),
     .write = skip_layer_norm},
    {CONTRIB_ROW("SkipSimplifiedLayerNormalization", "input:T skip:T gamma:T bias?:T",
                 "output:T mean?:U inv_std_var?:U input_skip_bias_sum?:T", "epsilon:f",
                 "T=f16|f32|bf16 U=f32"),
     .write = skip_simplified_layer_norm},
    {.row = {.name = NULL}},
};
