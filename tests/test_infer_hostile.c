/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests that shape inference refuses what a hostile model may hold, with a message that names node,
 * op, operand and numbers. Run it in a sanitizer build, too: nothing here may be undefined.
 */
#include "infer_case.h"

#define MAX64 "9223372036854775807"
/* One inner node and two leaves; the test adds what is wrong. */
#define TREE_IDS                                                                                   \
    "nodes_treeids=0,0,0 nodes_nodeids=0,1,2 nodes_truenodeids=1,0,0 nodes_falsenodeids=2,0,0 "    \
    "target_treeids=0,0 target_nodeids=1,2 target_weights=1,2 "
#define TREE                                                                                       \
    "nodes_modes=u8[1]{0} nodes_splits=f32[1]{0} nodes_trueleafs=1 nodes_falseleafs=1 "            \
    "leaf_weights=f32[2]{1,2} "
#define MIN64 "-9223372036854775808"

TEST(counts_kinds_and_types_are_checked_against_the_row)
{
    static const bad_case c[] = {
        {"Relu", "f32[1] f32[1]", "", 1, TFR_EMODEL, "2 inputs, the op takes at most 1"},
        {"Add", "f32[1]", "", 1, TFR_EMODEL, "input B is missing"},
        {"Add", "- f32[1]", "", 1, TFR_EMODEL, "input A is missing"},
        {"Max", "", "", 1, TFR_EMODEL, "input data_0 is missing"},
        {"Max", "f32[1] -", "", 1, TFR_EMODEL, "input data_0 is missing"},
        {"Relu", "f32[1]", "", 2, TFR_EMODEL, "2 outputs, the op has at most 1"},
        {"Relu", "f32[1]", "", 0, TFR_EMODEL, "0 outputs, the op has at least 1"},
        {"Relu", "string[1]", "", 1, TFR_EDTYPE, "input X is a tensor of string, the op takes"},
        {"Relu", "seq(f32)", "", 1, TFR_EDTYPE, "input X is a sequence of f32"},
        {"Add", "f32[1] f64[1]", "", 1, TFR_EDTYPE, "input A is f32 and input B is f64"},
        {"Concat", "f32[1] f32[1] i8[1]", "axis=0", 1, TFR_EDTYPE, "inputs[2] is i8"},
        {"TopK", "f32[1] i32[1]{1}", "", 2, TFR_EDTYPE, "input K is a tensor of i32"},
        {"Relu", "f32[?]", "", 1, TFR_EUNSUPPORTED, "known at run time only"},
        {"Relu", "f32[1]", "alpha=3", 1, TFR_EMODEL, "no attribute \"alpha\""},
        {"Concat", "f32[1]", "", 1, TFR_EMODEL, "attribute axis is missing"},
        {"Conv", "f32[1,1,3] f32[1,1,3]", "auto_pad=SAME", 1, TFR_EMODEL,
         "is \"SAME\", not one of"},
        {"Cast", "f32[1]", "to=77", 1, TFR_EDTYPE, "to is 77"},
        {"Cast", "f32[1]", "to=0", 1, TFR_EDTYPE, "to is 0"},
        {"Cast", "f32[1]", "to=14", 1, TFR_EDTYPE, "output output would be a tensor of c64"},
        {"BitCast", "f32[1]", "to=7", 1, TFR_EDTYPE, "f32 has 32 bits, i64 has 64"},
        {"EyeLike", "i32[2,2]", "dtype=8", 1, TFR_EDTYPE, "string"},
    };
    CHECK_BAD(c);
}

TEST(an_attribute_of_another_type_is_refused)
{
    static infer_run r;
    float f = 1;
    case_begin(&r, "Softmax", "f32[2]", "");
    r.in.n_outputs = 1;
    REQUIRE_OK(tfr__attr_set_float(&r.attrs, "axis", f, &r.err), &r.err);
    CHECK_STATUS(TFR_EMODEL, tfr__infer_node(&r.in, &r.err), &r.err);
    CHECK_CONTAINS("attribute axis is a float, the op takes an int", r.err.text);
    tfr__attr_free(&r.attrs);
}

