/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests shape inference (core/infer*.c): what comes out, and the normal form of attributes, family
 * by family. What must be refused is in test_infer_hostile.c.
 */
#include "base/alloc.h"
#include "infer_case.h"

TEST(elementwise_ops_broadcast_and_keep_types)
{
    static const good_case c[] = {
        {"Relu", "f32[2,3]", "", "f32[2,3]", ""},
        {"Relu", "f16[]", "", "f16[]", ""},
        {"Add", "i64[2,1,4] i64[3,1]", "", "i64[2,3,4]", ""},
        {"Add", "f32[0,4] f32[1]", "", "f32[0,4]", ""},
        {"Add", "f32[] f32[]", "", "f32[]", ""},
        {"Mod", "i32[2] i32[]", "", "i32[2]", "fmod=0"},
        {"Less", "f32[3] f32[2,1]", "", "bool[2,3]", ""},
        {"Pow", "f32[3] i64[]", "", "f32[3]", ""},
        {"Max", "f32[3] f32[2,1] f32[]", "", "f32[2,3]", ""},
        {"Where", "bool[3] f64[2,1] f64[]", "", "f64[2,3]", ""},
        {"Clip", "f32[3] - f32[]", "", "f32[3]", ""},
        {"PRelu", "f32[2,3] f32[3]", "", "f32[2,3]", ""},
        {"Cast", "f32[2]", "to=10", "f16[2]", "saturate=1 round_mode=up"},
        {"CastLike", "f32[2] i8[9]", "", "i8[2]", ""},
        {"BitCast", "f32[2]", "to=6", "i32[2]", ""},
        {"IsNaN", "f32[2]", "", "bool[2]", ""},
        {"Softmax", "f32[2,3,4]", "", "f32[2,3,4]", "axis=2"},
        {"LogSoftmax", "f32[2,3,4]", "axis=-3", "f32[2,3,4]", "axis=0"},
        {"Gelu", "f32[2]", "", "f32[2]", "approximate=none"},
        {"Selu", "f32[2]", "", "f32[2]", "alpha=1.67326 gamma=1.0507"},
        {"Identity", "seq(f32)", "", "seq(f32)", ""},
        {"SwiGLU", "f32[2] f32[2]", "", "f32[2]", "alpha=1"},
    };
    CHECK_GOOD(c);
}

TEST(defaults_have_the_exact_value_of_the_standard)
{
    static infer_run r;
    case_begin(&r, "Selu", "f32[1]", "");
    r.in.n_outputs = 1;
    r.outputs[0].kind = TFR_KIND_TENSOR;
    REQUIRE_OK(tfr__infer_node(&r.in, &r.err), &r.err);
    CHECK(tfr__attr_float(&r.attrs, "alpha", 0) == 1.67326319217681884765625f);
    CHECK(tfr__attr_float(&r.attrs, "gamma", 0) == 1.05070102214813232421875f);
    tfr__attr_free(&r.attrs);
    case_begin(&r, "BatchNormalization", "f32[1,1] f32[1] f32[1] f32[1] f32[1]", "");
    r.in.n_outputs = 1;
    r.outputs[0].kind = TFR_KIND_TENSOR;
    REQUIRE_OK(tfr__infer_node(&r.in, &r.err), &r.err);
    CHECK(tfr__attr_float(&r.attrs, "epsilon", 0) == 1e-5f);
    CHECK(tfr__attr_float(&r.attrs, "momentum", 0) == 0.9f);
    tfr__attr_free(&r.attrs);
}

TEST(reductions_get_their_axes_sorted_and_complete)
{
    static const good_case c[] = {
        {"ReduceSum", "f32[2,3,4] i64[2]{-1,0}", "", "f32[1,3,1]", "axes=0,2 keepdims=1"},
        {"ReduceSum", "f32[2,3,4] i64[1]{1}", "keepdims=0", "f32[2,4]", "axes=1"},
        {"ReduceMean", "f32[2,3,4]", "keepdims=0", "f32[]", "axes=0,1,2"},
        {"ReduceMax", "f32[2,3] i64[0]", "", "f32[1,1]", "axes=0,1"},
        {"ReduceMax", "f32[2,3] i64[0]", "noop_with_empty_axes=1", "f32[2,3]", "axes="},
        {"ReduceL1", "f32[2,3]", "noop_with_empty_axes=1", "f32[2,3]", "axes="},
        {"ReduceProd", "f32[]", "", "f32[]", "axes="},
        {"SumTo", "f32[2,3,4] i64[2]{1,4}", "", "f32[1,4]", "axes=0,1"},
        {"SumTo", "f32[2,3] i64[2]{2,3}", "", "f32[2,3]", "axes="},
        {"SumTo", "f64[2,1] i64[0]", "", "f64[]", "axes=0,1"},
        {"ArgMax", "f32[2,3]", "axis=-1", "i64[2,1]", "axis=1 select_last_index=0"},
        {"ArgMin", "f32[2,3]", "keepdims=0", "i64[3]", "axis=0"},
        {"CumSum", "f32[2,3] i32[]{-1}", "", "f32[2,3]", "axis=1"},
        {"TopK", "f32[2,5] i64[1]{3}", "", "f32[2,3] i64[2,3]", "axis=1"},
        {"TopK", "f32[2,5] i64[1]{0}", "axis=0", "- i64[0,5]", "axis=0"},
    };
    CHECK_GOOD(c);
}

