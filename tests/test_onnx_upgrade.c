/* SPDX-License-Identifier: Apache-2.0 */
/* Older opset forms: each becomes nodes of the newest form. That they compute the same is shown by
 * running ONNX's own models; here it is looked at what they become. */
#include <stdarg.h>
#include <tfrun/onnx.h>

#include "base/alloc.h"
#include "graph/graph.h"
#include "onnx_build.h"
#include "tfr_test.h"

static tfr_err err = TFR_ERR_INIT;

/* What becomes of a model when the n-th request for memory fails: no graph with a part missing. */
static void check_without_memory(const pb *m)
{
    tfr_status status = TFR_ENOMEM;
    for (uint64_t n = 1; status == TFR_ENOMEM; n++) {
        const uint64_t before = tfr__alloc_count();
        tfr_graph *graph = NULL;
        tfr__alloc_fail_at(n);
        status = tfr_onnx_parse(m->data, m->n, &graph, &err);
        tfr__alloc_fail_at(0);
        tfr_graph_release(graph);
        CHECK_STATUS(tfr__alloc_count() - before < n ? TFR_OK : TFR_ENOMEM, status, &err);
    }
}

/* One node whose inputs are x of the given rank (-1 = unknown), w float32[3], and s, a constant. */
static tfr_graph *load(pb n, int opset, int rank)
{
    static const int64_t dims[4] = {2, 3, 4, 5};
    static const float w[3] = {1, 2, 3};
    pb g = {.n = 0}, m, c = tensor_raw("w", TFR_DTYPE_F32, 1, dims + 1, w, sizeof w);
    tfr_graph *graph = NULL;
    add_value(&g, 11, "x", TFR_DTYPE_F32, rank, dims);
    pb_msg(&g, 5, &c);
    add_node(&g, n);
    add_value(&g, 12, "y", 0, -1, NULL);
    m = model(&g, opset);
    REQUIRE(!m.full);
    check_without_memory(&m);
    REQUIRE_OK(tfr_onnx_parse(m.data, m.n, &graph, &err), &err);
    return graph;
}

/* The same model is refused with a sentence that has this part. */
static void check_refused(pb n, int opset, int rank, const char *part)
{
    static const int64_t dims[4] = {2, 3, 4, 5};
    static const float w[3] = {1, 2, 3};
    pb g = {.n = 0}, m, c = tensor_raw("w", TFR_DTYPE_F32, 1, dims + 1, w, sizeof w);
    tfr_graph *graph = NULL;
    add_value(&g, 11, "x", TFR_DTYPE_F32, rank, dims);
    pb_msg(&g, 5, &c);
    add_node(&g, n);
    m = model(&g, opset);
    CHECK(tfr_onnx_parse(m.data, m.n, &graph, &err) != TFR_OK);
    CHECK_CONTAINS(part, err.text);
    tfr_graph_release(graph);
}

/* The ops of a graph: "Flatten Softmax Shape Reshape". */
static const char *ops_of(const tfr_graph *graph)
{
    static char text[256];
    size_t used = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? " " : "",
                                 graph->nodes[i].op->name);
    return text;
}

static const tfr__node *last(const tfr_graph *graph)
{
    return &graph->nodes[graph->n_nodes - 1];
}

/* The constant that is input i of the last node, as int64 numbers. */
static void check_ints(const tfr_graph *graph, uint32_t i, int n, ...)
{
    const tfr_tensor *tensor;
    va_list args;
    REQUIRE(i < last(graph)->n_inputs && last(graph)->inputs[i] != TFR_VALUE_NONE);
    tensor = graph->values[last(graph)->inputs[i]].tensor;
    REQUIRE(tensor != NULL && tfr_tensor_dtype(tensor) == TFR_DTYPE_I64);
    REQUIRE_INT(n, tfr_tensor_elements(tensor));
    va_start(args, n);
    for (int k = 0; k < n; k++)
        CHECK_INT(va_arg(args, int), ((const int64_t *)tfr_tensor_data(tensor))[k]);
    va_end(args);
}

