/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer_rows.h: the inference functions that ops.def names, each once; the file of each family has
 * them, and op.c numbers them in this order. There is no tfr__infer_none: those rows have none.
 */
#ifndef TFR__INFER_ROWS_H
#define TFR__INFER_ROWS_H

#include <tfrun/plugin.h>

struct tfr__infer;

/* clang-format off */
#define TFR__INFER_ROWS(F) \
    F(adagrad) F(adam) F(affine_grid) F(arg_reduce) F(array_feature_extractor) F(attention) \
    F(axis_same) F(batch_norm) F(bernoulli) F(binary) F(bit_cast) F(cast) F(cast_like) \
    F(category_mapper) F(causal_conv) F(center_crop_pad) F(clip) F(col2im) F(compare) \
    F(compress) F(concat) F(concat_from_sequence) F(constant) F(constant_of_shape) F(conv) \
    F(conv_transpose) F(cumulative) F(deform_conv) F(depth_to_space) F(dequantize) F(det) F(dft) \
    F(dropout) F(dynamic_quantize) F(einsum) F(expand) F(eye_like) F(feature_vectorizer) \
    F(flatten) F(gather) F(gather_elements) F(gather_nd) F(gemm) F(global_pool) F(grid_sample) \
    F(group_norm) F(image_decoder) F(imputer) F(instance_norm) F(inverse) F(label_encoder) \
    F(layer_norm) F(linear_attention) F(linear_classifier) F(linear_regressor) F(lrn) F(matmul) \
    F(matmul_integer) F(max_roi_pool) F(max_unpool) F(mel_weights) F(momentum) F(multinomial) \
    F(mvn) F(nll_loss) F(nms) F(non_zero) F(norm_grad) F(normalizer) F(one_hot) \
    F(one_hot_encoder) F(optional) F(optional_get_element) F(optional_has_element) F(pad) \
    F(pool) F(prelu) F(qlinear_matmul) F(quantize) F(random) F(random_like) F(range) F(reduce) \
    F(reshape) F(resize) F(reverse_sequence) F(rms_norm) F(rnn) F(roi_align) F(rotary_embedding) \
    F(same) F(scaler) F(scatter_elements) F(scatter_nd) F(sequence_at) F(sequence_construct) \
    F(sequence_empty) F(sequence_erase) F(sequence_insert) F(sequence_length) F(shape) F(size) \
    F(slice) F(softmax_loss) F(softmax_loss_grad) F(solve) F(space_to_depth) F(split) \
    F(split_to_sequence) F(squeeze) F(stft) F(string_normalizer) F(string_split) F(sum_to) \
    F(svm_classifier) F(svm_regressor) F(swiglu) F(tensor_scatter) F(test) F(tf_idf) F(tile) \
    F(top_k) F(transpose) F(tree_ensemble) F(tree_ensemble_classifier) \
    F(tree_ensemble_regressor) F(trilu) F(unique) F(unsqueeze) F(variadic) F(where) F(window) \
    F(window_grad) F(zip_map)
/* clang-format on */

#define TFR__INFER_ROW(name) tfr_status tfr__infer_##name(struct tfr__infer *in, tfr_err *err);
TFR__INFER_ROWS(TFR__INFER_ROW)
#undef TFR__INFER_ROW

#endif