TEST(views_resolve_copies_and_wildcards)
{
    static const good_case c[] = {
        {"Reshape", "f32[2,3,4] i64[3]{0,-1,2}", "", "f32[2,6,2]", "allowzero=0"},
        {"Reshape", "f32[2,3,4] i64[1]{24}", "", "f32[24]", ""},
        {"Reshape", "f32[1] i64[0]", "", "f32[]", ""},
        {"Reshape", "f32[0,3] i64[2]{3,0}", "allowzero=1", "f32[3,0]", ""},
        {"Reshape", "f32[0,3] i64[2]{0,7}", "allowzero=1", "f32[0,7]", ""},
        {"Flatten", "f32[2,3,4]", "", "f32[2,12]", "axis=1"},
        {"Flatten", "f32[2,3,4]", "axis=-1", "f32[6,4]", "axis=2"},
        {"Flatten", "f32[2,3,4]", "axis=3", "f32[24,1]", ""},
        {"Squeeze", "f32[1,3,1]", "", "f32[3]", "axes=0,2"},
        {"Squeeze", "f32[1,3,1] i64[1]{-1}", "", "f32[1,3]", "axes=2"},
        {"Unsqueeze", "f32[3] i64[2]{-1,0}", "", "f32[1,3,1]", "axes=0,2"},
        {"Shape", "f32[2,3,4]", "", "i64[3]", "start=0 end=3"},
        {"Shape", "f32[2,3,4]", "start=-2 end=99", "i64[2]", "start=1 end=3"},
        {"Shape", "f32[2,3,4]", "start=2 end=1", "i64[0]", ""},
        {"Size", "f32[2,3,4]", "", "i64[]", ""},
    };
    CHECK_GOOD(c);
}

TEST(moving_ops_get_full_lists_for_every_axis)
{
    static const good_case c[] = {
        {"Transpose", "f32[2,3,4]", "", "f32[4,3,2]", "perm=2,1,0"},
        {"Transpose", "f32[2,3,4]", "perm=0,2,1", "f32[2,4,3]", "perm=0,2,1"},
        {"Expand", "f32[3,1] i64[3]{2,1,6}", "", "f32[2,3,6]", ""},
        {"Tile", "f32[2,3] i64[2]{2,0}", "", "f32[4,0]", ""},
        {"Concat", "f32[2,3] f32[2,5]", "axis=-1", "f32[2,8]", "axis=1"},
        {"Split", "f32[7]", "num_outputs=3", "f32[3] f32[3] f32[1]",
         "split=3,3,1 num_outputs=none"},
        {"Split", "f32[2,6] i64[2]{2,4}", "axis=-1", "f32[2,2] f32[2,4]", "split=2,4 axis=1"},
        {"Slice", "f32[5,6] i64[1]{1} i64[1]{99} i64[1]{-1}", "", "f32[5,5]",
         "starts=0,1 ends=5,6 steps=1,1"},
        {"Slice", "f32[5] i64[1]{-1} i64[1]{-9} i64[1]{0} i64[1]{-2}", "", "f32[3]",
         "starts=4 ends=-1 steps=-2"},
        {"Slice", "f32[5] i64[1]{4} i64[1]{1}", "", "f32[0]", ""},
        {"Slice", "f32[0] i64[1]{-1} i64[1]{-9} i64[1]{0} i64[1]{-1}", "", "f32[0]", ""},
        {"Slice", "f32[5] i64[1]{3} i64[1]{-9} i64[1]{0} i64[1]{-9223372036854775808}", "",
         "f32[1]", ""},
        {"Pad", "f32[2,3] i64[4]{1,0,0,2}", "", "f32[3,5]", "pads=1,0,0,2 mode=constant"},
        {"Pad", "f32[2,3] i64[2]{1,-1} - i64[1]{-1}", "", "f32[2,3]", "pads=0,1,0,-1"},
        {"CenterCropPad", "f32[5,6] i64[1]{8}", "axes=-1", "f32[5,8]", "axes=1"},
        {"DepthToSpace", "f32[1,8,2,3]", "blocksize=2", "f32[1,2,4,6]", "mode=DCR"},
        {"SpaceToDepth", "f32[1,2,4,6]", "blocksize=2", "f32[1,8,2,3]", ""},
        {"ReverseSequence", "f32[4,3] i64[3]", "", "f32[4,3]", ""},
        {"Trilu", "f32[3,4] i64[]{-2}", "", "f32[3,4]", "k=-2 upper=1"},
        {"Trilu", "f32[3,4]", "", "f32[3,4]", "k=0"},
    };
    CHECK_GOOD(c);
}

TEST(indexing_ops_combine_the_shapes_of_data_and_indices)
{
    static const good_case c[] = {
        {"Gather", "f32[5,6] i64[2,3]", "axis=-1", "f32[5,2,3]", "axis=1"},
        {"Gather", "f32[5,6] i64[]", "", "f32[6]", ""},
        {"GatherElements", "f32[5,6] i64[2,9]", "axis=1", "f32[2,9]", ""},
        {"GatherND", "f32[2,3,4] i64[2,1]", "batch_dims=1", "f32[2,4]", ""},
        {"GatherND", "f32[2,3,4] i64[5,2]", "", "f32[5,4]", ""},
        {"ScatterElements", "f32[5,6] i64[2,3] f32[2,3]", "", "f32[5,6]", "reduction=none"},
        {"ScatterND", "f32[4,5] i64[3,1] f32[3,5]", "", "f32[4,5]", ""},
        {"OneHot", "i64[2,3] i64[]{5} f32[2]", "axis=1", "f32[2,5,3]", "axis=1"},
        {"OneHot", "i64[2] i64[1]{5} f32[2]", "", "f32[2,5]", "axis=1"},
        {"Compress", "f32[4,3] bool[2]", "axis=-2", "~f32[2,3]", "axis=0"},
        {"Compress", "f32[4,3] bool[9]", "", "~f32[9]", "axis=none"},
        {"NonZero", "f32[2,3]", "", "~i64[2,6]", ""},
        {"Unique", "f32[2,3]", "", "~f32[6] ~i64[6] i64[6] ~i64[6]", "sorted=1"},
        {"Unique", "f32[2,3]", "axis=1", "~f32[2,3] - i64[3]", ""},
        {"TensorScatter", "f32[2,8,4] f32[2,3,4] i64[2]", "", "f32[2,8,4]", "axis=1"},
    };
    CHECK_GOOD(c);
}