static float float_input(const tfr_graph *graph, uint32_t i)
{
    const tfr_tensor *tensor = i < last(graph)->n_inputs && last(graph)->inputs[i] >= 0
                                   ? graph->values[last(graph)->inputs[i]].tensor
                                   : NULL;
    return tensor && tfr_tensor_dtype(tensor) == TFR_DTYPE_F32
               ? *(const float *)tfr_tensor_data(tensor)
               : -999;
}

static const tfr_attr *attr_of(const tfr_graph *graph, const char *name)
{
    const tfr__node *n = last(graph);
    for (uint32_t i = 0; i < n->attrs.n; i++)
        if (strcmp(n->attrs.items[i].pub.name, name) == 0)
            return &n->attrs.items[i].pub;
    return NULL;
}

static int64_t int_of(const tfr_graph *graph, const char *name)
{
    const tfr_attr *attr = attr_of(graph, name);
    return attr && attr->type == TFR_ATTR_INT ? attr->ints[0] : -999;
}

static const char *text_of(const tfr_graph *graph, const char *name)
{
    const tfr_attr *attr = attr_of(graph, name);
    return attr && attr->type == TFR_ATTR_STRING ? attr->strings[0].data : "(none)";
}

/* ---- every version --------------------------------------------------------------------------- */

/* All ops of domain "" that ONNX 1.23 has or had, each with its first opset. */
static const char history[] =
    "Abs 1 Acos 7 Acosh 9 Add 1 AffineGrid 20 And 1 ArgMax 1 ArgMin 1 Asin 7 Asinh 9 Atan 7 "
    "Atanh 9 Attention 23 AveragePool 1 BatchNormalization 1 Bernoulli 15 BitCast 26 BitShift 11 "
    "BitwiseAnd 18 BitwiseNot 18 BitwiseOr 18 BitwiseXor 18 BlackmanWindow 17 Cast 1 CastLike 15 "
    "CausalConvWithState 27 Ceil 1 Celu 12 CenterCropPad 18 Clip 1 Col2Im 18 Compress 9 Concat 1 "
    "ConcatFromSequence 11 Constant 1 ConstantOfShape 9 Conv 1 ConvInteger 10 ConvTranspose 1 "
    "Cos 7 Cosh 9 CumProd 26 CumSum 11 DFT 17 DeformConv 19 DepthToSpace 1 DequantizeLinear 10 "
    "Det 11 Div 1 Dropout 1 DynamicQuantizeLinear 11 Einsum 12 Elu 1 Equal 1 Erf 9 Exp 1 Expand 8 "
    "EyeLike 9 Flatten 1 Floor 1 GRU 1 Gather 1 GatherElements 11 GatherND 11 Gelu 20 Gemm 1 "
    "GlobalAveragePool 1 GlobalLpPool 1 GlobalMaxPool 1 Greater 1 GreaterOrEqual 12 GridSample 16 "
    "GroupNormalization 18 HammingWindow 17 HannWindow 17 HardSigmoid 1 HardSwish 14 Hardmax 1 "
    "Identity 1 If 1 ImageDecoder 20 InstanceNormalization 1 IsInf 10 IsNaN 9 LRN 1 LSTM 1 "
    "LayerNormalization 17 LeakyRelu 1 Less 1 LessOrEqual 12 LinearAttention 27 Log 1 "
    "LogSoftmax 1 Loop 1 LpNormalization 1 LpPool 1 MatMul 1 MatMulInteger 10 Max 1 MaxPool 1 "
    "MaxRoiPool 1 MaxUnpool 9 Mean 1 MeanVarianceNormalization 9 MelWeightMatrix 17 Min 1 Mish 18 "
    "Mod 10 Mul 1 Multinomial 7 Neg 1 NegativeLogLikelihoodLoss 12 NonMaxSuppression 10 NonZero 9 "
    "Not 1 OneHot 9 Optional 15 OptionalGetElement 15 OptionalHasElement 15 Or 1 PRelu 1 Pad 1 "
    "Pow 1 QLinearConv 10 QLinearMatMul 10 QuantizeLinear 10 RMSNormalization 23 RNN 1 "
    "RandomNormal 1 RandomNormalLike 1 RandomUniform 1 RandomUniformLike 1 Range 11 Reciprocal 1 "
    "ReduceL1 1 ReduceL2 1 ReduceLogSum 1 ReduceLogSumExp 1 ReduceMax 1 ReduceMean 1 ReduceMin 1 "
    "ReduceProd 1 ReduceSum 1 ReduceSumSquare 1 RegexFullMatch 20 Relu 1 Reshape 1 Resize 10 "
    "ReverseSequence 10 RoiAlign 10 RotaryEmbedding 23 Round 11 STFT 17 Scan 8 Scatter 9 "
    "ScatterElements 11 ScatterND 11 Selu 1 SequenceAt 11 SequenceConstruct 11 SequenceEmpty 11 "
    "SequenceErase 11 SequenceInsert 11 SequenceLength 11 SequenceMap 17 Shape 1 Shrink 9 "
    "Sigmoid 1 Sign 9 Sin 7 Sinh 9 Size 1 Slice 1 Softmax 1 SoftmaxCrossEntropyLoss 12 Softplus 1 "
    "Softsign 1 SpaceToDepth 1 Split 1 SplitToSequence 11 Sqrt 1 Squeeze 1 StringConcat 20 "
    "StringNormalizer 10 StringSplit 20 Sub 1 Sum 1 SwiGLU 28 Swish 24 Tan 7 Tanh 1 "
    "TensorScatter 24 TfIdfVectorizer 9 ThresholdedRelu 10 Tile 1 TopK 1 Transpose 1 Trilu 14 "
    "Unique 11 Unsqueeze 1 Upsample 1 Where 9 Xor 1";