TEST(lists_of_classic_models_have_to_fit)
{
    static const bad_case c[] = {
        {"Inverse", "f32[2,3]", "", 1, TFR_ESHAPE, "matrices of 2 x 3, want square ones"},
        {"Inverse", "i32[2,2]", "", 1, TFR_EDTYPE, "input X is a tensor of i32"},
        {"ConvGradInput", "f32[1,1,3] f32[1,1,1] i64[2]{1,3}", "", 1, TFR_ESHAPE,
         "shape has 2 dims of up to 3 elements, dY has 3 dims"},
        {"ConvGradInput", "f32[1,1,3] f32[1,1,1] i64[3]{1,1," MAX64 "}", "", 1, TFR_ESHAPE,
         "of up to " MAX64 " elements"},
        {"ConvGradInput", "f32[1,1,3] f32[1,1,1] i64[3]{1,1,-3}", "", 1, TFR_ESHAPE,
         "shape has the negative dim -3 at 2"},
        {"ConvGradInput", "f32[1,1,3] f32[1,1,1] i64[3]{1,1,4}", "", 1, TFR_ESHAPE,
         "input dY has shape [1,1,3], want [1,1,4]"},
        {"ConvGradFilter", "f32[1,3,3] f32[1,2,4] i64[3]{3,1,2}", "group=2", 1, TFR_ESHAPE,
         "no multiple of 2 groups"},
        {"MaxPoolGrad", "f32[1,2,3] i64[1,2,4] i64[3]{1,2,4}", "kernel_shape=2", 1, TFR_ESHAPE,
         "input Indices has shape [1,2,4]"},
        {"LayerNormGrad", "f32[2,3] f32[2,3] f32[4]", "", 2, TFR_ESHAPE, "input Scale"},
        {"BatchNormGrad", "f32[2,3] f32[2,3] f32[3] f32[2] f32[3]", "", 3, TFR_ESHAPE,
         "input mean"},
        {"SoftmaxCrossEntropyGrad", "f32[2] f32[2,3] i64[2]", "", 1, TFR_ESHAPE, "input dY"},
        {"Solve", "f32[3,3] f32[2]", "", 1, TFR_ESHAPE, "A is 3 x 3 and B has 2 rows"},
        {"Solve", "f32[2,3,3] f32[5,3,1]", "", 1, TFR_ESHAPE, "do not broadcast: 2 and 5"},
        {"ArrayFeatureExtractor", "f32[] i64[1]", "", 1, TFR_ESHAPE, "rank 0"},
        {"FeatureVectorizer", "f32[5,4] f32[4,2]", "", 1, TFR_ESHAPE, "4 rows"},
        {"FeatureVectorizer", "f32[5,4]", "inputdimensions=-1", 1, TFR_ESHAPE, "rows of -1"},
        {"FeatureVectorizer", "f32[1,1] f32[1,1]", "inputdimensions=" MAX64 "," MAX64, 1,
         TFR_ELIMIT, "does not fit"},
        {"Imputer", "f32[5,3]", "imputed_value_floats=1,2", 1, TFR_EMODEL, "2 values, want 3"},
        {"Imputer", "i64[5,3]", "imputed_value_floats=1", 1, TFR_EMODEL, "imputed_value_int64s"},
        {"CategoryMapper", "i64[1]", "cats_int64s=1 cats_strings=a,b", 1, TFR_EMODEL, "want 2"},
        {"OneHotEncoder", "f32[1]", "cats_strings=a", 1, TFR_EMODEL, "cats_int64s and no others"},
        {"LabelEncoder", "f32[1]", "values_floats=1", 1, TFR_EMODEL, "0 lists keys_"},
        {"LabelEncoder", "f32[1]", "keys_floats=1 values_floats=1 values_int64s=1", 1, TFR_EMODEL,
         "2 lists values_"},
        {"LabelEncoder", "f32[1]", "keys_int64s=1 values_floats=1", 1, TFR_EDTYPE,
         "X is f32, the keys are i64"},
        {"LabelEncoder", "i64[1]", "keys_int64s=1,2 values_floats=1", 1, TFR_EMODEL, "want 2"},
        {"LinearRegressor", "f32[5,2]", "coefficients=1,2,3", 1, TFR_EMODEL, "want 2"},
        {"LinearRegressor", "f32[5,2]", "targets=" MAX64, 1, TFR_ELIMIT, "does not fit"},
        {"LinearRegressor", "f32[5,0]", "", 1, TFR_ESHAPE, "want [N,F]"},
        {"LinearClassifier", "f32[5,2]", "coefficients=1,2,3,4 classlabels_ints=1,2,3", 2,
         TFR_EMODEL, "4 coefficients are no row of 2"},
        {"LinearClassifier", "f32[5,2]", "coefficients=1,2", 2, TFR_EMODEL, "none of"},
        {"SVMClassifier", "f32[5,2]", "classlabels_ints=1 vectors_per_class=-1", 2, TFR_EMODEL,
         "vectors_per_class has -1"},
        {"SVMClassifier", "f32[5,2]", "classlabels_ints=1,2 vectors_per_class=" MAX64 ",1", 2,
         TFR_ELIMIT, "does not fit"},
        {"SVMClassifier", "f32[5,1]",
         "classlabels_ints=1 vectors_per_class=1 support_vectors=1 rho=", 2, TFR_EMODEL,
         "one class has no pairs"},
        {"SVMRegressor", "f32[5,2]", "n_supports=" MAX64, 1, TFR_ELIMIT, "does not fit"},
        {"SVMRegressor", "f32[5,2]", "coefficients=1,2", 1, TFR_EMODEL, "rho is missing"},
    };
    CHECK_BAD(c);
}

TEST(trees_that_point_elsewhere_are_refused)
{
    static const bad_case c[] = {
        {"TreeEnsembleRegressor", "f32[5,2]", "", 1, TFR_EMODEL, "nodes_treeids is missing"},
        {"TreeEnsembleRegressor", "f32[5,2]", TREE_IDS "nodes_featureids=0,0", 1, TFR_EMODEL,
         "nodes_featureids has 2 values, want 3"},
        {"TreeEnsembleRegressor", "f32[5,2]",
         TREE_IDS "nodes_featureids=2,0,0 nodes_values=0,0,0 target_ids=0,0 "
                  "nodes_modes=BRANCH_LT,LEAF,LEAF",
         1, TFR_EMODEL, "nodes_featureids has 2 at 0, X has 2 features"},
        {"TreeEnsembleRegressor", "f32[5,2]",
         TREE_IDS "nodes_featureids=1,0,0 nodes_values=0,0,0 target_ids=0,1 "
                  "nodes_modes=BRANCH_LT,LEAF,LEAF",
         1, TFR_EMODEL, "target_ids has 1 at 1, want 0 to 0"},
        {"TreeEnsembleRegressor", "f32[5,2]",
         TREE_IDS "nodes_featureids=1,0,0 nodes_values=0,0,0 target_ids=0,0 "
                  "nodes_modes=BRANCH,LEAF,LEAF",
         1, TFR_EMODEL, "nodes_modes has \"BRANCH\" at 0"},
        {"TreeEnsembleRegressor", "f32[5,2]",
         "nodes_treeids=0,0 nodes_nodeids=0,1 nodes_truenodeids=1,0 nodes_falsenodeids=2,0 "
         "nodes_featureids=0,0 nodes_values=0,0 nodes_modes=BRANCH_LT,LEAF",
         1, TFR_EMODEL, "nodes_falsenodeids has 2 at 0, tree 0 has none"},
        {"TreeEnsembleRegressor", "f32[5,2]",
         "nodes_treeids=0 nodes_nodeids=0 nodes_truenodeids=5 nodes_falsenodeids=5 "
         "nodes_featureids=0 nodes_values=0 nodes_modes=LEAF target_ids=0 target_nodeids=0 "
         "target_treeids=7 target_weights=1",
         1, TFR_EMODEL, "target_nodeids has 0 at 0, tree 7 has none"},
        {"TreeEnsemble", "f32[5,2]",
         TREE "nodes_featureids=0 leaf_targetids=0,0 tree_roots=0 nodes_truenodeids=0 "
              "nodes_falsenodeids=2",
         1, TFR_EMODEL, "nodes_falsenodeids has leaf 2 at 0, there are 2"},
        {"TreeEnsemble", "f32[5,2]",
         TREE "nodes_featureids=0 leaf_targetids=0,0 tree_roots=1 nodes_truenodeids=0 "
              "nodes_falsenodeids=1",
         1, TFR_EMODEL, "tree_roots has 1 at 0"},
        {"TreeEnsemble", "f32[5,2]",
         TREE "nodes_featureids=0 leaf_targetids=0,0 tree_roots=0 nodes_truenodeids=0 "
              "nodes_falsenodeids=1 membership_values=f32[1]{3}",
         1, TFR_EMODEL, "membership_values has 1 sets, 0 nodes"},
        {"TreeEnsemble", "f32[5,2]",
         TREE "nodes_featureids=0 leaf_targetids=0,0 tree_roots=0 nodes_truenodeids=0 "
              "nodes_falsenodeids=1 aggregate_function=4",
         1, TFR_EMODEL, "aggregate_function is 4"},
    };
    CHECK_BAD(c);
}