TEST(matrix_products_follow_numpy)
{
    static const good_case c[] = {
        {"MatMul", "f32[2,3] f32[3,4]", "", "f32[2,4]", ""},
        {"MatMul", "f32[3] f32[3]", "", "f32[]", ""},
        {"MatMul", "f32[3] f32[5,3,4]", "", "f32[5,4]", ""},
        {"MatMul", "f32[7,1,2,3] f32[5,3,4]", "", "f32[7,5,2,4]", ""},
        {"MatMul", "f32[2,0] f32[0,4]", "", "f32[2,4]", ""},
        {"MatMulInteger", "u8[2,3] i8[3,4] u8[] i8[4]", "", "i32[2,4]", ""},
        {"QLinearMatMul", "u8[2,3] f32[] u8[] u8[3,4] f32[] u8[] f32[] i8[]", "", "i8[2,4]", ""},
        {"Gemm", "f32[3,2] f32[4,3] f32[4]", "transA=1 transB=1", "f32[2,4]", "alpha=1 beta=1"},
        {"Det", "f32[5,3,3]", "", "f32[5]", ""},
    };
    CHECK_GOOD(c);
}

TEST(einsum_is_written_out)
{
    static const good_case c[] = {
        {"Einsum", "f32[2,3] f32[3,4]", "equation=ij,jk->ik", "f32[2,4]", "equation=ij,jk->ik"},
        {"Einsum", "f32[2,3] f32[3,4]", "equation=ij,jk", "f32[2,4]", "equation=ij,jk->ik"},
        {"Einsum", "f32[5,3,2] f32[5,2,4]", "equation=...ij,...jk->...ik", "f32[5,3,4]",
         "equation=Aij,Ajk->Aik"},
        {"Einsum", "f32[7,5,3,2] f32[5,2,4]", "equation=...ij,...jk", "f32[7,5,3,4]",
         "equation=ABij,Bjk->ABik"},
        {"Einsum", "f32[3,3]", "equation=ii", "f32[]", "equation=ii->"},
        {"Einsum", "f32[3,3]", "equation=ii->i", "f32[3]", ""},
        {"Einsum", "f32[3] f32[1]", "equation=b,b->b", "f32[3]", ""},
    };
    CHECK_GOOD(c);
}

TEST(convolutions_have_explicit_windows)
{
    static const good_case c[] = {
        {"Conv", "f32[1,3,5,5] f32[8,3,3,3] f32[8]", "", "f32[1,8,3,3]",
         "kernel_shape=3,3 strides=1,1 dilations=1,1 pads=0,0,0,0 auto_pad=NOTSET group=1"},
        {"Conv", "f32[1,3,6] f32[8,3,3]", "auto_pad=SAME_UPPER strides=2", "f32[1,8,3]",
         "pads=0,1 auto_pad=NOTSET"},
        {"Conv", "f32[1,3,6] f32[8,3,3]", "auto_pad=SAME_LOWER strides=2", "f32[1,8,3]",
         "pads=1,0 auto_pad=NOTSET"},
        {"Conv", "f32[1,3,6] f32[8,3,3]", "auto_pad=VALID pads=9,9", "f32[1,8,4]", "pads=0,0"},
        {"Conv", "f32[1,4,9] f32[4,1,3]", "group=4 dilations=2 pads=1,1", "f32[1,4,7]", ""},
        {"Conv", "f32[0,4,9] f32[4,1,3]", "group=4", "f32[0,4,7]", ""},
        {"ConvInteger", "u8[1,1,4,4] i8[2,1,2,2] u8[] i8[2]", "", "i32[1,2,3,3]", ""},
        {"QLinearConv", "u8[1,1,4] f32[] u8[] i8[2,1,2] f32[2] i8[2] f32[] u8[] i32[2]", "",
         "u8[1,2,3]", "auto_pad=NOTSET"},
        {"ConvTranspose", "f32[1,2,3] f32[2,4,3]", "strides=2", "f32[1,4,7]",
         "pads=0,0 output_padding=0 output_shape=none"},
        {"ConvTranspose", "f32[1,2,3] f32[2,4,3]", "strides=2 output_padding=1", "f32[1,4,8]",
         "pads=0,-1 output_padding=0"},
        {"ConvTranspose", "f32[1,2,3] f32[2,4,3]", "strides=2 pads=1,1 output_padding=1",
         "f32[1,4,6]", "pads=1,0"},
        {"ConvTranspose", "f32[1,2,3] f32[2,4,3]", "strides=3 output_shape=10", "f32[1,4,10]",
         "pads=0,-1 output_shape=none"},
        {"ConvTranspose", "f32[1,2,3] f32[2,4,3]", "strides=2 auto_pad=SAME_UPPER", "f32[1,4,6]",
         "pads=0,1 auto_pad=NOTSET"},
        {"ConvTranspose", "f32[1,2,3] f32[2,4,3]", "strides=2 auto_pad=SAME_LOWER", "f32[1,4,6]",
         "pads=1,0"},
        {"ConvTranspose", "f32[1,4,3] f32[4,2,3] f32[4]", "group=2", "f32[1,4,5]", ""},
        {"DeformConv", "f32[1,1,3,3] f32[1,1,2,2] f32[1,8,4,4] f32[1] f32[1,4,4,4]", "pads=1,1,1,1",
         "f32[1,1,4,4]", "kernel_shape=2,2"},
        {"CausalConvWithState", "f32[2,3,9] f32[3,1,4] - f32[2,3,3]", "", "f32[2,3,9] f32[2,3,3]",
         ""},
    };
    CHECK_GOOD(c);
}