TEST(no_version_of_a_known_op_is_refused_for_its_age)
{
    const char *at = history;
    char name[64];
    int version, n;
    while (sscanf(at, "%63s %d%n", name, &version, &n) == 2) {
        pb g = {.n = 0}, m;
        tfr_graph *graph;
        add_node(&g, node(name, "", ""));
        m = model(&g, version);
        err.text[0] = 0;
        if (tfr_onnx_parse(m.data, m.n, &graph, &err) == TFR_OK)
            tfr_graph_release(graph);
        if (strstr(err.text, "is known since opset"))
            CHECK_STR("", err.text);
        at += n;
    }
}

/* ---- attributes that became inputs ----------------------------------------------------------- */

TEST(axes_of_squeeze_unsqueeze_and_reductions_become_an_input)
{
    static const char *const ops[] = {"Squeeze", "Unsqueeze", "ReduceSum", "ReduceMean"};
    static const int64_t axes[2] = {0, 1};
    for (int i = 0; i < 4; i++) {
        pb n = node(ops[i], "x", "y");
        tfr_graph *graph;
        add_attr(&n, attr_ints("axes", axes, 2));
        graph = load(n, 11, 4);
        CHECK_STR(ops[i], ops_of(graph));
        check_ints(graph, 1, 2, 0, 1);
        CHECK(!attr_of(graph, "axes"));
        tfr_graph_release(graph);
    }
}

TEST(reshape_slice_split_and_top_k_get_their_inputs)
{
    static const int64_t v[2] = {1, 2};
    pb n = node("Reshape", "x", "y");
    tfr_graph *graph;
    add_attr(&n, attr_ints("shape", v, 2));
    graph = load(n, 1, 4);
    check_ints(graph, 1, 2, 1, 2);
    tfr_graph_release(graph);
    n = node("Slice", "x", "y");
    add_attr(&n, attr_ints("starts", v, 1));
    add_attr(&n, attr_ints("ends", v + 1, 1));
    graph = load(n, 9, 4);
    check_ints(graph, 1, 1, 1);
    check_ints(graph, 2, 1, 2);
    CHECK_UINT(3, last(graph)->n_inputs);
    tfr_graph_release(graph);
    n = node("Split", "x", "y z");
    add_attr(&n, attr_ints("split", v, 2));
    graph = load(n, 11, 4);
    check_ints(graph, 1, 2, 1, 2);
    CHECK(!attr_of(graph, "num_outputs"));
    tfr_graph_release(graph);
    graph = load(node("Split", "x", "y z"), 13, 4);
    CHECK_INT(2, int_of(graph, "num_outputs"));
    tfr_graph_release(graph);
    n = node("TopK", "x", "y z");
    add_attr(&n, attr_int("k", 3));
    graph = load(n, 9, 4);
    check_ints(graph, 1, 1, 3);
    tfr_graph_release(graph);
}

