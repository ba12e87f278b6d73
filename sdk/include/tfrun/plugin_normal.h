/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/plugin_normal.h: the normal form of calls: what a plugin may rely on in every tfr_call that
 * supports, prepare, propose or compile sees. Included by tfrun/plugin.h.
 *
 * All ops:
 * - The op is one of the table (`tfrun ops`), in its newest version; older forms were rewritten.
 * - Counts and element types are those of its signature; dims fit the op, and are broadcast where
 *   the op does that; outputs have their inferred types and dims. An operand that is absent has the
 *   type TFR_DTYPE_NONE, or is behind n_inputs or n_outputs; one that is required is never absent.
 * - An attribute with a default is always there, with the type of the signature; one without only
 *   if the model has it, or if a row below says so. There are no others. An attribute with a list
 *   of allowed strings has one of them.
 * - axis and axes count from 0: none is negative. Lists of axes have none twice.
 * - An input that is not read ("~") keeps its place, its type and its dims, and may be NULL at
 *   launch: an attribute says what was in it.
 *
 * TFR_NORMAL_FORM counts changes of these sentences, and each row below has a number of its own.
 * Both are part of the op's digest (tfrun/op_digests.h), so that kernels that were written for
 * another normal form are not asked, instead of being asked for something else than they compute.
 */
#ifndef TFRUN_PLUGIN_NORMAL_H
#define TFRUN_PLUGIN_NORMAL_H

#include <tfrun/plugin_types.h>

#define TFR_NORMAL_FORM 1

/*
 * Some ops: X(domain, name, version, text). Items of the text, with one blank between:
 *
 *   name:type    this attribute is there, be it in the signature or not (types: i f s t is fs ss)
 *   name:type?   it is there in some calls, as told below
 *   name=value   an int or a string always has this value; of a list each element has it
 *   -name        this attribute of the signature is never there
 *   ~number      this input is not read
 *
 * What they mean:
 *
 *   Conv ConvInteger QLinearConv DeformConv AveragePool MaxPool LpPool MaxUnpool Col2Im
 *                      kernel_shape, strides, dilations: one per spatial axis; pads: begins, then
 *                      ends. With ceil_mode the last window may reach beyond the end padding: the
 *                      output's dims decide.
 *   AveragePoolGrad ConvGradFilter ConvGradInput MaxPoolGrad
 *                      the same, as their forward op has them
 *   ConvTranspose      the same; output_shape and output_padding are folded into the end pads,
 *                      which may be negative. Always
 *                      out = stride (in - 1) + dilation (k - 1) + 1 - begin - end
 *   Reduce..., SumTo   axes: sorted; empty = nothing is reduced, the element function still applies
 *   Squeeze Unsqueeze  axes: sorted
 *   Slice              starts, ends, steps: one per axis of the data, clamped; with a negative step
 *                      an end may be -1
 *   Pad                pads: begins, then ends of all axes
 *   Split              split: the lengths
 *   Resize             scales: one per axis of X, 1 where it is not resized; roi, with
 *                      tf_crop_and_resize: begins, then ends of all axes of X
 *   Einsum             equation: no blanks, with "->", every "..." written as letters; a dim of 1
 *                      broadcasts against the others of its letter
 *   RNN GRU LSTM       activations of all directions, in ONNX's spelling; activation_alpha and
 *                      activation_beta have one number for each
 *   QuantizeLinear DequantizeLinear
 *                      axis is 0 for one scale per tensor
 *   ConstantOfShape    value: whatever form the model had
 *   LabelEncoder       classes_strings, the form of version 1, became keys and values
 */