TEST(pools_count_their_windows)
{
    static const good_case c[] = {
        {"MaxPool", "f32[1,2,5,5]", "kernel_shape=2,2 strides=2,2", "f32[1,2,2,2] i64[1,2,2,2]",
         "pads=0,0,0,0 dilations=1,1"},
        {"MaxPool", "f32[1,2,5]", "kernel_shape=2 strides=2 ceil_mode=1", "f32[1,2,3]", ""},
        /* A window that would start in the end padding is not counted. */
        {"AveragePool", "f32[1,1,2]", "kernel_shape=1 strides=2 ceil_mode=1", "f32[1,1,1]", ""},
        {"AveragePool", "f32[1,1,4]", "kernel_shape=3 strides=3 pads=0,1 ceil_mode=1", "f32[1,1,2]",
         ""},
        {"AveragePool", "f32[1,1,4]", "kernel_shape=2 strides=2 pads=1,1 ceil_mode=1", "f32[1,1,3]",
         ""},
        {"AveragePool", "f32[1,1,5]", "kernel_shape=3 auto_pad=SAME_UPPER", "f32[1,1,5]",
         "pads=1,1"},
        {"AveragePool", "f32[1,1,5]", "kernel_shape=1 strides=3 auto_pad=SAME_UPPER", "f32[1,1,2]",
         "pads=0,0"},
        {"LpPool", "f32[1,1,5]", "kernel_shape=2 dilations=3", "f32[1,1,2]", "p=2"},
        {"GlobalAveragePool", "f32[1,2,5,6]", "", "f32[1,2,1,1]", ""},
        {"MaxUnpool", "f32[1,1,2,2] i64[1,1,2,2]", "kernel_shape=2,2 strides=2,2", "f32[1,1,4,4]",
         ""},
        {"MaxUnpool", "f32[1,1,2,2] i64[1,1,2,2] i64[4]{1,1,5,5}", "kernel_shape=2,2",
         "f32[1,1,5,5]", "strides=1,1"},
        {"MaxRoiPool", "f32[1,3,9,9] f32[4,5]", "pooled_shape=2,3", "f32[4,3,2,3]", ""},
        {"RoiAlign", "f32[1,3,9,9] f32[4,4] i64[4]", "output_height=2", "f32[4,3,2,1]", "mode=avg"},
    };
    CHECK_GOOD(c);
}

TEST(normalisations_keep_shapes)
{
    static const good_case c[] = {
        {"BatchNormalization", "f32[2,3,4] f32[3] f32[3] f32[3] f32[3]", "training_mode=1",
         "f32[2,3,4] f32[3] f32[3]", ""},
        {"InstanceNormalization", "f32[2,3,4] f32[3] f32[3]", "", "f32[2,3,4]", ""},
        {"GroupNormalization", "f32[2,4,4] f32[4] f32[4]", "num_groups=2", "f32[2,4,4]", ""},
        {"LayerNormalization", "f16[2,3,4] f16[4]", "", "f16[2,3,4] f32[2,3,1] f32[2,3,1]",
         "axis=2"},
        {"LayerNormalization", "f32[2,3,4] f32[3,4] f32[4]", "axis=-2", "f32[2,3,4]", "axis=1"},
        {"RMSNormalization", "f32[2,3] f16[3]", "", "f16[2,3]", "axis=1"},
        {"LRN", "f32[2,3,4,5]", "size=3", "f32[2,3,4,5]", "bias=1"},
        {"MeanVarianceNormalization", "f32[2,3,4,5]", "", "f32[2,3,4,5]", "axes=0,2,3"},
        {"Dropout", "f32[2] f32[] bool[]", "", "f32[2] bool[2]", ""},
    };
    CHECK_GOOD(c);
}

TEST(recurrent_nets_name_all_their_functions)
{
    static const good_case c[] = {
        {"RNN", "f32[5,2,3] f32[1,4,3] f32[1,4,4]", "", "f32[5,1,2,4] f32[1,2,4]",
         "hidden_size=4 activations=Tanh activation_alpha=0"},
        {"GRU", "f32[5,2,3] f32[2,12,3] f32[2,12,4] f32[2,24] - f32[2,2,4]",
         "direction=bidirectional hidden_size=4", "f32[5,2,2,4] f32[2,2,4]",
         "activations=Sigmoid,Tanh,Sigmoid,Tanh"},
        {"LSTM", "f32[2,5,3] f32[1,16,3] f32[1,16,4] - i32[2]", "layout=1",
         "- f32[2,1,4] f32[2,1,4]", "activations=Sigmoid,Tanh,Tanh"},
        {"LSTM", "f32[5,2,3] f32[1,16,3] f32[1,16,4]",
         "activations=hardsigmoid,ELU,tanh activation_alpha=0.3,2", "f32[5,1,2,4]",
         "activations=HardSigmoid,Elu,Tanh activation_alpha=0.3,2,0 activation_beta=0.5,0,0"},
    };
    CHECK_GOOD(c);
}