TEST(limits_of_clip_become_scalars_of_the_datas_type)
{
    pb n = node("Clip", "x", "y"), g = {.n = 0}, m;
    tfr_graph *graph;
    add_attr(&n, attr_float("max", 6));
    graph = load(n, 6, 4);
    CHECK_STR("Clip", ops_of(graph));
    CHECK_INT(TFR_VALUE_NONE, last(graph)->inputs[1]);
    CHECK_NEAR(6, float_input(graph, 2), 0);
    tfr_graph_release(graph);
    /* Without a known type the scalar takes it at run time. */
    add_value(&g, 11, "x", 0, -1, NULL);
    add_node(&g, n);
    m = model(&g, 6);
    REQUIRE_OK(tfr_onnx_parse(m.data, m.n, &graph, &err), &err);
    CHECK_STR("CastLike Clip", ops_of(graph));
    tfr_graph_release(graph);
}

TEST(the_type_of_a_scalar_follows_through_nodes)
{
    pb clip = node("Clip", "v", "y"), cast = node("Cast", "x", "t"), g = {.n = 0}, m;
    tfr_graph *graph;
    add_value(&g, 11, "x", TFR_DTYPE_F32, 1, (const int64_t[]){2});
    add_attr(&cast, attr_text("to", "DOUBLE"));
    add_attr(&clip, attr_float("min", 0));
    add_node(&g, cast);
    add_node(&g, node("Relu", "t", "u"));
    add_node(&g, node("Neg", "u", "v"));
    add_node(&g, clip);
    m = model(&g, 5);
    REQUIRE_OK(tfr_onnx_parse(m.data, m.n, &graph, &err), &err);
    CHECK_STR("Cast Relu Neg Clip", ops_of(graph));
    CHECK_INT(TFR_DTYPE_F64, tfr_tensor_dtype(graph->values[last(graph)->inputs[1]].tensor));
    tfr_graph_release(graph);
}

TEST(a_call_without_its_data_is_refused_by_its_own_name)
{
    static const struct {
        const char *op, *attr, *part;
        int opset;
    } rows[] = {
        {"Clip", "min", "(Clip): input input is missing", 6},
        {"Pad", "value", "(Pad): input data is missing", 2},
        {"Dropout", "ratio", "(Dropout): input data is missing", 7},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pb n = node(rows[i].op, "-", "y");
        tfr_graph *graph;
        tfr_graph_types *types = NULL;
        add_attr(&n, attr_float(rows[i].attr, 0.5f));
        graph = load(n, rows[i].opset, 1);
        CHECK_STR(rows[i].op, ops_of(graph));
        CHECK_STATUS(TFR_EMODEL, tfr_graph_infer(graph, &types, &err), &err);
        CHECK_CONTAINS(rows[i].part, err.text);
        tfr_graph_types_release(types);
        tfr_graph_release(graph);
    }
}

TEST(pads_become_an_input_under_both_old_names)
{
    static const int64_t pads[2] = {1, 2};
    static const char *const names[] = {"paddings", "pads"};
    for (int i = 0; i < 2; i++) {
        pb n = node("Pad", "x", "y");
        tfr_graph *graph;
        add_attr(&n, attr_ints(names[i], pads, 2));
        add_attr(&n, attr_float("value", 7));
        graph = load(n, i + 1, 1);
        check_ints(graph, 1, 2, 1, 2);
        CHECK_NEAR(7, float_input(graph, 2), 0);
        tfr_graph_release(graph);
    }
}

TEST(dropout_infers_with_its_ratio_as_an_input)
{
    pb n = node("Dropout", "x", "y");
    tfr_graph *graph;
    add_attr(&n, attr_float("ratio", 0.25f));
    add_attr(&n, attr_int("is_test", 0));
    graph = load(n, 6, 2);
    CHECK_NEAR(0.25, float_input(graph, 1), 0);
    CHECK_UINT(2, last(graph)->n_inputs);
    tfr_graph_release(graph);
}

