# SPDX-License-Identifier: Apache-2.0
# tfrun-naive.so, the specification in code. The module has no folder in its name, so that all
# modules of the tree land in one .libs/ and one TFRUN_PLUGIN_PATH runs them uninstalled.
plugin_LTLIBRARIES += tfrun-naive.la
tfrun_naive_la_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PLUGIN_INCLUDES)
tfrun_naive_la_LDFLAGS = $(AM_LDFLAGS) $(TFR_MODULE_FLAGS)
tfrun_naive_la_SOURCES = \
	plugins/naive/arg_max.c \
	plugins/naive/attention.c \
	plugins/naive/batch_norm.c \
	plugins/naive/binary.c \
	plugins/naive/bit_cast.c \
	plugins/naive/cast.c \
	plugins/naive/causal_conv.c \
	plugins/naive/clip.c \
	plugins/naive/col2im.c \
	plugins/naive/compress.c \
	plugins/naive/concat.c \
	plugins/naive/constant_of_shape.c \
	plugins/naive/conv.c \
	plugins/naive/conv_transpose.c \
	plugins/naive/cum_sum.c \
	plugins/naive/deform_conv.c \
	plugins/naive/depth.c \
	plugins/naive/det.c \
	plugins/naive/dft.c \
	plugins/naive/dropout.c \
	plugins/naive/einsum.c \
	plugins/naive/element.c \
	plugins/naive/eye_like.c \
	plugins/naive/gather.c \
	plugins/naive/gemm.c \
	plugins/naive/grid_sample.c \
	plugins/naive/group_norm.c \
	plugins/naive/index.c \
	plugins/naive/kernel.c \
	plugins/naive/layer_norm.c \
	plugins/naive/linear_attention.c \
	plugins/naive/loss.c \
	plugins/naive/matmul.c \
	plugins/naive/max_unpool.c \
	plugins/naive/mel_weight_matrix.c \
	plugins/naive/naive.c \
	plugins/naive/naive.h \
	plugins/naive/non_max_suppression.c \
	plugins/naive/non_zero.c \
	plugins/naive/norm.c \
	plugins/naive/one_hot.c \
	plugins/naive/pad.c \
	plugins/naive/philox.c \
	plugins/naive/philox.h \
	plugins/naive/pool.c \
	plugins/naive/preview_training.c \
	plugins/naive/quantize.c \
	plugins/naive/random.c \
	plugins/naive/range.c \
	plugins/naive/recurrent.c \
	plugins/naive/reduce.c \
	plugins/naive/regex_full_match.c \
	plugins/naive/reorder.c \
	plugins/naive/resize.c \
	plugins/naive/reverse_sequence.c \
	plugins/naive/roi.c \
	plugins/naive/rotary_embedding.c \
	plugins/naive/scatter.c \
	plugins/naive/signal_window.c \
	plugins/naive/slice.c \
	plugins/naive/softmax.c \
	plugins/naive/solve.c \
	plugins/naive/string_concat.c \
	plugins/naive/string_normalizer.c \
	plugins/naive/string_split.c \
	plugins/naive/swiglu.c \
	plugins/naive/tensor.h \
	plugins/naive/tensor_scatter.c \
	plugins/naive/tfidf_vectorizer.c \
	plugins/naive/top_k.c \
	plugins/naive/transpose.c \
	plugins/naive/trilu.c \
	plugins/naive/unary.c \
	plugins/naive/unique.c \
	plugins/naive/variadic.c \
	plugins/naive/where.c \
	plugins/naive/window.c \
	plugins/naive/window.h \
	$(NULL)