TEST(attention_knows_its_heads)
{
    static const good_case c[] = {
        {"Attention", "f32[2,4,3,16] f32[2,2,5,16] f32[2,2,5,8]", "", "f32[2,4,3,8]",
         "q_num_heads=4 kv_num_heads=2 scale=0.25"},
        {"Attention", "f32[2,3,64] f32[2,5,32] f32[2,5,16] bool[3,12] f32[2,2,7,16] f32[2,2,7,8]",
         "q_num_heads=4 kv_num_heads=2", "f32[2,3,32] f32[2,2,12,16] f32[2,2,12,8] f32[2,4,3,12]",
         ""},
        {"Attention", "f32[1,1,3,4] f32[1,1,5,4] f32[1,1,5,4] f32[3,4]", "", "f32[1,1,3,4]", ""},
        {"RotaryEmbedding", "f32[2,3,32] f32[50,4] f32[50,4] i64[2,3]", "num_heads=4",
         "f32[2,3,32]", "rotary_embedding_dim=8"},
        {"LinearAttention", "f32[2,3,8] f32[2,3,4] f32[2,3,6] - f32[2,3,2] f32[2,3,1]",
         "q_num_heads=4 kv_num_heads=2", "f32[2,3,12] f32[2,2,2,3]", "update_rule=gated_delta"},
    };
    CHECK_GOOD(c);
}

TEST(linear_systems_broadcast_their_batches)
{
    static const good_case c[] = {
        {"Inverse", "f32[2,3,3]", "", "f32[2,3,3]", ""},
        {"ConvGradInput", "f32[2,4,3] f32[4,1,3] i64[3]{2,2,6}",
         "group=2 strides=2 auto_pad=SAME_LOWER", "f32[2,2,6]",
         "pads=1,0 auto_pad=NOTSET kernel_shape=3 dilations=1"},
        {"ConvGradFilter", "f32[2,4,5] f32[2,2,6] i64[3]{4,1,2}", "group=2", "f32[4,1,2]",
         "kernel_shape=2 pads=0,0"},
        {"AveragePoolGrad", "f32[1,2,3] i64[3]{1,2,6}", "kernel_shape=3 strides=2 ceil_mode=1",
         "f32[1,2,6]", "pads=0,0"},
        {"MaxPoolGrad", "f32[1,2,3] i64[1,2,3] i64[3]{1,2,4}", "kernel_shape=2", "f32[1,2,4]",
         "strides=1"},
        {"LayerNormGrad", "f32[2,3] f32[2,3] f32[3]", "", "f32[2,3] f32[3]", "axis=1"},
        {"BatchNormGrad", "f32[2,3] f32[2,3] f32[3] f64[3] f64[3]", "", "f32[2,3] f32[3] f64[3]",
         ""},
        {"BatchNormTrain", "f16[2,3] f32[3] f32[3] f64[3] f64[3]", "",
         "f16[2,3] f64[3] f64[3] f64[3] f64[3]", "unbiased=0"},
        {"SoftmaxCrossEntropyGrad", "f32[] f32[2,3,4] i64[2,4]", "", "f32[2,3,4]",
         "reduction=mean"},
        {"Inverse", "f64[0,0]", "", "f64[0,0]", ""},
        {"Solve", "f32[5,1,3,3] f32[2,3,4]", "", "f32[5,2,3,4]", ""},
        {"Solve", "f32[5,3,3] f32[3]", "", "f32[5,3]", ""},
        {"Solve", "f32[3,3] f32[7,3,1]", "", "f32[7,3,1]", ""},
    };
    CHECK_GOOD(c);
}

TEST(classic_models_are_sized_by_their_lists)
{
    static const good_case c[] = {
        {"ArrayFeatureExtractor", "f32[5,4] i64[1,2]", "", "f32[5,2]", ""},
        {"ArrayFeatureExtractor", "string[4] i64[3]", "", "string[1,3]", ""},
        {"FeatureVectorizer", "f32[5,4] f32[5,2]", "inputdimensions=3,4", "f32[5,7]", ""},
        {"FeatureVectorizer", "i64[4] i64[2]", "", "f32[1,6]", ""},
        {"Imputer", "f32[5,2]", "imputed_value_floats=1,2", "f32[5,2]", "replaced_value_float=0"},
        {"ZipMap", "f32[5,2]", "classlabels_strings=a,b", "f32[5,2]", ""},
        {"Scaler", "i64[5,2]", "offset=1 scale=2,3", "f32[5,2]", ""},
        {"CategoryMapper", "string[2]", "cats_int64s=1,2 cats_strings=a,b", "i64[2]", ""},
        {"OneHotEncoder", "i64[2,3]", "cats_int64s=1,2", "f32[2,3,2]", "zeros=1"},
        {"LabelEncoder", "string[2]", "keys_strings=a,b values_floats=1,2", "f32[2]", ""},
        {"LabelEncoder", "i16[2]", "keys_tensor=i16[1]{1} values_tensor=i32[1]{1}", "i32[2]", ""},
        {"LabelEncoder", "string[2]", "classes_strings=a,b", "i64[2]",
         "classes_strings=none keys_strings=a,b values_int64s=0,1"},
        {"LabelEncoder", "i64[2]", "classes_strings=a,b", "string[2]",
         "keys_int64s=0,1 values_strings=a,b"},
        {"LinearRegressor", "f32[5,2]", "coefficients=1,2,3,4 targets=2", "f32[5,2]", ""},
        {"LinearClassifier", "f32[2]", "coefficients=1,2 classlabels_ints=4,5", "i64[1] f32[1,2]",
         "post_transform=NONE"},
        {"SVMRegressor", "f32[5,2]", "n_supports=1 coefficients=1 support_vectors=1,2 rho=0",
         "f32[5,1]", ""},
        {"SVMClassifier", "f32[5,1]",
         "vectors_per_class=1,1,1 coefficients=1,2,3,4,5,6 support_vectors=1,2,3 rho=0,0,0 "
         "classlabels_strings=a,b,c",
         "string[5] f32[5,3]", ""},
        {"SVMClassifier", "f32[5,2]", "coefficients=1,2,3,4 rho=0 classlabels_ints=1,2",
         "i64[5] f32[5,2]", ""},
    };
    CHECK_GOOD(c);
}