TEST(shapes_of_no_tensor_are_refused)
{
    static const bad_case c[] = {
        {"Relu", "f32[-1]", "", 1, TFR_ESHAPE, "negative dim -1 on axis 0"},
        {"Relu", "f32[" MIN64 "]", "", 1, TFR_ESHAPE, "negative dim"},
        {"Relu", "f32[" MAX64 "]", "", 1, TFR_ELIMIT, "beyond 2^63 bits"},
        {"Relu", "f32[0," MAX64 ",2]", "", 1, TFR_ELIMIT, "beyond 2^63 bits"},
        {"Relu", "f32[4294967296,4294967296]", "", 1, TFR_ELIMIT, "beyond 2^63 bits"},
        {"Relu", "f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "", 1, TFR_ELIMIT,
         "rank 17, the limit is 16"},
        {"Add", "f32[2] f32[3]", "", 1, TFR_ESHAPE, "input B [3] does not broadcast with [2]"},
        {"Add", "f32[0] f32[3]", "", 1, TFR_ESHAPE, "3 and 0 on axis 0"},
        {"Add", "u8[1073741824,1] u8[1,4294967296]", "", 1, TFR_ELIMIT, "output C"},
        {"Unsqueeze", "f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1] i64[1]{0}", "", 1, TFR_ELIMIT,
         "rank 17"},
        {"Gather", "f32[1,1,1,1,1,1,1,1,1] i64[1,1,1,1,1,1,1,1,1]", "", 1, TFR_ELIMIT, "rank 17"},
        {"PRelu", "f32[2] f32[2,2]", "", 1, TFR_ESHAPE, "slope [2,2] does not broadcast to [2]"},
        {"Clip", "f32[2] f32[2]", "", 1, TFR_ESHAPE, "input min has shape [2], want one element"},
    };
    CHECK_BAD(c);
}

TEST(axes_out_of_range_or_twice_are_refused)
{
    static const bad_case c[] = {
        {"Softmax", "f32[2,3]", "axis=2", 1, TFR_ESHAPE, "axis 2 is outside of [-2, 2)"},
        {"Softmax", "f32[2,3]", "axis=-3", 1, TFR_ESHAPE, "axis -3"},
        {"Softmax", "f32[2,3]", "axis=" MIN64, 1, TFR_ESHAPE, "outside"},
        {"Softmax", "f32[]", "", 1, TFR_ESHAPE, "rank 0"},
        {"Flatten", "f32[2,3]", "axis=3", 1, TFR_ESHAPE, "axis 3 is outside of [-2, 2]"},
        {"ReduceSum", "f32[2,3] i64[1]{" MAX64 "}", "", 1, TFR_ESHAPE, "outside"},
        {"ReduceSum", "f32[2,3] i64[2]{0,-2}", "", 1, TFR_ESHAPE, "axes has axis 0 twice"},
        {"SumTo", "f32[2,3] i64[3]{1,2,3}", "", 1, TFR_ESHAPE, "shape has 3 dims, data only 2"},
        {"SumTo", "f32[2,3] i64[1]{2}", "", 1, TFR_ESHAPE, "axis 1 of data has 3 elements"},
        {"SumTo", "f32[2,3] i64[1]{-1}", "", 1, TFR_ESHAPE, "shape wants -1"},
        {"ReduceSum", "f32[2] i64[17]", "", 1, TFR_ESHAPE, "17 elements, want at most 16"},
        {"ReduceSum", "f32[2] i64[1,1]{0}", "", 1, TFR_ESHAPE, "input axes has shape [1,1]"},
        {"ArgMax", "f32[0]", "", 1, TFR_ESHAPE, "no element to choose"},
        {"Squeeze", "f32[2,1] i64[1]{0}", "", 1, TFR_ESHAPE, "2 elements, not 1"},
        {"Unsqueeze", "f32[2] i64[2]{0,0}", "", 1, TFR_ESHAPE, "twice"},
        {"Transpose", "f32[2,3]", "perm=0,0", 1, TFR_ESHAPE, "axis 0 twice"},
        {"Transpose", "f32[2,3]", "perm=0", 1, TFR_ESHAPE, "perm has 1 entries, data has rank 2"},
        {"CumSum", "f32[2] i64[]{1}", "", 1, TFR_ESHAPE, "axis 1"},
        {"TopK", "f32[2] i64[1]{3}", "", 2, TFR_ESHAPE, "K is 3, axis 0 of X has 2"},
        {"TopK", "f32[2] i64[1]{-1}", "", 2, TFR_ESHAPE, "K is -1"},
        {"DFT", "f32[4,2] - i64[]{-1}", "", 1, TFR_ESHAPE, "complex numbers"},
        {"TensorScatter", "f32[2,3] f32[2,1]", "axis=0", 1, TFR_ESHAPE, "axis is 0"},
    };
    CHECK_BAD(c);
}

