/* SPDX-License-Identifier: Apache-2.0 */
/* infer_rows.h: the inference functions that ops.def names. The file of each family has them. */
#ifndef TFR__INFER_ROWS_H
#define TFR__INFER_ROWS_H

#include <tfrun/plugin.h>

struct tfr__infer;

/* clang-format off */
#define TFR__INFER_ROWS(X) \
    X(adagrad) X(adam) X(affine_grid) X(arg_reduce) X(array_feature_extractor) X(attention) \
    X(axis_same) X(batch_norm) X(bernoulli) X(binary) X(bit_cast) X(cast) X(cast_like) \
    X(category_mapper) X(causal_conv) X(center_crop_pad) X(clip) X(col2im) X(compare) \
    X(compress) X(concat) X(concat_from_sequence) X(constant) X(constant_of_shape) X(conv) \
    X(conv_transpose) X(cumulative) X(deform_conv) X(depth_to_space) X(dequantize) X(det) X(dft) \
    X(dropout) X(dynamic_quantize) X(einsum) X(expand) X(eye_like) X(feature_vectorizer) \
    X(flatten) X(gather) X(gather_elements) X(gather_nd) X(gemm) X(global_pool) X(grid_sample) \
    X(group_norm) X(image_decoder) X(imputer) X(instance_norm) X(inverse) X(label_encoder) \
    X(layer_norm) X(linear_attention) X(linear_classifier) X(linear_regressor) X(lrn) X(matmul) \
    X(matmul_integer) X(max_roi_pool) X(max_unpool) X(mel_weights) X(momentum) X(multinomial) \
    X(mvn) X(nll_loss) X(nms) X(non_zero) X(normalizer) X(one_hot) X(one_hot_encoder) \
    X(optional) X(optional_get_element) X(optional_has_element) X(pad) X(pool) X(prelu) \
    X(qlinear_matmul) X(quantize) X(random) X(random_like) X(range) X(reduce) X(reshape) \
    X(resize) X(reverse_sequence) X(rms_norm) X(rnn) X(roi_align) X(rotary_embedding) X(same) \
    X(scaler) X(scatter_elements) X(scatter_nd) X(sequence_at) X(sequence_construct) \
    X(sequence_empty) X(sequence_erase) X(sequence_insert) X(sequence_length) X(shape) X(size) \
    X(slice) X(softmax_loss) X(solve) X(space_to_depth) X(split) X(split_to_sequence) X(squeeze) \
    X(stft) X(string_normalizer) X(string_split) X(sum_to) X(svm_classifier) X(svm_regressor) \
    X(swiglu) X(tensor_scatter) X(test) X(tf_idf) X(tile) X(top_k) X(transpose) X(tree_ensemble) \
    X(tree_ensemble_classifier) X(tree_ensemble_regressor) X(trilu) X(unique) X(unsqueeze) \
    X(variadic) X(where) X(window)
/* clang-format on */
#define TFR__INFER_ROW(name) tfr_status tfr__infer_##name(struct tfr__infer *in, tfr_err *err);
TFR__INFER_ROWS(TFR__INFER_ROW)
#undef TFR__INFER_ROW

#endif