TEST(trees_have_a_column_for_each_target)
{
    static const good_case c[] = {
        {"TreeEnsembleRegressor", "f32[5,2]",
         "nodes_treeids=0 nodes_nodeids=0 nodes_modes=LEAF nodes_featureids=0 nodes_values=0 "
         "nodes_truenodeids=0 nodes_falsenodeids=0 target_ids=2 target_nodeids=0 target_treeids=0 "
         "target_weights=1 n_targets=3",
         "f32[5,3]", "aggregate_function=SUM"},
        {"TreeEnsembleClassifier", "f64[5,2]",
         "nodes_treeids=0 nodes_nodeids=0 nodes_modes=LEAF nodes_featureids=0 nodes_values=0 "
         "nodes_truenodeids=0 nodes_falsenodeids=0 class_ids=0 class_nodeids=0 class_treeids=0 "
         "class_weights=1 classlabels_int64s=1",
         "i64[5] f32[5,2]", ""},
        {"TreeEnsemble", "f32[5,2]",
         "nodes_featureids=1 nodes_modes=u8[1]{6} nodes_splits=f32[1]{0} nodes_truenodeids=0 "
         "nodes_trueleafs=1 nodes_falsenodeids=1 nodes_falseleafs=1 leaf_targetids=0,1 "
         "leaf_weights=f32[2]{1,2} tree_roots=0 membership_values=f32[3]{1,2,nan} n_targets=2",
         "f32[5,2]", "post_transform=0"},
    };
    CHECK_GOOD(c);
}

TEST(images_are_resized_in_every_way)
{
    static const good_case c[] = {
        {"Resize", "f32[1,1,4,10] - f32[4]{1,1,0.5,0.7}", "", "f32[1,1,2,7]",
         "scales=1,1,0.5,0.7 axes=0,1,2,3 roi=none"},
        {"Resize", "f32[16777217,2] - f32[2]{1,2}", "", "f32[16777217,4]", "scales=1,2"},
        {"Resize", "f32[1,1,4,6] - - i64[2]{3,3}", "axes=2,-1", "f32[1,1,3,3]",
         "scales=1,1,0.75,0.5 axes=2,3"},
        {"Resize", "f32[1,1,4,6] - f32[0] i64[2]{3,3}",
         "axes=2,3 keep_aspect_ratio_policy=not_larger", "f32[1,1,2,3]", "scales=1,1,0.5,0.5"},
        {"Resize", "f32[1,1,4,6] - - i64[2]{3,3}", "axes=2,3 keep_aspect_ratio_policy=not_smaller",
         "f32[1,1,3,5]", ""},
        {"Resize", "f32[4,6] f32[4]{0,0,0.5,1} f32[2]{1,2}",
         "coordinate_transformation_mode=tf_crop_and_resize", "f32[2,12]", "roi=0,0,0.5,1"},
        {"GridSample", "f32[2,3,4,5] f32[2,6,7,2]", "", "f32[2,3,6,7]", "mode=linear"},
        {"AffineGrid", "f32[2,2,3] i64[4]{2,9,4,5}", "", "f32[2,4,5,2]", ""},
        {"AffineGrid", "f32[2,3,4] i64[5]{2,9,3,4,5}", "", "f32[2,3,4,5,3]", ""},
        {"Col2Im", "f32[1,5,5] i64[2]{5,5} i64[2]{1,5}", "", "f32[1,1,5,5]", "strides=1,1"},
        {"NonMaxSuppression", "f32[1,6,4] f32[1,2,6] i64[1]{3}", "", "~i64[6,3]", ""},
        {"NonMaxSuppression", "f32[1,6,4] f32[1,2,6]", "", "~i64[0,3]", ""},
    };
    CHECK_GOOD(c);
}

TEST(makers_of_tensors_read_values_and_attributes)
{
    static const good_case c[] = {
        {"Constant", "", "value_ints=4,5", "i64[2]", "value_ints=none"},
        {"Constant", "", "value_float=4", "f32[]", ""},
        {"Constant", "", "value=u8[3]{1,2,3}", "u8[3]", ""},
        {"ConstantOfShape", "i64[2]{3,0}", "", "f32[3,0]", ""},
        {"ConstantOfShape", "i64[0]", "value=i64[1]{7}", "i64[]", ""},
        {"Range", "i64[]{1} i64[]{10} i64[]{4}", "", "i64[3]", "stash_type=1"},
        {"Range", "i32[]{10} i32[]{1} i32[]{-3}", "", "i32[3]", ""},
        {"Range", "i64[]{5} i64[]{1} i64[]{1}", "", "i64[0]", ""},
        {"Range", "f32[]{0} f32[]{1} f32[]{0.3}", "", "f32[4]", ""},
        {"RandomNormal", "", "shape=2,3", "f32[2,3]", "mean=0 scale=1"},
        {"RandomUniformLike", "f64[2]", "", "f64[2]", "dtype=11"},
        {"Bernoulli", "f32[2]", "dtype=9", "bool[2]", ""},
        {"EyeLike", "i32[2,3]", "dtype=1", "f32[2,3]", "k=0"},
        {"Multinomial", "f32[2,5]", "sample_size=4", "i32[2,4]", ""},
        {"HannWindow", "i32[]{10}", "", "f32[10]", "periodic=1"},
        {"MelWeightMatrix", "i64[]{8} i64[]{16} i64[] f32[] f32[]", "", "f32[9,8]", ""},
        {"DFT", "f32[1,10,1] - i64[]{1}", "", "f32[1,10,2]", "axis=1 dft_length=10"},
        {"DFT", "f32[1,10,1]", "onesided=1", "f32[1,6,2]", "axis=1"},
        {"DFT", "f32[1,6,2]", "onesided=1 inverse=1", "f32[1,10,1]", "dft_length=10"},
        {"DFT", "f32[1,10,4,1] i64[]{7} i64[]{-3}", "", "f32[1,7,4,2]", "axis=1"},
        {"STFT", "f32[1,128,1] i64[]{8} f32[16]", "", "f32[1,15,9,2]",
         "frame_step=8 frame_length=16"},
    };
    CHECK_GOOD(c);
}