TEST(shape_arguments_are_checked)
{
    static const bad_case c[] = {
        {"Reshape", "f32[6] i64[2]{-1,-1}", "", 1, TFR_ESHAPE, "-1 at 0 and at 1"},
        {"Reshape", "f32[6] i64[1]{-2}", "", 1, TFR_ESHAPE, "negative dim -2"},
        {"Reshape", "f32[6] i64[2]{4,-1}", "", 1, TFR_ESHAPE, "do not fill"},
        {"Reshape", "f32[6] i64[1]{7}", "", 1, TFR_ESHAPE, "6 elements, which do not fill [7]"},
        {"Reshape", "f32[6] i64[2]{6,0}", "", 1, TFR_ESHAPE, "copies dim 1"},
        {"Reshape", "f32[6] i64[2]{0,-1}", "allowzero=1", 1, TFR_ESHAPE, "0 and a -1"},
        {"Reshape", "f32[6] i64[2]{" MAX64 ",3}", "", 1, TFR_ELIMIT, "does not fit 63 bits"},
        {"Expand", "f32[2] i64[1]{3}", "", 1, TFR_ESHAPE, "does not broadcast"},
        {"Expand", "f32[2] i64[1]{-1}", "", 1, TFR_ESHAPE, "negative dim -1"},
        {"Expand", "f32[1] i64[2]{" MAX64 "," MAX64 "}", "", 1, TFR_ELIMIT, "beyond"},
        {"Tile", "f32[2] i64[1]{-1}", "", 1, TFR_ESHAPE, "negative number -1"},
        {"Tile", "f32[2] i64[1]{" MAX64 "}", "", 1, TFR_ELIMIT, "output dim"},
        {"Tile", "f32[2] i64[2]{1,1}", "", 1, TFR_ESHAPE, "2 entries, input has rank 1"},
        {"Slice", "f32[2] i64[1]{0} i64[1]{1} i64[1]{0} i64[1]{0}", "", 1, TFR_ESHAPE, "is 0"},
        {"Slice", "f32[2] i64[1]{0} i64[2]{1,1}", "", 1, TFR_ESHAPE, "ends has 2"},
        {"Slice", "f32[2] i64[1]{0} i64[1]{1} i64[1]{5}", "", 1, TFR_ESHAPE, "axes 5"},
        {"Pad", "f32[2] i64[1]{0}", "", 1, TFR_ESHAPE, "pads has 1 entries, want 2"},
        {"Pad", "f32[2] i64[2]{-2,-1}", "", 1, TFR_ESHAPE, "take more than the 2 elements"},
        {"Pad", "f32[2] i64[2]{" MAX64 "," MAX64 "}", "", 1, TFR_ELIMIT, "padded dim"},
        {"Pad", "f32[2] i64[2]{" MIN64 "," MAX64 "}", "", 1, TFR_ESHAPE, "take more"},
        {"Pad", "f32[1] i64[2]{1,1}", "mode=reflect", 1, TFR_ESHAPE, "reflect cannot"},
        {"Pad", "f32[0] i64[2]{1,1}", "mode=edge", 1, TFR_ESHAPE, "nothing for mode edge"},
        {"Split", "f32[5] i64[2]{2,2}", "", 2, TFR_ESHAPE, "sums up to 4, the axis has 5"},
        {"Split", "f32[5] i64[2]{6,-1}", "", 2, TFR_ESHAPE, "negative length -1"},
        {"Split", "f32[5] i64[1]{5}", "", 2, TFR_ESHAPE, "1 parts, there are 2 outputs"},
        {"Split", "f32[5]", "num_outputs=3", 2, TFR_EMODEL, "num_outputs is 3"},
        {"Split", "f32[5]", "num_outputs=0", 2, TFR_EMODEL, "num_outputs is 0"},
        {"ConstantOfShape", "i64[1]{-1}", "", 1, TFR_ESHAPE, "negative dim"},
        {"ConstantOfShape", "i64[2]{" MAX64 ",9}", "", 1, TFR_ELIMIT, "beyond"},
        {"ConstantOfShape", "i64[1]{1}", "value=f32[2]{1,2}", 1, TFR_EMODEL, "2 elements"},
        {"OneHot", "i64[2] i64[]{0} f32[2]", "", 1, TFR_ESHAPE, "depth is 0"},
        {"OneHot", "i64[2] f32[]{1e30} f32[2]", "", 1, TFR_EMODEL, "input depth is not a size"},
        {"OneHot", "i64[2] f32[]{nan} f32[2]", "", 1, TFR_EMODEL, "input depth is not a size"},
        {"Range", "i64[]{0} i64[]{1} i64[]{0}", "", 1, TFR_ESHAPE, "has no end"},
        {"Range", "i64[]{" MIN64 "} i64[]{" MAX64 "} i64[]{1}", "", 1, TFR_ESHAPE, "has no end"},
        {"Range", "f32[]{0} f32[]{1} f32[]{0}", "", 1, TFR_ESHAPE, "has no end"},
        {"Range", "f32[]{0} f32[]{inf} f32[]{1}", "", 1, TFR_ESHAPE, "has no end"},
        {"Range", "f32[]{nan} f32[]{1} f32[]{1}", "", 1, TFR_ESHAPE, "has no end"},
        {"Resize", "f32[2] - f32[1]{0}", "", 1, TFR_ESHAPE, "scales has 0"},
        {"Resize", "f32[2] - f32[1]{nan}", "", 1, TFR_ESHAPE, "scales has nan"},
        {"Resize", "f32[2] - f32[1]{1e38}", "", 1, TFR_ESHAPE, "elements"},
        {"Resize", "f32[2] - - i64[1]{-1}", "", 1, TFR_ESHAPE, "sizes has -1"},
        {"Resize", "f32[2]", "", 1, TFR_EMODEL, "none is given"},
        {"Resize", "f32[2] - f32[1]{1} i64[1]{1}", "", 1, TFR_EMODEL, "not both"},
        {"Resize", "f32[0] - - i64[1]{2}", "", 1, TFR_ESHAPE, "sizes has 2"},
        {"HannWindow", "i64[]{-1}", "", 1, TFR_ESHAPE, "size is -1"},
        {"STFT", "f32[1,8,1] i64[]{0} f32[4]", "", 1, TFR_ESHAPE, "frame_step is 0"},
        {"STFT", "f32[1,8,1] i64[]{1} - i64[]{9}", "", 1, TFR_ESHAPE, "frame_length is 9"},
        {"AffineGrid", "f32[1,2,3] i64[4]{1,1,-5,2}", "", 1, TFR_ESHAPE, "negative dim -5"},
        {"MaxUnpool", "f32[1,1,2] i64[1,1,2] i64[3]{1,1,-1}", "kernel_shape=2", 1, TFR_ESHAPE,
         "the dim -1"},
    };
    CHECK_BAD(c);
}

