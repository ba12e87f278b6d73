# SPDX-License-Identifier: Apache-2.0
# The op cases: calls of ops as data, and the program that runs them on any backend. A family of ops
# is one file, and a line in case.h and here.
op_families = \
	tests/ops/arg_max.c \
	tests/ops/attention.c \
	tests/ops/batch_norm.c \
	tests/ops/binary.c \
	tests/ops/cast.c \
	tests/ops/clip.c \
	tests/ops/concat.c \
	tests/ops/conv.c \
	tests/ops/conv_transpose.c \
	tests/ops/cum_sum.c \
	tests/ops/depth.c \
	tests/ops/dropout.c \
	tests/ops/einsum.c \
	tests/ops/gather.c \
	tests/ops/gemm.c \
	tests/ops/group_norm.c \
	tests/ops/image.c \
	tests/ops/index.c \
	tests/ops/layer_norm.c \
	tests/ops/loss.c \
	tests/ops/matmul.c \
	tests/ops/norm.c \
	tests/ops/one_hot.c \
	tests/ops/pad.c \
	tests/ops/pool.c \
	tests/ops/quantize.c \
	tests/ops/random.c \
	tests/ops/recurrent.c \
	tests/ops/reduce.c \
	tests/ops/resize.c \
	tests/ops/scatter.c \
	tests/ops/slice.c \
	tests/ops/softmax.c \
	tests/ops/string_concat.c \
	tests/ops/top_k.c \
	tests/ops/transpose.c \
	tests/ops/unary.c \
	tests/ops/variadic.c \
	tests/ops/where.c \
	$(NULL)

check_PROGRAMS += tests/ops/ops
tests_ops_ops_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PUBLIC_INCLUDES)
tests_ops_ops_LDADD = libtfrun-core.la -lm
tests_ops_ops_SOURCES = \
	$(op_families) \
	tests/ops/bench.c \
	tests/ops/case.h \
	tests/ops/claims.c \
	tests/ops/compare.c \
	tests/ops/engine.c \
	tests/ops/engine.h \
	tests/ops/fill.c \
	tests/ops/fill.h \
	tests/ops/guard.c \
	tests/ops/guard.h \
	tests/ops/hostile.c \
	tests/ops/hostile.h \
	tests/ops/hostile_table.c \
	tests/ops/list.c \
	tests/ops/main.c \
	tests/ops/make.c \
	tests/ops/make.h \
	tests/ops/pattern.c \
	tests/ops/pattern.h \
	tests/ops/signature.c \
	tests/ops/support.c \
	$(NULL)

shell_tests += \
	tests/ops/naive.sh \
	tests/ops/onednn.sh \
	tests/onnx_backend.sh \
	$(NULL)
EXTRA_DIST += tests/ops/naive.list tests/ops/onednn.list