TEST(quantization_finds_its_granularity)
{
    static const good_case c[] = {
        {"QuantizeLinear", "f32[2,3] f32[] i8[]", "", "i8[2,3]", "axis=0 output_dtype=3"},
        {"QuantizeLinear", "f32[2,3] f32[]", "", "u8[2,3]", "output_dtype=2"},
        {"QuantizeLinear", "f32[2,3] f32[3] u8[3]", "axis=-1", "u8[2,3]", "axis=1"},
        {"QuantizeLinear", "f32[2,5] f32[2,3]", "block_size=2 output_dtype=22", "i4[2,5]", ""},
        {"DequantizeLinear", "i8[2,3] f16[] i8[1]", "", "f16[2,3]", "output_dtype=10"},
        {"DynamicQuantizeLinear", "f32[2,3]", "", "u8[2,3] f32[] u8[]", ""},
    };
    CHECK_GOOD(c);
}

TEST(strings_are_counted)
{
    static const good_case c[] = {
        {"StringSplit", "string[2]{a%bc%%d,x}", "", "string[2,3] i64[2]", ""},
        {"StringSplit", "string[2]{a.b.c,x}", "delimiter=. maxsplit=1", "string[2,2] i64[2]", ""},
        {"StringSplit", "string[0]", "", "string[0,0] i64[0]", ""},
        {"StringNormalizer", "string[1,4]", "", "~string[1,4]", ""},
        {"StringConcat", "string[2] string[]", "", "string[2]", ""},
        {"RegexFullMatch", "string[2]", "pattern=a", "bool[2]", ""},
        {"TfIdfVectorizer", "i64[3,9]",
         "mode=TF ngram_counts=0,2 ngram_indexes=0,1,4 pool_int64s=5,6,7,8 min_gram_length=1 "
         "max_gram_length=2 max_skip_count=0",
         "f32[3,5]", ""},
    };
    CHECK_GOOD(c);
}

TEST(sequences_carry_element_types)
{
    static const good_case c[] = {
        {"SequenceConstruct", "f32[2] f32[3]", "", "seq(f32)", ""},
        {"SequenceEmpty", "", "dtype=7", "seq(i64)", ""},
        {"SequenceInsert", "seq(f32) f32[?] i64[]", "", "seq(f32)", ""},
        {"SequenceAt", "seq(f32) i64[]", "", "f32[?]", ""},
        {"SequenceLength", "seq(f32)", "", "i64[]", ""},
        {"ConcatFromSequence", "seq(f32)", "axis=-1", "f32[?]", "new_axis=0"},
        {"SplitToSequence", "f32[4,2]", "axis=-1", "seq(f32)", "axis=1"},
        {"Optional", "f32[2]", "", "opt(f32)", ""},
        {"Optional", "", "type=1,7", "opt(i64)", ""},
        {"OptionalGetElement", "opt(f32)", "", "f32[?]", ""},
        {"OptionalHasElement", "", "", "bool[]", ""},
    };
    CHECK_GOOD(c);
}

TEST(losses_and_optimizers_pair_their_operands)
{
    static const good_case c[] = {
        {"NegativeLogLikelihoodLoss", "f32[2,3,4] i64[2,4] f32[3]", "", "f32[]", "reduction=mean"},
        {"SoftmaxCrossEntropyLoss", "f32[2,3] i64[2]", "reduction=none", "f32[2] f32[2,3]", ""},
        {"Momentum", "f32[] i64[] f32[2] f64[3] f32[2] f64[3] f32[2] f64[3]",
         "alpha=0.9 beta=1 norm_coefficient=0 mode=standard", "f32[2] f64[3] f32[2] f64[3]", ""},
        {"Adam", "f32[] i64[] f32[2] f32[2] f32[2] f32[2]", "", "f32[2] f32[2] f32[2]",
         "alpha=0.9"},
        {"Adagrad", "f32[] i64[] f32[2] f32[2] f32[2]", "", "f32[2] f32[2]", ""},
    };
    CHECK_GOOD(c);
}

static const int64_t late_shape[2] = {3, -1};
static const void *late_value(tfr__infer *in, uint32_t input)
{
    return *(bool *)in->user && input == 1 ? late_shape : NULL;
}