TEST(windows_that_do_not_fit_are_refused)
{
    static const bad_case c[] = {
        {"Conv", "f32[1,8,5,5] f32[4,3,3,3]", "group=2", 1, TFR_ESHAPE,
         "node \"n1\" (Conv): input W has 3 channels a group, X has 8 channels in 2 groups (want "
         "4)"},
        {"Conv", "f32[1,4,5] f32[3,2,3]", "group=2", 1, TFR_ESHAPE, "no multiple of 2 groups"},
        {"Conv", "f32[1,4,5] f32[3,4,3]", "group=0", 1, TFR_ESHAPE, "group is 0"},
        {"Conv", "f32[1,4,5] f32[3,4,3]", "group=" MIN64, 1, TFR_ESHAPE, "group is"},
        {"Conv", "f32[1,4,5] f32[3,4,3,3]", "", 1, TFR_ESHAPE, "input W [3,4,3,3] has rank 4"},
        {"Conv", "f32[1,4] f32[3,4]", "", 1, TFR_ESHAPE, "at least 3"},
        {"Conv", "f32[1,4,5] f32[3,4,3] f32[4]", "", 1, TFR_ESHAPE,
         "input B has shape [4], want [3]"},
        {"Conv", "f32[1,4,5] f32[3,4,3]", "strides=0", 1, TFR_ESHAPE, "strides has 0"},
        {"Conv", "f32[1,4,5] f32[3,4,3]", "strides=-1", 1, TFR_ESHAPE, "strides has -1"},
        {"Conv", "f32[1,4,5] f32[3,4,3]", "strides=1,1", 1, TFR_ESHAPE, "2 values, want 1"},
        {"Conv", "f32[1,4,5] f32[3,4,3]", "dilations=0", 1, TFR_ESHAPE, "dilations has 0"},
        {"Conv", "f32[1,4,5] f32[3,4,3]", "dilations=" MAX64, 1, TFR_ELIMIT, "dilations has"},
        {"Conv", "f32[1,4,5] f32[3,4,3]", "pads=-1,0", 1, TFR_ESHAPE, "pads has -1"},
        {"Conv", "f32[1,4,5] f32[3,4,3]", "pads=" MAX64 ",0", 1, TFR_ELIMIT, "pads has"},
        {"Conv", "f32[1,4,5] f32[3,4,3]", "kernel_shape=2", 1, TFR_ESHAPE, "the weights have 3"},
        {"Conv", "f32[1,4,5] f32[3,4,0]", "", 1, TFR_ESHAPE, "the kernel has 0 elements"},
        {"Conv", "f32[1,4,5] f32[3,4,6]", "", 1, TFR_ESHAPE, "reaches over 6 elements"},
        {"Conv", "f32[1,4,0] f32[3,4,1]", "", 1, TFR_ESHAPE, "which has 0 with padding"},
        {"Conv", "f32[1,1,9] f32[1,1,3]", "dilations=2147483647", 1, TFR_ESHAPE,
         "reaches over 4294967295"},
        {"ConvTranspose", "f32[1,2,3] f32[3,4,3]", "", 1, TFR_ESHAPE, "X has 2 channels, W has 3"},
        {"ConvTranspose", "f32[1,2,3] f32[2,4,3]", "pads=9,9", 1, TFR_ESHAPE, "pads take 18"},
        {"ConvTranspose", "f32[1,2,3] f32[2,4,3]", "output_padding=-1", 1, TFR_ESHAPE,
         "output_padding has -1"},
        {"ConvTranspose", "f32[1,2,3] f32[2,4,3]", "output_shape=-1", 1, TFR_ESHAPE, "has -1"},
        {"ConvTranspose", "f32[1,2,3] f32[2,4,3]", "output_shape=1,2,3", 1, TFR_ESHAPE, "3 values"},
        {"MaxPool", "f32[1,1,5]", "kernel_shape=0", 1, TFR_ESHAPE, "kernel_shape has 0"},
        {"MaxPool", "f32[1,1,5]", "kernel_shape=6 ceil_mode=1", 1, TFR_ESHAPE, "reaches over 6"},
        {"MaxPool", "f32[1,1,5]", "kernel_shape=1,1", 1, TFR_ESHAPE, "2 values, want 1"},
        {"LpPool", "f32[1,1,5]", "kernel_shape=1 p=0", 1, TFR_EMODEL, "p is 0"},
        {"MaxUnpool", "f32[1,1,2] i64[1,1,3]", "kernel_shape=2", 1, TFR_ESHAPE, "want [1,1,2]"},
        {"MaxRoiPool", "f32[1,1,2,2] f32[1,5]", "pooled_shape=0,1", 1, TFR_ESHAPE, "0 x 1"},
        {"RoiAlign", "f32[1,1,2,2] f32[1,5] i64[1]", "", 1, TFR_ESHAPE, "5 columns, want 4"},
        {"Col2Im", "f32[1,5,5] i64[2]{5,5} i64[2]{1,4}", "", 1, TFR_ESHAPE, "a multiple of 4"},
        {"Col2Im", "f32[1,5,5] i64[2]{5,5} i64[1]{1}", "", 1, TFR_ESHAPE, "block_shape has 1"},
        {"DeformConv", "f32[1,1,3,3] f32[1,1,2,2] f32[1,7,2,2]", "", 1, TFR_ESHAPE, "offset has"},
        {"DepthToSpace", "f32[1,6,2,2]", "blocksize=2", 1, TFR_ESHAPE, "6 channels"},
        {"DepthToSpace", "f32[1,6,2,2]", "blocksize=0", 1, TFR_ESHAPE, "blocksize is 0"},
        {"DepthToSpace", "f32[1,6,2,2]", "blocksize=" MAX64, 1, TFR_ELIMIT, "does not fit"},
        {"SpaceToDepth", "f32[1,1,3,2]", "blocksize=2", 1, TFR_ESHAPE, "3 x 2"},
    };
    CHECK_BAD(c);
}

