/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/op_digests.h: what each op was when this SDK was made: its signature, and the normal form
 * of its calls (plugin_normal.h). A claim that carries the digest is for these calls alone: in a
 * core that means something else by the op, the plugin is not asked about it.
 *
 *   claim.digest = tfr_op_digest("", "Relu");
 *
 * Included by one file of a plugin. Made by `tfrun ops --json | scripts/make-op-digests`; do not
 * edit.
 */
#ifndef TFRUN_OP_DIGESTS_H
#define TFRUN_OP_DIGESTS_H

#include <stdint.h>
#include <string.h>

/* X(domain, name, digest) */
#define TFR_OP_DIGEST_LIST(X)                                                                      \
    X("", "Abs", UINT64_C(0x93d7d5a4f09d319d))                                                     \
    X("", "Acos", UINT64_C(0x705fc58e7056baa1))                                                    \
    X("", "Acosh", UINT64_C(0x034331e50afa0043))                                                   \
    X("", "Add", UINT64_C(0xfcb0a9cdeaade5f3))                                                     \
    X("", "AffineGrid", UINT64_C(0xe2c3e435c224d1ba))                                              \
    X("", "And", UINT64_C(0xc1fee22d57388ede))                                                     \
    X("", "ArgMax", UINT64_C(0x1ef3d927988ad28f))                                                  \
    X("", "ArgMin", UINT64_C(0xb6f39681e1063b4d))                                                  \
    X("", "Asin", UINT64_C(0x4222d1cf5eef1472))                                                    \
    X("", "Asinh", UINT64_C(0xcf30a1e1ee3c16d2))                                                   \
    X("", "Atan", UINT64_C(0x732862eefd43d2c9))                                                    \
    X("", "Atanh", UINT64_C(0x733aa042dafcb64b))                                                   \
    X("", "Attention", UINT64_C(0x61731a28d21f63ee))                                               \
    X("", "AveragePool", UINT64_C(0x28d3ea8db8271c05))                                             \
    X("", "BatchNormalization", UINT64_C(0xe9ec7beda5784291))                                      \
    X("", "Bernoulli", UINT64_C(0x37ecf5565520a34e))                                               \
    X("", "BitCast", UINT64_C(0x9dfa6b72f6cd9d49))                                                 \
    X("", "BitShift", UINT64_C(0xba3b5a71f6aa86c8))                                                \
    X("", "BitwiseAnd", UINT64_C(0x937c616584fef856))                                              \
    X("", "BitwiseNot", UINT64_C(0xa3a39b421e10fbcf))                                              \
    X("", "BitwiseOr", UINT64_C(0xa7a412e5bbb7afba))                                               \
    X("", "BitwiseXor", UINT64_C(0x29091045979d901e))                                              \
    X("", "BlackmanWindow", UINT64_C(0x0489e43c87da0f7f))                                          \
    X("", "Cast", UINT64_C(0x263e35d8999772ff))                                                    \
    X("", "CastLike", UINT64_C(0x249cfe0a8bb96213))                                                \
    X("", "CausalConvWithState", UINT64_C(0xd992d3e3e6fa174a))                                     \
    X("", "Ceil", UINT64_C(0xe7aea8faa5ed89be))                                                    \
    X("", "Celu", UINT64_C(0x361d48651261aff4))                                                    \
    X("", "CenterCropPad", UINT64_C(0x4c9a4400ad4d71fa))                                           \
    X("", "Clip", UINT64_C(0x6fd6ca62ba3e77ad))                                                    \
    X("", "Col2Im", UINT64_C(0x7aa1cc866e809392))                                                  \
    X("", "Compress", UINT64_C(0xae04f21349533577))                                                \
    X("", "Concat", UINT64_C(0x9341fb1aa0978d0c))                                                  \
    X("", "ConcatFromSequence", UINT64_C(0xa0586f8f1d41bc19))                                      \
    X("", "Constant", UINT64_C(0x7757cc27814f6130))                                                \
    X("", "ConstantOfShape", UINT64_C(0xb652a025eefea2e1))                                         \
    X("", "Conv", UINT64_C(0x5bc187066af0d202))                                                    \
    X("", "ConvInteger", UINT64_C(0x6f8102db39b47461))                                             \
    X("", "ConvTranspose", UINT64_C(0x36b3874d1927d455))                                           \
    X("", "Cos", UINT64_C(0xc2dd45919ea14d48))                                                     \
    X("", "Cosh", UINT64_C(0x27e9d37e7d69cb2c))                                                    \
    X("", "CumProd", UINT64_C(0x23f4961cb887322a))                                                 \
    X("", "CumSum", UINT64_C(0x48fde511125d3d80))                                                  \
    X("", "DFT", UINT64_C(0x12c37b65d1a57c93))                                                     \
    X("", "DeformConv", UINT64_C(0xe06a4b984aa47319))                                              \
    X("", "DepthToSpace", UINT64_C(0x281a655b1a15aa24))                                            \
    X("", "DequantizeLinear", UINT64_C(0x6ee998f7589afc80))                                        \
    X("", "Det", UINT64_C(0xb4bd948fd461338c))                                                     \
    X("", "Div", UINT64_C(0x2cd1e91f8d1ca3d3))                                                     \
    X("", "Dropout", UINT64_C(0xedb92a98043579b3))                                                 \
    X("", "DynamicQuantizeLinear", UINT64_C(0x0a7bae9a26efde21))                                   \
    X("", "Einsum", UINT64_C(0x01533156630f13f5))                                                  \
    X("", "Elu", UINT64_C(0x7b0417ffef095f9f))                                                     \
    X("", "Equal", UINT64_C(0x0e8b830ba19fd4f9))                                                   \
    X("", "Erf", UINT64_C(0xf2b358541e4fa600))                                                     \
    X("", "Exp", UINT64_C(0xccb438f73f2ca4e8))                                                     \
    X("", "Expand", UINT64_C(0x90d602a07458883d))                                                  \
    X("", "EyeLike", UINT64_C(0xe1ad4abff5f8e438))                                                 \
    X("", "Flatten", UINT64_C(0x8fef7b42d5e7c8c5))                                                 \
    X("", "Floor", UINT64_C(0x01cc63034de20fb3))                                                   \
    X("", "GRU", UINT64_C(0x9dfbb2b6919f596a))                                                     \
    X("", "Gather", UINT64_C(0x33cf5a52c60e4855))                                                  \
    X("", "GatherElements", UINT64_C(0xbe4a7ff9686c7bd2))                                          \
    X("", "GatherND", UINT64_C(0x54dddb22ea1a5efc))                                                \
    X("", "Gelu", UINT64_C(0xd858a7eea6b9ac4f))                                                    \
    X("", "Gemm", UINT64_C(0xdc9f9bfd05aa3005))                                                    \
    X("", "GlobalAveragePool", UINT64_C(0x68c62364c7c58255))                                       \
    X("", "GlobalLpPool", UINT64_C(0xc0f3fe9f08e1b63a))                                            \
    X("", "GlobalMaxPool", UINT64_C(0xafbd1f3c9635eeac))                                           \
    X("", "Greater", UINT64_C(0xc5d95a91f8b1e4c3))                                                 \
    X("", "GreaterOrEqual", UINT64_C(0x5cc2605989b80368))                                          \
    X("", "GridSample", UINT64_C(0x42907212e73a5a8a))                                              \
    X("", "GroupNormalization", UINT64_C(0x83697dd20ff65b51))                                      \
    X("", "HammingWindow", UINT64_C(0xb28a2623500de52b))                                           \
    X("", "HannWindow", UINT64_C(0xdc3946bdc81e8a2d))                                              \
    X("", "HardSigmoid", UINT64_C(0x4a5d522d6289b0ad))                                             \
    X("", "HardSwish", UINT64_C(0x77fc518b2b3d8798))                                               \
    X("", "Hardmax", UINT64_C(0xa94184c4718700a3))                                                 \
    X("", "Identity", UINT64_C(0x6192dfb0ff4737e5))                                                \
    X("", "If", UINT64_C(0x38b6bc8d16c152c7))                                                      \
    X("", "ImageDecoder", UINT64_C(0x24a1b4c1d7373aa5))                                            \
    X("", "InstanceNormalization", UINT64_C(0x04602069cee60dee))                                   \
    X("", "IsInf", UINT64_C(0x72f315e945339783))                                                   \
    X("", "IsNaN", UINT64_C(0xdc25705caa75a6d9))                                                   \
    X("", "LRN", UINT64_C(0x3227e2dfeacd3fe6))                                                     \
    X("", "LSTM", UINT64_C(0x7e629d47b28f457d))                                                    \
    X("", "LayerNormalization", UINT64_C(0x4f7d856089f86a7b))                                      \
    X("", "LeakyRelu", UINT64_C(0x6d3704fd1073e0e3))                                               \
    X("", "Less", UINT64_C(0xf69b3d1971ac4c2c))                                                    \
    X("", "LessOrEqual", UINT64_C(0x1a212608ac4f5f01))                                             \
    X("", "LinearAttention", UINT64_C(0xf7952465858a6b1d))                                         \
    X("", "Log", UINT64_C(0xfd5077f3231f0c63))                                                     \
    X("", "LogSoftmax", UINT64_C(0x61072ea99216b7f4))                                              \
    X("", "Loop", UINT64_C(0xba7383e8cc798cbb))                                                    \
    X("", "LpNormalization", UINT64_C(0x53113f832b8d1369))                                         \
    X("", "LpPool", UINT64_C(0xf28af202584e57c2))                                                  \
    X("", "MatMul", UINT64_C(0x15dc3d8cc4b72a24))                                                  \
    X("", "MatMulInteger", UINT64_C(0xf9c1808511cbaf52))                                           \
    X("", "Max", UINT64_C(0x122d51b59264102d))                                                     \
    X("", "MaxPool", UINT64_C(0x5a458f0521d92be3))                                                 \
    X("", "MaxRoiPool", UINT64_C(0x1fd1b87a310fad4f))                                              \
    X("", "MaxUnpool", UINT64_C(0x9bdc1e0e57b29323))                                               \
    X("", "Mean", UINT64_C(0xdbfe644ef318f0f9))                                                    \
    X("", "MeanVarianceNormalization", UINT64_C(0x8de8b847cae09b05))                               \
    X("", "MelWeightMatrix", UINT64_C(0x202c177cda7a7832))                                         \
    X("", "Min", UINT64_C(0x45aed5a28b485149))                                                     \
    X("", "Mish", UINT64_C(0xa8a6548f2ab85fc6))                                                    \
    X("", "Mod", UINT64_C(0x884dfb5ca141162a))                                                     \
    X("", "Mul", UINT64_C(0x2eeac15840e76c2a))                                                     \
    X("", "Multinomial", UINT64_C(0xf8a939d55c40050d))                                             \
    X("", "Neg", UINT64_C(0xd4f03fdcd50b0047))                                                     \
    X("", "NegativeLogLikelihoodLoss", UINT64_C(0x0e5a5773c107d28d))                               \
    X("", "NonMaxSuppression", UINT64_C(0x61b701d73b391f1a))                                       \
    X("", "NonZero", UINT64_C(0x2d6dfe2a3dd0e9d9))                                                 \
    X("", "Not", UINT64_C(0x050fa85447a1e164))                                                     \
    X("", "OneHot", UINT64_C(0xeba27930efd01e80))                                                  \
    X("", "Optional", UINT64_C(0x5b30728fbcec369b))                                                \
    X("", "OptionalGetElement", UINT64_C(0xba4e2740003e52aa))                                      \
    X("", "OptionalHasElement", UINT64_C(0xb20fba285be54107))                                      \
    X("", "Or", UINT64_C(0xea471306677c4338))                                                      \
    X("", "PRelu", UINT64_C(0xa233fb3cd5c22f66))                                                   \
    X("", "Pad", UINT64_C(0x3ddd50157c79abed))                                                     \
    X("", "Pow", UINT64_C(0x4d5c808b3a5dc950))                                                     \
    X("", "QLinearConv", UINT64_C(0xdd728cbb3d99f8a8))                                             \
    X("", "QLinearMatMul", UINT64_C(0x9bb08e58283adafe))                                           \
    X("", "QuantizeLinear", UINT64_C(0xf6b4b8df01f4be77))                                          \
    X("", "RMSNormalization", UINT64_C(0x2ab90dc43fbac257))                                        \
    X("", "RNN", UINT64_C(0x7fbc39f7e940d032))                                                     \
    X("", "RandomNormal", UINT64_C(0xb4a594af29f1a269))                                            \
    X("", "RandomNormalLike", UINT64_C(0x7ae8ded3d857ff7d))                                        \
    X("", "RandomUniform", UINT64_C(0x380a26414b5bef1d))                                           \
    X("", "RandomUniformLike", UINT64_C(0x81a052ff1742fdeb))                                       \
    X("", "Range", UINT64_C(0x189ac1379b995f16))                                                   \
    X("", "Reciprocal", UINT64_C(0xf84560de9eb2b713))                                              \
    X("", "ReduceL1", UINT64_C(0xcde4c1fb9cb93f4d))                                                \
    X("", "ReduceL2", UINT64_C(0xf483ba3740b2c618))                                                \
    X("", "ReduceLogSum", UINT64_C(0xf48c27cbb03d3c8f))                                            \
    X("", "ReduceLogSumExp", UINT64_C(0xb7b2d70ad1af8e18))                                         \
    X("", "ReduceMax", UINT64_C(0x4f126137f0d9189a))                                               \
    X("", "ReduceMean", UINT64_C(0x65c9978c1adaf307))                                              \
    X("", "ReduceMin", UINT64_C(0x5b86fc3db0ab0e3c))                                               \
    X("", "ReduceProd", UINT64_C(0xe821d8c87a062217))                                              \
    X("", "ReduceSum", UINT64_C(0x6e2301b7c82c31e3))                                               \
    X("", "ReduceSumSquare", UINT64_C(0xefa0231251ff9e0c))                                         \
    X("", "RegexFullMatch", UINT64_C(0x4a551be500fab1ea))                                          \
    X("", "Relu", UINT64_C(0x0cc58afe3c05544d))                                                    \
    X("", "Reshape", UINT64_C(0xb3b5948a28b0f45b))                                                 \
    X("", "Resize", UINT64_C(0x3087f61ed035b470))                                                  \
    X("", "ReverseSequence", UINT64_C(0x224abc5cf369fc8b))                                         \
    X("", "RoiAlign", UINT64_C(0x129e79deab63fdb8))                                                \
    X("", "RotaryEmbedding", UINT64_C(0xda635e0b0aaa7d31))                                         \
    X("", "Round", UINT64_C(0x8bf222013cdc4cc9))                                                   \
    X("", "STFT", UINT64_C(0x042b365b55a2d89e))                                                    \
    X("", "Scan", UINT64_C(0x8635ddc5d74cf392))                                                    \
    X("", "ScatterElements", UINT64_C(0x8b62404955dd1acf))                                         \
    X("", "ScatterND", UINT64_C(0x6ab158e6ada2a519))                                               \
    X("", "Selu", UINT64_C(0x69113d82725667b7))                                                    \
    X("", "SequenceAt", UINT64_C(0x19d4f871f7eb7254))                                              \
    X("", "SequenceConstruct", UINT64_C(0x09d80ef1e29f70d3))                                       \
    X("", "SequenceEmpty", UINT64_C(0xf1d0422182325a37))                                           \
    X("", "SequenceErase", UINT64_C(0x049f526cd74f2d55))                                           \
    X("", "SequenceInsert", UINT64_C(0x9b1f06e1be845c2b))                                          \
    X("", "SequenceLength", UINT64_C(0x760b36a40f88df7d))                                          \
    X("", "SequenceMap", UINT64_C(0x9db4566d52e036ac))                                             \
    X("", "Shape", UINT64_C(0xece728dad9b0ab27))                                                   \
    X("", "Shrink", UINT64_C(0xfaeb3f845b279820))                                                  \
    X("", "Sigmoid", UINT64_C(0xc004ba6fd02230f1))                                                 \
    X("", "Sign", UINT64_C(0x852495c042177a94))                                                    \
    X("", "Sin", UINT64_C(0xdc547e1b560d39e7))                                                     \
    X("", "Sinh", UINT64_C(0x9554b9ff97047ce5))                                                    \
    X("", "Size", UINT64_C(0x28544e054ede5659))                                                    \
    X("", "Slice", UINT64_C(0x406be3e161f1a46d))                                                   \
    X("", "Softmax", UINT64_C(0x7e8017c78e80f8a4))                                                 \
    X("", "SoftmaxCrossEntropyLoss", UINT64_C(0x8c194c9c504477ea))                                 \
    X("", "Softplus", UINT64_C(0x239b1ad93fe9f707))                                                \
    X("", "Softsign", UINT64_C(0x69f531d90d42a2c8))                                                \
    X("", "SpaceToDepth", UINT64_C(0xe6903aac1acb89d6))                                            \
    X("", "Split", UINT64_C(0x20899ebacfc645f9))                                                   \
    X("", "SplitToSequence", UINT64_C(0xdc5cb65529127472))                                         \
    X("", "Sqrt", UINT64_C(0x1c3f231a9a6d4305))                                                    \
    X("", "Squeeze", UINT64_C(0x66518fa596a24a96))                                                 \
    X("", "StringConcat", UINT64_C(0xc8259fff75bbe5de))                                            \
    X("", "StringNormalizer", UINT64_C(0x409cfe10fba2926c))                                        \
    X("", "StringSplit", UINT64_C(0x56e6cc111e4e01b9))                                             \
    X("", "Sub", UINT64_C(0x158111b3303a42c6))                                                     \
    X("", "Sum", UINT64_C(0xbbd6405e4f7fd37d))                                                     \
    X("", "SwiGLU", UINT64_C(0x13de777137e28187))                                                  \
    X("", "Swish", UINT64_C(0x7ccc2aa9e8c01149))                                                   \
    X("", "Tan", UINT64_C(0x375a0c91b5aa7b9c))                                                     \
    X("", "Tanh", UINT64_C(0x206b7f1062706cd8))                                                    \
    X("", "TensorScatter", UINT64_C(0xace98b6c279e375d))                                           \
    X("", "TfIdfVectorizer", UINT64_C(0x1a5d35b0f1b90ae9))                                         \
    X("", "ThresholdedRelu", UINT64_C(0x2d36f29f00ac6283))                                         \
    X("", "Tile", UINT64_C(0x9199e641aba5b976))                                                    \
    X("", "TopK", UINT64_C(0xd2949c4d2e43e2f6))                                                    \
    X("", "Transpose", UINT64_C(0x55a4a68e2f2fcdc1))                                               \
    X("", "Trilu", UINT64_C(0x146795faae8d27f9))                                                   \
    X("", "Unique", UINT64_C(0xa9a3f2adba58e64f))                                                  \
    X("", "Unsqueeze", UINT64_C(0x0b95ab3fd2211d7b))                                               \
    X("", "Where", UINT64_C(0x863ab8d589c23810))                                                   \
    X("", "Xor", UINT64_C(0xa74d7b28263c1352))                                                     \
    X("ai.onnx.ml", "ArrayFeatureExtractor", UINT64_C(0xd20a1b38992d5319))                         \
    X("ai.onnx.ml", "Binarizer", UINT64_C(0xea3c27bbaefaa777))                                     \
    X("ai.onnx.ml", "CategoryMapper", UINT64_C(0xd904395c5ba33276))                                \
    X("ai.onnx.ml", "FeatureVectorizer", UINT64_C(0x9d2151ac2635c947))                             \
    X("ai.onnx.ml", "Imputer", UINT64_C(0xedaebee906b3e605))                                       \
    X("ai.onnx.ml", "LabelEncoder", UINT64_C(0x58d0a1fde86e6052))                                  \
    X("ai.onnx.ml", "LinearClassifier", UINT64_C(0xabbe610910e7beed))                              \
    X("ai.onnx.ml", "LinearRegressor", UINT64_C(0x485c3ac29b901dcb))                               \
    X("ai.onnx.ml", "Normalizer", UINT64_C(0xbb55aae091d65faa))                                    \
    X("ai.onnx.ml", "OneHotEncoder", UINT64_C(0xa36c72780a1c65b5))                                 \
    X("ai.onnx.ml", "SVMClassifier", UINT64_C(0x6bebc73318a23176))                                 \
    X("ai.onnx.ml", "SVMRegressor", UINT64_C(0xdd5bc33a317a64f8))                                  \
    X("ai.onnx.ml", "Scaler", UINT64_C(0xbed9a679d7a610d3))                                        \
    X("ai.onnx.ml", "TreeEnsemble", UINT64_C(0x2e17efefa7dc7b50))                                  \
    X("ai.onnx.ml", "TreeEnsembleClassifier", UINT64_C(0xe5f172d8145de4f7))                        \
    X("ai.onnx.ml", "TreeEnsembleRegressor", UINT64_C(0xb961323c1b5765a0))                         \
    X("ai.onnx.ml", "ZipMap", UINT64_C(0x3f24ac632d6e625b))                                        \
    X("ai.onnx.preview.training", "Adagrad", UINT64_C(0x53d874bad53214b7))                         \
    X("ai.onnx.preview.training", "Adam", UINT64_C(0x7dd7becfe9922dcb))                            \
    X("ai.onnx.preview.training", "Gradient", UINT64_C(0x98b91828992c14b9))                        \
    X("ai.onnx.preview.training", "Momentum", UINT64_C(0xfc9fcc6d11409f66))                        \
    X("tfrun", "AveragePoolGrad", UINT64_C(0x50d7a270ee526f23))                                    \
    X("tfrun", "BatchNormGrad", UINT64_C(0x57461f0cf24c1a52))                                      \
    X("tfrun", "BatchNormTrain", UINT64_C(0xf1aff4d97cebf163))                                     \
    X("tfrun", "ConvGradFilter", UINT64_C(0x1f10102b20410476))                                     \
    X("tfrun", "ConvGradInput", UINT64_C(0x0459c0fe521fc4ce))                                      \
    X("tfrun", "Inverse", UINT64_C(0x2c9b4a6a20941fb8))                                            \
    X("tfrun", "LayerNormGrad", UINT64_C(0x45210e263d06b806))                                      \
    X("tfrun", "MaxPoolGrad", UINT64_C(0x21981a5d2b4ed6bf))                                        \
    X("tfrun", "Reorder", UINT64_C(0xb24ea4168e8a9d4b))                                            \
    X("tfrun", "SoftmaxCrossEntropyGrad", UINT64_C(0x617dadbbfd100b5c))                            \
    X("tfrun", "Solve", UINT64_C(0xd990f6d6590000b7))                                              \
    X("tfrun", "SumTo", UINT64_C(0x02333ba18462a10e))

/* The digest of an op of the domain; 0, which is not compared, for one that is not in the list. */
static inline uint64_t tfr_op_digest(const char *domain, const char *name)
{
#define TFR__OP_DIGEST_ROW(domain_, name_, digest_) {domain_, name_, digest_},
    static const struct {
        char domain[32], name[32];
        uint64_t digest;
    } rows[] = {TFR_OP_DIGEST_LIST(TFR__OP_DIGEST_ROW)};
#undef TFR__OP_DIGEST_ROW
    size_t i;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].name, name) == 0 && strcmp(rows[i].domain, domain) == 0)
            return rows[i].digest;
    return 0;
}

#endif