TEST(an_unknown_value_is_asked_for_and_the_same_list_goes_on)
{
    static infer_run r;
    bool known = false;
    case_begin(&r, "Reshape", "f32[2,6] i64[2]", "");
    r.in.n_outputs = 1;
    r.outputs[0].kind = TFR_KIND_TENSOR;
    r.in.value = late_value;
    r.in.user = &known;
    CHECK_INT(TFR__EPENDING, tfr__infer_node(&r.in, &r.err));
    CHECK_UINT(1, r.in.pending);
    known = true;
    REQUIRE_OK(tfr__infer_node(&r.in, &r.err), &r.err);
    CHECK_INT(2, r.outputs[0].rank);
    CHECK_INT(4, r.outputs[0].dims[1]);
    tfr__attr_free(&r.attrs);
}

TEST(values_in_other_types_are_read)
{
    static infer_run r;
    static const uint16_t half[3] = {0, 0x4200, 0x3800}; /* 0, 3, 0.5 */
    case_begin(&r, "Range", "f16[] f16[] f16[]", "");
    for (int i = 0; i < 3; i++)
        r.inputs[i].data = &half[i];
    r.in.n_outputs = 1;
    r.outputs[0].kind = TFR_KIND_TENSOR;
    REQUIRE_OK(tfr__infer_node(&r.in, &r.err), &r.err);
    CHECK_INT(6, r.outputs[0].dims[0]);
    tfr__attr_free(&r.attrs);
}

TEST(a_node_that_is_inferred_again_still_refuses_dims_that_do_not_match_or_are_too_large)
{
    static const struct {
        const char *inputs;
        tfr_status status;
    } cases[] = {{"f32[2,3] f32[3,4]", TFR_OK},
                 {"f32[2,3] f32[2,4]", TFR_ESHAPE},
                 {"f32[2147483648,1] f32[1,2147483648]", TFR_ELIMIT}};
    static infer_run r;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        case_begin(&r, "MatMul", cases[k].inputs, "");
        r.in.n_outputs = 1;
        r.in.again = true;
        r.outputs[0].kind = TFR_KIND_TENSOR;
        CHECK_STATUS(cases[k].status, tfr__infer_node(&r.in, &r.err), &r.err);
        tfr__attr_free(&r.attrs);
    }
}

TEST(memory_that_runs_out_anywhere_is_an_error_and_leaks_nothing)
{
    static const char *const nodes[][3] = {
        {"Conv", "f32[1,3,5] f32[8,3,3]", "auto_pad=SAME_UPPER strides=2"},
        {"LSTM", "f32[5,2,3] f32[1,16,3] f32[1,16,4]", "activations=elu,tanh,tanh"},
        {"Constant", "", "value_strings=a,b"},
    };
    static infer_run r;
    for (size_t k = 0; k < sizeof nodes / sizeof nodes[0]; k++) {
        uint64_t live = tfr__alloc_live();
        tfr_status s = TFR_ENOMEM;
        for (uint64_t n = 1; s && n < 200; n++) {
            case_begin(&r, nodes[k][0], nodes[k][1], nodes[k][2]);
            r.in.n_outputs = 1;
            r.outputs[0].kind = TFR_KIND_TENSOR;
            tfr__alloc_fail_at(n);
            s = tfr__infer_node(&r.in, &r.err);
            tfr__alloc_fail_at(0);
            CHECK(s == TFR_OK || s == TFR_ENOMEM);
            tfr__attr_free(&r.attrs);
        }
        CHECK_INT(TFR_OK, s);
        CHECK_UINT(live, tfr__alloc_live());
    }
}

TEST(tensor_sizes_count_packed_types)
{
    tfr__type t = {.kind = TFR_KIND_TENSOR, .dtype = TFR_DTYPE_U4, .rank = 1, .dims = {3}};
    CHECK_INT(2, tfr__type_bytes(&t));
    t.dims[0] = 0;
    CHECK_INT(0, tfr__type_bytes(&t));
    t.rank = 0;
    CHECK_INT(1, tfr__type_elements(&t));
    t.rank = 2;
    t.dims[0] = 0;
    t.dims[1] = INT64_MAX;
    CHECK_INT(-1, tfr__type_elements(&t));
}

static const test_case cases[] = {
    CASE(elementwise_ops_broadcast_and_keep_types),
    CASE(defaults_have_the_exact_value_of_the_standard),
    CASE(reductions_get_their_axes_sorted_and_complete),
    CASE(views_resolve_copies_and_wildcards),
    CASE(moving_ops_get_full_lists_for_every_axis),
    CASE(indexing_ops_combine_the_shapes_of_data_and_indices),
    CASE(matrix_products_follow_numpy),
    CASE(einsum_is_written_out),
    CASE(convolutions_have_explicit_windows),
    CASE(pools_count_their_windows),
    CASE(normalisations_keep_shapes),
    CASE(recurrent_nets_name_all_their_functions),
    CASE(attention_knows_its_heads),
    CASE(linear_systems_broadcast_their_batches),
    CASE(classic_models_are_sized_by_their_lists),
    CASE(trees_have_a_column_for_each_target),
    CASE(images_are_resized_in_every_way),
    CASE(makers_of_tensors_read_values_and_attributes),
    CASE(quantization_finds_its_granularity),
    CASE(strings_are_counted),
    CASE(sequences_carry_element_types),
    CASE(losses_and_optimizers_pair_their_operands),
    CASE(an_unknown_value_is_asked_for_and_the_same_list_goes_on),
    CASE(values_in_other_types_are_read),
    CASE(a_node_that_is_inferred_again_still_refuses_dims_that_do_not_match_or_are_too_large),
    CASE(memory_that_runs_out_anywhere_is_an_error_and_leaks_nothing),
    CASE(tensor_sizes_count_packed_types),
};
TEST_MAIN(cases)