TEST(products_and_operands_that_do_not_meet_are_refused)
{
    static const bad_case c[] = {
        {"MatMul", "f32[2,3] f32[4,5]", "", 1, TFR_ESHAPE,
         "A [2,3] and B [4,5]: inner dims 3 and 4"},
        {"MatMul", "f32[2,1,3] f32[3,3,2]", "", 0, TFR_EMODEL, "0 outputs"},
        {"MatMul", "f32[2,1,3] f32[3,3,2]", "", 1, TFR_ESHAPE, "batch dims 2 and 3"},
        {"MatMul", "f32[] f32[3]", "", 1, TFR_ESHAPE, "rank 0, want at least 1"},
        {"Gemm", "f32[2,3] f32[4,5]", "", 1, TFR_ESHAPE, "A is 2 x 3 and B is 4 x 5"},
        {"Gemm", "f32[2,3] f32[3,5] f32[2]", "", 1, TFR_ESHAPE, "C [2] does not broadcast"},
        {"Einsum", "f32[2,3]", "equation=i->i", 1, TFR_ESHAPE, "1 labels for input 0 [2,3]"},
        {"Einsum", "f32[2,3]", "equation=ij->ik", 1, TFR_EMODEL, "label k is in no input"},
        {"Einsum", "f32[2,3]", "equation=ij->ii", 1, TFR_EMODEL, "label i is there twice"},
        {"Einsum", "f32[2,3]", "equation=ii", 1, TFR_ESHAPE, "label i stands for 2 and for 3"},
        {"Einsum", "f32[2,3]", "equation=ij,jk", 1, TFR_EMODEL, "more terms"},
        {"Einsum", "f32[2] f32[2]", "equation=i", 1, TFR_EMODEL, "1 terms, there are 2 inputs"},
        {"Einsum", "f32[2]", "equation=i&", 1, TFR_EMODEL, "not valid at"},
        {"Einsum", "f32[2]", "equation=......", 1, TFR_EMODEL, "not valid at"},
        {"Einsum", "f32[2]", "equation=i->i,", 1, TFR_EMODEL, "not valid behind"},
        {"Einsum", "f32[2]", "equation=", 1, TFR_ESHAPE, "0 labels"},
        {"Det", "f32[2,3]", "", 1, TFR_ESHAPE, "2 x 3"},
        {"Concat", "f32[2,3] f32[3,3]", "axis=1", 1, TFR_ESHAPE, "inputs[1] has shape [3,3]"},
        {"GatherND", "f32[2,3] i64[2,3]", "", 1, TFR_ESHAPE,
         "last dim of indices is 3, want 1...2"},
        {"GatherND", "f32[2,3] i64[2,1]", "batch_dims=2", 1, TFR_ESHAPE, "batch_dims is 2"},
        {"GatherND", "f32[2,3] i64[3,1]", "batch_dims=1", 1, TFR_ESHAPE, "batch dim 0 is 2"},
        {"GatherElements", "f32[2,3] i64[3,3]", "axis=1", 1, TFR_ESHAPE, "do not fit"},
        {"Gather", "f32[0] i64[1]", "", 1, TFR_ESHAPE, "no element to gather"},
        {"ScatterND", "f32[4,5] i64[3,1] f32[3,4]", "", 1, TFR_ESHAPE, "want [3,5]"},
        {"Compress", "f32[2] bool[3]", "", 1, TFR_ESHAPE, "3 elements for 2"},
        {"BatchNormalization", "f32[2,3] f32[3] f32[3] f32[2] f32[3]", "", 1, TFR_ESHAPE,
         "input_mean has shape [2], want [3]"},
        {"BatchNormalization", "f32[2,3] f32[3] f32[3] f32[3] f32[3]", "", 2, TFR_EMODEL,
         "only with training_mode"},
        {"GroupNormalization", "f32[2,3] f32[3] f32[3]", "num_groups=2", 1, TFR_ESHAPE,
         "does not divide 3"},
        {"LayerNormalization", "f32[2,3] f32[2]", "", 1, TFR_ESHAPE,
         "Scale [2] does not broadcast"},
        {"LRN", "f32[2,3]", "size=0", 1, TFR_EMODEL, "size is 0"},
        {"QuantizeLinear", "f32[2,3] f32[2]", "", 1, TFR_ESHAPE, "want [3]"},
        {"QuantizeLinear", "f32[2,3] f32[2,2]", "block_size=0", 1, TFR_ESHAPE, "block_size is 0"},
        {"QuantizeLinear", "f32[2] f32[] u8[]", "output_dtype=3", 1, TFR_EDTYPE, "is i8"},
        {"LSTM", "f32[5,2,3] f32[1,16,3] f32[1,16,4]", "hidden_size=5", 1, TFR_ESHAPE,
         "input W has shape [1,16,3], want [1,20,3]"},
        {"LSTM", "f32[5,2,3] f32[1,16,3] f32[1,16,4]", "hidden_size=" MAX64, 1, TFR_ESHAPE,
         "hidden_size is"},
        {"GRU", "f32[5,2,3] f32[1,12,3] f32[1,12,4]", "activations=Tanh", 1, TFR_EMODEL,
         "1 names, want 2"},
        {"RNN", "f32[5,2,3] f32[1,4,3] f32[1,4,4]", "activations=Sine", 1, TFR_EMODEL, "\"Sine\""},
        {"Attention", "f32[2,3,9] f32[2,5,8] f32[2,5,8]", "q_num_heads=2 kv_num_heads=2", 1,
         TFR_ESHAPE, "does not divide the last dim of Q [2,3,9]"},
        {"Attention", "f32[2,3,8] f32[2,5,8] f32[2,5,8]", "", 1, TFR_ESHAPE, "q_num_heads is 0"},
        {"Attention", "f32[1,2,3,4] f32[1,2,5,4] f32[1,2,6,4]", "", 1, TFR_ESHAPE, "do not fit"},
        {"RotaryEmbedding", "f32[1,1,2,3] f32[1,2,1] f32[1,2,1]", "", 1, TFR_ESHAPE, "even number"},
        {"LinearAttention", "f32[1,2,4] f32[1,2,4] f32[1,2,4]",
         "q_num_heads=1 kv_num_heads=1 update_rule=gated", 2, TFR_EMODEL, "needs input decay"},
        {"LinearAttention", "f32[1,2,4] f32[1,2,4] f32[1,2,4] - - f32[1,2,1]",
         "q_num_heads=1 kv_num_heads=1 update_rule=linear", 2, TFR_EMODEL, "takes no input beta"},
        {"TensorScatter", "f32[2,4,3] f32[2,5,3]", "", 1, TFR_ESHAPE, "update has 5 positions"},
        {"CausalConvWithState", "f32[1,2,4] f32[2,2,3]", "", 2, TFR_ESHAPE, "want [2,1,3]"},
        {"SwiGLU", "f32[2,3] f32[3]", "", 1, TFR_ESHAPE, "want [2,3]"},
        {"NonMaxSuppression", "f32[1,6,4] f32[1,2,5]", "", 1, TFR_ESHAPE, "scores is [1,2,5]"},
        {"Momentum", "f32[] i64[] f32[2] f32[2]", "alpha=1 beta=1 norm_coefficient=0 mode=standard",
         2, TFR_EMODEL, "2 + 3 n"},
        {"Adam", "f32[] i64[] f32[2] f32[3] f32[2] f32[2]", "", 3, TFR_ESHAPE, "want [2]"},
        {"NegativeLogLikelihoodLoss", "f32[2,3] i64[3]", "", 1, TFR_ESHAPE, "want [2]"},
        {"TfIdfVectorizer", "i64[3]",
         "mode=TF ngram_counts=0,9 ngram_indexes=0 pool_int64s=5 min_gram_length=1 "
         "max_gram_length=2 max_skip_count=0",
         1, TFR_EMODEL, "does not cut a pool of 1"},
        {"Optional", "", "", 1, TFR_EMODEL, "attribute type"},
        {"SequenceInsert", "seq(f32) i8[1]", "", 1, TFR_EDTYPE, "tensor is i8"},
        {"Constant", "", "", 1, TFR_EMODEL, "0 values"},
        {"Constant", "", "value_int=1 value_float=2", 1, TFR_EMODEL, "2 values"},
    };
    CHECK_BAD(c);
}