#define TFR_NORMAL_WINDOW "kernel_shape:is strides:is pads:is"
#define TFR_NORMAL_RNN    "hidden_size:i activations:ss activation_alpha:fs activation_beta:fs"
#define TFR_NORMAL_FORM_LIST(X)                                                                    \
    X("", "Attention", 1, "q_num_heads:i kv_num_heads:i scale:f")                                  \
    X("", "AveragePool", 1, TFR_NORMAL_WINDOW " dilations:is auto_pad=NOTSET")                     \
    X("", "Bernoulli", 1, "dtype:i")                                                               \
    X("", "CenterCropPad", 1, "axes:is")                                                           \
    X("", "Col2Im", 1, "strides:is pads:is dilations:is")                                          \
    X("", "ConstantOfShape", 1, "value:t")                                                         \
    X("", "Conv", 1, TFR_NORMAL_WINDOW " dilations:is auto_pad=NOTSET")                            \
    X("", "ConvInteger", 1, TFR_NORMAL_WINDOW " dilations:is auto_pad=NOTSET")                     \
    X("", "ConvTranspose", 1,                                                                      \
      TFR_NORMAL_WINDOW " dilations:is auto_pad=NOTSET -output_shape output_padding=0")            \
    X("", "CumProd", 1, "axis:i ~1")                                                               \
    X("", "CumSum", 1, "axis:i ~1")                                                                \
    X("", "DFT", 1, "axis:i dft_length:i ~1 ~2")                                                   \
    X("", "DeformConv", 1, TFR_NORMAL_WINDOW " dilations:is")                                      \
    X("", "DequantizeLinear", 1, "axis:i output_dtype:i")                                          \
    X("", "Einsum", 1, "equation:s")                                                               \
    X("", "EyeLike", 1, "dtype:i")                                                                 \
    X("", "GRU", 1, TFR_NORMAL_RNN)                                                                \
    X("", "LSTM", 1, TFR_NORMAL_RNN)                                                               \
    X("", "LinearAttention", 1, "scale:f")                                                         \
    X("", "LpPool", 1, TFR_NORMAL_WINDOW " dilations:is auto_pad=NOTSET")                          \
    X("", "MaxPool", 1, TFR_NORMAL_WINDOW " dilations:is auto_pad=NOTSET")                         \
    X("", "MaxUnpool", 1, TFR_NORMAL_WINDOW)                                                       \
    X("", "MeanVarianceNormalization", 1, "axes:is")                                               \
    X("", "Pad", 1, "pads:is ~1 ~3")                                                               \
    X("", "QLinearConv", 1, TFR_NORMAL_WINDOW " dilations:is auto_pad=NOTSET")                     \
    X("", "QuantizeLinear", 1, "axis:i output_dtype:i")                                            \
    X("", "RNN", 1, TFR_NORMAL_RNN)                                                                \
    X("", "RandomNormal", 1, "dtype:i")                                                            \
    X("", "RandomNormalLike", 1, "dtype:i")                                                        \
    X("", "RandomUniform", 1, "dtype:i")                                                           \
    X("", "RandomUniformLike", 1, "dtype:i")                                                       \
    X("", "ReduceL1", 1, "axes:is ~1")                                                             \
    X("", "ReduceL2", 1, "axes:is ~1")                                                             \
    X("", "ReduceLogSum", 1, "axes:is ~1")                                                         \
    X("", "ReduceLogSumExp", 1, "axes:is ~1")                                                      \
    X("", "ReduceMax", 1, "axes:is ~1")                                                            \
    X("", "ReduceMean", 1, "axes:is ~1")                                                           \
    X("", "ReduceMin", 1, "axes:is ~1")                                                            \
    X("", "ReduceProd", 1, "axes:is ~1")                                                           \
    X("", "ReduceSum", 1, "axes:is ~1")                                                            \
    X("", "ReduceSumSquare", 1, "axes:is ~1")                                                      \
    X("", "Resize", 1, "axes:is scales:fs roi:fs? ~1 ~2 ~3")                                       \
    X("", "RotaryEmbedding", 1, "num_heads:i rotary_embedding_dim:i")                              \
    X("", "STFT", 1, "frame_step:i frame_length:i ~1 ~3")                                          \
    X("", "Slice", 1, "starts:is ends:is steps:is ~1 ~2 ~3 ~4")                                    \
    X("", "Split", 1, "split:is -num_outputs ~1")                                                  \
    X("", "Squeeze", 1, "axes:is ~1")                                                              \
    X("", "Transpose", 1, "perm:is")                                                               \
    X("", "Trilu", 1, "k:i ~1")                                                                    \
    X("", "Unsqueeze", 1, "axes:is ~1")                                                            \
    X("ai.onnx.ml", "LabelEncoder", 1, "-classes_strings")                                         \
    X("tfrun", "AveragePoolGrad", 1, TFR_NORMAL_WINDOW " dilations:is auto_pad=NOTSET ~1")         \
    X("tfrun", "ConvGradFilter", 1, TFR_NORMAL_WINDOW " dilations:is auto_pad=NOTSET ~2")          \
    X("tfrun", "ConvGradInput", 1, TFR_NORMAL_WINDOW " dilations:is auto_pad=NOTSET ~2")           \
    X("tfrun", "MaxPoolGrad", 1, TFR_NORMAL_WINDOW " dilations:is auto_pad=NOTSET ~2")             \
    X("tfrun", "SumTo", 1, "axes:is ~1")

#endif