TEST(the_mask_of_an_old_dropout_is_ones_of_the_type_of_the_data)
{
    tfr_graph *graph = load(node("Dropout", "x", "y mask"), 9, 2);
    CHECK_STR("Shape Expand Dropout", ops_of(graph));
    CHECK_UINT(1, last(graph)->n_outputs);
    tfr_graph_release(graph);
}

TEST(normalizations_that_optimizers_write_into_old_models_are_those_of_today)
{
    tfr_graph *graph = load(node("LayerNormalization", "x w", "y"), 14, 2);
    CHECK_STR("LayerNormalization", ops_of(graph));
    tfr_graph_release(graph);
    graph = load(node("SimplifiedLayerNormalization", "x w", "y"), 14, 2);
    CHECK_STR("RMSNormalization", ops_of(graph));
    tfr_graph_release(graph);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

TEST(broadcasting_from_an_axis_adds_dims_of_one)
{
    pb n = node("Add", "x w", "y");
    tfr_graph *graph;
    add_attr(&n, attr_int("broadcast", 1));
    add_attr(&n, attr_int("axis", 1));
    graph = load(n, 6, 4);
    CHECK_STR("Unsqueeze Add", ops_of(graph));
    CHECK_UINT(0, last(graph)->attrs.n);
    tfr_graph_release(graph);
    graph = load(n, 6, -1);
    CHECK_STR("Shape Shape ConstantOfShape Shape Concat Reshape Add", ops_of(graph));
    tfr_graph_release(graph);
    graph = load(n, 6, 2); /* the last axis: as NumPy does it */
    CHECK_STR("Add", ops_of(graph));
    tfr_graph_release(graph);
}

TEST(an_axis_of_broadcasting_that_does_not_fit_is_refused)
{
    static const struct {
        int64_t axis;
        const char *part;
    } rows[] = {
        {TFR_MAX_RANK + 1, "is beyond the limit"},
        {-TFR_MAX_RANK - 1, "is beyond the limit"},
        {TFR_MAX_RANK, "does not fit"},
        {-TFR_MAX_RANK, "does not fit"},
        {4, "does not fit"},
        {-5, "does not fit"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pb n = node("Add", "x w", "y");
        add_attr(&n, attr_int("broadcast", 1));
        add_attr(&n, attr_int("axis", rows[i].axis));
        check_refused(n, 6, 4, rows[i].part);
    }
}

TEST(tile_along_one_axis_repeats_once_along_the_others)
{
    static const float at[5] = {7, 1, 0, 4, -1};
    for (int i = 1; i < 5; i++) {
        pb g = {.n = 0}, m, tiles = tensor_raw("t", TFR_DTYPE_F32, 0, NULL, at, 4),
           axis = tensor_raw("a", TFR_DTYPE_F32, 0, NULL, at + i, 4);
        tfr_graph *graph = NULL;
        add_value(&g, 11, "x", TFR_DTYPE_F32, 4, (const int64_t[]){2, 3, 4, 5});
        pb_msg(&g, 5, &tiles);
        pb_msg(&g, 5, &axis);
        add_node(&g, node("Tile", "x t a", "y"));
        add_value(&g, 12, "y", 0, -1, NULL);
        m = model(&g, 5);
        if (i > 2) {
            CHECK_STATUS(TFR_EMODEL, tfr_onnx_parse(m.data, m.n, &graph, &err), &err);
            CHECK_CONTAINS("is not in 0...3", err.text);
            continue;
        }
        check_without_memory(&m);
        REQUIRE_OK(tfr_onnx_parse(m.data, m.n, &graph, &err), &err);
        CHECK_STR("Tile", ops_of(graph));
        check_ints(graph, 1, 4, i == 2 ? 7 : 1, i == 1 ? 7 : 1, 1, 1);
        tfr_graph_release(graph);
    }
    check_refused(node("Tile", "x w w", "y"), 5, 4, "needs constant tiles and axis");
    check_refused(node("Tile", "x w w", "y"), 5, -1, "needs constant tiles and axis");
}

TEST(a_p_that_was_a_float_has_to_be_a_whole_number)
{
    static const struct {
        float p;
        bool good;
    } rows[] = {{1, true},     {2, true},  {1e6f, true},     {1.5f, false},
                {0.5f, false}, {0, false}, {1000001, false}, {NAN, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pb n = node("GlobalLpPool", "x", "y");
        tfr_graph *graph;
        add_attr(&n, attr_float("p", rows[i].p));
        if (!rows[i].good) {
            check_refused(n, 1, 4, "is not a whole number from 1 to 1e6");
            continue;
        }
        graph = load(n, 1, 4);
        CHECK_INT((int64_t)rows[i].p, int_of(graph, "p"));
        tfr_graph_release(graph);
    }
}

TEST(broadcasting_without_an_axis_is_numpys)
{
    pb n = node("Mul", "x w", "y");
    tfr_graph *graph;
    add_attr(&n, attr_int("broadcast", 1));
    graph = load(n, 6, 4);
    CHECK_STR("Mul", ops_of(graph));
    tfr_graph_release(graph);
}

TEST(a_slope_per_channel_is_aligned_with_axis_one)
{
    tfr_graph *graph = load(node("PRelu", "x w", "y"), 6, 4);
    CHECK_STR("Unsqueeze PRelu", ops_of(graph));
    tfr_graph_release(graph);
    graph = load(node("PRelu", "x w", "y"), 9, 4);
    CHECK_STR("PRelu", ops_of(graph));
    tfr_graph_release(graph);
}

TEST(softmax_over_a_matrix_is_flattened_and_shaped_back)
{
    pb n = node("LogSoftmax", "x", "y");
    tfr_graph *graph = load(n, 11, 4);
    CHECK_STR("Flatten LogSoftmax Shape Reshape", ops_of(graph));
    CHECK_STR("y", tfr_graph_output_name(graph, 0));
    tfr_graph_release(graph);
    graph = load(n, 11, 2); /* the default axis 1 is the last one */
    CHECK_STR("LogSoftmax", ops_of(graph));
    CHECK_INT(-1, int_of(graph, "axis"));
    tfr_graph_release(graph);
    graph = load(n, 13, 4);
    CHECK_STR("LogSoftmax", ops_of(graph));
    tfr_graph_release(graph);
}

/* ---- names and defaults ---------------------------------------------------------------------- */

TEST(upsample_of_every_age_becomes_resize)
{
    static const float scales[4] = {1, 1, 2, 2};
    pb n = node("Upsample", "x", "y");
    tfr_graph *graph;
    add_attr(&n, attr_floats("scales", scales, 4));
    graph = load(n, 8, 4);
    CHECK_STR("Resize", ops_of(graph));
    CHECK_STR("asymmetric", text_of(graph, "coordinate_transformation_mode"));
    CHECK_STR("floor", text_of(graph, "nearest_mode"));
    CHECK_INT(TFR_VALUE_NONE, last(graph)->inputs[1]);
    CHECK_NEAR(1, float_input(graph, 2), 0);
    tfr_graph_release(graph);
    n = node("Upsample", "x", "y");
    add_attr(&n, attr_float("height_scale", 2));
    add_attr(&n, attr_float("width_scale", 3));
    add_attr(&n, attr_text("mode", "bilinear"));
    graph = load(n, 1, 4);
    CHECK_STR("linear", text_of(graph, "mode"));
    tfr_graph_release(graph);
    graph = load(node("Upsample", "x w", "y"), 9, 4);
    CHECK_STR("Resize", ops_of(graph));
    CHECK_UINT(3, last(graph)->n_inputs);
    tfr_graph_release(graph);
}

/* A Resize of opset 10 with these scales as a constant. */
static tfr_graph *resize_10(const char *mode, const float scales[2])
{
    static const int64_t dims[2] = {4, 5}, two = 2;
    pb n = node("Resize", "x s", "y"), g = {.n = 0}, m,
       c = tensor_raw("s", TFR_DTYPE_F32, 1, &two, scales, 2 * sizeof *scales);
    tfr_graph *graph = NULL;
    add_attr(&n, attr_text("mode", mode));
    add_value(&g, 11, "x", TFR_DTYPE_F32, 2, dims);
    pb_msg(&g, 5, &c);
    add_node(&g, n);
    add_value(&g, 12, "y", 0, -1, NULL);
    m = model(&g, 10);
    REQUIRE(!m.full);
    check_without_memory(&m);
    REQUIRE_OK(tfr_onnx_parse(m.data, m.n, &graph, &err), &err);
    return graph;
}

TEST(nearest_of_opset_10_rounds_up_where_it_shrinks)
{
    tfr_graph *graph = resize_10("nearest", (const float[]){1, 0.6f});
    CHECK_STR("Resize", ops_of(graph));
    CHECK_STR("asymmetric", text_of(graph, "coordinate_transformation_mode"));
    CHECK_STR("ceil", text_of(graph, "nearest_mode"));
    tfr_graph_release(graph);
    graph = resize_10("nearest", (const float[]){1.5f, 1});
    CHECK_STR("floor", text_of(graph, "nearest_mode"));
    tfr_graph_release(graph);
    graph = resize_10("linear", (const float[]){1.5f, 0.5f});
    CHECK_STR("Resize", ops_of(graph));
    CHECK_STR("linear", text_of(graph, "mode"));
    tfr_graph_release(graph);
    graph = resize_10("nearest", (const float[]){0.5f, 1.5f}); /* one axis each way: two nodes */
    CHECK_STR("Resize Resize", ops_of(graph));
    CHECK_STR("floor", text_of(graph, "nearest_mode"));
    CHECK_NEAR(1, float_input(graph, 2), 0);
    tfr_graph_release(graph);
}

TEST(half_pixels_of_tensorflow_are_read_at_every_opset)
{
    for (int opset = 11; opset <= 18; opset++) {
        pb n = node("Resize", "x x w", "y");
        tfr_graph *graph;
        add_attr(&n, attr_text("coordinate_transformation_mode", "tf_half_pixel_for_nn"));
        add_attr(&n, attr_text("nearest_mode", "floor"));
        graph = load(n, opset, 3);
        CHECK_STR("half_pixel", text_of(graph, "coordinate_transformation_mode"));
        CHECK_STR("round_prefer_ceil", text_of(graph, "nearest_mode"));
        tfr_graph_release(graph);
    }
}

TEST(half_pixels_of_tensorflow_are_for_nearest_alone)
{
    pb n = node("Resize", "x x w", "y");
    add_attr(&n, attr_text("coordinate_transformation_mode", "tf_half_pixel_for_nn"));
    add_attr(&n, attr_text("mode", "linear"));
    check_refused(n, 13, 3, "tf_half_pixel_for_nn and mode \"linear\"");
}

TEST(old_names_and_defaults_are_written_out)
{
    pb n = node("Concat", "x x", "y");
    tfr_graph *graph = load(n, 3, 4);
    CHECK_INT(1, int_of(graph, "axis"));
    tfr_graph_release(graph);
    n = node("RoiAlign", "x x x", "y");
    graph = load(n, 10, 4);
    CHECK_STR("output_half_pixel", text_of(graph, "coordinate_transformation_mode"));
    tfr_graph_release(graph);
    n = node("GridSample", "x x", "y");
    add_attr(&n, attr_text("mode", "bicubic"));
    graph = load(n, 16, 4);
    CHECK_STR("cubic", text_of(graph, "mode"));
    tfr_graph_release(graph);
    graph = load(node("Scatter", "x x x", "y"), 9, 4);
    CHECK_STR("ScatterElements", ops_of(graph));
    tfr_graph_release(graph);
    n = node("DFT", "x", "y");
    graph = load(n, 17, 4);
    check_ints(graph, 2, 1, 1);
    tfr_graph_release(graph);
    n = node("Abs", "x", "y");
    add_attr(&n, attr_ints("consumed_inputs", (const int64_t[]){0}, 1));
    graph = load(n, 1, 4);
    CHECK_UINT(0, last(graph)->attrs.n);
    tfr_graph_release(graph);
}

TEST(batch_normalization_trains_only_with_more_outputs)
{
    pb n = node("BatchNormalization", "x w w w w", "y");
    tfr_graph *graph;
    add_attr(&n, attr_int("is_test", 1));
    add_attr(&n, attr_int("spatial", 1));
    graph = load(n, 6, 4);
    CHECK_UINT(0, last(graph)->attrs.n);
    tfr_graph_release(graph);
    graph = load(node("BatchNormalization", "x w w w w", "y m v"), 9, 4);
    CHECK_INT(1, int_of(graph, "training_mode"));
    tfr_graph_release(graph);
}

TEST(group_normalization_spreads_its_scale_over_the_channels)
{
    pb n = node("GroupNormalization", "x w w", "y");
    tfr_graph *graph;
    add_attr(&n, attr_int("num_groups", 3));
    graph = load(n, 18, 4);
    CHECK_STR("Shape Div Concat Unsqueeze Expand Reshape Unsqueeze Expand Reshape "
              "GroupNormalization",
              ops_of(graph));
    CHECK(last(graph)->inputs[1] != last(graph)->inputs[2]); /* as "w" was of both */
    tfr_graph_release(graph);
}

TEST(scan_8_becomes_a_scan_over_the_batch)
{
    pb body = {.n = 0}, n = node("Scan", "- x x", "f y");
    tfr_graph *graph;
    const tfr_graph *middle;
    add_value(&body, 11, "s", TFR_DTYPE_F32, -1, NULL);
    add_value(&body, 11, "e", TFR_DTYPE_F32, -1, NULL);
    add_node(&body, node("Add", "s e", "t"));
    add_node(&body, node("Mul", "t w", "u")); /* two graphs up */
    add_value(&body, 12, "t", 0, -1, NULL);
    add_value(&body, 12, "u", 0, -1, NULL);
    add_attr(&n, attr_int("num_scan_inputs", 1));
    add_attr(&n, attr_ints("directions", (const int64_t[]){1}, 1));
    add_attr(&n, attr_msg("body", 6, 5, &body));
    graph = load(n, 8, 3);
    CHECK_INT(2, int_of(graph, "num_scan_inputs"));
    REQUIRE_INT(1, last(graph)->n_subgraphs);
    middle = last(graph)->subgraphs[0];
    CHECK_STR("Scan", ops_of(middle));
    CHECK_INT(1, int_of(middle, "num_scan_inputs"));
    CHECK(attr_of(middle, "scan_input_directions") != NULL);
    CHECK_STR("Add Mul", ops_of(last(middle)->subgraphs[0]));
    tfr_graph_release(graph);
}

static const test_case cases[] = {
    CASE(no_version_of_a_known_op_is_refused_for_its_age),
    CASE(axes_of_squeeze_unsqueeze_and_reductions_become_an_input),
    CASE(reshape_slice_split_and_top_k_get_their_inputs),
    CASE(limits_of_clip_become_scalars_of_the_datas_type),
    CASE(the_type_of_a_scalar_follows_through_nodes),
    CASE(a_call_without_its_data_is_refused_by_its_own_name),
    CASE(pads_become_an_input_under_both_old_names),
    CASE(dropout_infers_with_its_ratio_as_an_input),
    CASE(the_mask_of_an_old_dropout_is_ones_of_the_type_of_the_data),
    CASE(normalizations_that_optimizers_write_into_old_models_are_those_of_today),
    CASE(broadcasting_from_an_axis_adds_dims_of_one),
    CASE(an_axis_of_broadcasting_that_does_not_fit_is_refused),
    CASE(tile_along_one_axis_repeats_once_along_the_others),
    CASE(a_p_that_was_a_float_has_to_be_a_whole_number),
    CASE(broadcasting_without_an_axis_is_numpys),
    CASE(a_slope_per_channel_is_aligned_with_axis_one),
    CASE(softmax_over_a_matrix_is_flattened_and_shaped_back),
    CASE(upsample_of_every_age_becomes_resize),
    CASE(nearest_of_opset_10_rounds_up_where_it_shrinks),
    CASE(half_pixels_of_tensorflow_are_read_at_every_opset),
    CASE(half_pixels_of_tensorflow_are_for_nearest_alone),
    CASE(old_names_and_defaults_are_written_out),
    CASE(batch_normalization_trains_only_with_more_outputs),
    CASE(group_normalization_spreads_its_scale_over_the_channels),
    CASE(scan_8_becomes_a_scan_over_the_batch),
};
TEST_MAIN(cases)