/* ---- a storm of odd numbers on every op ---- */

static uint64_t state;

static uint32_t draw(uint32_t n)
{
    /* Marsaglia's xorshift64. */
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % n;
}

static int64_t odd_number(void)
{
    static const int64_t odd[] = {0,         1,         2,         3,         4,
                                  -1,        -2,        -3,        5,         8,
                                  INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN, INT64_MAX / 2,
                                  1 << 20,   1LL << 40, 1LL << 62, -17,       16};
    return odd[draw(draw(3) ? 5 : (uint32_t)(sizeof odd / sizeof odd[0]))];
}

static void draw_input(infer_run *r, uint32_t i)
{
    static const float odd_floats[] = {0, 1, 2.5f, -1, 1e38f, 0.3f};
    tfr__type *t = &r->inputs[i];
    tfr__formal f;
    if (!tfr__op_formal(r->in.op->inputs, i, &f) || (f.optional && draw(2)))
        return;
    t->kind = draw(20) ? TFR_KIND_TENSOR : (int32_t)draw(5);
    t->elem_kind = (int32_t)draw(3);
    t->shape_known = draw(50) != 0;
    int32_t first = (int32_t)draw(TFR_DTYPE_END);
    t->dtype = draw(4) ? TFR_DTYPE_F32 : first;
    for (int32_t k = 0; k < TFR_DTYPE_END && draw(50); k++) {
        if (tfr__op_admits(r->in.op, f.type, f.type_bytes, TFR_KIND_TENSOR, t->dtype))
            break;
        t->dtype = (first + k) % TFR_DTYPE_END;
    }
    t->rank = (int32_t)draw(draw(10) ? 6 : 19);
    for (int32_t k = 0; k < t->rank && k < TFR_MAX_RANK; k++)
        t->dims[k] = draw(4) ? (int64_t)draw(5) : odd_number();
    for (uint32_t k = 0; k < CASE_VALUES; k++) {
        if (t->dtype == TFR_DTYPE_F32)
            memcpy((char *)r->values[i].ints + 4 * k, &odd_floats[draw(6)], 4);
        else
            r->values[i].ints[k] = odd_number();
        r->values[i].strings[k] = (tfr_string){"a b,c", draw(6)};
    }
    /* Values only where the tensor is not larger than what is there. */
    int64_t n = t->dtype > 0 && t->dtype < TFR_DTYPE_END ? tfr__type_elements(t) : -1;
    if (n >= 0 && n <= CASE_VALUES / 2 && draw(8))
        t->data =
            t->dtype == TFR_DTYPE_STRING ? (const void *)r->values[i].strings : r->values[i].ints;
}

static void draw_attr(infer_run *r, const tfr__attr_formal *f)
{
    static int64_t ints[CASE_VALUES];
    static float floats[CASE_VALUES];
    static tfr_string strings[CASE_VALUES];
    static const char *const words[] = {"ij,jk->ik", "...i",       "Tanh", "none",
                                        "",          "SAME_UPPER", "i i"};
    char name[64];
    int64_t one = 1;
    float data = 1;
    tfr_operand tensor = {
        .size = sizeof tensor, .dtype = TFR_DTYPE_F32, .rank = 1, .dims = &one, .data = &data};
    snprintf(name, sizeof name, "%.*s", (int)f->name_bytes, f->name);
    for (int k = 0; k < 40; k++) {
        ints[k] = odd_number();
        floats[k] = (float)odd_number();
        const char *word = words[draw(7)];
        strings[k] = (tfr_string){word, strlen(word)};
    }
    tfr_attr a = {.size = sizeof a,
                  .type = f->type,
                  .name = name,
                  .n = f->type >= TFR_ATTR_FLOATS ? draw(draw(8) ? 5 : 40) : 1,
                  .ints = ints,
                  .floats = floats,
                  .strings = strings,
                  .tensor = &tensor};
    if (f->choices && draw(10)) {
        const char *p = f->choices;
        uint32_t n = f->choices_bytes;
        while (memchr(p, '|', n) && draw(2)) {
            const char *q = memchr(p, '|', n);
            n -= (uint32_t)(q + 1 - p);
            p = q + 1;
        }
        const char *end = memchr(p, '|', n);
        strings[0] = (tfr_string){p, end ? (uint64_t)(end - p) : n};
    }
    static int graph; /* only pointed to, never looked at */
    REQUIRE(tfr__attr_set(&r->attrs, &a, f->type == TFR_ATTR_GRAPH ? &graph : NULL, &r->err) ==
            TFR_OK);
}

TEST(odd_numbers_on_every_op_give_a_sound_answer)
{
    static infer_run r;
    uint32_t n_good = 0;
    state = 88172645463325252u;
    for (uint32_t at = 0; at < tfr__op_count(); at++) {
        const tfr__op *op = tfr__op_at(at);
        for (int round = 0; round < 300; round++) {
            tfr__attr_formal f;
            memset(&r, 0, sizeof r);
            r.err.size = sizeof r.err;
            r.in = (tfr__infer){.op = op,
                                .inputs = r.inputs,
                                .outputs = r.outputs,
                                .attrs = &r.attrs,
                                .n_outputs = 1 + draw(4)};
            uint32_t least, most;
            tfr__op_arity(op->inputs, &least, &most);
            r.in.n_inputs = draw(10) ? least + draw((most > 9 ? 9 : most) - least + 1) : draw(12);
            tfr__op_arity(op->outputs, &least, &most);
            if (r.in.n_outputs > most && draw(9))
                r.in.n_outputs = most;
            for (uint32_t i = 0; i < r.in.n_inputs; i++)
                draw_input(&r, i);
            for (uint32_t i = 0; i < r.in.n_outputs; i++)
                r.outputs[i].kind = draw(9) != 0;
            for (const char *c = op->attrs; tfr__op_next_attr(&c, &f);)
                if (f.required ? draw(20) : !draw(3))
                    draw_attr(&r, &f);
            tfr_status s = tfr__infer_node(&r.in, &r.err);
            n_good += s == TFR_OK;
            if (s < 0)
                CHECK_CONTAINS(op->name, r.err.text);
            CHECK(s <= 1 && s != TFR_EINTERNAL && (s == 0) == !(s < 0 || s == TFR__EPENDING));
            for (uint32_t i = 0; op->infer && !s && i < r.in.n_outputs; i++)
                if (r.outputs[i].kind == TFR_KIND_TENSOR && r.outputs[i].shape_known)
                    CHECK(tfr__type_bytes(&r.outputs[i]) >= 0);
            tfr__attr_free(&r.attrs);
        }
    }
    CHECK(n_good > 5000); /* else the storm tests nothing behind the first check */
}

static const test_case cases[] = {
    CASE(counts_kinds_and_types_are_checked_against_the_row),
    CASE(an_attribute_of_another_type_is_refused),
    CASE(lists_of_classic_models_have_to_fit),
    CASE(trees_that_point_elsewhere_are_refused),
    CASE(shapes_of_no_tensor_are_refused),
    CASE(axes_out_of_range_or_twice_are_refused),
    CASE(shape_arguments_are_checked),
    CASE(windows_that_do_not_fit_are_refused),
    CASE(products_and_operands_that_do_not_meet_are_refused),
    CASE(odd_numbers_on_every_op_give_a_sound_answer),
};
TEST_MAIN_OF_ONE_THREAD(cases)
